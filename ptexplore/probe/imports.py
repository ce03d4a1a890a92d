"""Imports of a recorded program. The calls in them are not recorded; one row has the number of modules and the time.

importlib's own function, which exists once in a process, is replaced during the recording. The replacement calls the
recorder at the start and at the end of each import.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from .paths import Label, Paths
from .profile_function import ProfileFunction
from .profiler import Profiler
from .stacks import FRAME, Slot, Thread
from .taken import sys
from .threads import Threads

BOOTSTRAP: Any = importlib._bootstrap
Loaded = Callable[[], None]


class Imports:
    """Watches imports from `set` to `put_back`. `loaded` is called after each import."""

    __slots__ = ("_calls", "_find_and_load", "_label", "_loaded", "_paths", "_profiler", "_stands_in", "_threads")

    def __init__(
        self, paths: Paths, threads: Threads, profiler: Profiler, calls: ProfileFunction, loaded: Loaded | None
    ) -> None:
        self._paths, self._threads, self._profiler, self._calls = paths, threads, profiler, calls
        self._loaded = loaded
        self._label = Label("imports", "imports")
        self._find_and_load: Any = None
        self._stands_in: Any = None

    def prepare(self) -> None:
        """Make the replacement of importlib's function, without setting it."""
        self._find_and_load = BOOTSTRAP._find_and_load
        self._stands_in = import_function(self._begins, self._ends, self._find_and_load)

    def set(self) -> None:
        """Set the replacement."""
        BOOTSTRAP._find_and_load = self._stands_in

    def put_back(self) -> None:
        """Put importlib's own function back, unless the program has set another one meanwhile."""
        if self._stands_in is not None and BOOTSTRAP._find_and_load is self._stands_in:
            BOOTSTRAP._find_and_load = self._find_and_load

    def _begins(self) -> tuple[Thread, Slot, int] | None:
        """Stop recording calls, before a module is imported. Returns None if calls are not being recorded anyway."""
        calls, thread = self._calls, self._threads.mine
        if thread is None or thread.importing or calls.is_over or not calls.is_set_here:
            return None
        path = self._paths.child(thread.stack[-1].path, "imports", self._label)
        slot = Slot(None, FRAME, path, thread.sets)
        thread.importing = 1
        try:
            sys.setprofile(None)
            thread.stack.append(slot)
            self._profiler.open(slot)
        except BaseException:
            self._ends((thread, slot, len(sys.modules)))
            raise
        return thread, slot, len(sys.modules)

    def _ends(self, begun: tuple[Thread, Slot, int] | None) -> None:
        """Record calls again, after a module was imported. Add the import to its row."""
        try:
            if self._loaded is not None:
                self._loaded()
        finally:
            if begun is not None:
                thread, slot, before = begun
                try:
                    if thread.stack[-1] is slot:
                        self._threads.leave(thread)
                    if slot.path.label.kind == "imports":
                        slot.path.calls += max(len(sys.modules) - before, 0)
                    self._threads.look_at_sets(thread)
                finally:
                    thread.importing = 0
                    if not self._calls.is_over and sys.getprofile() is None:
                        self._calls.set_here()


def import_function(
    begins: Callable[[], Any], ends: Callable[[Any], None], load: Callable[..., Any]
) -> Callable[..., Any]:
    """Returns a replacement of importlib's `load`. Its frame is left out of tracebacks, as importlib's frames are.

    `begins` is called before each import, and `ends` with the result of `begins` afterwards. Neither runs while the
    module is loaded, so the traceback of an error in the module has no function of ptexplore.
    """
    names: dict[str, Any] = {"begins": begins, "ends": ends, "load": load}
    lines = (
        "def _find_and_load(*given):",
        " begun = begins()",
        " try:",
        "  return load(*given)",
        " finally: ends(begun)",
    )
    exec(compile("\n".join(lines), "<frozen importlib._bootstrap>", "exec"), names)
    function: Callable[..., Any] = names["_find_and_load"]
    return function
