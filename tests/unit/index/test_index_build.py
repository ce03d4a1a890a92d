"""Which files a refresh reads, and what a reader makes of things that are no plain source file."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from ptexplore.cpp.macros import MacroTable
from ptexplore.index import build as index_build
from ptexplore.index import workers
from ptexplore.index.build import build
from ptexplore.index.reading_plan import IndexInput
from ptexplore.index.workers import Same, Task, Unread
from ptexplore.model.places import Checkout
from ptexplore.source.listing import Listed, checkout_files
from ptexplore.store.index.reader import IndexStore
from ptexplore.store.index.rows import Rows
from tests import small_source


def task(file: Path, known: str | None = None, layer: str = "checkout") -> Task:
    return Task(1, "c10/x.h", str(file), layer, 1, known)


def test_what_is_no_file_is_said(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "real.h").write_text("int a;\n", encoding="utf-8")
    (tmp_path / "link.h").symlink_to(tmp_path / "real.h")
    for name in ("gone.h", "fifo", "link.h", "."):
        result = workers.read_rows(task(tmp_path / name), MacroTable({}))
        assert isinstance(result, Unread), (name, result)
        assert result.why


def test_a_known_file_is_the_same_and_a_young_one_is_not_trusted(tmp_path: Path) -> None:
    file = tmp_path / "x.h"
    file.write_text("int a();\n", encoding="utf-8")
    first = workers.read_rows(task(file), MacroTable({}))
    assert isinstance(first, Rows)
    sha, stamp = first.file[5], first.file[7]
    assert stamp == 0, "it may change again within the clock's own step"
    os.utime(file, (1.6e9, 1.6e9))
    assert workers.read_rows(task(file, sha), MacroTable({})) == Same("c10/x.h", 1_600_000_000_000_000_000)


def test_an_installed_header_has_the_lines_of_the_repository(tmp_path: Path) -> None:
    file = tmp_path / "x.h"
    guard = "!defined(TORCH_STABLE_ONLY) && !defined(TORCH_TARGET_VERSION)"
    text = f'#if {guard}\n#pragma once\nint plain();\n\n#else\n#error "no"\n#endif  // {guard}\n'
    file.write_text(text, encoding="utf-8")
    result = workers.read_rows(task(file, layer="wheel"), MacroTable({}))
    assert isinstance(result, Rows)
    assert [row[5] for row in result.symbols if row[1] == "plain"] == [2]


def test_a_reader_that_stumbles_costs_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ptexplore.index import python as pysource

    def stumble(path: str, raw: str) -> None:
        raise RecursionError(f"{path} {len(raw)}")

    monkeypatch.setattr(pysource, "extract", stumble)
    files = []
    for name in ("a.py", "b.h"):
        (tmp_path / name).write_text("int b();\n", encoding="utf-8")
        files.append(Listed(name, str(tmp_path / name), "checkout"))
    build(IndexInput("t", "1", files), tmp_path / "i.sqlite", jobs=1)
    store = IndexStore.open(tmp_path / "i.sqlite")
    assert [path for path, _ in store.problems()] == ["a.py"]
    assert [one.path for one in store.symbols_named("b") if one.kind == "function"] == ["b.h"]


def test_a_name_that_is_not_utf_8_costs_that_file_alone(tmp_path: Path) -> None:
    (tmp_path / "c10").mkdir()
    (tmp_path / "c10" / "a.cpp").write_text("int f();\n")
    (tmp_path / "c10" / os.fsdecode(b"\xff.cpp")).write_text("int g();\n")
    files = checkout_files(Checkout("c", "folder", str(tmp_path), "a folder"))
    built = build(IndexInput("t", "1", files), tmp_path / "i.sqlite", jobs=1)
    assert (built.read, [row.path for row in built.unread]) == (1, ["c10/\N{REPLACEMENT CHARACTER}.cpp"])
    assert "UTF-8" in built.unread[0].why


def test_another_source_of_the_same_name_is_taken_up(tmp_path: Path) -> None:
    target = tmp_path / "i.sqlite"
    for identity in ("one", "two"):
        file = tmp_path / identity / "a.py"
        file.parent.mkdir()
        file.write_text("def a(): pass\n", encoding="utf-8")
        build(IndexInput("t", identity, [Listed("a.py", str(file), "checkout")]), target, jobs=1)
        assert IndexStore.open(target).meta("source") == identity
    assert len(IndexStore.open(target).symbols_named("a")) == 2, "the module and its function"


def test_a_file_that_comes_and_goes(tmp_path: Path) -> None:
    target, file = tmp_path / "i.sqlite", tmp_path / "a.py"
    files = [Listed("a.py", str(file), "checkout")]
    for _ in range(2):
        built = build(IndexInput("t", "1", files), target, jobs=1)
        assert [one.path for one in built.unread] == ["a.py"]
    file.write_text("def a(): pass\n", encoding="utf-8")
    assert build(IndexInput("t", "1", files), target, jobs=1).unread == ()
    assert IndexStore.open(target).file("a.py") is not None
    file.unlink()
    assert build(IndexInput("t", "1", files), target, jobs=1).unread != ()
    assert IndexStore.open(target).file("a.py") is None
    assert build(IndexInput("t", "1", []), target, jobs=1).unread == ()


def test_workers_give_what_one_process_gives(tmp_path: Path) -> None:
    files = []
    for number in range(40):
        file = tmp_path / f"{number}.py"
        file.write_text("".join(f"def f{number}_{n}(a): return g(a)\n" for n in range(1500)), encoding="utf-8")
        os.utime(file, (1.6e9, 1.6e9))
        files.append(Listed(file.name, str(file), "checkout"))
    build(IndexInput("t", "1", files), tmp_path / "two.sqlite", jobs=2)
    build(IndexInput("t", "1", files), tmp_path / "one.sqlite", jobs=1)
    one, two = (IndexStore.open(tmp_path / f"{name}.sqlite") for name in ("one", "two"))
    assert one.files() == two.files()
    assert one.counts() == two.counts()
    assert one.refs("g") == two.refs("g")
    assert one.outline("7.py") == two.outline("7.py")
    assert one.files_with_words(["f7_"], 9) == two.files_with_words(["f7_"], 9) == ["7.py"]


@pytest.mark.parametrize("beside", [False, True], ids=["of the source", "of a tree beside it"])
def test_a_header_that_a_bad_disk_keeps_back_once_costs_no_other_file_its_macros(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, beside: bool
) -> None:
    """What was read without its macros is read again by the next build, which finds nothing else to do."""
    root = small_source.write(tmp_path / "mini")
    paths = sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
    listed = [Listed(path, str(root / path), "checkout") for path in paths]
    marks = [file for file in listed if file.path.endswith("Marks.h")]
    files = [file for file in listed if not beside or file not in marks]
    source = IndexInput("t", "1", files, headers=marks if beside else ())
    build(source, tmp_path / "alone.sqlite", jobs=1)

    read = index_build.content  # type: ignore[attr-defined]

    def refuse(file: str) -> tuple[bytes, int]:
        if file.endswith("Marks.h"):
            raise OSError(errno.EIO, os.strerror(errno.EIO), file)
        return read(file)

    with monkeypatch.context() as patch:
        patch.setattr(index_build, "content", refuse)
        first = build(source, tmp_path / "i.sqlite", jobs=1)
    assert [(row.path, row.why) for row in first.unread] == [("c10/macros/Marks.h", "Input/output error")]
    assert small_source.rows(tmp_path / "i.sqlite") != small_source.rows(tmp_path / "alone.sqlite")
    assert build(source, tmp_path / "i.sqlite", jobs=1).unread == ()
    assert small_source.rows(tmp_path / "i.sqlite") == small_source.rows(tmp_path / "alone.sqlite")
    assert build(source, tmp_path / "i.sqlite", jobs=1).read == 0
