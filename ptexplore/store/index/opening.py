"""Opens the file of an index for reading, or says why it cannot be used: another version, incomplete, damaged."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

from ptexplore.errors import MISSING, PtexploreError
from ptexplore.source.canonical import area
from ptexplore.store.database import JOURNAL, Database, connected
from ptexplore.store.index.rows import FORMAT, RECIPE

if TYPE_CHECKING:
    from typing_extensions import Self

_BUSY = 10.0  # seconds to wait for a writer that is committing its changes


class StaleIndex(PtexploreError):
    """The index has another version, is incomplete or is damaged, and must be rebuilt."""

    def __init__(self, why: str) -> None:
        super().__init__("the index cannot be used", why, "ptexplore index", MISSING)


class IndexConnection(Database):
    """The file of an index, open for reading only."""

    @classmethod
    def open(cls, path: Path) -> Self:
        """Opens `path`. Raises FileNotFoundError, and StaleIndex if the file cannot be used."""
        if not path.is_file():
            raise FileNotFoundError(path)
        try:
            db = _connection(path)
            try:
                _check(path, db)
            except (sqlite3.Error, StaleIndex):
                db.close()
                raise
        except sqlite3.Error as error:
            raise StaleIndex(f"{path}: {error}") from error
        return cls(path, db)

    def damaged(self, error: sqlite3.Error) -> StaleIndex:
        """Returns the error to raise. The file is kept: `ptexplore index` finds the damage and rebuilds the index."""
        return StaleIndex(f"{self.path}: {error}")


def _check(path: Path, db: sqlite3.Connection) -> None:
    db.execute("BEGIN")  # one transaction: no writer can change the file between these queries
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version != FORMAT:
        raise StaleIndex(f"{path} has version {version}")
    facts = dict(db.execute("SELECT key, value FROM meta WHERE key IN ('complete', 'recipe')").fetchall())
    pages, size = (db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
    if path.stat().st_size < pages * size:
        raise StaleIndex(f"{path} has {path.stat().st_size} of {pages * size} bytes")
    db.execute("COMMIT")
    if "complete" not in facts:
        raise StaleIndex(f"{path} is incomplete")
    if facts.get("recipe") != str(RECIPE):
        raise StaleIndex(f"{path} was made by another version of ptexplore")


def _connection(path: Path) -> sqlite3.Connection:
    journal = path.with_name(f"{path.name}{JOURNAL}")
    if journal.exists() and journal.stat().st_size:
        # A writer was killed or is working: opening for writing lets SQLite repair the file before it is read.
        connected(path, "change", __package__, _BUSY).close()
    db = connected(path, "read", __package__, _BUSY)
    # sorts the areas that readers usually mean before the others
    db.create_function("area", 1, area, deterministic=True)
    return db
