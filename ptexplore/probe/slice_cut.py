"""Where the main thread was when a profile began and ended, so that operators at both ends of it get their lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from . import torch_api as api
from .paths import Path
from .stacks import Thread

Place = tuple[Path, int]  # a function that runs, and the offset in its code of the instruction that ran last


def place_of(thread: Thread | None) -> Place | None:
    """Return where a thread is, which asks itself; None if that is in no function of yours with a path of its own."""
    slot = thread.stack[-1] if thread is not None and thread.is_main else None
    if slot is None or slot.builtin or not slot.own or slot.frame is None or slot.path.label.code is None:
        return None
    return (slot.path, slot.frame.f_lasti) if slot.frame.f_code is slot.path.label.code else None


class SliceCut:
    """Both ends of one profile. `find` finds the first and the last event; then `began` and `ended` know them."""

    __slots__ = ("_begin", "_end", "_first", "_last")

    def __init__(self, begin: Place | None, end: Place | None) -> None:
        self._begin, self._end = begin, end
        self._first = self._last = -1  # when the first and the last event began that are no markers

    def find(self, roots: Sequence[Any], marks: Mapping[str, object]) -> None:
        """Find both events in the main thread's trees: the first one in the first marker, the last one in the last."""
        if self._begin is not None:
            self._first = _begin_at(roots, marks, 0)
        if self._end is not None:
            self._last = _begin_at(roots, marks, -1)

    def began(self, event: Any, path: Path) -> int | None:
        """Return the offset at which a function was when the profile began, if this event is the first one in it."""
        begin = self._begin
        return begin[1] if begin is not None and begin[0] is path and event.start_time_ns == self._first else None

    def ended(self, event: Any, path: Path) -> int | None:
        """Return the offset at which a function was when the profile ended, if this event is the last one in it."""
        end = self._end
        return end[1] if end is not None and end[0] is path and event.start_time_ns == self._last else None


def _begin_at(trees: Sequence[Any], marks: Mapping[str, object], at: int) -> int:
    """Return when the first (`at` is 0) or the last (-1) event began that is in no other event than markers, or -1."""
    while trees := [event for event in trees if event.name in marks or not event.name.startswith(api.MARK)]:
        if trees[at].name not in marks:
            return int(trees[at].start_time_ns)
        trees = trees[at].children
    return -1


NOT_CUT = SliceCut(None, None)
