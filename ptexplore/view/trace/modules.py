"""The view of a recorded program: its modules and functions with their time, what they saved, and their backward."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ptexplore.errors import USAGE, PtexploreError
from ptexplore.model.program import Program
from ptexplore.model.trace import Trail
from ptexplore.view.trace.around import findings, legend, typed
from ptexplore.view.trace.ending import ending_lines
from ptexplore.view.trace.page import NextStep, Options, ScreenRow, TrailView
from ptexplore.view.trace.program_parts import OwnOperators, Part, parts_of, times_elsewhere

ROWS = 84  # of the table: a program's first screen has a hundred, with what stands around it
NODES = 4  # of backward, those that took longest
TWICE = "twice"  # the kind of finding that tells that a second run did the same
STEPPED = "stepped"  # the kind of finding that tells which kinds of operator calls were stepped
NOTHING = 0.001  # the share from which on a part that called no operator is shown
LEAST_NAMED = 0.01  # the share of an operator that is named there
COSTLIEST = 4  # operators that the line about them names
LEAST = (0.0, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)  # shares below which parts are left out, in turn
COLUMNS = ("time", "backward", "calls", "ops", "saved")


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
    rows, hidden = _fitting(root, whole.time, opened=options.opened is not None)
    few = "part, which took little time, is" if hidden == 1 else "parts, which took little time, are"
    left_out = [f"{hidden} more {few} not shown"] if hidden else []
    if any(part.backward or part.saved for part in root.walk()):
        kept = "saved: the bytes kept for them, once each, where they were kept first"
        left_out.append(f"backward: the time of the nodes that a row's operators recorded; {kept}")
    return TrailView(
        title=whole.name,
        facts=tuple(_facts(trail, program, whole)),
        findings=(*_findings(trail, options), *(f"cut: {text}" for text in program.cuts)),
        left_out=(*left_out, *_costliest(root), *_stepped(trail, options)),
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
        yield f"one run: {seconds(whole.time)}, about {seconds(inside)} of it recording" + (
            f"; apart from that: {', '.join(apart)}" if apart else ""
        )
    kinds = len({route.kind for route in program.routes})
    saved = f"; {size(whole.saved)} saved for backward" if whole.saved else ""
    yield f"{whole.operators:,} operator calls of {kinds} kinds{saved}"
    yield from (finding.text for finding in trail.findings if finding.kind == TWICE)
    transforms = dict.fromkeys(layer.kind for sets in program.sets for layer in sets.transforms)
    if transforms:
        yield f"function transforms in force: {', '.join(transforms)}"


def _fitting(root: Part, wall: int, *, opened: bool) -> tuple[tuple[ScreenRow, ...], int]:
    """The rows of a part and all inside of it, and how many parts are left out, those of the least time first."""
    wanted = _Wanted(max(wall, 1), 0.0, opened)
    rows: tuple[ScreenRow, ...] = ()
    for least in LEAST:
        wanted = replace(wanted, least=least)
        rows = tuple(_rows(root, "", wanted, 0))
        if len(rows) <= ROWS:
            break
    return rows[:ROWS], _hidden(root, wanted) + max(len(rows) - ROWS, 0)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What is the same for all rows: the time of the whole, the least share, whether every operator has a row."""

    wall: int
    least: float
    operators: bool

    def has(self, part: Part) -> bool:
        """Whether a part has a row: it took enough time, and called an operator or took more than nothing."""
        share = part.time / self.wall
        return share >= self.least and (part.operators > 0 or share >= NOTHING)


def _rows(part: Part, module: str, wanted: _Wanted, level: int) -> Iterator[ScreenRow]:
    """The rows of a part and all inside of it. `module` is the name of the innermost module around it."""
    share = part.time / wanted.wall if part.kind != "imports" else None
    cells = (
        seconds(part.time) if part.time else "",
        seconds(part.backward) if part.backward and not _runs_backward(part) else "",
        f"{part.calls:,}" if part.kind != "imports" else "",
        f"{part.operators:,}" if part.operators else "",
        size(part.saved) if part.saved else "",
    )
    yield ScreenRow(
        name=_names(part, module),
        level=level,
        share=share,
        cells=cells,
        place=part.source,
        times=max(len(part.names), 1),
        opens=part.name,
    )
    if part.parts and part.own and not wanted.operators and part.kind != "backward":
        yield _rest_row(part, wanted.wall, level + 1)
    shown = part.own if wanted.operators else part.own[:NODES] if part.kind == "backward" else ()
    for own in shown:
        if own.time / wanted.wall >= wanted.least:
            yield _operator_row(own, wanted.wall, level + 1)
    if part.kind == "backward" and len(part.own) > len(shown):
        rest = part.own[len(shown) :]
        yield ScreenRow(
            f"… {len(rest)} more nodes", level + 1, cells=(seconds(sum(own.time for own in rest)), *[""] * 4)
        )
    for inner in part.parts:
        if wanted.has(inner):
            yield from _rows(inner, part.name if part.kind == "module" else module, wanted, level + 1)


