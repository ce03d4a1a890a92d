"""The page about torch.compile: the answer first, then functions with their breaks, recompilations, guards, kernels."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from ptexplore.errors import MISSING, PtexploreError
from ptexplore.facts.compiler_texts import TRIED
from ptexplore.model.compiled import (
    BreakReason,
    CompiledGraph,
    CompileReport,
    FailedCheck,
    GeneratedKernel,
    GraphBreak,
    LineGuards,
    MetFunction,
    Recompilation,
    ValueForBackward,
)
from ptexplore.model.compiler_log import CodeLine, DynamicChange
from ptexplore.resolve.compiler.texts import without_scope
from ptexplore.view.trace.amounts import size
from ptexplore.view.trace.counts import Counted
from ptexplore.view.words.compiling import (
    BACKWARD,
    BACKWARD_AGAIN,
    KINDS,
    amount,
    break_title,
    check_words,
    counted_outcomes,
    limit_words,
    operator_rule,
    outcome_words,
    phase_words,
    subject_words,
)

MOST_BREAKS, MOST_CAUSES, MOST_PLACES, MOST_HINTS = 12, 10, 5, 3
MOST_AGAIN, MOST_GUARDS, MOST_KERNELS, MOST_PHASES = 8, 4, 6, 5
FEW_KERNELS = 3  # are shown with the text of their lines
MOST_GRAPHS = 3  # graphs that have alike kernels
MOST_KINDS = MOST_LINES = 4
MOST_FUNCTIONS = 30
MOST_TRIED = 3  # versions of one recompilation that are shown


@dataclass(frozen=True, slots=True)
class PagePlace:
    """A line of the user's code, or of torch: a short name, and the file if there is one."""

    name: str
    file: str = ""  # "" for text that is in no file
    line: int = 0


@dataclass(frozen=True, slots=True)
class PageLine:
    """A line below a row: a place or none, then a text."""

    text: str
    indent: int = 0
    place: PagePlace | None = None
    label: str = ""
    is_strong: bool = False


@dataclass(frozen=True, slots=True)
class PageRow:
    """A row of a section: cells in columns, a name, a place, a text, and lines below."""

    cells: tuple[str, ...]
    name: str
    place: PagePlace | None = None
    text: str = ""
    lines: tuple[PageLine, ...] = ()


@dataclass(frozen=True, slots=True)
class PageSection:
    """A table of rows: the headings of its cells, and of the rest.

    `title` is the heading of the section on the site. `files` has generated code, on the machine of the run. `is_code`
    says that the names of the rows are code, `is_folded` that the site hides their lines at first.
    """

    columns: tuple[str, ...]
    heading: str
    rows: tuple[PageRow, ...]
    after: tuple[str, ...] = ()  # lines below the rows
    code: tuple[str, ...] = ()  # lines of source text below them
    title: str = ""
    files: tuple[str, ...] = ()
    is_code: bool = False
    is_folded: bool = False


@dataclass(frozen=True, slots=True)
class CompilePage:
    """Everything that a renderer draws."""

    title: str
    version: str
    facts: tuple[str, ...]
    findings: tuple[str, ...]
    sections: tuple[PageSection, ...]
    next_step: str = ""


def compile_page(report: CompileReport) -> CompilePage:
    """Returns the page of a report."""
    run = report.run
    options = run.options
    names = labels_of(report)
    causes = causes_of(report, names)
    sections = [
        _functions(report, names, causes),
        _broken_because(causes, names),
        _recompilations(report.recompilations, names),
        _guards(report, names),
        _kernels(report.kernels, names),
        _kept(report, names),
        _times(report),
    ]
    offer = ""
    if not report.functions and not run.wraps and run.raised is None:
        offer = "" if options.is_program else "--compile"
    return CompilePage(
        title=title_of(report),
        version=f"torch {run.torch.version}",
        facts=tuple(_facts(report)),
        findings=tuple(_findings(report)),
        sections=tuple(section for section in sections if section is not None),
        next_step=offer,
    )


