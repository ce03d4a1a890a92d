"""A trace as a tree of rows: chooses the hops to show, words the lines of each, and counts the hidden ones."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import TypeAlias

from ptexplore.annotations.names import STOP
from ptexplore.model import trace_remarks as says
from ptexplore.model.details import Detail
from ptexplore.model.nesting import Made, Unrolling, each, folded, unrolled
from ptexplore.model.places import TreeInfo
from ptexplore.model.run import Carried, added
from ptexplore.model.trace import Hop, Session, Trace, walk
from ptexplore.model.trace_remarks import TraceRemark
from ptexplore.view.line import Line
from ptexplore.view.trace import native
from ptexplore.view.trace.alike import Shapes, joined
from ptexplore.view.trace.around import typed
from ptexplore.view.trace.backward_start import with_result_as_it
from ptexplore.view.trace.choices import choices
from ptexplore.view.trace.ending import ending_lines, left_by_error, left_here
from ptexplore.view.trace.hop_weights import weights_shown
from ptexplore.view.trace.lines import (
    brief_places,
    caught,
    formulas_of,
    impl_lines,
    leads_somewhere,
    lines_of,
    places,
    reasoning,
    short,
)
from ptexplore.view.trace.native_names import kernel_name
from ptexplore.view.trace.page import NextStep, Options, TraceRow, TraceView
from ptexplore.view.trace.recursion import levels_folded
from ptexplore.view.words.details import described
from ptexplore.view.words.reasons import sentence
from ptexplore.view.words.trace_remarks import all_in_words, worded

TO_READ = 3  # stops of tours that a trace suggests


def tree_view(trace: Trace, options: Options, session: Session | None = None) -> TraceView:
    """Chooses and words the rows of a trace. `session`, if given, says how the native frames were recorded.

    Raises PtexploreError (usage) if no hop matches `options.opened`.
    """
    frames = native.frames(trace.hops)
    place, hops = RowContext(left=frozenset(left_by_error(trace))), trace.hops
    if options.opened:
        hops, opened = native.opened(trace, options.opened)
        place = replace(place, opened=opened)
    elif frames and not options.full:
        hops, hidden = native.condense(hops)
        place = replace(place, hidden=hidden)
    if not options.full and not options.opened:
        hops, levels = levels_folded(hops)
        place = replace(place, levels=levels)
    may_have_row = {hop.id for hop in walk(hops)}
    place = replace(place, choices=choices(trace.hops, may_have_row.__contains__))
    place = replace(place, weights=weights_shown(trace.hops, "tree"))
    rows, helpers = prune(hops, place, full=options.full)
    if options.only:
        rows = only(rows, options.only.lower())
    if options.depth is not None:
        rows = tuple(cut(r, options.depth) for r in rows)
    if frames and not options.full:
        # If only one tree is of another version, the facts name that tree, so the rows need not.
        one_skewed = sum(tree.relation == "version-skew" for tree in trace.trees) == 1
        rows = folded(rows, lambda row, inside: replace(row.brief(skew=one_skewed), children=inside))
    innermost = innermost_shown(rows, trace)
    rows = marked(rows, trace, innermost)
    written = _generators(rows, trace)
    return TraceView(
        title=trace.expression,
        traced=trace.traced.name,
        facts=all_in_words((*facts_of(trace), *native.facts(trace, session))),
        rows=rows,
        findings=all_in_words(says.Found(kind=f.kind, finding=sentence(f.told)) for f in trace.findings),
        left_out=all_in_words(
            (*_left_out(helpers, frames - shown_frames(rows), frames), *([written] if written else []))
        ),
        counted=frames > 0,
        next_steps=_next_steps(trace, options),
        read=tuple(shlex.join(["ptexplore", "tour", *name.split("#")]) for name in stops_to_read(trace)[:TO_READ]),
        ending=ending_lines(trace, (innermost.hop, innermost.title) if innermost is not None else None),
    )


def _left_out(helpers: int, hidden: int, frames: int) -> Iterator[TraceRemark]:
    """Says what the tree does not show."""
    if hidden > 0:
        yield says.FramesLeftOut(hidden=hidden, frames=frames)
    if helpers:
        yield says.HelpersLeftOut(few=helpers)


def facts_of(trace: Trace) -> Iterator[TraceRemark]:
    """Yields the facts above the rows: the torch that ran, the other source trees, the bound names, and the result."""
    torch = trace.torch
    yield says.TorchBuildBeside(version=torch.version, commit=torch.git_version[:8], build=torch.build)
    for tree in trace.trees:
        if tree.relation != "runtime":
            yield tree_fact(tree, torch.version)
    by_description: dict[str, list[str]] = {}
    for bound in trace.bound:
        by_description.setdefault(bound.description, []).append(bound.name)
    for description, names in by_description.items():
        yield says.NamesBound(names=tuple(names), description=description)
    result = trace.result
    if result.description:
        # The description of the result comes first, so the line on backward says "from it" instead of repeating that.
        yield says.ResultIs(description=result.description, backward=with_result_as_it(result).backward)


def _next_steps(trace: Trace, options: Options) -> tuple[NextStep, ...]:
    """Returns the next commands to type, with names from this trace."""
    steps: list[NextStep] = []
    operator = next((hop for hop in walk(trace.hops) if hop.kind == "op" and hop.op), None)
    if operator is not None:
        if operator.operator is not None:  # the catalogue has it
            same_torch = _same_torch(options.runs or options.command)
            steps.append(NextStep(shlex.join(["ptexplore", "op", operator.op or "", *same_torch])))
        key = next((c for c in operator.children if c.kind == "key"), operator)
        steps += [typed(options, None, "--explain", str(key.id))] if options.command else []
    if trace.ending is not None and options.command:
        steps.append(typed(options, None, "--explain", "error"))
    if not options.full:
        steps.append(typed(options, None, "--full"))
    return tuple(steps)


def _same_torch(command: Sequence[str]) -> Sequence[str]:
    """Returns the `--python` option of a command line with its value; empty if there is none."""
    for number, word in enumerate(command):
        if word == "--python":
            return command[number : number + 2]
        if word.startswith("--python="):
            return [word]
    return ()


def tree_fact(tree: TreeInfo, version: str) -> TraceRemark:
    """Describes a source tree other than the installed torch's, and how the tree relates to the torch that ran."""
    commit = (tree.commit or "")[:8]
    if tree.layers == ("atlas",):
        return says.AtlasIs(version=tree.version, commit=commit, relation=tree.relation)
    meanings = {"matches": says.TreeMatches(), "consistent": says.TreeConsistent()}
    meaning = meanings.get(tree.relation, says.TreeSkewed(torch=version))
    return says.TreeIs(name=tree.name, version=tree.version, commit=commit, relation=tree.relation, meaning=meaning)


