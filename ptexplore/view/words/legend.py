"""The meaning of a view's signs and words: how a hop and its place are known, the figures, and the details of rows."""

from __future__ import annotations

from ptexplore.model import details as says
from ptexplore.model.details import Detail
from ptexplore.model.places import Precision, TreeRelation
from ptexplore.model.trace import Status

STATUS_MEANS: dict[Status, str] = {
    "observed": "it ran: an address, an event or a Python frame was seen",
    "derived": "it follows from key sets that were read and from the dispatcher's table; no recorder saw it run",
    "predicted": "the dispatcher's table or a kernel's text says so; no recorder saw it run",
    "inlined": "inlined into its caller; its share is the share of the functions that it called",
    "cut": "the recorder reached a limit here",
}
PRECISION_MEANS: dict[Precision, str] = {
    "registered": "the binary records this line, and the source text confirms it",
    "located": "the only definition of this symbol in a tree of the running version",
    "consistent": "the only definition in a tree whose files equal the wheel's, where both have them",
    "version-skew": "found by name in a tree of another version",
    "ambiguous": "several candidates",
    "unknown": "no place is known",
}
RELATION_MEANS: dict[TreeRelation, str] = {
    "runtime": "the torch that is installed",
    "matches": "the source of the installed torch",
    "consistent": "a tree whose files equal the wheel's files of the same path",
    "version-skew": "another version than the installed torch",
}
SEVERAL = "several places are possible, or none is known: --explain N lists them (-v shows the numbers N)"
_HOLD_OPERATORS = (says.HoldsOperators, says.HoldsBoth)
# By the details of rows: the explained words, and their meaning.
OF_ROWS: dict[tuple[type[Detail], ...], tuple[str, str]] = {
    (says.CalledBinding, says.SeveralBindings, says.FunctionsAndBindings): (
        "binding",
        "the C function that Python calls; it converts the arguments and calls the operator",
    ),
    (says.CalledOperator, says.NoOperator, says.NoOperators, says.CallsOthers, *_HOLD_OPERATORS): (
        "operator",
        "an operator of ATen; the dispatcher chooses its kernel by the dispatch keys of the arguments",
    ),
    (says.RunNode, says.RecordsNode, says.EngineRuns, says.HoldsNodes, says.HoldsBoth): (
        "node",
        "a node of the autograd graph, which backward runs",
    ),
    (says.KeysUnknown,): (
        "keys not known",
        "the dispatch keys of the call are not known; a line below the rows says why",
    ),
    (says.NextKeyUnknown, says.KeysNextUnknown, says.CallsOperatorNextUnknown): (
        "next dispatch key not known",
        "the next dispatch key of the call is not known; a line below the rows says why",
    ),
    (says.CallsFirst,): ("calls", "the first functions that a closed row calls; … if there are more"),
    (says.ThenKeys,): ("then", "the dispatch keys that follow inside a closed row"),
    (says.AsksWorkspace,): (
        "only asks for a workspace's size",
        "LAPACK is first called with a size of -1; a later call computes",
    ),
    (says.OrderUnknown, says.InOtherThread): (
        "order unknown",
        (
            "it is not known whether it ran before, after or inside the rows beside it: the rows follow from a text "
            "or from an error's stack, or another thread ran it"
        ),
    ),
    (says.KernelBehindStub, says.Runs): (
        "kernel",
        "the function behind a dispatch stub, compiled for the instruction set of this processor",
    ),
    (says.LoopOverElements,): (
        "loop over the elements",
        "the loop over the numbers, compiled for this kernel",
    ),
    (says.OwnCode,): (
        "its own code",
        "most of the row is in this function itself, and in functions that the compiler put into it: these have no row",
    ),
    (says.CallsOthers,): (
        "calls other operators",
        "CompositeImplicitAutograd: one kernel for all keys, which calls other operators",
    ),
    (says.CalledByPython,): (
        "called by Python",
        "no recorder saw the function itself: a class, a function in C, or one of another package",
    ),
    (says.NotEntered,): (
        "not entered",
        "Python raised before the function's body began, for example because an argument is missing",
    ),
    (says.CannotBeCalled,): (
        "cannot be called",
        "its class has no `__call__`: Python raised before anything was called",
    ),
    _HOLD_OPERATORS: (
        "outermost operator call… in",
        "operators that Python or a node calls inside; operators that these call are not counted",
    ),
    (says.NoOperator,): (
        "no operator seen in it",
        (
            "no operator call was recorded inside, so it is a helper; a few operators, such as those that mark ranges "
            "for the profiler, are never recorded"
        ),
    ),
    (says.SeveralFunctions, says.SeveralBindings, says.FunctionsAndBindings, says.OtherCalls): (
        "any order",
        "the row stands for several steps, which ran before, between or after the rows beside it",
    ),
    (says.NoOperators,): (
        "no operator seen in them",
        "several helpers of one function as one row, named after the costliest",
    ),
    (says.OwnOfFunctorch,): (
        "functorch's own kernel",
        "a kernel that runs before any transform; it calls other operators",
    ),
    (says.OneForAllKeys,): (
        "one kernel for all keys",
        "CompositeImplicitAutograd; this one calls no other operator",
    ),
    (says.OneForAnyBackend,): (
        "one kernel, any backend",
        "CompositeExplicitAutograd: the key has no kernel of its own, so the kernel for all backends runs",
    ),
    (says.NextKey,): (
        "next dispatch key",
        "the kernel before it called the operator again without its own key, so the dispatcher took this key",
    ),
    (says.AutogradExcluded,): (
        "autograd excluded",
        ("the thread excludes the autograd keys: a kernel above this row does so, or a mode such as inference_mode"),
    ),
    (says.HighestOfSet, says.HighestOfUnread): (
        "highest of …",
        (
            "dispatch keys have an order; the dispatcher chooses the highest key of the arguments and of the thread's "
            "included set that is not excluded"
        ),
    ),
    (says.OnlyKey,): ("its only key", "there was no other key to choose"),
    (says.OnlyKeyLeft,): (
        "the only key left",
        "the thread-local set excludes all other keys of the arguments",
    ),
}

