"""Temporary folders. Their maker removes them; if it was killed, a later command does."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

PREFIX = "ptexplore-"
LOCK = ".in-use"  # a file in the folder; its maker keeps it locked as long as the maker lives
INSIDE = "in"  # the folder inside, which the caller gets
_NAME = re.compile(rf"{PREFIX}[a-z]+-[a-z0-9_]{{8}}")  # the form of mkdtemp's names
_MARK = "made by ptexplore for a while: {}\n"  # the text of the lock, with the folder's name
DAY = 86400.0  # seconds


@contextlib.contextmanager
def temporary_folder(purpose: str) -> Iterator[Path]:
    """Make an empty folder for this block, in the system's temporary folder.

    First, folders that a killed command left there are removed.
    """
    import fcntl

    clear_left_over()
    with tempfile.TemporaryDirectory(prefix=f"{PREFIX}{purpose}-") as folder:
        beside = Path(folder, f"{LOCK}.new")
        with beside.open("w", encoding="utf-8") as lock:
            lock.write(_MARK.format(Path(folder).name))
            lock.flush()
            with contextlib.suppress(OSError):  # a file system without locks: the folder is later removed by its age
                fcntl.flock(lock, fcntl.LOCK_EX)
                beside.rename(Path(folder, LOCK))  # whoever sees the file finds it locked
            inside = Path(folder, INSIDE)
            inside.mkdir()
            yield inside


def clear_left_over() -> None:
    """Remove temporary folders of this user whose maker is gone. Folders in use, and other users' folders, stay.

    A folder of the user may have such a name, too. So a folder is removed only if everything in it shows that it was
    made here.
    """
    place = tempfile.gettempdir()
    with contextlib.suppress(OSError):
        names = [name for name in os.listdir(place) if _NAME.fullmatch(name)]
        for folder in (Path(place, name) for name in names):
            with contextlib.suppress(OSError):
                if not _is_ours(folder):
                    continue
                if not os.listdir(folder) and _is_old(folder):
                    folder.rmdir()  # its maker was killed before it wrote the lock
                elif _is_left_over(folder):
                    shutil.rmtree(folder, ignore_errors=True)


def _is_ours(folder: Path) -> bool:
    """Whether this is a real folder, no link, that only this user can open, and that holds only files of ours."""
    status = folder.lstat()
    is_own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o077
    return is_own and set(os.listdir(folder)) <= {LOCK, f"{LOCK}.new", INSIDE}


def _is_old(folder: Path) -> bool:
    return time.time() - folder.lstat().st_mtime > DAY


def _is_left_over(folder: Path) -> bool:
    """Whether the lock says that the folder was made here, and no process holds the lock.

    If the lock never got its final name, the folder must also be a day old.
    """
    import fcntl

    is_locked = os.path.lexists(folder / LOCK)
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    lock = os.open(folder / (LOCK if is_locked else f"{LOCK}.new"), flags)
    try:
        mark = _MARK.format(folder.name).encode()
        if not stat.S_ISREG(os.fstat(lock).st_mode) or os.read(lock, len(mark) + 1) != mark:
            return False
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(lock)
    return is_locked or _is_old(folder)
