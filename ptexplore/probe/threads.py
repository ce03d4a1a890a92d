"""The threads of a recorded program: the stack of each, and its thread-local key sets."""

from __future__ import annotations

from collections.abc import Iterable
from types import FrameType
from typing import TYPE_CHECKING, Any

from . import torch_api as api
from .fold import Fold
from .paths import Label, Paths
from .profiler import Profiler
from .stacks import FRAME, Slot, Thread
from .taken import threading, time

if TYPE_CHECKING:
    from .messages import LocalSetsData


class KnownSets:
    """The combinations of thread-local key sets and transforms that were on: each has a number.

    `by_words`: the number by the bytes of memory that change with the sets. This holds only combinations without
    transforms, which the bytes determine.
    """

    __slots__ = ("_numbers", "by_words")

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self.by_words: dict[bytes, int] = {}

    def read(self, thread: Thread) -> int:
        """Return the number of the combination that is on in this thread now."""
        transforms = api.transforms()
        include, exclude = api.local_bits()
        read = (include, exclude, tuple((layer["level"], layer["kind"]) for layer in transforms))
        number = self._numbers.setdefault(read, len(self._numbers))
        if thread.words is not None and not transforms and not (include | exclude) & api.transform_keys():
            self.by_words[thread.words.tobytes()] = number
        return number

    def data(self) -> list[LocalSetsData]:
        """Return all combinations as plain data, by number."""
        return [
            {"include": include, "exclude": exclude, "transforms": [{"level": n, "kind": kind} for n, kind in layers]}
            for include, exclude, layers in self._numbers
        ]


class Threads:
    """All threads that ran under the profile function, by number. Each thread finds itself in `local`.

    `main`: the number of the main thread in Python. `watcher`: the number of the recorder's own thread, if it has
    begun.
    """

    __slots__ = ("_fold", "_paths", "_profiler", "by_number", "local", "main", "sets", "watcher")

    def __init__(self, paths: Paths, profiler: Profiler, fold: Fold) -> None:
        self._paths, self._profiler, self._fold = paths, profiler, fold
        self.sets = KnownSets()
        self.by_number: list[Thread] = []
        self.local = threading.local()
        self.main = profiler.main
        self.watcher: int | None = None

    @property
    def mine(self) -> Thread | None:
        """Return this thread, if it ran under the profile function."""
        thread: Thread | None = getattr(self.local, "thread", None)
        return thread

    def new(self) -> Thread:
        """Make the entry for this thread, which has none yet."""
        path = self._paths.root
        ident = threading.get_ident()
        is_main = ident == self.main
        if not is_main:
            name = threading.current_thread().name
            path = self._paths.child(self._paths.root, ("thread", name), Label("thread", name))
        slot, number = Slot(None, FRAME, path, 0), len(self.by_number)
        thread = self.local.thread = Thread([slot], api.local_words(), number=number, ident=ident, is_main=is_main)
        thread.sets = self.sets.read(thread)
        self.by_number.append(thread)
        if not is_main:
            self._fold.began(number, path)
            self._profiler.tell_thread(thread)
        return thread

    # --- stacks ---

    def leave(self, thread: Thread) -> None:
        """Close the innermost open slot."""
        if thread.closed:
            self.open_again(thread)
        if len(thread.stack) > 1:
            self._profiler.close(thread.stack.pop())

    def unwind(self, thread: Thread, frame: FrameType) -> None:
        """Handle the end of a function if the ends of its calls were not seen: code removed the hook meanwhile."""
        if thread.closed:
            self.open_again(thread)
        if any(slot.frame is frame for slot in thread.stack):
            while thread.stack[-1].frame is not frame or thread.stack[-1].builtin:
                self.leave(thread)
            self.leave(thread)

    def look_at_sets(self, thread: Thread, *, around: bool = True) -> int:
        """Return the thread-local sets now. `around`: if they changed, the open function gets a new marker."""
        if thread.closed:
            self.open_again(thread)
        words = thread.words.tobytes() if thread.words is not None else b""
        known = self.sets.by_words.get(words)
        sets = known if known is not None else self.sets.read(thread)
        thread.seen = words if known is not None else None
        if sets != thread.sets:
            thread.sets = sets
            slot = thread.stack[-1]
            if around and not slot.builtin and (slot.mark is not None or not slot.own):
                self._profiler.close(slot)
                slot.sets = sets
                self._profiler.open(slot)
        return sets

    def open_again(self, thread: Thread) -> None:
        """Open markers of this thread that another thread closed, and count the time for which they were closed."""
        still_open = set(map(id, thread.stack))
        closed, thread.closed = [slot for slot in thread.closed if id(slot) in still_open], []
        _count_closed(thread, closed)
        self._profiler.tell_thread(thread)
        for slot in closed:
            self._profiler.open(slot)

    # --- when a profile ends and begins ---

    def close_all(self) -> list[Slot | Any]:
        """Close every open marker and range of the program; return their slots and ranges, outermost first.

        The slots of other threads are not returned. Each thread opens its own markers again, because an operator would
        otherwise lie in a marker of the thread that opened it.
        """
        were_open: list[Slot | Any] = []
        mine = self.mine
        for thread in self.by_number:
            ranges = list(thread.ranges)
            if thread is not mine and not thread.closed:
                thread.since = time.perf_counter_ns()
            for slot in thread.stack:
                if slot.mark is not None and thread is not mine:
                    thread.closed.append(slot)
                    thread.seen = None  # the thread reads its sets at its next call
                elif slot.mark is not None:
                    were_open.append(slot)
                while ranges and ranges[0][0] is slot:
                    were_open.append(ranges.pop(0)[1])
            were_open.extend(range_ for _, range_ in ranges)  # a range of a generator that is not running
        for opened in reversed(were_open):
            if isinstance(opened, Slot):
                self._profiler.close(opened)
            else:
                api.RANGE.__exit__(opened, None, None, None)
        for slot in (slot for thread in self.by_number for slot in reversed(thread.closed)):
            self._profiler.close(slot)
        return were_open

    def open_all(self) -> None:
        """Open the markers of all open slots, when the recorder's profiler goes on after a profile of the program."""
        mine = self.mine
        for thread in self.by_number:
            if thread is not mine:
                thread.closed, thread.since, thread.seen = thread.stack[1:], time.perf_counter_ns(), None
                continue
            for slot in thread.stack[1:]:
                self._profiler.open(slot)

    def tell_fold(self) -> None:
        """Tell the fold where the other threads are when a profile begins: these threads open their markers later."""
        at = {t.number: (t.stack[-1].path, t.stack[-1].sets, t.stack[0].path) for t in self.by_number}
        self._fold.are_at(at)

    # --- at the end ---

    def count_closed(self) -> None:
        """Count the time for which markers were closed that no thread opens any longer."""
        for thread in self.by_number:
            _count_closed(thread, thread.closed)

    def let_go(self) -> None:
        """Release all objects of the program."""
        for thread in self.by_number:
            thread.names, thread.ranges = {}, []
            for slot in thread.stack:
                slot.frame = slot.held = None


def _count_closed(thread: Thread, closed: Iterable[Slot]) -> None:
    took = time.perf_counter_ns() - thread.since
    for slot in closed:
        if slot.own:
            slot.path.time += took
