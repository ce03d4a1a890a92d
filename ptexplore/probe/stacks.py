"""What is open in a thread of the program: paths, outermost first, each with its marker in the profiler's tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

from .paths import Path

FRAME, BUILTIN = False, True

Mark = tuple[Callable[[], object], Callable[[None, None, None], object]]  # how a marker begins, and how it ends


class Slot:
    """An open path of one thread: its frame, whether a builtin that the frame calls, and its marker, if it has one.

    `own`: the path ends with this very function, and not with one around it.
    `held`: tensors that were read before it, which keep their addresses as long as it is open; None where none were.
    """

    __slots__ = ("builtin", "frame", "held", "mark", "own", "path", "sets")

    def __init__(self, frame: FrameType | None, builtin: bool, path: Path, sets: int, own: bool = True) -> None:
        self.frame, self.builtin, self.path, self.sets, self.own = frame, builtin, path, sets, own
        self.mark: Mark | None = None
        self.held: list[Any] | None = None


@dataclass
class Thread:
    """One thread: the open paths, innermost last, the module that names are told from, and the sets that are on.

    `words`: memory that changes when the sets do, None where torch has none to look at; `seen`: what it held when it
    alone told `sets`. `ranges`: those of the program's that are open, each with the slot that was innermost when it
    began. `waits`: where it called a builtin that only waits, last; of other threads than the main one. `closed`: slots
    whose markers another thread closed, at the time `since`: the thread itself opens them again, as it can alone.
    `outermost`: the slot of the outermost module, with its place on the stack; no module is open where another slot is.
    """

    stack: list[Slot]
    words: memoryview | None = None
    seen: bytes | None = None
    sets: int = 0
    importing: int = 0
    names: dict[int, tuple[Any, str]] = field(default_factory=dict)
    ranges: list[tuple[Slot, Any]] = field(default_factory=list)
    number: int = 0
    ident: int = 0
    is_main: bool = True
    waits: tuple[CodeType, int] | None = None
    closed: list[Slot] = field(default_factory=list)
    since: int = 0
    outermost: tuple[int, Slot | None] = (0, None)
