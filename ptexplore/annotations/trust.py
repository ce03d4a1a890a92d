"""Whose code may run: what came with ptexplore, and what you said yes to, remembered by the hash of its very bytes."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from ptexplore.annotations.records import Tour
from ptexplore.locations import trust_file
from ptexplore.safe_text import clean_json
from ptexplore.writing import changing, keep_whole, kept_bytes

_LARGEST = 8 * 1024 * 1024  # bytes
_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def trusted() -> dict[str, str]:
    """The hashes of what may run, each with the name it had then. What is damaged trusts nothing.

    Raises OSError, also where the file or its folder belongs to somebody else, or others may write it: then who said
    yes is not known.
    """
    file = trust_file()
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        _check(file.parent, os.stat(file.parent))
    kept = kept_bytes(file, _LARGEST, partial(_check, file)) or b""
    try:
        data = json.loads(clean_json(kept)) if len(kept) <= _LARGEST else None
    except (ValueError, RecursionError):
        return {}
    known = data.get("trusted") if isinstance(data, dict) else None
    return {str(sha): str(name) for sha, name in known.items()} if isinstance(known, dict) else {}


def may_run(tour: Tour, known: dict[str, str]) -> bool:
    """Whether the tour's labs may run: it came with ptexplore, or its bytes are trusted."""
    return tour.shipped or tour.sha in known


def trust(tours: Iterable[Tour]) -> None:
    """Trust the files of these tours as they are now. Raises OSError."""
    trust_files({tour.sha: tour.where.file for tour in tours})


def trust_files(files: dict[str, str]) -> None:
    """Trust contents by their hashes; each has the name of its file. Raises OSError."""
    with _changing():
        _write(trusted() | files)


def remember(sha: str, name: str) -> None:
    """Trust one content. Raises OSError."""
    trust_files({sha: name})


def forget(tours: Iterable[Tour]) -> None:
    """Trust the files of these tours no longer. Raises OSError."""
    forget_files(tour.sha for tour in tours)


def forget_files(hashes: Iterable[str]) -> None:
    """Trust contents no longer. Raises OSError."""
    gone = set(hashes)
    with _changing():
        _write({sha: name for sha, name in trusted().items() if sha not in gone})


def _changing() -> contextlib.AbstractContextManager[None]:
    """Nobody else changes the file in this block; its folder is there, and only you may write it."""
    folder = trust_file().parent
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    return changing(trust_file())


def _check(file: Path, state: os.stat_result) -> None:
    """Raises PermissionError for what somebody else owns or may write, or what is neither a file nor a folder."""
    if not stat.S_ISREG(state.st_mode) and not stat.S_ISDIR(state.st_mode):
        raise PermissionError(errno.EACCES, "it is no regular file", str(file))
    if state.st_uid not in (os.geteuid(), 0):
        raise PermissionError(errno.EACCES, "it belongs to somebody else", str(file))
    if state.st_mode & _OTHERS and not (state.st_mode & stat.S_IWOTH == 0 and _is_private_group(state)):
        raise PermissionError(errno.EACCES, "others may write it (chmod go-w)", str(file))


def _is_private_group(state: os.stat_result) -> bool:
    """Whether a file's group is the user's own, as systems with a group a user have it: its number is the user's."""
    return state.st_gid == state.st_uid == os.geteuid()


def _write(known: dict[str, str]) -> None:
    keep_whole(trust_file(), json.dumps({"format": 1, "trusted": known}, indent=0), mode=0o600)
