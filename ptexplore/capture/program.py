"""A recorded program as observations: of each route by which operators were called, the events of one such call."""

from __future__ import annotations

import base64
import binascii
import os
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any

from msgspec import convert, structs, to_builtins

from ptexplore.model.messages import SentObservation
from ptexplore.model.nesting import Unrolling, unrolled
from ptexplore.model.program import HOLE, CallPath, OperatorKind, OperatorRoute, Program
from ptexplore.model.recorders import FRAMES
from ptexplore.model.trace import Observation

APART = 1_000_000  # between the autograd sequence numbers of two routes; within one they are a call's own
NODES = ("engine", "node")
MOST_IN_ROUTES = 500_000  # calls that one call of each route holds: a trace that can be loaded has 300,000 hops of them
MOST_IN_ORDER = 100_000_000  # calls of a whole run, each with what it holds


def program_of(told: Mapping[str, Any]) -> Program:
    """What a probe says of a program it recorded, as records. Raises msgspec.ValidationError."""
    return convert(told, Program)


@dataclass
class _Events:
    """Events of one tree as they are made, numbered as observations are.

    They are like the events of the frames pass: builtins, and the operators that they called.
    """

    observations: list[Observation] = field(default_factory=list)
    read: Iterator[tuple[tuple[int, ...], ...]] = field(default_factory=lambda: iter(()))  # of a route's operators

    def add(self, parent: int | None, phase: str, data: dict[str, Any]) -> int:
        """Add an event inside of another; its number."""
        number = len(self.observations)
        event = {"event": number, "parent": parent, **data, "thread": 0, "phase": phase}
        self.observations.append(Observation(number + 1, FRAMES, "event", event))
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
    program: Program, observations: Sequence[Observation], steps: Iterable[SentObservation]
) -> Iterator[SentObservation]:
    """The probe's observations of stepped calls, and of what libraries told of them, each with that of the call it is.

    That of the builtin, where it was stepped from there on; else that of the operator, or of the node.
    """
    for seen in steps:
        data = seen["data"]
        if seen["kind"] in ("steps", "libraries"):
            events = observations[(program.routes[data["route"]].observation or 1) - 1 :]
            data = {**data, "event": next(event.id for event in events if event.data["type"] == data["at"])}
        yield {"recorder": seen["recorder"], "kind": seen["kind"], "data": data}


def _route(program: Program, number: int, route: OperatorRoute, events: _Events, *, unread: bool) -> None:
    """The events of a route; `unread`: a thread of torch's own took it, whose thread-local sets nobody read."""
    kind, sets = program.kinds[route.kind], program.sets[route.sets]
    is_node = kind.type in NODES
    phase = "backward" if is_node else "forward"
    read: dict[str, Any] = {"tls_include": sets.include, "tls_exclude": sets.exclude}
    read |= {"transforms": to_builtins(sets.transforms)} if sets.transforms else {}
    if route.method is not None and not is_node:
        name = _python_name(program, route)
        data = {"type": "builtin", "table": route.table, "method": route.method, "qualname": name, **read}
    else:
        data = {"type": "sets", **read} | ({"guards": True} if route.guards else {})
    parent = events.add(None, phase, data) if not (is_node and unread) else None
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
    phase: str,
    parent: int | None,
    events: _Events,
) -> Unrolling[None]:
    """The events of a kind and of all that it called, each with what is next in `events.read`.

    `sequence` is its autograd sequence number, or that which its parts count from. What a node calls has no part in
    that of the call that recorded the node: it counts from `own`.
    """
    data: dict[str, Any] = {"type": kind.type, "name": kind.name}
    of_inputs = next(events.read, ())
    data |= {"read": of_inputs} if any(of_inputs) else {}
    if kind.type == "op":
        own = sequence if kind.counted and sequence is not None else -1
        data |= {"overload": kind.overload, "sequence": own, "inputs": to_builtins(kind.inputs)}
    elif kind.type in NODES:
        data |= {"sequence": sequence if sequence is not None else -1}
    elif kind.through is not None:
        data |= {"through": kind.through}
    event = events.add(parent, phase, data)
    for inner, offset in kind.inside:
        if inner != HOLE:
            called = program.kinds[inner]
            from_node = kind.type in NODES and called.type not in NODES
            counts_from = own if from_node else sequence
            counts_from = counts_from + offset if counts_from is not None and offset is not None else counts_from
            yield _kind(program, called, counts_from, own, phase, event, events)


