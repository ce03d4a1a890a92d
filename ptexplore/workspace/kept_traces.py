"""The newest traces of this user, kept in the cache: `ptexplore trace --last` shows one again without running it."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

from ptexplore.errors import MISSING, PtexploreError
from ptexplore.locations import cache_root, kept_traces_dir
from ptexplore.model.trace import Session, Trace, walk
from ptexplore.workspace.saved_traces import packed
from ptexplore.writing import forget_below, keep_whole

MOST = 20  # traces that are kept
LARGEST = 100_000  # hops of a trace that is kept: writing a larger one takes seconds
ENDING = ".trace.gz"
QUICKLY = 1  # how hard gzip tries: the user waits for it


def can_keep(trace: Trace) -> bool:
    """Whether `keep` will write this trace: it is not too large, and the folder is there and can be written to."""
    folder = kept_traces_dir()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK | os.X_OK) and sum(1 for _ in walk(trace.hops)) <= LARGEST


def keep(trace: Trace, session: Session | None) -> None:
    """Write a trace into the cache, and delete all but the newest `MOST`. What cannot be written is not kept.

    The file's name has the time and the terminal, so that `--last` in one terminal is not the trace of another one.
    """
    folder = kept_traces_dir()
    with contextlib.suppress(OSError, MemoryError, PtexploreError):  # the answer is already given
        data = packed(trace, session, QUICKLY)
        keep_whole(folder / f"{time.time_ns():020d}-{_terminal()}{ENDING}", data, mode=0o600, root=cache_root())
        for name in _names(folder)[MOST:]:
            forget_below(cache_root(), folder / name)


def last(number: int = 1) -> Path:
    """Returns the file of the newest trace, or of the `number`-th newest; of this terminal if it has any.

    Raises PtexploreError (missing) if so many are not kept.
    """
    folder = kept_traces_dir()
    names = _names(folder)
    names = [name for name in names if name.endswith(f"-{_terminal()}{ENDING}")] or names
    if number > len(names):
        why = f"{folder} has {len(names)} traces; `ptexplore trace` keeps its newest {MOST} traces"
        raise PtexploreError(
            "there is no such trace" if number > 1 else "there is no last trace",
            why,
            'ptexplore trace "torch.add(a, b)"',
            MISSING,
        )
    return folder / names[number - 1]


def _terminal() -> int:
    """The session of processes that this one belongs to: each terminal has its own."""
    return os.getsid(0)


def _names(folder: Path) -> list[str]:
    """The kept traces, the newest first."""
    try:
        return sorted((name for name in os.listdir(folder) if name.endswith(ENDING)), reverse=True)
    except OSError:
        return []
