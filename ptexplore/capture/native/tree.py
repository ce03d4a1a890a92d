"""Logged jumps become a tree of calls: what called what, how many instructions each ran, what it was given.

The rule, from the rows alone: a call lowers the stack pointer by eight, a return raises it, anything else is a jump,
and a jump to the start of another function is a tail call. Frames end when the stack pointer rises above them, so
that exceptions, which leave many frames at once, need no rule of their own.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ptexplore.capture.native.symbols import Place, Symbols

_WORD = 8
_TOP = (1 << 64) - 1


@dataclass(slots=True)
class Call:
    """One call: who was called, with the first three argument registers; instruction counts at entry and exit.

    `stack` is the stack pointer at entry. A `tail` call took over its caller's frame by a jump.
    """

    place: Place
    arguments: tuple[int, int, int]
    stack: int
    begin: int
    end: int = -1
    tail: bool = False
    calls: list[Call] = field(default_factory=list)

    @property
    def inclusive(self) -> int:
        """Instructions from entry to exit."""
        return self.end - self.begin

    @property
    def own(self) -> int:
        """Instructions outside the calls it made."""
        return self.inclusive - sum(call.inclusive for call in self.calls)

    def walk(self) -> Iterator[Call]:
        """Yield the call and all below it, callers first; not recursive, since stacks can be deep."""
        pending = [self]
        while pending:
            call = pending.pop()
            yield call
            pending += reversed(call.calls)


def rows_of(data: bytes) -> Iterable[tuple[int, ...]]:
    """The stepper's rows: rip, rsp, those one instruction before, instructions so far, rdi, rsi, rdx."""
    return struct.iter_unpack("<8Q", data)


def build(data: bytes, instructions: int, symbols: Symbols) -> Call:
    """The tree of one stepped call; its root is no function but whatever made the first call."""
    builder = _Builder(symbols)
    for row in rows_of(data):
        builder.add(*row)
    return builder.finish(instructions)


class _Builder:
    def __init__(self, symbols: Symbols) -> None:
        self.at = symbols.at
        self.root = Call(Place("", "none", 0, ""), (0, 0, 0), _TOP, 0)
        self.stack = [self.root]

    def add(self, rip: int, rsp: int, before: int, rsp_before: int, count: int, *arguments: int) -> None:
        """Take one row."""
        given = (arguments[0], arguments[1], arguments[2])
        if rsp == rsp_before - _WORD:
            self._leave(rsp, count)
            self._enter(Call(self.at(rip), given, rsp, count))
        elif rsp > rsp_before:
            while len(self.stack) > 1 and self.stack[-1].stack < rsp:
                self.stack.pop().end = count
        else:
            self._jump(rip, rsp, before, count, given)

    def _leave(self, rsp: int, count: int) -> None:
        """Frames at or below a new one are over, though no return was seen."""
        while len(self.stack) > 1 and self.stack[-1].stack <= rsp:
            self.stack.pop().end = count

    def _enter(self, call: Call) -> None:
        self.stack[-1].calls.append(call)
        self.stack.append(call)

    def _jump(self, rip: int, rsp: int, before: int, count: int, given: tuple[int, int, int]) -> None:
        place, top = self.at(rip), self.stack[-1]
        if top.place.kind == "plt" and place.kind != "plt":
            top.place, top.arguments = place, given  # through the slot to what it stands for
            return
        came_from = self.at(before)
        through_slot = place.kind == "plt" and came_from.kind != "plt"
        other_start = place.kind == "function" and rip == place.start and came_from.start != place.start
        if through_slot or (other_start and not place.is_cold):
            self._enter(Call(place, given, rsp, count, tail=True))

    def finish(self, instructions: int) -> Call:
        """End what is still open."""
        for call in self.stack:
            call.end = instructions
        return self.root
