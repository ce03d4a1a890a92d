"""Notes on the tree in use: where they are, what would be pinned, what a new one begins with."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ptexplore.errors import USAGE, PtexploreError
from ptexplore.workspace.workspace import Workspace
from tests.unit.workspace.conftest import MIX_PATH, Told

Open = Callable[..., Workspace]
NOTE = f"""---
id: mixing
title: Mixing
baseline: v2.99.0
---

## How it mixes {{#mix}}

```anchor
path: {MIX_PATH}
symbol: %s
```

It mixes.
"""


@pytest.fixture
def notes(source: Path, here: Path) -> Path:
    """A folder with one note, on a tree that is its baseline."""
    (source / "version.txt").write_text("2.99.0\n")
    folder = here / "mine"
    folder.mkdir()
    (folder / "mixing.md").write_text(NOTE % "at::native::stir")
    return folder


def mine(open_one: Open, notes: Path) -> Workspace:
    """A workspace of that folder's notes alone."""
    from ptexplore.annotations.layers import layers
    from ptexplore.annotations.load import load

    workspace = open_one(notes=[str(notes)])
    workspace.library = load(layers([str(notes)], shipped=False))
    return workspace


def test_an_anchor_is_placed_on_the_tree_in_use(notes: Path, open_one: Open) -> None:
    view = mine(open_one, notes).check_notes()
    (anchor,) = view.anchors
    assert (anchor.resolved.path, anchor.resolved.line, anchor.resolved.outcome) == (MIX_PATH, 3, "unpinned")
    assert view.labs is None


def test_a_stop_that_is_not_there_is_refused_before_a_tree_is_opened(notes: Path, open_one: Open, told: Told) -> None:
    with pytest.raises(PtexploreError, match="there is no tour or stop nope") as refused:
        mine(open_one, notes).check_notes(["nope"])
    assert (refused.value.exit_code, told.titles) == (USAGE, [])


def test_what_is_pinned_is_where_the_anchor_is_now(notes: Path, open_one: Open) -> None:
    (lock,) = mine(open_one, notes).plan_pins().locks
    assert (lock.old, lock.anchors, lock.refused, lock.changes) == ("", 1, (), True)
    assert lock.file == notes / "anchors.lock"
    assert not lock.file.exists(), "a plan writes nothing"
    lock.file.write_text(lock.text)
    workspace = mine(open_one, notes)
    assert not workspace.plan_pins().locks[0].changes, "the same is pinned again"
    assert [anchor.resolved.outcome for anchor in workspace.check_notes().anchors] == ["exact"]


def test_an_anchor_that_has_no_place_is_refused_and_one_of_another_release_is_left(notes: Path, open_one: Open) -> None:
    (notes / "mixing.md").write_text(NOTE % "at::native::gone")
    (lock,) = mine(open_one, notes).plan_pins().locks
    assert (lock.changes, len(lock.refused)) == (False, 1)
    assert "mixing#mix is lost" in lock.refused[0]
    (notes / "mixing.md").write_text((NOTE % "at::native::stir").replace("v2.99.0", "v1.0.0"))
    plan = mine(open_one, notes).plan_pins()
    assert (dict(plan.elsewhere), plan.locks[0].changes) == ({"v1.0.0": 1}, False)


def test_a_new_note_is_anchored_to_the_symbol(notes: Path, open_one: Open) -> None:
    note = open_one().new_note("at::native::stir")
    assert note.id == "stir"
    assert f"path: {MIX_PATH}\nsymbol: stir\n" in note.text
    assert open_one().new_note(f"{MIX_PATH}:3", "mine").id == "mine"
    with pytest.raises(PtexploreError, match=r"Mix\.cpp is a whole file"):
        open_one().new_note(MIX_PATH)
    with pytest.raises(PtexploreError, match="nothing has the name xyzzyq"):
        open_one().new_note("xyzzyq")


@pytest.mark.parametrize("what", ["a link", "a link to nothing", "a FIFO", "a folder"])
def test_a_lock_that_is_no_file_is_never_written_over(
    notes: Path, open_one: Open, tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever put a link there would have any file of yours written over."""
    lock, victim = notes / "anchors.lock", tmp_path / "victim"
    if what == "a link":
        victim.write_text("export PATH=x\n")
    if what.startswith("a link"):
        lock.symlink_to(victim)
    elif what == "a FIFO":
        os.mkfifo(lock)
    else:
        lock.mkdir()
    workspace = mine(open_one, notes)
    with pytest.raises(PtexploreError, match=r"anchors.lock cannot be written") as refused:
        workspace.plan_pins()
    assert refused.value.exit_code == USAGE
    assert victim.exists() is (what == "a link")
    assert what != "a link" or victim.read_text() == "export PATH=x\n"


def test_a_lock_that_cannot_be_read_is_not_taken_for_none(
    notes: Path, open_one: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    (notes / "anchors.lock").write_text("{}")

    def refuse(file: Path, most: int) -> bytes:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(file))

    workspace = mine(open_one, notes)
    monkeypatch.setattr("ptexplore.workspace.anchor_pins.read_bytes", refuse)
    with pytest.raises(PtexploreError, match=r"anchors.lock cannot be read"):
        workspace.plan_pins()
