"""Turns the log of the stepper into a tree of calls by function, without addresses, for a session.

The rule uses only the rows. A call lowers the stack pointer by eight, and a return raises it. Anything else is a jump;
a jump to the start of another function is a tail call. A frame ends when the stack pointer rises above it. So
exceptions, which leave many frames at once, need no rule of their own.
"""

from __future__ import annotations

import base64
import re
import struct
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from ptexplore.capture.native.python_frames import PythonNames, names_of, place_python
from ptexplore.capture.native.stepped_call import PROFILE, PYTHON, SteppedCall
from ptexplore.capture.native.symbols import FunctionAddress, Symbols, demangle
from ptexplore.cpp.symbol_names import parse
from ptexplore.facts.choosers import answer, may_answer
from ptexplore.model.messages import ReadObservation, SentMap, SentSteps
from ptexplore.model.observed import LibraryCalls, SteppedCalls, UnreadableLibraries
from ptexplore.model.reasons import HookTaken
from ptexplore.model.recorders import NATIVE

_WORD = 8
_ROW, _BEFORE, _COUNT = 8, 2, 4  # numbers in a row of the stepper's log, and the positions of two of them: see `build`
_TOP = (1 << 64) - 1


def without_clock(data: bytes, instructions: int, clock: tuple[int, int]) -> tuple[bytes, int]:
    """Returns rows and instruction count without the code between two addresses: the code that reads the clock.

    This code starts again if the system sets the clock meanwhile, and divides by repeated subtraction. So its number of
    instructions depends on the time. Linux maps it into each process (vdso(7)).
    """
    rows = np.frombuffer(data, "<u8").reshape(-1, _ROW).copy()
    before, count = rows[:, _BEFORE], rows[:, _COUNT]
    ran = np.diff(count, prepend=count.dtype.type(0))
    of_clock = np.where((clock[0] <= before) & (before < clock[1]), ran, 0).astype(count.dtype)
    rows[:, _COUNT] -= np.cumsum(of_clock, dtype=count.dtype)
    return rows.tobytes(), instructions - int(of_clock.sum())


def build(data: bytes, instructions: int, symbols: Symbols, python: PythonNames = PythonNames()) -> SteppedCall:  # noqa: B008
    """Returns the tree of one stepped call. Its root is not a function: it stands for the caller of the first call."""
    builder = _Builder(symbols, python)
    # A row of the stepper: rip, rsp, the same one instruction before, instructions so far, and rdi, rsi, rdx. For a
    # return, rax is in the place of rdi.
    for rip, rsp, before, rsp_before, count, *arguments in struct.iter_unpack("<8Q", data):
        given = (arguments[0], arguments[1], arguments[2])
        if rsp == rsp_before - _WORD:
            builder.leave(rsp + 1, count)  # frames at or below a new frame have ended, even if no return was seen
            builder.enter(SteppedCall(builder.at(rip), given, rsp, count))
            if rip == python.mark:
                builder.store_event((arguments[1], arguments[0]))
        elif rsp > rsp_before:
            builder.leave(rsp, count, given[0] if rsp == rsp_before + _WORD else None)
        else:
            builder.jump(rip, rsp, before, count, given)
    for call in builder.stack:
        call.end = instructions
    place_python(builder.stack[0], python)
    return builder.stack[0]


class _Builder:
    """The open calls, outermost first."""

    def __init__(self, symbols: Symbols, python: PythonNames) -> None:
        self.symbols = symbols
        self.profile = FunctionAddress("", PROFILE, python.hook, "")
        self.stack = [SteppedCall(FunctionAddress("", "none", 0, ""), (0, 0, 0), _TOP, 0)]

    def at(self, address: int) -> FunctionAddress:
        """Returns the function at an address. The profile function is recognised by its own address."""
        return self.profile if address == self.profile.start else self.symbols.at(address)

    def store_event(self, event: tuple[int, int]) -> None:
        """Stores an event that Python reported to the profile function."""
        telling = next((call for call in reversed(self.stack) if call.place.kind == PROFILE), None)
        if telling is not None:
            telling.event = event

    def leave(self, stack: int, count: int, returned: int | None = None) -> None:
        """Ends the frames below a stack pointer."""
        while len(self.stack) > 1 and self.stack[-1].stack < stack:
            call = self.stack.pop()
            call.end = count
            call.returned = returned if call.stack == stack - _WORD else None

    def enter(self, call: SteppedCall) -> None:
        """Begins a call inside the innermost one."""
        self.stack[-1].calls.append(call)
        self.stack.append(call)

    def jump(self, rip: int, rsp: int, before: int, count: int, given: tuple[int, int, int]) -> None:
        """Handles a jump: through a slot to its target, a tail call, or neither."""
        place, top = self.at(rip), self.stack[-1]
        if top.place.kind == "plt" and place.kind != "plt":
            top.place, top.arguments = place, given
            return
        came_from = self.at(before)
        through_slot = place.kind == "plt" and came_from.kind != "plt"
        other_start = place.kind == "function" and rip == place.start and came_from.start != place.start
        if through_slot or (other_start and not place.is_cold):
            self.enter(SteppedCall(place, given, rsp, count, tail=True))


