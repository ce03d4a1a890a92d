"""The common base of both databases: opening for reading, writing to a temporary file, errors of SQLite."""

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


_UNREADABLE = (ValueError, IndexError, KeyError, TypeError, zlib.error)  # errors of decoding a damaged row
_Asked = TypeVar("_Asked", bound=Callable[..., Any])

JOURNAL = "-journal"
# endings of the files that SQLite keeps beside a database while the database is written
BESIDE = (JOURNAL, "-wal", "-shm")
# From https://www.sqlite.org/fileformat2.html. Under "The Rollback Journal": a journal begins with these eight bytes. A
# journal of a transaction over several databases also ends with them, behind the name of another file. Bytes 18 and 19
# of a database's header are 1 unless the database has a write-ahead log.
_NAMES_ANOTHER = bytes.fromhex("d9d505f920a163d7")
_HEADER, _WITHOUT_LOG = slice(18, 20), b"\x01\x01"
_MODES = {"read": "mode=ro", "change": "mode=rw", "unchanging": "mode=ro&immutable=1"}


def connected(
    path: Path, mode: Literal["read", "change", "unchanging"], package: str, seconds: float = 5.0
) -> sqlite3.Connection:
    """Opens a connection to the database at `path`. It waits up to `seconds` for another connection that writes.

    The cache folder may contain files of somebody else. If `_planted` finds a file that ptexplore did not write, the
    database and the files beside it are deleted before SQLite opens them. SQLite would delete the file that such a
    journal names. A table is refused unless `schema.sql` of `package` declares it with the same words: a column could
    be computed, and a default or a check could run code. Raises sqlite3.Error.
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
            raise sqlite3.DatabaseError("it has tables, views or triggers that ptexplore did not make")
    except sqlite3.Error:
        db.close()
        raise
    return db


def schema_of(package: str) -> str:
    """Returns the SQL statements that create the tables of a package's database, followed by its indexes."""
    (folder,) = import_module(package).__path__  # importlib.resources would import zipfile, in every command
    return Path(folder, "schema.sql").read_text("utf-8")


def _declared(db: sqlite3.Connection) -> frozenset[tuple[str, str]]:
    """Returns each table and index of a database with its SQL statement, whitespace normalised."""
    rows = db.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    return frozenset((str(name), " ".join(str(sql).split())) for name, sql in rows)


@functools.cache
def _declared_by(package: str) -> frozenset[tuple[str, str]]:
    with contextlib.closing(sqlite3.connect(":memory:")) as db:
        db.executescript(schema_of(package))
        return _declared(db)


def beside(path: Path) -> Iterator[Path]:
    """Returns the paths of the files that SQLite may keep beside the database at `path`."""
    return (path.with_name(f"{path.name}{ending}") for ending in BESIDE)


def _planted(path: Path) -> str | None:
    """Returns the reason why ptexplore cannot have written a database or a file beside it.

    None if there is no such reason.
    """
    if not stat.S_ISREG(path.lstat().st_mode):
        # SQLite uses the journal beside the target of a link, but this function looks at the journal beside the link.
        return f"{path.name} is not a regular file"
    with open_users_file(path) as database:
        mode = database.read(_HEADER.stop)[_HEADER]
    if mode not in (b"", _WITHOUT_LOG):
        return "it has a write-ahead log, which ptexplore never makes"
    for file in beside(path):
        with contextlib.suppress(FileNotFoundError):
            if not stat.S_ISREG(file.lstat().st_mode):
                return f"{file.name} is not a regular file"
            if not file.name.endswith(JOURNAL):
                return f"{file.name} belongs to a write-ahead log, which ptexplore never makes"
            if _end(file) == _NAMES_ANOTHER:
                return f"{file.name} names another file, which SQLite would delete"
    return None


def _end(file: Path) -> bytes:
    """Returns the last bytes of a file, as many as `_NAMES_ANOTHER` has."""
    with open_users_file(file) as journal:
        journal.seek(max(0, journal.seek(0, os.SEEK_END) - len(_NAMES_ANOTHER)))
        return journal.read()


