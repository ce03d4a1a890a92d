"""A walk through a tour: at which stop the reader is, what comes next, and what is kept of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from ptexplore.annotations.progress import ReadingProgress
    from ptexplore.annotations.records import Lab, Stop, Tour


class KeepProgress(Protocol):
    """Adds to what is kept of a reader, as `annotations.progress.remember` does. Raises OSError."""

    def __call__(
        self, *, done: str | None = None, lab: str | None = None, last: tuple[str, str] | None = None
    ) -> object: ...


def stop_left_at(tour: Tour, progress: ReadingProgress) -> int:
    """The number of the stop at which the tour was left; 1 if the tour is new, or was read to its end."""
    names = [stop.id for stop in tour.stops]
    last = progress.last.get(tour.id)
    return names.index(last) + 1 if last in names and progress.of(tour) < len(names) else 1


class TourWalk:
    """One reader's walk through one tour. `number` is the stop (1-based) that the reader is at.

    `keep` writes progress. If it fails, `not_kept` is told why, once, and the walk goes on without.
    """

    def __init__(self, tour: Tour, number: int, keep: KeepProgress, not_kept: Callable[[str], object]) -> None:
        self.tour = tour
        self.number = number
        self._keep = keep
        self._not_kept = not_kept
        self._keeps = True

    @property
    def stop(self) -> Stop:
        """The stop that the reader is at."""
        return self.tour.stops[self.number - 1]

    @property
    def is_last(self) -> bool:
        """Whether no stop comes after this one."""
        return self.number == len(self.tour.stops)

    def forward(self) -> bool:
        """Go to the next stop; this one counts as read. Returns False at the last stop: the tour is over."""
        self._remember(done=self.tour.name_of(self.stop))
        if self.is_last:
            return False
        self.number += 1
        return True

    def back(self) -> bool:
        """Go to the stop before. Returns False at the first stop."""
        if self.number == 1:
            return False
        self.number -= 1
        return True

    def shown(self) -> None:
        """The stop was shown: the tour goes on from here next time."""
        self._remember(last=(self.tour.id, self.stop.id))

    def passed(self, stop: Stop, lab: Lab) -> None:
        """A lab of a stop gave what it expects."""
        self._remember(lab=f"{self.tour.name_of(stop)}/{lab.id}")

    def _remember(
        self, *, done: str | None = None, lab: str | None = None, last: tuple[str, str] | None = None
    ) -> None:
        if not self._keeps:
            return
        try:
            self._keep(done=done, lab=lab, last=last)
        except OSError as error:
            self._keeps = False
            self._not_kept(f"{error.filename}: {error.strerror or error}")
