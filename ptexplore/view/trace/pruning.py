"""Which hops become rows, and what each row says: keys with their kernels, operators inside of operators, frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from ptexplore.model.trace import Hop, walk
from ptexplore.view.line import Line
from ptexplore.view.trace import native
from ptexplore.view.trace.lines import brief_places, found, impl_lines, lines_of, places, reasoning, short
from ptexplore.view.trace.row import TraceRow, joined


@dataclass(frozen=True, slots=True)
class RowContext:
    """Where a hop stands: inside how many operators and nodes, and what is known of the whole tree.

    `whole`: the hops that are shown with all below them; where there are such, what leads to them is named alone.
    `hidden`: how many frames directly below a hop are not shown.
    """

    depth: int = 0
    whole: frozenset[int] = frozenset()
    hidden: Mapping[int, int] = field(default_factory=dict)

    def below(self, hop: Hop) -> RowContext:
        """The place of a hop's children; whatever a node of the graph runs is deep inside."""
        return replace(self, depth=self.depth + {"op": 1, "node": 2}.get(hop.kind, 0))

    def is_deep(self, hop: Hop) -> bool:
        """Whether a frame belongs to an operator that another one called: there is one line for each."""
        return hop.instructions is not None and self.depth + (hop.kind == "op") > 1


def prune(hops: Iterable[Hop], place: RowContext, *, full: bool) -> tuple[list[TraceRow], int]:
    """Rows of the hops worth a reader's time; Python helpers that ran no operator are counted, not shown."""
    rows: list[TraceRow] = []
    hidden = 0
    for hop in hops:
        whole = full or hop.id in place.whole
        if not whole and not place.whole and _is_helper(hop):
            hidden += 1 + _count(hop.children)
            continue
        row, below = _row(hop, place, full=whole)
        hidden += below
        rows.append(row)
    return rows, hidden


def _row(hop: Hop, place: RowContext, *, full: bool) -> tuple[TraceRow, int]:
    """The row of one hop, with those of its children."""
    if not full:
        if hop.kind == "key" and len(hop.children) == 1 and hop.children[0].kind == "kernel":
            return _merged(hop, hop.children[0], place)
        boundary = _boundary(hop)
        if boundary is not None and (place.depth or hop.kind == "native"):
            return _crossed(hop, *boundary, place)
        if hop.kind == "op" and place.depth and hop.instructions is None:
            return _brief(hop, place.below(hop))
        hop = _loop(hop)
    children, below = prune(hop.children, place.below(hop), full=full)
    if hop.kind == "closed":
        row = _of(hop, title(hop), (), joined(children, full=full), place.hidden.get(hop.id, 0))
        return replace(row, kind=f"closed ({native.library_of(hop)})"), below
    if full:
        return _of(hop, title(hop), lines_of(hop, full=True), joined(children, full=True), 0), below
    lines = () if place.whole else brief_places(hop) if place.is_deep(hop) else lines_of(hop, full=False)
    name = title(hop, entry=not place.depth)
    if hop.kind == "impl" and place.is_deep(hop):
        hop = replace(hop, kind="native")  # predicted or not, it is one frame among others here
    return _of(hop, name, lines, joined(children, full=False), place.hidden.get(hop.id, 0)), below


def _of(hop: Hop, name: str, lines: Iterable[Line], children: tuple[TraceRow, ...], inside: int) -> TraceRow:
    row = TraceRow(hop.id, name, hop.kind, hop.status, tuple(lines), children, instructions=hop.instructions)
    return row if children else replace(row, inside=inside)


def _loop(hop: Hop) -> Hop:
    """A trampoline whose only callee was compiled into it is told as that callee: it has no other code of its own."""
    inner = hop.children[0] if len(hop.children) == 1 else None
    if inner is None or inner.status != "inlined" or not native.is_trampoline(hop):
        return hop
    return replace(inner, id=hop.id, instructions=hop.instructions)


def _boundary(hop: Hop) -> tuple[Hop, Hop] | None:
    """The key and the kernel behind an operator's entry that ran and leads to one kernel alone; else None."""
    key = hop.children[0] if hop.instructions is not None and len(hop.children) == 1 else None
    kernel = key.children[0] if key is not None and key.kind == "key" and len(key.children) == 1 else None
    return (key, kernel) if key is not None and kernel is not None and kernel.kind == "kernel" else None


