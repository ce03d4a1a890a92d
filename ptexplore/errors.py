"""The one type of error that a user may see: what failed, why, and the next command to type."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

FAILED = 1
USAGE = 2
MISSING = 3  # something needed is missing, stale or does not match
# What Python's parser raises for a text that is not Python, or that nests too deep for it.
NOT_PYTHON = (SyntaxError, ValueError, RecursionError, MemoryError)


class PtexploreError(Exception):
    """An error in three parts, with the exit code for cli/app.py, the one place where errors end.

    message: what failed. why: the reason, may be empty. hint: what to type next, may be empty.

    >>> import ptexplore
    >>> try:
    ...     ptexplore.op(len)
    ... except ptexplore.PtexploreError as error:
    ...     print(error.message)
    the operator is a callable, not a text
    """

    def __init__(self, message: str, why: str = "", hint: str = "", exit_code: int = FAILED) -> None:
        super().__init__(message)
        self.message = message
        self.why = why
        self.hint = hint
        self.exit_code = exit_code

    @property
    def one_line(self) -> str:
        """The failure and its reason, for places with room for one line only."""
        return f"{self.message}: {self.why}" if self.why else self.message


LIMITS = (errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.EFBIG)  # open files, processes, the size of a file
# A bad disk, a signal, a folder on a network: more room or more rights would not help.
BAD_DISK = (errno.EIO, errno.EINTR, errno.ESTALE, errno.ETIMEDOUT, errno.ENOTCONN)
BROKEN = (*BAD_DISK, errno.ENOMEM, *LIMITS)  # errors that do not say whether a file exists


@contextlib.contextmanager
def cache_errors(message: str, file: Path) -> Iterator[None]:
    """Turn an OSError into the three-part error, while something is written into the cache.

    The error names `file` if the OSError names no file. A limit of the process stays an OSError: more room would not
    help.
    """
    try:
        yield
    except OSError as error:
        if error.errno in LIMITS:
            raise
        why = f"{os.fsdecode(error.filename or file)}: {error.strerror or error}"
        hint = "free space there, or set PTEXPLORE_CACHE to a folder that you can write to"
        raise PtexploreError(message, why, hint, MISSING) from error
