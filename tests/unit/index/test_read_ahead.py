"""Rows that were read for the catalogue are taken into the index, if nothing changed meanwhile."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest

from ptexplore.catalogue import gather as gathering
from ptexplore.catalogue.gather import gather
from ptexplore.cpp.macros import MacroTable
from ptexplore.index import build as building
from ptexplore.index.build import build
from ptexplore.index.reading_plan import IndexInput
from ptexplore.index.workers import Task
from ptexplore.source.listing import Listed, runtime_files
from ptexplore.source.progress import Silent
from ptexplore.store.index import read_ahead
from ptexplore.store.index.reader import IndexStore
from tests.unit.conftest import ATEN, Mini, whole

CPU = f"{ATEN}/RegisterCPU_0.cpp"


class Read:
    """What a build of the index of minitorch read, and the index that it made."""

    def __init__(self, mini: Mini, target: Path, ahead: Path | None, monkeypatch: pytest.MonkeyPatch) -> None:
        self.paths: list[str] = []
        real = building.read_rows  # type: ignore[attr-defined]

        def noting(task: Task, macros: object) -> object:
            self.paths.append(task.path)
            return real(task, macros)  # type: ignore[arg-type]

        monkeypatch.setattr(building, "read_rows", noting)
        self.built = build(IndexInput("runtime", "k", files(mini), read_ahead=ahead), target, jobs=1)
        monkeypatch.setattr(building, "read_rows", real)
        self.store = IndexStore.open(target)

    def everything(self) -> list[object]:
        outlines = [self.store.outline(one.path) for one in self.store.files()]
        dialect = [self.store.dialect(name) for name in ("aten::mirror", "blend_stub", "blend_cpu")]
        return [self.store.files(), self.store.counts(), outlines, dialect, self.store.refs("mirror_dense")]


def files(mini: Mini) -> list[Listed]:
    return runtime_files(mini.runtime, mini.generated)


@pytest.fixture
def ahead(mini: Mini, tmp_path: Path) -> Path:
    for one in files(mini):
        os.utime(one.file, (1.6e9, 1.6e9))
    gathered = gather(mini.runtime, whole(mini), lambda: [CPU], Silent())
    read_ahead.keep(tmp_path / "kept", gathered.rows)
    return tmp_path / "kept"


def test_what_was_read_is_not_read_again(
    mini: Mini, ahead: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = Read(mini, tmp_path / "plain.sqlite", None, monkeypatch)
    taken = Read(mini, tmp_path / "taken.sqlite", ahead, monkeypatch)
    assert CPU in plain.paths
    assert CPU not in taken.paths
    assert taken.everything() == plain.everything()
    assert taken.built.read == plain.built.read
    again = Read(mini, tmp_path / "taken.sqlite", ahead, monkeypatch)
    assert (again.paths, again.built.read) == ([], 0)


def test_a_file_that_changed_is_read_anew(
    mini: Mini, ahead: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (mini.generated / CPU).open("a", encoding="utf-8") as file:
        file.write("int only_now() { return 1; }\n")
    taken = Read(mini, tmp_path / "taken.sqlite", ahead, monkeypatch)
    assert CPU in taken.paths
    assert f"{ATEN}/Operators_0.cpp" not in taken.paths
    assert [one.path for one in taken.store.symbols_named("only_now")] == [CPU]


def test_other_headers_mean_other_macros(
    mini: Mini, ahead: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    header = mini.site / "torch/include/ATen/TensorMeta.h"
    header.write_text("#define TORCH_IMPL_FUNC(which) void renamed_##which::impl\n", encoding="utf-8")
    taken = Read(mini, tmp_path / "taken.sqlite", ahead, monkeypatch)
    assert CPU in taken.paths
    assert [one.qualified for one in taken.store.symbols_named("impl")] == ["at::native::renamed_blend_cpu::impl"]


def test_a_second_environment_reads_no_generated_file_again(
    mini: Mini, ahead: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Times of change differ there, and contents do not; a file that differs is read, and other macros count."""
    first = gather(mini.runtime, whole(mini), lambda: [CPU], Silent())
    for one in files(mini):
        os.utime(one.file, (1.7e9, 1.7e9))
    read: list[str] = []
    real = gathering.read_facts

    def noting(task: Task, macros: MacroTable) -> object:
        read.append(task.path)
        return real(task, macros)

    monkeypatch.setattr(gathering, "read_facts", noting)

    def again() -> list[str]:
        read.clear()
        before = read_ahead.kept(ahead)
        assert before is not None
        taken = gather(mini.runtime, whole(mini), lambda: [CPU], Silent(), before)
        plain = list(read)
        anew = gather(mini.runtime, whole(mini), lambda: [CPU], Silent())
        assert taken.facts == anew.facts
        assert [file[:2] for file in taken.rows.files] == [file[:2] for file in anew.rows.files]
        ids = [read_ahead.unpacked(file).file[0] for file in taken.rows.files]
        assert len(set(ids)) == len(ids)
        assert max(ids) < taken.rows.next_file
        return plain

    assert first.facts.blocks
    assert again() == []
    with (mini.generated / CPU).open("a", encoding="utf-8") as file:
        file.write("int only_now() { return 1; }\n")
    assert again() == [CPU]
    header = mini.site / "torch/include/ATen/TensorMeta.h"
    header.write_text("#define TORCH_IMPL_FUNC(which) void renamed_##which::impl\n", encoding="utf-8")
    assert len(again()) > 1
    monkeypatch.setattr(gathering, "RECIPE", gathering.RECIPE + 1)  # type: ignore[attr-defined]
    header.write_text("", encoding="utf-8")
    assert len(again()) > 1