def _hidden(part: Part, wanted: _Wanted) -> int:
    """How many parts inside of a part have no row."""
    return sum(_hidden(p, wanted) if wanted.has(p) else sum(1 for _ in p.walk()) for p in part.parts)


def _runs_backward(part: Part) -> bool:
    """Whether backward ran inside of a part: its time has that of the nodes already."""
    return any(inner.kind == "backward" for inner in part.walk())


def _rest_row(part: Part, wall: int, level: int) -> ScreenRow:
    """The operators that a part with parts called itself."""
    time = sum(own.time for own in part.own)
    operators = part.operators - sum(inner.operators for inner in part.parts)
    saved = part.saved - sum(inner.saved for inner in part.parts)
    names = ", ".join(own.name for own in part.own[: NODES - 1]) + (", …" if len(part.own) >= NODES else "")
    cells = (seconds(time), "", "", f"{operators:,}" if operators else "", size(saved) if saved else "")
    return ScreenRow(name=f"itself: {names}", level=level, share=time / wall, cells=cells, opens=part.name)


def _operator_row(own: OwnOperators, wall: int, level: int) -> ScreenRow:
    cells = (seconds(own.time), "", f"{own.calls:,}", "", "")
    return ScreenRow(name=own.name, level=level, share=own.time / wall, cells=cells, opens=own.name)


def _names(part: Part, module: str) -> str:
    """The name of a part within the module around it; of several that are alike, the first and the last."""
    names = [name.removeprefix(f"{module}.") if part.kind == "module" else name for name in part.names or (part.name,)]
    if part.kind == "imports":
        return f"imports  {part.calls:,} module{'s' * (part.calls != 1)}"
    if part.kind == "module" and not part.name:
        return part.type or "module"
    name = ", ".join(names) if len(names) < 3 else f"{names[0]} … {names[-1]}"
    return f"{name}  {part.type}" if part.kind == "module" and part.type else name


def _costliest(root: Part) -> Iterator[str]:
    """The operators, and nodes of backward, that took longest, as one line."""
    total: dict[str, int] = {}
    for part in root.walk():
        for own in part.own:
            total[own.name] = total.get(own.name, 0) + own.time
    first = sorted(total.items(), key=lambda item: -item[1])[:COSTLIEST]
    shares = [f"{name} {time / root.time:.0%}" for name, time in first if time >= LEAST_NAMED * max(root.time, 1)]
    if shares:
        yield f"costliest: {', '.join(shares)} of the time"


def _findings(trail: Trail, options: Options) -> tuple[str, ...]:
    """What must be known beside the rows; what was not stepped, and why, only in a verbose view."""
    beside = (f for f in trail.findings if f.kind != TWICE and (options.verbose or f.kind != STEPPED))
    return findings(replace(trail, findings=tuple(beside)))


def _stepped(trail: Trail, options: Options) -> Iterator[str]:
    """How much of the program was stepped, in one line."""
    for finding in trail.findings:
        if finding.kind == STEPPED and not options.verbose:
            yield f"stepped: {finding.text.partition(';')[0]}; --native-budget S steps more, -v says why not all"


def _next_steps(root: Part, options: Options) -> Iterator[NextStep]:
    parts = [part for inner in root.parts for part in inner.walk() if part.kind != "imports" and part.operators]
    times = Counter(part.name for part in parts)
    widest = max((part for part in parts if times[part.name] == 1 and part.name), key=_own_time, default=None)
    if widest is not None:
        yield typed(options, f"{widest.name} with its operators", "--open", widest.name)
    yield typed(options, "operators by cost: keys, kernel, formula", "--view", "operators")


def _own_time(part: Part) -> int:
    return part.own_time


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
