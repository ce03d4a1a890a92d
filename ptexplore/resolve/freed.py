"""Say of a node that was freed before backward came to it again: what recorded it, what leads to it still, the mend.

What is seen says which of five things a program did. A node of an earlier round that the new round leads to was kept as
a state, or made once for all rounds, by whether the line that made it has run again since. Else the backward began at
what was there before: a second loss of one forward, or the same loss again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ptexplore.model.observed import CppFunction, FreedNode, GraphCall, PythonPlace, RaisedError
from ptexplore.model.places import SourceRef
from ptexplore.model.trace import Cause, FreedGraph, RecordingCall, Situation
from ptexplore.resolve.causes import cause_of
from ptexplore.resolve.python_places import EXPRESSION

Placed = Callable[[PythonPlace | None], SourceRef]

FREED = "freed"  # the code of the message, and how those of its causes begin
READ = Cause(code=f"{FREED}-read")  # no backward came there again: Python asked a node for what it had saved
# Of a node's attributes: torch/csrc/autograd/python_function.cpp, and python_functions_N.cpp, which is generated.
GETTER = re.compile(r"\bTHP\w+_(?:getter|saved_tensors|saved_variables)\(")
# Calls the backward of a torch.autograd.Function, which reads what its own node has saved.
APPLY = ("torch/autograd/function.py", "apply")


def freed_graph(seen: FreedNode, raised: RaisedError, placed: Placed) -> FreedGraph:
    """What is known of the node that was freed, and which situation it is."""
    return FreedGraph(
        seen.node,
        _call(seen.recorded, seen.operator, placed),
        seen.recorded_after,
        _call(seen.freed, "", placed),
        seen.freed_by,
        seen.backwards,
        _calls(seen.uses, placed),
        _calls(seen.kept, placed),
        seen.names,
        seen.exact,
        _situation(seen, raised),
    )


def is_read(raised: RaisedError, called: Sequence[CppFunction]) -> bool:
    """Whether your Python read a node's saved tensors, and none that ran asked for its own.

    `called` are the functions of C++ that Python called last and the error left, innermost first.
    """
    is_getter = bool(called) and GETTER.search(called[-1].name) is not None
    is_own = any(frame.file.endswith(APPLY[0]) and frame.function == APPLY[1] for frame in raised.frames)
    return is_getter and not is_own and cause_of(raised.message) == Cause(code=FREED)


def _situation(seen: FreedNode, raised: RaisedError) -> Situation:
    """What the program did; "unclear" where what was seen does not tell."""
    if not seen.uses:
        return ("same" if seen.same_start else "losses") if seen.older else "unclear"
    if seen.again is None:
        return "unclear"
    if seen.again:
        return "state"
    at = seen.freed if seen.freed is not None and seen.freed.exact else None
    if at is None:
        return "unclear"
    # An expression is one line: that both backwards stand on it says nothing.
    is_same = at.file != EXPRESSION and (at.file, at.line) in [(frame.file, frame.line) for frame in raised.frames]
    return "once" if is_same else "uses"


def cause_of_freed(graph: FreedGraph) -> Cause:
    """Why the graph led there, and what mends it; where it is unclear, the cases with their signs."""
    if graph.situation == "unclear":
        return Cause(code=FREED)
    return Cause(code=f"{FREED}-{graph.situation}", arguments={"names": graph.names})


def _calls(calls: Sequence[GraphCall], placed: Placed) -> tuple[RecordingCall, ...]:
    return tuple(_call(call.at, call.operator, placed) for call in calls)


def _call(at: PythonPlace | None, operator: str, placed: Placed) -> RecordingCall:
    if at is None:
        return RecordingCall(operator)
    return RecordingCall(operator, at.text, at.function, placed(at), at.exact)
