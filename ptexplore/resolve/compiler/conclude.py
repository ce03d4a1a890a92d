"""Concludes what torch.compile did from its log: `report` calls one function for each part of the answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from ptexplore.facts import compiler_texts as words
from ptexplore.model.compiled import (
    CompileReport,
    CompileRun,
    FailedCheck,
    FunctionOutcome,
    GraphBreak,
    LineGuards,
    MetFunction,
    PhaseTime,
    Recompilation,
)
from ptexplore.model.compiler_log import CodeLine, CompileEnd, CompilePhase, CompilerLog, CompilerText, CompileStart
from ptexplore.resolve.compiler.file_names import FileNames, file_names, of_program
from ptexplore.resolve.compiler.graphs import BACKWARD, graphs_in
from ptexplore.resolve.compiler.kernels import kernels_in
from ptexplore.resolve.compiler.texts import (
    GuardText,
    guarded,
    is_constant,
    read_break,
    read_guards,
    read_reason,
    read_recompile,
    stack_in,
    without_scope,
)

BREAK, RECOMPILED, GUARDS, GRAPH = (
    "dynamo_graph_break_reason", "recompile_reasons", "dynamo_cpp_guards_str", "dynamo_output_graph",
)  # fmt: skip
MOST_TEXTS = 8  # guards of one line that are kept
AUTOGRAD = "!"  # begins the id of a compilation by compiled autograd
COMPILED_AUTOGRAD = "<eval_with_key>"  # the file of code that compiled autograd generated, without its number


@dataclass(slots=True)
class _Compilation:
    """The records of one compilation. The last attempt ended the compilation."""

    key: str
    starts: list[CompileStart] = field(default_factory=list)
    end: CompileEnd | None = None
    texts: list[CompilerText] = field(default_factory=list)

    @property
    def frame(self) -> str:
        """The number of the function, which all of its compilations share: "2" of "2/1"."""
        return self.key.rpartition("/")[0]

    @property
    def is_again(self) -> bool:
        """Whether it is a recompilation."""
        return self.key.rpartition("/")[2] != "0"

    @property
    def is_refused(self) -> bool:
        """Whether Dynamo searched for the reason to compile again, and then did not begin to compile."""
        return not self.starts

    @property
    def is_installed(self) -> bool:
        """Whether compiled code was installed: it has guards then."""
        return bool(self.named(GUARDS))

    @property
    def function(self) -> CodeLine | None:
        """The function at its first line."""
        if self.starts and self.starts[0].stack:
            return self.starts[0].stack[-1]
        if self.end is not None and self.end.file is not None:
            return CodeLine(self.end.file, self.end.line or 0, self.end.function or "?")
        return None

    @property
    def qualname(self) -> str:
        """The qualified name of the function."""
        function = self.function
        known = next((start.qualname for start in self.starts if start.qualname), "")
        return known or (function.function if function is not None else "?")

    @property
    def wrapped(self) -> str:
        """The qualified name of the function or class that torch's own function calls; "" for other functions."""
        return next((start.wraps for start in self.starts if start.wraps), "")

    @property
    def graphs(self) -> int:
        """How many graphs it compiled. Earlier attempts are given up, so only the last one counts.

        A graph whose compilation raised, or did not end, was not compiled.
        """
        if not self.is_installed:
            return 0
        attempts = [text.attempt for text in self.texts if text.name == GRAPH]
        return attempts.count(max(attempts)) if attempts else 0

    def named(self, name: str) -> list[CompilerText]:
        """Returns its texts of one name."""
        return [text for text in self.texts if text.name == name]


@dataclass(slots=True)
class _Family:
    """A function with the functions that continue it after its breaks: their compilations."""

    name: str
    at: CodeLine
    is_wrapped: bool = False  # `at` is torch's own function, which only calls it
    compilations: list[_Compilation] = field(default_factory=list)


