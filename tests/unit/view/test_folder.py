"""A folder's page over the small tree: counts, places, what is not there; and what a page says that a tree lacks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ptexplore.annotations.folders import FolderPages, load_folders
from ptexplore.annotations.layers import layers
from ptexplore.annotations.load import NoteLibrary, load
from ptexplore.errors import PtexploreError
from ptexplore.lookup.trees import IndexedTree
from ptexplore.view.documents.folder import FolderStart, folder_document
from ptexplore.view.notes.folder import (
    SHORT_NAMES,
    check_pages,
    find_folder,
    folder_view,
    map_rows,
)
from tests import searched_source, small_source

NATIVE = "aten/src/ATen/native"
NOTES = Path(__file__).resolve().parents[2] / "data/tours"


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> IndexedTree:
    folder = tmp_path_factory.mktemp("folders")
    searched_source.write(folder / "mini")
    return small_source.indexed(folder / "mini")


@pytest.fixture(scope="module")
def library() -> NoteLibrary:
    return load(layers([str(NOTES)], shipped=False))


@pytest.fixture(scope="module")
def pages(library: NoteLibrary) -> FolderPages:
    return load_folders(library.layers)


def files_on_disk(indexed: IndexedTree, folder: str) -> list[str]:
    root = Path(str(indexed.checkout.root)) if indexed.checkout else Path()
    suffixes = (".cpp", ".h", ".py", ".pyi", ".yaml", ".cu")
    return sorted(str(p.relative_to(root)) for p in (root / folder).rglob("*") if p.suffix in suffixes)


def test_every_file_is_counted_once(indexed: IndexedTree, pages: FolderPages, library: NoteLibrary) -> None:
    for folder in (NATIVE, "torch", "aten"):
        view = folder_view(indexed, folder, pages, library)
        on_disk = files_on_disk(indexed, folder)
        assert view.total == len(on_disk) > 2
        assert [file.path for file in view.files] == [p for p in on_disk if p.rpartition("/")[0] == folder]
        assert sum(row.files for row in view.folders) + len(view.files) == view.total


def test_a_page_leads_to_lines_and_says_what_is_not_there(
    indexed: IndexedTree, pages: FolderPages, library: NoteLibrary
) -> None:
    view = folder_view(indexed, NATIVE, pages, library)
    assert (view.title, view.facts) == ("What blends", ())
    header, script, gone = view.start
    assert header.spot is not None
    line = header.spot.ref.line
    assert line
    assert "BlendIterator" in (indexed.tree.line(f"{NATIVE}/Blend.h", line) or "")
    assert script.spot is not None
    assert (script.spot.ref.path, script.spot.ref.line) == ("torch/nn/blend.py", None)
    assert gone.spot is None
    assert [(row.tour.id, row.stops, row.first) for row in view.tours] == [("blending", 4, "entry")]
    assert {row.path: row.text for row in view.folders} == {f"{NATIVE}/cpu": "kernels for the processor."}
    assert folder_document(view).start[2] == FolderStart(f"{NATIVE}/Gone.cpp", None, "it is not there any more.", None)


def test_a_folder_of_which_nobody_wrote_has_its_contents(
    indexed: IndexedTree, pages: FolderPages, library: NoteLibrary
) -> None:
    view = folder_view(indexed, "torch", pages, library)
    assert (view.page, view.title, view.start) == (None, "torch", ())
    assert view.folders


def test_what_a_page_names_and_the_tree_lacks_is_a_problem(indexed: IndexedTree, pages: FolderPages) -> None:
    checked = check_pages(indexed, pages)
    assert [problem.text for problem in checked.problems] == [f"there is no file {NATIVE}/Gone.cpp"]
    assert checked.judged
    assert checked.named - checked.present == 1


def test_of_another_version_the_names_that_are_gone_from_a_file_are_told(
    indexed: IndexedTree, pages: FolderPages
) -> None:
    """What the tree does not have at all is no claim: a wheel lacks most files. A name gone from a file is one."""
    older = {name: replace(page, baseline="v1.0.0", newer=(("2.99.0", "x"),)) for name, page in pages.pages.items()}
    native = older[NATIVE]
    gone = replace(native.start[0], path=f"{NATIVE}/Blend.cpp", symbol="no_such_thing")
    older[NATIVE] = replace(native, start=(*native.start, gone))
    checked = check_pages(indexed, FolderPages(older))
    assert not checked.judged
    assert checked.problems == ()
    assert [problem.text for problem in checked.differ] == [f"{NATIVE}/Blend.cpp has no no_such_thing"]
    assert checked.newer == len(older)


def test_folders_are_named_by_path_by_a_short_name_or_by_a_dot(indexed: IndexedTree) -> None:
    trees = [indexed]
    assert find_folder(trees, "aten") == (indexed, SHORT_NAMES["aten"])
    assert find_folder(trees, "torch/nn/") == (indexed, "torch/nn")
    assert find_folder(trees, "native/cpu") == (indexed, "aten/src/ATen/native/cpu"), "one folder alone ends so"
    assert find_folder(trees, ".") == (indexed, "")
    assert find_folder(trees, "add_kernel") is None
    assert find_folder(trees, "torch/nothing") is None
    with pytest.raises(PtexploreError, match="the folder aten is not here"):
        find_folder([], "aten")


def test_the_map_has_the_sentence_of_each_page(pages: FolderPages) -> None:
    rows = {row.folder: row.text for row in map_rows(pages)}
    assert rows[NATIVE] == "the operators of the small tree"
    assert rows["c10"] == ""
