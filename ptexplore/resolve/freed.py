"""Explains a freed node that backward reached again: the call that recorded it, what still leads to it, and the fix.

The observations distinguish five situations. In three of them the new round leads to a node of an earlier round. If the
line that made this part has run again since, the part was kept as state. If not, it was made once, and either each
round or two losses use it. In the other two, backward began at tensors that existed before: a second loss of one
forward, or the same loss again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ptexplore.model.observed import CppFunction, FreedNode, GraphCall, PythonPlace, RaisedError
from ptexplore.model.places import EXPRESSION, SourceRef
from ptexplore.model.trace import Cause, FreedGraph, RecordingCall, Situation
from ptexplore.resolve.causes import cause_of

Placed = Callable[[PythonPlace | None], SourceRef]

FREED = "freed"  # the code of the message, and the prefix of the codes of its causes
READ = Cause(code=f"{FREED}-read")  # no backward came here again: Python read what a node had saved
# Getters of a node's attributes: torch/csrc/autograd/python_function.cpp, and the generated python_functions_N.cpp.
GETTER = re.compile(r"\bTHP\w+_(?:getter|saved_tensors|saved_variables)\(")
# This function calls the backward of a torch.autograd.Function, which reads the saved tensors of its own node.
APPLY = ("torch/autograd/function.py", "apply")


def freed_graph(seen: FreedNode, raised: RaisedError, placed: Placed) -> FreedGraph:
    """Returns the facts about the freed node, and the situation."""
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
    """Whether your Python code read the saved tensors of a node, outside of that node's own backward.

    `called` are the C++ functions of Python's last call that the error left, innermost first.
    """
    is_getter = bool(called) and GETTER.search(called[-1].name) is not None
    is_own = any(frame.file.endswith(APPLY[0]) and frame.function == APPLY[1] for frame in raised.frames)
    return is_getter and not is_own and cause_of(raised.message) == Cause(code=FREED)


def _situation(seen: FreedNode, raised: RaisedError) -> Situation:
    """Returns the situation, or "unclear" if the observations do not show it."""
    if not seen.uses:
        return ("same" if seen.same_start else "losses") if seen.older else "unclear"
    if seen.again is None:
        return "unclear"
    if seen.again:
        return "state"
    at = seen.freed if seen.freed is not None and seen.freed.exact else None
    if at is None:
        return "unclear"
    # An expression is one line, so it means nothing that both backwards are on this line.
    is_same = at.file != EXPRESSION and (at.file, at.line) in [(frame.file, frame.line) for frame in raised.frames]
    return "once" if is_same else "uses"


def cause_of_freed(graph: FreedGraph) -> Cause:
    """Returns the cause of the situation. If the situation is unclear, the cause has several cases."""
    if graph.situation == "unclear":
        return Cause(code=FREED)
    return Cause(code=f"{FREED}-{graph.situation}", arguments={"names": graph.names})


def _calls(calls: Sequence[GraphCall], placed: Placed) -> tuple[RecordingCall, ...]:
    return tuple(_call(call.at, call.operator, placed) for call in calls)


def _call(at: PythonPlace | None, operator: str, placed: Placed) -> RecordingCall:
    if at is None:
        return RecordingCall(operator)
    return RecordingCall(operator, at.text, at.function, placed(at), at.exact)