def report(run: CompileRun) -> CompileReport:
    """Returns what torch.compile did in a run."""
    log = run.log
    compilations = _compilations(log)
    runs = {each.compilation: each.runs for each in log.runs} if log.runs is not None else None
    families = _families(compilations)
    eager = {each.compilation: each.calls for each in log.eager}
    names = file_names(log, run.torch.torch_dir)
    functions = tuple(_function(family, runs, eager, names) for family in families)
    met = {compilation.key for family in families for compilation in family.compilations}
    phases = tuple(_phases(log.phases))
    return CompileReport(
        run=run,
        functions=functions,
        recompilations=tuple(_recompilations(families, log, names)),
        guards=tuple(_guards(compilations, names)),
        kernels=tuple(kernels_in(log, names)),
        compiled=tuple(graphs_in(log, _function_names(families))),
        phases=phases,
        seconds=_seconds(log.ends),
        graphs=sum(compilation.graphs for compilation in compilations),
        # A graph of backward with dynamic sizes is compiled with forward, and has no end of its own.
        backward_graphs=max(sum(end.is_backward for end in log.ends), sum(t.name == BACKWARD for t in log.texts)),
        guard_count=_sum_of(end.guards for end in log.ends),
        further=tuple(compilation.key for compilation in compilations if compilation.key not in met),
    )


def _function_names(families: Iterable[_Family]) -> Callable[[str], str]:
    """Returns a function that gives the name of the function of a compilation."""
    names = {compilation.key: family.name for family in families for compilation in family.compilations}
    return lambda key: names.get(key, "")


def _compilations(log: CompilerLog) -> list[_Compilation]:
    """Returns the compilations in the order in which their first records came."""
    by_key: dict[str, _Compilation] = {}
    for start in log.starts:
        by_key.setdefault(start.compilation, _Compilation(start.compilation)).starts.append(start)
    for text in log.texts:
        if text.compilation is not None and "/" in text.compilation:
            by_key.setdefault(text.compilation, _Compilation(text.compilation)).texts.append(text)
    for end in log.ends:
        if not end.is_backward and end.compilation in by_key:
            by_key[end.compilation].end = end
    return list(by_key.values())


# --- functions ---


def _families(compilations: Iterable[_Compilation]) -> list[_Family]:
    """Returns the functions that Dynamo met, each with the compilations of its parts."""
    families: list[_Family] = []
    by_frame: dict[str, _Family] = {}
    for compilation in compilations:
        function = compilation.function
        if function is None:  # Dynamo refused to compile this function again
            if compilation.frame in by_frame:
                by_frame[compilation.frame].compilations.append(compilation)
            continue
        name, is_part = _whole_name(compilation.qualname)
        name = compilation.wrapped or name
        same = [f for f in families if f.name == name and f.at.file == function.file]
        if is_part:  # a part begins at a line inside of its function
            family = max((f for f in same if f.at.line <= function.line), key=lambda f: f.at.line, default=None)
        else:
            family = next((f for f in same if f.at.line == function.line), None)
        if family is None:
            family = _Family(name, function, bool(compilation.wrapped))
            families.append(family)
        family.compilations.append(compilation)
        by_frame[compilation.frame] = family
    return families


def _whole_name(qualname: str) -> tuple[str, bool]:
    """Returns the name of the function that a function continues after a break, and whether it is such a part."""
    is_part = False
    while (part := words.RESUME.fullmatch(qualname)) is not None:
        qualname, is_part = part["qualifier"] + part["name"], True
    return qualname, is_part


def _function(
    family: _Family, runs: Mapping[str, int] | None, eager: Mapping[str, int | None], names: FileNames
) -> MetFunction:
    compilations = family.compilations
    first = compilations[0]
    breaks = tuple(_breaks(compilations))
    with_graph = [compilation for compilation in compilations if compilation.graphs]
    firsts = [compilation for compilation in compilations if not compilation.is_again]
    guards = [
        compilation.end.guards
        for compilation in firsts
        if compilation.end is not None and compilation.end.guards is not None
    ]
    failed = next(
        (
            compilation.end
            for compilation in compilations
            if compilation.end is not None and compilation.end.fail_type and compilation.starts
        ),
        None,
    )
    stack = first.starts[0].stack if first.starts else ()
    seconds = [
        compilation.end.seconds
        for compilation in compilations
        if compilation.end is not None and compilation.end.seconds is not None
    ]
    at_limit = any(compilation.is_refused for compilation in compilations)
    failure = read_reason(failed.fail_reason or failed.fail_type or "") if failed is not None else None
    failed_at = None
    if failed is not None and failed.fail_file is not None:
        failed_at = CodeLine(failed.fail_file, failed.fail_line or 0, "")
    elif failed is not None:  # the message may have the line
        _, _, called = (failed.fail_reason or "").partition(f"\n{words.ERROR_STACK.words}\n")
        failed_at = next((line for line in reversed(tuple(stack_in(called))) if not names.is_torchs(line)), None)
    called_from = next((frame for frame in reversed(stack[:-1]) if not names.is_torchs(frame)), None)
    at = called_from if family.is_wrapped and called_from is not None else family.at
    return MetFunction(
        name=family.name,
        file=at.file,
        line=at.line,
        is_call=at is not family.at,
        is_backward=first.key.startswith(AUTOGRAD),
        outcome=_outcome(compilations, breaks, failed),
        called_from=called_from,
        parts=len({compilation.frame for compilation in with_graph}),
        graphs=sum(compilation.graphs for compilation in compilations),
        again=sum(compilation.is_again and not compilation.is_refused for compilation in compilations),
        runs=None if runs is None else sum(runs.get(compilation.key, 0) for compilation in compilations),
        eager=_sum_of_all(eager[compilation.key] for compilation in compilations if compilation.key in eager),
        operators=sum(compilation.end.operators or 0 for compilation in firsts if compilation.end is not None),
        guards=sum(guards) if guards else None,
        seconds=sum(seconds) if seconds else None,
        breaks=breaks,
        failure=failure,
        failed_at=failed_at,
        at_limit=at_limit,
    )


