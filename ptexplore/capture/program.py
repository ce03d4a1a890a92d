"""Turns a recorded program into observations: the events of one call of each route."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from msgspec import structs

from ptexplore.model.messages import ReadObservation, SentSteps
from ptexplore.model.nesting import Unrolling, unrolled
from ptexplore.model.observed import Event, Observation, Phase
from ptexplore.model.program import HOLE, NODES, OperatorKind, OperatorRoute, Program
from ptexplore.model.program_order import last_calls
from ptexplore.model.recorders import FRAMES

APART = 1_000_000  # between the autograd sequence numbers of two routes; within a route they belong to one call


@dataclass
class _Events:
    """The events of one tree while they are made, numbered like observations.

    They are like the events of the frames pass: builtins, and the operators that they called.
    """

    observations: list[Observation] = field(default_factory=list)
    # the read keys of a route's operators
    read: Iterator[tuple[tuple[int, ...], ...]] = field(default_factory=lambda: iter(()))
    # the operators in the program's last call, for the events of its route
    last: Iterator[OperatorKind] = field(default_factory=lambda: iter(()))

    def add(self, event: Event) -> int:
        """Adds an event and returns its number."""
        number = len(self.observations)
        event = structs.replace(event, event=number, observation=number + 1)
        self.observations.append(Observation(FRAMES, "event", event))
        return number


def observed(program: Program) -> tuple[Program, list[Observation]]:
    """Returns the program, whose routes now refer to their first observation, and these observations.

    Each route has the observations of one of its calls.
    """
    events = _Events()
    routes = []
    beside = {calls.route for calls in program.calls if program.paths[calls.path].kind == "thread"}
    last = last_calls(program) if program.last else None
    for number, route in enumerate(program.routes):
        events.last = iter(program.last if last is not None and program.calls[last].route == number else ())
        routes.append(structs.replace(route, observation=len(events.observations) + 1))
        _route(program, number, route, events, unread=number in beside)
    return structs.replace(program, routes=tuple(routes)), events.observations


def stepped(
    program: Program, observations: Sequence[Observation], steps: Iterable[ReadObservation]
) -> Iterator[ReadObservation]:
    """Yields the stepped calls, each with the event that it belongs to.

    That is the event of the builtin if stepping started there, else of the operator or of the node.
    """
    for step in steps:
        part = step.data
        if not isinstance(part, SentSteps):
            yield step
            continue
        assert part.route is not None, "a program's probe tells it"
        events = observations[(program.routes[part.route].observation or 1) - 1 :]
        called = (seen.id for seen in events if isinstance(seen.data, Event) and seen.data.type == part.at)
        yield step._replace(data=structs.replace(part, event=next(called)))


def _route(program: Program, number: int, route: OperatorRoute, events: _Events, *, unread: bool) -> None:
    """Adds the events of a route. `unread`: one of torch's own threads took it, whose thread-local sets nobody read."""
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
    """Returns the builtin's name in Python. Every path that ends with the builtin has this name."""
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
    """Adds the events of a kind and of everything that it called, each with the next value of `events.read`.

    `sequence` is its autograd sequence number, or the number that its parts count from. Calls made by a node do not
    count from the number of the call that recorded the node: they count from `own`.
    """
    of_inputs = next(events.read, ())
    if kind.type == "op":
        own = sequence if kind.counted and sequence is not None else -1
    given = next(events.last, None) if kind.type == "op" else None
    if given is not None and given.name != kind.name:
        events.last, given = iter(()), None
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
        inputs=given.inputs if given is not None else kind.inputs,
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
