"""Writes an index.

The first build writes another file and renames it; a later one changes the file in one transaction.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from ptexplore.model.symbols import Extractor, RefLines
from ptexplore.store.database import DatabaseWriter, connected, convert_disk_errors, schema_of
from ptexplore.store.index import rows as packed
from ptexplore.store.index.opening import StaleIndex

_INSERT = {
    "file": "INSERT INTO file VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    "symbol": "INSERT INTO symbol VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    "ref": "INSERT INTO ref VALUES (?, ?, ?, ?, ?, ?, ?)",
    "dialect": "INSERT INTO dialect VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
}
_TABLES = ("symbol", "ref", "dialect")
_WORDS = 200  # files whose words wait to be inserted in order; workers differ in order by fewer files


class IndexWriter(DatabaseWriter):
    """An index that is being written.

    `anew` begins an empty database beside `path`; otherwise the index at `path` is changed. The caller holds the lock
    of `path`. Raises StaleIndex as well, if the file at `path` is damaged.
    """

    def __init__(self, path: Path, *, anew: bool) -> None:
        super().__init__(path)
        self._texts: set[int] = set()
        # the words of the last files: inserting them in the order of ids is three times faster
        self._words: list[tuple[int, str]] = []
        self._worded = 0  # the highest id whose words are inserted
        self._late: list[tuple[int, str]] = []  # words of files below that id, inserted at the end
        self._later: list[str] = []
        with self._convert_errors():
            if anew:
                self._begin_anew()
            else:
                self._db = connected(path, "change", __package__, 60)
                self._db.execute("PRAGMA cache_size = -65536")
                self._db.execute("BEGIN IMMEDIATE")
            self._next = int(self.meta("next_file") or 1)

    def _begin_anew(self) -> None:
        for left_over in self.path.parent.glob(f".{self.path.name}.*"):
            # from a builder that was killed: the caller holds the lock, so none is at work
            left_over.unlink(missing_ok=True)
        # Creating indexes is faster after all rows are inserted.
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

    # --- reading ---

    def meta(self, key: str) -> str | None:
        """Returns a fact about the index in its present state."""
        row = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return row[0] if row else None

    # --- changes ---

    def put_meta(self, facts: Mapping[str, str]) -> None:
        """Writes facts about the index."""
        with self._convert_errors():
            self._db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", list(facts.items()))

    def add(self, files: Iterable[packed.Rows]) -> None:
        """Inserts the rows of files that have none yet. Their ids start at `next_file`, and no id is used twice."""
        with self._convert_errors():
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
        """Inserts the words of the `count` waiting files with the lowest ids.

        This happens while other processes read files, rather than at the end.
        """
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
        """Deletes all rows of these files."""
        with self._convert_errors():
            for path in paths:
                number = self._file(path)
                if number is not None:
                    self._db.execute("DELETE FROM file WHERE id = ?", (number,))
                    for table in _TABLES:
                        self._db.execute(f"DELETE FROM {table} WHERE id BETWEEN ? AND ?", packed.span(number))

    def restamp(self, stamps: Iterable[tuple[str, int]]) -> None:
        """Updates the time of change of files whose content is the same: pairs of (path, mtime_ns)."""
        with self._convert_errors():
            self._db.executemany("UPDATE file SET stamp = ? WHERE path = ?", [(when, path) for path, when in stamps])

    def replace_refs(self, path: str, refs: RefLines, extractor: Extractor) -> None:
        """Replaces the references of a file with references from a better `extractor`.

        A file without rows is ignored.
        """
        number = self._file(path)
        if number is None:
            return
        texts: dict[str, int] = packed.Texts()
        rows = packed.pack_refs(number << packed.ROWS, refs, texts)
        with self._convert_errors():
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
    def _convert_errors(self) -> Iterator[None]:
        """Converts an error of SQLite about the disk to an OSError, and one about the file's content to StaleIndex."""
        try:
            with convert_disk_errors(self.path):
                yield
        except sqlite3.DatabaseError as error:
            raise StaleIndex(f"{self.path}: {error}") from error