def labels_of(report: CompileReport) -> FileLabels:
    """Returns the short names of the files of a run."""
    run = report.run
    return FileLabels(run.cwd, run.options.script or "", run.torch.torch_dir)


def title_of(report: CompileReport) -> str:
    """Returns the program or the expression of a run."""
    options = report.run.options
    if options.script is None:
        return report.run.expression
    return shlex.join((options.script, *options.arguments))


@dataclass(frozen=True, slots=True)
class FileLabels:
    """The short names of files."""

    folder: str
    script: str  # "" for an expression
    torch_dir: str

    def is_torchs(self, line: CodeLine) -> bool:
        """Whether a line is in torch's own code."""
        if not os.path.isabs(line.file):  # in a saved run, too
            return line.file.startswith(f"torch{os.sep}")
        return bool(self.torch_dir) and line.file.startswith(self.torch_dir + os.sep)

    def place(self, line: CodeLine) -> PagePlace:
        """Returns a place with a short name."""
        if line.file.startswith("<"):
            typed = "the expression" if line.file == "<expression>" else line.file.strip("<>")
            return PagePlace(f"{typed}:{line.line}" if line.line > 1 else typed)
        if not line.file:
            return PagePlace("?")
        return PagePlace(f"{self._short(line.file)}:{line.line}", line.file, line.line)

    def numbers(self, lines: Sequence[CodeLine]) -> str:
        """Returns the places of several lines, each file named once: "train.py:3, 7  model.py:41"."""
        by_file: dict[str, list[int]] = {}
        for line in lines:
            by_file.setdefault(self.place(line).name.rpartition(":")[0] or self.place(line).name, []).append(line.line)
        return "  ".join(f"{file}:{', '.join(map(str, sorted(set(held))))}" for file, held in by_file.items())

    def _short(self, file: str) -> str:
        if self.script and file in (self.script, os.path.join(self.folder, self.script)):
            return os.path.basename(file)
        _, torch, rest = file.rpartition(f"{os.sep}site-packages{os.sep}")
        if torch:
            return rest
        inside = self.folder.rstrip(os.sep) + os.sep
        return file.removeprefix(inside)


def _facts(report: CompileReport) -> Iterator[str]:
    functions = report.functions
    if not functions:
        when = "in this run" if report.run.raised is None else "before the run ended"
        yield f"torch.compile compiled nothing: Dynamo met no function {when}"
        return
    yield f"{amount(len(functions), 'function')} met: {counted_outcomes(functions)}"
    lines = [broken.at for function in functions for broken in function.breaks]
    breaks = len({(at.file, at.line) for at in lines if at is not None}) + lines.count(None)
    graphs = amount(report.graphs, "graph") + (
        f" and {report.backward_graphs} of backward" if report.backward_graphs else ""
    )
    again = len(report.recompilations)
    took = f"; compiling took {seconds_words(report.seconds)}" if report.seconds is not None else ""
    yield f"{graphs}, {amount(breaks, 'graph break')}, {amount(again, 'recompilation')}{took}"


def seconds_words(seconds: float) -> str:
    """Returns a time in words: "1.4 s", "35 ms"."""
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"


def _findings(report: CompileReport) -> Iterator[str]:
    raised = report.run.raised
    if raised is not None and raised.by == "timeout":
        limit = report.run.options.timeout
        yield f"the run was ended after {limit:g} s (--timeout); the page shows what was compiled until then"
    elif raised is not None and raised.exception == "KeyboardInterrupt":
        yield "the run was interrupted; the page shows what was compiled until then"
    elif raised is not None:
        lines = [line for line in raised.message.strip().split("\n") if line.strip()]
        words = " ".join(lines[: 2 if lines and lines[0].endswith(":") else 1])
        yield f"the run ended with {raised.exception}{f': {words}' if words else ''}"
    if report.run.log.is_removed:
        yield "the program removed ptexplore's handler from torch's log: what was compiled after that is missing"
    if report.run.log.lost:
        yield f"{amount(report.run.log.lost, 'record')} of torch's log could not be read or kept"


