"""Read sizes, strides and storages of the tensors that some statements give. No element is read."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import torch

from . import frames
from . import torch_api as api
from .expression import EXPRESSION, Namespace, Refused, check_attributes, parse_statements
from .passes import enter_contexts_of, stage
from .raising import Raised
from .reasons import reason
from .values import DEPTH, type_name

if TYPE_CHECKING:
    from .messages import RunRequestData, RunToldData, SeenStorageData, SeenTensorData, SeenTensorsData

MOST = 64  # tensors; further ones are counted
FORMATS = {
    "contiguous_format": torch.contiguous_format,
    "channels_last": torch.channels_last,
    "channels_last_3d": torch.channels_last_3d,
}


def run(request: RunRequestData) -> RunToldData:
    """Run the statements, and return the tensors that they give. Raises Refused or Raised."""
    text, after = (request.get("expression") or "").strip(), (request.get("after") or "").strip()
    against = (request.get("against") or "").strip()
    statements = parse_statements(text, EXPRESSION)
    later = parse_statements(after, EXPRESSION) if after else None
    others = parse_statements(against, EXPRESSION) if against else None
    trees = [tree for tree in (statements, others, later) if tree is not None]
    whole = ast.Module([statement for tree in trees for statement in tree.body], [])
    names = Namespace(request)
    names.fill(whole)
    check_attributes(whole, names.values)
    with stage("context"), ExitStack() as stack:
        enter_contexts_of(stack, request["contexts"], names.values)
        given = {entry["name"]: names.values[entry["name"]] for entry in names.bound}
        given |= _run(text, statements, names)
        told: RunToldData = {"observations": [], "tensors": _read(given)}
        if others is not None:
            told["against"] = _read(_run(against, others, names))
        if later is not None:
            made = _run(after, later, names)
            given = {name: names.values.get(name, value) for name, value in given.items()}
            told["after"] = _read(given | {n: v for n, v in made.items() if n.isidentifier() or not _is_in(given, v)})
    return told


def _is_in(given: Mapping[str, Any], value: Any) -> bool:
    """Whether a value has a name already: an expression that writes in place gives the tensor that it wrote to."""
    return any(value is other for other in given.values())


def _run(text: str, statements: ast.Module, names: Namespace) -> dict[str, Any]:
    """Run statements, and return what they give, by name. Raises Raised."""
    try:
        given = list(_given(text, statements, names.values))
    except BaseException as error:
        raise Raised("expression", error) from error
    return {name: names.values.get(name, value) for name, value in given}


def _read(given: Mapping[str, Any]) -> SeenTensorsData:
    """Return the description of the tensors among some values. Raises Refused if there is none."""
    tensors = [tensor for label, value in given.items() for tensor in tensors_named(label, value)]
    if not tensors:
        raise Refused("no-tensor", reason("no-tensor-given", types=list(dict.fromkeys(map(type_name, given.values())))))
    return seen_tensors(tensors)


def _given(text: str, statements: ast.Module, values: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Run the statements in order. Yield the assigned names, and the bare expressions with their values.

    A name has no value yet, because a later statement may assign it again.
    """
    for statement in statements.body:
        if isinstance(statement, ast.Expr):
            code = compile(ast.Expression(statement.value), frames.EXPRESSION, "eval")
            value = eval(code, values)
            yield " ".join((ast.get_source_segment(text, statement.value) or "").split()), value
            continue
        exec(compile(ast.Module([statement], []), frames.EXPRESSION, "exec"), values)
        for target in _targets(statement):
            yield target, None


