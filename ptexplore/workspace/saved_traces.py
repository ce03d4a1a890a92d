"""Saved traces: one file each, read back without torch and without the source."""

from __future__ import annotations

import gzip
import os
from dataclasses import replace
from pathlib import Path

from ptexplore.errors import USAGE, PtexploreError
from ptexplore.model.trace import Session, Trace, walk
from ptexplore.saved.document import costs_too_much
from ptexplore.saved.trace import MAX_HOPS, trace_from_json
from ptexplore.view.words.saved import trace_to_json
from ptexplore.writing import open_users_file, write_users_file

_SAVES = 'ptexplore trace "torch.add(a, b)" --save FILE writes one'
PACKED = 6  # compression level of gzip for a program, whose text repeats much
RECORDS_LESS = "--no-native or --native-op NAME records less"
_LIMIT = 512 * 1024 * 1024  # bytes of a saved trace; a larger one is refused before it is read


def load_trace(name: str) -> tuple[Trace, Session | None]:
    """Returns a saved trace. Raises PtexploreError (USAGE) if the file is not one."""
    return trace_from_json(read_saved(name, _SAVES), name)


def read_saved(name: str, hint: str) -> bytes:
    """Returns the content of a file that the user named. Raises PtexploreError (USAGE) if it cannot be read."""
    try:
        with open_users_file(name) as file:  # even if the file grows meanwhile, no more than the limit is read
            data = file.read(_LIMIT + 1) if os.fstat(file.fileno()).st_size <= _LIMIT else None
        if data is None or len(data) > _LIMIT:
            why = f"it has more than {_LIMIT} bytes"
            raise PtexploreError(f"{name} is too large for a saved trace", why, hint, USAGE)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "the system refused it"
        raise PtexploreError(f"{name} cannot be read", why, hint, USAGE) from error
    return data


def with_times_of(trace: Trace, name: str) -> Trace:
    """Returns the trace of a program with the times of another run, from a trace that torch.profiler wrote.

    Raises PtexploreError (usage) if that file is not such a trace or is of another program, or if `trace` has no
    program.
    """
    from ptexplore.capture.chrome_trace import read_chrome_trace
    from ptexplore.resolve.times import with_times

    if trace.program is None:
        why = f"{trace.expression} was traced as an expression; --times adds times to a program"
        raise PtexploreError("this trace is not of a program", why, "ptexplore trace --script FILE --times FILE", USAGE)
    return replace(trace, program=with_times(trace.program, read_chrome_trace(name)))


def save_trace(path: Path, trace: Trace, session: Session | None) -> None:
    """Writes a trace to a file. Raises PtexploreError if the file cannot be written."""
    write_file(path, packed(trace, session, 0 if trace.program is None else PACKED, str(path)))


def packed(trace: Trace, session: Session | None, level: int, name: str = "the trace") -> bytes:
    """Returns what a file of the trace holds, packed with gzip's `level` (0: as text).

    Raises PtexploreError if it would be too large to be loaded again; `name` is what the message calls it.
    """
    hops = sum(1 for _ in walk(trace.hops))
    if hops > MAX_HOPS:
        why = f"it has {hops:,} hops, but a trace with more than {MAX_HOPS:,} could not be loaded again"
        raise PtexploreError(f"{name} was not written", why, RECORDS_LESS)
    data = trace_to_json(trace, session).encode()
    cost = costs_too_much(data)
    if cost is not None:
        raise PtexploreError(f"{name} was not written", f"{cost}: it could not be loaded again", RECORDS_LESS)
    return gzip.compress(data, level, mtime=0) if level else data


def write_file(path: Path, text: str | bytes) -> None:
    """Writes a file that the user named. Raises PtexploreError if that is not possible."""
    try:
        write_users_file(path, text)
    except OSError as error:
        why = error.strerror or "the system refused it"
        raise PtexploreError(
            f"{path} cannot be written", why, "choose a file in a folder that you can write to"
        ) from error
