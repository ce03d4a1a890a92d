"""Notes come in layers; what is wrong with one file leaves all others; locks and trust are by content."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ptexplore.annotations import blocks
from ptexplore.annotations.folders import load_folders
from ptexplore.annotations.kept import keep
from ptexplore.annotations.layers import Layer, layers, shipped_folder
from ptexplore.annotations.load import NoteLibrary, load
from ptexplore.annotations.lock import LockEntry, lock_text, read_lock
from ptexplore.annotations.marks import kept_marks
from ptexplore.annotations.topics import kept_topics
from ptexplore.annotations.trust import forget_files, may_run, trust, trusted
from ptexplore.errors import MISSING, PtexploreError
from ptexplore.locations import trust_file
from tests.unit.annotations.conftest import MakeTree


def note(name: str, title: str = "A title", more: str = "") -> str:
    return f"""---
id: {name}
title: {title}
baseline: v2.6.0
---

## Here {{#here}}

```anchor
path: c10/core/Blend.h
symbol: Blend
{more}```
"""


def tour(name: str, more: str = "") -> str:
    return note(name, more=more).replace("baseline:", "level: core\nsummary: s\nbaseline:")


def put(folder: Path, name: str, text: str | bytes) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def loaded(folder: Path, **more: bool) -> NoteLibrary:
    return load([Layer(folder, "notes", **more)])


def said(library: NoteLibrary) -> list[str]:
    return [f"{problem.where}: {problem.text}" for problem in library.problems]


def test_tours_notes_and_what_is_neither(tmp_path: Path) -> None:
    put(tmp_path, "tours/one.md", tour("one"))
    put(tmp_path, "notes/two.md", note("two"))
    put(tmp_path, "three.md", note("three"))
    put(tmp_path, "README.md", "# not a note\n")
    put(tmp_path, "concepts.md", "# not a note\n")
    put(tmp_path, "notes/picture.svg", "<svg/>")
    put(tmp_path, "other/four.md", note("four"))
    library = loaded(tmp_path)
    assert said(library) == []
    assert {one.id: one.kind for one in library.tours.values()} == {"one": "tour", "two": "note", "three": "note"}
    assert [tour.name_of(stop) for tour, stop in library.stops()] == ["one#here", "three#here", "two#here"]
    found = library.stop("two#here")
    assert found is not None
    assert found[0].where.file == "notes/notes/two.md"
    assert library.stop("two#there") is None


def test_one_bad_file_leaves_the_rest(tmp_path: Path) -> None:
    put(tmp_path, "a.md", "---\nid: [\n---\n")
    put(tmp_path, "b.md", note("good"))
    put(tmp_path, "c.md", note("good"))
    put(tmp_path, "d.md", b"---\nid: x\n\xff\n---\n")
    put(tmp_path, "e.md", b"x" * 10_000_000)
    put(tmp_path, "f.md", "no front matter\n")
    (tmp_path / "g.md").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "h.md")
    (tmp_path / "i.md").mkdir()
    library = loaded(tmp_path)
    assert list(library.tours) == ["good"]
    files = [problem.where.file.rsplit("/", 1)[1] for problem in library.problems]
    assert files == ["a.md", "c.md", "d.md", "e.md", "f.md", "g.md", "h.md", "i.md"]
    assert "notes/b.md already" in said(library)[1]
    assert "byte 10" in said(library)[2]


def test_a_folder_that_nobody_named_may_hold_other_markdown(tmp_path: Path) -> None:
    put(tmp_path, "shopping.md", "# milk\n")
    put(tmp_path, "mine.md", note("mine"))
    quiet, asked = loaded(tmp_path, quiet=True), loaded(tmp_path)
    assert (list(quiet.tours), said(quiet)) == (["mine"], [])
    assert len(said(asked)) == 1


def test_links_that_lead_nowhere_are_told(tmp_path: Path) -> None:
    put(tmp_path, "a.md", note("a", more="see: [b#here, b#gone, a#here]\n"))
    put(tmp_path, "b.md", note("b"))
    put(tmp_path, "tours/c.md", tour("c").replace("level:", "prerequisites: [a, zzz]\nlevel:"))
    text = said(loaded(tmp_path))
    assert len(text) == 2
    assert any("b#gone" in one and one.startswith("notes/a.md:12:") for one in text)
    assert any("'zzz'" in one for one in text)


def test_a_later_layer_replaces_and_brings_its_lock(tmp_path: Path) -> None:
    low, high = tmp_path / "low", tmp_path / "high"
    put(low, "a.md", note("a", "Low"))
    put(low, "b.md", note("b", "Low"))
    put(high, "a.md", note("a", "High"))
    for folder, names in ((low, ("a#here", "b#here", "zzz#here")), (high, ("b#here",))):
        entries = [LockEntry(name, "q", "v2.6.0", str(folder.name), "Blend", "class", 1, 2, "h") for name in names]
        (folder / "anchors.lock").write_text(lock_text(entries))
    library = load([Layer(low, "low"), Layer(high, "high")])
    assert {one.id: one.title for one in library.tours.values()} == {"a": "High", "b": "Low"}
    assert {name: entry.path for name, entry in library.entries.items()} == {"b#here": "low"}
    assert library.layer_of["a"].shown == "high"


def test_which_folders(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    assert [one.shown for one in layers((), tmp_path, shipped=False)] == []
    (tmp_path / "notes").mkdir()
    assert [(one.shown, one.quiet) for one in layers((), tmp_path, shipped=False)] == [("notes", True)]
    assert [one.shown for one in layers(("elsewhere/",), tmp_path, shipped=False)] == ["elsewhere"]
    put(tmp_path, "ptexplore.toml", 'notes = ["elsewhere"]\n')
    assert [one.shown for one in layers((), tmp_path, shipped=False)] == ["elsewhere"]
    put(tmp_path, "ptexplore.toml", 'notes = ["gone"]\n')
    with pytest.raises(PtexploreError) as caught:
        layers((), tmp_path)
    assert (caught.value.exit_code, "ptexplore.toml" in caught.value.why) == (MISSING, True)
    with pytest.raises(PtexploreError):
        layers(("gone",), tmp_path)
    first, *_ = layers((), tmp_path / "elsewhere") if not (tmp_path / "ptexplore.toml").unlink() else ()
    assert first.shipped
    assert first.root == shipped_folder()


# --- the lock ---


def test_a_lock_comes_back_and_holds_no_text(tmp_path: Path) -> None:
    entries = [
        LockEntry("b#x", "q", "v2.6.0", "c10/b.h", "c10::B", "class", 10, 20, "h", "o", 12, 12, "n", 4, 1),
        LockEntry("a#x", "q", "v2.6.0", "c10/a.h", "c10::A", "class", 1, 2, "h"),
    ]
    (tmp_path / "anchors.lock").write_text(lock_text(entries))
    back, problems = read_lock(tmp_path / "anchors.lock", "anchors.lock")
    assert problems == []
    assert list(back.values()) == sorted(entries, key=lambda one: one.stop)
    lines = lock_text(entries).splitlines()
    assert json.loads(lines[0]) == {"format": 1}
    assert "near" not in lines[1]
    assert read_lock(tmp_path / "gone", "gone") == ({}, [])


@pytest.mark.parametrize(
    "line, kept",
    [("{", 1), ("[]", 1), ('{"stop": "x"}', 1), ('{"stop": 3}', 1), ("null", 1), ('{"format": 1}', 1), ("[" * 9999, 1)],
)
def test_a_damaged_lock(tmp_path: Path, line: str, kept: int) -> None:
    good = lock_text([LockEntry("a#x", "q", "v2.6.0", "c10/a.h", "c10::A", "class", 1, 2, "h")])
    entries, problems = read_lock(put(tmp_path, "anchors.lock", f"{good}{line}\n"), "notes/anchors.lock")
    assert len(entries) == kept
    assert [str(problem.where) for problem in problems] == ["notes/anchors.lock:3"]
    entries, problems = read_lock(put(tmp_path, "anchors.lock", f"{line}\n{good}"), "l")
    assert (entries == {}) == (line != '{"format": 1}')
    assert problems


# --- trust ---


def test_trust_is_in_the_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTEXPLORE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PTEXPLORE_CONFIG", str(tmp_path / "cache"))
    put(tmp_path, "n/a.md", note("a"))
    first = loaded(tmp_path / "n").tours["a"]
    assert not may_run(first, trusted())
    trust([first])
    assert may_run(first, trusted())
    put(tmp_path, "n/a.md", note("a") + "\n")
    assert not may_run(loaded(tmp_path / "n").tours["a"], trusted()), "one byte more is another file"
    put(tmp_path, "n/a.md", note("a"))
    again = loaded(tmp_path / "n").tours["a"]
    assert may_run(again, trusted())
    forget_files([again.sha])
    assert not may_run(again, trusted())
    assert may_run(loaded(tmp_path / "n", shipped=True).tours["a"], {})
    for damaged in (b"{", b"[]", b'{"trusted": []}', b"\xff"):
        trust_file().write_bytes(damaged)
        assert trusted() == {}


def test_a_lock_is_not_read_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("words of somebody else's\n")
    (tmp_path / "anchors.lock").symlink_to(tmp_path / "secret")
    entries, problems = read_lock(tmp_path / "anchors.lock", "anchors.lock")
    assert entries == {}
    assert "cannot be read" in problems[0].text
    assert "words" not in str(problems)


@pytest.mark.parametrize("kept_back", ["notes/one.md", "notes", "folders/here.md", "folders", "concepts.md"])
def test_what_a_bad_disk_kept_back_once_is_there_in_the_next_run(
    kept_back: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_tree: MakeTree
) -> None:
    """Nothing that was made without it is kept: neither a search's topics nor the stops on a tree."""
    monkeypatch.setenv("PTEXPLORE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PTEXPLORE_CONFIG", str(tmp_path / "cache"))
    put(tmp_path, "notes/one.md", note("one").replace("c10/core/Blend.h", "aten/src/ATen/native/Mix.cpp"))
    (tmp_path / "notes/link.md").symlink_to("one.md")  # is never read: nothing that is told in each run
    put(tmp_path, "folders/here.md", "---\nfolder: aten\ntitle: T\nsummary: s\nbaseline: v2.6.0\n---\n\nText.\n")
    concept = '### Mixing {#mixing}\n\nWhy?\n\n```concept\nstops: ["one#here"]\n```\n'
    put(tmp_path, "concepts.md", f"# Concepts\n\n## Principles {{#principles}}\n\n{concept}")
    folders, resolver = [Layer(tmp_path, "notes")], make_tree({})
    file, told = tmp_path / kept_back, []

    def asked() -> tuple[list[str], list[str]]:
        placed = kept_marks(folders, lambda: load(folders), resolver.tree, resolver.store, told.append)
        return [topic.name for topic in kept_topics(folders, told.append)], [mark.stop for mark in placed]

    def failing(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: object, *given: Any, **named: Any) -> Any:
            if path == file:
                raise OSError(errno.EIO, os.strerror(errno.EIO), path)
            return real(path, *given, **named)

        return call

    with monkeypatch.context() as broken:
        broken.setattr(os, "open", failing(os.open))
        broken.setattr(os, "listdir", failing(os.listdir))
        without = asked()
    assert {(problem.where.file, problem.text) for problem in told} == {
        (f"notes/{kept_back}", "it cannot be read: Input/output error")
    }
    told.clear()
    whole = asked()
    assert whole == (["one#here", "mixing", "aten"], ["one#here"])
    assert not told
    assert without != whole
    monkeypatch.setattr("ptexplore.annotations.load.load", lambda _: pytest.fail("they are kept now"))
    assert asked() == whole
    assert not told