def _outcome(
    compilations: Iterable[_Compilation], breaks: tuple[GraphBreak, ...], failed: CompileEnd | None
) -> FunctionOutcome:
    """Returns what became of a function."""
    compilations = list(compilations)
    if not any(compilation.end is not None for compilation in compilations):
        return "unknown"
    if any(compilation.graphs for compilation in compilations):
        return "broken" if breaks else "whole"
    if failed is not None:
        return "skipped" if failed.is_raised is False else "failed"
    if not breaks:
        return "empty"
    return "broken" if any(compilation.is_installed for compilation in compilations) else "skipped"


def _breaks(compilations: Iterable[_Compilation]) -> Iterator[GraphBreak]:
    """Yields the breaks of a function. A break that several compilations met is one break."""
    breaks: dict[tuple[str, int, str], GraphBreak] = {}
    for compilation in compilations:
        for text in compilation.named(BREAK):
            told = read_break(text.text)
            if told is None:
                continue
            stack = of_program(told.stack)
            at = _line_of(told.at, stack)
            key = (at.file, at.line, told.reason.kind) if at is not None else ("", 0, told.reason.kind)
            known = breaks.get(key)
            if known is None:
                breaks[key] = GraphBreak(at, told.reason, stack, told.gave_up, (compilation.key,))
            else:
                met = dict.fromkeys((*known.compilations, compilation.key))
                breaks[key] = replace(known, compilations=tuple(met), times=known.times + 1)
    yield from breaks.values()


def _line_of(at: tuple[str, int] | None, stack: tuple[CodeLine, ...]) -> CodeLine | None:
    """Returns the line of a break, with its function and text if the stack has them."""
    if at is None:
        return stack[-1] if stack else None
    same = [frame for frame in stack if (frame.file, frame.line) == at]
    return same[-1] if same else CodeLine(*at, "")


# --- recompilations ---


def _recompilations(families: Iterable[_Family], log: CompilerLog, names: FileNames) -> Iterator[Recompilation]:
    """Yields each recompilation, with the guards that failed and what became dynamic."""
    guards = {
        text.compilation: (tuple(read_guards(text.text)), _yours(text))
        for text in log.texts
        if text.name == GUARDS and text.compilation
    }
    for family in families:
        for compilation in family.compilations:
            told = (check for text in compilation.named(RECOMPILED) for check in read_recompile(text.text, text.values))
            checks = tuple(_with_line(check, *guards.get(check.version, ((), {})), names) for check in told)
            if compilation.is_refused or not (checks or compilation.is_again):
                continue
            function = compilation.function or family.at
            _, is_part = _whole_name(compilation.qualname)
            own, _ = guards.get(compilation.key, ((), {}))
            changes = tuple(
                change
                for change in log.changes
                if change.compilation == compilation.key and not is_constant(change, own)
            )
            yield Recompilation(
                compilation=compilation.key,
                function=family.name,
                file=family.at.file,
                line=family.at.line,
                checks=checks,
                changes=changes,
                in_part_at=function.line if is_part else None,
            )


_Yours: TypeAlias = Mapping[tuple[str, int], CodeLine]  # by subject and line that made the guard: the user's line


