"""One call in the tree of stepped code: of a function in a library, or of a Python function."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from ptexplore.capture.native.symbols import FunctionAddress

PYTHON: Literal["python"] = "python"
PROFILE: Literal["profile"] = "profile"


@dataclass(slots=True)
class SteppedCall:
    """One call: its function with the first three argument registers, and the instruction counts at entry and exit.

    `stack` is the stack pointer at entry. A `tail` call took over its caller's frame by a jump. `event` is what Python
    reported to the profile function, and the code or builtin concerned. `builtin` is the name by which Python called
    this function.
    """

    place: FunctionAddress
    arguments: tuple[int, int, int]
    stack: int
    begin: int
    end: int = -1
    tail: bool = False
    calls: list[SteppedCall] = field(default_factory=list)
    event: tuple[int, int] | None = None
    builtin: str = ""
    returned: int | None = None  # rax at the return; None if the frame ended in another way

    @property
    def inclusive(self) -> int:
        """Instructions from entry to exit."""
        return self.end - self.begin

    @property
    def own(self) -> int:
        """Instructions outside inner calls. Instructions that run a Python function count for the interpreter."""
        if self.place.kind == PYTHON:
            return 0
        return self.inclusive - sum(call.inclusive for call in self._native_calls())

    def _native_calls(self) -> Iterator[SteppedCall]:
        """Yields the machine calls inside it, including those made by the Python functions that it ran."""
        pending = self.calls[::-1]
        while pending:
            call = pending.pop()
            if call.place.kind == PYTHON:
                pending += reversed(call.calls)
            else:
                yield call

    def walk(self) -> Iterator[tuple[int, SteppedCall]]:
        """Yields the call with depth -1, and all calls inside, callers first.

        Not recursive, since stacks can be deep.
        """
        pending = [(-1, self)]
        while pending:
            depth, call = pending.pop()
            yield depth, call
            pending += [(depth + 1, inner) for inner in reversed(call.calls)]
