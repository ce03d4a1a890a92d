"""Explain the error that ended a program: where C++ threw it, who wrote to a saved tensor, or who freed the graph."""

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
    """Notes from `on` to `off` what C++ throws, if that is possible. Other answers come from the folded calls.

    A library has one table of the functions that it calls, so a process has one log: `ThrowLog.of_this_process`.
    """

    __slots__ = ("_cuts", "_fold", "_no_throws", "_paths", "_throws")

    def __init__(self, fold: Fold, paths: Paths, cuts: CutList) -> None:
        self._fold, self._paths, self._cuts = fold, paths, cuts
        self._throws: ThrowLog | None = None
        self._no_throws: Said = {}  # why C++ throws are not noted

    def on(self) -> None:
        """Start to note what C++ throws."""
        try:
            self._throws = ThrowLog.of_this_process()
            self._throws.on()
        except NoNotes as error:
            self._no_throws = error.reason

    def off(self) -> None:
        """Stop noting: C++ throws directly again."""
        if self._throws is not None:
            self._throws.off()

    def thrown(self, error: BaseException) -> SentThrowData | None:
        """Returns where C++ threw an error, as data of an observation.

        Returns None if C++ did not throw the error, or the throw was not noted.
        """
        text = text_of(error)
        if IN_TEXT in text:
            return {"text": text}
        if self._throws is None:
            self._cuts.add(reason("throw-not-noted", because=self._no_throws))
            return None
        return self._throws.data_of(text)

    def modified(self, error: BaseException) -> SavedTensorWritesData | None:
        """Returns who wrote to the saved tensor of an error, as data of an observation; None if that is not known.

        Reads the autograd graph, which the program has given up by then.
        """
        text = text_of(error)
        versions = VERSIONS.search(text)
        if written.REASON not in text or versions is None or not api.can_read_refused():
            return None
        now, saved = int(versions[1]), int(versions[2])
        refused = api.refused_tensor(written.graph_of(error), text, (saved, now))
        if refused is None:
            return None
        return self._fold.faults.modified(refused, self._paths.by_number, whole=not self._cuts.reasons)

    def freed(self, error: BaseException, backwards: int) -> FreedNodeData | None:
        """Returns which node an earlier backward freed, and what still leads to it, as data of an observation.

        Returns None if the error is another one, or the node is not known. `backwards`: how often backward was called.
        """
        if freed.REASON not in text_of(error).encode(errors="replace"):
            return None
        return self._fold.faults.freed(error, self._paths.by_number, backwards, whole=not self._cuts.reasons)
