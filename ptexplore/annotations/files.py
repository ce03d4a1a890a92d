"""Files of notes as they lie on the disk: regular ones, no link and no pipe, not without end, in their own folder."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def read_bytes(file: Path, most: int) -> bytes:
    """Its bytes; `most` and one more where there are more. Raises OSError, also for a link or a pipe."""
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "it is no regular file")
        return stream.read(most + 1)


def names_in(folder: Path, within: Path) -> list[str]:
    """The names in a folder, sorted. Raises OSError, also where a link leads out of `within`."""
    if not is_inside(folder, within):
        raise OSError(0, "it is a link that leads out of the folder of notes")
    return sorted(os.listdir(folder))


def is_inside(path: Path, folder: Path) -> bool:
    """Whether a path lies in a folder, links followed."""
    real, around = os.path.realpath(path), os.path.realpath(folder)
    return real == around or real.startswith(os.path.join(around, ""))
