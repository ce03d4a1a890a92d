"""The notes on the trees at hand, for commands that show them beside something else: from the cache where they are."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ptexplore.errors import PtexploreError

if TYPE_CHECKING:
    from ptexplore.annotations.load import Layer
    from ptexplore.annotations.marks import Mark
    from ptexplore.cli.ready import Indexed
    from ptexplore.resolve.lookup import Lookup
    from ptexplore.source.tree import SourceTree
    from ptexplore.store.index_store import IndexStore
    from ptexplore.view.noted import Noted


def on_trees(trees: Iterable[Indexed]) -> Noted:
    """The marks of each of PyTorch's trees, by its name. What is wrong with a project's notes is said on stderr."""
    given = [(one.tree, one.store) for one in trees if one.checkout is None or one.checkout.project == "pytorch"]
    return _noted(given)


def on_lookup(lookup: Lookup) -> Noted:
    """The same for what a trace or a card looks into; the installed torch's own text where it is indexed."""
    from ptexplore.store.index_store import IndexStore

    sources = [one for one in lookup.sources if one.checkout is not None and one.checkout.project == "pytorch"]
    sources += [lookup.installed] if lookup.installed is not None else []
    return _noted([(one.tree, one.names) for one in sources if isinstance(one.names, IndexStore)])


def _noted(trees: list[tuple[SourceTree, IndexStore]]) -> Noted:
    from ptexplore.annotations.load import layers

    try:
        return marks_on(layers(), trees)
    except PtexploreError as error:
        from ptexplore.render.plain import clean

        print(clean(f"notes are not shown: {error.message} ({error.why})"), file=sys.stderr)
        return {}


def marks_on(folders: tuple[Layer, ...], trees: Sequence[tuple[SourceTree, IndexStore]]) -> Noted:
    """The marks of these folders' notes on each tree, by its name. Raises PtexploreError as `load` does."""
    return {tree.info.name: marks_of(folders, tree, store) for tree, store in trees}


def marks_of(folders: tuple[Layer, ...], tree: SourceTree, store: IndexStore) -> list[Mark]:
    """The stops of these folders on one tree: kept in the cache while neither changes."""
    from ptexplore.annotations.marks import key, read_marks

    name = key(folders, store.path)
    kept = read_marks(name)
    if kept is not None:
        return kept
    from ptexplore.annotations.load import load
    from ptexplore.annotations.marks import marks, write_marks

    found = marks(load(folders), tree, store)
    write_marks(name, found)
    return found
