"""Record a whole program in one run, and fold it meanwhile: repeated calls do not make the result larger.

Three recorders run together. A profile function sees Python's calls and keeps the path of those that matter: your
functions, modules, torch's own functions, builtins. Each has a marker in the profiler's event tree, so that operators
nest in it exactly. Whenever no operator is open, the profiler is stopped and started again, and its tree is folded.
Folding turns an operator call into a kind of its path, a count and a time. Then the tree is dropped.

A kind is an operator with the operators that it called, independent of sizes. It has the name, the overload, the dtype,
device, layout and number of dimensions of each input, whether autograd counted it, and the same for each operator
inside. A route is a kind with the builtin that Python called and the thread-local sets. For a node of backward, a route
also has the route that recorded the node.

Each part is a module with its own state. A part imports only parts before it:

- `cuts.py`, `paths.py`, `stacks.py`, `labels.py`: what is missing; paths, open slots of a thread, names of calls
- `profiled.py`, `kinds.py`, `order.py`, `call_numbers.py`, ..., `fold.py`: the events of torch's profiler, folded
- `profiler.py`, `threads.py`: the profiler and its markers; threads, their stacks and key sets
- `program_ranges.py`, `safety.py`, `slices.py`: when the profiler can be stopped, and what happens then
- `graphs.py`, `program_steps.py`: graphs of backward that are read; calls that are stepped
- `profile_function.py`, `imports.py`, `process_hooks.py`, `watcher.py`: what Python calls, and when
- `faults.py`: the data about the error that ended the program

This module puts the parts together: start, end, and the data of the recording. When the context ends, each hook is put
back. Nothing here calls an operator.
"""

from __future__ import annotations

import base64
import mmap
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from types import FrameType
from typing import TYPE_CHECKING

import torch

from . import at_work, unpatched
from . import torch_api as api
from .cuts import CutList
from .faults import Faults
from .fold import Fold
from .frames import PROCESSES
from .graphs import Graphs
from .imports import Imports
from .labels import Labels
from .observations import seen
from .paths import Paths
from .process_hooks import THIS_PROCESS, ProcessHooks
from .profile_function import ProfileFunction
from .profiler import Profiler
from .program_ranges import ProgramRanges
from .reasons import Said, reason
from .run_times import RunTimes
from .safety import Safety
from .slices import Slices
from .source_lines import source_lines
from .taken import os, sys, threading
from .threads import Threads
from .watcher import ProgramWatch

if TYPE_CHECKING:
    from .messages import (
        FreedNodeData,
        ProgramData,
        SavedTensorWritesData,
        SentObservationData,
        SentThrowData,
        StepBudgetData,
    )
    from .program_steps import ProgramSteps

OF_A_PROFILE = 16 << 20  # bytes that must be free before torch's profiler begins
STEPPING = 0.25  # share of the time limit for stepping: an upper bound, since the budget ends stepping long before
TRIES = 3  # tries for work that must be done even if an error is raised meanwhile


