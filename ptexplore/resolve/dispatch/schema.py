"""Read an operator's schema string: its arguments' names and types, and whether recorded inputs fit them.

Source of the grammar: aten/src/ATen/native/README.md and torch/csrc/jit/frontend/function_schema_parser.cpp.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ptexplore.resolve.observed import RecordedInput, RecordedTensor

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

    @property
    def is_tensor(self) -> bool:
        return self.type.startswith("Tensor")


def arguments(schema: str) -> list[Argument]:
    """The arguments of "ns::op.overload(Tensor self, *, int dim=0) -> Tensor", in order; [] where there are none."""
    start = schema.find("(")
    if start < 0:
        return []
    found: list[Argument] = []
    for part in _split(schema[start + 1 : _closing(schema, start)]):
        text = _ALIAS.sub("", part).split("=", 1)[0].strip()
        kind, _, name = text.rpartition(" ")
        if kind:
            found.append(Argument(kind.strip(), name))
    return found


def is_aliasing(schema: str) -> bool:
    """Whether an argument lends its memory to a result ("Tensor(a)"), or a result is one written to ("Tensor(a!)")."""
    given, _, results = schema.rpartition("->")
    return any("!" not in one for one in _ALIAS.findall(given)) or any("!" in one for one in _ALIAS.findall(results))


def _closing(text: str, start: int) -> int:
    depth = 0
    for index in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[index], 0)
        if depth == 0:
            return index
    return len(text)


def _split(text: str) -> list[str]:
    parts, depth, quoted, current = [], 0, "", ""
    for char in text:
        if quoted:
            quoted = "" if char == quoted else quoted
        elif char in "\"'":
            quoted = char
        elif char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(current)
            current = ""
            continue
        current += char
    return [p.strip() for p in (*parts, current) if p.strip()]


def fits(schema: str, inputs: Sequence[RecordedInput]) -> bool:
    """Whether the profiler's recorded inputs can be those of a call with this schema.

    The profiler records every argument of the schema; what it cannot keep (strings, integer lists) is None.
    """
    wanted = arguments(schema)
    return len(wanted) == len(inputs) and all(_fits(a, v) for a, v in zip(wanted, inputs, strict=True))


def _fits(argument: Argument, value: RecordedInput) -> bool:
    if isinstance(value, RecordedTensor):
        return argument.type in ("Tensor", "Tensor?")
    if isinstance(value, tuple):
        if any(isinstance(v, RecordedTensor) for v in value):
            return argument.is_tensor and argument.type.endswith("]")
        return argument.type.endswith("]") or argument.type.endswith("]?")
    if value is None:
        return argument.type not in _ALWAYS_RECORDED and not argument.type.startswith("Tensor[")
    if isinstance(value, str):
        number = value in _NOT_FINITE and argument.type.rstrip("?") in ("Scalar", "float")
        return number or argument.type.startswith("str")
    return argument.type.rstrip("?") in _SCALARS
