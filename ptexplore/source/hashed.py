"""Hashes of what files hold, kept in the cache for as long as nothing about the files says that they changed."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path

from ptexplore.writing import write_whole

_SETTLED = 2.0  # seconds; what changed later than that before it was read could change again under the same time


def hashes(files: Sequence[str], kept: Path) -> list[str]:
    """The sha1 of each file, from `kept` where every file has the size, times and inode that it had when it was hashed.

    The time of the last change of a file's inode is among them, which no program can set back. Raises OSError where a
    file cannot be read; where `kept` cannot be written, nothing is kept.
    """
    now = time.time()
    states = [os.stat(file) for file in files]
    stamp = _stamp(files, states)
    known = _read(kept, stamp, len(files))
    if known is not None:
        return known
    found = [hashlib.sha1(Path(file).read_bytes(), usedforsecurity=False).hexdigest() for file in files]
    if all(state.st_ctime < now - _SETTLED for state in states):
        _write(kept, json.dumps({"stamp": stamp, "hashes": found}))
    return found


def _stamp(files: Sequence[str], states: Sequence[os.stat_result]) -> str:
    lines = [
        f"{file}\0{one.st_dev} {one.st_ino} {one.st_size} {one.st_mtime_ns} {one.st_ctime_ns}"
        for file, one in zip(files, states, strict=True)
    ]
    return hashlib.sha256(os.fsencode("\n".join(lines))).hexdigest()


def _read(kept: Path, stamp: str, count: int) -> list[str] | None:
    try:
        data = json.loads(kept.read_bytes())
        found = data["hashes"] if data["stamp"] == stamp else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if isinstance(found, list) and len(found) == count and all(isinstance(o, str) for o in found) else None


def _write(kept: Path, text: str) -> None:
    with contextlib.suppress(OSError):
        kept.parent.mkdir(exist_ok=True)  # a cache that is not there yet is not made for this
        write_whole(kept, text)
