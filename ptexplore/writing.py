"""Files that are written whole or not at all, and by one process at a time."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path


def write_whole(file: Path, content: str | bytes, aside: Path | None = None) -> None:
    """Write to `aside`, else beside `file`, then rename into place: who reads meanwhile reads the old or the new.

    Text is written as UTF-8. Raises OSError and UnicodeError; what was there stays then, and nothing half-written.
    """
    aside = aside or file.with_name(f".{file.name}.{os.getpid()}")
    try:
        aside.write_bytes(content.encode() if isinstance(content, str) else content)
        os.replace(aside, file)
    finally:
        with contextlib.suppress(OSError):
            aside.unlink()


def keep_whole(file: Path, content: str | bytes) -> None:
    """As `write_whole`, in a folder of ours, which is made where it is missing."""
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, content)


def empty_beside(file: Path) -> Path:
    """A new, empty file in the folder of `file`, which is made where it is missing. Raises OSError."""
    import tempfile

    file.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    os.close(handle)
    return Path(name)


def put_in_place(aside: Path, file: Path) -> None:
    """Rename `aside`, which is written whole, to `file`, when all of it is on the disk."""
    with aside.open("rb") as written:
        os.fsync(written.fileno())
    aside.chmod(0o644)
    aside.replace(file)


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