def portable_program(program: Program, folder: str) -> Program:
    """The program without the folders of the machine it ran on: `folder` is the one that holds torch's package."""
    return structs.replace(program, paths=tuple(_portable_path(path, folder) for path in program.paths))


def _portable_path(path: CallPath, folder: str) -> CallPath:
    if path.file is None:
        return path
    inside = folder and path.file.startswith(f"{folder}/")
    file = path.file.removeprefix(f"{folder}/") if inside else os.path.basename(path.file)
    ours = path.source is not None and path.source.path == path.file
    source = replace(path.source, path=file) if ours and path.source is not None else path.source
    return structs.replace(path, file=file, source=source)


def flaw_of(program: Program) -> str | None:
    """What is wrong with a program that was read from a file; None if each of its numbers leads to something.

    What a number leads to comes before it, but for the calls that recorded a node, so that nothing goes in circles.
    """
    if not program.paths or any(
        (path.parent is None) != (number == 0) or (path.parent or 0) > max(number - 1, 0)
        for number, path in enumerate(program.paths)
    ):
        return "its paths are no tree"
    kinds, routes = len(program.kinds), len(program.routes)
    if any(inner != HOLE and not 0 <= inner < n for n, kind in enumerate(program.kinds) for inner, _ in kind.inside):
        return "a kind of its operators calls one that is not there"
    if any(
        route.kind >= kinds
        or route.sets >= len(program.sets)
        or max(route.recorded or 0, route.represented or 0) >= routes
        for route in program.routes
    ):
        return "a route of its operators leads nowhere"
    sizes = _sizes(program)
    if sum(sizes[route.kind] for route in program.routes) > MOST_IN_ROUTES:
        return f"its routes hold more than {MOST_IN_ROUTES:,} calls"
    if any(
        call.path >= len(program.paths) or call.route >= routes or (call.recorded or 0) >= len(program.calls)
        for call in program.calls
    ):
        return "calls of its operators lead nowhere"
    if (program.failed or 0) >= len(program.paths):
        return "what raised is on no path"
    return None


def _sizes(program: Program) -> list[int]:
    """By number of kind how many calls one of it holds, itself too; of so many that nobody counts them, one more.

    A few kinds that hold one another twice are billions of calls.
    """
    sizes: list[int] = []
    for kind in program.kinds:
        inside = 1 + sum(sizes[inner] for inner, _ in kind.inside if inner != HOLE)
        sizes.append(min(inside, MOST_IN_ORDER + 1))
    return sizes


def units(program: Program) -> Iterator[list[tuple[int | None, OperatorKind]]]:
    """Every call that Python made while no operator ran, in order: it and all that ran in it, with the number of its
    calls, None for what an operator called.

    Raises ValueError if the order cannot be read, and if it is of more calls than anybody waits for.
    """
    sizes = _sizes(program)
    of_calls = [0, *(sizes[program.routes[calls.route].kind] for calls in program.calls)]
    if sum(of_calls[number] for number in _numbers(program)) > MOST_IN_ORDER:
        raise ValueError(f"the order is of more than {MOST_IN_ORDER:,} calls")
    numbers = _numbers(program)
    for number in numbers:
        yield list(_rows_in(program, number, numbers))


def units_by_thread(
    program: Program, *, nodes_beside: bool = False
) -> tuple[list[list[OperatorKind]], list[list[OperatorKind]]]:
    """The kinds of every such call and of all that ran in it, in order: those of the main thread, those of all others.

    `nodes_beside`: what the engine ran is among the others', as on a device, which has threads for it.

    Raises ValueError if the order cannot be read.
    """
    beside: set[int] = set()
    for number, path in enumerate(program.paths):
        is_engine = nodes_beside and path.method == "run_backward"
        if path.kind == "thread" or is_engine or path.parent in beside:
            beside.add(number)
    parts: tuple[list[list[OperatorKind]], list[list[OperatorKind]]] = ([], [])
    for unit in units(program):
        row = next((number for number, _ in unit if number is not None), None)
        is_beside = row is not None and program.calls[row].path in beside
        parts[is_beside].append([kind for _, kind in unit])
    return parts


