"""Reads files of notes safely: only regular files, no links, no pipes, limited in size, inside their folder."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def read_bytes(file: Path, most: int) -> bytes:
    """Returns the bytes of a file, at most `most` and one more. Raises OSError, also for a link or a pipe."""
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "it is not a regular file")
        return stream.read(most + 1)


def names_in(folder: Path, within: Path) -> list[str]:
    """Returns the names in a folder, sorted. Raises OSError, also if a link leads out of `within`."""
    if not is_inside(folder, within):
        raise OSError(0, "it is a link that leads out of the folder of notes")
    return sorted(os.listdir(folder))


def is_inside(path: Path, folder: Path) -> bool:
    """Whether a path is in a folder after links are followed."""
    real, around = os.path.realpath(path), os.path.realpath(folder)
    return real == around or real.startswith(os.path.join(around, ""))