# --- functions and breaks ---


def graph_breaks(report: CompileReport) -> Counted:
    """Counts the lines that ended a graph, and the functions that Dynamo gave up, which have no graph.

    Raises PtexploreError if nothing was compiled, or if the log does not say how a function ended.
    """
    message = "the number of graph breaks is not known"
    if not report.functions:
        hint = 'compile("f(a)", setup=["f = torch.compile(torch.sin)"])'
        raise PtexploreError(message, "nothing was compiled: the code does not call torch.compile", hint, MISSING)
    unknown = next((each.name for each in report.functions if each.outcome in ("unknown", "failed")), None)
    if unknown is not None:
        raise PtexploreError(message, f"torch's log does not say how {unknown} ended", "ptexplore compile", MISSING)
    names = labels_of(report)
    given_up = [each for each in report.functions if each.outcome == "skipped" and not each.breaks]

    def rows() -> Iterator[str]:
        for function in report.functions:
            for at in function.breaks:
                place = (
                    f"{names.place(at.at).name}  {at.at.text}"
                    if at.at is not None
                    else "a line that torch does not name"
                )
                yield f"{place}  in {function.name}: {at.reason.kind}"
        for function in given_up:
            yield f"{function.name}: Dynamo gave it up{f', {function.failure.kind}' if function.failure else ''}"
        yield f"functions that were compiled: {', '.join(each.name for each in report.functions)}"

    return Counted(sum(len(each.breaks) for each in report.functions) + len(given_up), rows)


def _functions(report: CompileReport, names: FileLabels, causes: BreakCauses) -> PageSection | None:
    if not report.functions:
        return None
    has_runs = any(function.runs is not None for function in report.functions)
    has_eager = any(function.eager is not None for function in report.functions)
    columns = (*(("runs",) if has_runs else ()), *(("eager",) if has_eager else ()), "graphs", "again", "operators")
    shown = report.functions[:MOST_FUNCTIONS]
    rows = [_function(function, names, causes, has_runs=has_runs, has_eager=has_eager) for function in shown]
    again = [place for place, function in enumerate(shown) if function.is_backward][1:2]
    for place in again:
        rows[place] = replace(rows[place], lines=(*rows[place].lines, PageLine(BACKWARD_AGAIN)))
    left = len(report.functions) - len(shown)
    after = (f"{left} more functions: --json has all",) if left else ()
    return PageSection(columns, "function", tuple(rows), after, title="Functions", is_code=True)


def _function(
    function: MetFunction, names: FileLabels, causes: BreakCauses, *, has_runs: bool, has_eager: bool
) -> PageRow:
    ran = (f"{function.runs or 0:,}",) if has_runs else ()
    eager = (_count(function.eager),) if has_eager else ()
    cells = (*ran, *eager, *(_count(count) for count in (function.graphs, function.again, function.operators)))
    by_line: dict[CodeLine | None, list[GraphBreak]] = {}
    for broken in function.breaks:
        by_line.setdefault(broken.at, []).append(broken)
    lines = [_broken_line(breaks, function, names, causes) for breaks in list(by_line.values())[:MOST_BREAKS]]
    if len(by_line) > MOST_BREAKS:
        lines.append(PageLine(f"{len(by_line) - MOST_BREAKS} more lines: --json has all"))
    at = {(line.file, line.line) for line in by_line if line is not None}
    failed_at = function.failed_at
    if (
        failed_at is not None
        and function.outcome in ("skipped", "failed")
        and (failed_at.file, failed_at.line) not in at
    ):
        number = list(causes).index(_cause_key(function.failure)) + 1 if function.failure is not None else None
        label = f"[{number}] gave up at" if number is not None else "gave up at"
        lines.append(PageLine(failed_at.text, 0, names.place(failed_at), label))
    if function.at_limit:
        lines.append(PageLine(limit_words(function)))
    if function.is_backward:
        return PageRow(cells, BACKWARD, None, outcome_words(function), tuple(lines))
    place = names.place(CodeLine(function.file, function.line, function.name))
    place = replace(place, name=f"called at {place.name}") if function.is_call else place
    return PageRow(cells, function.name, place, outcome_words(function), tuple(lines))


