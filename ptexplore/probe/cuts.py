"""The reasons why parts are missing in a recording: each once, in the order in which they were found."""

from __future__ import annotations

from .reasons import Said, reason
from .taken import os


class CutList:
    """The reasons why something is not in a recording."""

    __slots__ = ("reasons",)

    def __init__(self) -> None:
        self.reasons: list[Said] = []

    def add(self, cut: Said) -> None:
        """Add a reason, if it is new."""
        if cut not in self.reasons:
            self.reasons.append(cut)

    def failed(self, error: BaseException) -> None:
        """Add an error of the recorder itself. The program does not see the error; the recording reports it."""
        at = error.__traceback__
        while at is not None and at.tb_next is not None:
            at = at.tb_next
        place = f"{os.path.basename(at.tb_frame.f_code.co_filename)}:{at.tb_lineno}" if at is not None else "?"
        self.add(reason("recording-failed", place=place, error=type(error).__name__))
