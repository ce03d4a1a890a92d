"""A file of notes as it lies on the disk: a regular one, no link and no pipe, and not without end."""

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
