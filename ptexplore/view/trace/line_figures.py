"""What each line of your source cost in a recorded program: everything that was called from the line.

A call belongs to the line of the innermost function of yours that led to it. The call also counts in the time of the
lines that led to this function. Its own time is the time outside of your other lines.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ptexplore.facts.value_reads import LISTS
from ptexplore.model.program import NODES, CallPath, Program, short_names
from ptexplore.model.run import Weighed, total
from ptexplore.view.trace.program_findings import ReadOrCopy, read_or_copy
from ptexplore.view.trace.program_parts import (
    NOTABLE,
    SLOWER,
    TimeOfRecording,
    is_compilation,
    own_operators,
    time_of_recording,
)

NOTHING = Weighed()
_NO_CALLS = ("__getattr__", "__setattr__", "__delattr__")  # functions of torch that run for `self.layer`
_PYTHON = r"lib/python3\.\d+/"
_PACKAGES = re.compile(rf"(?:^|/)(?:(?:{_PYTHON})?(?:site-packages|dist-packages)/|{_PYTHON})")


@dataclass(frozen=True, slots=True, order=True)
class LinePlace:
    """A line of a file; or a function at its first line, for what the function did on no known line."""

    file: str
    line: int
    function: str = ""


class Measured(NamedTuple):
    """Work as it was measured: its cost has the time of recording in it.

    `error`: the error of this time. `compiling`: the time of torch.compile.
    """

    weighed: Weighed = NOTHING
    recording: int = 0
    error: int = 0
    compiling: int = 0

    @property
    def is_bound(self) -> bool:
        """Whether the cost without recording is not known well enough."""
        is_unsure = self._taken.is_unsure
        return is_unsure or SLOWER * self.compiling > (NOTABLE - 1) * (self.weighed.cost - self._taken.known)

    @property
    def known(self) -> Weighed:
        """The work without the time of recording. If that is not known well enough, only its sure part is left out."""
        taken = self._taken
        return replace(self.weighed, cost=self.weighed.cost - (taken.sure if taken.is_unsure else taken.known))

    @property
    def _taken(self) -> TimeOfRecording:
        return time_of_recording(self.weighed.cost, self.recording, self.error)


NO_WORK = Measured()


def sum_of(measured: Iterable[Measured]) -> Measured:
    """Returns several pieces of work as one."""
    pieces = list(measured)
    return Measured(
        total(piece.weighed for piece in pieces),
        sum(piece.recording for piece in pieces),
        sum(piece.error for piece in pieces),
        sum(piece.compiling for piece in pieces),
    )


@dataclass(slots=True)
class LineFigures:
    """The figures of one line. `whole` is the cost with all calls, `own` the cost without your other lines."""

    function: str  # the function that contains the line
    first: int  # the first line of this function
    runs_nodes: bool = False  # backward ran in it, so its time includes the time of nodes
    at_least: bool = False
    by_syntax: bool = False  # of a function: operators by syntax are on no known line.
    reads: Counter[str] = field(default_factory=Counter)  # calls that give values to Python, by name
    compiled: dict[int, int] = field(default_factory=dict)  # calls of code that Dynamo made, by the path's number
    copies: Counter[str] = field(default_factory=Counter)  # calls that only copy, by name
    copied: Counter[str] = field(default_factory=Counter)  # the bytes of these copies
    of_whole: Measured = NO_WORK
    of_own: Measured = NO_WORK
    _whole: list[Measured] = field(default_factory=list)
    _own: list[Measured] = field(default_factory=list)

    @property
    def whole(self) -> Weighed:
        """The cost with all calls, without recording; never less than the own cost."""
        whole = self.of_whole.known
        return replace(whole, cost=max(whole.cost, self.own.cost))

    @property
    def own(self) -> Weighed:
        """The cost without your other lines, without recording."""
        return self.of_own.known

    def note(self, event: ReadOrCopy, calls: int) -> None:
        """Counts calls that read values or copy."""
        if event.is_copy:
            self.copies[event.name] += calls
            self.copied[event.name] += event.copied
        else:
            self.reads[event.name] += calls

    def sum_up(self) -> None:
        """Adds up everything that was given."""
        self.of_whole, self.of_own = sum_of(self._whole), sum_of(self._own)
        self._whole, self._own = [], []

    def add(self, measured: Measured, *, own: bool) -> None:
        """Adds something that ran in the line; `own`: it is in no other line of yours further in."""
        self._whole.append(measured)
        if own:
            self._own.append(measured)


def is_of_package(path: CallPath) -> bool:
    """Whether a function is of Python or of an installed package. An older trace has only the name of its file."""
    return path.package or _PACKAGES.search(path.file or "") is not None


def shown_functions(program: Program, only: str | None = None) -> Callable[[CallPath], bool]:
    """Returns a function that says whether the lines of a path's function are shown: yours, or what `only` names.

    If no function is yours, as in a program of an installed package, all are shown.
    """
    users = [path for path in program.paths if path.kind == "user" and path.file is not None]
    is_all = all(map(is_of_package, users))

    def is_shown(path: CallPath) -> bool:
        if path.kind != "user" or path.file is None:
            return False
        return is_all or not is_of_package(path) or (only is not None and names(path.file, path.name, only))

    return is_shown


def names(file: str, function: str, only: str) -> bool:
    """Whether a text is in the name of a file or a function."""
    return only.lower() in file.lower() or only.lower() in function.lower()


def shown_files(files: Iterable[str]) -> dict[str, str]:
    """Returns the names of files: a package's file inside the folder of packages, else the name.

    If several files have one name, their names begin with the folders that distinguish them.
    """
    inside = {file: _PACKAGES.split(file) for file in files}
    absolute = [file for file, parts in inside.items() if len(parts) == 1 and file.startswith("/")]
    return {file: parts[-1] for file, parts in inside.items()} | short_names(absolute)


@dataclass(frozen=True, slots=True)
class _Around:
    """The places of a path: the line of its own work, and the lines of its callers, outermost first."""

    place: LinePlace | None
    lines: tuple[LinePlace, ...]


@dataclass(frozen=True, slots=True)
class LinesOfProgram:
    """The figures of all lines.

    `of_rest`: what the main thread ran on no line. `of_threads`: what other threads ran on no line. `main`: the time of
    the main thread on lines and in its rest. The sum of `own` over all lines, with both rests, is everything that ran,
    each once.
    """

    figures: Mapping[LinePlace, LineFigures]
    of_rest: Measured
    of_threads: Measured
    main: int


class _Adding:
    """The figures while they are added up."""

    def __init__(self) -> None:
        self.figures: dict[LinePlace, LineFigures] = {}
        self.rest: list[Measured] = []
        self.threads: list[Measured] = []

    def at(self, place: LinePlace, function: CallPath) -> LineFigures:
        return self.figures.setdefault(place, LineFigures(function.name, function.first or 1))

    def called(self, around: _Around, line: LinePlace, path: CallPath, calls: Weighed) -> _Around:
        """Counts calls from a line of the function `path`. Returns where these calls are."""
        self.at(line, path).add(Measured(calls), own=True)
        return _Around(line, (*around.lines, line) if line not in around.lines else around.lines)

    def ran(self, around: _Around, measured: Measured, *, in_thread: bool, runs_nodes: bool = False) -> None:
        """Adds a piece of work to its place, and to all lines that led to this place."""
        places = dict.fromkeys((*around.lines, *((around.place,) if around.place is not None else ())))
        for place in places:
            figures = self.figures[place]
            figures.add(measured, own=place == around.place)
            figures.runs_nodes |= runs_nodes
        if around.place is None:
            (self.threads if in_thread else self.rest).append(measured)


def figures_of(program: Program, is_shown: Callable[[CallPath], bool]) -> LinesOfProgram:
    """Returns the figures of all lines in functions for which `is_shown` is true.

    The work of other functions counts for the line that led to these functions.
    """
    adding = _Adding()
    around = _arounds(program, is_shown, adding)
    beside = _in_threads(program)
    main = 0
    for path, where, cost, is_beside in zip(program.paths, around, own_costs(program), beside, strict=True):
        if path.kind != "imports" and (cost or path.recording) and path.parent is not None:
            compiling = cost if is_compilation(path) else 0
            adding.ran(where, Measured(Weighed(cost=cost), path.recording, path.error, compiling), in_thread=is_beside)
            main += 0 if is_beside else cost - path.recording
    backward = Counter[int]()
    for calls in program.calls:
        if calls.recorded is not None and calls.recorded < len(program.calls):
            backward[calls.recorded] += calls.time
    for number, calls in enumerate(program.calls):
        path, where = program.paths[calls.path], around[calls.path]
        weighed = replace(total(own for _, own in own_operators(program, calls, backward=backward[number])), calls=0)
        if path.file is not None and is_shown(path):  # the function called it by syntax
            if calls.line is not None:
                where = adding.called(where, LinePlace(path.file, calls.line), path, Weighed(calls=calls.calls))
            elif where.place is not None:
                adding.figures[where.place].by_syntax = True
        event = read_or_copy(program, calls)
        if event is not None and where.place is not None:
            adding.figures[where.place].note(event, calls.calls)
        runs_nodes = program.kinds[program.routes[calls.route].kind].type in NODES
        adding.ran(where, Measured(weighed), in_thread=beside[calls.path], runs_nodes=runs_nodes)
        main += 0 if beside[calls.path] else weighed.cost
    for figures in adding.figures.values():
        figures.sum_up()
    return LinesOfProgram(adding.figures, sum_of(adding.rest), sum_of(adding.threads), max(main, 0))


def _arounds(program: Program, is_shown: Callable[[CallPath], bool], adding: _Adding) -> list[_Around]:
    """Returns for each path where it is, and counts the calls from each line."""
    arounds: list[_Around] = []
    for path in program.paths:
        outer, parent = _Around(None, ()), None
        if path.parent is not None:
            outer, parent = arounds[path.parent], program.paths[path.parent]
        has_line = path.line is not None and path.kind != "imports"  # imports have a time of their own
        if parent is not None and parent.file is not None and path.line is not None and has_line and is_shown(parent):
            line = LinePlace(parent.file, path.line)
            is_call = path.kind != "torch" or not path.name.endswith(_NO_CALLS)
            outer = adding.called(outer, line, parent, Weighed(calls=path.calls * is_call))
            adding.figures[line].at_least |= path.at_least
            if parent.compiled and path.parent is not None:
                adding.figures[line].compiled[path.parent] = parent.calls
        if path.kind == "builtin" and path.method == LISTS and outer.place is not None:
            adding.figures[outer.place].reads[LISTS] += path.calls
        if path.file is not None and is_shown(path):
            function = LinePlace(path.file, path.first or 1, path.name)
            adding.at(function, path)
            outer = _Around(function, outer.lines)
        arounds.append(outer)
    return arounds


def _in_threads(program: Program) -> list[bool]:
    """Returns for each path whether it is in another thread than the main one."""
    beside: list[bool] = []
    for path in program.paths:
        beside.append(path.kind == "thread" or (path.parent is not None and beside[path.parent]))
    return beside


def own_costs(program: Program) -> list[int]:
    """Returns for each path its time without the paths and operators in it; recording took a part of it.

    The first path, the program, has none.
    """
    inside = [0] * len(program.paths)
    operators = Counter[int]()
    for calls in program.calls:
        operators[calls.path] += calls.time
    own = [0] * len(program.paths)
    for number in range(len(program.paths) - 1, 0, -1):
        path = program.paths[number]
        if path.kind == "thread":
            continue
        within = inside[number] + operators[number]
        own[number] = max(path.time - within, 0)
        inside[path.parent or 0] += max(own[number] + within - path.inside, 0)
    return own


def in_order(places: Iterable[LinePlace]) -> list[LinePlace]:
    """Returns the places of one file from the first line to the last, a function before its first line."""
    return sorted(places, key=lambda place: (place.line, not place.function, place.function))