def _crossed(hop: Hop, key: Hop, kernel: Hop, place: RowContext) -> tuple[TraceRow, int]:
    """A dispatch boundary inside of an operator as one row: the entry, the key that was chosen, the kernel.

    Deep inside, a kernel that was compiled into its caller gives way to the function that it calls.
    """
    inner = place.below(hop)
    deep = inner.depth > 1
    body = kernel.children[0] if kernel.status == "inlined" and len(kernel.children) == 1 else kernel
    body = body if deep and body.instructions is not None else kernel
    children, hidden = prune(body.children, inner, full=False)
    lines = brief_places(body) if deep else [*reasoning(key), *places(kernel)]
    name = f"{title(hop)} → {key.name} → {short(body.name)}"
    row = _of(hop, name, () if place.whole else lines, joined(children, full=False), place.hidden.get(body.id, 0))
    frames = 1 + (body.instructions is not None)
    return replace(row, status=_weakest(hop, key, body), frames=frames), hidden


def _weakest(*hops: Hop) -> str:
    """The status of several hops that are told as one."""
    return next((hop.status for hop in hops if hop.status != "observed"), "observed")


def _is_helper(hop: Hop) -> bool:
    """Whether it is a Python function, or the C function behind one, that torch itself called for no operator."""
    return hop.kind in ("python", "binding") and not _operators_below(hop)


def _count(hops: Iterable[Hop]) -> int:
    return sum(hop.kind in ("python", "binding") for hop in walk(hops))


def _merged(key: Hop, kernel: Hop, place: RowContext) -> tuple[TraceRow, int]:
    """A key and its kernel on one row: the key is why, the kernel is what."""
    children, hidden = prune(kernel.children, place, full=False)
    lines = () if place.whole else (*reasoning(key), *places(kernel))
    name = f"{key.name} → {short(kernel.name)}"
    row = _of(kernel, name, lines, joined(children, full=False), place.hidden.get(kernel.id, 0))
    return replace(row, hop=key.id, status=_weakest(key, kernel)), hidden


def _brief(hop: Hop, place: RowContext) -> tuple[TraceRow, int]:
    """An operator that ran inside another: one line a key, with the body that ran, then what it called in turn."""
    lines: list[Line] = [] if hop.source.precision == "located" else [Line("place", "", hop.source)]
    rest: list[Hop] = []
    pending = list(hop.children)
    while pending:
        child = pending.pop(0)
        if child.kind == "key" and child.children:
            kernel, *others = child.children
            status = "" if child.status == "derived" else f" {child.status}"
            shown = kernel.source if found(kernel.source) else kernel.registration or kernel.source
            lines.append(Line("place", f"{child.name}{status}", shown))
            pending = [*kernel.children, *others, *pending]
        elif child.kind == "impl" and not found(child.source) and child.declaration is None:
            lines.append(Line("note", f"→ {short(child.name)}"))
        elif child.kind == "impl":
            lines += impl_lines(child, f"→ {short(child.name)}")
            pending = [*child.children, *pending]
        elif child.kind in ("stub", "native") and child.status == "predicted":
            lines.append(Line("place", f"→ {child.name.rsplit('::', 1)[-1]} {child.status}", child.source))
            pending = [*child.children, *pending]
        elif child.kind == "node" and child.node is not None and child.node.recorded:
            lines.append(Line("place", f"records {child.name}", child.source))
        else:
            rest.append(child)
    children, hidden = prune(rest, place, full=False)
    return TraceRow(hop.id, hop.name, hop.kind, hop.status, tuple(lines), joined(children, full=False)), hidden


def title(hop: Hop, *, entry: bool = False) -> str:
    """A hop's name as its row says it; with `entry` an operator's also as C++ calls it."""
    if hop.kind == "binding" and hop.binding is not None:
        return f"{hop.binding.python} → {short(hop.name)}"
    if hop.kind == "op" and hop.operator is not None and hop.operator.entry:
        return f"{hop.name} → {hop.operator.entry}" if entry else hop.name
    if hop.kind == "python":
        return f"{hop.name}()" if hop.name.isidentifier() else hop.name
    frame = hop.kind in ("native", "closed", "impl") and hop.native is not None and hop.native.symbol
    return short(native.shown_name(hop) if frame else hop.name)


def _operators_below(hop: Hop) -> bool:
    return hop.kind in ("op", "node") or any(_operators_below(c) for c in hop.children)