def _count(count: int | None) -> str:
    return f"{count:,}" if count else "-"


def _broken_line(breaks: list[GraphBreak], function: MetFunction, names: FileLabels, causes: BreakCauses) -> PageLine:
    """Returns a line that broke a function, perhaps for several reasons. The numbers belong to the reasons."""
    at = breaks[0].at
    numbers = [list(causes).index(_cause_key(broken.reason)) + 1 for broken in breaks]
    reasons = "".join(f"[{number}]" for number in dict.fromkeys(numbers))
    if at is None:
        return PageLine("torch does not say at which line", 0, None, f"{reasons} breaks:")
    where = ""
    if _is_elsewhere(at, function):
        where = ", ".join(filter(None, (f"in {at.function}", _call_in(function, breaks[0], names))))
    text = "  ".join(filter(None, (at.text, where)))
    return PageLine(text, 0, names.place(at), f"{reasons} breaks at", is_strong=True)


def _is_elsewhere(at: CodeLine, function: MetFunction) -> bool:
    """Whether a line is in another function than the one whose compilation it broke."""
    own = function.name.rpartition(".")[2]
    if not at.function or at.function.startswith("torch_dynamo_resume_in"):
        return False
    is_outside = not function.is_call and (at.file != function.file or at.line < function.line)
    return at.function != own or is_outside


def _call_in(function: MetFunction, broken: GraphBreak, names: FileLabels) -> str:
    """Returns the line of the compiled function that led to a break in another one: "called from train.py:8"."""
    own = function.name.rpartition(".")[2]
    inside = [
        call
        for call in broken.stack
        if call != broken.at and (call.file, call.function) == (function.file, own) and call.line >= function.line
    ]
    return f"called from {names.place(inside[-1]).name}" if inside else ""


@dataclass(slots=True)
class BreakCause:
    """A reason of breaks, or of functions that were left to Python, with the lines that it is about."""

    reason: BreakReason
    places: dict[str, PagePlace]
    gave_up: CodeLine | None = None


BreakCauses: TypeAlias = dict[tuple[str, str], BreakCause]


def _cause_key(reason: BreakReason) -> tuple[str, str]:
    return reason.kind, reason.explanation


def causes_of(report: CompileReport, names: FileLabels) -> BreakCauses:
    """Returns the reasons of all breaks, each once, in the order of the functions."""
    causes: BreakCauses = {}
    for function in report.functions:
        told = [(broken.reason, broken.at, broken.gave_up) for broken in function.breaks]
        if function.failure is not None and function.outcome in ("skipped", "failed"):
            told.append((function.failure, function.failed_at, None))
        for reason, at, gave_up in told:
            cause = causes.setdefault(_cause_key(reason), BreakCause(reason, {}, gave_up))
            if at is not None:
                place = names.place(at)
                cause.places[place.name] = place
    return causes


def _broken_because(causes: BreakCauses, names: FileLabels) -> PageSection | None:
    if not causes:
        return None
    rows = []
    with_hints: dict[tuple[str, ...], int] = {}  # by hints: the first reason that has them
    for number, cause in enumerate(list(causes.values())[:MOST_CAUSES], 1):
        first = with_hints.setdefault(cause.reason.hints[:MOST_HINTS], number)
        rows.append(cause_row(number, cause, names, same_hints=first if first != number else None))
    after = (f"{len(causes) - MOST_CAUSES} more reasons: --json has all",) if len(causes) > MOST_CAUSES else ()
    return PageSection(("",), "broken because", tuple(rows), after, title="Why graphs end")