class Recorder:
    """Records from `start` to `stop`. After that, `data` returns everything as plain data.

    `is_block`: it records a part of a process that may have made tensors before. `interrupted`: an interrupt or a
    signal ended the program.
    """

    _forward_level: int | None  # level of forward-mode differentiation at the beginning

    def __init__(
        self,
        user_files: Iterable[str] = (),
        native_budget: int = 0,
        limit: float | None = None,
        loaded: Callable[[], None] | None = None,
        *,
        is_block: bool = False,
        hooks: ProcessHooks = THIS_PROCESS,
    ) -> None:
        self._hooks = hooks
        self._budget = native_budget  # instructions that may be stepped
        self.is_block = is_block
        self._has_names = False  # whether a tensor has names at the end
        self._forward_level = None
        self.interrupted = False
        self._process = 0  # the recorded process
        self._no_stepping: Said | None = None
        self._steps: ProgramSteps | None = None
        self.cuts, self.times, self.fold = CutList(), RunTimes(), Fold()
        self.paths = Paths(self.cuts)
        self.profiler = Profiler(self.cuts, threading.get_ident())
        self.threads = Threads(self.paths, self.profiler, self.fold)
        ranges = ProgramRanges(self.threads)
        safety = Safety(self.profiler, self.threads, ranges)
        self.slices = Slices(self.paths, self.threads, safety, self.profiler, self.fold, self.cuts, self.times)
        self.graphs = Graphs(self.slices, self.profiler, self.fold)
        labels = Labels(user_files, self.cuts)
        self.calls = ProfileFunction(
            self.paths, labels, self.threads, ranges, self.slices, self.graphs, self.cuts, self.times
        )
        self.imports = Imports(self.paths, self.threads, self.profiler, self.calls, loaded)
        self.watcher = ProgramWatch(
            self.calls, self.threads, self.slices, self.cuts, self.times, limit, is_block=is_block
        )
        self.faults = Faults(self.fold, self.paths, self.cuts)

    # --- start ---

    def start(self, frame: FrameType | None = None) -> None:
        """Begin to record this thread, and the threads that it starts. `frame` is a function that is running already.

        If this fails, nothing stays set.
        """
        try:
            with unpatched.ours():
                self._set_hooks(frame)
        except BaseException:
            self._put_back()
            raise

    def _set_hooks(self, frame: FrameType | None) -> None:
        at_work.prepare()
        if self._budget > 0:
            self._prepare_stepping()
        self._forward_level = api.forward_level()
        self._process = os.getpid()
        self.calls.find()
        self.imports.prepare()
        self._hooks.recorded = self  # from here on, a failure must put hooks back
        self.faults.on()
        # Everything that may fail comes before torch's profiler, which may crash if it ends without memory.
        thread = self.threads.new()
        self.calls.begin(thread)
        self.watcher.start()
        mmap.mmap(-1, OF_A_PROFILE).close()
        self.profiler.begin()
        self.calls.costs.measure_profiler()
        self.imports.set()
        self.calls.set_for_threads()
        self.times.begin()
        if frame is not None:
            self.calls.runs_already(thread, frame)
        sys.setprofile(self.calls.function)

    def _prepare_stepping(self) -> None:
        from .program_steps import ProgramSteps  # its imports take time, and are needed only here
        from .stepper import Unavailable

        limit = self.watcher.limit
        try:
            steps = ProgramSteps(self._budget, limit and STEPPING * limit, self.slices, self.graphs)
        except Unavailable as error:
            self._no_stepping = error.reason
            return
        self._steps = self.calls.steps = steps
        self.times.stepping = self.fold.steps.stepping = steps.stepping
        self.slices.step(steps.stepping)

    # --- end ---

    def stop(self, *, dying: bool = False) -> None:
        """End the recording, and put back all hooks. A thread that goes on loses the profile function at its next call.

        If an error interrupts this, a second call continues there. `dying`: the process ends here, with all open
        functions. This process is then a fork, in which no other thread runs.
        """
        if dying:
            self.interrupted = True
            self.calls.dies()
        with self.slices.turn if not dying else nullcontext():
            self._end(dying=dying)
        self.times.end(dying=dying)
        self.threads.let_go()
        self._has_names = not self.is_block and api.tensors_have_names()  # a block's end cannot show this
        self.paths.root.calls, self.paths.root.time = 1, self.times.wall

    def _end(self, *, dying: bool) -> None:
        try:
            self._take_hooks_away()
            if self.profiler.profile is not None:
                if self.slices.safety.others_are_at_work():
                    self.cuts.add(reason("threads-inside-at-end"))
                self.threads.close_all()
                self.threads.count_closed()
                self.times.end(dying=dying)
                self.slices.fold_profile()
        finally:
            self._put_back()

    def _take_hooks_away(self) -> None:
        """Put Python's own hooks back, unless the program has set others meanwhile."""
        self.calls.take_away(interrupted=self.interrupted)
        if threading.get_ident() == self.threads.main:
            self.profiler.record_again()
        self.imports.put_back()
        with suppress(RuntimeError):  # it was ended before
            self.watcher.end()

    def _put_back(self) -> None:
        """Put back everything that was set, even if an error is raised meanwhile: that error is raised at the end."""
        raised: BaseException | None = None
        for _ in range(TRIES):
            try:
                self._take_hooks_away()
                self.slices.give_up()
                self.faults.off()
                if self._hooks.recorded is self:
                    self._hooks.recorded = None
                break
            except BaseException as error:
                raised = error
        try:
            if raised is not None:
                raise raised
        finally:
            del raised  # it holds this function's frame, and so all frames around

    # --- the calls of the process hooks ---

    def forks(self) -> None:
        """Note that the process has forked. The recording lacks the fork's code, unless the fork is ptexplore's own."""
        if not self.slices.forks:
            self.cuts.add(PROCESSES)

    def forked(self) -> bool:
        """Stop recording in this fork. Return whether it is one of ptexplore's forks, in which a call is stepped."""
        sys.setprofile(None)
        threading.setprofile(None)
        self.imports.put_back()
        if self.slices.forks:
            self.faults.off()
            return True
        self.calls.is_over = True
        if self.slices.profiler.profile is not None:  # else the flag is of a profiler that the program began
            api.forget_profiler()
        return False

    @property
    def is_elsewhere(self) -> bool:
        """Return whether this process is a fork of the recorded one."""
        return self._process != os.getpid()

    def tick(self) -> None:
        """Handle a tick: the main thread is between two of its instructions."""
        self.watcher.tick()

    def failed(self, error: BaseException) -> None:
        """Note that a tick failed."""
        self.cuts.failed(error)

    def hold_back(self, signals: Iterable[int]) -> None:
        """Give these signals to the watcher, which sends them again."""
        self.watcher.held_back += signals

    # --- the results ---

    @property
    def digest(self) -> str:
        """Return a hash of the names of all operators and nodes in the order in which they were folded."""
        return self.fold.digest

    @property
    def operators(self) -> int:
        """Return how many operators and nodes were folded."""
        return self.fold.met

    @property
    def device(self) -> str | None:
        """Return the device whose launches were recorded."""
        return self.profiler.device

    def data(self) -> ProgramData:
        """Return the whole recording. Its records are in model/program.py."""
        times = self.times
        cuts = [*self.cuts.reasons, *self.fold.kinds.cuts]
        if len(self.threads.by_number) > 1 and not api.records_all_threads():
            cuts.append(reason("more-threads", count=len(self.threads.by_number) - 1))
        folded, kept = self.fold.result(self.paths.by_number), self.fold.saved.counts
        data: ProgramData = {
            "paths": self.paths.data(times.waiting),
            "sets": self.threads.sets.data(),
            "kinds": folded.kinds,
            "routes": folded.routes,
            "calls": folded.calls,
            "order": base64.b64encode(folded.order).decode(),
            "ordered": folded.ordered,
            "wall": times.wall,
            "overhead": times.overhead,
            "processor": times.processor,
            "threads": torch.get_num_threads(),
            "folding": min(times.slicing, times.overhead),
            "profiling": int(times.waiting * self.calls.costs.operator),
            "backwards": self.graphs.backwards,
            "saved_backwards": kept["saved_backwards"],
            "saved_elsewhere": kept["saved_elsewhere"],
            "saved_packed": kept["saved_packed"],
            "saved_unread": kept["saved_unread"],
            "saved_silent": kept["saved_silent"],
            "saved_slices": kept["saved_slices"],
            "is_block": self.is_block,
            "named": self._has_names,
            "cuts": cuts,
            "stepping": self._stepping_data(),
            "last": self.fold.last,
            "sources": source_lines(self.paths.by_number, self.fold.lines(self.paths.by_number)),
        }
        if self._forward_level is not None:
            data["forward_level"] = self._forward_level
        if self.calls.failed is not None:
            data["failed"] = self.calls.failed.index
        return data

    def so_far(self) -> ProgramData:
        """Return the same as `data` for the run until now, while the run goes on and no marker is open."""
        root, before = self.paths.root, self.times.look()
        root.calls, root.time = 1, self.times.wall
        try:
            return self.data()
        finally:
            root.calls = root.time = 0
            self.times.go_on(before)

    def thrown(self, error: BaseException) -> SentThrowData | None:
        """Return where C++ threw an error, as data of an observation; None if C++ did not, or if that was not noted."""
        return self.faults.thrown(error)

    def modified(self, error: BaseException) -> SavedTensorWritesData | None:
        """Return who wrote to the saved tensor that an error is about, as data of an observation; None if unknown."""
        return self.faults.modified(error)

    def freed(self, error: BaseException) -> FreedNodeData | None:
        """Return the node that an earlier backward had freed, as data of an observation; None if that was not seen."""
        return self.faults.freed(error, self.graphs.backwards)

    def steps(self) -> list[SentObservationData]:
        """Return the stepped calls, as observations of the native pass. Call this after `data`."""
        from . import native

        observations: list[SentObservationData] = []
        for part, calls in self.fold.stepped():
            if calls:
                part["libraries"] = calls
            observations.append(seen(native.RECORDER, "steps", part))
        return [*observations, seen(native.RECORDER, "maps", {"text": native.maps()})] if observations else []

    def _stepping_data(self) -> StepBudgetData | None:
        if self._steps is not None:
            return self._steps.data()
        return None if self._no_stepping is None else {"most": self._budget, "reason": self._no_stepping}


@contextmanager
def recording(user_files: Iterable[str] = ()) -> Iterator[Recorder]:
    """Record this thread, and the threads that it starts, while the context is open."""
    recorder = Recorder(user_files)
    recorder.start()
    try:
        yield recorder
    finally:
        with suppress(Exception) if sys.exc_info()[0] is not None else nullcontext():
            recorder.stop()