# From not_observed_ops in aten/src/ATen/core/dispatch/ObservedOperators.cpp.
RECORDED = (
    "calls that torch's profiler records. It leaves out operators that mark ranges, as in each Optimizer.step "
    "(profiler::_record_function_enter_new and _exit). It also leaves out some that only read a property (size, "
    "is_leaf, output_nr, _version, is_complex)"
)

# Words of a table that are no weight. `view/words/weights.py` has the weights.
OF_PROGRAMS: dict[str, str] = {
    "share": "part of the time of the recorded run, with everything that the row called; the bar shows the same",
    "recorded": RECORDED,
    "×n": "n parts that ran the same operators on the same sizes, as one row; its figures are sums",
}
OF_EXPRESSIONS: dict[str, str] = {"instr": "instructions of everything that ran inside a row"}

# The signs of a view, each with its meaning.
SIGNS: dict[str, tuple[str, str]] = {
    "share-of-whole": ("share", "part of the {} of the whole expression; the bar shows the same"),
    "recorded": ("operator calls", RECORDED),
    "rest": ("the rest", "the part of a row that its inner rows do not contain"),
    "runs": (
        "×n",
        "n runs of a node, or n parts that ran the same operators on the same sizes; the figures are sums",
    ),
    "share": ("share", "part of the {}, with everything that the row called; the bar shows the same"),
    "time": ("time", "the time of these calls with everything that they called; each is the fastest of the warm runs"),
    "operator-calls": ("operator calls", RECORDED),
    "times": ("×n", "n successive equal calls, as one row; the share is the sum"),
    "instr": (
        "instr",
        "instructions of these calls with everything that they called; (n stepped): only n calls were counted",
    ),
    "self": ("self", "the part of a row's share outside its inner rows: its own code, and functions without a row"),
    "inside": ("└ ├", "inside the row that the line comes from; rows are {}"),
    "next-key": (f"→ {says.UNKNOWN_KEY}", "the next dispatch key of the call is not known"),
    "place": ("path:line", "the exact place of the function; … stands for the front of a long path"),
    "warm": ("warm call", "a call after another one, which filled the caches; --first shows the very first call"),
    "skewed": ("~", "the place was {}"),
    "uncertain": ("?", "the place is one of several, or unknown"),
    "more": ("… more", "hidden rows, as one"),
    "number": ("[n]", "the number of a hop: --explain n shows the observations behind it"),
    "frames": ("+n", "n C++ frames inside a row are not shown"),
    "open": (
        "--open NAME",
        "opens a row by its name; add.Tensor#2 is the second call of an operator",
    ),
}
# The names that complete a sign's meaning: what a share is of, and the order of the rows.
SHARES = {
    "time": "time",
    "instructions": "instructions",
    "time of calls": "time of all operator calls",
    "instructions of steps": "stepped instructions",
}
ORDERS = {
    "cost": "the costliest first",
    "calls": "the most often called first",
    "first": "in the order of their first calls",
    "line": "by line, in the costliest file first",
    "ran": "in the order in which they ran, unless they say `order unknown`",
}
