"""The recorders that run in a child of their own: the function of each, and which runs follow the passes.

ptexplore/model/recorders.py has a row for each recorder: what it may send, and what a trace lacks without it. A test
checks that the names agree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from . import freed, libraries, native, passes, program, thrown, twice, writes
from .isolate import ChildOutcome
from .reasons import reason
from .stepper import Unavailable

if TYPE_CHECKING:
    from .messages import RunRequestData, RunToldData

    Asked: TypeAlias = RunRequestData | Unavailable | None

# Recorders whose modules are imported in the child that runs them: no trace needs them.
COMPILER: Final = "compiler"
GRAPH: Final = "graph"
GRAPH_LINES: Final = "graph-lines"
GRAPH_MEMORY: Final = "graph-memory"
GRAPH_RUN: Final = "graph-run"
LADDER: Final = "ladder"
TENSORS: Final = "tensors"

PASSES = (passes.OPS, passes.FRAMES, passes.DISPATCH)
ALONE = "alone"  # a run without recorders
PASS = b'{"type":"pass"'  # how a good answer begins
DIED = re.compile(rb'"by":"(?:exit|signal)"')  # in an answer: something ended the process
ONE_CALL = b'"what":"operator"'  # in the answer of a native pass that stepped only one operator call
OPERATOR = b'"type":"op"'  # in the answer of a pass: an event of an operator call, once for each recorder of the pass
OPERATORS = re.compile(rb'"operators":(\d+),"left"')  # in the answer of a recorded script


@dataclass(frozen=True)
class ChildRun:
    """A run in a child: `run` gets the request and the digests of the catalogue, and returns what it saw.

    `speaks`: if the child dies, it sends what it saw until then.
    """

    run: Callable[[RunRequestData, dict[str, str]], RunToldData]
    speaks: bool = False


def _of_request(run: Callable[[RunRequestData], RunToldData]) -> ChildRun:
    """Wrap a run that needs no digests."""
    return ChildRun(lambda request, _: run(request))


def _imported(module: str, function: str = "run", *, speaks: bool = False) -> ChildRun:
    """Returns a run by a function of a module that is imported when the run begins."""

    def run(request: RunRequestData, _: dict[str, str]) -> RunToldData:
        answer: RunToldData = getattr(import_module(f".{module}", __package__), function)(request)
        return answer

    return ChildRun(run, speaks)


RUNS: Mapping[str, ChildRun] = {
    **{name: ChildRun(partial(passes.run, name), speaks=True) for name in (*PASSES, passes.TOGETHER, passes.OPS_AGAIN)},
    native.RECORDER: _of_request(native.run),
    libraries.RECORDER: _of_request(libraries.run),
    thrown.RECORDER: _of_request(thrown.run),
    writes.RECORDER: _of_request(writes.run),
    freed.RECORDER: _of_request(program.freed_again),
    program.RECORDER: ChildRun(program.run, speaks=True),
    twice.RECORDER: _of_request(twice.run),
    GRAPH: _imported("autograd_graph"),
    GRAPH_LINES: _imported("autograd_graph", "lines"),
    GRAPH_MEMORY: _imported("watched_memory"),
    GRAPH_RUN: _imported("autograd_run"),
    COMPILER: _imported("compiling", speaks=True),
    LADDER: _imported("ladder"),
    TENSORS: _imported("tensor_layouts"),
    ALONE: _of_request(passes.alone),
}

# --- the runs that follow ---

Outcomes: TypeAlias = Mapping[str, ChildOutcome]  # outcomes of the runs so far, by recorder


@dataclass(frozen=True)
class FollowingRun:
    """A run that may follow others: for an expression, a script or a graph, or if the C++ stack is asked for.

    `asked` gets the request and the outcomes so far. It returns the request of this run; Unavailable, with the reason,
    if the run is asked for and cannot be made; None if it is not asked for.
    """

    recorder: str
    after: Literal["expression", "script", "stack", "graph"]
    asked: Callable[[RunRequestData, Outcomes], Asked]


def _native(request: RunRequestData, outcomes: Outcomes) -> Asked:
    if not request.get("native"):
        return None
    first = next(iter(outcomes.values()))
    if DIED.search(first.answer):
        return Unavailable(reason("ends-itself"))
    called = first.answer.count(OPERATOR) // (len(PASSES) if passes.TOGETHER in outcomes else 1)
    return {**request, "called": called}


def _native_of_script(request: RunRequestData, _: Outcomes) -> Asked:
    return {**request, "repeat": passes.AGAIN} if request.get("native") and request.get("native_op") else None


def _libraries(request: RunRequestData, outcomes: Outcomes) -> Asked:
    """Ask for this run if the native pass has frames: the calls inside libraries are added to these frames."""
    stepped = outcomes.get(native.RECORDER)
    is_asked = stepped is not None and stepped.answer.startswith(PASS) and request.get("sample") is None
    return request if is_asked else None


def _libraries_of_script(request: RunRequestData, outcomes: Outcomes) -> Asked:
    """Ask for this run if the native pass stepped the whole script, and not one operator call.

    For one operator call, a run of the whole script would have too many library calls. Either the forks of the program
    have sent the library calls, or there are none.
    """
    stepped = outcomes.get(native.RECORDER)
    if stepped is None or ONE_CALL in stepped.answer:
        return None
    return _libraries({**request, "repeat": passes.AGAIN}, outcomes)


def _twice(request: RunRequestData, outcomes: Outcomes) -> Asked:
    counted = OPERATORS.search(outcomes[program.RECORDER].answer)
    if not request.get("twice") or counted is None:
        return None
    return {**request, "operators": int(counted[1])}


def _writes_of_script(request: RunRequestData, outcomes: Outcomes) -> Asked:
    return request if request.get("again") and writes.REASON in outcomes[program.RECORDER].answer else None


def _writes(request: RunRequestData, outcomes: Outcomes) -> Asked:
    return request if writes.REASON in outcomes[thrown.RECORDER].answer else None


def _freed(request: RunRequestData, outcomes: Outcomes) -> Asked:
    return request if freed.REASON in outcomes[thrown.RECORDER].answer else None


def _graph_lines(request: RunRequestData, outcomes: Outcomes) -> Asked:
    return request if outcomes[GRAPH].answer.startswith(PASS) else None


def _graph_run(request: RunRequestData, outcomes: Outcomes) -> Asked:
    return _graph_lines(request, outcomes) if request.get("backward") else None


def _graph_memory(request: RunRequestData, outcomes: Outcomes) -> Asked:
    is_asked = request.get("owners") or request.get("leak")
    return _graph_lines(request, outcomes) if is_asked else None


# In the order in which they run. The native pass comes late: if it dies, nothing else is lost.
FOLLOWING_RUNS = (
    FollowingRun(native.RECORDER, "expression", _native),
    FollowingRun(libraries.RECORDER, "expression", _libraries),
    FollowingRun(twice.RECORDER, "script", _twice),
    FollowingRun(writes.RECORDER, "script", _writes_of_script),
    FollowingRun(native.RECORDER, "script", _native_of_script),
    FollowingRun(libraries.RECORDER, "script", _libraries_of_script),
    FollowingRun(thrown.RECORDER, "stack", lambda request, _: request),
    FollowingRun(writes.RECORDER, "stack", _writes),
    FollowingRun(freed.RECORDER, "stack", _freed),
    FollowingRun(GRAPH_LINES, "graph", _graph_lines),
    FollowingRun(GRAPH_RUN, "graph", _graph_run),
    FollowingRun(GRAPH_MEMORY, "graph", _graph_memory),
)
