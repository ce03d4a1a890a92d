"""A database of somebody else's cache: what SQLite would do for its sake, it does not do."""

from __future__ import annotations

import os
import shutil
import sqlite3
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from ptexplore.capture.native import symbols
from ptexplore.errors import PtexploreError
from ptexplore.resolve.places import relation
from ptexplore.source.runtime.describe import hashes
from ptexplore.source.runtime.generated import MANIFEST, is_complete
from ptexplore.store.catalogue.reader import StaleCatalogue, Store
from ptexplore.store.catalogue.writer import CatalogueWriter
from ptexplore.store.database import beside
from ptexplore.store.index import read_ahead
from ptexplore.store.index.reader import IndexStore, StaleIndex
from ptexplore.store.index.writer import IndexWriter

MARK = bytes.fromhex("d9d505f920a163d7")  # as https://www.sqlite.org/fileformat2.html#the_rollback_journal has it


def write_index(path: Path, fact: str = "first") -> None:
    with IndexWriter(path, anew=True) as writer:
        writer.put_meta({"source": fact})


def write_catalogue(path: Path) -> None:
    with CatalogueWriter(path) as writer:
        writer.meta({"version": "2.99"})


KINDS: dict[str, tuple[Callable[[Path], None], Callable[[Path], object], type[Exception]]] = {
    "index": (write_index, IndexStore.open, StaleIndex),
    "index, to be changed": (write_index, lambda path: IndexWriter(path, anew=False), StaleIndex),
    "catalogue": (write_catalogue, Store.open, StaleCatalogue),
}


def why_not(kind: str, path: Path) -> str:
    """Why a database is not opened."""
    _, opened, stale = KINDS[kind]
    with pytest.raises(stale) as refused:
        opened(path)
    assert isinstance(refused.value, PtexploreError)
    return refused.value.why


