"""What resolve reads of a session's observations, as records. docs/json.md says what else is in them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Literal, TypeAlias

from ptexplore.model.trace import Observation, Phase


@dataclass(frozen=True, slots=True)
class RecordedTensor:
    """A tensor that an operator was given, as the profiler records it. `impl` is the address of its TensorImpl."""

    impl: int = 0
    device: str = "cpu"
    layout: str = "strided"
    dtype: str = ""


# A tensor, a list, a number or a short text; None for anything else.
RecordedInput: TypeAlias = "RecordedTensor | tuple[RecordedInput, ...] | float | str | None"


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a recorder's tree.

    `event` is its number in the tree. An operator has `name`, `overload`, `inputs` and `sequence`, a node `name` and
    `sequence`, a Python frame `file`, `line` (of the `def`), `function` and `caller_line`, a builtin `table`, `method`,
    `qualname` and the thread-local sets. `call` is the number of the user's call that begins there. A `callable` is no
    event: operator syntax leads to that slot of a type, and Python calls it unseen.
    """

    observation: int = 0
    event: int = -1
    parent: int | None = None
    type: Literal["op", "node", "engine", "user", "frame", "builtin", "call", "callable"] = "callable"
    thread: int = 0
    phase: Phase = "forward"
    name: str | None = None
    overload: str | None = None
    inputs: tuple[RecordedInput, ...] = ()
    sequence: int | None = None
    file: str | None = None
    line: int | None = None
    function: str | None = None
    caller_line: int | None = None
    table: str | None = None
    method: str | None = None
    qualname: str | None = None
    tls_include: int | None = None
    tls_exclude: int | None = None
    call: int | None = None

    @property
    def is_operator(self) -> bool:
        """Whether it is an operator call, or a node of the autograd graph: what every pass records alike."""
        return self.type in ("op", "node")


def operators(events: Iterable[Event]) -> list[Event]:
    """The operator calls, and the nodes of the autograd graph, among events."""
    return [event for event in events if event.is_operator]


@dataclass(frozen=True, slots=True)
class CallTarget:
    """What a call of the expression calls: a function of Python's, a builtin, or a slot of a type."""

    kind: str = ""
    qualname: str | None = None
    table: str | None = None
    method: str | None = None
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class CallArgument:
    """A tensor among a call's arguments: its key set, and the address of its TensorImpl where that stays its own."""

    name: str
    raw: int = 0
    impl: int | None = None


@dataclass(frozen=True, slots=True)
class UserCall:
    """One call, operator, subscript or attribute of the expression, with the thread-local sets before it."""

    observation: int
    call: int
    source: str
    syntax: str
    target: CallTarget
    arguments: tuple[CallArgument, ...]
    tls_include: int
    tls_exclude: int


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A node of the autograd graph that the result leads to; `sequence` is that of the call that recorded it."""

    observation: int
    name: str
    sequence: int | None = None


@dataclass(frozen=True, slots=True)
class ChangedTable:
    """The dispatch table of an operator whose registrations are not the catalogue's."""

    op: str
    table: str
    schema: str = ""


def event_of(observation: Observation) -> Event:
    """An "event" observation as a record."""
    given = _known(Event, observation.data)
    inputs = tuple(map(_input, given.pop("inputs", None) or ()))
    return Event(**given | {"observation": observation.id, "inputs": inputs})


def call_of(observation: Observation) -> UserCall:
    """A "call" observation as a record."""
    data = observation.data
    return UserCall(
        observation=observation.id,
        call=data["call"],
        source=data["source"],
        syntax=data["syntax"],
        target=CallTarget(**_known(CallTarget, data["callable"])),
        arguments=tuple(CallArgument(**_known(CallArgument, argument)) for argument in data["arguments"]),
        tls_include=data["tls_include"]["raw"],
        tls_exclude=data["tls_exclude"]["raw"],
    )


def node_of(observation: Observation) -> GraphNode:
    """A "graph" observation as a record."""
    return GraphNode(observation.id, observation.data["name"], observation.data.get("sequence"))


def table_of(observation: Observation) -> ChangedTable:
    """A "table" observation as a record."""
    data = observation.data
    return ChangedTable(data["op"], data["table"], data.get("schema") or "")


def _known(record: Hashable, data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: data[name] for name in _names(record) if name in data}


@cache
def _names(record: Any) -> tuple[str, ...]:
    """The fields of a record: a trace may have a hundred thousand events."""
    return tuple(field.name for field in fields(record))


def _input(value: Any) -> RecordedInput:
    if isinstance(value, dict):
        return RecordedTensor(**_known(RecordedTensor, value))
    if isinstance(value, list):
        return tuple(map(_input, value))
    return value  # type: ignore[no-any-return]
