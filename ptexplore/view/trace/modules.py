"""The view of a recorded program: its modules and functions with their time, what they saved, and their backward."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from ptexplore.errors import USAGE, PtexploreError
from ptexplore.model.program import Program
from ptexplore.model.trace import Finding, Trail
from ptexplore.view.trace.around import findings, legend, typed
from ptexplore.view.trace.ending import ending_lines
from ptexplore.view.trace.page import NextStep, Options, ScreenRow, TrailView
from ptexplore.view.trace.program_parts import OwnOperators, Part, parts_of, times_elsewhere

ROWS = 84  # of the table: a program's first screen has a hundred, with what stands around it
NODES = 4  # of backward, those that took longest
TWICE = "twice"  # the kind of finding that tells that a second run did the same
NATIVE_TREE = "the native tree"  # how resolve/native/join.py begins what it tells of one that is cut
STEPPED = "stepped"  # the kind of finding that tells which kinds of operator calls were stepped
NOTICED = 0.2  # the share of what a part did itself from which on Python is named beside the operators
NOTHING = 0.001  # the share from which on a part that called no operator is shown
LEAST_NAMED = 0.01  # the share of an operator that is named there
COSTLIEST = 4  # operators that the line about them names
LEAST = (0.0, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)  # shares below which parts are left out, in turn
ORDER = "rows in order of first calls (nodes, operators: by cost); last, itself: what no row beside it did"
COLUMNS = ("time", "backward", "calls", "ops", "saved")


def seconds(nanoseconds: int) -> str:
    """A time in words: `2.93 s`, `124 ms`, `3.1 ms`, `45 us`."""
    if nanoseconds >= 1e9:
        return f"{nanoseconds / 1e9:.2f} s"
    unit, factor = ("ms", 1e6) if nanoseconds >= 1e6 else ("us", 1e3)
    value = nanoseconds / factor
    return f"{value:.1f} {unit}" if value < 10 else f"{value:,.0f} {unit}"


def size(count: int) -> str:
    """A number of bytes in words: `24.8 MB`, `129 kB`, `512 B`."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}" if count < 100 * factor else f"{count / factor:,.0f} {unit}"
    return f"{count} B"


def modules_view(trail: Trail, program: Program, options: Options) -> TrailView | None:
    """The parts of a program, as many as fit.

    What `options.opened` names may be no part, but an operator: None then, unless this view was asked for by name,
    which raises PtexploreError (usage).
    """
    whole = parts_of(program, script_name(trail))
    root = whole if options.opened is None else _part(whole, options.opened)
    if root is None:
        if options.view is None:
            return None
        raise _no_part(whole, options.opened or "")
    shown = Shown(max(whole.time, 1), opened=options.opened is not None)
    rows, hidden = fitting(root, shown, ROWS)
    few = "part, which took little time, is" if hidden == 1 else "parts, which took little time, are"
    left_out = [f"{hidden} more {few} not shown"] if hidden else []
    if program.elsewhere is None:
        left_out.append("time: wall time of this one run, with what recording took")
    left_out.append(ORDER)
    left_out += backward_and_saved(root)
    return TrailView(
        title=whole.name,
        facts=tuple(_facts(trail, program, whole)),
        findings=(*_findings(trail, options), *(f"cut: {text}" for text in program.cuts)),
        left_out=(*left_out, *costliest(root), *_stepped(trail, options)),
        next_steps=tuple(_next_steps(root, options)),
        ending=ending_lines(trail, None),
        view="modules",
        table=rows,
        columns=COLUMNS,
        legend=legend(trail, rows),
    )


def script_name(trail: Trail) -> str:
    """How a program is called: the name of its script."""
    return os.path.basename(trail.expression.removeprefix("--script "))


def _part(whole: Part, name: str) -> Part | None:
    """The part of that name, or whose name ends with it; None where there is none."""
    parts = [(part, (part.name, *part.names, part.type)) for part in whole.walk()]
    part_named = next((part for part, names in parts if name in names), None)
    ends = (part for part, names in parts if any((known or "").endswith(f".{name}") for known in names))
    return part_named or next(ends, None)


def opened(whole: Part, name: str) -> Part:
    """The part of that name. Raises PtexploreError (usage) where there is none."""
    part_named = _part(whole, name)
    if part_named is None:
        raise _no_part(whole, name)
    return part_named


def _no_part(whole: Part, name: str) -> PtexploreError:
    known = ", ".join(dict.fromkeys(part.name for part in list(whole.walk())[1:6]))
    return PtexploreError(f"nothing is called {name}", f"there is {known}, …", "--view modules shows them", USAGE)


