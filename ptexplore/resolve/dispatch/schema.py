"""Read an operator's schema string: its arguments' names and types, and whether recorded inputs fit them.

Source of the grammar: aten/src/ATen/native/README.md and torch/csrc/jit/frontend/function_schema_parser.cpp.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from ptexplore.cpp.text import Text
from ptexplore.model.tensors import RecordedInput, RecordedTensor

GivenT = TypeVar("GivenT")
_ALIAS = re.compile(r"\([a-z*|! >-]+\)")
_SCALARS = {
    "Scalar", "int", "SymInt", "float", "bool", "ScalarType", "Layout", "MemoryFormat", "Device", "QScheme", "complex",
}  # fmt: skip
_NOT_FINITE = ("inf", "-inf", "nan")  # as the probe writes numbers that JSON has no word for
# What the profiler always keeps the value of; a Scalar may be complex, which it does not keep.
_ALWAYS_RECORDED = {"Tensor", "int", "SymInt", "float", "bool", "ScalarType", "Layout", "MemoryFormat"}


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument: its type without alias annotation ("Tensor?[]"), and its name."""

    type: str
    name: str


@lru_cache(maxsize=4096)
def arguments(schema: str) -> tuple[Argument, ...]:
    """The arguments of "ns::op.overload(Tensor self, *, int dim=0) -> Tensor", in order."""
    text = Text("", schema)
    opening = text.bare.find("(")
    closing = text.brackets.closing(opening) if opening >= 0 else -1
    if closing < 0:
        return ()
    listed = [schema[start:stop] for start, stop in text.brackets.arguments(opening + 1, closing)]
    plain = [_ALIAS.sub("", argument).split("=", 1)[0].strip().rpartition(" ") for argument in listed]
    return tuple(Argument(kind.strip(), name) for kind, _, name in plain if kind)


def written(schema: str) -> tuple[str, ...]:
    """The names of the arguments that a call writes to: those of "Tensor(a!) self"."""
    given = schema.rpartition("->")[0]
    return tuple(re.findall(r"\w+\(\w+!(?: -> [^)]*)?\)\S* (\w+)", given))


def only_asks(schema: str) -> bool:
    """Whether an operator tells a number or a truth value of one tensor, and makes none.

    So do _nnz, sparse_dim and is_coalesced. What gives a Scalar is none of these: _local_scalar_dense reads an element.
    """
    result = schema.rpartition("->")[2].strip().removesuffix("[]")
    tensors = [argument for argument in arguments(schema) if argument.type.startswith("Tensor")]
    return result in ("int", "SymInt", "bool") and [argument.type for argument in tensors] == ["Tensor"]


def is_aliasing(schema: str) -> bool:
    """Whether an argument lends its memory to a result ("Tensor(a)"), or a result is one written to ("Tensor(a!)")."""
    given, _, results = schema.rpartition("->")
    return any("!" not in alias for alias in _ALIAS.findall(given)) or any(
        "!" in alias for alias in _ALIAS.findall(results)
    )


def fits(schema: str, inputs: Sequence[RecordedInput]) -> bool:
    """Whether the profiler's recorded inputs can be those of a call with this schema.

    The profiler records every argument of the schema; what it cannot keep (strings, integer lists) is None.
    """
    wanted = arguments(schema)
    return len(wanted) == len(inputs) and all(_fits(a, v) for a, v in zip(wanted, inputs, strict=True))


def own_inputs(schema: str, inputs: Sequence[GivenT]) -> Sequence[GivenT]:
    """The inputs of a call of this schema, or what was told of each, among those recorded.

    Of a boxed call the profiler records the whole stack (Dispatcher::callBoxed of Dispatcher.h): they are its end.
    """
    return inputs[-len(arguments(schema)) :] if len(inputs) > len(arguments(schema)) > 0 else inputs


def unrecorded(wanted: Sequence[Argument], inputs: Sequence[RecordedInput]) -> tuple[str, ...]:
    """The names of tensors that a call was given and the profiler tells nothing of.

    These are undefined, nested or of symbolic sizes; of a list that holds such a tensor nothing at all is told. Of an
    optional tensor that is None nothing is missing.
    Source: InputOutputEncoder (push, getIValueGenerator) of torch/csrc/profiler/collection.cpp.
    """
    return tuple(
        argument.name
        for argument, value in zip(wanted, inputs, strict=False)
        if (argument.type == "Tensor" or argument.type.startswith("Tensor["))
        and (value is None or (isinstance(value, tuple) and None in value))
    )


def missing(wanted: Sequence[Argument], inputs: Sequence[RecordedInput]) -> tuple[str, ...]:
    """The names of optional tensors of which a call was given none, or none that is defined."""
    return tuple(
        argument.name
        for argument, value in zip(wanted, inputs, strict=False)
        if argument.type == "Tensor?" and value is None
    )


def optional_lists(wanted: Sequence[Argument], inputs: Sequence[RecordedInput]) -> tuple[str, ...]:
    """The names of lists of optional tensors (the indices of index): the profiler tells nothing of what they hold.

    It records a list only if each element is a tensor by its type (InputOutputEncoder::push of
    torch/csrc/profiler/collection.cpp).
    """
    pairs = zip(wanted, inputs, strict=False)
    return tuple(argument.name for argument, value in pairs if argument.type.startswith("Tensor?[") and value is None)


def generators(wanted: Sequence[Argument], inputs: Sequence[RecordedInput]) -> tuple[str, ...]:
    """The names of arguments that may have been given a Generator, which the profiler records as it does None."""
    pairs = zip(wanted, inputs, strict=False)
    return tuple(argument.name for argument, value in pairs if argument.type.startswith("Generator") and value is None)


def _fits(argument: Argument, value: RecordedInput) -> bool:
    if isinstance(value, RecordedTensor):
        return argument.type in ("Tensor", "Tensor?")
    if isinstance(value, tuple):
        if any(isinstance(v, RecordedTensor) for v in value):
            return argument.type.startswith("Tensor") and argument.type.endswith("]")
        return argument.type.endswith("]") or argument.type.endswith("]?")
    if value is None:
        return argument.type not in _ALWAYS_RECORDED
    if isinstance(value, str):
        number = value in _NOT_FINITE and argument.type.rstrip("?") in ("Scalar", "float")
        return number or argument.type.startswith("str")
    return argument.type.rstrip("?") in _SCALARS
