"""The line that called: what the recorder says of each line, and what Python's trace function says in another run."""

from __future__ import annotations

import builtins
import importlib
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest

from ptexplore.model.codes import convert
from ptexplore.model.program import NODES, OperatorCalls, Program
from ptexplore.model.run import Weighed, total
from ptexplore.view.trace.line_figures import figures_of, sum_of
from ptexplore.view.trace.program_parts import run_of

torch = pytest.importorskip("torch")
programs = importlib.import_module("tests.probe.lines_of_programs")
FILE = programs.__file__
RANGE = "line:"
Counts = Counter[tuple[int, str]]


def recorded(run: Callable[[], object]) -> Program:
    torch.manual_seed(0)
    with importlib.import_module("ptexplore.probe.recording").recording() as seen:
        run()
    return convert(seen.data(), Program)


def place_of(program: Program, calls: OperatorCalls) -> int | None:
    """The innermost line in the file of the programs that led to a call, or None if it is not known."""
    at: int | None = calls.path
    line = calls.line
    while at is not None:
        path = program.paths[at]
        if path.kind == "user" and path.file == FILE:
            return line
        at, line = path.parent, path.line
    return -1


def counted(program: Program) -> tuple[Counts, Counter[str]]:
    """The operators by line, and those whose line is not known."""
    known, unknown = Counts(), Counter[str]()
    for calls in program.calls:
        kind = program.kinds[program.routes[calls.route].kind]
        line = place_of(program, calls)
        names = [kind.name] if kind.type == "op" else list(_outermost(program, kind.inside))
        for name in names if line != -1 else ():
            if line is None:
                unknown[name] += calls.calls
            else:
                known[line, name] += calls.calls
    return known, unknown


def _outermost(program: Program, inside: Any) -> Iterator[str]:
    """The operators that a node or the engine calls, without the ones inside of them."""
    for number, _ in inside:
        if number >= 0:
            kind = program.kinds[number]
            if kind.type == "op" and "::" in kind.name:
                yield kind.name
            else:
                yield from _outermost(program, kind.inside)


class LineRanges:
    """Opens a range of the profiler for each line of the programs' file, as Python's trace function reports lines."""

    def __init__(self) -> None:
        self._open: dict[FrameType, Any] = {}

    def trace(self, frame: FrameType, event: str, _: object) -> Any:
        if frame.f_code.co_filename != FILE:
            return None
        self._close(frame)
        if event in ("call", "line"):
            opened = torch.autograd.profiler.record_function(f"{RANGE}{frame.f_lineno}")
            opened.__enter__()
            self._open[frame] = opened
        return self.trace

    def _close(self, frame: FrameType) -> None:
        opened = self._open.pop(frame, None)
        if opened is not None:
            opened.__exit__(None, None, None)


def traced(run: Callable[[], object]) -> Counts:
    """The outermost operators by line, each in the range of its line."""
    torch.manual_seed(0)
    ranges = LineRanges()
    with torch.autograd.profiler.profile() as profile:
        sys.settrace(ranges.trace)
        try:
            run()
        finally:
            sys.settrace(None)
    found = Counts()
    _count(found, profile.kineto_results.experimental_event_tree(), None, is_inside=False)
    return found


def _count(found: Counts, events: Any, line: int | None, *, is_inside: bool) -> None:
    for event in events:
        if event.name.startswith(RANGE):
            _count(found, event.children, int(event.name[len(RANGE) :]), is_inside=False)
            continue
        is_operator = "::" in event.name and not event.name.startswith(("autograd::", "torch::", "profiler::"))
        is_function = event.name in ("Double",)
        if (is_operator or is_function) and not is_inside and line is not None:
            found[line, event.name] += 1
        _count(found, event.children, line, is_inside=is_inside or is_operator or is_function)


@pytest.mark.parametrize("run", programs.PROGRAMS, ids=lambda run: run.__name__)
def test_each_operator_is_on_the_line_that_python_was_at(run: Callable[[], None]) -> None:
    run()
    truth = traced(run)
    known, unknown = counted(recorded(run))
    if run is programs.a_checkpoint:  # its hooks detach tensors in Python inside operators: those are no outermost ones
        known, truth = (Counts({at: held[at] for at in held if at[1] != "aten::detach"}) for held in (known, truth))
        unknown.pop("aten::detach", None)
    assert known - truth == Counts(), "no operator is on another line"
    missing = Counter[str]()
    for (_, name), count in (truth - known).items():
        missing[name] += count
    assert missing == unknown, "an operator without a line is on none"
    allowed = UNKNOWN.get(run.__name__, {})
    assert unknown == Counter(allowed)


# A generator expression is Python code without a path: it may run anywhere. A comprehension runs where it is.
# An iterator that calls a function in C may call it anywhere. The end of a range is a function in C that is not known.
UNKNOWN = {
    "comprehensions": {"aten::mul": 3, "aten::add": 3, "aten::item": 1},
    "through_a_package": {"aten::add": 2},
    # Calls of classes, and of functions without paths, stand between the calls that are seen.
    "beside_other_python": {
        "aten::matmul": 6,
        "aten::add": 6,
        "aten::select": 28,
        "aten::mul": 16,
        "aten::eq": 6,
        "aten::is_nonzero": 6,
        "aten::add_": 6,
        "aten::sub": 9,
        "aten::item": 2,
        "aten::div": 1,
    },
    "a_range_that_ends_later": {"aten::matmul": 1, "aten::div": 1},
}


