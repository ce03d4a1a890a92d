"""Pages of folders: what is read of a file, what is wrong by line, and what a tree does not have."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptexplore.annotations.folders import load_folders, parse
from ptexplore.annotations.layers import layers

GOOD = """---
folder: aten/src/ATen
title: The tensor library
summary: operators and the dispatcher
baseline: v2.6.0
try: torch.add(a, b)
---

It is for `tensors`.

Second.

## Start here

1. `native/BinaryOps.cpp` at `at::native::add`: one
   operator, whole.
2. `/c10/core/TensorImpl.h`: what a tensor is.

## Folders

- `core/`: the dispatcher.

## Rarely needed

- `vulkan`: another device.

## In a build

One library.

## In 2.13.0

Less of it.
"""


def test_a_page_has_its_files_folders_and_sentences() -> None:
    page, problems = parse(GOOD.encode(), "f.md")
    assert page is not None
    assert problems == []
    assert (page.folder, page.title, page.expression) == ("aten/src/ATen", "The tensor library", "torch.add(a, b)")
    assert page.intro == "It is for `tensors`.\n\nSecond."
    files = [(entry.path, entry.symbol, entry.why, entry.where.line) for entry in page.start]
    assert files == [
        ("aten/src/ATen/native/BinaryOps.cpp", "at::native::add", "one operator, whole.", 15),
        ("c10/core/TensorImpl.h", "", "what a tensor is.", 17),
    ]
    folders = [(folder.path, folder.text, folder.rare) for folder in page.subfolders]
    assert folders == [
        ("aten/src/ATen/core", "the dispatcher.", False),
        ("aten/src/ATen/vulkan", "another device.", True),
    ]
    assert (page.build, page.newer) == ("One library.", (("2.13.0", "Less of it."),))


def test_the_page_of_the_whole_tree_is_that_of_no_folder() -> None:
    page, _problems = parse(GOOD.replace("folder: aten/src/ATen", 'folder: ""').encode(), "f.md")
    assert page is not None
    assert page.folder == ""
    assert [folder.path for folder in page.subfolders] == ["core", "vulkan"]


@pytest.mark.parametrize(
    ("change", "line", "text"),
    [
        (("title: The", "titel: The"), 3, "'titel' is not a key"),
        (("baseline: v2.6.0", "baseline: 2.6"), 5, "the baseline must be the release"),
        (("folder: aten/src/ATen", "folder: ../aten"), 2, "is not a path inside the tree"),
        (("It is for `tensors`.\n\nSecond.\n", ""), 7, "begins with the purpose of the folder"),
        (("## Folders", "## Follders"), 19, "'Follders' is not a section"),
        (("`core/`: the", "core: the"), 21, "write an entry as `path`: a sentence"),
        (("`core/`: the", "`core/../..`: the"), 21, "write an entry as `path`: a sentence"),
        (("`core/`: the", "`core` at `x`: the"), 21, "an entry for a folder has no name"),
        (("It is for", "<b>It is for"), 9, "raw HTML"),
        (("It is for", "[it](javascript:x) is for"), 9, "a link to javascript: is not allowed"),
        (("It is for", "It\x1b[2J is for"), 9, "the control character U+001B is left out"),
    ],
)
def test_what_is_wrong_is_told_by_line(change: tuple[str, str], line: int, text: str) -> None:
    assert change[0] in GOOD
    _page, problems = parse(GOOD.replace(*change).encode(), "f.md")
    assert [(problem.where.line, text in problem.text) for problem in problems] == [(line, True)], problems


def test_a_later_layer_replaces_a_page_and_one_layer_has_one_a_folder(tmp_path: Path) -> None:
    for name, title in (("a/folders/x.md", "First"), ("a/folders/y.md", "Twice"), ("b/folders/x.md", "Later")):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(GOOD.replace("The tensor library", title), encoding="utf-8")
    (tmp_path / "b/folders/link.md").symlink_to(tmp_path / "a/folders/x.md")
    pages = load_folders(layers(["a", "b"], tmp_path, shipped=False))
    assert pages.pages["aten/src/ATen"].title == "Later"
    assert [problem.text for problem in pages.problems] == [
        "the folder 'aten/src/ATen' already has the page a/folders/x.md",
        "it cannot be read: Too many levels of symbolic links",
    ]


def test_a_folder_has_the_sentence_of_the_page_around_it_else_its_own() -> None:
    page, _problems = parse(GOOD.encode(), "f.md")
    pages = load_folders(())
    assert page is not None
    pages.pages[page.folder] = page
    core, own = pages.sentence("aten/src/ATen/core"), pages.sentence("aten/src/ATen")
    assert core is not None
    assert core.text == "the dispatcher."
    assert own is not None
    assert own.text == "operators and the dispatcher"
    assert pages.sentence("c10") is None
