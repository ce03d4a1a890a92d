"""A small tree of our own with its index, and versions of it that differ, to place anchors on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ptexplore.annotations.anchors import Resolver
from ptexplore.index.build import build
from ptexplore.index.reading_plan import IndexInput
from ptexplore.model.places import Checkout
from ptexplore.source.listing import files_of
from ptexplore.source.tree import checkout_tree
from ptexplore.store.index.reader import IndexStore
from tests import searched_source

MakeTree = Callable[[dict[str, str]], Resolver]


@pytest.fixture
def make_tree(tmp_path: Path) -> MakeTree:
    """Write the small tree with these files instead of its own (one that is empty is left out), and index it."""
    count = 0

    def make(files: dict[str, str]) -> Resolver:
        nonlocal count
        count += 1
        root = tmp_path / f"tree{count}"
        for name, text in (searched_source.FILES | files).items():
            if text:
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text, encoding="utf-8")
        checkout = Checkout("mini", "folder", str(root), str(root), version="2.99.0")
        target = tmp_path / f"tree{count}.sqlite"
        build(IndexInput("mini", str(root), files_of(checkout)), target, jobs=1)
        return Resolver(checkout_tree(checkout), IndexStore.open(target))

    return make
