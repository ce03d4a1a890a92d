"""Write an index: a first one aside and renamed into place, a later one in place, in one transaction."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from ptexplore.model.symbols import Extractor, RefLines
from ptexplore.store.database import DatabaseWriter, connected, disk_told, schema_of
from ptexplore.store.index import rows as packed
from ptexplore.store.index.opening import StaleIndex

_INSERT = {
    "file": "INSERT INTO file VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    "symbol": "INSERT INTO symbol VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    "ref": "INSERT INTO ref VALUES (?, ?, ?, ?, ?, ?, ?)",
    "dialect": "INSERT INTO dialect VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
}
_TABLES = ("symbol", "ref", "dialect")
_WORDS = 200  # files: more than workers are apart


class IndexWriter(DatabaseWriter):
    """An index being written.

    `anew` begins an empty one beside `path`; otherwise the index at `path` is changed. The caller holds the lock of
    `path`. Raises StaleIndex as well, where what lies there is damaged.
    """

    def __init__(self, path: Path, *, anew: bool) -> None:
        super().__init__(path)
        self._texts: set[int] = set()
        self._words: list[tuple[int, str]] = []  # of the last files; put in by id: three times quicker so
        self._worded = 0  # the highest id whose words are in
        self._late: list[tuple[int, str]] = []  # those below it, for the end
        self._later: list[str] = []
        with self._told():
            if anew:
                self._begin_anew()
            else:
                self._db = connected(path, "change", __package__, 60)
                self._db.execute("PRAGMA cache_size = -65536")
                self._db.execute("BEGIN IMMEDIATE")
            self._next = int(self.meta("next_file") or 1)

    def _begin_anew(self) -> None:
        for left_over in self.path.parent.glob(f".{self.path.name}.*"):
            left_over.unlink(missing_ok=True)  # of a builder that was killed: the caller holds the lock
        # Indexes are quicker made from all rows at once.
        tables, _, indexes = schema_of(__package__).partition("CREATE INDEX")
        self._begin_aside("PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -131072", tables, packed.FORMAT)
        self._later = [f"CREATE INDEX{statement}" for statement in indexes.split("CREATE INDEX")]

    def _finish(self) -> None:
        self._put_words(len(self._words))
        self._words, self._late = self._late, []
        self._put_words(len(self._words))
        for statement in self._later:
            self._db.execute(statement)
        names = self._db.execute(
            "SELECT group_concat(name, char(10)) FROM (SELECT DISTINCT name FROM symbol ORDER BY name)"
        )
        joined = names.fetchone()[0]
        self._db.execute("DELETE FROM names")
        self._db.execute("INSERT INTO names VALUES (?)", (f"\n{joined}\n" if joined else "\n",))
        tally: Counter[str] = Counter()
        for (packed_tally,) in self._db.execute("SELECT tally FROM file"):
            tally.update(json.loads(packed_tally))
        self.put_meta(
            {
                "next_file": str(self._next),
                "recipe": str(packed.RECIPE),
                "tally": json.dumps(tally),
                "complete": "yes",
            }
        )

    # --- what is there ---

    def meta(self, key: str) -> str | None:
        """A fact about the index as it stands."""
        row = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return row[0] if row else None

    # --- changes ---

    def put_meta(self, facts: Mapping[str, str]) -> None:
        """Facts about the index."""
        with self._told():
            self._db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", list(facts.items()))

    def add(self, files: Iterable[packed.Rows]) -> None:
        """Rows of files whose paths have none, under ids from `next_file` on: none is given twice."""
        with self._told():
            for rows in files:
                self._next = max(self._next, rows.file[0] + 1)
                self._db.execute(_INSERT["file"], rows.file)
                self._db.executemany(_INSERT["symbol"], rows.symbols)
                self._db.executemany(_INSERT["ref"], rows.refs)
                self._db.executemany(_INSERT["dialect"], rows.dialect)
                self._put_texts(rows.texts)
                (self._words if rows.file[0] > self._worded else self._late).append((rows.file[0], rows.words))
            if len(self._words) > 2 * _WORDS:
                self._put_words(_WORDS)

    def _put_words(self, count: int) -> None:
        """Put in the words of the `count` waiting files with the lowest ids: now, while others read, not at the end."""
        self._words.sort()
        now, self._words = self._words[:count], self._words[count:]
        self._db.executemany("INSERT INTO words (rowid, body) VALUES (?, ?)", now)
        if now:
            self._worded = max(self._worded, now[-1][0])

    def _put_texts(self, texts: Mapping[int, str]) -> None:
        new = [(number, text) for number, text in texts.items() if number not in self._texts]
        self._texts.update(texts)
        self._db.executemany("INSERT OR IGNORE INTO text VALUES (?, ?)", new)

    def remove(self, paths: Iterable[str]) -> None:
        """Everything of these files."""
        with self._told():
            for path in paths:
                number = self._file(path)
                if number is not None:
                    self._db.execute("DELETE FROM file WHERE id = ?", (number,))
                    for table in _TABLES:
                        self._db.execute(f"DELETE FROM {table} WHERE id BETWEEN ? AND ?", packed.span(number))

    def restamp(self, stamps: Iterable[tuple[str, int]]) -> None:
        """(path, mtime_ns) of files that are as they were but for their time."""
        with self._told():
            self._db.executemany("UPDATE file SET stamp = ? WHERE path = ?", [(when, path) for path, when in stamps])

    def replace_refs(self, path: str, refs: RefLines, extractor: Extractor) -> None:
        """Other references in place of a file's own, by a better `extractor`; a file unknown here is passed over."""
        number = self._file(path)
        if number is None:
            return
        texts: dict[str, int] = packed.Texts()
        rows = packed.pack_refs(number << packed.ROWS, refs, texts)
        with self._told():
            tally = self._db.execute("SELECT tally FROM file WHERE id = ?", (number,)).fetchone()[0]
            self._db.execute("DELETE FROM ref WHERE id BETWEEN ? AND ?", packed.span(number))
            self._db.executemany(_INSERT["ref"], rows)
            self._put_texts({number: text for text, number in texts.items()})
            changed = (extractor, packed.tally_with_refs(tally, refs), number)
            self._db.execute("UPDATE file SET extractor = ?, tally = ? WHERE id = ?", changed)

    def _file(self, path: str) -> int | None:
        row = self._db.execute("SELECT id FROM file WHERE path = ?", (path,)).fetchone()
        return row[0] if row else None

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """What SQLite says about the disk becomes the OSError it stands for; of the file's content, StaleIndex."""
        try:
            with disk_told(self.path):
                yield
        except sqlite3.DatabaseError as error:
            raise StaleIndex(f"{self.path}: {error}") from error