@pytest.mark.parametrize("run", programs.PROGRAMS, ids=lambda run: run.__name__)
def test_a_profile_that_a_clock_cuts_puts_no_operator_on_another_line(
    run: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock may end a profile between any two instructions, more often than operators are called."""
    run()
    truth = traced(run)
    monkeypatch.setattr(importlib.import_module("ptexplore.probe.watcher"), "TICK", 0.0001)
    known, unknown = counted(recorded(run))
    if run is programs.a_checkpoint:
        known, truth = (Counts({at: held[at] for at in held if at[1] != "aten::detach"}) for held in (known, truth))
    assert known - truth == Counts()
    if run is programs.operators_only:
        assert unknown == Counter()


def counted_by_python(run: Callable[[], object]) -> Counts:
    """How often each line called each function of C, as Python's profile function reports it."""
    found = Counts()

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        is_ours = frame.f_code.co_filename == FILE and getattr(argument, "__self__", None) is not builtins
        if event == "c_call" and is_ours:
            found[frame.f_lineno, argument.__name__] += 1

    torch.manual_seed(0)
    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.parametrize("run", programs.PROGRAMS, ids=lambda run: run.__name__)
def test_a_line_called_each_builtin_as_often_as_python_says(run: Callable[[], None]) -> None:
    run()
    program = recorded(run)
    called = Counts()
    for path in program.paths:
        outer = program.paths[path.parent] if path.parent is not None else None
        if path.kind == "builtin" and outer is not None and outer.kind == "user" and outer.file == FILE:
            assert path.line is not None
            called[path.line, path.method or ""] += path.calls
    truth = counted_by_python(run)
    assert called
    assert {key: truth[key] for key in called} == dict(called)
    methods = {name for _, name in called}
    others = {key: count for key, count in truth.items() if key[1] in methods and key not in called}
    assert not {key: count for key, count in others.items() if key[1] not in ("format",)}


@pytest.mark.parametrize("run", programs.PROGRAMS, ids=lambda run: run.__name__)
def test_the_figures_of_all_lines_and_the_rest_are_the_whole_run(run: Callable[[], None]) -> None:
    program = recorded(run)
    lines = figures_of(program, lambda path: path.kind == "user" and path.file == FILE)
    whole = run_of(program, "run").whole
    summed = total((*(figures.own for figures in lines.figures.values()), lines.of_rest.known))
    for weight in ("operators", "saved", "backward", "device"):
        assert getattr(summed, weight) == getattr(whole, weight), weight
    measured = sum_of((*(figures.of_own for figures in lines.figures.values()), lines.of_rest))
    assert max(measured.weighed.cost - measured.recording, 0) == lines.main <= program.wall
    assert all(figures.whole.cost >= figures.own.cost for figures in lines.figures.values())
    assert summed != Weighed()


def test_the_mode_of_the_dispatcher_sees_the_operators_on_the_same_lines() -> None:
    """Modes see the operators below autograd: each must be among those of the line, or inside of one of them."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Lines(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            frame: FrameType | None = sys._getframe()
            while frame is not None and frame.f_code.co_filename != FILE:
                frame = frame.f_back
            if frame is not None:
                seen[frame.f_lineno, f"aten::{func._schema.name.rpartition('::')[2]}"] += 1
            return func(*args, **(kwargs or {}))

    for run in (programs.a_loop, programs.a_sequence, programs.an_optimizer, programs.branches):
        seen = Counts()
        torch.manual_seed(0)
        with Lines():
            run()
        program = recorded(run)
        inside = Counts()
        for calls in program.calls:
            line = place_of(program, calls)
            kind = program.kinds[program.routes[calls.route].kind]
            if kind.type in NODES and line is not None:  # under a mode, the engine adds gradients in another way
                seen = Counts({key: count for key, count in seen.items() if key[0] != line})
            for name in _all(program, program.routes[calls.route].kind):
                inside[line or 0, name] += calls.calls
        absent = {key: count for key, count in (seen - inside).items() if not key[1].endswith(("detach", "_foreach"))}
        assert not {key for key in absent if not key[1].startswith("aten::_")}, run.__name__


def _all(program: Program, number: int) -> Iterator[str]:
    kind = program.kinds[number]
    if kind.type == "op":
        yield kind.name
    for inner, _ in kind.inside:
        if inner >= 0:
            yield from _all(program, inner)


def test_a_node_of_backward_counts_for_the_line_that_recorded_it() -> None:
    program = recorded(programs.a_loop)
    lines = figures_of(program, lambda path: path.kind == "user" and path.file == FILE)
    first = programs.a_loop.__code__.co_firstlineno
    text = {line - first: figures for place, figures in lines.figures.items() if not place.function
            for line in [place.line]}  # fmt: skip
    assert text[4].whole.backward > 0
    assert text[9].whole.backward > 0
    backward = next(figures for number, figures in text.items() if figures.runs_nodes and number == 10)
    nodes = sum(calls.time for calls in program.calls if program.kinds[program.routes[calls.route].kind].type in NODES)
    assert backward.own.cost >= nodes > 0
