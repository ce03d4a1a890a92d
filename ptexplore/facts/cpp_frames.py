"""The meaning of C++ functions of PyTorch on a stack: which call which, which throw, which pass an error on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ptexplore.facts.source import FactSource


class CppFrame(NamedTuple):
    """A function, recognised by the beginning of its demangled name."""

    begins: str
    source: FactSource


# Throws if the dispatcher's table has no entry.
LOOKUP = CppFrame(
    "c10::impl::OperatorEntry::lookup(", FactSource("aten/src/ATen/core/dispatch/OperatorEntry.h", "lookup(")
)
RUNS_NODE = CppFrame(  # calls the apply of a node's class
    "torch::autograd::Node::operator()(", FactSource("torch/csrc/autograd/function.h", "operator()(")
)
PY_NODE = CppFrame("torch::autograd::PyNode::apply(", FactSource("torch/csrc/autograd/python_function.h", "PyNode"))
# A binding calls it with an error of C++ that it caught (END_HANDLE_TH_ERRORS).
HANDS_OVER = CppFrame(
    "torch::translate_exception_to_python(", FactSource("torch/csrc/Exceptions.h", "translate_exception_to_python")
)
UNPACK = CppFrame(
    "torch::autograd::SavedVariable::unpack(", FactSource("torch/csrc/autograd/saved_variable.h", "unpack(")
)
# Functions that call the boxed form of a kernel, or are called by it.
BOXED = ("callBoxed", "redispatchBoxed", "make_boxed_function", "make_boxed_from_unboxed_functor")
DISPATCHER = "aten/src/ATen/core/dispatch/Dispatcher.h"
BOXED_IN = tuple(
    FactSource(file, name)
    for file, name in zip((DISPATCHER, DISPATCHER, "aten/src/ATen/core/boxing/BoxedKernel.h",
                           "aten/src/ATen/core/boxing/impl/make_boxed_from_unboxed_functor.h"), BOXED, strict=True)
)  # fmt: skip
# Functions between an operator and its kernel, and between Python and a function that it calls.
LEADS_ON = ("c10::Dispatcher::", "c10::impl::OperatorEntry::", "pybind11::")


def facts() -> Iterator[tuple[str, FactSource]]:
    """Yields every fact of this module, with name and source."""
    for frame in (LOOKUP, RUNS_NODE, PY_NODE, HANDS_OVER, UNPACK):
        yield f"function {frame.begins.rstrip('(')}", frame.source
    yield from ((f"boxing by {source.words}", source) for source in BOXED_IN)