def stops_to_read(trace: Trace) -> list[str]:
    """Returns the names of all stops that the hops of a trace refer to, each once, in reading order."""
    names = dict.fromkeys(name for hop in walk(trace.hops) for name in hop.notes)
    return [name for name in names if STOP.fullmatch(name)]  # a name in a saved trace may be anything


def _generators(rows: Iterable[TraceRow], trace: Trace) -> TraceRemark | None:
    """Names the generator of each generated file in the rows: each generator once, with one file.

    Returns None if the rows name no generated file.
    """
    shown: dict[str, str] = {}
    for line in (line for row in walk(rows) for line in row.lines):
        path = line.ref.path if line.ref is not None else None
        generator = trace.generators.get(path) if path is not None else None
        if path is not None and generator is not None and not path.endswith(".h"):  # a header only declares
            shown.setdefault(generator, path.rpartition("/")[2])
    listed = tuple(says.GeneratorWrote(generator=generator, file=file) for generator, file in shown.items())
    return says.GeneratorsWrote(listed=listed) if listed else None


def _joined(rows: Iterable[TraceRow], place: RowContext) -> tuple[TraceRow, ...]:
    """Joins neighbouring rows that are alike into one row, with their count and sums."""
    return tuple(joined((_shaped(row, place) for row in rows), attrgetter("shape"), _one_of))


def _shaped(row: TraceRow, place: RowContext) -> TraceRow:
    """Returns the row with the number of its shape.

    In a full tree, rows with children are alike only if their figures are equal.
    """
    inside = tuple((child.shape, child.times) for child in row.children)
    counts = (row.instructions, row.inside, *row.weights.items()) if place.full and row.children else None
    return replace(row, shape=place.shapes.number(row.alike(), inside, counts))


def _one_of(row: TraceRow, equal: TraceRow) -> TraceRow:
    return replace(unrolled(_sum(row, equal)), times=row.times + equal.times)


def _sum(row: TraceRow, equal: TraceRow) -> Unrolling[TraceRow]:
    """Adds two rows that are alike. The sum keeps the hop number of the first row."""
    children = yield each(_sum(*pair) for pair in zip(row.children, equal.children, strict=True))
    return replace(row.plus(equal), children=children, weights=added((row.weights, equal.weights)))