def cause_row(number: int, cause: BreakCause, names: FileLabels, *, same_hints: int | None = None) -> PageRow:
    """Returns the row of one reason of breaks. `same_hints` is the number of an earlier reason with these hints."""
    reason = cause.reason
    lines = [PageLine(reason.explanation)] if reason.explanation else []
    lines += [PageLine(operator_rule(reason.operator))] if reason.operator else []
    if same_hints is None:
        lines += [PageLine(hint, label="hint:") for hint in reason.hints[:MOST_HINTS]]
    elif reason.hints:
        lines.append(PageLine(f"the same as of [{same_hints}]", label="hints:"))
    if reason.situation and not reason.situation.startswith(TRIED.words):
        lines.append(PageLine(reason.situation.rpartition(". ")[0] or reason.situation))
    at = list(cause.places.values())
    shown = ", ".join(place.name for place in at[:MOST_PLACES])
    more = f" and {len(at) - MOST_PLACES} more" if len(at) > MOST_PLACES else ""
    if at:
        lines.append(PageLine(shown + more, label="at"))
    if cause.gave_up is not None:
        lines.append(PageLine(cause.gave_up.function, 0, names.place(cause.gave_up), "gave up in"))
    return PageRow((f"[{number}]",), break_title(reason.kind, reason.number), lines=tuple(lines))


# --- recompilations ---


def _recompilations(recompilations: tuple[Recompilation, ...], names: FileLabels) -> PageSection | None:
    if not recompilations:
        return None
    groups: dict[object, list[Recompilation]] = {}
    for recompilation in _with_new_value_first(recompilations):
        groups.setdefault(_alike(recompilation), []).append(recompilation)
    rows = [_again(group, recompilations, names) for group in list(groups.values())[:MOST_AGAIN]]
    after = (f"{len(groups) - MOST_AGAIN} more kinds: --json has all",) if len(groups) > MOST_AGAIN else ()
    return PageSection(("times",), "compiled again because", tuple(rows), after, title="Why compiled again")


def _with_new_value_first(recompilations: Iterable[Recompilation]) -> Iterator[Recompilation]:
    """Yields the recompilations, each with the check first that failed because of a new value.

    A function with four versions may fail for each version at another guard. If the value of one of these guards was
    compiled for before, then that version exists and failed at another guard, which is the better answer.
    """
    compiled_for: dict[object, set[str]] = {}
    for again in recompilations:
        for check in again.checks:
            compiled_for.setdefault((again.function, again.in_part_at, _guarded_property(check)), set()).add(check.old)
        new = [
            check
            for check in again.checks
            if not check.new
            or check.new not in compiled_for[again.function, again.in_part_at, _guarded_property(check)]
        ][:1]
        yield replace(again, checks=(*new, *(check for check in again.checks if check not in new)))


def _guarded_property(check: FailedCheck) -> object:
    return check.checks, check.subject, check.index, check.at


def _alike(recompilation: Recompilation) -> object:
    """Returns what recompilations of one row share: the function, and the first check."""
    checks = tuple(map(_guarded_property, recompilation.checks[:1]))
    return recompilation.function, recompilation.file, recompilation.line, recompilation.in_part_at, checks


