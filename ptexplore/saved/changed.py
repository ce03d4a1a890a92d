"""Copies of records in which every reason or place is changed: sentences are added for JSON, or removed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from operator import is_not
from typing import Any, TypeVar, cast, get_args, get_type_hints

from msgspec import structs, to_builtins

from ptexplore.model.observed import SavedObservation, reasons_of
from ptexplore.model.places import SourceRef
from ptexplore.model.program import Program
from ptexplore.model.reasons import Reason, reason_of
from ptexplore.model.trace import Captured, Ending, ResultInfo, SavedSession, SessionFacts

Held = TypeVar("Held")
Facts = TypeVar("Facts", bound=SessionFacts)


def with_places(record: Held, change: Callable[[SourceRef], SourceRef]) -> Held:
    """Returns a record with every place in it changed, and their candidates. If none changes, the same record."""
    if not isinstance(record, SourceRef) or record.candidates:
        changes = place_changes(record, change)
        if changes:
            record = with_fields(record, changes)
    return cast("Held", change(record)) if isinstance(record, SourceRef) else record


def place_changes(record: object, change: Callable[[SourceRef], SourceRef]) -> dict[str, Any]:
    """Returns the fields of a record in which a place changes, with their new values."""
    changes: dict[str, Any] = {}
    for part in parts_of(cast("Hashable", record.__class__)):
        held = getattr(record, part)
        if not held:
            continue
        if isinstance(held, tuple):
            made: Any = tuple([with_places(inner, change) for inner in held])
            if any(map(is_not, made, held)):
                changes[part] = made
        else:
            made = with_places(held, change)
            if made is not held:
                changes[part] = made
    return changes


def with_fields(record: Held, changes: Mapping[str, Any]) -> Held:
    """Does the same as dataclasses.replace, in a third of the time: a trace may have 300,000 rows."""
    names = _positional(cast("Hashable", record.__class__))
    if names is None:
        return cast("Held", replace(cast("Any", record), **changes))
    return record.__class__(*[changes[name] if name in changes else getattr(record, name) for name in names])


@cache
def _positional(kind: Hashable) -> tuple[str, ...] | None:
    """Returns the fields of a record, if its constructor takes all of them in this order. Else None."""
    known = fields(cast("Any", kind))
    return tuple(field.name for field in known) if all(f.init and not f.kw_only for f in known) else None


@cache
def parts_of(kind: Hashable) -> tuple[str, ...]:
    """Returns the fields of a record in which a place can be. So places in a new field are changed, too."""
    return tuple(name for name, hint in get_type_hints(kind).items() if _holds_place(hint))


def _holds_place(hint: Any) -> bool:
    if hint is SourceRef:
        return True
    return bool(parts_of(cast("Hashable", hint))) if is_dataclass(hint) else any(map(_holds_place, get_args(hint)))


def paths_with(program: Program, change: Callable[[SourceRef], SourceRef]) -> Program:
    """Returns a program with the place of each path changed."""
    paths = tuple(
        structs.replace(path, source=with_places(path.source, change)) if path.source is not None else path
        for path in program.paths
    )
    return structs.replace(program, paths=paths)


def captured_with(captured: Captured, change: Callable[[Reason], Reason]) -> Captured:
    """Returns the record of passes with each reason changed."""
    reason, first = captured.reason, captured.first
    return replace(
        captured,
        reason=change(reason) if reason is not None else None,
        first=replace(first, why=change(first.why)) if first is not None else None,
    )


def ending_with(ending: Ending, change: Callable[[Reason], Reason]) -> Ending:
    """Returns an ending with each reason changed."""
    return replace(
        ending,
        why=tuple(map(change, ending.why)),
        over=change(ending.over) if ending.over is not None else None,
        raising=change(ending.raising) if ending.raising is not None else None,
        untold=tuple(replace(argument, because=change(argument.because)) for argument in ending.untold),
        in_memory=change(ending.in_memory) if ending.in_memory is not None else None,
        compared=tuple(
            replace(value, of=change(value.of)) if value.of is not None else value for value in ending.compared
        ),
    )


def bare_ending(ending: Ending, bare: Callable[[Reason], Reason]) -> Ending:
    """Returns an ending as stored in a file: only codes, without the words that follow from them."""
    cause = ending.cause
    if cause is not None and cause.code:
        cause = replace(cause, why="", remedy="", cases=())
    return replace(
        ending_with(ending, bare),
        cause=cause,
        given=ending.given[: max(0, len(ending.given) - len(ending.untold))],
        how=ending.how if ending.raising is None else "",
        compared=tuple(
            replace(value, what="", of=bare(value.of)) if value.of is not None else value for value in ending.compared
        ),
    )


def result_with(result: ResultInfo, change: Callable[[Reason], Reason]) -> ResultInfo:
    """Returns the result of the expression with each reason changed."""
    return replace(result, backward=change(result.backward)) if result.backward is not None else result


def program_with(program: Program, change: Callable[[Reason], Reason]) -> Program:
    """Returns a program with each reason changed."""
    stepping = program.stepping
    if stepping is not None and stepping.reason is not None:
        stepping = structs.replace(stepping, reason=change(stepping.reason))
    routes = tuple(
        structs.replace(route, unstepped=change(route.unstepped)) if route.unstepped is not None else route
        for route in program.routes
    )
    return structs.replace(program, stepping=stepping, routes=routes, cuts=tuple(map(change, program.cuts)))


def session_with(session: SavedSession, change: Callable[[Reason], Reason]) -> SavedSession:
    """Returns a session with each reason changed."""
    observations = tuple(observation_with(saved, change) for saved in session.observations)
    return replace(facts_with(session, change), observations=observations)


def facts_with(session: Facts, change: Callable[[Reason], Reason]) -> Facts:
    """Returns a session with each reason changed, except in its observations."""
    captured, result = captured_with(session.captured, change), result_with(session.result, change)
    return replace(session, captured=captured, result=result)


def observation_with(saved: SavedObservation, change: Callable[[Reason], Reason]) -> SavedObservation:
    """Returns an observation with each reason changed.

    For the remark of a recorder, the sentence also becomes `text`.
    """
    keys = reasons_of(saved.kind)
    held = {key: change(reason_of(saved.data[key])) for key in keys if saved.data.get(key) is not None}
    if not held:
        return saved
    data = {**saved.data, **{key: to_builtins(reason) for key, reason in held.items()}}
    if "told" in held:
        data["text"] = held["told"].text
    return structs.replace(saved, data=data)
