"""Reads an operator's schema string: names and types of the arguments, and whether recorded inputs fit them.

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
_NOT_FINITE = ("inf", "-inf", "nan")  # how the probe writes numbers that JSON cannot express
# Types whose values the profiler always records. Not Scalar: the profiler does not record complex values.
_ALWAYS_RECORDED = {"Tensor", "int", "SymInt", "float", "bool", "ScalarType", "Layout", "MemoryFormat"}


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument: its type without the alias annotation ("Tensor?[]"), and its name."""

    type: str
    name: str


@lru_cache(maxsize=4096)
def arguments(schema: str) -> tuple[Argument, ...]:
    """Returns the arguments of "ns::op.overload(Tensor self, *, int dim=0) -> Tensor", in order."""
    text = Text("", schema)
    opening = text.bare.find("(")
    closing = text.brackets.closing(opening) if opening >= 0 else -1
    if closing < 0:
        return ()
    listed = [schema[start:stop] for start, stop in text.brackets.arguments(opening + 1, closing)]
    plain = [_ALIAS.sub("", argument).split("=", 1)[0].strip().rpartition(" ") for argument in listed]
    return tuple(Argument(kind.strip(), name) for kind, _, name in plain if kind)


def written(schema: str) -> tuple[str, ...]:
    """Returns the names of the arguments that a call writes to, which have an annotation as in "Tensor(a!) self"."""
    given = schema.rpartition("->")[0]
    return tuple(re.findall(r"\w+\(\w+!(?: -> [^)]*)?\)\S* (\w+)", given))


def only_asks(schema: str) -> bool:
    """Whether an operator returns a number or a bool about one tensor, and creates no tensor.

    Examples: _nnz, sparse_dim, is_coalesced. An operator that returns a Scalar does not count: _local_scalar_dense
    reads an element.
    """
    result = schema.rpartition("->")[2].strip().removesuffix("[]")
    tensors = [argument for argument in arguments(schema) if argument.type.startswith("Tensor")]
    return result in ("int", "SymInt", "bool") and [argument.type for argument in tensors] == ["Tensor"]


def is_aliasing(schema: str) -> bool:
    """Whether a result shares memory with an argument ("Tensor(a)"), or is an argument written to ("Tensor(a!)")."""
    given, _, results = schema.rpartition("->")
    return any("!" not in alias for alias in _ALIAS.findall(given)) or any(
        "!" in alias for alias in _ALIAS.findall(results)
    )


def is_view(schema: str) -> bool:
    """Whether a result may share memory with an argument that the call does not write to ("Tensor(a)")."""
    return any("!" not in alias for alias in _ALIAS.findall(schema.rpartition("->")[2]))


def fits(schema: str, inputs: Sequence[RecordedInput]) -> bool:
    """Whether the recorded inputs can belong to a call with this schema.

    The profiler records every argument of the schema. Values that it cannot record (strings, integer lists) are None.
    """
    wanted = arguments(schema)
    return len(wanted) == len(inputs) and all(_fits(a, v) for a, v in zip(wanted, inputs, strict=True))


def own_inputs(schema: str, inputs: Sequence[GivenT]) -> Sequence[GivenT]:
    """Returns the inputs of a call with this schema, from the recorded inputs or a list beside them.

    For a boxed call, the profiler records the whole stack (Dispatcher::callBoxed of Dispatcher.h), and the inputs of
    the call are the last values.
    """
    return inputs[-len(arguments(schema)) :] if len(inputs) > len(arguments(schema)) > 0 else inputs


def unrecorded(wanted: Sequence[Argument], inputs: Sequence[RecordedInput]) -> tuple[str, ...]:
    """Returns the names of tensor arguments that the profiler does not record.

    These are undefined, nested, or of symbolic sizes. A list that contains such a tensor is not recorded at all. An
    optional tensor that is None counts as recorded. Source: InputOutputEncoder (push, getIValueGenerator) of
    torch/csrc/profiler/collection.cpp.
    """
    return tuple(
        argument.name
        for argument, value in zip(wanted, inputs, strict=False)
        if (argument.type == "Tensor" or argument.type.startswith("Tensor["))
        and (value is None or (isinstance(value, tuple) and None in value))
    )


def missing(wanted: Sequence[Argument], inputs: Sequence[RecordedInput]) -> tuple[str, ...]:
    """Returns the names of optional tensor arguments that are None or undefined."""
    return tuple(
        argument.name
        for argument, value in zip(wanted, inputs, strict=False)
        if argument.type == "Tensor?" and value is None
    )


def optional_lists(wanted: Sequence[Argument], inputs: Sequence[RecordedInput]) -> tuple[str, ...]:
    """Returns the names of lists of optional tensors (the indices of index), whose content is not recorded.

    The profiler records a list only if each element has the type of a tensor (InputOutputEncoder::push of
    torch/csrc/profiler/collection.cpp).
    """
    pairs = zip(wanted, inputs, strict=False)
    return tuple(argument.name for argument, value in pairs if argument.type.startswith("Tensor?[") and value is None)


def generators(wanted: Sequence[Argument], inputs: Sequence[RecordedInput]) -> tuple[str, ...]:
    """Returns the names of arguments that may be a Generator, which the profiler records like None."""
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