def _again(group: list[Recompilation], everything: Iterable[Recompilation], names: FileLabels) -> PageRow:
    first = group[0]
    where = f"{first.function}" + (f", after line {first.in_part_at}" if first.in_part_at is not None else "")
    lines = [line for check in first.checks[:1] if (line := _made_by(check, names)) is not None]
    if len(group) == 1:
        lines += [_other_version(check, names) for check in first.checks[1:MOST_TRIED]]
    else:
        further = [
            check_words(recompilation.checks[0]) for recompilation in group[1:MOST_TRIED] if recompilation.checks
        ]
        lines += [PageLine(words, label="again:") for words in further]
        if len(group) > MOST_TRIED:
            lines.append(PageLine(f"and {amount(len(group) - MOST_TRIED, 'more time')}"))
        others = {_guarded_property(check): check for again in reversed(group) for check in again.checks}
        own = set(map(_guarded_property, first.checks[:1]))
        further_checks = [check for what, check in others.items() if what not in own]
        lines += [_other_version(check, names) for check in further_checks[: MOST_TRIED - 1]]
    remedies = dict.fromkeys(check.hint for again in group for check in again.checks[:1] if check.hint)
    lines += [PageLine(hint, label="hint:") for hint in list(remedies)[:MOST_HINTS]]
    for change in {change.name: change for change in reversed(first.changes)}.values():
        told = f"{subject_words(without_scope(change.name))} ({change.reason}: {change.before}, then {change.after})"
        fixed = _was_fixed_again(change, everything)
        lines.append(PageLine(told, label="made dynamic, but fixed again:" if fixed else "dynamic from then on:"))
    why = check_words(first.checks[0]) if first.checks else "torch does not say why"
    return PageRow((f"{len(group)}",), why, None, f"in {where}", tuple(lines))


def _was_fixed_again(change: DynamicChange, everything: Iterable[Recompilation]) -> bool:
    """Whether a version that was compiled with the change, or after it, needed one value: its guard on it failed.

    Dynamo compiles for a symbol, and specialises it again if the code needs the number, as in `range(n)`. A size has
    no dimension in the change, so for a size only the version of the change counts, and the value that it had.
    """
    frame, changed = _attempt(change.compilation)
    for check in (check for later in everything for check in later.checks):
        of, version = _attempt(check.version)
        if of != frame or check.subject != without_scope(change.name):
            continue
        if check.checks == "value" and version >= changed:
            return True
        if check.checks == "size" and version == changed and check.old == change.after:
            return True
    return False


def _attempt(compilation: str) -> tuple[str, int]:
    """Returns the function of a compilation, and which of its versions this is: ("0", 2) for "0/2"."""
    function, _, version = compilation.partition("/")
    return function, int(version) if version.isdecimal() else -1


def _other_version(check: FailedCheck, names: FileLabels) -> PageLine:
    """Returns why an older version of the function did not fit either."""
    place = names.place(check.at) if check.at is not None else None
    return PageLine(check_words(check), 0, place, f"version {check.version} did not fit either:")


def _made_by(check: FailedCheck, names: FileLabels) -> PageLine | None:
    if check.at is None:
        return None
    label = "first used by" if check.is_first_use else "guard made by"
    if names.is_torchs(check.at):
        return PageLine(check.at.text, 0, names.place(check.at), "guard made in torch by")
    inner = check.stack[-1] if check.stack else None
    callers = (
        check.stack[-2:-1] if inner is not None and (inner.file, inner.line) == (check.at.file, check.at.line) else ()
    )
    called = [f"in {check.at.function}, called from {names.place(caller).name}" for caller in callers]
    return PageLine("  ".join((check.at.text, *called)), 0, names.place(check.at), label)


# --- guards ---


def _guards(report: CompileReport, names: FileLabels) -> PageSection | None:
    if not report.guards:
        return None
    rows = [_guarded(guards, names) for guards in report.guards if guards.at is not None]
    rest = [guards for guards in report.guards if guards.at is None]
    shown = rows[:MOST_GUARDS]
    if len(rows) > MOST_GUARDS:
        shown.append(PageRow(("",), f"{amount(len(rows) - MOST_GUARDS, 'more line')}"))
    for guards in rest:
        shown.append(PageRow((_number(guards),), "no line of yours", None, _kinds(guards)))
    return PageSection(("guards",), "made by", tuple(shown), title="Guards", is_code=True)


def _guarded(guards: LineGuards, names: FileLabels) -> PageRow:
    assert guards.at is not None
    return PageRow((_number(guards),), guards.at.text, names.place(guards.at), _kinds(guards))