class Database(ABC):
    """A database file that is open for reading only. If a row cannot be decoded, the file is damaged and gets deleted.

    So public methods of a subclass raise the error that `damaged` returns, never an error of decoding a row.
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name, member in list(vars(cls).items()):
            if not name.startswith("_") and inspect.isfunction(member) and name not in ("damaged", "open"):
                setattr(cls, name, _noticing(member))

    def unreadable(self, error: Exception) -> PtexploreError:
        """Deletes the file, so that it is rebuilt. Returns the error to raise."""
        with contextlib.suppress(OSError):
            self.path.unlink()
        return self.damaged(sqlite3.DatabaseError(f"a row cannot be read ({type(error).__name__})"))

    def __init__(self, path: Path, db: sqlite3.Connection) -> None:
        self.path = path
        self._db = db
        self._in_turn = Lock()  # several threads may ask, and the system's SQLite may be built for a single thread
        weakref.finalize(self, db.close).atexit = False

    @abstractmethod
    def damaged(self, error: sqlite3.Error) -> PtexploreError:
        """Returns the error to raise if the file turns out to be damaged while it is read."""

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Runs `query` and returns its rows. Only for this package. Raises the error that `damaged` returns."""
        try:
            with self._in_turn:
                return self._db.execute(query, values).fetchall()
        except UnicodeEncodeError:
            return []  # the value has half of a surrogate pair, and no text in the database has one
        except sqlite3.Error as error:
            raise self.damaged(error) from error

    def meta(self, key: str) -> str | None:
        """Returns a fact about the database ("version", "tree", "complete", …), or None if it has no such fact."""
        rows = self.rows("SELECT value FROM meta WHERE key = ?", key)
        return rows[0][0] if rows else None

    def copy_to(self, path: Path) -> None:
        """Writes a copy of the whole database to `path`. Raises OSError, and the error that `damaged` returns."""
        aside = empty_beside(path)
        try:
            with convert_disk_errors(path), contextlib.closing(sqlite3.connect(aside)) as copy, self._in_turn:
                self._db.backup(copy)
            _take_away_beside(path)
            put_in_place(aside, path)
        except sqlite3.Error as error:
            raise self.damaged(error) from error
        finally:
            aside.unlink(missing_ok=True)

    def close(self) -> None:
        """Closes the file."""
        with self._in_turn:
            self._db.close()


def _take_away_beside(path: Path) -> None:
    """Deletes what SQLite kept beside the previous database: it would use these files to undo the new one."""
    for file in beside(path):
        file.unlink(missing_ok=True)


def _noticing(asked: _Asked) -> _Asked:
    """Wraps a method so that errors of decoding rows are reported as damage.

    UnicodeEncodeError passes through: the caller passed a value that cannot be encoded.
    """
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
    """A database that is being written. Use it as a context manager: all changes of the block appear at once, or none.

    Raises OSError if the disk is full or refuses.
    """

    _db: sqlite3.Connection

    def __init__(self, path: Path) -> None:
        self.path = path
        self._aside: Path | None = None

    def _begin_aside(self, pragmas: str, tables: str, version: int) -> None:
        """Creates an empty temporary database beside `path`. It replaces `path` at the end."""
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
                with self._convert_errors():
                    self._finish()
                    self._db.execute("COMMIT")
                if self._aside is not None:
                    self._db.close()
                    _take_away_beside(self.path)
                    put_in_place(self._aside, self.path)
        finally:
            self._db.close()  # rolls back all that was not committed
            if self._aside is not None:
                self._aside.unlink(missing_ok=True)

    @abstractmethod
    def _finish(self) -> None:
        """Writes data that depends on all rows. Called before the commit."""

    def _convert_errors(self) -> AbstractContextManager[None]:
        """Converts errors of SQLite to the error that the caller expects."""
        return convert_disk_errors(self.path)


@contextlib.contextmanager
def convert_disk_errors(path: Path) -> Iterator[None]:
    """Converts an error of SQLite about the disk to an OSError."""
    try:
        yield
    except sqlite3.OperationalError as error:
        number = errno.ENOSPC if "full" in str(error) else errno.EIO
        raise OSError(number, f"{os.strerror(number)} ({error})", str(path)) from error
