"""What torch's profiler recorded of one call, as the fold reads it: what each event is, what of its inputs tells kinds.

Nothing here is kept from one event to the next, but what a scope of the profiler's means.
"""

from __future__ import annotations

import functools
import operator
from typing import Any, Literal, TypeAlias

from . import events
from . import torch_api as api

CallType: TypeAlias = Literal["op", "node", "engine", "user", "script", "launch"]
# An event: itself, its name, what it is, its fields, of an operator its inputs, and the events inside of it.
Call = tuple[Any, str, CallType, Any, Any, list[Any]]
MET: Call = (None, "", "op", None, None, [])  # a call that was folded already
_TENSOR, _OPERATOR = api.TENSOR_METADATA, api.OPERATOR_FIELDS
_TYPES: dict[Any, CallType] = {}  # by scope: what `TYPES` says of its name
TYPES: dict[str, CallType] = {"BACKWARD_FUNCTION": "node", "USER_SCOPE": "user", "TORCHSCRIPT_FUNCTION": "script"}
NODES = ("engine", "node")


def launch_call(event: Any, name: str, through: str | None, took: int) -> Call:
    """A launch on a device that no operator made, as a call."""
    return event, name, events.LAUNCH, None, (through, took), []


def read(event: Any, name: str) -> Call | None:
    """What the profiler recorded as an operator's event, or as one alike; None for any other event.

    To ask for its scope takes as long as all else that is read: it is not asked for where the name is an operator's and
    a tensor was given. What a program names itself has none.
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
    if type_ == "op" and given is None:
        given = fields.inputs
    return event, name, type_, fields, given, event.children


def signature(value: Any, sizes: list[Any]) -> Any:
    """What of an input decides the kind: a tensor's dtype, device, layout and dimensions; of others the type alone.

    The sizes go to `sizes`.
    """
    if type(value) is _TENSOR:
        size = tuple(value.sizes)
        sizes.append(size)
        return (value.dtype, value.device, value.layout, len(size))
    if isinstance(value, (list, tuple)):
        inner = [signature(item, sizes) for item in value[:4096]]
        return (tuple(dict.fromkeys(inner)), "list")
    return type(value)


def key_set_of(value: Any, reading: dict[int, int]) -> int | None:
    """The key set of an operator's input, of a list those of its tensors together; None where one was not read."""
    if type(value) is _TENSOR:
        return reading.get(value.impl_ptr)
    if isinstance(value, (list, tuple)) and value and type(value[0]) is _TENSOR:
        sets = [key_set_of(item, reading) for item in value]
        return functools.reduce(operator.or_, sets) if None not in sets else None
    return None