def _facts(trail: Trail, program: Program, whole: Part) -> Iterator[str]:
    yield f"torch {trail.torch.version}"
    imports = next((part for part in whole.parts if part.kind == "imports"), None)
    if program.elsewhere is not None:
        yield from times_elsewhere(program)
    else:
        apart = [f"{seconds(program.folding)} more of recording"] if program.folding else []
        apart += [f"{seconds(imports.time)} of imports"] if imports is not None else []
        inside = min(max(program.overhead - program.folding, 0), whole.time)
        recording = f"about {seconds(inside)} of it recording, most where calls are many"
        beside = f"; apart from that: {', '.join(apart)}" if apart else ""
        yield f"one run: {seconds(whole.time)}, {recording}{beside}"
        if program.processor:
            threads = f"torch had {program.threads} thread{'s' * (program.threads != 1)}"
            of = f"{seconds(program.processor)} in {seconds(program.wall)}, imports and recording included; {threads}"
            waited = program.wall - program.processor
            idle = (
                f"; for {seconds(waited)} or more none ran, which is in the times below"
                if waited > NOTICED * program.wall
                else ""
            )
            yield f"on processors, all threads together: {of}{idle}"
    kinds = len({route.kind for route in program.routes})
    saved = f"; {size(whole.saved)} saved for backward" if whole.saved else ""
    yield f"{whole.operators:,} operator calls of {kinds} kinds{saved}"
    yield from (finding.text for finding in trail.findings if finding.kind == TWICE)
    transforms = dict.fromkeys(layer.kind for sets in program.sets for layer in sets.transforms)
    if transforms:
        yield f"function transforms in force: {', '.join(transforms)}"


@dataclass(frozen=True, slots=True)
class Shown:
    """What is the same for all rows of a table of parts: the cost of the whole, the least share that has a row.

    `opened`: every operator has a row. `of_expression`: costs are told by `told`, what is in no row below is a row of
    its own, and operators are named.
    """

    wall: int
    least: float = 0.0
    opened: bool = False
    of_expression: bool = False
    told: Callable[[int], str] = seconds

    def has(self, part: Part) -> bool:
        """Whether a part has a row: it took enough time, and called an operator or took more than nothing."""
        share = part.time / self.wall
        return share >= self.least and (part.operators > 0 or share >= NOTHING)

    def share(self, cost: int) -> float | None:
        """The share of the whole; None where nothing was measured."""
        return cost / self.wall if not self.of_expression or self.wall > 1 else None


def fitting(root: Part, shown: Shown, most: int) -> tuple[tuple[ScreenRow, ...], int]:
    """The rows of a part and all inside of it, and how many parts are left out, those of the least time first."""
    rows: tuple[ScreenRow, ...] = ()
    for least in LEAST:
        shown = replace(shown, least=least)
        imports = (part for part in root.parts if part.kind == "imports" and shown.has(part))
        rows = tuple(row for part in (*imports, root) for row in _rows(part, "", shown, 0))
        if len(rows) <= most:
            break
    return rows[:most], _hidden(root, shown) + max(len(rows) - most, 0)


def _rows(part: Part, module: str, shown: Shown, level: int) -> Iterator[ScreenRow]:
    """The rows of a part and all inside of it. `module` is the name of the innermost module around it."""
    cells = (
        shown.told(part.time) if part.time else "",
        shown.told(part.backward) if part.backward and not _runs_backward(part) else "",
        f"{part.calls:,}" if part.kind != "imports" else "",
        f"{part.operators:,}" if part.operators else "",
        size(part.saved) if part.saved else "",
    )
    told = shown.of_expression and not (part.parts or shown.opened or part.kind == "backward")
    yield ScreenRow(
        name=_names(part, module),
        level=level,
        share=shown.share(part.time) if part.kind != "imports" else None,
        cells=cells,
        what=_operators(part) if told else "",
        place=part.source,
        times=max(len(part.names), 1),
        opens=part.name,
    )
    own = part.own if shown.opened else part.own[:NODES] if part.kind == "backward" else ()
    for operators in own:
        if operators.time / shown.wall >= shown.least:
            yield _operator_row(operators, shown, level + 1)
    if part.kind == "backward":
        yield from _rest_of_backward(part, part.own[len(own) :], shown, level + 1)
    for inner in part.parts:
        if shown.has(inner) and inner.kind != "imports":
            yield from _rows(inner, part.name if part.kind == "module" else module, shown, level + 1)
    if part.parts and not shown.opened and part.kind != "backward":
        yield from _rest_row(part, shown, level + 1)


def _rest_of_backward(part: Part, rest: Sequence[OwnOperators], shown: Shown, level: int) -> Iterator[ScreenRow]:
    """What backward did beside the nodes that have a row."""
    if rest:
        time = sum(own.time for own in rest)
        cells = (shown.told(time) if time else "", *[""] * 4)
        what = "kinds of nodes and operators" if shown.of_expression else "kinds of nodes"
        yield ScreenRow(f"… {len(rest)} more {what}", level, cells=cells, share=shown.share(time))
    between = part.time - sum(own.time for own in part.own)
    if shown.of_expression and between:
        cells = (shown.told(between), *[""] * 4)
        yield ScreenRow("between nodes: the engine, Python", level, cells=cells, share=shown.share(between))


def _hidden(part: Part, shown: Shown) -> int:
    """How many parts inside of a part have no row."""
    return sum(_hidden(p, shown) if shown.has(p) else sum(1 for _ in p.walk()) for p in part.parts)


def _runs_backward(part: Part) -> bool:
    """Whether backward ran inside of a part: its time has that of the nodes already."""
    return any(inner.kind == "backward" for inner in part.walk())


