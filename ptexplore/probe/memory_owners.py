"""Say who holds the memory of all tensors that are alive: parameters, gradients, optimizers, names, nodes, containers.

A storage counts once, for the first owner in the order of `OWNERS`. Tensors are found by Python's garbage collector and
in the graph. Nothing is run, and no element is read.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from types import CellType, FrameType, FunctionType, GeneratorType, ModuleType
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias

import torch

from . import torch_api as api
from .values import names_of, type_name
from .whose import OURS

if TYPE_CHECKING:
    from .messages import OwnedMemoryData

Owner: TypeAlias = Literal["parameter", "buffer", "gradient", "optimizer", "name", "saved", "graph", "python"]
MOST_CHAINS: Final = 2_000  # tensors whose container is looked up
DEPTH: Final = 8  # references from a tensor to its root
FEW: Final = 64  # objects whose referrers C looks for
LONGEST: Final = 120  # characters of a chain
MOST_NODES: Final = 100_000  # nodes of other graphs


class Graph(Protocol):
    """The parts of a GraphReader that are needed here."""

    results: list[Any]
    named: Any
    numbers: dict[Any, int]

    def saved_storages(self) -> Iterator[tuple[int, int, int]]:
        """Yield the number of a node, the address and the bytes of each saved storage."""


def memory_owners(reader: Graph) -> list[OwnedMemoryData]:
    """Return the storages that are alive, each with its bytes and its owner."""
    with api.without_overrides():
        return _Memory(reader).data()


class _Memory:
    def __init__(self, reader: Graph) -> None:
        self._reader = reader
        objects = gc.get_objects()
        self._tensors = [o for o in objects if issubclass(type(o), api.TENSOR_BASE)]
        self._modules = [o for o in objects if issubclass(type(o), torch.nn.Module)]
        self._optimizers = [o for o in objects if issubclass(type(o), torch.optim.Optimizer)]
        self._owned: dict[int, OwnedMemoryData] = {}  # by address of the storage
        self._walked: set[Any] = set()  # nodes of other graphs

    def data(self) -> list[OwnedMemoryData]:
        for owner, name, tensor in (*self._of_modules(), *self._gradients(), *self._of_optimizers()):
            self._add(owner, name, tensor)
        for name, tensor in self._reader.named.tensors:
            self._add("name", name, tensor)
        for name, tensor in _of_frames():
            self._add("name", name, tensor)
        for tensor in self._reader.results:
            self._add("name", "", tensor)
        for number, address, size in self._reader.saved_storages():
            self._owned.setdefault(address, {"owner": "saved", "name": "", "bytes": size, "node": number})
        named = {id(tensor): name for name, tensor in reversed((*self._reader.named.tensors, *_of_frames()))}
        left = [tensor for tensor in self._tensors if any(a not in self._owned for a, _ in storages(tensor))]
        left.sort(key=lambda tensor: -sum(size for _, size in storages(tensor)))
        variables = {id(value): name for name, value in reversed(list(_of_frames(tensors_only=False)))}
        chains = Chains(left[:MOST_CHAINS], variables, ignored=[self._tensors, left, self._reader.results])
        texts = {id(tensor): chain for tensor in left if (chain := chains.of(tensor))}
        for tensor in self._tensors:
            held_by = named.get(id(tensor)) or texts.get(id(tensor))
            if held_by:
                self._add_graph(held_by, tensor)
        for tensor in left:
            self._add("python", texts.get(id(tensor), ""), tensor)
        return list(self._owned.values())

    def _add_graph(self, name: str, tensor: Any) -> None:
        """Add the storages of another graph, behind a tensor."""
        pending = [api.node_of(tensor)] if tensor.requires_grad and not tensor.is_leaf else []
        while pending and len(self._walked) < MOST_NODES:
            node = pending.pop()
            if node is None or node in self._walked or node in self._reader.numbers:
                continue
            self._walked.add(node)
            pending += [following for following, _ in node.next_functions]
            for address, size in saved_of(node):
                self._owned.setdefault(address, {"owner": "graph", "name": name, "bytes": size, "node": None})

    def _add(self, owner: Owner, name: str, tensor: Any) -> None:
        for address, size in storages(tensor):
            self._owned.setdefault(address, {"owner": owner, "name": name, "bytes": size, "node": None})

    def _named(self, tensor: Any) -> str:
        return next(iter(self._reader.named.of(tensor)), "")

    def _of_modules(self) -> Iterator[tuple[Owner, str, Any]]:
        for module in self._modules:
            kinds: tuple[tuple[Owner, str], ...] = (("parameter", "_parameters"), ("buffer", "_buffers"))
            for owner, table in kinds:
                for key, tensor in dict(module.__dict__.get(table, {})).items():
                    if tensor is not None:
                        yield owner, self._named(tensor) or f"{type_name(module)}.{key}", tensor

    def _gradients(self) -> Iterator[tuple[Owner, str, Any]]:
        for tensor in self._tensors:
            gradient = api.gradient(tensor)
            if gradient is not None:
                yield "gradient", f"{self._named(tensor) or type_name(tensor)}.grad", gradient

    def _of_optimizers(self) -> Iterator[tuple[Owner, str, Any]]:
        for optimizer in self._optimizers:
            for state in list(optimizer.state.values()):
                for key, value in state.items() if isinstance(state, dict) else ():
                    if issubclass(type(value), api.TENSOR_BASE):
                        yield "optimizer", f"{type_name(optimizer)}: {key}", value


def _of_frames(*, tensors_only: bool = True) -> Iterator[tuple[str, Any]]:
    """Yield the values of local variables of your running functions: `step: x`. Globals are left out."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        code = frame.f_code
        is_yours = not code.co_filename.startswith((OURS, api.TORCH_DIR))
        for name, value in names_of(frame).items() if is_yours and code.co_name != "<module>" else ():
            if not tensors_only or issubclass(type(value), api.TENSOR_BASE):
                yield f"{code.co_name}: {name}", value
        frame = frame.f_back


