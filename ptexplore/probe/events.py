"""The profiler's event tree as plain data, parents before children. A marker becomes the data that it stands for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from . import torch_api as api
from .reasons import reason
from .throws import Note

if TYPE_CHECKING:
    from .messages import EventData, EventParts

    class EventMark(EventParts):
        """The data of a marker, or of one event of the profiler, without its place in the tree."""

        type: str


Phase: TypeAlias = Literal["forward", "backward"]

LIMIT = 20_000  # events kept of one pass; markers do not count, so that every pass keeps the same events
ENGINE = "autograd::engine::evaluate_function: "
BACKWARD = "phase:backward"
COUNTED = 1 << 62  # autograd's sequence numbers are smaller; an event without one has a larger number, or -1
APART = 1 << 40  # added for each thread to its sequence numbers, since each thread counts separately
OF_FRAMES, OF_CALLS = ("frame", "builtin", "callback", "sets", "cut"), ("call",)  # types of marks, by recorder
MARKERS = (*OF_FRAMES, *OF_CALLS)
BEGAN_LATE = reason("device-began-inside")
NOT_LOOKED_AT = reason("device-not-watched")
# Work given to a device. It does not count for LIMIT, because passes may differ in how much there is.
LAUNCH: Final = "launch"
WORDS = 300  # characters kept of an error's first line
MAIN = "main"  # a marker in the expression's own thread, which becomes thread number 0


def collect(
    profile: Any, marked: Mapping[str, EventMark], *, timed: bool = False, errors: Sequence[Note] = ()
) -> tuple[list[EventData], bool]:
    """Returns the events of a finished profile, and whether LIMIT cut some. `timed`: each event has its nanoseconds.

    `marked` has the data of each marker by name. A marker of an unknown name is left out, and its children move up.
    `errors`: errors that C++ made and that were caught. An error is added to the event of the operator that made it.
    """
    events: list[EventData] = []
    made = _Makers(errors)
    roots = api.event_roots(profile)
    threads = {event.start_tid: 0 for event in roots if event.name == api.MARK + MAIN}
    roots.sort(key=lambda event: event.start_tid not in threads)  # by time only, the order would depend on the recorder
    began = _backward_began(roots)
    stack: list[tuple[Any, int | None, Phase]] = [
        (event, None, "forward" if event.start_tid in threads or event.start_time_ns < began else "backward")
        for event in reversed(roots)
    ]
    left, work, recorders = LIMIT, api.DeviceWork(profile), api.ForwardThreads(profile)
    while stack:
        event, parent, phase = stack.pop()
        launched = api.launched(event, work)
        for given in launched:
            thread = threads.setdefault(event.start_tid, len(threads))
            events.append({"event": len(events), **launch(*given), "parent": parent, "thread": thread, "phase": phase})
        if launched:
            continue
        data = _data(event, marked)
        if data is not None:
            left -= data["type"] not in MARKERS
            if timed:
                data["time"] = event.duration_time_ns
            if left < 0:
                made.tell()
                return _telling(events), True
            number = len(events)
            thread = threads.setdefault(event.start_tid, len(threads))
            sequence = data.get("sequence")
            if sequence is not None and 0 <= sequence < COUNTED:
                counting = recorders.of(event) if data["type"] in ("node", "engine") else event.start_tid
                data["sequence"] = sequence + threads.setdefault(counting or event.start_tid, len(threads)) * APART
            events.append({"event": number, "parent": parent, **data, "thread": thread, "phase": phase})
            if data["type"] == "op":
                made.met(events[-1], event.start_time_ns, event.start_time_ns + event.duration_time_ns)
            parent = number
        elif event.name == api.MARK + BACKWARD:
            phase = "backward"
        stack += [(child, parent, phase) for child in reversed(api.in_order(event.children, work))]
    made.tell()
    return _telling(events), False


class _Makers:
    """Finds the operator that made an error: the innermost one that ran at that time, unless other threads ran any."""

    def __init__(self, errors: Sequence[Note]) -> None:
        self._errors = errors
        self._around: list[list[EventData]] = [[] for _ in errors]

    def met(self, event: EventData, begin: int, end: int) -> None:
        """Take an operator's event and its times. The event of an enclosing operator must come first."""
        for error, around in zip(self._errors, self._around, strict=True):
            if begin <= error.time <= end:
                around.append(event)

    def tell(self) -> None:
        """Put each error into the event of its operator."""
        for error, around in zip(self._errors, self._around, strict=True):
            if around and _is_one_chain(around):
                words = error.in_python.decode("utf-8", "replace").strip().partition("\n")[0]
                around[-1]["error"] = {"words": words[:WORDS], "file": error.file, "line": error.line}


