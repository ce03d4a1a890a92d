"""What both databases share: a file open for reading, a file written aside, and what SQLite says of the disk."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ptexplore.writing import empty_beside, put_in_place

if TYPE_CHECKING:
    from typing_extensions import Self

    from ptexplore.errors import PtexploreError


class Database(ABC):
    """A file open for reading only."""

    def __init__(self, path: Path, db: sqlite3.Connection) -> None:
        self.path = path
        self._db = db

    @abstractmethod
    def damaged(self, error: sqlite3.Error) -> PtexploreError:
        """The error to raise where the file turns out to be damaged while it is read."""

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """What `query` finds; for this package alone. Raises what `damaged` gives."""
        try:
            return self._db.execute(query, values).fetchall()
        except UnicodeEncodeError:
            return []  # asked for half a character, which no text here has
        except sqlite3.Error as error:
            raise self.damaged(error) from error

    def meta(self, key: str) -> str | None:
        """A fact about the whole: "version", "tree", "complete", …; None where it is not there."""
        rows = self.rows("SELECT value FROM meta WHERE key = ?", key)
        return rows[0][0] if rows else None

    def close(self) -> None:
        """Close the file."""
        self._db.close()


class DatabaseWriter(ABC):
    """A database being written. Use as a context manager: what its block did appears at once, or not at all.

    Raises OSError where the disk is full or refuses.
    """

    _db: sqlite3.Connection

    def __init__(self, path: Path) -> None:
        self.path = path
        self._aside: Path | None = None

    def _begin_aside(self, pragmas: str, tables: str, version: int) -> None:
        """Begin an empty database beside `path`, which takes its place in the end."""
        self._aside = empty_beside(self.path)
        self._db = sqlite3.connect(self._aside, isolation_level=None)
        self._db.executescript(f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; {pragmas}")
        self._db.executescript(tables)
        self._db.execute(f"PRAGMA user_version = {version}")
        self._db.execute("BEGIN")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                with self._told():
                    self._finish()
                    self._db.execute("COMMIT")
                if self._aside is not None:
                    self._db.close()
                    put_in_place(self._aside, self.path)
        finally:
            self._db.close()  # rolls back what was not committed
            if self._aside is not None:
                self._aside.unlink(missing_ok=True)

    @abstractmethod
    def _finish(self) -> None:
        """Write what only the whole shows, before it is committed."""

    def _told(self) -> AbstractContextManager[None]:
        """What SQLite says becomes the error that the caller knows."""
        return disk_told(self.path)


@contextlib.contextmanager
def disk_told(path: Path) -> Iterator[None]:
    """What SQLite says about the disk becomes the OSError it stands for."""
    try:
        yield
    except sqlite3.OperationalError as error:
        number = errno.ENOSPC if "full" in str(error) else errno.EIO
        raise OSError(number, f"{os.strerror(number)} ({error})", str(path)) from error
