"""The calls of one stepped part as a tree of light nodes, and what each of its functions is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ptexplore.resolve.native.landmarks import Landmark, landmark
from ptexplore.resolve.native.names import Name, parse

_OPEN = ("libtorch", "libc10")
_INTERPRETER = ("libpython", "python")


@dataclass(frozen=True, eq=False)
class Function:
    """One function that ran: the library's file name, whether it is a function or a slot, its names."""

    library: str
    kind: str
    mangled: str
    demangled: str
    closed: bool  # its library's source is not PyTorch's nor an extension's

    @cached_property
    def name(self) -> Name:
        """Its name, taken apart."""
        return parse(self.demangled)

    @cached_property
    def landmark(self) -> Landmark:
        """What it is on the way through the dispatcher."""
        return landmark(self.name)

    @cached_property
    def is_interpreter(self) -> bool:
        """Whether it is CPython's own, or of one of its extension modules."""
        return self.closed and (self.library.startswith(_INTERPRETER) or ".cpython-" in self.library)

    @property
    def shown(self) -> str:
        """The name that a reader sees."""
        return self.name.qualified or f"a function of {self.library or 'no library'}"


@dataclass(slots=True, eq=False)
class Frame:
    """One call. `number` counts calls in the order of entry; the calls below it are numbers up to `last`."""

    number: int
    function: Function
    begin: int
    end: int
    tail: bool
    registers: tuple[int, ...] | None
    parent: Frame | None
    last: int = 0
    children: list[Frame] = field(default_factory=list)

    @property
    def instructions(self) -> int:
        """Instructions from entry to exit."""
        return self.end - self.begin

    @property
    def own(self) -> int:
        """Instructions outside the calls it made."""
        return self.instructions - sum(child.instructions for child in self.children)

    def holds(self, other: Frame) -> bool:
        """Whether `other` ran inside this call, or is it."""
        return self.number <= other.number <= self.last

    def below(self) -> Iterator[Frame]:
        """Every call inside this one, callers first; not recursive, since stacks can be deep."""
        pending = self.children[::-1]
        while pending:
            frame = pending.pop()
            yield frame
            pending += frame.children[::-1]


@dataclass(frozen=True, eq=False)
class Part:
    """One stepped part: the observation's number and data, every frame in the order of entry, the outermost ones."""

    observation: int
    data: Mapping[str, Any]
    frames: list[Frame]
    roots: list[Frame]


def part(observation: int, data: Mapping[str, Any]) -> Part:
    """The tree of a "calls" observation."""
    closed = data.get("closed") or {}
    functions = [
        Function(library, kind, mangled, demangled, library in closed and not library.startswith(_OPEN))
        for library, kind, mangled, demangled in data["functions"]
    ]
    tails, registers = set(data["tail"]), data["registers"]
    frames: list[Frame] = []
    roots: list[Frame] = []
    stack: list[Frame] = []
    rows = zip(data["function"], data["depth"], data["begin"], data["end"], strict=True)
    for number, (function, depth, begin, end) in enumerate(rows):
        while len(stack) > depth:
            stack.pop().last = number - 1
        parent = stack[-1] if stack else None
        given = registers.get(str(number))
        known = tuple(given) if given is not None else None
        frame = Frame(number, functions[function], begin, end, number in tails, known, parent)
        (parent.children if parent is not None else roots).append(frame)
        frames.append(frame)
        stack.append(frame)
    for frame in stack:
        frame.last = len(frames) - 1
    return Part(observation, data, frames, roots)
