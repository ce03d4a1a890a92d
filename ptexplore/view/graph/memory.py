"""Who holds memory, as tables: at the peak, at the moment when the graph was read, and what steps left behind."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ptexplore.model.autograd_graph import (
    LeftMemory,
    LocatedGraph,
    MemoryMoment,
    MemoryWatch,
    NodeMadeAt,
    OwnedMemory,
    PeakOwner,
    PeakPart,
)
from ptexplore.view.trace.amounts import size
from ptexplore.view.words import graph as says

MOST_NAMED = 5  # owners of one kind
MOST_LEFT = 12  # rows of what steps left behind
# The kinds, in the order of the rows.
ORDER: tuple[PeakOwner, ...] = (
    "parameter", "buffer", "gradient", "optimizer", "saved", "graph", "name", "python", "cycle", "node-cycle", "native",
    "temporary", "end",
)  # fmt: skip
_ONE_OF = re.compile(r"\[\d+\]")  # an element of a list
_Owned = tuple[PeakOwner, str, int]  # kind, name, bytes


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """Bytes with their owner. The heading of a kind has the sum. `further` are lines below."""

    bytes: str
    share: str
    text: str
    heading: bool = False
    further: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MemoryTable:
    """The facts above the rows, the name of their column, and the rows."""

    facts: tuple[str, ...]
    rows: tuple[MemoryRow, ...]
    column: str = says.OWNER


def memory_view(located: LocatedGraph, only: str | None, *, full: bool) -> tuple[MemoryTable, ...]:
    """Returns who holds memory, as tables; only owners that contain the text `only`."""
    session = located.session
    tables = []
    if session.no_watch:
        tables.append(MemoryTable((says.NO_WATCH,), ()))
    elif session.watched is not None and session.watched.left is None:
        tables.append(_peak(session.watched, only, full=full))
    owned = session.owners or ()
    facts = [says.ALIVE.format(bytes=size(_total(owned)), storages=says.many(says.STORAGES, len(owned)))]
    if not session.graph.reads_saved:
        facts.append(says.UNKNOWN_SAVED.format(version=session.torch.version))
    facts += _outside(session.watched)
    named: list[_Owned] = [(owner.owner, _name(located, owner), owner.bytes) for owner in owned]
    native = session.watched.native if session.watched is not None and session.script is None else ()
    named += [("native", _made_by(part), part.bytes) for part in native]
    tables.append(MemoryTable(tuple(facts), tuple(_rows(named, only, full=full))))
    return tuple(tables)


def leak_view(located: LocatedGraph, only: str | None, *, full: bool) -> tuple[MemoryTable, ...]:
    """Returns what the steps of a script left behind, and the references that keep it."""
    watched = located.session.watched
    if watched is None or watched.left is None:
        return (MemoryTable((says.NO_WATCH,), ()),)
    if watched.few:
        return (MemoryTable((says.FEW_STEPS.format(steps=says.many(says.STEPS, watched.steps)),), ()),)
    left = [part for part in watched.left if only is None or only.lower() in _left_text(part).lower()]
    facts = [says.WATCHED.format(steps=says.many(says.STEPS, watched.steps))]
    facts.append(says.LEFT if left else says.NOTHING_LEFT)
    facts += _outside(watched)
    shown = left if full or only is not None else left[:MOST_LEFT]
    rows = [_left_row(part, watched) for part in shown]
    if len(left) > len(shown):
        rest = sum(part.bytes for part in left[len(shown) :])
        rows.append(MemoryRow(size(rest), "", says.MORE_OWNERS.format(count=len(left) - len(shown))))
    native = [MemoryRow(size(p.bytes), "", _made_by(p)) for p in watched.native[:MOST_NAMED]]
    tables = [MemoryTable(tuple(facts), tuple(rows), says.KEPT_BY)]
    if native:
        tables.append(MemoryTable((says.NATIVE_NOW,), tuple(native), says.ALLOCATED_BY))
    return tuple(tables)


def _peak(watched: MemoryWatch, only: str | None, *, full: bool) -> MemoryTable:
    peak = watched.peak
    facts = [says.PEAK.format(bytes=size(peak.bytes), moment=_moment(peak.moment))]
    if watched.steps:
        until = says.UNTIL_END if watched.ended else says.UNTIL_STEP
        facts.append(until.format(steps=says.many(says.STEPS, watched.steps)))
    facts.append(says.PEAK_OWNERS)
    named = [(part.owner, _peak_name(part), part.bytes) for part in peak.parts]
    return MemoryTable(tuple(facts), tuple(_rows(named, only, full=full)))


def _moment(moment: MemoryMoment) -> str:
    parts = [says.IN_STEP.format(step=moment.step)] if moment.step else []
    if moment.made is not None:
        parts.append(says.AT_LINE.format(place=_place(moment.made), code=moment.made.text))
    inner = [name for name in moment.operators if name]
    if inner:
        parts.append(says.IN_OPERATOR.format(operator=says.short_node(inner[-1])))
    return ", ".join(parts) or says.UNKNOWN_MOMENT


def _outside(watched: MemoryWatch | None) -> Iterator[str]:
    """Yields what a sum does not contain."""
    if watched is None:
        yield says.NOT_SEEN
        return
    if watched.elsewhere:
        yield says.ELSEWHERE.format(bytes=size(watched.elsewhere))


def _peak_name(part: PeakPart) -> str:
    if part.owner in ("saved", "temporary", "native", "end"):
        return _made_by(part)
    return part.name or (says.THE_RESULT if part.owner == "name" else says.UNKNOWN_OWNER)


def _made_by(part: PeakPart) -> str:
    name = says.short_node(part.name)
    if part.made is None:
        return name or says.UNKNOWN_OWNER
    return says.MADE_BY.format(made=part.made.module or _place(part.made), node=name)


def _place(made: NodeMadeAt) -> str:
    return f"{made.file.rpartition('/')[2]}:{made.line}"


def _total(owned: Iterable[OwnedMemory]) -> int:
    return sum(owner.bytes for owner in owned)


def _rows(owned: Sequence[_Owned], only: str | None, *, full: bool) -> Iterator[MemoryRow]:
    total = sum(count for _, _, count in owned)
    for kind in ORDER:
        sums: Counter[str] = Counter()
        for owner, name, count in owned:
            if owner == kind:
                sums[name] += count
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


def _left_row(part: LeftMemory, watched: MemoryWatch) -> MemoryRow:
    counts = Counter(part.steps)
    storages = says.many(says.STORAGES, len(part.steps))
    if len(counts) == 1:
        when = says.LEFT_ONCE.format(step=part.steps[0])
    elif min(counts) > 2:
        when = says.LEFT_SINCE.format(first=min(counts), last=max(counts))
    elif len(counts) == watched.steps and len(set(counts.values())) == 1:
        when = says.LEFT_EACH
    else:
        when = says.LEFT_IN.format(steps=", ".join(map(str, sorted(counts))))
    sizes = says.sizes_text(part.sizes, part.dtype) if part.sizes is not None else ""
    example = says.FOR_EXAMPLE.format(sizes=sizes) if sizes and len(part.steps) > 1 else sizes
    further = [", ".join(filter(None, (storages, example, when)))]
    if part.chain:
        further.append(_chain(part))
    elif not part.name and not part.node:
        further.append(says.NO_CHAIN)
    if part.made is not None:
        form = says.NODE_MADE if part.node else says.MEMORY_MADE
        further.append(form.format(place=_place(part.made), code=part.made.text, node=says.short_node(part.node)))
    return MemoryRow(size(part.bytes), "", _left_text(part), heading=True, further=tuple(further))


def _left_text(part: LeftMemory) -> str:
    name = _ONE_OF.sub("[…]", part.name) if len(part.steps) > 1 else part.name
    name = name or says.UNKNOWN_OWNER
    if part.owner == "saved":
        return says.LEFT_BY_GRAPH.format(node=says.short_node(part.node))
    if part.node:
        return says.LEFT_BEHIND_GRAPH.format(name=name, node=says.short_node(part.node))
    return says.LEFT_AS[part.owner].format(name=name) if part.owner in says.LEFT_AS else name


def _chain(part: LeftMemory) -> str:
    """Returns the references, each with the class of its object: `Trainer trainer → list .history → Tensor [3]`."""
    first, *others = part.chain
    start = says.ROOT.format(type=first.type, name=first.text) if first.text else ""
    if not part.has_root:
        start = says.NO_ROOT.format(type=first.type)
    texts = [start, *(f"{link.text.removeprefix(says.ARROW)} ({link.type})" for link in others if link.text)]
    text = says.ARROW.join(text for text in texts if text).removeprefix(".")
    return says.CHAIN.format(chain=f"{text}{says.ARROW}{says.short_node(part.node)}" if part.node else text)


def _name(located: LocatedGraph, owner: OwnedMemory) -> str:
    """Returns the name of an owner; for a node the module or the line that made it, and its class."""
    if owner.node is None:
        return owner.name or (says.THE_RESULT if owner.owner == "name" else says.UNKNOWN_OWNER)
    node = located.session.graph.nodes[owner.node]
    made = node.made
    where = "" if made is None else made.module or _place(made)
    name = says.short_node(node.name)
    return says.MADE_BY.format(node=name, made=where) if where else name