def journal_that_names(victim: Path, database: Path) -> bytes:
    """A journal without pages to play back, of a transaction over several databases: `victim` lists them."""
    size = int.from_bytes(database.read_bytes()[16:18], "big")
    header = MARK + struct.pack(">IIIII", 0, 1, database.stat().st_size // size, 512, size)
    name = str(victim).encode()
    page = (1 << 30) // size + 1
    return header.ljust(512, b"\0") + struct.pack(">I", page) + name + struct.pack(">II", len(name), sum(name)) + MARK


@pytest.mark.parametrize("kind", KINDS)
def test_no_journal_has_another_file_deleted(kind: str, tmp_path: Path) -> None:
    write, opened, _ = KINDS[kind]
    path, victim = tmp_path / "d.sqlite", tmp_path / "mine.txt"
    write(path)
    victim.write_text("precious")
    planted = journal_that_names(victim, path)

    plain = shutil.copy(path, tmp_path / "plain.sqlite")
    Path(f"{plain}-journal").write_bytes(planted)
    with sqlite3.connect(plain) as database:
        database.execute("SELECT count(*) FROM meta").fetchone()
    assert not victim.exists(), "SQLite alone deletes it"

    victim.write_text("precious")
    path.with_name("d.sqlite-journal").write_bytes(planted)
    assert "d.sqlite-journal names another file" in why_not(kind, path)
    assert victim.read_text() == "precious"
    assert not [file for file in (path, *beside(path)) if file.exists()]
    write(path)
    opened(path)


@pytest.mark.parametrize("kind", KINDS)
def test_a_link_in_place_of_a_database_is_put_away(kind: str, tmp_path: Path) -> None:
    """SQLite takes the journal beside where the link leads: that one named another file."""
    write, opened, _ = KINDS[kind]
    path, real, victim = tmp_path / "d.sqlite", tmp_path / "more/i.sqlite", tmp_path / "mine.txt"
    real.parent.mkdir()
    write(real)
    victim.write_text("precious")
    real.with_name("i.sqlite-journal").write_bytes(journal_that_names(victim, real))
    path.symlink_to("more/i.sqlite")
    path.with_name("d.sqlite-journal").write_bytes(b"not a journal")  # so that it is opened to be written
    assert "d.sqlite is not a regular file" in why_not(kind, path)
    assert victim.read_text() == "precious"
    assert (real.is_file(), path.is_symlink()) == (True, False)
    write(path)
    opened(path)


@pytest.mark.parametrize("ending", ["-journal", "-wal", "-shm"])
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_read_or_written_through_a_link_beside_it(kind: str, ending: str, tmp_path: Path) -> None:
    write, _, _ = KINDS[kind]
    path, victim = tmp_path / "d.sqlite", tmp_path / "mine.txt"
    write(path)
    victim.write_text("precious")
    path.with_name(f"d.sqlite{ending}").symlink_to(victim)
    assert "is not a regular file" in why_not(kind, path)
    assert victim.read_text() == "precious"


@pytest.mark.parametrize("kind", KINDS)
def test_a_write_ahead_log_is_none_of_ours(kind: str, tmp_path: Path) -> None:
    write, _, _ = KINDS[kind]
    path = tmp_path / "d.sqlite"
    write(path)
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA journal_mode = WAL")
    database.close()
    assert "write-ahead log" in why_not(kind, path)


@pytest.mark.parametrize("made", ["VIEW extra AS SELECT 1", "TRIGGER extra AFTER INSERT ON meta BEGIN SELECT 1; END"])
@pytest.mark.parametrize("kind", KINDS)
def test_no_view_and_no_trigger_runs(kind: str, made: str, tmp_path: Path) -> None:
    write, _, _ = KINDS[kind]
    path = tmp_path / "d.sqlite"
    write(path)
    with sqlite3.connect(path) as database:
        database.execute(f"CREATE {made}")
    database.close()
    assert "views or triggers" in why_not(kind, path)


@pytest.mark.parametrize("column", ["value TEXT AS (hex(zeroblob(450000000)))", "value TEXT DEFAULT (hex(1))"])
@pytest.mark.parametrize("kind", KINDS)
def test_no_column_is_computed(kind: str, column: str, tmp_path: Path) -> None:
    """Each row that is read would be worked out by what somebody else wrote."""
    write, _, _ = KINDS[kind]
    path = tmp_path / "d.sqlite"
    write(path)
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA writable_schema = ON")
        planted = f"CREATE TABLE meta (key TEXT PRIMARY KEY, v TEXT, {column})"
        database.execute("UPDATE sqlite_master SET sql = ? WHERE name = 'meta'", (planted,))
    database.close()
    assert "tables, views or triggers" in why_not(kind, path)


def test_the_journal_of_an_older_file_does_not_undo_a_new_one(tmp_path: Path) -> None:
    path, killed = tmp_path / "d.sqlite", tmp_path / "killed.sqlite"
    write_index(path)
    at_work = sqlite3.connect(path, isolation_level=None)
    at_work.executescript("PRAGMA cache_size = 1; BEGIN; CREATE TABLE more AS SELECT randomblob(9000)")
    for ending in ("", "-journal"):
        shutil.copy(f"{path}{ending}", f"{killed}{ending}")
    at_work.close()
    assert Path(f"{killed}-journal").stat().st_size
    write_index(killed, "second")
    assert IndexStore.open(killed).meta("source") == "second"


def test_a_fifo_in_a_cache_keeps_nobody_waiting(tmp_path: Path) -> None:
    """Nobody writes into any of these: who waited for that would wait for ever."""
    for name in ("kept", MANIFEST):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        os.mkfifo(tmp_path / name)
    (tmp_path / "hashed").write_text("x")
    assert read_ahead.kept(tmp_path / "kept") is None
    assert not is_complete(tmp_path)
    assert len(hashes([str(tmp_path / "hashed")], tmp_path / "kept")) == 1
    assert relation._kept(tmp_path / "kept", []) is None
    assert symbols._kept(tmp_path / "kept", 2) is None
