"""The newest traces of this user, kept in the cache: `ptexplore trace --last` shows one again without running it."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from ptexplore.errors import MISSING, PtexploreError
from ptexplore.locations import cache_root, kept_traces_dir
from ptexplore.model.trace import Session, Trace, walk
from ptexplore.workspace.saved_traces import packed
from ptexplore.writing import forget_below, keep_whole

MOST = 20  # traces that are kept
LARGE = 100_000  # hops of a trace that may be too large to be kept, which is known only when it is packed
ENDING = ".trace.gz"
QUICKLY = 1  # how hard gzip tries: the user waits for it


def keeper(trace: Trace, session: Session | None) -> Callable[[], None] | None:
    """Returns the function that writes this trace into the cache; None if it cannot be written.

    A large trace is packed here, before the answer: only then is it known whether it can be loaded again. It takes
    seconds, but a fraction of the time in which the trace was made.
    """
    folder = kept_traces_dir()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            return None
        if sum(1 for _ in walk(trace.hops)) <= LARGE:
            return partial(keep, trace, session)
        return partial(keep_data, packed(trace, session, QUICKLY), ENDING)
    except (OSError, MemoryError, PtexploreError):
        return None


def keep(trace: Trace, session: Session | None) -> None:
    """Write a trace into the cache, and delete all but the newest `MOST`. What cannot be written is not kept.

    The file's name has the time and the terminal, so that `--last` in one terminal is not the trace of another one.
    """
    with contextlib.suppress(MemoryError, PtexploreError):  # the answer is already given
        keep_data(packed(trace, session, QUICKLY), ENDING)


def keep_data(data: bytes, ending: str) -> None:
    """Write what a saved file holds into the cache, and delete all but the newest `MOST` files with this ending."""
    folder = kept_traces_dir()
    with contextlib.suppress(OSError, MemoryError):  # the answer is already given
        keep_whole(folder / f"{time.time_ns():020d}-{_terminal()}{ending}", data, mode=0o600, root=cache_root())
        for name in _names(folder, ending)[MOST:]:
            forget_below(cache_root(), folder / name)


def last(number: int = 1) -> Path:
    """Returns the file of the newest trace, or of the `number`-th newest; of this terminal if it has any.

    Raises PtexploreError (missing) if so many are not kept.
    """
    return kept_file(number, ENDING, "trace", 'ptexplore trace "torch.add(a, b)"')


def kept_file(number: int, ending: str, command: str, example: str) -> Path:
    """Returns the file of the `number`-th newest run of a command; of this terminal if it has any.

    Raises PtexploreError (missing) if so many are not kept.
    """
    folder = kept_traces_dir()
    names = _names(folder, ending)
    names = [name for name in names if name.endswith(f"-{_terminal()}{ending}")] or names
    if number > len(names):
        noun = "trace" if command == "trace" else "run"
        why = f"{folder} has {len(names)} {noun}s; `ptexplore {command}` keeps its newest {MOST} {noun}s"
        told = f"there is no such {noun}" if number > 1 else f"there is no last {noun}"
        raise PtexploreError(told, why, example, MISSING)
    return folder / names[number - 1]


def _terminal() -> int:
    """The session of processes that this one belongs to: each terminal has its own."""
    return os.getsid(0)


def _names(folder: Path, ending: str) -> list[str]:
    """The kept files with this ending, the newest first."""
    try:
        return sorted((name for name in os.listdir(folder) if name.endswith(ending)), reverse=True)
    except OSError:
        return []
