"""The error for something that could not be captured. Its parts are codes, worded only where they are shown."""

from __future__ import annotations

from ptexplore.errors import FAILED, USAGE, PtexploreError
from ptexplore.model.actions import Action
from ptexplore.model.options import Refusal
from ptexplore.model.reasons import Reason, Together


class NotCaptured(PtexploreError):
    """What failed, why, and what would help. The texts are empty until `view/words/errors.py` words them."""

    def __init__(self, reason: Reason, because: Reason, then: Action, exit_code: int = FAILED) -> None:
        super().__init__(type(reason).__name__, "", "", exit_code)
        self.reason = reason
        self.because = because
        self.then = then

    def add(self, reasons: tuple[Reason, ...]) -> None:
        """Adds reasons."""
        if reasons:
            self.because = Together((self.because, *reasons))


class RefusedOptions(PtexploreError):
    """Options that exclude each other, or do not fit the traced code. It has no texts until it is worded."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.first, "", "", USAGE)
        self.refusal = refusal


class Stopped(NotCaptured):
    """The probe was ended during a run: it took too long, or died. Everything that it sent before is valid."""


class TimeOver(Stopped):
    """The time of all runs was over. The expression itself may have ended, in the runs before this one."""