def shown_frames(rows: Iterable[TraceRow]) -> int:
    """Returns the number of frames that these rows and the rows below them stand for."""

    def frames(row: TraceRow, inside: tuple[int, ...]) -> int:
        return row.times * (sum(inside) + (row.frames if row.instructions is not None else 0))

    return sum(folded(rows, frames))


def only(rows: Iterable[TraceRow], wanted: str) -> tuple[TraceRow, ...]:
    """Keeps the rows whose title or place contains the text, and the rows that lead to them."""

    def leading(row: TraceRow, inside: tuple[TraceRow | None, ...]) -> TraceRow | None:
        places = " ".join(line.ref.path or "" for line in row.lines if line.ref)
        if wanted in row.title.lower() or wanted in places.lower():
            return row
        children = tuple(child for child in inside if child is not None)
        return replace(row, children=children, lines=()) if children else None

    return tuple(row for row in folded(rows, leading) if row is not None)


def innermost_shown(rows: Sequence[TraceRow], trace: Trace) -> TraceRow | None:
    """Returns the innermost shown row that the error propagated out of, or None if no shown row is one of these."""
    shown = {row.hop: row for row in walk(rows)}
    return next((shown[number] for number in reversed(left_by_error(trace)) if number in shown), None)


def marked(rows: Sequence[TraceRow], trace: Trace, innermost: TraceRow | None) -> tuple[TraceRow, ...]:
    """Adds a line about the error to the innermost shown row that the error propagated out of."""
    ending = trace.ending
    if ending is None or innermost is None:
        return tuple(rows)
    number, line = innermost.hop, Line("warning", described(left_here(trace, ending)))

    def with_line(row: TraceRow, children: tuple[TraceRow, ...]) -> TraceRow:
        return replace(row, lines=(*row.lines, line) if row.hop == number else row.lines, children=children)

    return folded(rows, with_line)


def cut(row: TraceRow, depth: int) -> TraceRow:
    """Cuts a row to at most `depth` levels."""

    def within(row: TraceRow, depth: int) -> Unrolling[TraceRow]:
        if depth <= 1:
            return replace(row, children=(), hidden=row.hidden + sum(1 for _ in walk(row.children)))
        return replace(row, children=(yield each(within(child, depth - 1) for child in row.children)))

    return unrolled(within(row, depth))


@dataclass(frozen=True, slots=True)
class RowContext:
    """Where a hop is in the tree, and facts about the whole tree.

    `depth`: how deep inside operators and nodes. `thread`: the thread of the hop around it. `opened`: ids of hops shown
    with everything below them; if there are any, hops that lead to them show only their names. `hidden`: by hop id, how
    many frames directly below it are not shown. `left`: ids of hops that the error propagated out of. `working`: ids of
    hops inside which something ran that has a row. `levels`: by hop id, how many levels of a recursive function the hop
    stands for. `choices`: by hop id, what chose the code that ran. `weights`: by hop id, what everything inside weighs.
    `full`: every hop has a row.
    """

    depth: int = 0
    thread: int = 0
    opened: frozenset[int] = frozenset()
    hidden: Mapping[int, int] = field(default_factory=dict)
    left: frozenset[int] = frozenset()
    working: frozenset[int] = frozenset()
    levels: Mapping[int, int] = field(default_factory=dict)
    choices: Mapping[int, tuple[Detail, ...]] = field(default_factory=dict)
    weights: Mapping[int, Carried] = field(default_factory=dict)
    full: bool = False
    shapes: Shapes = field(default_factory=Shapes)

    def inside(self, hop: Hop) -> RowContext:
        """Returns the context of a hop's children.

        A node of the graph adds two levels, so everything that it runs counts as deep.
        """
        return replace(self, depth=self.depth + {"op": 1, "node": 2}.get(hop.kind, 0), thread=hop.thread)

    def is_deep(self, hop: Hop) -> bool:
        """Whether a frame is inside an operator that another operator called. Such a frame has only one line."""
        return hop.instructions is not None and self.depth + (hop.kind == "op") > 1


Pruned: TypeAlias = Unrolling[tuple[Made, int]]  # rows, and the number of Python helpers that are not shown


def prune(hops: Sequence[Hop], place: RowContext, *, full: bool) -> tuple[tuple[TraceRow, ...], int]:
    """Makes rows of the hops worth reading, with equal neighbours joined.

    Returns the rows, and the number of hidden helpers: Python calls that ran no operator and no shown frame.
    """
    place = replace(place, working=_working(hops), full=full)
    return unrolled(_pruned(hops, place, full=full))


