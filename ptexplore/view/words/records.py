"""Records with each reason, or place, changed: a reason is given its sentence for who reads JSON, or loses it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import is_dataclass, replace
from functools import cache
from typing import Any, TypeVar, cast, get_args, get_type_hints

from msgspec import structs, to_builtins

from ptexplore.model.observed import reasons_of
from ptexplore.model.places import SourceRef
from ptexplore.model.program import Program
from ptexplore.model.reasons import Reason, reason_of
from ptexplore.model.trace import Captured, Observation, ResultInfo, Session

Held = TypeVar("Held")


def with_places(record: Held, change: Callable[[SourceRef], SourceRef]) -> Held:
    """A record with each place in it changed, and the candidates of each; the same record if none is."""
    changes = {}
    for part in parts_of(cast("type", record.__class__)):
        held = getattr(record, part)
        if isinstance(held, tuple):
            made = tuple(with_places(inner, change) for inner in held)
            if any(new is not old for new, old in zip(made, held, strict=True)):
                changes[part] = made
        elif held is not None:
            new = with_places(held, change)
            if new is not held:
                changes[part] = new
    made_anew = cast("Held", replace(cast("Any", record), **changes)) if changes else record
    return cast("Held", change(made_anew)) if isinstance(made_anew, SourceRef) else made_anew


@cache
def parts_of(kind: Hashable) -> tuple[str, ...]:
    """The fields of a record that hold records, so that a place in a new field is changed too."""
    return tuple(name for name, hint in get_type_hints(kind).items() if _holds_record(hint))


def _holds_record(hint: Any) -> bool:
    return is_dataclass(hint) or any(map(_holds_record, get_args(hint)))


def paths_with(program: Program, change: Callable[[SourceRef], SourceRef]) -> Program:
    """A program with the place of each path changed."""
    paths = tuple(
        structs.replace(path, source=with_places(path.source, change)) if path.source is not None else path
        for path in program.paths
    )
    return structs.replace(program, paths=paths)


def captured_with(captured: Captured, change: Callable[[Reason], Reason]) -> Captured:
    """Which passes there are, with each reason changed."""
    reason, first = captured.reason, captured.first
    return replace(
        captured,
        reason=change(reason) if reason is not None else None,
        first=replace(first, why=change(first.why)) if first is not None else None,
    )


def result_with(result: ResultInfo, change: Callable[[Reason], Reason]) -> ResultInfo:
    """What the expression gave, with each reason changed."""
    return replace(result, backward=change(result.backward)) if result.backward is not None else result


def program_with(program: Program, change: Callable[[Reason], Reason]) -> Program:
    """A program with each of its reasons changed."""
    stepping = program.stepping
    if stepping is not None and stepping.reason is not None:
        stepping = structs.replace(stepping, reason=change(stepping.reason))
    routes = tuple(
        structs.replace(route, unstepped=change(route.unstepped)) if route.unstepped is not None else route
        for route in program.routes
    )
    return structs.replace(program, stepping=stepping, routes=routes, cuts=tuple(map(change, program.cuts)))


def session_with(session: Session, change: Callable[[Reason], Reason]) -> Session:
    """A session with each of its reasons changed. What a recorder says has its sentence as its text, too."""
    observations = tuple(_observation_with(seen, change) for seen in session.observations)
    return replace(
        session,
        captured=captured_with(session.captured, change),
        result=result_with(session.result, change),
        observations=observations,
    )


def _observation_with(seen: Observation, change: Callable[[Reason], Reason]) -> Observation:
    keys = reasons_of(seen.kind)
    held = {key: change(reason_of(seen.data[key])) for key in keys if seen.data.get(key) is not None}
    if not held:
        return seen
    data = {**seen.data, **{key: to_builtins(reason) for key, reason in held.items()}}
    if "told" in held:
        data["text"] = held["told"].text
    return replace(seen, data=data)