def _is_one_chain(events: Sequence[EventData]) -> bool:
    """Returns whether each event lies inside the one before.

    All these events ran at the same time. So they are nested if they ran in one thread and their numbers ascend.
    """
    return len({event["thread"] for event in events}) == 1 and all(
        inner["event"] > outer["event"] for outer, inner in pairwise(events)
    )


def _backward_began(roots: Sequence[Any]) -> float:
    """Returns when backward began, on the clock of the events; infinity if it did not begin."""
    pending, depth = list(roots), 0
    while pending and depth < 3:  # the marker is inside the thread's marker, never inside an event of torch
        for event in pending:
            if event.name == api.MARK + BACKWARD:
                return float(event.start_time_ns)
        pending, depth = [c for e in pending if e.name.startswith(api.MARK) for c in e.children], depth + 1
    return math.inf


def _telling(events: list[EventData]) -> list[EventData]:
    """Drop the small builtins of torch's Python machinery (`_has_torch_function`) that called no operator."""
    parents = {event["parent"] for event in events}
    return [
        e for e in events if e["type"] != "builtin" or not api.is_internal(e["table"] or "") or e["event"] in parents
    ]


def _data(event: Any, marked: Mapping[str, EventMark]) -> EventMark | None:
    fields = api.operator_fields(event)
    if fields is None:
        return None
    name = event.name
    if name.startswith(api.MARK):
        return marked.get(name.removeprefix(api.MARK))
    scope = str(fields.scope).rpartition(".")[2]
    if name.startswith(ENGINE):
        return {"type": "engine", "name": name, "sequence": fields.sequence_number}
    if scope == "BACKWARD_FUNCTION":
        return {"type": "node", "name": name, "sequence": fields.sequence_number}
    if scope == "USER_SCOPE":
        return {"type": "user", "name": name}
    if scope == "TORCHSCRIPT_FUNCTION":
        return {"type": "script", "name": name}
    return {
        "type": "op",
        "name": name,
        "overload": getattr(event, "overload_name", None) if api.records_overloads() else None,
        "sequence": fields.sequence_number,
        "inputs": [recorded_input(value) for value in fields.inputs],
    }


def launch(name: str, through: str | None, took: int) -> EventMark:
    """Returns a launch as an event: the work's name, the runtime function that launched it, and its nanoseconds."""
    return {"type": LAUNCH, "name": name, "through": through, "took": took}


def recorded_input(value: Any) -> Any:
    """Convert a recorded input: a tensor's metadata, a list of them, a number or a short text. None for the rest."""
    if api.is_tensor_metadata(value):
        layout = str(value.layout).removeprefix("torch.")
        told = {
            "impl": int(value.impl_ptr or 0),
            "device": str(value.device),
            "layout": layout,
            "dtype": str(value.dtype).removeprefix("torch."),
            "sizes": list(value.sizes),
            "memory": int(value.storage_data_ptr or 0),
        }
        return {**told, "strides": list(value.strides)} if layout == "strided" else told
    if isinstance(value, (list, tuple)):
        return [recorded_input(item) for item in value[:4096]]
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, (bool, int)):
        return value
    return value[:200] if isinstance(value, str) else None
