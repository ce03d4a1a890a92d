"""What is told of the error that ended a program: where C++ threw it, who wrote to what was saved, or freed it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from . import freed, written
from . import torch_api as api
from .cuts import CutList
from .expression import text_of
from .fold import Fold
from .paths import Paths
from .raising import IN_TEXT
from .reasons import Said, reason
from .throws import NoNotes, ThrowLog

if TYPE_CHECKING:
    from .messages import FreedNodeData, SavedTensorWritesData, SentThrowData

VERSIONS = re.compile(r"is at version (\d+); expected version (\d+)")


class Faults:
    """Notes what C++ throws from `on` to `off`, where that can be; the rest it asks of what was folded.

    Libraries have one table of what they call, and so one note of it a process: `ThrowLog.of_this_process`.
    """

    __slots__ = ("_cuts", "_fold", "_no_throws", "_paths", "_throws")

    def __init__(self, fold: Fold, paths: Paths, cuts: CutList) -> None:
        self._fold, self._paths, self._cuts = fold, paths, cuts
        self._throws: ThrowLog | None = None
        self._no_throws: Said = {}  # why what throws is not noted

    def on(self) -> None:
        """Note from here on what throws."""
        try:
            self._throws = ThrowLog.of_this_process()
            self._throws.on()
        except NoNotes as error:
            self._no_throws = error.reason

    def off(self) -> None:
        """Errors are made as they would be."""
        if self._throws is not None:
            self._throws.off()

    def thrown(self, error: BaseException) -> SentThrowData | None:
        """Where C++ threw an error, as the data of an observation; None where it did not, or that was not noted."""
        text = text_of(error)
        if IN_TEXT in text:
            return {"text": text}
        if self._throws is None:
            self._cuts.add(reason("throw-not-noted", because=self._no_throws))
            return None
        return self._throws.told(text)

    def modified(self, error: BaseException) -> SavedTensorWritesData | None:
        """Who wrote to the saved tensor that an error is about, as an observation's data; None where that is not seen.

        The graph is read, which the program has given up by then.
        """
        text = text_of(error)
        versions = VERSIONS.search(text)
        if written.REASON not in text or versions is None or not api.can_read_refused():
            return None
        now, saved = int(versions[1]), int(versions[2])
        refused = api.refused_tensor(written.graph_of(error), text, (saved, now))
        if refused is None:
            return None
        return self._fold.faults.modified(refused, self._paths.by_number, whole=not self._cuts.told)

    def freed(self, error: BaseException, backwards: int) -> FreedNodeData | None:
        """Which node an earlier backward had freed, and what leads to it still, as an observation's data; else None.

        `backwards`: how often backward was called.
        """
        if freed.REASON not in text_of(error).encode(errors="replace"):
            return None
        return self._fold.faults.freed(error, self._paths.by_number, backwards, whole=not self._cuts.told)
