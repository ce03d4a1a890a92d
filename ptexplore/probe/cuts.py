"""What a recording lacks, and why: said once each, in the order in which it was found."""

from __future__ import annotations

from .reasons import Said, reason
from .taken import os


class CutList:
    """The reasons why something is not in a recording."""

    __slots__ = ("told",)

    def __init__(self) -> None:
        self.told: list[Said] = []

    def add(self, cut: Said) -> None:
        """Say a reason, if it was not said before."""
        if cut not in self.told:
            self.told.append(cut)

    def failed(self, error: BaseException) -> None:
        """A fault of the recorder's own: the program does not see it, the recording tells of it."""
        at = error.__traceback__
        while at is not None and at.tb_next is not None:
            at = at.tb_next
        place = f"{os.path.basename(at.tb_frame.f_code.co_filename)}:{at.tb_lineno}" if at is not None else "?"
        self.add(reason("recording-failed", place=place, error=type(error).__name__))