def _targets(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that an assignment binds."""
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = list(statement.targets)
    elif isinstance(statement, (ast.AnnAssign, ast.AugAssign)):
        targets = [statement.target]
    for target in targets:
        yield from (node.id for node in ast.walk(target) if isinstance(node, ast.Name) and not _is_read(node))


def _is_read(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load)


def tensors_named(name: str, value: Any, depth: int = DEPTH) -> Iterator[tuple[str, Any]]:
    """Yield the tensors of a value, each with the text that leads to it: `parts[0]`, `state['weight']`."""
    kind = type(value)  # not isinstance: that reads the value's own __class__
    if issubclass(kind, torch.Tensor):
        yield name, value
    elif issubclass(kind, (list, tuple)) and depth:
        base = list if issubclass(kind, list) else tuple
        for number, item in enumerate(base.__iter__(value)):
            yield from tensors_named(f"{name}[{number}]", item, depth - 1)
    elif issubclass(kind, dict) and depth:
        for key, item in dict.items(value):
            shown = repr(key) if type(key) in (str, int) else "…"
            yield from tensors_named(f"{name}[{shown}]", item, depth - 1)


def seen_tensors(named: Iterable[tuple[str, Any]]) -> SeenTensorsData:
    """Return the description of tensors and their storages, as plain data. The name is the text that leads to each."""
    reader = _Reader()
    with api.without_overrides():
        for name, tensor in named:
            reader.add(name, tensor)
    return {
        "torch": str(torch.__version__),
        "tensors": reader.tensors,
        "storages": list(reader.storages.values()),
        "further": reader.further,
    }


class _Reader:
    """The tensors that were read so far, with their storages by the address of the StorageImpl."""

    def __init__(self) -> None:
        self.tensors: list[SeenTensorData] = []
        self.storages: dict[int, SeenStorageData] = {}
        self.further = 0
        self._impls: dict[int, int] = {}
        self._held: list[Any] = []  # keeps them alive: no later tensor or storage gets an address that was read

    def add(self, name: str, tensor: Any, part_of: int | None = None) -> None:
        """Read a tensor, and the tensors that it consists of."""
        if len(self.tensors) >= MOST:
            self.further += 1
            return
        number = len(self.tensors)
        known = len(self._impls)
        impl = self._impls.setdefault(api.address(tensor), known)
        self._held.append(tensor)
        self.tensors.append({**self._read(name, tensor, impl), "part_of": part_of})
        if impl == known:
            for part, inner in api.parts_of(tensor):
                self.add(f"{name}{part}", inner, number)

    def _read(self, name: str, tensor: Any, impl: int) -> SeenTensorData:
        dtype = str(_asked(api.TENSOR_BASE.dtype.__get__, tensor)).removeprefix("torch.")
        layout = str(_asked(api.TENSOR_BASE.layout.__get__, tensor)).removeprefix("torch.")
        return {
            "name": name,
            "kind": api.qualname_of(type(tensor)),
            "impl": impl,
            "dtype": dtype,
            "device": str(_asked(api.TENSOR_BASE.device.__get__, tensor)),
            "layout": layout,
            "element": int(_asked(api.TENSOR_BASE.element_size, tensor) or 0),
            "sizes": _numbers(_asked(api.TENSOR_BASE.size, tensor)),
            "strides": _numbers(_asked(api.TENSOR_BASE.stride, tensor)) if layout == "strided" else None,
            "offset": _number(_asked(api.TENSOR_BASE.storage_offset, tensor)) if layout == "strided" else None,
            "storage": self._storage(tensor),
            "formats": [name for name, form in FORMATS.items() if _is_contiguous(tensor, form)],
            "is_conj": bool(_asked(api.TENSOR_BASE.is_conj, tensor)),
            "is_neg": bool(_asked(api.TENSOR_BASE.is_neg, tensor)),
            "is_nested": bool(_asked(api.TENSOR_BASE.is_nested.__get__, tensor)),
            "requires_grad": bool(_asked(api.TENSOR_BASE.requires_grad.__get__, tensor)),
            "is_leaf": bool(_asked(api.TENSOR_BASE.is_leaf.__get__, tensor)),
            "quantizer": api.quantizer_of(tensor),
            "objection": _asked(api.objection_to_writes, tensor),
        }

    def _storage(self, tensor: Any) -> int | None:
        """Return the place of a tensor's storage in the list; None if it has none."""
        storage = api.storage_of(tensor)
        if storage is None:
            return None
        read: SeenStorageData = {
            "bytes": storage.bytes,
            "device": storage.device,
            "address": storage.address,
            "is_cow": storage.is_cow,
        }
        self.storages.setdefault(storage.impl, read)
        return list(self.storages).index(storage.impl)


def _asked(ask: Any, tensor: Any) -> Any:
    """Return the answer of a tensor. Returns None if it has no such property, or if it is a subclass that refuses."""
    try:
        return ask(tensor)
    except Exception:
        return None


def _is_contiguous(tensor: Any, form: Any) -> bool:
    return bool(_asked(lambda asked: api.TENSOR_BASE.is_contiguous(asked, memory_format=form), tensor))


def _numbers(values: Any) -> list[int] | None:
    """Return sizes or strides as plain integers; None if one of them has no value (a ragged dimension)."""
    numbers = None if values is None else [_number(value) for value in values]
    return None if numbers is None or None in numbers else [number for number in numbers if number is not None]


def _number(value: Any) -> int | None:
    try:
        return int(value)
    except Exception:  # a size without a value: a symbol, or a ragged dimension
        return None