def _pruned(hops: Iterable[Hop], place: RowContext, *, full: bool) -> Pruned[tuple[TraceRow, ...]]:
    rows: list[TraceRow] = []
    hidden = 0
    for hop in hops:
        complete = full or hop.id in place.opened
        is_helper = hop.kind in ("python", "binding") and hop.id not in place.left and hop.id not in place.working
        if is_helper and not complete and not place.opened:
            hidden += sum(helper.kind in ("python", "binding") for helper in walk([hop]))
            continue
        row, hidden_below = yield _row(hop, place, full=complete)
        if hop.id in place.weights:
            row = replace(row, weights=place.weights[hop.id])
        if hop.id in place.levels:
            count = place.levels[hop.id]
            in_turn = Line("reason", worded(says.CallsInTurn(few=count)))
            row = replace(row, title=f"{row.title} ×{count}", lines=(*row.lines, in_turn))
        chosen = [detail for number in (hop.id, *_merged_into(hop)) for detail in place.choices.get(number, ())]
        if chosen:
            row = replace(row, lines=(*row.lines, Line("reason", described(chosen))))
        if hop.thread != place.thread:
            row = replace(row, lines=(*row.lines, Line("reason", worded(says.RanInThread(ordinal=hop.thread)))))
        if hop.unknown_order:
            row = replace(row, lines=(*row.lines, Line("reason", worded(says.OrderUnknownAmong()))))
        hidden += hidden_below
        rows.append(row)
    return _joined(rows, place), hidden


def _merged_into(hop: Hop) -> Iterator[int]:
    """Yields the id of the kernel whose row may be the row of its key."""
    if hop.kind == "key" and len(hop.children) == 1 and hop.children[0].kind == "kernel":
        yield hop.children[0].id


def _row(hop: Hop, place: RowContext, *, full: bool) -> Pruned[TraceRow]:
    """Makes the row of one hop, with the rows of its children."""
    if not full:
        if hop.kind == "key" and len(hop.children) == 1 and hop.children[0].kind == "kernel":
            return (yield from _merged(hop, hop.children[0], place))
        boundary = _boundary(hop)
        if boundary is not None and (place.depth or hop.kind == "native"):
            return (yield from _crossed(hop, *boundary, place))
        if hop.kind == "op" and place.depth and hop.instructions is None:
            return (yield from _brief(hop, place.inside(hop)))
        hop = _loop(hop)
    children, hidden = yield _pruned(hop.children, place.inside(hop), full=full)
    if hop.kind == "closed":
        row = _of(hop, title(hop), (), children, place.hidden.get(hop.id, 0))
        return replace(row, kind=f"no source ({native.entered(hop)})"), hidden
    if full:
        return _of(hop, title(hop), lines_of(hop, full=True), children, 0), hidden
    lines = () if place.opened else brief_places(hop) if place.is_deep(hop) else lines_of(hop, full=False)
    name = title(hop, entry=not place.depth)
    if hop.kind == "impl" and place.is_deep(hop):
        hop = replace(hop, kind="native")  # predicted or not: here it is one frame among others
    return _of(hop, name, lines, children, place.hidden.get(hop.id, 0)), hidden


def _of(hop: Hop, name: str, lines: Iterable[Line], children: tuple[TraceRow, ...], inside: int) -> TraceRow:
    return TraceRow(
        hop=hop.id,
        title=name,
        kind=hop.kind,
        status=hop.status,
        lines=tuple(lines),
        children=children,
        instructions=hop.instructions,
        inside=0 if children else inside,
    )


def _loop(hop: Hop) -> Hop:
    """Returns an inlined callee in place of the trampoline that calls only it: there is no other code."""
    inner = hop.children[0] if len(hop.children) == 1 else None
    if inner is None or inner.status != "inlined" or not native.is_trampoline(hop):
        return hop
    return replace(inner, id=hop.id, instructions=hop.instructions)


def _boundary(hop: Hop) -> tuple[Hop, Hop] | None:
    """Returns the key and the kernel behind a stepped operator entry, if it leads to exactly one kernel; else None."""
    key = hop.children[0] if hop.instructions is not None and len(hop.children) == 1 else None
    kernel = key.children[0] if key is not None and key.kind == "key" and len(key.children) == 1 else None
    return (key, kernel) if key is not None and kernel is not None and kernel.kind == "kernel" else None