def _rest_row(part: Part, shown: Shown, level: int) -> Iterator[ScreenRow]:
    """Everything that a part did and none of its parts: the operators that it called itself, and Python."""
    inside = [inner for inner in part.parts if inner.kind not in ("imports", "thread")]  # their time is no part of its
    time = max(part.time - sum(inner.time for inner in inside), sum(own.time for own in part.own))
    backward = part.backward - sum(inner.backward for inner in part.parts)
    operators = part.operators - sum(inner.operators for inner in part.parts)
    saved = part.saved - sum(inner.saved for inner in part.parts)
    if not operators and time < NOTHING * shown.wall:
        return
    told = (f"{operators:,}" if operators else "", size(saved) if saved else "")
    cells = (shown.told(time) if time else "", shown.told(backward) if backward else "", "", *told)
    python = time - sum(own.time for own in part.own)
    names = [_operators(part)] if part.own else []
    if python > time * NOTICED or not names:  # it is named where it took most, or much
        names.insert(0 if 2 * python > time else len(names), "Python")
    name = f"itself: {', '.join(names)}"
    yield ScreenRow(name=name, level=level, share=shown.share(time), cells=cells, opens=part.name)


def _operators(part: Part) -> str:
    """The names of the operators that a part called itself, the costliest first."""
    return ", ".join(own.name for own in part.own[: NODES - 1]) + (", …" if len(part.own) >= NODES else "")


def _operator_row(own: OwnOperators, shown: Shown, level: int) -> ScreenRow:
    calls, times = ("", own.calls) if shown.of_expression else (f"{own.calls:,}", 1)
    cells = (shown.told(own.time) if own.time or not shown.of_expression else "", "", calls, "", "")
    return ScreenRow(own.name, level, share=shown.share(own.time), cells=cells, times=times, opens=own.name)


def _names(part: Part, module: str) -> str:
    """The name of a part within the module around it; of several that are alike, the first and the last."""
    names = [name.removeprefix(f"{module}.") if part.kind == "module" else name for name in part.names or (part.name,)]
    if part.kind == "imports":
        return f"imports  {part.calls:,} module{'s' * (part.calls != 1)}"
    if part.kind == "module" and not part.name:
        return part.type or "module"
    name = ", ".join(names) if len(names) < 3 else f"{names[0]} … {names[-1]}"
    return f"{name}  {part.type}" if part.kind == "module" and part.type else name


def costliest(root: Part, of: str = "time") -> Iterator[str]:
    """The operators, and nodes of backward, that took longest, or most of what else is counted, as one line."""
    total: dict[str, int] = {}
    for part in root.walk():
        for own in part.own:
            total[own.name] = total.get(own.name, 0) + own.time
    first = sorted(total.items(), key=lambda item: -item[1])[:COSTLIEST]
    shares = [f"{name} {time / root.time:.0%}" for name, time in first if time >= LEAST_NAMED * max(root.time, 1)]
    if shares:
        yield f"costliest operators and nodes: {', '.join(shares)} of the {of}"


def backward_and_saved(root: Part) -> Iterator[str]:
    """What these two columns mean, where they have figures."""
    if any(part.backward for part in root.walk()):
        yield "backward: of the nodes that a row's operators recorded; no part of its time and share"
    if any(part.saved for part in root.walk()):
        yield "saved: bytes kept for backward, parameters left out, each storage once, where it was kept first"


def _findings(trail: Trail, options: Options) -> tuple[str, ...]:
    """What must be known beside the rows; what was not stepped, or not to its end, only in a verbose view."""
    beside = (f for f in trail.findings if f.kind != TWICE)
    told = (f for f in beside if options.verbose or not (f.kind == STEPPED or _is_of_stepping(f)))
    return findings(replace(trail, findings=tuple(told)))


def _is_of_stepping(finding: Finding) -> bool:
    """Whether it tells that one stepped call has no end: no figure of these rows is of a stepped call."""
    return finding.kind == "cut" and finding.text.startswith(NATIVE_TREE)


def _stepped(trail: Trail, options: Options) -> Iterator[str]:
    """How much of the program was stepped, in one line."""
    for finding in trail.findings:
        if finding.kind == STEPPED and not options.verbose:
            cut = sum(map(_is_of_stepping, trail.findings))
            told = f"{finding.text.partition(';')[0]} more{f' ({cut} not to the end)' if cut else ''}"
            yield f"recorded down to C++, for --view tree: {told}; --native-budget SECONDS gives it longer"


def _next_steps(root: Part, options: Options) -> Iterator[NextStep]:
    parts = [part for inner in root.parts for part in inner.walk() if part.kind != "imports" and part.operators]
    times = Counter(part.name for part in parts)
    widest = max((part for part in parts if times[part.name] == 1 and part.name), key=_own_time, default=None)
    if widest is not None:
        yield typed(options, f"{widest.name} with its operators", "--open", widest.name)
    yield typed(options, "operators by cost, with keys and kernels", "--view", "operators")


def _own_time(part: Part) -> int:
    return part.own_time
