"""What every sign and every word of a view means: `--explain legend`."""

from __future__ import annotations

from collections.abc import Iterator

from ptexplore.model import details as says
from ptexplore.model.details import Detail, within
from ptexplore.view.trace.explain import PRECISION_MEANS, STATUS_MEANS
from ptexplore.view.trace.page import OWN, TrailView

_HOLD_OPERATORS = (says.HoldsOperators, says.HoldsBoth)
# By what rows say: the words of it that are explained, and what they mean.
_OF_ROWS: tuple[tuple[tuple[type[Detail], ...], str, str], ...] = (
    (
        (says.CalledBinding, says.SeveralBindings, says.FunctionsAndBindings),
        "binding",
        "the C function that Python calls: it reads the arguments and calls the operator",
    ),
    (
        (says.CalledOperator, says.NoOperator, says.NoOperators, says.CallsOthers, *_HOLD_OPERATORS),
        "operator",
        "an operator of ATen: from here the dispatcher chooses kernels by the arguments' dispatch keys",
    ),
    (
        (says.RunNode, says.RecordsNode, says.EngineRuns, says.HoldsNodes, says.HoldsBoth),
        "node",
        "a node of the graph that backward runs",
    ),
    (
        (says.KeysUnknown,),
        "keys not known",
        "no dispatch key of the call is named: a line below the rows says why",
    ),
    (
        (says.NextKeyUnknown, says.KeysNextUnknown, says.CallsOperatorNextUnknown),
        "next key not known",
        "no further dispatch key of the call is named: a line below the rows says why",
    ),
    ((says.CallsFirst,), "calls", "what a row that is not opened calls first; … where that is not all"),
    ((says.ThenKeys,), "then", "the dispatch keys that follow inside of a row that is not opened"),
    (
        (says.AsksWorkspace,),
        "only asks for a workspace's size",
        "LAPACK is called with a size of -1 first; a later call computes",
    ),
    (
        (says.OrderUnknown, says.InOtherThread),
        "order unknown",
        (
            "whether it ran before, behind or inside of rows beside it is not known: they follow from a text, "
            "or from an error's stack, or another thread ran it"
        ),
    ),
    (
        (says.KernelBehindStub, says.Runs),
        "kernel",
        "the function behind a dispatch stub, compiled for what this processor can",
    ),
    (
        (says.LoopOverElements,),
        "loop over the elements",
        "the loop that touches the numbers, made for this kernel by the compiler",
    ),
    (
        (says.CallsOthers,),
        "calls other operators",
        "CompositeImplicitAutograd: one kernel for all keys, which calls other operators",
    ),
    (
        (says.CalledByPython,),
        "called by Python",
        "no recorder saw its function: a class, one written in C, or one of another package",
    ),
    (
        (says.NotEntered,),
        "not entered",
        "Python raised before the function's body began, as where an argument is missing",
    ),
    (
        (says.CannotBeCalled,),
        "cannot be called",
        "its class has no `__call__`: Python raised before anything was called",
    ),
    (
        _HOLD_OPERATORS,
        "outermost operator call… in",
        "operators that Python, or a node, calls in it, without those that operators make",
    ),
    (
        (says.NoOperator,),
        "no operator seen in it",
        (
            "no operator call was recorded in it, or in what it called: a helper; a few operators, "
            "as those that mark ranges for the profiler, are never recorded"
        ),
    ),
    (
        (says.SeveralFunctions, says.SeveralBindings, says.FunctionsAndBindings, says.OtherCalls),
        "any order",
        "the row is for several steps, which ran before, between or behind the rows beside it",
    ),
    (
        (says.NoOperators,),
        "no operator seen in them",
        "so many helpers of one function as one row, which has the name of the costliest",
    ),
    (
        (says.OwnOfFunctorch,),
        "functorch's own kernel",
        "one that is asked before any transform; it calls other operators",
    ),
    (
        (says.OneForAllKeys,),
        "one kernel for all keys",
        "CompositeImplicitAutograd, here one that calls no other operator",
    ),
    (
        (says.OneForAnyBackend,),
        "one kernel, any backend",
        "CompositeExplicitAutograd: the key has no kernel of its own: one for all backends runs",
    ),
    (
        (says.NextKey,),
        "next key",
        "the kernel before it calls the operator again, without its own key: the next one is chosen",
    ),
    (
        (says.AutogradExcluded,),
        "autograd excluded",
        (
            "the thread's own sets leave its keys out, as a guard of a kernel further out, or a mode "
            "such as inference_mode, has it"
        ),
    ),
    (
        (says.HighestOfSet, says.HighestOfUnread),
        "highest of …",
        (
            "dispatch keys have an order; the highest one that an argument carries, or this thread includes, "
            "and that is not excluded, is chosen"
        ),
    ),
    ((says.OnlyKey,), "its only key", "no other key was there to choose"),
    (
        (says.OnlyKeyLeft,),
        "the only key left",
        "what arguments carry besides, if anything, the thread's own sets leave out",
    ),
)