def saved_of(node: Any) -> Iterator[tuple[int, int]]:
    """Yield address and bytes of each storage that a node saved; nothing if that cannot be read without hooks."""
    if not api.tells_saved_unread() or api.leaf_of(node) is not None or api.is_silent(node):
        return
    for slot in api.saved_slots(node):
        if issubclass(type(slot.value), api.TENSOR_BASE):
            yield from api.storages_of(slot.value) or ()


def storages(tensor: Any) -> Iterable[tuple[int, int]]:
    """Return the address and the bytes of each storage of a tensor; () if they cannot be read."""
    return api.storages_of(tensor) or ()


class Chains:
    """How Python objects lead to some objects: `losses[3]`, `Trainer.history['loss'][0]`, `closure of hook`."""

    def __init__(self, targets: list[Any], variables: Mapping[int, str], ignored: list[Any]) -> None:
        """`variables` are the roots that the collector does not see, by address: local variables that are in use."""
        self._variables = variables
        self._ignored = {id(item) for item in (*ignored, targets, self.__dict__, sys._getframe())}
        self._labels: dict[int, list[tuple[int, str]]] = {}  # by object: the objects that refer to it, and how
        self._roots: dict[int, str] = {}
        self._search(targets)

    def of(self, target: Any) -> str:
        """Return the shortest chain from a root to an object; "" if none was found."""
        chains, met = [(id(target), "")], {id(target)}
        while chains:
            number, text = chains.pop(0)
            if number in self._roots:
                return f"{self._roots[number]}{text}".removeprefix(".")[:LONGEST]
            for holder, label in self._labels.get(number, ()):
                if holder not in met:
                    met.add(holder)
                    chains.append((holder, f"{label}{text}"))
        return ""

    def _search(self, targets: list[Any]) -> None:
        """Walk from the objects to those that refer to them, until roots. Each level looks at all objects."""
        current = targets
        for _ in range(DEPTH):
            wanted = {id(item) for item in current} - set(self._labels)
            if not wanted:
                return
            following = []
            for holder in _referrers(current):
                if id(holder) in self._ignored or holder is current or _is_ours(holder):
                    continue
                for item, label in _labels(holder, wanted):
                    self._labels.setdefault(item, []).append((id(holder), label))
                root, variable = _root(holder), self._variables.get(id(holder))
                if variable is not None:
                    root = f"{variable} ({root}) " if root else variable
                if root is not None:
                    self._roots[id(holder)] = root
                else:
                    following.append(holder)
            self._ignored.add(id(current))
            current = following


def _referrers(targets: list[Any]) -> Iterable[Any]:
    """Return the objects that refer to some objects. `gc.get_referrers` compares each reference with each target."""
    if len(targets) <= FEW:
        return gc.get_referrers(*targets)
    wanted = set(map(id, targets))
    return [holder for holder in gc.get_objects() if not wanted.isdisjoint(map(id, gc.get_referents(holder)))]


def _is_ours(holder: Any) -> bool:
    return isinstance(holder, FrameType) and holder.f_code.co_filename.startswith(OURS)


def _labels(holder: Any, wanted: set[int]) -> Iterator[tuple[int, str]]:
    """Yield the objects that a holder refers to, each with the text for the reference."""
    if isinstance(holder, dict):
        pairs = [(item, f"[{key!r}]" if not _is_of_module(holder) else f".{key}") for key, item in list(holder.items())]
    elif isinstance(holder, (list, tuple)):
        pairs = [(item, f"[{number}]") for number, item in enumerate(holder)]
    elif isinstance(holder, CellType):
        pairs = [(holder.cell_contents, "")]
    elif isinstance(holder, FrameType):
        pairs = [(item, name) for name, item in holder.f_locals.items()]
    elif isinstance(holder, (FunctionType, GeneratorType)):
        pairs = [(item, "") for item in gc.get_referents(holder)]
    else:
        attributes: Mapping[str, Any] = {}
        with suppress(Exception):
            attributes = object.__getattribute__(holder, "__dict__")
        pairs = [(item, f".{name}") for name, item in attributes.items()] + [(attributes, "")]
        pairs += [(item, "") for item in gc.get_referents(holder)]
    for item, label in pairs:
        if id(item) in wanted:
            yield id(item), label


def _is_of_module(names: dict[Any, Any]) -> bool:
    """Whether a dict has the global variables of some code."""
    return type(names.get("__name__")) is str and "__builtins__" in names


def _root(holder: Any) -> str | None:
    """Return the name of a root; "" for the globals of your script; None if the holder is no root."""
    if isinstance(holder, dict) and _is_of_module(holder):
        return "" if holder["__name__"] == "__main__" else str(holder["__name__"])
    if isinstance(holder, ModuleType):
        return holder.__name__
    if isinstance(holder, FunctionType):
        return f"closure of {holder.__qualname__}"
    if isinstance(holder, GeneratorType):
        return f"generator {holder.__qualname__}"
    if isinstance(holder, FrameType):
        return f"{holder.f_code.co_name}: "
    return f"class {holder.__qualname__}" if isinstance(holder, type) else None
