"""The constant words by which texts of torch.compile's log are read: breaks, guards, recompilations.

A text is read only as far as these words are in it. What a version does not write stays unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ptexplore.facts.source import FactSource
from ptexplore.model.compiled import CheckedProperty

_CONVERT = "torch/_dynamo/symbolic_convert.py"
_EXC = "torch/_dynamo/exc.py"
_GUARDS = "torch/_dynamo/guards.py"
_GUARDS_CPP = "torch/csrc/dynamo/guards.cpp"


class TextMark(NamedTuple):
    """The words that begin a part of a text."""

    words: str
    sources: tuple[FactSource, ...]


BREAK = TextMark("Graph break in user code at ", (FactSource(_CONVERT, "Graph break in user code at "),))
SKIP = TextMark("Graph break: ", (FactSource("torch/_dynamo/convert_frame.py", "Graph break: "),))
REASON = TextMark("Graph Break Reason: ", (FactSource(_CONVERT, "Graph Break Reason: ", since="2.7"),))
OLD_REASON = TextMark("Reason: ", (FactSource(_CONVERT, "Reason: "),))
# The operator whose function Dynamo traced, such as `checkpoint`, when it could not go on.
OPERATOR = TextMark("  Higher Order Operator: ", (FactSource(_EXC, "Higher Order Operator: ", since="2.13"),))
# In the message of an error about sizes: the lines that made a size constant.
ERROR_STACK = TextMark(
    "User stack:", (FactSource("torch/fx/experimental/symbolic_shapes.py", "User stack:", since="2.13"),)
)
# Why a tensor became dynamic.
SIZE_CHANGE = TextMark("size change", (FactSource("torch/_dynamo/pgo.py", "size change"),))
# Begins a hint of a guard that only names the class of the value.
CLASS_HINT = TextMark("type ", (FactSource(_GUARDS, 'recompile_hint=f"type ', since="2.13"),))
# Begins a hint of a guard that only names a variable of a closure.
CLOSURE_HINT = TextMark("guard on ", (FactSource(_GUARDS, 'guard on "', since="2.13"),))
STACK = TextMark("User code traceback:", (FactSource(_CONVERT, "User code traceback:"),))
EXPLANATION = TextMark("  Explanation: ", (FactSource(_EXC, "Explanation: ", since="2.7"),))
HINT = TextMark("  Hint: ", (FactSource(_EXC, "Hint: ", since="2.7"),))
CONTEXT = TextMark("  Developer debug context: ", (FactSource(_EXC, "Developer debug context: ", since="2.7"),))
LINK = TextMark(
    " For more details about this graph break", (FactSource(_EXC, "For more details about this graph", since="2.8"),)
)
# Before a kind: what Dynamo tried. A situation with these words adds nothing to the break: the page leaves it out.
TRIED = TextMark(
    "Encountered graph break when attempting to trace ",
    (FactSource(_CONVERT, "Encountered graph break when attempting to trace ", since="2.9"),),
)
# Hints that are for PyTorch's developers, and no remedy.
REPORTS = (
    TextMark(
        "Please report an issue to PyTorch",
        (FactSource("torch/_dynamo/graph_break_hints.py", "report an issue to PyTorch", since="2.7"),),
    ),
    TextMark("File an issue to PyTorch", ()),
    TextMark("Please file an issue to PyTorch", ()),
)
INTERNAL_STACK = "Traceback (most recent call last):"  # Python's own words
FROM_USER_CODE = TextMark("from user code:", (FactSource(_EXC, "from user code:"),))
RECOMPILE_STACK = TextMark("User stack trace:", (FactSource(_GUARDS, "User stack trace:", since="2.10"),))
# In a guard on a size: its line is the first use of the size, and not the reason for the guard.
FIRST_USE = TextMark(
    "user code shown is first use of this value",
    (
        FactSource(
            "torch/fx/experimental/symbolic_shapes.py", "user code shown is first use of this value", since="2.6"
        ),
    ),
)
GLOBAL_STATE = TextMark("GLOBAL_STATE changed: ", (FactSource(_GUARDS_CPP, "GLOBAL_STATE changed: "),))
RESUME = re.compile(r"(?P<qualifier>(?:.*\.)?)torch_dynamo_resume_in_(?P<name>.+)_at_(?P<line>\d+)")
_RESUMES = FactSource("torch/_dynamo/resume_execution.py", "torch_dynamo_resume_in")


# Bytes of an element, by the short name that the text of a graph has for its dtype.
ELEMENT_BYTES = {
    "f64": 8, "f32": 4, "f16": 2, "bf16": 2, "c128": 16, "c64": 8, "c32": 4, "i64": 8, "i32": 4, "i16": 2, "i8": 1,
    "u64": 8, "u32": 4, "u16": 2, "u8": 1, "b8": 1, "f8e4m3fn": 1, "f8e5m2": 1,
}  # fmt: skip
_DTYPES = FactSource("torch/fx/graph.py", "dtype_abbrs")


class TensorCheck(NamedTuple):
    """How the guard of a tensor says which property differs. Groups of the pattern: `index`, `old`, `new`."""

    checks: CheckedProperty
    pattern: re.Pattern[str]
    source: FactSource


def _tensor_check(checks: CheckedProperty, words: str, pattern: str) -> TensorCheck:
    return TensorCheck(checks, re.compile(pattern, re.DOTALL), FactSource(_GUARDS_CPP, words))


TENSOR_CHECKS = (
    _tensor_check(
        "size",
        "size mismatch at index ",
        r"size mismatch at index (?P<index>\d+)\. expected (?P<old>\S+), actual (?P<new>\S+)",
    ),
    _tensor_check(
        "stride",
        "stride mismatch at index ",
        r"stride mismatch at index (?P<index>\d+)\. expected (?P<old>\S+), actual (?P<new>\S+)",
    ),
    _tensor_check("rank", "rank mismatch. expected ", r"rank mismatch\. expected (?P<old>\S+), actual (?P<new>\S+)"),
    _tensor_check("dtype", "dtype mismatch. expected ", r"dtype mismatch\. expected (?P<old>\S+), actual (?P<new>\S+)"),
    _tensor_check(
        "requires_grad",
        "requires_grad mismatch. expected requires_grad=",
        r"requires_grad mismatch\. expected requires_grad=(?P<old>[01])",
    ),
    _tensor_check(
        "device",
        "Tensor device index mismatch. Expected device index to be ",
        r"device index mismatch\. Expected device index to be (?P<old>\S+), actual (?P<new>\S+)",
    ),
    _tensor_check(
        "keys",
        "dispatch key set mismatch. expected ",
        r"key set mismatch\. expected (?P<old>DispatchKeySet\([^)]*\)), actual (?P<new>DispatchKeySet\([^)]*\))",
    ),
)


# The first line of code that Inductor writes: the number of the graph, and whether it is of forward or backward.
AOT_GRAPH = TextMark("# AOT ID: ", (FactSource("torch/_inductor/codegen/wrapper.py", "# AOT ID: "),))
_MARKS = (
    AOT_GRAPH, BREAK, SKIP, TRIED, *REPORTS, REASON, OLD_REASON, OPERATOR, ERROR_STACK, CLASS_HINT, CLOSURE_HINT,
    SIZE_CHANGE, STACK, EXPLANATION, HINT, CONTEXT, LINK,
    FROM_USER_CODE, RECOMPILE_STACK, FIRST_USE, GLOBAL_STATE,
)  # fmt: skip


def facts() -> Iterator[tuple[str, FactSource]]:
    """Yields the source of each row."""
    yield from ((f"compiler text {mark.words.strip()}", source) for mark in _MARKS for source in mark.sources)
    yield from ((f"guard of a tensor's {row.checks}", row.source) for row in TENSOR_CHECKS)
    yield "functions that continue after a break", _RESUMES
    yield "short names of dtypes", _DTYPES
