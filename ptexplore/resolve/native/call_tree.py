"""The calls of one stepped part as a tree of light nodes, and what each of its functions is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from ptexplore.cpp.symbol_names import Name, parse
from ptexplore.resolve.native.landmarks import Landmark, landmark

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
class NativeFrame:
    """One call. `number` counts calls in the order of entry; the calls below it are numbers up to `last`."""

    number: int
    function: Function
    begin: int
    end: int
    tail: bool
    registers: tuple[int, ...] | None
    parent: NativeFrame | None
    last: int = 0
    children: list[NativeFrame] = field(default_factory=list)

    @property
    def instructions(self) -> int:
        """Instructions from entry to exit."""
        return self.end - self.begin

    @property
    def own(self) -> int:
        """Instructions outside the calls it made."""
        return self.instructions - sum(child.instructions for child in self.children)

    def holds(self, other: NativeFrame) -> bool:
        """Whether `other` ran inside this call, or is it."""
        return self.number <= other.number <= self.last

    def below(self) -> Iterator[NativeFrame]:
        """Every call inside this one, callers first; not recursive, since stacks can be deep."""
        pending = self.children[::-1]
        while pending:
            frame = pending.pop()
            yield frame
            pending += frame.children[::-1]


@dataclass(frozen=True, eq=False)
class SteppedPart:
    """One stepped part of a run: a whole phase, or one call of the operator `op` ("add.Tensor").

    `number` says which of its `of` calls, where the probe could tell. `cut` says why the log ends early. `frames` are
    in the order of entry.
    """

    observation: int
    covers: Literal["forward", "backward", "operator"]
    op: str | None
    number: int | None
    of: int | None
    cut: str | None
    frames: list[NativeFrame]


def part(observation: int, data: Mapping[str, Any]) -> SteppedPart:
    """The tree of a "calls" observation."""
    closed = data.get("closed") or {}
    functions = [
        Function(library, kind, mangled, demangled, library in closed and not library.startswith(_OPEN))
        for library, kind, mangled, demangled in data["functions"]
    ]
    tails, registers = set(data["tail"]), data["registers"]
    frames: list[NativeFrame] = []
    stack: list[NativeFrame] = []
    rows = zip(data["function"], data["depth"], data["begin"], data["end"], strict=True)
    for number, (function, depth, begin, end) in enumerate(rows):
        while len(stack) > depth:
            stack.pop().last = number - 1
        parent = stack[-1] if stack else None
        given = registers.get(str(number))
        known = tuple(given) if given is not None else None
        frame = NativeFrame(number, functions[function], begin, end, number in tails, known, parent)
        if parent is not None:
            parent.children.append(frame)
        frames.append(frame)
        stack.append(frame)
    for frame in stack:
        frame.last = len(frames) - 1
    told = {name: data.get(name) for name in ("op", "number", "of", "cut")}
    return SteppedPart(observation, data["part"], **told, frames=frames)
