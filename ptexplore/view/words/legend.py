"""The meaning of a view's signs and words: how a hop and its place are known, the figures, and the details of rows."""

from __future__ import annotations

from ptexplore.model import details as says
from ptexplore.model.details import Detail
from ptexplore.model.places import Precision
from ptexplore.model.trace import Status

STATUS_MEANS: dict[Status, str] = {
    "observed": "this ran: an address, an event or a Python frame was seen",
    "derived": "follows from key sets that were read and the dispatcher's own table",
    "predicted": "the table or a kernel's text says so; nothing saw it",
    "inlined": "compiled into its caller: it leaves no frame of its own",
    "cut": "the recorder's cap was reached here",
}
PRECISION_MEANS: dict[Precision, str] = {
    "registered": "the binary's own record names this line, and the tree's text confirms it",
    "located": "the one definition of this symbol in a tree of the running version",
    "consistent": "the one definition in a tree that agrees with the wheel wherever both have the file",
    "version-skew": "found by name in a tree of another version",
    "ambiguous": "several candidates",
    "unknown": "not known",
}
# For rows that were not seen to run, in a line below a table.
NOT_SEEN: dict[Status, str] = {
    "derived": "follows from key sets that were read and the dispatcher's table; not seen to run",
    "predicted": "the table or a kernel's text says so; not seen to run",
    "inlined": "compiled into its caller; seen by the functions that it called, and has their share",
}
SEVERAL = "several places are possible, or none is known: --explain N says which (-v has the numbers)"
_HOLD_OPERATORS = (says.HoldsOperators, says.HoldsBoth)
# By the details of rows: the explained words, and their meaning.
OF_ROWS: dict[tuple[type[Detail], ...], tuple[str, str]] = {
    (says.CalledBinding, says.SeveralBindings, says.FunctionsAndBindings): (
        "binding",
        "the C function that Python calls: it reads the arguments and calls the operator",
    ),
    (says.CalledOperator, says.NoOperator, says.NoOperators, says.CallsOthers, *_HOLD_OPERATORS): (
        "operator",
        "an operator of ATen: from here the dispatcher chooses kernels by the arguments' dispatch keys",
    ),
    (says.RunNode, says.RecordsNode, says.EngineRuns, says.HoldsNodes, says.HoldsBoth): (
        "node",
        "a node of the graph that backward runs",
    ),
    (says.KeysUnknown,): ("keys not known", "no dispatch key of the call is named: a line below the rows says why"),
    (says.NextKeyUnknown, says.KeysNextUnknown, says.CallsOperatorNextUnknown): (
        "next key not known",
        "no further dispatch key of the call is named: a line below the rows says why",
    ),
    (says.CallsFirst,): ("calls", "what a row that is not opened calls first; … where that is not all"),
    (says.ThenKeys,): ("then", "the dispatch keys that follow inside of a row that is not opened"),
    (says.AsksWorkspace,): (
        "only asks for a workspace's size",
        "LAPACK is called with a size of -1 first; a later call computes",
    ),
    (says.OrderUnknown, says.InOtherThread): (
        "order unknown",
        (
            "whether it ran before, behind or inside of rows beside it is not known: they follow from a text, "
            "or from an error's stack, or another thread ran it"
        ),
    ),
    (says.KernelBehindStub, says.Runs): (
        "kernel",
        "the function behind a dispatch stub, compiled for what this processor can",
    ),
    (says.LoopOverElements,): (
        "loop over the elements",
        "the loop that touches the numbers, made for this kernel by the compiler",
    ),
    (says.CallsOthers,): (
        "calls other operators",
        "CompositeImplicitAutograd: one kernel for all keys, which calls other operators",
    ),
    (says.CalledByPython,): (
        "called by Python",
        "no recorder saw its function: a class, one written in C, or one of another package",
    ),
    (says.NotEntered,): (
        "not entered",
        "Python raised before the function's body began, as where an argument is missing",
    ),
    (says.CannotBeCalled,): (
        "cannot be called",
        "its class has no `__call__`: Python raised before anything was called",
    ),
    _HOLD_OPERATORS: (
        "outermost operator call… in",
        "operators that Python, or a node, calls in it, without those that operators make",
    ),
    (says.NoOperator,): (
        "no operator seen in it",
        (
            "no operator call was recorded in it, or in what it called: a helper; a few operators, "
            "as those that mark ranges for the profiler, are never recorded"
        ),
    ),
    (says.SeveralFunctions, says.SeveralBindings, says.FunctionsAndBindings, says.OtherCalls): (
        "any order",
        "the row is for several steps, which ran before, between or behind the rows beside it",
    ),
    (says.NoOperators,): (
        "no operator seen in them",
        "so many helpers of one function as one row, which has the name of the costliest",
    ),
    (says.OwnOfFunctorch,): (
        "functorch's own kernel",
        "one that is asked before any transform; it calls other operators",
    ),
    (says.OneForAllKeys,): (
        "one kernel for all keys",
        "CompositeImplicitAutograd, here one that calls no other operator",
    ),
    (says.OneForAnyBackend,): (
        "one kernel, any backend",
        "CompositeExplicitAutograd: the key has no kernel of its own: one for all backends runs",
    ),
    (says.NextKey,): (
        "next key",
        "the kernel before it calls the operator again, without its own key: the next one is chosen",
    ),
    (says.AutogradExcluded,): (
        "autograd excluded",
        (
            "the thread's own sets leave its keys out, as a guard of a kernel further out, or a mode "
            "such as inference_mode, has it"
        ),
    ),
    (says.HighestOfSet, says.HighestOfUnread): (
        "highest of …",
        (
            "dispatch keys have an order; the highest one that an argument carries, or this thread includes, "
            "and that is not excluded, is chosen"
        ),
    ),
    (says.OnlyKey,): ("its only key", "no other key was there to choose"),
    (says.OnlyKeyLeft,): (
        "the only key left",
        "what arguments carry besides, if anything, the thread's own sets leave out",
    ),
}

