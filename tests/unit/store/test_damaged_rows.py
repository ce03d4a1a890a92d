"""A flipped byte is never a traceback: a row that cannot be read is damage, and the database is made anew."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ptexplore.cpp.macros import MacroTable
from ptexplore.errors import PtexploreError
from ptexplore.index.workers import Task, read_rows
from ptexplore.store.catalogue.reader import Store
from ptexplore.store.index.reader import IndexStore
from ptexplore.store.index.rows import Rows
from ptexplore.store.index.writer import IndexWriter
from tests.unit.conftest import DATA, lay_out, write_catalogue

SOURCE = DATA / "checkout" / "aten" / "src" / "ATen" / "native" / "Blend.cpp"


@pytest.fixture(scope="module")
def databases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("databases")
    index = folder / "index.sqlite"
    with IndexWriter(index, anew=True) as writer:
        made = read_rows(Task(1, "aten/src/ATen/native/Blend.cpp", str(SOURCE), "checkout", 1, None), MacroTable({}))
        assert isinstance(made, Rows)
        writer.add([made])
    catalogue = folder / "catalogue.sqlite"
    write_catalogue(lay_out(folder / "mini"), catalogue)
    return {"index": index, "catalogue": catalogue}


def asked_of_index(file: Path) -> Iterator[Any]:
    store = IndexStore.open(file)
    yield store.files()
    yield store.known()
    yield store.problems()
    for name in ("at::native::blend", "at::native::blend_kernel"):
        yield store.definitions(name)
        yield store.declarations(name)
    for file_record in store.files():
        yield store.outline(file_record.path)
        yield store.refs_in(file_record.path)
        yield store.dialect_in(file_record.path)


def asked_of_catalogue(file: Path) -> Iterator[Any]:
    store = Store.open(file)
    yield store.keys()
    for name in store.all_names():
        yield store.operator(name), store.registrations(name), store.table(name), store.derivatives(name)
        yield store.bindings_for(name), store.python_kernels(name)
    yield store.unconfirmed_reasons()


ASKED: dict[str, Callable[[Path], Iterator[Any]]] = {"index": asked_of_index, "catalogue": asked_of_catalogue}


@pytest.mark.parametrize("name", ASKED)
def test_flipped_bytes_are_damage_or_another_value_and_never_a_traceback(
    databases: dict[str, Path], tmp_path: Path, name: str
) -> None:
    drawn = random.Random(11)
    whole = databases[name].read_bytes()
    met = 0
    for _case in range(150):
        copy = tmp_path / "copy.sqlite"
        data = bytearray(whole)
        for _ in range(drawn.choice((1, 1, 4))):
            data[drawn.randrange(100, len(data))] ^= 1 << drawn.randrange(8)
        copy.write_bytes(data)
        try:
            list(ASKED[name](copy))
        except PtexploreError as error:
            met += bool(error.hint)
    assert met > 5


def test_a_row_that_no_reader_understands_puts_the_file_away(databases: dict[str, Path], tmp_path: Path) -> None:
    copy = tmp_path / "copy.sqlite"
    shutil.copyfile(databases["index"], copy)
    store = IndexStore.open(copy)
    broken: Any = store

    def stumbles(*_given: object) -> list[Any]:
        raise ValueError("Expecting value")

    broken.rows = stumbles
    with pytest.raises(PtexploreError, match="cannot be used") as caught:
        store.files()
    assert "a row cannot be read" in caught.value.why
    assert not copy.exists()