# As not_observed_ops of aten/src/ATen/core/dispatch/ObservedOperators.cpp has it.
RECORDED = (
    "torch's profiler records all operators but those that mark ranges for it (profiler::_record_function_enter_new "
    "and _exit, as in each Optimizer.step), and some that only read: size, is_leaf, output_nr, _version, is_complex"
)

_OF_PROGRAMS = (
    ("share", "of the time of the recorded run, from entry to exit, with all that the row called; the bar is the same"),
    (
        "time",
        (
            "of all calls together, by the clock, less what the profile function took; what the profiler adds is in "
            "it, and in a node's what the engine adds up after it"
        ),
    ),
    ("backward", "the time of those nodes of backward that its operators recorded"),
    ("calls", "how often it was called"),
    ("ops", "operators that Python called inside of it; in backward also those that its nodes, and the engine, called"),
    ("recorded", RECORDED),
    ("saved", "bytes kept for backward; each storage counts once, for the operator that saved it first"),
    ("×n", "so many parts that ran the same operators on the same sizes, as one row: its figures are their sums"),
)


_OF_EXPRESSIONS = {
    "time": "of the operator calls and nodes inside of a row, of each in the warm run where it took least",
    "instr": "instructions of all that ran inside of a row",
    "backward": "the same of those nodes of backward that its operators recorded",
    "calls": "how often it was called, without calls in backward (a checkpoint's)",
    "ops": "operators that Python called inside of it, but for what an operator calls by way of Python; in backward "
    "also those that its nodes, and the engine, called",
    "saved": "bytes kept for backward; each storage counts once, for the operator that saved it first",
}


def whole_legend(page: TrailView) -> tuple[tuple[str, str], ...]:
    """The signs and words of this view, each with what it means; of a tree those of its rows."""
    return tuple(_signs(page))


def _of_expression(page: TrailView) -> Iterator[tuple[str, str]]:
    """The figures of an expression's modules."""
    of = "time" if "time" in page.columns else "instructions"
    if any(row.share is not None for row in page.table):
        yield "share", f"of the {of} of the whole expression; the bar is the same"
    yield from ((name, _OF_EXPRESSIONS[name]) for name in page.columns)
    yield "recorded", RECORDED
    if any(row.is_rest for row in page.table):
        yield "the rest", "what a row did, and no row that is in it"
    if any(row.times > 1 for row in page.table):
        yield "×n", "so many runs of a node, or parts that ran the same operators on the same sizes: sums of them all"


def _of_path(page: TrailView) -> Iterator[tuple[str, str]]:
    """The figures of a path, or of operators."""
    if any(row.share is not None for row in page.table):
        of = "time of all operator calls" if "time" in page.columns else "instructions of all that was stepped"
        yield "share", f"of the {of}, with what the row called; the bar is the same"
    if "time" in page.columns:
        yield "time", "of these calls, with what they called, of each in the warm run where it took least"
    yield "operator calls", f"those that are recorded: {RECORDED}"
    if any(row.times > 1 for row in page.table):
        yield "×n", "so many equal calls, one after the other, as one row; its share is that of all of them"
    if "instr" in page.columns:
        yield "instr", "instructions of these calls, with what they called; (n stepped): only so many were counted"
    if any(row.own is not None for row in page.table):
        yield "self", "the part of its share that no row inside of it has: its own code, and functions without a row"


def _signs(page: TrailView) -> Iterator[tuple[str, str]]:
    told = tuple(within(detail for row in page.table for detail in row.details))
    if page.told.startswith(OWN):
        yield from _of_expression(page)
    elif page.columns[:1] == ("time",):
        yield from _OF_PROGRAMS
    else:
        yield from _of_path(page)
    if page.table:
        by_cost = {"time", "instr"} & {*page.columns}
        orders = {"operators": "the costliest first" if by_cost else "the most often called first",
                  "modules": "in the order of their first calls"}  # fmt: skip
        order = orders.get(page.view, "in the order in which they ran, but for those whose order is unknown")
        yield "└ ├", f"inside of the row that the line comes from; rows stand {order}"
    if any(isinstance(detail, says.WithKeys) and detail.keys[-1:] == (says.UNKNOWN_KEY,) for detail in told):
        yield f"→ {says.UNKNOWN_KEY}", "which key the call goes on to is not known"
    yield from ((word, means) for kinds, word, means in _OF_ROWS if any(isinstance(detail, kinds) for detail in told))
    seen = {row.status for row in page.table} | {row.status for row in page.rows}
    for status, means in STATUS_MEANS.items():
        if status in seen or page.view == "tree":
            yield status, means
    if page.table:
        yield "path:line", "where the function stands, and it is certain; folders may be cut at the beginning"
        yield "~", f"the place was {PRECISION_MEANS['version-skew']}"
        yield "?", "the place is one of several, or not known"
        yield "… more", "rows that are not shown, as one"
    else:
        yield "[n]", "the number of a step: --explain n says what it is concluded from"
        yield "+n", "so many frames of C++ inside of a row are not shown"
        yield from PRECISION_MEANS.items()
    yield (
        "--open NAME",
        "opens a row by its name, with all that ran inside of it: the second call of an operator is add.Tensor#2",
    )
