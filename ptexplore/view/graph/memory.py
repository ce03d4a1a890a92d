"""Who holds the memory of live tensors, as rows: a row for each kind of owner, and below it the largest owners."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from ptexplore.model.autograd_graph import LocatedGraph, MemoryOwner, OwnedMemory
from ptexplore.view.trace.amounts import size
from ptexplore.view.words import graph as says

MOST_NAMED = 5  # owners of one kind
# The kinds, in the order of the rows.
ORDER: tuple[MemoryOwner, ...] = ("parameter", "buffer", "gradient", "optimizer", "saved", "graph", "name", "python")


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """Bytes with their owner. The heading of a kind has the sum."""

    bytes: str
    share: str
    text: str
    heading: bool = False


@dataclass(frozen=True, slots=True)
class MemoryView:
    """The facts above the rows, and the rows."""

    facts: tuple[str, ...]
    rows: tuple[MemoryRow, ...]


def memory_view(located: LocatedGraph, only: str | None, *, full: bool) -> MemoryView:
    """Returns who holds memory, as rows; only owners that contain the text `only`."""
    owned = located.session.owners or ()
    total = sum(owner.bytes for owner in owned)
    facts = [says.ALIVE.format(bytes=size(total), storages=says.many(says.STORAGES, len(owned)))]
    if not located.session.graph.reads_saved:
        facts.append(says.UNKNOWN_SAVED.format(version=located.session.torch.version))
    facts.append(says.NOT_SEEN)
    return MemoryView(tuple(facts), tuple(_rows(located, owned, total, only, full=full)))


def _rows(
    located: LocatedGraph, owned: tuple[OwnedMemory, ...], total: int, only: str | None, *, full: bool
) -> Iterator[MemoryRow]:
    for kind in ORDER:
        sums: Counter[str] = Counter()
        for owner in owned:
            if owner.owner == kind:
                sums[_name(located, owner)] += owner.bytes
        named = [(name, held) for name, held in sums.most_common() if only is None or only.lower() in name.lower()]
        if not named:
            continue
        held = sum(held for _, held in named)
        share = f"{100 * held / total:.0f}%" if total else ""
        yield MemoryRow(size(held), share, says.OWNERS[kind], heading=True)
        shown = named if full or only is not None or len(named) == MOST_NAMED + 1 else named[:MOST_NAMED]
        for name, count in shown:
            yield MemoryRow(size(count), "", name)
        left = named[len(shown) :]
        if left:
            rest = sum(count for _, count in left)
            yield MemoryRow(size(rest), "", says.MORE_OWNERS.format(count=len(left)))


def _name(located: LocatedGraph, owner: OwnedMemory) -> str:
    """Returns the name of an owner; for a node the module or the line that made it, and its class."""
    if owner.node is None:
        return owner.name or (says.THE_RESULT if owner.owner == "name" else says.UNKNOWN_OWNER)
    node = located.session.graph.nodes[owner.node]
    made = node.made
    where = "" if made is None else made.module or f"{made.file.rpartition('/')[2]}:{made.line}"
    name = says.short_node(node.name)
    return says.MADE_BY.format(node=name, made=where) if where else name