def _yours(text: CompilerText) -> _Yours:
    return {(without_scope(guard.subject), guard.line): guard.at for guard in text.made}


def _line_of_yours(at: CodeLine | None, subject: str, yours: _Yours, names: FileNames) -> CodeLine | None:
    """Returns the user's line behind a guard, with the whole name of its file; else None.

    A guard whose text names no line gets one if all guards on this value are made by the same line.
    """
    if at is None:
        lines = {(line.file, line.line): line for (of, _), line in yours.items() if of == subject}
        return next(iter(lines.values())) if len(lines) == 1 else None
    return yours.get((subject, at.line)) if names.is_torchs(at) else names.line(at)


def _with_line(check: FailedCheck, guards: Iterable[GuardText], yours: _Yours, names: FileNames) -> FailedCheck:
    """Adds the line that made the guard of a tensor: the reason has none, but the guards of the version have it.

    A line of torch is only given if the user's line behind it is unknown.
    """
    at, is_first_use = check.at, check.is_first_use
    if at is None and check.subject:
        begin = f"check_tensor({check.subject}, "
        made = next((guard for guard in guards if without_scope(guard.text).startswith(begin)), None)
        if made is not None:
            own = _line_of_yours(made.at, check.subject, yours, names)
            at, is_first_use = own or made.at, made.is_first_use
        at = at or _line_of_yours(None, check.subject, yours, names)
    elif at is not None and names.is_torchs(at):
        own = next((call for call in reversed(check.stack) if not names.is_torchs(call)), None)
        at = own or at
    return replace(check, at=names.line(at) if at is not None else None, is_first_use=is_first_use)


# --- guards ---


def _guards(compilations: Iterable[_Compilation], names: FileNames) -> Iterator[LineGuards]:
    """Yields the guards by the line that made them, those without a line of yours last."""
    by_line: dict[tuple[str, int] | None, list[GuardText]] = {}
    lines: dict[tuple[str, int] | None, CodeLine] = {}
    for compilation in compilations:
        for text in compilation.named(GUARDS):
            yours = _yours(text)
            for guard in read_guards(text.text):
                own = _line_of_yours(guard.at, guarded(guard.text), yours, names)
                if own is not None and own.file.startswith(COMPILED_AUTOGRAD):
                    own = None
                key = (own.file, own.line) if own is not None else None
                if own is not None:
                    lines.setdefault(key, own)
                by_line.setdefault(key, []).append(guard)
    for key, guards in sorted(by_line.items(), key=lambda item: (item[0] is None, -len(item[1]))):
        at = lines.get(key)
        kinds = Counter(guard.kind for guard in guards)
        texts = tuple(dict.fromkeys(guard.text for guard in guards))[:MOST_TEXTS]
        first_use = all(guard.is_first_use for guard in guards)
        yield LineGuards(at, tuple(kinds.most_common()), texts, first_use)


# --- times ---


def _sum_of(counts: Iterable[int | None]) -> int | None:
    """Returns the sum of the known counts. None if none is known."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _sum_of_all(counts: Iterable[int | None]) -> int | None:
    """Returns the sum of the counts. None without a count, or if a count is unknown."""
    known = list(counts)
    return None if not known or None in known else _sum_of(known)


def _seconds(ends: Iterable[CompileEnd]) -> float | None:
    """Returns the time of all compilations. None if the log has none."""
    times = [end.seconds for end in ends if end.seconds is not None]
    return sum(times) if times else None


def _phases(phases: Iterable[CompilePhase]) -> Iterator[PhaseTime]:
    """Yields the time of each phase, the longest first. Phases end before the phases around them."""
    seconds: dict[str, list[float]] = {}
    own: dict[str, float] = {}
    inside: dict[int, float] = {}  # by depth: seconds of ended phases whose outer phase has not ended
    for phase in phases:
        mine = phase.seconds - inside.pop(phase.depth + 1, 0.0)
        inside[phase.depth] = inside.get(phase.depth, 0.0) + phase.seconds
        seconds.setdefault(phase.name, []).append(phase.seconds)
        own[phase.name] = own.get(phase.name, 0.0) + max(mine, 0.0)
    made = [PhaseTime(name, sum(times), len(times), own[name]) for name, times in seconds.items()]
    yield from sorted(made, key=lambda phase: -phase.seconds)