OPEN = ("libtorch_cpu.", "libtorch_python.", "libc10.", "libtorch.")  # libraries whose source is PyTorch's
_PART = re.compile(r"\.part\.\d")  # GCC moved a part of a function to here; it may not return the function's value
KEY_SET = "c10::DispatchKeySet"
STUB_CALL = "at::native::DispatchStubImpl::get_call_ptr("  # every call of a dispatch stub begins with it


def calls(observations: Sequence[ReadObservation], cache: Path) -> list[ReadObservation]:
    """Reads the rows in the observations of the stepped run.

    Returns the kinds "calls" (one per stepped part) and "unreadable".

    `observations` come from the probe: "steps" (rows of the log, packed) and "maps" (the process's memory map). `cache`
    is the folder of function tables by build id.
    """
    maps = next((seen.data.text for seen in observations if isinstance(seen.data, SentMap)), "")
    symbols = Symbols(maps, cache)
    read: list[ReadObservation] = []
    for seen in observations:
        if isinstance(seen.data, SentSteps):
            read.append(ReadObservation(NATIVE, "calls", _part(seen.data, symbols)))
            if seen.data.libraries:
                read.append(
                    ReadObservation(NATIVE, "libraries", LibraryCalls(seen.data.libraries, event=seen.data.event))
                )
        elif not isinstance(seen.data, SentMap):
            read.append(seen)
    if symbols.unreadable:
        read.append(ReadObservation(NATIVE, "unreadable", UnreadableLibraries(symbols.unreadable)))
    return read


def _part(data: SentSteps, symbols: Symbols) -> SteppedCalls:
    """Returns the calls in the order of entry as parallel lists. Each function is named once."""
    log, names_of_python = data.python, names_of(data.python)
    rows, instructions = without_clock(zlib.decompress(base64.b64decode(data.rows)), data.instructions, symbols.clock)
    root = build(rows, instructions, symbols, names_of_python)
    depths, entered = zip(*root.walk(), strict=True)
    calls: tuple[SteppedCall, ...] = entered[1:]
    numbers: dict[FunctionAddress, int] = {}
    function = tuple([numbers.setdefault(call.place, len(numbers)) for call in calls])
    codes = log.codes if log is not None else {}
    python = {numbers[place]: codes[place.start] for place in numbers if place.kind == PYTHON}
    names = [demangle(place.mangled) if place.mangled else "" for place in numbers]
    names = [python[number].qualname if number in python else name for number, name in enumerate(names)]
    asked = {
        number: parse(name).plain
        for number, (place, name) in enumerate(zip(numbers, names, strict=True))
        if may_answer(name) and not _PART.search(place.mangled)
    }
    closed: Counter[str] = Counter()
    for call in calls:
        if not call.place.library.startswith(OPEN) and call.place.kind != PYTHON:
            closed[call.place.library or "no library"] += call.own
    return SteppedCalls(
        part=data.what,
        op=data.op,
        number=data.number,
        of=data.of,
        seconds=data.seconds,
        cut=data.cut,
        warm_ups=data.warm_ups,
        threads=data.threads,
        beyond=data.beyond,
        event=data.event,
        instructions=root.end,
        stepped=instructions,
        functions=tuple((f.library, f.kind, f.mangled, name) for f, name in zip(numbers, names, strict=True)),
        function=function,
        depth=depths[1:],
        begin=tuple([call.begin for call in calls]),
        end=tuple([call.end for call in calls]),
        tail=tuple(number for number, call in enumerate(calls) if call.tail),
        shared={
            str(n): tuple(dict.fromkeys(name for name in map(demangle, place.others) if name != names[n]))
            for place, n in numbers.items()
            if place.others
        },
        jumpers={
            str(n): tuple(dict.fromkeys(map(demangle, place.jumpers))) for place, n in numbers.items() if place.jumpers
        },
        units={str(n): place.unit for place, n in numbers.items() if place.unit},
        written={str(n): (place.file, place.line) for place, n in numbers.items() if place.file},
        globals=tuple(n for place, n in numbers.items() if place.is_global),
        stubs=dict(_stubs(calls, function, names, symbols)),
        returned={
            str(n): told
            for n, c in enumerate(calls)
            if function[n] in asked and c.returned is not None
            if (told := answer(asked[function[n]], c.returned)) is not None
        },
        registers={str(n): c.arguments for n, c in enumerate(calls) if KEY_SET in names[function[n]]},
        closed=dict(closed.most_common()),
        codes={str(number): code for number, code in python.items()},
        builtins={str(number): call.builtin for number, call in enumerate(calls) if call.builtin},
        ordered=log is not None,
        unordered=HookTaken() if names_of_python.lost else data.unprofiled,
    )


def _stubs(
    calls: Sequence[SteppedCall], function: Sequence[int], names: Sequence[str], symbols: Symbols
) -> Iterator[tuple[str, str]]:
    """Yields for each call of a dispatch stub the stub's name, found by its `this`, a variable of the library.

    The name is "" if the variable has no symbol.
    """
    for number, call in enumerate(calls):
        if names[function[number]].startswith(STUB_CALL):
            yield str(number), demangle(symbols.variable_at(call.arguments[0], call.place.start))
