"""Decides which code may run: shipped code, and code that you allowed, identified by the hash of its exact bytes."""

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
    """Returns the hashes of the content that may run, each with the name it had then. A damaged file allows nothing.

    Raises OSError, also if the file or its folder belongs to somebody else, or others may write it: then it is unknown
    who gave the permission.
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
    """Trusts the files of these tours in their present state. Raises OSError."""
    trust_files({tour.sha: tour.where.file for tour in tours})


def trust_files(files: dict[str, str]) -> None:
    """Trusts contents: a dict from their hashes to the names of their files. Raises OSError."""
    with _changing():
        _write(trusted() | files)


def remember(sha: str, name: str) -> None:
    """Trusts one content. Raises OSError."""
    trust_files({sha: name})


def forget_files(hashes: Iterable[str]) -> None:
    """Revokes the trust in contents. Raises OSError."""
    gone = set(hashes)
    with _changing():
        _write({sha: name for sha, name in trusted().items() if sha not in gone})


def _changing() -> contextlib.AbstractContextManager[None]:
    """Locks the file for this block. Creates its folder, which only the user may write to."""
    folder = trust_file().parent
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    return changing(trust_file())


def _check(file: Path, state: os.stat_result) -> None:
    """Raises PermissionError for a file or folder that others own or may write to, and for any other kind of entry."""
    if not stat.S_ISREG(state.st_mode) and not stat.S_ISDIR(state.st_mode):
        raise PermissionError(errno.EACCES, "it is not a regular file", str(file))
    if state.st_uid not in (os.geteuid(), 0):
        raise PermissionError(errno.EACCES, "it belongs to another user", str(file))
    if state.st_mode & _OTHERS and not (state.st_mode & stat.S_IWOTH == 0 and _is_private_group(state)):
        raise PermissionError(errno.EACCES, "other users may write to it (chmod go-w)", str(file))


def _is_private_group(state: os.stat_result) -> bool:
    """Whether the file's group has only the user: on systems with a group for each user, both numbers are equal."""
    return state.st_gid == state.st_uid == os.geteuid()


def _write(known: dict[str, str]) -> None:
    keep_whole(trust_file(), json.dumps({"format": 1, "trusted": known}, indent=0), mode=0o600)
