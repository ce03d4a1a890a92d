"""What the stepper logged becomes a tree of calls by function, without any address, that a session can keep.

The rule, from the rows alone: a call lowers the stack pointer by eight, a return raises it, anything else is a jump,
and a jump to the start of another function is a tail call. Frames end when the stack pointer rises above them, so
that exceptions, which leave many frames at once, need no rule of their own.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ptexplore.capture.native.symbols import Demangler, FunctionAddress, Symbols

_WORD = 8
_TOP = (1 << 64) - 1


@dataclass(slots=True)
class SteppedCall:
    """One call: who was called, with the first three argument registers; instruction counts at entry and exit.

    `stack` is the stack pointer at entry. A `tail` call took over its caller's frame by a jump.
    """

    place: FunctionAddress
    arguments: tuple[int, int, int]
    stack: int
    begin: int
    end: int = -1
    tail: bool = False
    calls: list[SteppedCall] = field(default_factory=list)

    @property
    def inclusive(self) -> int:
        """Instructions from entry to exit."""
        return self.end - self.begin

    @property
    def own(self) -> int:
        """Instructions outside the calls it made."""
        return self.inclusive - sum(call.inclusive for call in self.calls)

    def walk(self) -> Iterator[SteppedCall]:
        """Yield the call and all below it, callers first; not recursive, since stacks can be deep."""
        pending = [self]
        while pending:
            call = pending.pop()
            yield call
            pending += reversed(call.calls)


def rows_of(data: bytes) -> Iterable[tuple[int, ...]]:
    """The stepper's rows: rip, rsp, those one instruction before, instructions so far, rdi, rsi, rdx."""
    return struct.iter_unpack("<8Q", data)


def build(data: bytes, instructions: int, symbols: Symbols) -> SteppedCall:
    """The tree of one stepped call; its root is no function but whatever made the first call."""
    builder = _Builder(symbols)
    for row in rows_of(data):
        builder.add(*row)
    return builder.finish(instructions)


class _Builder:
    def __init__(self, symbols: Symbols) -> None:
        self.at = symbols.at
        self.root = SteppedCall(FunctionAddress("", "none", 0, ""), (0, 0, 0), _TOP, 0)
        self.stack = [self.root]

    def add(self, rip: int, rsp: int, before: int, rsp_before: int, count: int, *arguments: int) -> None:
        """Take one row."""
        given = (arguments[0], arguments[1], arguments[2])
        if rsp == rsp_before - _WORD:
            self._leave(rsp, count)
            self._enter(SteppedCall(self.at(rip), given, rsp, count))
        elif rsp > rsp_before:
            while len(self.stack) > 1 and self.stack[-1].stack < rsp:
                self.stack.pop().end = count
        else:
            self._jump(rip, rsp, before, count, given)

    def _leave(self, rsp: int, count: int) -> None:
        """Frames at or below a new one are over, though no return was seen."""
        while len(self.stack) > 1 and self.stack[-1].stack <= rsp:
            self.stack.pop().end = count

    def _enter(self, call: SteppedCall) -> None:
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
            self._enter(SteppedCall(place, given, rsp, count, tail=True))

    def finish(self, instructions: int) -> SteppedCall:
        """End what is still open."""
        for call in self.stack:
            call.end = instructions
        return self.root


OPEN = ("libtorch_cpu.", "libtorch_python.", "libc10.", "libtorch.")  # the libraries whose source PyTorch's is
KEY_SET = "c10::DispatchKeySet"
KEPT = ("op", "number", "of", "instructions", "seconds", "cut", "warm_ups", "threads", "projected")


def calls(observations: Sequence[Mapping[str, Any]], cache: Path) -> list[dict[str, Any]]:
    """The native pass's observations with its rows read: kinds "calls" (one a stepped part) and "unreadable".

    `observations` are the probe's: "steps" (rows of the log, packed) and "maps" (the process's memory map). `cache` is
    the folder where function tables are kept by build id.
    """
    maps = next((str(o["data"]["text"]) for o in observations if o["kind"] == "maps"), "")
    symbols, demangler = Symbols(maps, cache), Demangler()
    found = []
    for seen in observations:
        if seen["kind"] == "steps":
            data = _part(seen["data"], symbols, demangler)
            found.append({"recorder": "native", "kind": "calls", "data": data})
        elif seen["kind"] != "maps":
            found.append(dict(seen))
    if symbols.unreadable:
        found.append({"recorder": "native", "kind": "unreadable", "data": {"libraries": dict(symbols.unreadable)}})
    return found


def _part(data: Mapping[str, Any], symbols: Symbols, demangler: Demangler) -> dict[str, Any]:
    rows = zlib.decompress(base64.b64decode(data["rows"]))
    root = build(rows, int(data["instructions"]), symbols)
    listed = _Listed(demangler)
    for depth, call in _below(root):
        listed.add(depth, call)
    return {"part": data["what"], **{name: data.get(name) for name in KEPT}, **listed.document()}


def _below(root: SteppedCall) -> Iterator[tuple[int, SteppedCall]]:
    """Every call in the order of entry with its depth; not recursive, since stacks can be deep."""
    pending = [(0, call) for call in reversed(root.calls)]
    while pending:
        depth, call = pending.pop()
        yield depth, call
        pending += [(depth + 1, below) for below in reversed(call.calls)]


class _Listed:
    """The calls as parallel lists, each function named once."""

    def __init__(self, demangler: Demangler) -> None:
        self.demangler = demangler
        self.functions: list[tuple[str, str, str, str]] = []
        self.numbers: dict[FunctionAddress, int] = {}
        self.function: list[int] = []
        self.depth: list[int] = []
        self.begin: list[int] = []
        self.end: list[int] = []
        self.tail: list[int] = []
        self.registers: dict[str, tuple[int, int, int]] = {}
        self.closed: Counter[str] = Counter()

    def add(self, depth: int, call: SteppedCall) -> None:
        """Take the next call in the order of entry."""
        number = self._number(call.place)
        if call.tail:
            self.tail.append(len(self.function))
        if KEY_SET in self.functions[number][3]:
            self.registers[str(len(self.function))] = call.arguments
        if not call.place.library.startswith(OPEN):
            self.closed[call.place.library or "no library"] += call.own
        self.function.append(number)
        self.depth.append(depth)
        self.begin.append(call.begin)
        self.end.append(call.end)

    def _number(self, place: FunctionAddress) -> int:
        if place not in self.numbers:
            self.numbers[place] = len(self.functions)
            name = self.demangler.demangle(place.mangled) if place.mangled else ""
            self.functions.append((place.library, place.kind, place.mangled, name))
        return self.numbers[place]

    def document(self) -> dict[str, Any]:
        """The lists as plain data."""
        return {
            "functions": self.functions,
            "function": self.function,
            "depth": self.depth,
            "begin": self.begin,
            "end": self.end,
            "tail": self.tail,
            "registers": self.registers,
            "closed": dict(self.closed.most_common()),
        }
