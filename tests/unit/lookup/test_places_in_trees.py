"""A search names the place that `show` opens: the first tree that has a thing, however many other things it has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ptexplore.lookup.find import find
from ptexplore.lookup.gathering import FindQuery
from ptexplore.lookup.targets import candidates
from ptexplore.lookup.trees import IndexedTree
from tests import small_source

MANY = "".join(f"namespace n{number} {{ int mix(int a) {{ return a; }} }}\n" for number in range(250))
LAST = "namespace the_last_one {\nint mix(int a) { return a; }\nint mix(float a) { return 1; }\n}\n"


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> list[IndexedTree]:
    """Two trees with one function: in the first one, hundreds of others come before it."""
    folder = tmp_path_factory.mktemp("trees")
    files = {"c10/Last.cpp": LAST, "c10/core/Mixed.h": "#pragma once\n"}
    small_source.write(folder / "one", {"c10/Many.cpp": MANY, **files})
    small_source.write(folder / "two", {**files, "c10/Last.cpp": f"// moved\n{LAST}"})
    one, two = (small_source.indexed(Path(folder / name)) for name in ("one", "two"))
    return [replace(tree, tree=replace(tree.tree, info=replace(tree.tree.info, name=name)))
            for tree, name in ((one, "one"), (two, "two"))]  # fmt: skip


def test_a_function_that_the_first_tree_did_not_look_at_is_there_too(trees: list[IndexedTree]) -> None:
    view = find(trees, None, "mix", FindQuery(limit=300))
    hits = [hit for group in view.groups for hit in group.hits if hit.name == "the_last_one::mix"]
    assert [(hit.spot.tree.name, hit.spot.ref.line, [spot.ref.line for spot in hit.also]) for hit in hits] == [
        ("one", 2, [3]),
        ("one", 3, [4]),
    ]
    shown = candidates(trees, None, "the_last_one::mix")
    assert [hit.spot for hit in hits] == [candidate.spot for candidate in shown]


def test_a_file_has_its_place_in_every_tree(trees: list[IndexedTree]) -> None:
    (hit,) = (hit for hit in find(trees, None, "Mixed.h", FindQuery()).best if hit.kind == "file")
    assert (hit.spot.tree.name, [spot.tree.name for spot in hit.also]) == ("one", ["two"])
