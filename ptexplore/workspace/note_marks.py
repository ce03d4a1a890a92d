"""Where the stops of notes are on trees: from the cache if neither the notes nor the index changed since."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptexplore.annotations.load import Layer
    from ptexplore.annotations.marks import Mark
    from ptexplore.resolve.places.lookup import Lookup
    from ptexplore.source.tree import SourceTree
    from ptexplore.store.index.reader import IndexStore
    from ptexplore.view.notes.noted import Noted
    from ptexplore.view.trees import IndexedTree


def marks_on_trees(folders: tuple[Layer, ...], trees: Iterable[IndexedTree]) -> Noted:
    """The marks of these folders' notes on each of PyTorch's trees, by its name. Raises PtexploreError as `load` does.

    Notes are about PyTorch's source: an extension's own tree has none.
    """
    from ptexplore.view.trees import project

    return {
        indexed.tree.info.name: marks_of(folders, indexed.tree, indexed.store)
        for indexed in trees
        if project(indexed) == "pytorch"
    }


def marks_on_lookup(folders: tuple[Layer, ...], lookup: Lookup) -> Noted:
    """The same for what a trace or a card looks into; the installed torch's own text if it is indexed."""
    from ptexplore.store.index.reader import IndexStore

    sources = [source for source in lookup.sources if source.checkout and source.checkout.project == "pytorch"]
    sources += [lookup.installed] if lookup.installed is not None else []
    return {
        source.tree.info.name: marks_of(folders, source.tree, source.names)
        for source in sources
        if isinstance(source.names, IndexStore)
    }


def marks_of(folders: tuple[Layer, ...], tree: SourceTree, store: IndexStore) -> list[Mark]:
    """The stops of these folders on one tree: kept in the cache while neither changes."""
    from ptexplore.annotations.marks import key, read_marks

    name = key(folders, store.path)
    kept = read_marks(name)
    if kept is not None:
        return kept
    from ptexplore.annotations.load import load
    from ptexplore.annotations.marks import marks, write_marks

    placed = marks(load(folders), tree, store)
    write_marks(name, placed)
    return placed
