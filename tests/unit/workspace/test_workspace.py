"""A workspace: opens what a question needs, when it needs it, builds what is missing, and closes it again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ptexplore.errors import MISSING, USAGE, PtexploreError
from ptexplore.locations import cache_root
from ptexplore.source.fetch.install import Request
from ptexplore.source.runtime import describe
from ptexplore.store.index.opening import StaleIndex
from ptexplore.workspace.completions import names, tours
from ptexplore.workspace.opening import index_of, open_index
from ptexplore.workspace.workspace import Workspace
from tests.unit.workspace.conftest import MIX, MIX_PATH, Quiet, Told

Open = Callable[..., Workspace]
FIRST_USE = ["first use of this source: indexing it"]


def test_nothing_is_looked_at_before_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(describe, "find_runtime", lambda python: pytest.fail("the torch was looked for"))
    with Workspace("/some/python", "runtime", notes=["/no/such/folder"]):
        pass
    assert not cache_root().exists()


def test_a_torch_that_is_missing_is_looked_for_once(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_for = []

    def missing(python: str | None) -> None:
        looked_for.append(python)
        raise PtexploreError("there is no torch", "", "", MISSING)

    monkeypatch.setattr(describe, "find_runtime", missing)
    with Workspace() as workspace:
        assert workspace.runtime_if_any is None
        assert [checkout.root for checkout in workspace.sources()[1]] == [str(source)]
        with pytest.raises(PtexploreError, match="there is no torch"):
            _ = workspace.torch
    assert looked_for == [None]


def test_a_python_that_was_named_must_have_a_torch(source: Path) -> None:
    with Workspace("/other/python") as workspace, pytest.raises(PtexploreError, match="there is no torch"):
        workspace.sources()


def test_with_neither_torch_nor_checkout_there_is_nothing_to_search() -> None:
    with Workspace() as workspace:
        assert workspace.sources(needed=False) == (None, [])
        with pytest.raises(PtexploreError, match="there is no torch"):
            _ = workspace.trees


def test_an_index_is_built_once_and_progress_says_so(source: Path, open_one: Open, told: Told) -> None:
    first = open_one()
    assert first.trees_at_hand() == ([], ["mini"]), "nothing is built to see what is there"
    assert told.titles == []
    assert [indexed.tree.info.name for indexed in first.trees] == ["mini"]
    assert told.titles == FIRST_USE
    assert [indexed.tree.info.name for indexed in open_one().trees_at_hand()[0]] == ["mini"]
    assert told.titles == FIRST_USE


def test_the_page_of_a_folder_waits_for_no_index(source: Path, open_one: Open, told: Told, tmp_path: Path) -> None:
    page = open_one().unindexed_page("aten")
    assert page is not None
    assert told.titles == []
    assert len(open_one().trees) == 1
    assert open_one().unindexed_page("aten") is None
    other = tmp_path / "mine"
    other.mkdir()
    (other / "mine.cpp").write_text("int mine(int a) { return a; }\n", encoding="utf-8")
    Workspace().fetch(Request(str(other), project="mine", named=True), Quiet())
    again = open_one()
    assert again.trees_at_hand()[1] == ["mine"]
    assert again.unindexed_page("aten") == page, "a new source has no index yet, and the page needs none"
    assert told.titles == FIRST_USE


def test_a_tree_that_is_not_in_use_is_refused_before_anything_is_built(
    source: Path, open_one: Open, told: Told
) -> None:
    with pytest.raises(PtexploreError, match="no tree in use is called v9") as refused:
        _ = open_one(None, "v9").trees
    assert (refused.value.exit_code, refused.value.why, told.titles) == (USAGE, "the trees in use are mini", [])


def test_what_is_found_shown_and_used_stands_where_the_file_has_it(source: Path, open_one: Open) -> None:
    workspace = open_one()
    view = workspace.find("mix", kind="function")
    (symbols,) = view.groups
    place = symbols.hits[0].spot
    assert place is not None
    assert (symbols.hits[0].name, place.ref.path, place.ref.line) == ("at::native::mix", MIX_PATH, 2)
    assert workspace.locate(place) == (str(source / MIX_PATH), 2)
    (page,) = workspace.show("at::native::stir").pages
    assert list(page.lines) == [MIX.split("\n")[2]]
    uses = workspace.refs("at::native::mix")
    assert {use.spot.ref.line for group in uses.groups for use in group.uses} == {3}


def test_what_fits_nothing_is_an_error_that_names_what_was_searched(source: Path, open_one: Open) -> None:
    with pytest.raises(PtexploreError, match="nothing matches xyzzyq") as refused:
        open_one().find("xyzzyq")
    assert "mini" in refused.value.why


def test_notes_that_cannot_be_read_are_a_notice_and_the_answer_is_there(
    source: Path, here: Path, open_one: Open, told: Told
) -> None:
    (here / "ptexplore.toml").write_text('notes = ["gone"]\n')
    view = open_one().find("mix")
    assert view.groups
    (notice,) = told.notices
    assert notice.startswith("notes are not shown: the folder of notes gone does not exist")


def test_a_folder_used_in_place_is_read_again_for_notes(source: Path, open_one: Open, told: Told) -> None:
    _ = open_one().trees
    (source / MIX_PATH).write_text(f"\n\n{MIX}")
    checkout = open_one().main_tree.checkout
    assert checkout is not None
    index = open_index(checkout)
    assert index is not None
    assert [symbol.line for symbol in index.definitions("at::native::stir")] == [5]


def test_an_index_of_another_source_of_that_name_is_not_used(source: Path, tmp_path: Path, open_one: Open) -> None:
    (checkout,) = open_one().sources()[1]
    _ = open_one().trees
    assert open_index(checkout) is not None
    assert open_index(replace(checkout, root=str(tmp_path / "other"))) is None


def test_what_was_opened_is_closed(source: Path) -> None:
    with Workspace() as workspace:
        (indexed,) = workspace.trees
        apart = workspace.apart()
        assert apart.trees[0].store is not indexed.store
    with pytest.raises(StaleIndex) as closed:
        indexed.store.files()
    assert "closed database" in closed.value.why
    assert apart.trees[0].store.files()
    apart.close()


def test_completion_builds_nothing(source: Path, open_one: Open) -> None:
    (checkout,) = open_one().sources()[1]
    assert list(names(("name", "file"), "mix", 10)) == []
    assert not index_of(checkout).exists()
    _ = open_one().trees
    assert "at::native::mix" in list(names(("name",), "at::native::mi", 10))
    assert "Mix.cpp" in list(names(("file",), "Mix", 10))


def test_no_tour_behind_a_link_out_of_the_notes_completes_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "project/notes").mkdir(parents=True)
    for folder, name in (("secret", "private-diary"), ("project/notes", "private-note")):
        (tmp_path / folder / "a.md").write_text(f"---\nid: {name}\ntitle: T\n---\n")
    (tmp_path / "project/notes/tours").symlink_to(tmp_path / "secret")
    monkeypatch.chdir(tmp_path / "project")
    assert [*tours([], "private")] == [("private-note", "T")]