def test_an_index_begins_as_a_copy_of_a_relative(mini: Mini, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second environment has its own paths and times: nothing is read into rows, but what differs."""
    for one in files(mini):
        os.utime(one.file, (1.6e9, 1.6e9))
    build(IndexInput("runtime", "first", files(mini), family="f"), tmp_path / "first.sqlite", jobs=1)
    for one in files(mini):
        os.utime(one.file, (1.7e9, 1.7e9))
    with (mini.generated / CPU).open("a", encoding="utf-8") as file:
        file.write("int only_now() { return 1; }\n")
    second = IndexInput("runtime", "second", files(mini), family="f")
    built = build(second, tmp_path / "second.sqlite", jobs=1)
    assert (built.read, built.anew) == (1, False)
    alone = Read(mini, tmp_path / "alone.sqlite", None, monkeypatch)
    with closing(IndexStore.open(tmp_path / "second.sqlite")) as store:
        assert store.meta("source") == "second"
        assert store.files() == alone.store.files()
        assert store.counts() == alone.store.counts()
        assert [one.path for one in store.symbols_named("only_now")] == [CPU]
    assert build(second, tmp_path / "second.sqlite", jobs=1).kept == len(files(mini))
    other = build(IndexInput("runtime", "third", files(mini), family="g"), tmp_path / "third.sqlite", jobs=1)
    assert other.anew


@pytest.mark.parametrize("content", [b"", b"\x81", b"\xc1 no such code", b"not at all"])
def test_what_is_damaged_is_as_good_as_none(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "kept").write_bytes(content)
    assert read_ahead.kept(tmp_path / "kept") is None
    assert read_ahead.kept(tmp_path / "none") is None


def test_what_another_version_read_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read_ahead.keep(tmp_path / "kept", read_ahead.ReadAhead("h", "{}", [], 1))
    assert read_ahead.kept(tmp_path / "kept") is not None
    monkeypatch.setattr(read_ahead, "RECIPE", read_ahead.RECIPE + 1)  # type: ignore[attr-defined]
    assert read_ahead.kept(tmp_path / "kept") is None
