"""The index of each source, a checkout or an installed torch: where it lies, opened, built, brought up to date."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from ptexplore.workspace.installed_torch import Watch, open_catalogue

if TYPE_CHECKING:
    from pathlib import Path

    from ptexplore.index.build import Built
    from ptexplore.index.reading_plan import IndexInput
    from ptexplore.model.places import Checkout, Runtime
    from ptexplore.source.listing import Listed
    from ptexplore.source.progress import Progress
    from ptexplore.source.tree import Relation
    from ptexplore.store.index.reader import IndexStore
    from ptexplore.view.trees import IndexedTree


def index_of(source: Checkout | Runtime) -> Path:
    """The index's file of a checkout or an installed torch."""
    from ptexplore.locations import index_file
    from ptexplore.model.places import Runtime

    return index_file(f"runtime-{source.key}" if isinstance(source, Runtime) else f"checkout-{source.name}")


def open_index(source: Checkout | Runtime) -> IndexStore | None:
    """The index of `source`; None if there is none, or it is damaged, or of another source of that name."""
    from ptexplore.store.index.reader import IndexStore, StaleIndex

    try:
        index = IndexStore.open(index_of(source))
        if index.meta("source") == _identity(source):
            return index
    except (FileNotFoundError, StaleIndex):
        return None
    index.close()
    return None


def open_tree(source: Checkout | Runtime, runtime: Runtime | None) -> IndexedTree:
    """The tree of `source` with its index, and how it relates to `runtime`. Raises PtexploreError without an index."""
    from ptexplore.model.places import Runtime
    from ptexplore.source.tree import checkout_tree, runtime_tree
    from ptexplore.view.trees import IndexedTree

    index = opened(source)
    if isinstance(source, Runtime):
        return IndexedTree(runtime_tree(source), index, None)
    return IndexedTree(checkout_tree(source, _relation(source, index, runtime)), index, source)


def opened(source: Checkout | Runtime) -> IndexStore:
    """The index of `source`, which was just built. Raises PtexploreError if it cannot be read."""
    from ptexplore.errors import MISSING, PtexploreError

    index = open_index(source)
    if index is None:
        why = str(index_of(source))
        raise PtexploreError("the index was built and cannot be read", why, "ptexplore index", MISSING)
    return index


def fresh_index(
    checkout: Checkout, runtime: Runtime | None, watch: Watch, listed: list[Listed] | None = None
) -> IndexStore:
    """The index of one checkout, built now, with progress, if there is none. Raises PtexploreError as `refresh` does.

    A folder used in place is read again if it changed, so that lines are those of its text now. `listed` are its
    files, if the caller listed them just now.
    """
    from ptexplore.index.reading_plan import is_fresh
    from ptexplore.source.fetch.checkouts import is_in_place
    from ptexplore.source.progress import Silent

    index = open_index(checkout)
    if index is not None and (
        not is_in_place(checkout) or is_fresh(_to_index(checkout, runtime, Silent(), listed), index.path)
    ):
        return index
    with watch("this source has no index yet, or changed: indexing it") as progress:
        refresh(checkout, runtime, progress)
    return opened(checkout)


def refresh(source: Checkout | Runtime, runtime: Runtime | None, progress: Progress, jobs: int | None = None) -> Built:
    """Bring the index of `source` up to date, made anew if it must be. Raises PtexploreError as `build` does.

    The record of a folder used in place follows: it may have another commit, or text that is no commit's.
    """
    from ptexplore.index.build import build
    from ptexplore.model.places import Checkout
    from ptexplore.source.fetch.install import recheck_listed

    listed = None
    if isinstance(source, Checkout):
        source, listed = recheck_listed(source)
        done = _unchanging(source)
        if done is not None:
            return done
    return build(_to_index(source, runtime, progress, listed), index_of(source), jobs=jobs, progress=progress)


def _unchanging(checkout: Checkout) -> Built | None:
    """What a refresh of a checkout in the cache comes to when its index is whole: nobody edits one there."""
    from ptexplore.index.build import Built
    from ptexplore.source.fetch.checkouts import is_in_place

    index = None if is_in_place(checkout) or checkout.project != "pytorch" else open_index(checkout)
    if index is None or index.meta("unread") not in (None, "[]"):
        return None
    return Built(0, index.counts()["files"], 0, (), anew=False, seconds=0.0)


def _to_index(
    source: Checkout | Runtime, runtime: Runtime | None, progress: Progress, listed: list[Listed] | None = None
) -> IndexInput:
    """What to index of `source`; `listed` are its files, if the caller listed them just now."""
    from ptexplore.index.reading_plan import IndexInput
    from ptexplore.locations import read_ahead_file
    from ptexplore.model.places import Runtime
    from ptexplore.source.fetch.checkouts import current
    from ptexplore.source.listing import files_of
    from ptexplore.source.runtime import generated

    if isinstance(source, Runtime):
        folder = generated.ensure(source, progress)
        ahead = read_ahead_file(f"runtime-{source.key}")
        return IndexInput("runtime", _identity(source), files_of(source, folder), read_ahead=ahead)
    headers = []
    if source.project != "pytorch":  # its files use the macros of PyTorch's headers
        pytorch = current(runtime) or runtime
        headers = files_of(pytorch) if pytorch is not None else []
    return IndexInput(source.name, _identity(source), files_of(source) if listed is None else listed, headers)


def _identity(source: Checkout | Runtime) -> str:
    """What tells this source from another one of its name."""
    from ptexplore.model.places import Runtime
    from ptexplore.source.fetch.checkouts import is_in_place

    if isinstance(source, Runtime):
        return source.key
    if is_in_place(source):  # its commit may change under the same files
        return f"{source.project} {source.root}"
    return f"{source.project} {source.kind} {source.root} {source.commit} {source.sha256}"


def _relation(checkout: Checkout, index: IndexStore, runtime: Runtime | None) -> Relation:
    """How a checkout relates to the torch at hand; the least is claimed if that torch has no catalogue yet."""
    from ptexplore.resolve.places.relation import known, relate
    from ptexplore.source.tree import checkout_tree

    if runtime is None:
        return "version-skew"
    decision = known(checkout, runtime)
    catalogue = open_catalogue(runtime) if decision is None else None
    if catalogue is not None:
        with closing(catalogue):
            decision = relate(checkout, runtime, checkout_tree(checkout), catalogue, index).decision
    return decision.word if decision is not None else "version-skew"
