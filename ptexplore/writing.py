"""Files that are written whole or not at all, and by one process at a time."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path


def write_whole(file: Path, content: str | bytes) -> None:
    """Write aside, in the folder of `file`, then rename into place: who reads meanwhile reads the old or the new.

    Text is written as UTF-8. Raises OSError and UnicodeError; what was there stays then, and nothing half-written.
    """
    aside = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        aside.write_bytes(content.encode() if isinstance(content, str) else content)
        os.replace(aside, file)
    finally:
        with contextlib.suppress(OSError):
            aside.unlink()


@contextlib.contextmanager
def locked(lock: Path, seconds: float, waiting: Callable[[], None], refusal: Exception) -> Iterator[bool]:
    """Keep two writers apart by the file `lock`; the value is whether another process had it.

    `waiting()` is called once if another process has it. Raises `refusal` if that lasts longer than `seconds`.
    """
    import filelock

    lock.parent.mkdir(parents=True, exist_ok=True)
    file_lock = filelock.FileLock(lock)
    waited = False
    try:
        file_lock.acquire(timeout=0)
    except filelock.Timeout:
        waited = True
        waiting()
        try:
            file_lock.acquire(timeout=seconds)
        except filelock.Timeout as error:
            raise refusal from error
    try:
        yield waited
    finally:
        file_lock.release()
