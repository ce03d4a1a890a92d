"""Reads one call from torch's profiler for the fold: what the event is, and the inputs that decide its kind.

This module keeps nothing from one event to the next, except the meaning of each scope of the profiler.
"""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from . import events
from . import torch_api as api

if TYPE_CHECKING:
    from .messages import OperatorKindData

CallType: TypeAlias = Literal["op", "node", "engine", "user", "script", "launch"]
# An event: the event itself, its name, its type, its fields, the inputs of an operator, and the events inside it.
Call = tuple[Any, str, CallType, Any, Any, list[Any]]
MET: Call = (None, "", "op", None, None, [])  # a call that was folded already
_TENSOR, _OPERATOR = api.TENSOR_METADATA, api.OPERATOR_FIELDS
_TYPES: dict[Any, CallType] = {}  # by scope: the type from `TYPES`
TYPES: dict[str, CallType] = {"BACKWARD_FUNCTION": "node", "USER_SCOPE": "user", "TORCHSCRIPT_FUNCTION": "script"}
NODES = ("engine", "node")
RANGES = ("user", "script")  # no operators
GIVEN = 500  # maximum number of operators of one call whose inputs are sent
BEGIN = operator.attrgetter("start_time_ns")


def launch_call(event: Any, name: str, through: str | None, took: int) -> Call:
    """Return a call for a launch on a device that no operator made."""
    return event, name, events.LAUNCH, None, (through, took), []


def read(event: Any, name: str) -> Call | None:
    """Read a recorded event as a call, if it is an operator's event or a similar one; None for any other event.

    Reading the scope takes as long as reading all the rest. So the scope is not read if the name is an operator's name
    and the first input is a tensor. A range that a program names itself has no inputs.
    """
    fields = event.extra_fields
    if type(fields) is not _OPERATOR:
        return None
    given = None
    if name.startswith("aten::"):
        given = fields.inputs
        if given and type(given[0]) is _TENSOR:
            return event, name, "op", fields, given, event.children
    scope = fields.scope
    type_ = _TYPES.get(scope)
    if type_ is None:
        type_ = _TYPES[scope] = TYPES.get(str(scope).rpartition(".")[2], "op")
    if name.startswith(events.ENGINE):
        type_ = "engine"
    if type_ == "op" and "::" not in name and not 0 <= fields.sequence_number < events.COUNTED:
        # A range that C++ or torch's own Python marks. Operators have a namespace, and a torch.autograd.Function has a
        # number. A range may end after the function that began it, so its time is not in that function's time.
        type_ = "user"
    if type_ == "op" and given is None:
        given = fields.inputs
    return event, name, type_, fields, given, event.children


def signature(value: Any, sizes: list[Any]) -> Any:
    """Return the part of an input that decides the kind: dtype, device, layout and number of dimensions of a tensor.

    Any other input has only its type as signature. The sizes are appended to `sizes`.
    """
    if type(value) is _TENSOR:
        size = tuple(value.sizes)
        sizes.append(size)
        return (value.dtype, value.device, value.layout, len(size))
    if isinstance(value, (list, tuple)):
        inner = [signature(item, sizes) for item in value[:4096]]
        return (tuple(dict.fromkeys(inner)), "list")
    return type(value)


def given_in(event: Any) -> list[OperatorKindData]:
    """Return the operators in a call with their inputs, outer calls first. Return [] if there are many."""
    told: list[OperatorKindData] = []
    pending = [event]
    while pending:
        inner = pending.pop()
        name = inner.name
        call = read(inner, name) if not name.startswith(api.MARK) else None
        if call is None:  # a marker: Python ran there, and what it called has calls of its own
            continue
        if call[2] == "op":
            told.append({"type": "op", "name": name, "inputs": [events.recorded_input(value) for value in call[4]]})
        if len(told) > GIVEN:
            return []
        pending += sorted(call[5], key=BEGIN, reverse=True)
    return told


def key_set_of(value: Any, reading: dict[int, int]) -> int | None:
    """Return the key set of an input; for a list, the union over its tensors. None if a key set was not read."""
    if type(value) is _TENSOR:
        return reading.get(value.impl_ptr)
    if isinstance(value, (list, tuple)) and value and type(value[0]) is _TENSOR:
        sets = [key_set_of(item, reading) for item in value]
        return functools.reduce(operator.or_, sets) if None not in sets else None
    return None
