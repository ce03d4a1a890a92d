"""Which lines of a symbol stand beside a stop."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from ptexplore.annotations.layers import Layer
from ptexplore.annotations.load import NoteLibrary, load
from ptexplore.annotations.lock import LockEntry
from ptexplore.index.build import build
from ptexplore.index.reading_plan import IndexInput
from ptexplore.model.places import Checkout
from ptexplore.source.listing import files_of
from ptexplore.source.tree import SourceTree, checkout_tree
from ptexplore.store.index.reader import IndexStore
from ptexplore.view.notes.tour import Guide
from tests import searched_source

LONG = "aten/src/ATen/native/Long.cpp"
TEXT = "namespace at {\n// what it is for\n// and why\nint long_one(int a) {\n" + "".join(
    f"  a += {n};\n" if n != 60 else "  a += meant_here(a);\n" for n in range(100)
)
NOTE = """---
id: n
title: T
baseline: v2.99.0
---

## Whole {#whole}

```anchor
path: %(path)s
symbol: at::long_one
```

## Token {#token}

```anchor
path: %(path)s
symbol: at::long_one
token: meant_here
```

## Lines {#lines}

```anchor
path: %(path)s
symbol: at::long_one
lines: [90, 95]
```

## Short {#short}

```anchor
path: aten/src/ATen/native/Mix.cpp
symbol: at::native::use
```
"""


@dataclass(frozen=True)
class Tree:
    tree: SourceTree
    store: IndexStore
    checkout: Checkout | None


@pytest.fixture
def guide(tmp_path: Path) -> Guide:
    root = searched_source.write(tmp_path / "mini")
    (root / LONG).write_text(TEXT + "  return a;\n}\n}\n")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/n.md").write_text(NOTE.replace("%(path)s", LONG))
    checkout = Checkout("mini", "folder", str(root), str(root), version="2.99.0")
    build(IndexInput("mini", str(root), files_of(checkout)), tmp_path / "i.sqlite", jobs=1)
    library: NoteLibrary = load([Layer(tmp_path / "notes", "notes")])
    assert not library.problems
    return Guide(library, [Tree(checkout_tree(checkout), IndexStore.open(tmp_path / "i.sqlite"), checkout)], "2.13.0")


@pytest.mark.parametrize("room", [3, 5, 12, 24, 60, 200])
@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_what_is_meant_is_always_among_the_lines(guide: Guide, number: int, room: int) -> None:
    tour = guide.library.tours["n"]
    view = guide.stop(tour, number)
    excerpt = guide.excerpt(view, room)
    assert excerpt is not None
    assert len(excerpt.lines) <= room
    first, last = excerpt.first, excerpt.first + len(excerpt.lines) - 1
    assert first <= excerpt.marked[0] <= last
    lines = guide.trees[0].tree.lines(view.resolved.path)
    assert list(excerpt.lines) == lines[first - 1 : last]
    whole = (view.resolved.begin, view.resolved.symbol_end)
    assert bool(excerpt.cut) == (first > whole[0] or last < whole[1])
    if excerpt.token is not None:
        assert excerpt.token in lines[excerpt.marked[0] - 1]


def test_the_comment_above_comes_with_a_symbol_that_fits(guide: Guide) -> None:
    excerpt = guide.excerpt(guide.stop(guide.library.tours["n"], 1), 150)
    assert excerpt is not None
    assert "// what it is for" in excerpt.lines
    short = guide.excerpt(guide.stop(guide.library.tours["n"], 4), 40)
    assert short is not None
    assert len(short.lines) >= 12, "one line is read with what is around it"


def test_a_tree_that_is_not_what_runs_says_so(guide: Guide) -> None:
    view = guide.stop(guide.library.tours["n"], 1)
    assert any("the installed torch is 2.13.0" in fact for fact in view.facts)


def test_stops_without_source_are_counted_only_where_no_source_of_pytorch_is(guide: Guide) -> None:
    tour = guide.library.tours["n"]
    anchor = replace(tour.stops[0].anchor, path="torch/lib/NotHere.mm")
    tour = replace(tour, stops=(replace(tour.stops[0], anchor=anchor), *tour.stops[1:]))
    assert guide.without_source(tour) == 0, "a checkout that lacks a file is no reason to fetch"
    (tree,) = guide.trees
    wheel = replace(tree.tree, info=replace(tree.tree.info, relation="runtime", layers=("generated", "wheel")))
    installed = Guide(guide.library, [Tree(wheel, tree.store, None)], "2.13.0")
    assert installed.without_source(tour) == 1


def test_without_any_index_a_stop_has_its_text_and_no_place(guide: Guide) -> None:
    tour = guide.library.tours["n"]
    nowhere = Guide(guide.library, ())
    view = nowhere.stop(tour, 1)
    assert (view.stop, view.outcome, view.spot) == (tour.stops[0], "not indexed yet", None)
    assert nowhere.excerpt(view, 20) is None
    assert nowhere.without_source(tour) == 0, "nobody knows yet"


@pytest.mark.parametrize(
    ("outcome", "fact"),
    [
        ("changed", "the text differs from v2.99.0 (line 3 there), on which this stop was written"),
        ("moved", "same text at another place: line 3 in v2.99.0"),
    ],
)
def test_a_place_that_differs_names_the_release_of_its_tour_once(guide: Guide, outcome: str, fact: str) -> None:
    tour = guide.library.tours["n"]
    (tree,) = guide.trees
    runs = replace(tree.tree, info=replace(tree.tree.info, relation="runtime", version="3.1"))
    installed = Guide(guide.library, [Tree(runs, tree.store, None)], "3.1")
    _indexed, resolved = installed._resolve(tour, tour.stops[0])
    was = LockEntry("n#whole", "0", "v2.99.0", resolved.path, "at::long_one", "function", 3, 9, "0")
    facts = installed._facts(tour, replace(resolved, outcome=outcome, was=was), _indexed)
    assert facts == [fact]
    exact = installed._facts(tour, replace(resolved, outcome="exact", was=replace(was, line=resolved.line)), _indexed)
    assert exact == ["written on v2.99.0; this is mini 3.1"]
