"""The folder inside a site where files are half written: held by one build alone, and knowing what a killed one wrote.

A build that is killed leaves pages that its list of pages does not name. So every process of a build first writes the
URL of each file that is new to its own journal here; the next build reads them all.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from ptexplore.errors import FAILED, PtexploreError
from ptexplore.source.tree import is_plain

ASIDE = ".ptexplore-aside"
_JOURNAL = ".new"
_PATIENCE = 2.0  # seconds: the processes of a build that was killed end soon after it


class Aside:
    """That folder of one site."""

    def __init__(self, root: Path) -> None:
        self.folder = root / ASIDE
        self._journal: tuple[int, int] | None = None  # the process that opened it, its descriptor

    def open(self) -> set[str]:
        """Make the folder. Gives the URLs that the journals of a killed build name, which `empty` drops."""
        if self.folder.is_symlink():
            self.folder.unlink()
        self.folder.mkdir(parents=True, exist_ok=True)
        return {url for left in self.folder.glob(f"*{_JOURNAL}") for url in _read(left)}

    def empty(self) -> None:
        """Drop what is left in the folder."""
        for left in self.folder.iterdir():
            left.unlink()

    def file(self) -> Path:
        """Where this process writes a file before it is put into place."""
        return self.folder / f"{os.getpid()}"

    def note(self, url: str) -> None:
        """Say that a file is about to be there that was not."""
        if self._journal is None or self._journal[0] != os.getpid():  # a process that was forked has its own
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
            self._journal = (os.getpid(), os.open(f"{self.file()}{_JOURNAL}", flags, 0o666))
        os.write(self._journal[1], f"{url}\n".encode())

    def close(self) -> None:
        """The list of pages names everything now: the folder goes."""
        if self._journal is not None:
            os.close(self._journal[1])
            self._journal = None
        self.empty()
        self.folder.rmdir()


def _read(journal: Path) -> Iterator[str]:
    if stat.S_ISREG(os.lstat(journal).st_mode):
        *whole, _half = journal.read_bytes().decode("utf-8", "replace").split("\n")
        yield from filter(is_plain, whole)


def hold(root: Path) -> int | None:
    """Hold a site's folder for this process and those that it forks; nothing where the file system cannot.

    Raises PtexploreError where another build holds it.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() < end:
                time.sleep(0.05)
                continue
            os.close(folder)
            why, hint = "another ptexplore html is writing there", "wait until that is done, or another folder"
            raise PtexploreError(f"{root} is in use", why, hint, FAILED) from None
        except OSError:
            os.close(folder)
            return None
        return folder
