"""Read the key sets of the tensors that a builtin may be given, before its first call from a place."""

from __future__ import annotations

from collections.abc import Iterator
from types import FrameType
from typing import Any

from . import torch_api as api
from .paths import Path
from .values import attributes, module_tensors, modules_in, names_of, tensors_among

HELD = 1024  # maximum number of tensors that are read before one call


def read_tensors(path: Path, sets: int, frame: FrameType, builtin: Any) -> list[Any] | None:
    """Read and return the tensors that the first call from a path can be given; `path.read` gets their key sets.

    A profile function does not get the arguments of a builtin. So these are read: the builtin's owner, values of the
    caller's names, attributes of the caller's `self`, and parameters of modules among them. Backward goes through the
    parameters of all modules that the program's functions hold. Returns None for torch's own helpers.
    """
    if not path.label.name:
        return None  # a helper inside torch
    values = [getattr(builtin, "__self__", None), *_named_in(frame)]
    if path.label.is_backward:
        outer: FrameType | None = frame.f_back
        while outer is not None:
            values += _named_in(outer)
            outer = outer.f_back
        values += [module for value in values for module in modules_in(value)]
    values += [tensor for value in values for tensor in module_tensors(value)]
    held = tensors_among(values, HELD)
    if held:
        path.read = path.read or {}
        path.read[sets] = api.key_sets(held)
    return held


def _named_in(frame: FrameType) -> Iterator[Any]:
    """Yields the values of a function's names: its locals, the globals that it uses, and the attributes of `self`."""
    own, shared = names_of(frame), frame.f_globals
    yield from own.values()
    if own is not shared:
        yield from (shared[name] for name in frame.f_code.co_names if name in shared)
    yield from attributes(own.get("self")).values()