def _number(guards: LineGuards) -> str:
    return f"{sum(count for _, count in guards.kinds):,}"


def _kinds(guards: LineGuards) -> str:
    """Returns the guards in words: "2 tensor, 1 value"."""
    return ", ".join(f"{count} {KINDS.get(kind, kind)}" for kind, count in guards.kinds[:MOST_KINDS])


# --- kernels and times ---


def _kernels(kernels: tuple[GeneratedKernel, ...], names: FileLabels) -> PageSection | None:
    if not kernels:
        return None
    alike: dict[object, list[GeneratedKernel]] = {}
    for kernel in kernels:
        what = (kernel.is_backward, kernel.name, kernel.calls or kernel.operators, kernel.lines)
        alike.setdefault((what, kernel.not_fused), []).append(kernel)
    shown = list(alike.values())[:MOST_KERNELS]
    is_short = len(shown) > FEW_KERNELS
    rows = tuple(row for group in shown for row in _kernel_rows(group, names, is_short=is_short))
    left = len(kernels) - sum(map(len, shown))
    graph = graph_label(kernels[0].compilation, is_backward=kernels[0].is_backward)
    after = (f"{left} more: --open {shlex.quote(graph)} has all of this graph, --json has all",) if left else ()
    files = tuple(file for file in dict.fromkeys(kernel.file for kernel in kernels) if file)
    return PageSection(("graph",), "kernel", rows, after, title="Kernels", files=files, is_code=True, is_folded=True)


def _kernel_rows(alike: Sequence[GeneratedKernel], names: FileLabels, *, is_short: bool) -> Iterator[PageRow]:
    """Yields one row for alike kernels, which graphs may share: one for each number of times that a graph has it."""
    times = Counter(kernel.compilation for kernel in alike)
    for count in dict.fromkeys(times.values()):
        graphs = [graph for graph, number in times.items() if number == count]
        label = ", ".join(graphs[:MOST_GRAPHS]) + (" …" if len(graphs) > MOST_GRAPHS else "")
        row = kernel_row(alike[0], names, times=count, is_short=is_short)
        yield replace(row, cells=(graph_label(label, is_backward=alike[0].is_backward),))


def kernel_row(kernel: GeneratedKernel, names: FileLabels, *, times: int = 1, is_short: bool = False) -> PageRow:
    """Returns the row of one kernel, or of `times` kernels of a graph that are alike.

    A short one has only the numbers of its lines.
    """
    lines = [PageLine(operator_words(kernel), label="operators:")] if kernel.operators else []
    if is_short and kernel.lines:
        lines.append(PageLine(names.numbers(kernel.lines), label="computes"))
    else:
        lines += [PageLine(line.text, 0, names.place(line), "computes") for line in kernel.lines[:MOST_LINES]]
        if len(kernel.lines) > MOST_LINES:
            lines.append(PageLine(f"and {amount(len(kernel.lines) - MOST_LINES, 'more line')}"))
    lines += [PageLine(why.reason, label=f"not fused with {why.kernel}:") for why in kernel.not_fused[:MOST_TRIED]]
    name = f"{kernel.name} ×{times}" if times > 1 else kernel.name
    return PageRow((graph_label(kernel.compilation, is_backward=kernel.is_backward),), name, lines=tuple(lines))


def operator_words(kernel: GeneratedKernel) -> str:
    """Returns the operators that are fused in a kernel, in the order of the graph: "mul ×2, tanh"."""
    names = [_short_operator(call) for call in kernel.calls] or list(kernel.operators)
    counts = Counter(names)
    return ", ".join(f"{name} ×{count}" if count > 1 else name for name, count in counts.items())


def _short_operator(call: str) -> str:
    """Returns an operator without its namespace, if that is torch's own, and without its overload."""
    namespace, _, name = call.partition(".")
    return name.partition(".")[0] if namespace in ("aten", "prims") else f"{namespace}.{name.partition('.')[0]}"


