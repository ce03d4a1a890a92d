"""Torch's profiler as a recording uses it: begun and ended many times, with markers for paths in its tree.

A process has one profiler. It records operators of all threads, and may be the program's own meanwhile.
"""

from __future__ import annotations

import _thread
from contextlib import nullcontext
from typing import Any

from . import clock, events, own_threads
from . import torch_api as api
from .cuts import CutList
from .paths import Path
from .stacks import Mark, Slot, Thread
from .thread_trees import THREAD

MARK = "r"  # markers are named "ptexplore:r<path>.<sets>"
_get_ident = _thread.get_ident


class Profiler:
    """The profile that goes on, None where none does, and the markers. `begun`: how many profiles there were.

    `left`: so many markers may still be opened before it should be started anew. `marked`: what a marker's name says.
    `starting`: the profile that began last, which may be on though it is not the one that goes on. `device`: on which
    launches are recorded. `main`: the main thread's number.
    """

    # The profile function reads and writes some at each call.
    __slots__ = ("_cuts", "_stops", "begun", "clock", "device", "left", "main", "marked", "profile", "starting")

    def __init__(self, cuts: CutList, main: int) -> None:
        self._cuts = cuts
        self.main = main
        self.profile: Any = None
        self.starting: Any = None
        self.begun = self.left = 0
        self.marked: dict[str, tuple[Path, int]] = {}
        self.clock = clock.ClockWatch()
        self.device: str | None = None
        # No more operators are to be recorded until the profiler can be stopped; and whether that is so already.
        self._stops = False, False

    # --- markers ---

    def open(self, slot: Slot) -> None:
        """Open a slot's marker, anew or one that was closed before."""
        if self.profile is None:
            return
        path = slot.path
        try:
            mark = path.marks[slot.sets].pop()
        except (KeyError, IndexError):
            mark = self.new_mark(path, slot.sets)
        slot.mark = mark
        path.seen += 1
        self.left -= 1
        mark[0]()

    def new_mark(self, path: Path, sets: int) -> Mark:
        """A further marker of a path, with the number of the sets."""
        name = f"{MARK}{path.index}.{sets}"
        self.marked[api.MARK + name] = path, sets
        path.marks.setdefault(sets, [])
        mark = api.marker(name)
        return mark.__enter__, mark.__exit__

    def close(self, slot: Slot) -> None:
        """Close a slot's marker, if it has one."""
        mark = slot.mark
        if mark is not None:
            try:  # noqa: SIM105  (a context manager costs more, at each call)
                mark[1](None, None, None)
            except RuntimeError:  # torch 2.6 does not end one that did not begin
                pass
            slot.path.marks[slot.sets].append(mark)
            slot.mark = None

    def tell_thread(self, thread: Thread) -> None:
        """Tell the profiler's tree which thread of Python's runs this."""
        if self.profile is not None:
            with api.marker(f"{THREAD}{thread.number}"):
                pass

    # --- profiles ---

    def begin(self) -> None:
        """Begin a profile."""
        self.record_again()
        self.begun += 1
        profile = self.starting = api.profiler(device=api.launching_device())
        self.device = profile.use_device or self.device
        self.clock.start()
        with api.quiet_profiler(), own_threads.what_begins() if self.begun == 1 else nullcontext():
            profile.__enter__()
        if _get_ident() == self.main:
            with api.marker(events.MAIN):
                pass
        self.profile = profile

    def end(self) -> Any:
        """End the profile that goes on: that profile, with what it saw."""
        profile, self.profile = self.profile, None  # it is not ended twice
        with api.quiet_profiler():
            profile.__exit__(None, None, None)
        self.starting = None  # another profiler that is on later is the program's
        if self.clock.stop():
            self._cuts.add(clock.CUT)
        return profile

    def given_up(self) -> list[Any]:
        """The profiles that were begun and not ended as they should be; they are no longer the recorder's."""
        begun, self.starting = {id(profile): profile for profile in (self.profile, self.starting) if profile}, None
        self.profile = None
        return list(begun.values())

    # --- operators that are not recorded ---

    @property
    def is_to_stop(self) -> bool:
        """Whether no more operators are to be recorded, and some still are."""
        return self._stops == (True, False)

    @property
    def is_stopped(self) -> bool:
        """Whether no more operators are to be recorded, or none are."""
        return self._stops[0]

    def stop_soon(self) -> None:
        """No more operators are to be recorded: the main thread does that, as soon as it can."""
        self._stops = True, False

    def record_no_more(self) -> None:
        """Record no operators until the next profile begins."""
        self._stops = True, True
        api.record_operators(on=False)

    def record_again(self) -> None:
        """Record operators again, if that was ended."""
        (_, ended), self._stops = self._stops, (False, False)
        if ended:
            api.record_operators(on=True)