def _rows_in(program: Program, number: int, further: Iterator[int]) -> Iterator[tuple[int | None, OperatorKind]]:
    rows: list[int | None] = [number - 1]  # of each call that is open, innermost last; None once it was told
    pending = [[program.routes[program.calls[number - 1].route].kind] if number else []]
    while pending:
        if not pending[-1]:
            pending.pop()
            rows.pop()
        elif (kind := pending[-1].pop()) != HOLE:
            yield rows[-1], program.kinds[kind]
            rows[-1] = None
            pending[-1] += [inner for inner, _ in reversed(program.kinds[kind].inside)]
        elif called := next(further, 0):  # what Python ran in the hole, until it ends
            pending[-1].append(HOLE)
            rows.append(called - 1)
            pending.append([program.routes[program.calls[called - 1].route].kind])


def call_of(program: Program, op: str, number: int) -> int | None:
    """The observation that shows the `number`th call of an operator ("add.Tensor"); None if that cannot be told.

    It cannot where torch tells no overloads, or if there were fewer calls.
    """
    name, _, overload = op.partition(".")
    try:
        calls = (place for place, kind in _placed(program) if (kind.name, kind.overload) == (f"aten::{name}", overload))
        return next(islice(calls, number - 1, None), None)
    except ValueError:
        return None


def _placed(program: Program) -> Iterator[tuple[int, OperatorKind]]:
    """Every call in order: the observation of such a call (`_route` makes them so), and its kind."""
    numbers = _numbers(program)
    yield from chain.from_iterable(_called_in(program, number, numbers) for number in numbers)


def last_calls(program: Program) -> int | None:
    """The number of the calls that the program made last; None if it made none, or the order cannot be read."""
    try:
        numbers = list(_numbers(program))
    except ValueError:
        return None
    return next((number - 1 for number in reversed(numbers) if number), None)


def began(program: Program) -> list[int]:
    """By number of calls the place among all in the order in which the first of them began.

    Without an order that can be read it is the number: the calls that one made in Python are numbered before it.
    """
    places = list(range(len(program.calls)))
    with suppress(ValueError):
        for place, number in enumerate(filter(None, dict.fromkeys(_numbers(program)))):
            places[number - 1] = place
    return places


def _numbers(program: Program) -> Iterator[int]:
    """The row numbers of the order, from 1; 0 where what Python ran inside a call ends."""
    limit = 4 * program.ordered
    packed = zlib.decompressobj()
    try:
        data = packed.decompress(base64.b64decode(program.order, validate=True), limit + 1)
    except (binascii.Error, zlib.error) as error:
        raise ValueError(f"the order of the calls cannot be unpacked: {error}") from error
    if len(data) != limit or any(number > len(program.calls) for (number,) in struct.iter_unpack("<I", data)):
        raise ValueError("the order of the calls names calls that are not there")
    return (number for (number,) in struct.iter_unpack("<I", data))


def _called_in(program: Program, number: int, further: Iterator[int]) -> Iterator[tuple[int, OperatorKind]]:
    """The calls that one call holds, itself first; `further` are the numbers behind its own."""
    route = program.routes[program.calls[number - 1].route]
    places = [route.observation or 0]  # of each call that is open, innermost last
    pending = [[route.kind] if number else []]
    while pending:
        if not pending[-1]:
            pending.pop()
            places.pop()
        elif (kind := pending[-1].pop()) != HOLE:
            places[-1] += 1
            yield places[-1], program.kinds[kind]
            pending[-1] += [inner for inner, _ in reversed(program.kinds[kind].inside)]
        elif called := next(further, 0):  # what Python ran in the hole, until it ends
            pending[-1].append(HOLE)
            route = program.routes[program.calls[called - 1].route]
            places.append(route.observation or 0)
            pending.append([route.kind])
