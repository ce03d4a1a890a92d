"""What both databases share: a file open for reading, a file written aside, and what SQLite says of the disk."""

from __future__ import annotations

import contextlib
import errno
import functools
import inspect
import os
import sqlite3
import stat
import weakref
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from ptexplore.writing import empty_beside, open_users_file, put_in_place

if TYPE_CHECKING:
    from typing_extensions import Self

    from ptexplore.errors import PtexploreError


_UNREADABLE = (ValueError, IndexError, KeyError, TypeError, zlib.error)  # what a row gives whose bytes were changed
_Asked = TypeVar("_Asked", bound=Callable[..., Any])

JOURNAL = "-journal"
BESIDE = (JOURNAL, "-wal", "-shm")  # endings of the files that SQLite has beside a database, while it is written
# Both of https://www.sqlite.org/fileformat2.html: "The Rollback Journal" begins so, and one that names a file which
# several databases share ends so; byte 18 and 19 of a database's header are 1 unless it has a write-ahead log.
_NAMES_ANOTHER = bytes.fromhex("d9d505f920a163d7")
_HEADER, _WITHOUT_LOG = slice(18, 20), b"\x01\x01"
_MODES = {"read": "mode=ro", "change": "mode=rw", "unchanging": "mode=ro&immutable=1"}


def connected(
    path: Path, mode: Literal["read", "change", "unchanging"], package: str, seconds: float = 5.0
) -> sqlite3.Connection:
    """A connection to the database at `path`, which waits as many seconds for another one that writes.

    A cache may be somebody else's: what no writer of ours leaves (`_planted`) is put away with the database before
    SQLite sees it, which would delete the file that such a journal names. A table that `schema.sql` of `package` does
    not declare in these words is refused: a column may be computed, a default or a check may be. Raises sqlite3.Error.
    """
    try:
        why = _planted(path)
    except OSError as error:
        raise sqlite3.OperationalError(f"it cannot be read: {error.strerror}") from error
    if why is not None:
        for file in (*beside(path), path):
            with contextlib.suppress(OSError):
                file.unlink()
        raise sqlite3.DatabaseError(why)
    uri = f"{path.absolute().as_uri()}?{_MODES[mode]}"
    db = sqlite3.connect(uri, uri=True, timeout=seconds, isolation_level=None, check_same_thread=False)
    try:
        if not _declared(db) <= _declared_by(package):
            raise sqlite3.DatabaseError("it has tables, views or triggers that ptexplore makes none of")
    except sqlite3.Error:
        db.close()
        raise
    return db


def schema_of(package: str) -> str:
    """The statements that make the tables of a package's database, and then its indexes."""
    (folder,) = import_module(package).__path__  # importlib.resources would load zipfile, for each command
    return Path(folder, "schema.sql").read_text("utf-8")


def _declared(db: sqlite3.Connection) -> frozenset[tuple[str, str]]:
    """What a database declares: each table and index with its statement, without regard to blanks."""
    rows = db.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    return frozenset((str(name), " ".join(str(sql).split())) for name, sql in rows)


@functools.cache
def _declared_by(package: str) -> frozenset[tuple[str, str]]:
    with contextlib.closing(sqlite3.connect(":memory:")) as db:
        db.executescript(schema_of(package))
        return _declared(db)


def beside(path: Path) -> Iterator[Path]:
    """What SQLite may have beside the database at `path`."""
    return (path.with_name(f"{path.name}{ending}") for ending in BESIDE)


def _planted(path: Path) -> str | None:
    """Why a database, or what lies beside it, is none that ptexplore wrote; None if it may be one."""
    if not stat.S_ISREG(path.lstat().st_mode):
        # SQLite takes the journal that lies beside where a link leads, and not the one that is looked at here.
        return f"{path.name} is no regular file"
    with open_users_file(path) as database:
        mode = database.read(_HEADER.stop)[_HEADER]
    if mode not in (b"", _WITHOUT_LOG):
        return "it has a write-ahead log, which ptexplore makes none of"
    for file in beside(path):
        with contextlib.suppress(FileNotFoundError):
            if not stat.S_ISREG(file.lstat().st_mode):
                return f"{file.name} is no regular file"
            if not file.name.endswith(JOURNAL):
                return f"{file.name} is of a write-ahead log, which ptexplore makes none of"
            if _end(file) == _NAMES_ANOTHER:
                return f"{file.name} names another file, which SQLite would delete"
    return None


def _end(file: Path) -> bytes:
    """The last bytes of a file, as many as the mark has."""
    with open_users_file(file) as journal:
        journal.seek(max(0, journal.seek(0, os.SEEK_END) - len(_NAMES_ANOTHER)))
        return journal.read()


class Database(ABC):
    """A file open for reading only. A row that cannot be read is damage, whatever the reader met: the file goes.

    So what can be asked of a subclass raises what `damaged` gives, and no error of a reader of rows.
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name, member in list(vars(cls).items()):
            if not name.startswith("_") and inspect.isfunction(member) and name not in ("damaged", "open"):
                setattr(cls, name, _noticing(member))

    def unreadable(self, error: Exception) -> PtexploreError:
        """Put the file out of the way, so that it is made anew. Gives the error to raise."""
        with contextlib.suppress(OSError):
            self.path.unlink()
        return self.damaged(sqlite3.DatabaseError(f"a row cannot be read ({type(error).__name__})"))

    def __init__(self, path: Path, db: sqlite3.Connection) -> None:
        self.path = path
        self._db = db
        self._in_turn = Lock()  # several threads may ask; a SQLite of the system may be built for one at a time
        weakref.finalize(self, db.close).atexit = False

    @abstractmethod
    def damaged(self, error: sqlite3.Error) -> PtexploreError:
        """The error to raise where the file turns out to be damaged while it is read."""

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """What `query` finds; for this package alone. Raises what `damaged` gives."""
        try:
            with self._in_turn:
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
        with self._in_turn:
            self._db.close()


def _noticing(asked: _Asked) -> _Asked:
    """The method, with errors of reading rows as damage. What cannot be encoded was asked so by the caller."""
    if inspect.isgeneratorfunction(asked):

        @functools.wraps(asked)
        def each(self: Database, *given: Any, **named: Any) -> Iterator[Any]:
            try:
                yield from asked(self, *given, **named)
            except UnicodeEncodeError:
                raise
            except _UNREADABLE as error:
                raise self.unreadable(error) from error

        return cast("_Asked", each)

    @functools.wraps(asked)
    def answer(self: Database, *given: Any, **named: Any) -> Any:
        try:
            return asked(self, *given, **named)
        except UnicodeEncodeError:
            raise
        except _UNREADABLE as error:
            raise self.unreadable(error) from error

    return cast("_Asked", answer)


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
                    for file in beside(self.path):  # of the one before, by which SQLite would undo this one
                        file.unlink(missing_ok=True)
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
