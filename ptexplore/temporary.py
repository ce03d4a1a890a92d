"""Folders for a while, which are gone afterwards: by whoever made one, or by a later command where that was killed."""

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
LOCK = ".in-use"  # a file in the folder, locked by whoever made it for as long as that lives
INSIDE = "in"  # the folder in it that is given out
_NAME = re.compile(rf"{PREFIX}[a-z]+-[a-z0-9_]{{8}}")  # as mkdtemp ends it
_MARK = "made by ptexplore for a while: {}\n"  # what the lock says, with the folder's own name
DAY = 86400.0  # seconds


@contextlib.contextmanager
def temporary_folder(purpose: str) -> Iterator[Path]:
    """An empty folder of our own, in the system's place for such; what a killed command left there is removed."""
    import fcntl

    clear_left_over()
    with tempfile.TemporaryDirectory(prefix=f"{PREFIX}{purpose}-") as folder:
        beside = Path(folder, f"{LOCK}.new")
        with beside.open("w", encoding="utf-8") as lock:
            lock.write(_MARK.format(Path(folder).name))
            lock.flush()
            with contextlib.suppress(OSError):  # a file system without locks: it is then removed by its age
                fcntl.flock(lock, fcntl.LOCK_EX)
                beside.rename(Path(folder, LOCK))  # whoever sees it finds it locked
            inside = Path(folder, INSIDE)
            inside.mkdir()
            yield inside


def clear_left_over() -> None:
    """Remove such folders of this user's whose maker is gone; nobody else's, and none that is in use.

    A folder of the user's own may be called so, too: one goes only if all of it shows that it was made here.
    """
    place = tempfile.gettempdir()
    with contextlib.suppress(OSError):
        names = [name for name in os.listdir(place) if _NAME.fullmatch(name)]
        for folder in (Path(place, name) for name in names):
            with contextlib.suppress(OSError):
                if not _is_ours(folder):
                    continue
                if not os.listdir(folder) and _is_old(folder):
                    folder.rmdir()  # of one that was killed before it wrote its lock
                elif _is_left_over(folder):
                    shutil.rmtree(folder, ignore_errors=True)


def _is_ours(folder: Path) -> bool:
    """Whether it is a folder, and no link to one, that this user made for nobody else, with nothing of anybody's."""
    status = folder.lstat()
    is_own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o077
    return is_own and set(os.listdir(folder)) <= {LOCK, f"{LOCK}.new", INSIDE}


def _is_old(folder: Path) -> bool:
    return time.time() - folder.lstat().st_mtime > DAY


def _is_left_over(folder: Path) -> bool:
    """Whether its lock says that it was made here, and nobody holds it; where nobody could, whether it is a day old."""
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
