"""Say who holds the memory of all tensors that are alive: parameters, gradients, optimizers, names, nodes, containers.

A storage counts once, for the first owner in the order of `OWNERS`. Tensors are found by Python's garbage collector and
in the graph. Nothing is run, and no element is read.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias

import torch

from . import torch_api as api
from .garbage import garbage
from .references import Chain, Chains, running_variables
from .values import type_name

if TYPE_CHECKING:
    from .messages import OwnedMemoryData

Owner: TypeAlias = Literal[
    "parameter", "buffer", "gradient", "optimizer", "name", "saved", "graph", "python", "cycle", "node-cycle"
]
MOST_CHAINS: Final = 2_000  # objects whose chain is looked for.
MOST_NODES: Final = 100_000  # nodes of other graphs.


class Graph(Protocol):
    """The parts of a GraphReader that are needed here."""

    results: list[Any]
    named: Any
    numbers: dict[Any, int]

    def saved_storages(self) -> Iterator[tuple[Any, int, int, int]]:
        """Yield a node, its number, and the address and the bytes of each storage that it saved."""


class NoGraph:
    """Stands for a GraphReader where no graph is asked for."""

    def __init__(self, named: Any = None) -> None:
        self.results: list[Any] = []
        self.named = named if named is not None else self
        self.tensors: list[tuple[str, Any]] = []
        self.numbers: dict[Any, int] = {}

    def of(self, _: Any) -> list[str]:
        """Return the names of a tensor: none."""
        return []

    def saved_storages(self) -> Iterator[tuple[Any, int, int, int]]:
        """Yield nothing."""
        return iter(())


@dataclass(frozen=True)
class OwnedStorage:
    """A storage with its first owner. `node` saved it, if only a graph holds it. `chain` leads to what holds it."""

    owner: Owner
    name: str
    bytes: int
    node: Any = None
    number: int | None = None  # of the node, in the graph that was asked for
    chain: Chain | None = None


def memory_owners(reader: Graph) -> list[OwnedMemoryData]:
    """Return the storages that are alive, each with its bytes and its owner."""
    owned = storages_with_owners(reader).values()
    return [{"owner": o.owner, "name": o.name, "bytes": o.bytes, "node": o.number} for o in owned]


def storages_with_owners(reader: Graph, chains_of: Callable[[int], bool] = lambda _: False) -> dict[int, OwnedStorage]:
    """Return the storages that are alive with their owners, by address of the StorageImpl.

    A chain is looked for where nothing else names the owner, and for the storages that `chains_of` asks for.
    """
    with api.without_overrides():
        return _Memory(reader, chains_of).owned()


class _Memory:
    def __init__(self, reader: Graph, chains_of: Callable[[int], bool]) -> None:
        self._reader, self._chains_of = reader, chains_of
        objects = gc.get_objects()
        dead = garbage(objects)
        tensors = [o for o in objects if issubclass(type(o), api.TENSOR_BASE)]
        self._tensors = [tensor for tensor in tensors if id(tensor) not in dead]
        self._dead = [tensor for tensor in tensors if id(tensor) in dead]
        alive = [o for o in objects if id(o) not in dead]
        self._nodes = [o for o in alive if api.is_node(o)]
        self._modules = [o for o in alive if issubclass(type(o), torch.nn.Module)]
        self._optimizers = [o for o in alive if issubclass(type(o), torch.optim.Optimizer)]
        self._owned: dict[int, OwnedStorage] = {}
        self._walked: set[Any] = set()  # nodes of other graphs

    def owned(self) -> dict[int, OwnedStorage]:
        """Return the storages by address, each with its first owner."""
        for owner, name, tensor in (*self._of_modules(), *self._gradients(), *self._of_optimizers()):
            self._add(owner, name, tensor)
        local = list(running_variables(tensors_only=True))
        for name, tensor in (*self._reader.named.tensors, *local, *(("", tensor) for tensor in self._reader.results)):
            self._add("name", name, tensor)
        for node, number, address, size in self._reader.saved_storages():
            self._owned.setdefault(address, OwnedStorage("saved", "", size, node, number))
        named = {id(tensor): name for name, tensor in reversed((*self._reader.named.tensors, *local))}
        self._add_graphs(named, chains := self._chains())
        for tensor in self._tensors:
            self._add_held(tensor, chains.get(id(tensor)))
        for tensor in self._tensors:  # graphs behind tensors that nothing names
            self._add_graph(type_name(tensor), api.made_by(tensor), None)
        for tensor in self._dead:
            self._add("cycle", "", tensor)
            self._add_graph("", api.made_by(tensor), None, "cycle")
        self._name_asked()
        return self._owned

    def _add_graphs(self, named: dict[int, str], chains: dict[int, Chain]) -> None:
        """Add what the graphs of tensors with a name keep, and of nodes that Python holds."""
        for tensor in self._tensors:
            chain = chains.get(id(tensor))
            held_by = named.get(id(tensor)) or _text(chain)
            if held_by:
                self._add_graph(held_by, api.made_by(tensor), chain)
        for node in self._nodes:
            chain = chains.get(id(node))
            if chain is not None and chain.has_root:
                self._add_graph(chain.text(), node, chain)

    def _chains(self) -> dict[int, Chain]:
        """Return the chains of tensors that nothing names so far, and of nodes that Python holds."""
        left = [tensor for tensor in self._tensors if any(a not in self._owned for a, _ in storages(tensor))]
        left.sort(key=lambda tensor: -sum(size for _, size in storages(tensor)))
        left = [*left[:MOST_CHAINS], *self._nodes[:MOST_CHAINS]]
        return self._chains_to(left)

    def _chains_to(self, targets: list[Any], *ignored: Any) -> dict[int, Chain]:
        if not targets:
            return {}
        variables = {id(value): name for name, value in reversed(list(running_variables()))}
        lists = [self._tensors, self._dead, self._nodes, self._modules, self._optimizers, self._reader.results]
        chains = Chains(
            targets, variables, [*lists, *ignored, self._reader.named.tensors, self._reader.__dict__, self.__dict__]
        )
        return {id(target): chain for target in targets if (chain := chains.of(target)) is not None}

    def _name_asked(self) -> None:
        """Find a chain for the storages that were asked for, also where a name is known."""
        asked: dict[int, Any] = {}
        for tensor in self._tensors:
            for address, _ in storages(tensor):
                owned = self._owned.get(address)
                if owned is not None and owned.chain is None and owned.node is None and self._chains_of(address):
                    asked.setdefault(address, tensor)
        more = self._chains_to(list(asked.values())[:MOST_CHAINS], asked)
        for address, tensor in asked.items():
            o = self._owned[address]
            chain = more.get(id(tensor))
            if chain is not None:
                self._owned[address] = OwnedStorage(o.owner, o.name, o.bytes, o.node, o.number, chain)

    def _add_held(self, tensor: Any, chain: Chain | None) -> None:
        owner: Owner = "node-cycle" if chain is not None and chain.is_cycle else "python"
        for address, size in storages(tensor):
            self._owned.setdefault(address, OwnedStorage(owner, _text(chain), size, chain=chain))

    def _add_graph(self, name: str, start: Any, chain: Chain | None, owner: Owner = "graph") -> None:
        """Add the storages of another graph, from a node on."""
        pending = [start]
        while pending and len(self._walked) < MOST_NODES:
            node = pending.pop()
            if node is None or node in self._walked or node in self._reader.numbers:
                continue
            self._walked.add(node)
            pending += [following for following, _ in node.next_functions]
            leaf = api.leaf_of(node)  # the node holds it
            for address, size in saved_of(node) if leaf is None else storages(leaf):
                self._owned.setdefault(address, OwnedStorage(owner, name, size, node, chain=chain))

    def _add(self, owner: Owner, name: str, tensor: Any) -> None:
        for address, size in storages(tensor):
            self._owned.setdefault(address, OwnedStorage(owner, name, size))

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


def _text(chain: Chain | None) -> str:
    """Return a chain that has a root as text; "" for none."""
    return chain.text() if chain is not None and (chain.has_root or chain.is_cycle) else ""


def live_tensors() -> Iterator[Any]:
    """Yield the tensors that Python knows, and those that the nodes behind them saved."""
    objects = gc.get_objects()
    tensors = [o for o in objects if issubclass(type(o), api.TENSOR_BASE)]
    nodes = [o for o in objects if api.is_node(o)]
    yield from tensors
    with api.without_overrides():
        starts = [node for tensor in tensors if (node := api.made_by(tensor)) is not None]
        for node in list(api.nodes_of([*starts, *nodes], MOST_NODES)):
            if api.tells_saved_unread() and api.leaf_of(node) is None and not api.is_silent(node):
                yield from (s.value for s in api.saved_slots(node) if issubclass(type(s.value), api.TENSOR_BASE))
