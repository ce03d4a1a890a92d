"""A catalogue is whole or it is not there: damage, other versions and full disks are found out."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path

import pytest

from ptexplore.model.operators import Binding, DispatchKey, Operator, PythonName, Registration, TableEntry
from ptexplore.store.catalogue.reader import StaleCatalogue, Store
from ptexplore.store.catalogue.writer import CatalogueWriter

PLAIN = Operator("aten::add.Tensor", "aten::add.Tensor() -> ()", ("self: (a!)",), ("core",))


def write(path: Path) -> None:
    entry = TableEntry(("CPU", "CUDA"), "kernel", False, "a.cpp", 3, "registered at /p/a.cpp:3")
    fallback = TableEntry(("Named",), "backend fallback", True, "n.cpp", 11, "fallthrough registered at /p/n.cpp:11")
    others = [
        Operator(f"{space}::{name}", "", (), ()) for space, name in (("q", "add"), ("aten", "add_"), ("aten", "mul"))
    ]
    with CatalogueWriter(path) as writer:
        writer.operators([(PLAIN, "d1"), *((one, "d2") for one in others)])
        writer.registrations(
            [Registration(PLAIN.name, None, False, False, False, "nofile", None, None, None, False, "no file")]
        )
        writer.tables([(PLAIN.name, [entry, fallback]), ("aten::mul", [fallback])])
        writer.bindings([Binding("torch", "add", "THPVariable_add", "b.cpp", 5, 9, 2, (PLAIN.name, PLAIN.name))])
        writer.python_names([PythonName("torch.add", "builtin", "torch", "add"), PythonName("torch.add", "other")])
        writer.keys([DispatchKey("CPU", 2**64 - 1, 0)])
        writer.meta({"version": "2.99"})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write(tmp_path / "c.sqlite")
    return tmp_path / "c.sqlite"


def test_what_is_written_is_read(path: Path) -> None:
    store = Store.open(path)
    assert store.operator(PLAIN.name) == PLAIN
    assert store.operator("aten::nothing") is None
    assert store.digests()["aten::mul"] == "d2"
    assert store.keys()["CPU"].raw == 2**64 - 1
    assert store.meta("version") == "2.99"
    assert store.meta("nothing") is None
    assert [name.kind for name in store.python_names_for("torch", "add")] == ["builtin"]
    assert len(store.bindings_for(PLAIN.name)) == 1
    assert [entry.keys for entry in store.table(PLAIN.name) if "CUDA" in entry.keys] == [("CPU", "CUDA")]
    assert [one.keys for one in store.fallback("n.cpp", 11)] == [("Named",)]


def test_suggestions_prefer_aten_and_the_asked_overload(path: Path) -> None:
    store = Store.open(path)
    assert store.suggest("add.Tensr")[0] == "aten::add.Tensor"
    assert store.suggest("torch.mull") == ["aten::mul"]
    assert store.suggest("zzzzzz") == []


def test_nothing_but_the_catalogue_is_left_behind(path: Path) -> None:
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_failed_write_leaves_the_old_one(path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(RuntimeError), CatalogueWriter(path) as writer:
        writer.operators([(PLAIN, "d")])
        raise RuntimeError
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Store.open(tmp_path / "none.sqlite")


@pytest.mark.parametrize("damage", ["empty", "text", "cut", "version", "incomplete"])
def test_damage_and_other_versions_are_stale(path: Path, damage: str) -> None:
    if damage == "empty":
        path.write_bytes(b"")
    elif damage == "text":
        path.write_text("no database at all\n" * 100)
    elif damage == "cut":
        path.write_bytes(path.read_bytes()[:-4096])
    else:
        db = sqlite3.connect(path)
        db.execute("PRAGMA user_version = 99" if damage == "version" else "DELETE FROM meta WHERE key = 'complete'")
        db.commit()
        db.close()
    with pytest.raises(StaleCatalogue):
        Store.open(path)


def test_damage_inside_shows_when_it_is_read(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4096 * 2 :] = b"\xff" * (len(data) - 4096 * 2)
    path.write_bytes(data)
    with pytest.raises(StaleCatalogue):
        Store.open(path).all_names()


def test_read_only_folder_is_enough_to_read(path: Path) -> None:
    path.parent.chmod(0o555)
    try:
        assert Store.open(path).all_names()
        assert [file.name for file in path.parent.iterdir()] == [path.name]
    finally:
        path.parent.chmod(0o755)


def test_a_full_disk_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(OSError) as caught, CatalogueWriter(tmp_path / "c.sqlite") as writer:
        writer._db.execute("PRAGMA max_page_count = 40")
        writer.operators((Operator(f"aten::op{number}", "x" * 100, (), ()), "d") for number in range(5000))
    assert caught.value.errno == errno.ENOSPC
    assert list(tmp_path.iterdir()) == []
