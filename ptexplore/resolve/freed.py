"""Say of a node that was freed before backward came to it again: what recorded it, what leads to it still, the mend.

What is seen says which of five things a program did. A node of an earlier round that the new round leads to was kept as
a state, or made once for all rounds, by whether the line that made it has run again since. Else the backward began at
what was there before: a second loss of one forward, or the same loss again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from ptexplore.model.observed import CppFunction, FreedNode, GraphCall, PythonPlace, RaisedError
from ptexplore.model.places import SourceRef
from ptexplore.model.trace import Cause, CauseCase, FreedGraph, RecordingCall, Situation
from ptexplore.resolve.python_places import EXPRESSION

Placed = Callable[[PythonPlace | None], SourceRef]

DETACH = "retain_graph=True is no mend: each backward would go through all rounds before it"
# By the situation: why, and the mend. `{}` stands for the names that hold what was kept, or words for them.
CAUSES: Mapping[str, Cause] = {
    "state": Cause(
        "a result of an earlier round went into this round, with the graph of that round behind it, which the backward"
        " of that round had freed",
        "detach {} between the rounds (.detach()), after the backward. " + DETACH,
    ),
    "once": Cause(
        "a result that was made once went into each round: an earlier backward freed the graph behind it",
        "make {} anew in each round, where the forward uses it; or detach it (.detach()), if no gradient is to go"
        " through it. retain_graph=True in each backward but the last is right only if no weight is written to in"
        " between",
    ),
    "uses": Cause(
        "two losses lead through one result, each with a backward of its own: an earlier one freed the graph behind it",
        "detach {} (.detach()) for the loss that is not to train what made it. Where both are:"
        " retain_graph=True in each backward but the last, or one backward of the sum; no weight may be written"
        " to (opt.step()) before the last backward through it",
    ),
    "losses": Cause(
        "a second loss of the same forward: the backward of the first one had freed the part that both have in common",
        "one backward of the sum of the losses, or retain_graph=True in each backward but the last; opt.step() after"
        " the last",
    ),
    "same": Cause(
        "backward ran again from what it had run from before, and the forward had not run again",
        "run the forward again before each backward; or retain_graph=True in each but the last, if the gradients are to"
        " add up",
    ),
}
# Where no backward came there again: Python asked a node for what it had saved.
READ = Cause(
    "saved tensors of a node were read after a backward had freed them; no backward came to that node again",
    "read them before that backward, or keep them through it: retain_graph=True",
)
# Of a message alone: what a program may have done, how you know it, and what mends it.
CASES = Cause(
    "saved tensors were asked for that an earlier backward had freed, as a rule by a backward that came there again."
    " The message does not say why the graph still led there; ptexplore trace --script FILE does",
    cases=(
        CauseCase(
            "a tensor is kept from one round to the next (a hidden state, a list, a sum of losses)",
            "detach it between the rounds: h = h.detach()",
        ),
        CauseCase(
            "a tensor with a graph is made once and used in each round (in __init__, before the loop)",
            "make it in each forward, or detach it",
        ),
        CauseCase(
            "two losses use one result, as in a GAN",
            "detach it for the loss that is not to train what made it; else retain_graph=True in each backward but the"
            " last",
        ),
        CauseCase(
            "two losses of one forward, or one loss twice",
            "one backward of their sum, or retain_graph=True in each backward but the last",
        ),
        CauseCase(
            "the line that raised reads them itself (grad_fn.saved_tensors, grad_fn._saved_…)",
            READ.remedy,
        ),
    ),
)
MESSAGE = re.compile(r"Trying to backward through the graph a second time|after they have already been freed")
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
    return is_getter and not is_own and MESSAGE.search(raised.message) is not None


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
    cause = CAUSES.get(graph.situation)
    if cause is None:
        return CASES
    return Cause(cause.why, cause.remedy.format(" and ".join(graph.names) or "that result"))


def _calls(calls: Sequence[GraphCall], placed: Placed) -> tuple[RecordingCall, ...]:
    return tuple(_call(call.at, call.operator, placed) for call in calls)


def _call(at: PythonPlace | None, operator: str, placed: Placed) -> RecordingCall:
    if at is None:
        return RecordingCall(operator)
    return RecordingCall(operator, at.text, at.function, placed(at), at.exact)
