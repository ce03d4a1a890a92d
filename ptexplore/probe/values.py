"""Reads a value without running code of its class: its description, its tensors, a digest of their bytes."""

from __future__ import annotations

import ctypes
import hashlib
import inspect
import random
import reprlib
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import FrameType
from typing import Any

import torch

from . import torch_api as api

TEXT_LIMIT = 200  # characters of one value's own text
ITEMS = 8  # items shown of one container
DEPTH = 20  # levels of nested containers that are read

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = TEXT_LIMIT
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis))


def describe(value: Any) -> str:
    """Describe a tensor by shape, dtype, device, layout and requires_grad; show a plain value; else name the type."""
    try:
        with api.without_overrides():
            return _describe(value, 2)
    except Exception:  # a class of the user that raises even here
        return type_name(value)


def type_name(value: Any) -> str:
    """Return the value's type as users write it; torch.Tensor, list, MyClass."""
    return api.class_name(type(value)).removeprefix("__ptexplore__.")


def _describe(value: Any, depth: int) -> str:
    if issubclass(type(value), torch.Tensor):
        return _tensor(value)
    if type(value) in _PLAIN:
        return _SHORT.repr(value)
    if isinstance(value, (list, tuple, dict)) and depth:
        items = list(value.values()) if isinstance(value, dict) else list(value[:ITEMS])
        if items and any(issubclass(type(item), (torch.Tensor, list, tuple, dict)) for item in items):
            inside = ", ".join(_describe(item, depth - 1) for item in items[:ITEMS])
            return f"{api.qualname_of(type(value))} of {inside}{', …' if len(value) > ITEMS else ''}"
        if type(value) in (list, tuple, dict, torch.Size) and all(type(item) in _PLAIN for item in items):
            return _SHORT.repr(value) if type(value) is not torch.Size else f"torch.Size({_SHORT.repr(list(value))})"
    return type_name(value)


def _tensor(value: Any) -> str:
    kind = "Tensor" if type(value) is torch.Tensor else api.qualname_of(type(value))
    layout = "" if value.layout == torch.strided else f" {str(value.layout).removeprefix('torch.')}"
    grad = " requires_grad" if value.requires_grad else ""
    try:
        sizes = ", ".join(str(size) for size in value.shape)
    except RuntimeError:  # a nested tensor has no single shape
        sizes = "nested"
    return f"{kind}[{sizes}] {str(value.dtype).removeprefix('torch.')} {value.device}{layout}{grad}"


def fingerprint(value: Any, depth: int = 4) -> str | None:
    """Return a digest of the bytes of every tensor in a result, strides aside, and of a traced function's graph.

    Returns None if a tensor has no plain bytes.
    """
    total = hashlib.sha256()
    try:
        with api.without_overrides(), torch.no_grad():
            _take(value, total.update, depth)
    except Exception:  # nested, quantized, meta, a class of the user
        return None
    return total.hexdigest()


def random_states() -> dict[str, str]:
    """Return a digest of the state of each random generator: torch's for the CPU, Python's, numpy's."""
    numpy = sys.modules.get("numpy.random.mtrand")
    with api.without_overrides():
        states = {"torch": bytes(torch.get_rng_state().tolist())}
    states["random"] = repr(random.getstate()).encode()
    states["numpy"] = repr(numpy.get_state()).encode() if numpy is not None else b""
    return {name: hashlib.sha1(state, usedforsecurity=False).hexdigest() for name, state in states.items()}


def _take(value: Any, take: Callable[[bytes], None], depth: int) -> None:
    if issubclass(type(value), torch.Tensor):
        take(_tensor(value).encode())
        for part in _parts(value.detach()):
            plain = part.resolve_conj().resolve_neg().cpu().contiguous()
            size = plain.numel() * plain.element_size()
            if size and not plain.data_ptr():  # string_at(0, …) does not raise: it returns arbitrary bytes
                raise ValueError("a wrapper without memory of its own")
            take(ctypes.string_at(plain.data_ptr(), size) if size else b"")
    elif type(value) is torch.jit.ScriptFunction:
        take(value.graph.str(False).encode())  # without the places of its lines
    elif isinstance(value, (list, tuple, dict)) and depth:
        for item in value.values() if isinstance(value, dict) else value:
            _take(item, take, depth - 1)
    else:
        take(_describe(value, 1).encode())


def _parts(tensor: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Return the dense tensors that a tensor consists of: itself, or the indices and values of a sparse one."""
    if tensor.layout is torch.sparse_coo:
        return tensor._indices(), tensor._values()
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return tensor.crow_indices(), tensor.col_indices(), tensor.values()
    if tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        return tensor.ccol_indices(), tensor.row_indices(), tensor.values()
    return (tensor,)


def tensors(value: Any, depth: int = DEPTH) -> Iterator[torch.Tensor]:
    """Yield the tensors of a result: the result itself, or tensors in lists, tuples and dictionaries."""
    kind = type(value)  # not isinstance: that reads the value's own __class__
    if issubclass(kind, torch.Tensor):
        yield value
    elif issubclass(kind, (list, tuple, dict)) and depth:
        base = next(base for base in (list, tuple, dict) if issubclass(kind, base))
        for item in dict.values(value) if base is dict else base.__iter__(value):  # without an __iter__ of the user
            yield from tensors(item, depth - 1)


def tensors_among(values: Iterable[Any], limit: int) -> list[torch.Tensor]:
    """Return the tensors among some values, and in plain lists, tuples and dictionaries among them, each once."""
    tensors: dict[int, torch.Tensor] = {}
    for value in values:
        kind = type(value)
        items: Any = value if kind in (list, tuple) else tuple(value.values()) if kind is dict else (value,)
        for item in items:
            if issubclass(type(item), api.TENSOR_BASE) and len(tensors) < limit:
                tensors.setdefault(id(item), item)
    return list(tensors.values())


def attributes(value: Any) -> Mapping[str, Any]:
    """Return an object's own dictionary, without running code of its class; {} for an object without one."""
    try:
        held = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return held if type(held) is dict else {}


def names_of(frame: FrameType) -> Mapping[str, Any]:
    """Return the variables of a function, or of the code of a module.

    In Python 3.12, reading the locals of a module while a comprehension runs in it writes a warning to standard error,
    or raises it there. The globals of a module are the same variables. The body of a class has variables of its own,
    which are missing then.
    """
    if sys.version_info[:2] == (3, 12) and not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        return frame.f_globals
    return frame.f_locals


def module_tensors(module: Any) -> list[Any]:
    """Return a module's own parameters and buffers; [] for any other object."""
    return [tensor for name in ("_parameters", "_buffers") for tensor in _kept(module, name)]


def modules_in(value: Any, limit: int = 10_000) -> list[Any]:
    """Return a module and the modules inside it, at every level; [] for any other object."""
    inside: dict[int, Any] = {}
    pending = [value]
    while pending and len(inside) < limit:
        module = pending.pop()
        if issubclass(type(module), torch.nn.Module) and id(module) not in inside:
            inside[id(module)] = module
            pending += _kept(module, "_modules")
    return list(inside.values())


def _kept(module: Any, name: str) -> list[Any]:
    """Return what a module keeps under an attribute of nn.Module; [] for another object or a table of TorchScript."""
    held: Any = attributes(module).get(name) if issubclass(type(module), torch.nn.Module) else None
    return list(held.values()) if type(held) in (dict, OrderedDict) else []
