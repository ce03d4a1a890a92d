"""The order of the calls in a recorded program: which call ran after which, and the calls inside each."""

from __future__ import annotations

import base64
import binascii
import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, islice

from ptexplore.model.program import HOLE, OperatorKind, Program

MOST_IN_ORDER = 100_000_000  # limit on the calls of a whole run, including the calls inside them


def sizes_of(program: Program) -> list[int]:
    """Returns for each kind how many calls one call of it includes, itself counted.

    Counting stops at MOST_IN_ORDER + 1: a few kinds that contain each other twice stand for billions of calls.
    """
    sizes: list[int] = []
    for kind in program.kinds:
        inside = 1 + sum(sizes[inner] for inner, _ in kind.inside if inner != HOLE)
        sizes.append(min(inside, MOST_IN_ORDER + 1))
    return sizes


def units(program: Program) -> Iterator[list[tuple[int | None, OperatorKind]]]:
    """Yields, in order, every call that Python made while no operator ran, as the list of itself and all calls inside.

    Each item has an index in `program.calls` and the kind. The index is None for a call that an operator made. Raises
    ValueError if the order cannot be read, or has more than MOST_IN_ORDER calls.
    """
    sizes = sizes_of(program)
    of_calls = [0, *(sizes[program.routes[calls.route].kind] for calls in program.calls)]
    if sum(of_calls[number] for number in _numbers(program)) > MOST_IN_ORDER:
        raise ValueError(f"the order is of more than {MOST_IN_ORDER:,} calls")
    numbers = _numbers(program)
    for number in numbers:
        yield list(_rows_in(program, number, numbers))


def units_by_thread(
    program: Program, *, nodes_beside: bool = False
) -> tuple[list[list[OperatorKind]], list[list[OperatorKind]]]:
    """Returns the kinds of each call of `units` with the calls inside, for the main thread and for all others.

    With `nodes_beside`, what the engine ran counts for the other threads: on a device, the engine has threads for it.

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
    rows: list[int | None] = [number - 1]  # the row of each open call, innermost last; None after its first yield
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
    """Returns the id of the observation that shows the `number`th call of an operator ("add.Tensor").

    Returns None if the call cannot be determined: torch does not record overloads, there were fewer calls, or the order
    cannot be read.
    """
    name, _, overload = op.partition(".")
    try:
        calls = (place for place, kind in _placed(program) if (kind.name, kind.overload) == (f"aten::{name}", overload))
        return next(islice(calls, number - 1, None), None)
    except ValueError:
        return None


def _placed(program: Program) -> Iterator[tuple[int, OperatorKind]]:
    """Yields the observation and the kind of every call in order. capture/program.py makes such observations."""
    numbers = _numbers(program)
    yield from chain.from_iterable(_called_in(program, number, numbers) for number in numbers)


def last_calls(program: Program) -> int | None:
    """Returns the index in `program.calls` of the program's last call.

    Returns None if it made none, or if the order cannot be read.
    """
    try:
        numbers = list(_numbers(program))
    except ValueError:
        return None
    return next((number - 1 for number in reversed(numbers) if number), None)


def began(program: Program) -> list[int]:
    """Returns for each row of `program.calls` its position in the order in which the rows' first calls began.

    If the order cannot be read, the position is the row's index, since inner calls have lower indexes than outer ones.
    """
    places = list(range(len(program.calls)))
    with suppress(ValueError):
        for place, number in enumerate(filter(None, dict.fromkeys(_numbers(program)))):
            places[number - 1] = place
    return places


# Numbers of an order in a saved trace. A text there has at most 256 KiB (saved/document.py), and zlib makes at most a
# thousand times as much of it.
_MOST_ORDERED = 1 << 26


def _numbers(program: Program) -> Iterator[int]:
    """Yields the row numbers of the order, from 1; 0 marks the end of what Python ran inside a call."""
    if program.ordered > _MOST_ORDERED:
        raise ValueError("the order of the calls is too long")
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
    """Yields the calls inside one call, the call itself first. `further`: the numbers after its own."""
    route = program.routes[program.calls[number - 1].route]
    places = [route.observation or 0]  # the observation of each open call, innermost last
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
