"""The lines of a recorded program by function, each with its calls and time: what line profilers show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from ptexplore.errors import USAGE, PtexploreError
from ptexplore.model.program import Program
from ptexplore.model.trace import Trace
from ptexplore.view.trace.line_figures import LinePlace, figures_of, shown_functions
from ptexplore.view.trace.views import available

MODULE = "<module>"  # Python's name for the code of a file outside of all functions


class LineTime(NamedTuple):
    """A line with the number of calls that it made, and their time in nanoseconds, as `--view lines` shows them.

    The first line of a function has what the function did on no known line; its calls are the function's own.
    """

    line: int
    calls: int
    time: int


class FunctionLines(NamedTuple):
    """A function with its lines in order. `first`: the first line of its definition, or of a decorator.

    Each line of a file outside of all functions is a "function" of its own: of a longer one, line_profiler shows only
    the first line.
    """

    file: str
    first: int
    name: str
    lines: tuple[LineTime, ...]


def function_lines(trace: Trace) -> tuple[FunctionLines, ...]:
    """Returns the functions of a program with their lines. Raises PtexploreError (usage) for an expression's trace."""
    if "lines" not in available(trace):
        why = "an expression is one line; lines have times in a trace of a script or of record()"
        raise PtexploreError("an expression has no lines", why, "--script FILE --export line_profiler FILE", USAGE)
    program = trace.recorded
    calls = _calls(program)
    functions: dict[tuple[str, int, str], list[LineTime]] = {}
    for place, figures in figures_of(program, shown_functions(program)).figures.items():
        lines = functions.setdefault((place.file, figures.first, figures.function), [])
        if not place.function:
            lines.append(LineTime(place.line, figures.whole.calls, figures.whole.cost))
        elif figures.own.cost:
            lines.append(LineTime(place.line, calls[place], figures.own.cost))
    made = (FunctionLines(*function, tuple(sorted(lines))) for function, lines in functions.items() if lines)
    return tuple(sorted(part for function in made for part in _parts(function)))


def _parts(function: FunctionLines) -> Iterator[FunctionLines]:
    if function.name != MODULE:
        yield function
        return
    for line in function.lines:
        yield function._replace(first=line.line, lines=(line,))


def _calls(program: Program) -> Counter[LinePlace]:
    """Returns how often each function was called."""
    calls = Counter[LinePlace]()
    for path in program.paths:
        if path.kind == "user" and path.file is not None:
            calls[LinePlace(path.file, path.first or 1, path.name)] += path.calls
    return calls