# From not_observed_ops in aten/src/ATen/core/dispatch/ObservedOperators.cpp.
RECORDED = (
    "torch's profiler records all operators but those that mark ranges for it (profiler::_record_function_enter_new "
    "and _exit, as in each Optimizer.step), and some that only read: size, is_leaf, output_nr, _version, is_complex"
)

OF_PROGRAMS: dict[str, str] = {
    "share": "of the time of the recorded run, from entry to exit, with all that the row called; the bar is the same",
    "time": "of all calls together, by the clock, less what the profile function took; what the profiler adds is in "
    "it, and in a node's what the engine adds up after it",
    "backward": "the time of those nodes of backward that its operators recorded",
    "calls": "how often it was called",
    "ops": "operators that Python called inside of it; in backward also those that its nodes, and the engine, called",
    "recorded": RECORDED,
    "saved": "bytes kept for backward; each storage counts once, for the operator that saved it first",
    "device": "the time that a device took for what was launched inside of a row",
    "×n": "so many parts that ran the same operators on the same sizes, as one row: its figures are their sums",
}


OF_EXPRESSIONS: dict[str, str] = {
    "time": "of the operator calls and nodes inside of a row, of each in the warm run where it took least",
    "instr": "instructions of all that ran inside of a row",
    "backward": "the same of those nodes of backward that its operators recorded",
    "calls": "how often it was called, without calls in backward (a checkpoint's)",
    "ops": "operators that Python called inside of it, but for what an operator calls by way of Python; in backward "
    "also those that its nodes, and the engine, called",
    "saved": "bytes kept for backward; each storage counts once, for the operator that saved it first",
    "device": "the time that a device took for what was launched inside of a row",
}

# The signs of a view, each with its meaning.
SIGNS: dict[str, tuple[str, str]] = {
    "share-of-whole": ("share", "of the {} of the whole expression; the bar is the same"),
    "recorded": ("recorded", RECORDED),
    "rest": ("the rest", "what a row did, and no row that is in it"),
    "runs": (
        "×n",
        "so many runs of a node, or parts that ran the same operators on the same sizes: sums of them all",
    ),
    "share": ("share", "of the {}, with what the row called; the bar is the same"),
    "time": ("time", "of these calls, with what they called, of each in the warm run where it took least"),
    "operator-calls": ("operator calls", f"those that are recorded: {RECORDED}"),
    "times": ("×n", "so many equal calls, one after the other, as one row; its share is that of all of them"),
    "instr": ("instr", "instructions of these calls, with what they called; (n stepped): only so many were counted"),
    "self": ("self", "the part of its share that no row inside of it has: its own code, and functions without a row"),
    "inside": ("└ ├", "inside of the row that the line comes from; rows stand {}"),
    "next-key": (f"→ {says.UNKNOWN_KEY}", "which key the call goes on to is not known"),
    "place": ("path:line", "where the function stands, and it is certain; folders may be cut at the beginning"),
    "skewed": ("~", "the place was {}"),
    "uncertain": ("?", "the place is one of several, or not known"),
    "more": ("… more", "rows that are not shown, as one"),
    "number": ("[n]", "the number of a step: --explain n says what it is concluded from"),
    "frames": ("+n", "so many frames of C++ inside of a row are not shown"),
    "open": (
        "--open NAME",
        "opens a row by its name, with all that ran inside of it: the second call of an operator is add.Tensor#2",
    ),
}
# The names that complete a sign's meaning: what a share is of, and the order of the rows.
SHARES = {
    "time": "time",
    "instructions": "instructions",
    "time of calls": "time of all operator calls",
    "instructions of steps": "instructions of all that was stepped",
}
ORDERS = {
    "cost": "the costliest first",
    "calls": "the most often called first",
    "first": "in the order of their first calls",
    "ran": "in the order in which they ran, but for those whose order is unknown",
}
