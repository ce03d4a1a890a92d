"""Folders for a while, which are gone afterwards: by whoever made one, or by a later command where that was killed."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

PREFIX = "ptexplore-"
LOCK = ".in-use"  # a file in the folder, locked by whoever made it for as long as that lives
DAY = 86400.0  # seconds


@contextlib.contextmanager
def temporary_folder(purpose: str) -> Iterator[Path]:
    """An empty folder of our own, in the system's place for such; what a killed command left there is removed."""
    import fcntl

    clear_left_over()
    with tempfile.TemporaryDirectory(prefix=f"{PREFIX}{purpose}-") as folder:
        beside = Path(folder, f"{LOCK}.new")
        with beside.open("wb") as lock:
            with contextlib.suppress(OSError):  # a file system without locks: it is then removed by its age
                fcntl.flock(lock, fcntl.LOCK_EX)
                beside.rename(Path(folder, LOCK))  # whoever sees it finds it locked
            inside = Path(folder, "in")
            inside.mkdir()
            yield inside


def clear_left_over() -> None:
    """Remove such folders of this user's whose maker is gone; nobody else's, and none that is in use."""
    place = tempfile.gettempdir()
    with contextlib.suppress(OSError):
        names = [name for name in os.listdir(place) if name.startswith(PREFIX)]
        for folder in (Path(place, name) for name in names):
            with contextlib.suppress(OSError):
                if _is_ours(folder) and _is_left_over(folder):
                    shutil.rmtree(folder, ignore_errors=True)


def _is_ours(folder: Path) -> bool:
    """Whether it is a folder, and no link to one, that this user made and nobody else can write to."""
    status = folder.lstat()
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o022


def _is_left_over(folder: Path) -> bool:
    """Whether nobody holds its lock; of one without a lock, whether it has not changed for a day."""
    import fcntl

    try:
        lock = os.open(folder / LOCK, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return time.time() - folder.lstat().st_mtime > DAY
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True
