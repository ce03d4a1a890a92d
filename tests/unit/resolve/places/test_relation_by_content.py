"""A checkout that no commit and no hash decides: its files beside the wheel's, its text beside the binary's records."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ptexplore.locations import index_file
from ptexplore.model.codes import Reason
from ptexplore.model.operators import Registration
from ptexplore.model.place_reasons import (
    AllAgrees,
    FilesDiffer,
    NoMacro,
    NotInTree,
    OfExtension,
    OtherCommit,
    RecordsMiss,
    RecordWithoutFile,
    SameCommit,
)
from ptexplore.model.places import Checkout
from ptexplore.model.symbols import Dialect, IndexedFile
from ptexplore.resolve.places.relation import Relation, decide, relate
from ptexplore.source.tree import checkout_tree
from tests.unit.resolve.making import Rows, Small, registration

HAND, REFS = "aten/src/ATen/native/Blend.cpp", "torch/_refs.py"


@dataclass(frozen=True)
class Index:
    """The small tree's index, with a Python file that the wheel also holds."""

    small: Small

    @property
    def path(self) -> Path:
        return Path(self.small.names.path)

    def files(self) -> Iterator[IndexedFile]:
        yield from self.small.names.files()
        yield IndexedFile(REFS, "python", "checkout", "", 0, 0)

    def dialect_in(self, path: str) -> list[Dialect]:
        return list(self.small.names.dialect_in(path))


@pytest.fixture
def folder(small: Small, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout that nobody knows, with the wheel's own copy of one file."""
    monkeypatch.setenv("PTEXPLORE_CACHE", str(tmp_path / "cache"))
    index_file("checkout-found").parent.mkdir(parents=True)
    root = tmp_path / "checkout"
    shutil.copytree(small.checkout.root, root)
    found = small.tree.read(REFS)
    assert found is not None
    (root / REFS).write_text(found.text, encoding="utf-8")
    return root


def related(small: Small, root: Path, *records: Registration, project: str = "pytorch") -> Relation:
    checkout = Checkout("found", "folder", str(root), "somewhere", project=project)
    store = small.store(Rows(registrations=records))
    return relate(checkout, small.mini.runtime, checkout_tree(checkout), store, Index(small))  # type: ignore[arg-type]


def record(small: Small, op: str = "aten::blend.Pair", shift: int = 0) -> Registration:
    line = small.line(HAND, "TORCH_LIBRARY_IMPL(aten, FuncTorchBatched") + shift
    return registration(op, "FuncTorchBatched", (HAND, line), origin="handwritten", confirmed=False)


def test_equal_files_and_records_that_all_hit_are_consistent(small: Small, folder: Path) -> None:
    found = related(small, folder, record(small), record(small, "aten::mirror"))
    assert found.word == "consistent"
    assert (found.same, found.different, found.missed) == (1, (), ())
    assert (found.records.confirmed, found.records.total) == (2, 2)
    assert found.why == AllAgrees("found", 1, "2.99.0", 2)


def test_one_record_that_misses_makes_it_another_version(small: Small, folder: Path) -> None:
    found = related(small, folder, record(small), record(small, "aten::mirror", shift=1))
    assert found.word == "version-skew"
    assert found.why == RecordsMiss(1, 2, "2.99.0", "found")
    (missed,) = found.missed
    line = small.line(HAND, "TORCH_LIBRARY_IMPL(aten, FuncTorchBatched") + 1
    assert (missed.op, missed.path, missed.line) == ("aten::mirror", HAND, line)
    assert missed.why == NoMacro(line)


def test_a_file_that_differs_makes_it_another_version_and_confirms_nothing(small: Small, folder: Path) -> None:
    """What another version's text happens to hold at a recorded line says nothing."""
    (folder / REFS).write_text("other = 1\n", encoding="utf-8")
    found = related(small, folder, record(small))
    assert (found.word, found.different) == ("version-skew", (REFS,))
    assert found.why == FilesDiffer(1, 1, "2.99.0", (REFS,))
    assert (found.records.confirmed, found.records.total) == (0, 1)


def test_a_tree_without_a_file_of_the_wheels_is_not_compared(small: Small, folder: Path) -> None:
    (folder / REFS).unlink()
    found = related(small, folder, record(small))
    assert found.word == "version-skew"


def test_an_extensions_own_source_is_consistent(small: Small, folder: Path) -> None:
    found = related(small, folder, record(small), project="mini")
    assert (found.word, found.missed) == ("consistent", ())
    assert (found.records.confirmed, found.records.total) == (0, 1), "PyTorch's own records are not looked for in it"
    assert found.why == OfExtension("found")


@pytest.mark.parametrize(
    "path, why",
    [
        (None, RecordWithoutFile(of_torch=True)),
        ("aten/src/ATen/Gone.cpp", NotInTree("aten/src/ATen/Gone.cpp", "found")),
    ],
)
def test_a_record_without_a_file_misses(small: Small, folder: Path, path: str | None, why: Reason) -> None:
    one = registration("aten::blend", "CPU", (path, 3) if path else None, origin="handwritten", confirmed=False)
    (missed,) = related(small, folder, one).missed
    assert missed.why == why


@pytest.mark.parametrize(
    "values, why",
    [
        ({"commit": "0" * 40}, SameCommit("found", "0" * 8, "2.99.0", "0" * 8)),
        ({"commit": "1" * 40, "release": "2.6.0"}, OtherCommit("found", "1" * 8, "2.99.0", "0" * 8, "2.6.0")),
    ],
)
def test_a_commit_that_decides_is_named(small: Small, folder: Path, values: dict[str, str], why: Reason) -> None:
    checkout = Checkout("found", "git", str(folder), "somewhere", **values)  # type: ignore[arg-type]
    store = small.store(Rows(registrations=[record(small)]))
    found = relate(checkout, small.mini.runtime, checkout_tree(checkout), store, Index(small))  # type: ignore[arg-type]
    assert found.why == why


@pytest.mark.parametrize("commit, word", [("0" * 40, "matches"), ("1" * 40, "version-skew"), (None, "consistent")])
def test_files_are_compared_only_where_no_commit_decides(
    small: Small, folder: Path, commit: str | None, word: str
) -> None:
    checkout = Checkout("found", "git", str(folder), "somewhere", commit=commit)
    tree, store = checkout_tree(checkout), small.store(Rows(registrations=[record(small)]))
    assert decide(checkout, small.mini.runtime, tree, store, Index(small)) == word  # type: ignore[arg-type]


def test_it_is_worked_out_once_for_a_state_of_the_index(small: Small, folder: Path) -> None:
    first = related(small, folder, record(small))
    (folder / REFS).write_text("other = 1\n", encoding="utf-8")
    assert related(small, folder, record(small)) == first, "the index did not change"
