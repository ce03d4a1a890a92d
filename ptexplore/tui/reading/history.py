"""Where a reader has been: back and forward, as in a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptexplore.tui.library import Place

_MOST = 500


class History:
    """The places left behind, and those gone back from."""

    def __init__(self) -> None:
        self._behind: list[Place] = []
        self._ahead: list[Place] = []

    def leave(self, place: Place) -> None:
        """The reader goes somewhere new from here: what was ahead is no more."""
        if not self._behind or self._behind[-1] != place:
            self._behind.append(place)
        del self._behind[:-_MOST]
        self._ahead.clear()

    def back(self, here: Place) -> Place | None:
        """The place before; None where this is the first."""
        return self._step(self._behind, self._ahead, here)

    def forward(self, here: Place) -> Place | None:
        """The place that was last gone back from."""
        return self._step(self._ahead, self._behind, here)

    @staticmethod
    def _step(source: list[Place], target: list[Place], here: Place) -> Place | None:
        while source:
            place = source.pop()
            if place != here:
                target.append(here)
                return place
        return None