# --- links out of a folder of notes ---


def test_a_folder_that_is_a_link_is_read_only_where_it_stays_inside(tmp_path: Path) -> None:
    put(tmp_path / "elsewhere", "tours/secret.md", tour("secret"))
    put(tmp_path / "elsewhere", "folders/aten.md", "secret")
    put(tmp_path / "mine", "real/inside.md", tour("inside"))
    for name in ("tours", "notes", "folders"):
        (tmp_path / "mine" / name).symlink_to(tmp_path / "elsewhere" / name)
    library, pages = loaded(tmp_path / "mine"), load_folders([Layer(tmp_path / "mine", "notes")])
    assert not library.tours
    assert not pages.pages
    wanted = "it cannot be read: it is a link that leads out of the folder of notes"
    assert said(library) == [f"notes/tours:1: {wanted}", f"notes/notes:1: {wanted}"]
    assert [f"{problem.where}: {problem.text}" for problem in pages.problems] == [f"notes/folders:1: {wanted}"]
    (tmp_path / "mine/tours").unlink()
    (tmp_path / "mine/tours").symlink_to("real")
    assert list(loaded(tmp_path / "mine").tours) == ["inside"]


def test_notes_that_lead_elsewhere_are_read_where_somebody_names_them(tmp_path: Path) -> None:
    put(tmp_path / "elsewhere", "tours/secret.md", tour("secret"))
    project = tmp_path / "project"
    project.mkdir()
    (project / "notes").symlink_to("../elsewhere")
    with pytest.raises(PtexploreError, match="the folder notes is not read") as refused:
        layers(start=project, shipped=False)
    assert refused.value.hint == "--notes notes allows it"
    assert list(load(layers(["notes"], start=project, shipped=False)).tours) == ["secret"]