def graph_label(compilation: str, *, is_backward: bool) -> str:
    """Returns the name of a graph: "0/1", "0/1 backward"."""
    return f"{compilation}{' backward' if is_backward else ''}"


def _kept(report: CompileReport, names: FileLabels) -> PageSection | None:
    graphs = [graph for graph in report.compiled if graph.has_partition]
    if not graphs:
        return None
    alike: dict[object, list[CompiledGraph]] = {}
    for graph in graphs:
        alike.setdefault((graph.kept, graph.again), []).append(graph)
    rows = tuple(_kept_row(group, names) for group in list(alike.values())[:MOST_KERNELS])
    return PageSection(("graph", "kept"), "for backward", rows, title="Kept for backward")


def _kept_row(alike: Sequence[CompiledGraph], names: FileLabels) -> PageRow:
    """Returns the row of graphs that keep the same for backward."""
    graph = alike[0]
    sizes = [value.bytes for value in graph.kept]
    known = sum(size for size in sizes if size is not None)
    total = f"{'≥ ' if None in sizes else ''}{size(known)}" if graph.kept else "-"
    computed = [value for value in graph.kept if value.operator]
    inputs = len(graph.kept) - len(computed)
    groups: dict[object, list[ValueForBackward]] = {}
    for value in computed:
        groups.setdefault((value.operator, value.type, value.bytes, value.at), []).append(value)
    largest = sorted(groups.values(), key=lambda group: -sum(value.bytes or 0 for value in group))[:MOST_LINES]
    lines = [kept_line(group[0], names, times=len(group), is_short=True) for group in largest]
    left = len(computed) - sum(map(len, largest))
    if left:
        lines.append(PageLine(f"and {amount(left, 'more value')}"))
    if graph.again:
        again = Counter(_operator_of(value) for value in graph.again)
        told = [f"{name} ×{count}" if count > 1 else name for name, count in again.most_common(MOST_AGAIN)]
        lines.append(PageLine(", ".join(told) + (" …" if len(again) > MOST_AGAIN else ""), label="computed again:"))
    counts = [f"{amount(len(computed), 'computed value')}"] if computed else []
    counts += [amount(inputs, "input")] if inputs else []
    name = " and ".join(counts) or "nothing"
    return PageRow((", ".join(each.compilation for each in alike), total), name, lines=tuple(lines))


def kept_line(value: ValueForBackward, names: FileLabels, *, times: int = 1, is_short: bool = False) -> PageLine:
    """Returns the line about a value that backward uses, or about `times` values that are alike, with all their bytes.

    A short one has no strides, no device, and not the text of its line.
    """
    takes = size(value.bytes * times) if value.bytes is not None else "?"
    name = f"{value.name} = {_operator_of(value)}" if times == 1 else f"{_operator_of(value)} ×{times}"
    place = names.place(value.at).name if value.at is not None else ""
    line = place if is_short or value.at is None else f"{place}  {value.at.text}"
    kind = f"{value.type.partition(']')[0]}]" if is_short and "]" in value.type else value.type
    return PageLine("  ".join(filter(None, (name, kind, line))), label=f"{takes:>8}")


def _operator_of(value: ValueForBackward) -> str:
    return value.operator.removeprefix("aten.").partition(".")[0] if value.operator else "an input"


def _times(report: CompileReport) -> PageSection | None:
    phases = sorted(report.phases, key=lambda phase: -phase.own)[:MOST_PHASES]
    if not phases or report.seconds is None:
        return None
    rows = [
        PageRow(
            (seconds_words(phase.own),),
            phase.name,
            None,
            "  ".join(filter(None, (phase_words(phase.name), f"{phase.times:,} times" if phase.times > 1 else ""))),
        )
        for phase in phases
    ]
    heading = "phase of the compiler, without the phases inside it"
    return PageSection(("time",), heading, tuple(rows), title="Times", is_code=True)
