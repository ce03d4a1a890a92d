"""A recorded program as observations: of each route by which operators were called, the events of one such call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from msgspec import structs

from ptexplore.model.messages import ReadObservation, SentSteps
from ptexplore.model.nesting import Unrolling, unrolled
from ptexplore.model.observed import Event, Observation, Phase
from ptexplore.model.program import HOLE, NODES, OperatorKind, OperatorRoute, Program
from ptexplore.model.recorders import FRAMES

APART = 1_000_000  # between the autograd sequence numbers of two routes; within one they are a call's own


@dataclass
class _Events:
    """Events of one tree as they are made, numbered as observations are.

    They are like the events of the frames pass: builtins, and the operators that they called.
    """

    observations: list[Observation] = field(default_factory=list)
    read: Iterator[tuple[tuple[int, ...], ...]] = field(default_factory=lambda: iter(()))  # of a route's operators

    def add(self, event: Event) -> int:
        """Add an event, numbered; its number."""
        number = len(self.observations)
        event = structs.replace(event, event=number, observation=number + 1)
        self.observations.append(Observation(FRAMES, "event", event))
        return number


def observed(program: Program) -> tuple[Program, list[Observation]]:
    """The observations of one call of every route, and the program whose routes know the first of theirs."""
    events = _Events()
    routes = []
    beside = {calls.route for calls in program.calls if program.paths[calls.path].kind == "thread"}
    for number, route in enumerate(program.routes):
        routes.append(structs.replace(route, observation=len(events.observations) + 1))
        _route(program, number, route, events, unread=number in beside)
    return structs.replace(program, routes=tuple(routes)), events.observations


def stepped(
    program: Program, observations: Sequence[Observation], steps: Iterable[ReadObservation]
) -> Iterator[ReadObservation]:
    """What the probe stepped, each call with the observation of it.

    That of the builtin, where it was stepped from there on; else that of the operator, or of the node.
    """
    for told in steps:
        part = told.data
        if not isinstance(part, SentSteps):
            yield told
            continue
        assert part.route is not None, "a program's probe tells it"
        events = observations[(program.routes[part.route].observation or 1) - 1 :]
        called = (seen.id for seen in events if isinstance(seen.data, Event) and seen.data.type == part.at)
        yield told._replace(data=structs.replace(part, event=next(called)))


def _route(program: Program, number: int, route: OperatorRoute, events: _Events, *, unread: bool) -> None:
    """The events of a route; `unread`: a thread of torch's own took it, whose thread-local sets nobody read."""
    kind, sets = program.kinds[route.kind], program.sets[route.sets]
    is_node = kind.type in NODES
    phase: Phase = "backward" if is_node else "forward"
    named = route.method is not None and not is_node
    first = Event(
        event=0,
        parent=None,
        type="builtin" if named else "sets",
        thread=0,
        phase=phase,
        table=route.table if named else None,
        method=route.method if named else None,
        qualname=_python_name(program, route) if named else None,
        tls_include=sets.include,
        tls_exclude=sets.exclude,
        transforms=sets.transforms,
        guards=route.guards and not named,
    )
    parent = events.add(first) if not (is_node and unread) else None
    maker = route.recorded if is_node else number
    base = (maker + 1) * APART + (route.offset or 0 if is_node else 0) if maker is not None else None
    events.read = iter(route.read)
    unrolled(_kind(program, kind, base, (number + 1) * APART, phase, parent, events))


def _python_name(program: Program, route: OperatorRoute) -> str | None:
    """The builtin's name in Python, which every path that ends with it has."""
    return next((p.name for p in program.paths if (p.table, p.method) == (route.table, route.method)), None)


def _kind(
    program: Program,
    kind: OperatorKind,
    sequence: int | None,
    own: int,
    phase: Phase,
    parent: int | None,
    events: _Events,
) -> Unrolling[None]:
    """The events of a kind and of all that it called, each with what is next in `events.read`.

    `sequence` is its autograd sequence number, or that which its parts count from. What a node calls has no part in
    that of the call that recorded the node: it counts from `own`.
    """
    of_inputs = next(events.read, ())
    if kind.type == "op":
        own = sequence if kind.counted and sequence is not None else -1
    number = own if kind.type == "op" else sequence if sequence is not None else -1
    is_counted = kind.type == "op" or kind.type in NODES
    made = Event(
        event=0,
        parent=parent,
        type=kind.type,
        thread=0,
        phase=phase,
        name=kind.name,
        overload=kind.overload,
        inputs=kind.inputs,
        read=of_inputs if any(of_inputs) else (),
        sequence=number if is_counted else None,
        through=kind.through,
    )
    event = events.add(made)
    for inner, offset in kind.inside:
        if inner != HOLE:
            called = program.kinds[inner]
            from_node = kind.type in NODES and called.type not in NODES
            counts_from = own if from_node else sequence
            counts_from = counts_from + offset if counts_from is not None and offset is not None else counts_from
            yield _kind(program, called, counts_from, own, phase, event, events)