def _crossed(hop: Hop, key: Hop, kernel: Hop, place: RowContext) -> Pruned[TraceRow]:
    """Makes one row of a dispatch inside an operator: the entry, the chosen key, the kernel.

    Deep inside, a kernel that was inlined into its caller is replaced by the function that the kernel calls.
    """
    inner = place.inside(hop)
    deep = inner.depth > 1
    body = kernel.children[0] if kernel.status == "inlined" and len(kernel.children) == 1 else kernel
    body = body if deep and body.instructions is not None else kernel
    children, hidden = yield _pruned(body.children, inner, full=False)
    lines = brief_places(body) if deep else [*reasoning(key), *places(kernel)]
    name = f"{title(hop)} → {key.name} → {short(body.name)}"
    row = _of(hop, name, () if place.opened else lines, children, place.hidden.get(body.id, 0))
    return replace(row, status=_weakest(hop, key, body), frames=1 + (body.instructions is not None)), hidden


def _weakest(*hops: Hop) -> str:
    """Returns the status of several hops that share a row: the first that is not `observed`."""
    return next((hop.status for hop in hops if hop.status != "observed"), "observed")


def _merged(key: Hop, kernel: Hop, place: RowContext) -> Pruned[TraceRow]:
    """Makes one row of a key and its kernel. The key says why, the kernel says what ran."""
    children, hidden = yield _pruned(kernel.children, place, full=False)
    lines = () if place.opened else (*reasoning(key), *places(kernel))
    name = f"{key.name} → {short(kernel.name)}"
    row = _of(kernel, name, lines, children, place.hidden.get(kernel.id, 0))
    return replace(row, hop=key.id, status=_weakest(key, kernel)), hidden


def _brief(hop: Hop, place: RowContext) -> Pruned[TraceRow]:
    """Makes the row of an operator inside another one: a line for each key with its kernel, then the kernel's calls."""
    lines: list[Line] = [] if hop.source.precision == "located" else [Line("place", "", hop.source)]
    rest: list[Hop] = []
    pending = list(hop.children)
    while pending:
        child = pending.pop(0)
        if child.kind == "key" and child.children:
            kernel, *others = child.children
            status = "" if child.status == "derived" else f" {child.status}"
            shown = kernel.source if leads_somewhere(kernel.source) else kernel.registration or kernel.source
            lines.append(Line("place", f"{child.name}{status}", shown))
            pending = [*kernel.children, *others, *pending]
        elif child.kind == "impl" and not leads_somewhere(child.source) and child.declaration is None:
            lines.append(Line("note", f"→ {short(child.name)}"))
        elif child.kind == "impl":
            lines += impl_lines(child, f"→ {short(child.name)}")
            pending = [*child.children, *pending]
        elif child.kind in ("stub", "native") and child.status == "predicted":
            condition = child.stub.condition if child.stub is not None else None
            hangs = f", line {condition.line} decides whether it runs" if condition is not None else ""
            lines.append(Line("place", f"→ {child.name.rsplit('::', 1)[-1]} {child.status}{hangs}", child.source))
            pending = [*child.children, *pending]
        elif child.kind == "node" and child.node is not None and child.node.recorded:
            lines.append(Line("place", f"records {child.name}", child.source, after=formulas_of(child)))
        else:
            rest.append(child)
    lines += caught(hop)
    children, hidden = yield _pruned(rest, place, full=False)
    return TraceRow(hop.id, hop.name, hop.kind, hop.status, lines=tuple(lines), children=children), hidden


def title(hop: Hop, *, entry: bool = False) -> str:
    """Returns a hop's name as its row shows it. With `entry`, an operator also has its C++ name."""
    if hop.kind == "binding" and hop.binding is not None:
        return f"{hop.binding.python} → {short(hop.name)}"
    if hop.kind == "op" and hop.operator is not None and hop.operator.entry:
        return f"{hop.name} → {hop.operator.entry}" if entry else hop.name
    if hop.kind == "python":
        return f"{hop.name}()" if hop.name.isidentifier() and not native.is_range(hop) else hop.name
    if hop.kind == "launch":
        through = hop.launch.through if hop.launch is not None else None
        return f"{through} → {kernel_name(hop.name)}" if through else kernel_name(hop.name)
    frame = hop.kind in ("native", "closed", "impl") and hop.native is not None and hop.native.symbol
    return short(native.shown_name(hop) if frame else hop.name)


def _working(hops: Iterable[Hop]) -> frozenset[int]:
    """Returns the ids of hops that ran an operator or a node, or that called a C++ function which the rules keep."""
    working: set[int] = set()

    def works(hop: Hop, inside: tuple[bool, ...]) -> bool:
        if hop.kind in ("op", "node") or any(inside) or any(child.kind == "native" for child in hop.children):
            working.add(hop.id)
        return hop.id in working

    folded(hops, works)
    return frozenset(working)
