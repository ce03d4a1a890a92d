"""The open slots of a thread of the program: paths, outermost first, each with its marker in the profiler's tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

from .paths import Path

FRAME, BUILTIN = False, True

Mark = tuple[Callable[[], object], Callable[[None, None, None], object]]  # the functions that begin and end a marker


class Slot:
    """An open path of one thread: its frame, whether it is a builtin that the frame calls, and its marker, if any.

    `own`: the path ends with exactly this function, not with a function around it. `held`: tensors that were read
    before the call. They are kept alive, and so keep their addresses, while the slot is open. None if there were none.
    """

    __slots__ = ("builtin", "frame", "held", "mark", "own", "path", "sets")

    def __init__(self, frame: FrameType | None, builtin: bool, path: Path, sets: int, own: bool = True) -> None:
        self.frame, self.builtin, self.path, self.sets, self.own = frame, builtin, path, sets, own
        self.mark: Mark | None = None
        self.held: list[Any] | None = None


@dataclass
class Thread:
    """One thread: its open slots, innermost last, the names of its modules, and its thread-local sets.

    `words`: memory that changes when the sets change, or None if torch has none that can be read. `seen`: the content
    of `words` when it alone determined `sets`. `ranges`: the open ranges of the program, each with the slot that was
    innermost when it began. `waits`: the place where a thread other than the main one last called a builtin that only
    waits. `closed`: slots whose markers another thread closed, at the time `since`. Only the thread itself can open
    them again. `outermost`: the slot of the outermost module, with its place on the stack. If another slot is at this
    place, no module is open.
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