@pytest.mark.parametrize("link", [False, True])
def test_only_what_was_kept_of_notes_is_let_go(tmp_path: Path, link: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache may come from others, and its folder of notes may be a link to a folder of yours."""
    monkeypatch.setenv("PTEXPLORE_CACHE", str(tmp_path / "cache"))
    yours, kept_in = tmp_path / "yours", tmp_path / "cache/notes"
    (kept_in.parent if link else kept_in).mkdir(parents=True)
    if link:
        yours.mkdir()
        kept_in.symlink_to(yours)
    names = [f"data{n}.json" for n in range(60)] + [f"{n:032x}.json" for n in range(60)]
    for number, name in enumerate(names):
        (kept_in / name).write_text("{}")
        os.utime(kept_in / name, (number, number))
    keep("f" * 32, "marks", [], [], lambda _problem: None)
    left = {file.name for file in kept_in.iterdir()}
    assert left == {*names, f"{'f' * 32}.json"} if link else left == {*names[:60], *names[71:], f"{'f' * 32}.json"}


def test_notes_of_a_folder_have_a_limit_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file has one; a folder of many that are as long as one may be would still keep every command."""
    one = len(note("a"))
    for module in ("load", "folders"):
        monkeypatch.setattr(f"ptexplore.annotations.{module}.LARGEST_FOLDER", 2 * one + 1)
    for name in "abc":
        put(tmp_path, f"{name}.md", note(name))
        put(
            tmp_path,
            f"folders/{name}.md",
            f"---\nfolder: {name}\ntitle: t\nsummary: s\nbaseline: v2.6.0\n---\n".ljust(one),
        )
    library, pages = loaded(tmp_path), load_folders([Layer(tmp_path, "notes")])
    assert set(library.tours) == {"a", "b"}
    assert said(library) == [f"notes:1: more than {2 * one + 1} bytes of notes: the other files are left out"]
    assert set(pages.pages) == {"a", "b"}
    assert pages.problems[-1].text == f"more than {2 * one + 1} bytes of pages: the other pages are left out"


def test_the_blocks_of_all_folders_have_a_limit_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """YAML is read slowly: 8 MB of it took 95 s. What is over is told, and each reading begins anew."""
    monkeypatch.setattr(blocks, "LARGEST_TOGETHER", 400)
    for name in ("one", "two", "three"):
        (tmp_path / name / "tours").mkdir(parents=True)
        block = f"```anchor\npath: a.cpp\nsymbol: {'b' * 100}\n```\n"
        front = f"---\nid: {name}\ntitle: T\nlevel: core\nsummary: s\nbaseline: v2.6.0\n---\n\nA tour.\n\n"
        (tmp_path / name / "tours/a.md").write_text(f"{front}## A {{#a}}\n\n{block}\nText.\n")
    layers = [Layer(tmp_path / name, name) for name in ("one", "two", "three")]
    for _ in range(2):
        library = load(layers)
        assert [*library.tours] == ["one", "two"]
        assert any("more than 400 characters" in str(problem) for problem in library.problems)
    assert load(layers[2:]).tours["three"].stops
