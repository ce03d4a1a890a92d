"""Torch's profiler, as a recording uses it: started and ended many times, with markers for paths in its tree.

A process has one profiler. It records operators of all threads. The program may use the profiler itself meanwhile.
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
    """The running profile (`profile`, None if there is none), and the markers. `begun`: how many profiles there were.

    `left`: how many markers may still be opened before the profile should be restarted. `marked`: the meaning of a
    marker's name. `starting`: the profile that was started last; it may be on although `profile` is not set yet.
    `device`: the device whose launches are recorded. `main`: the number of the main thread.
    """

    # The profile function reads and writes some of these at each call.
    __slots__ = (
        "_cuts", "_pauses", "_stops", "begun", "clock", "device", "left", "main", "marked", "profile", "starting",
    )  # fmt: skip

    def __init__(self, cuts: CutList, main: int) -> None:
        self._cuts = cuts
        self.main = main
        self.profile: Any = None
        self.starting: Any = None
        self.begun = self.left = 0
        self.marked: dict[str, tuple[Path, int]] = {}
        self.clock = clock.ClockWatch()
        self.device: str | None = None
        # Whether to stop recording operators until the profiler can be stopped; and whether that is done.
        self._stops = False, False
        self._pauses = False

    # --- markers ---

    def open(self, slot: Slot) -> None:
        """Open the marker of a slot: a new one, or one that was closed before."""
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
        """Make another marker for a path and a number of thread-local sets."""
        name = f"{MARK}{path.index}.{sets}"
        self.marked[api.MARK + name] = path, sets
        path.marks.setdefault(sets, [])
        mark = api.marker(name)
        return mark.__enter__, mark.__exit__

    def close(self, slot: Slot) -> None:
        """Close the marker of a slot, if it has one."""
        mark = slot.mark
        if mark is not None:
            try:  # noqa: SIM105  (a context manager costs more, at each call)
                mark[1](None, None, None)
            except RuntimeError:  # torch 2.6 raises if the marker did not begin
                pass
            slot.path.marks[slot.sets].append(mark)
            slot.mark = None

    def tell_thread(self, thread: Thread) -> None:
        """Write the number of the current Python thread into the profiler's tree."""
        if self.profile is not None:
            with api.marker(f"{THREAD}{thread.number}"):
                pass

    # --- profiles ---

    def begin(self) -> None:
        """Start a profile."""
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
        """End the running profile, and return it with its events."""
        profile, self.profile = self.profile, None  # so it is not ended twice
        with api.quiet_profiler():
            profile.__exit__(None, None, None)
        self.starting = None  # a profiler that is on after this is the program's
        if self.clock.stop():
            self._cuts.add(clock.CUT)
        return profile

    def given_up(self) -> list[Any]:
        """Return the profiles that were started and not properly ended. The recorder gives them up."""
        begun, self.starting = {id(profile): profile for profile in (self.profile, self.starting) if profile}, None
        self.profile = None
        return list(begun.values())

    # --- to stop recording operators ---

    @property
    def is_to_stop(self) -> bool:
        """Return whether operators should no longer be recorded, and still are."""
        return self._stops == (True, False)

    @property
    def is_stopped(self) -> bool:
        """Return whether operators should no longer be recorded. They may still be."""
        return self._stops[0]

    def stop_soon(self) -> None:
        """Ask to stop recording operators. The main thread does so as soon as it can."""
        self._stops = True, False

    def record_no_more(self) -> None:
        """Record no operators until the next profile begins."""
        self._stops = True, True
        api.record_operators(on=False)

    def record_again(self) -> None:
        """Record operators again, if recording was stopped or paused."""
        (_, ended), self._stops = self._stops, (False, False)
        if ended or self._pauses:
            self._pauses = False
            api.record_operators(on=True)

    def pause(self) -> None:
        """Record no operators of this thread until `go_on`. Markers that are open stay open."""
        self._pauses = True
        api.record_operators(on=False)

    def go_on(self) -> None:
        """Record operators again after a pause, unless recording was stopped meanwhile."""
        if self._pauses:
            self._pauses = False
            if not self._stops[1]:
                api.record_operators(on=True)
