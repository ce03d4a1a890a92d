"""Records with each of their reasons changed: given its sentence for who reads JSON, or taken that again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from msgspec import structs, to_builtins

from ptexplore.model.observed import reasons_of
from ptexplore.model.program import Program
from ptexplore.model.reasons import Reason, reason_of
from ptexplore.model.trace import Captured, Observation, ResultInfo, Session


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
