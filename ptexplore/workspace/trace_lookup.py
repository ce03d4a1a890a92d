"""What a trace and an operator's card are resolved with: the installed torch, then checkouts, then the atlas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptexplore.workspace.installed_torch import Watch, unwatched
from ptexplore.workspace.tree_indexes import fresh_index, open_index

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ptexplore.cpp.conditions import Conditions
    from ptexplore.resolve.places.lookup import Lookup
    from ptexplore.resolve.places.sources import Source
    from ptexplore.view.health import CheckoutHealth
    from ptexplore.workspace.installed_torch import InstalledTorch


def open_lookup(torch: InstalledTorch, watch: Watch = unwatched) -> Lookup:
    """Everything that can say where something stands; a checkout without an index gets one now, with progress.

    Raises PtexploreError if an index cannot be built or the project's file is wrong.
    """
    from ptexplore.cpp.conditions import conditions
    from ptexplore.resolve.places.lookup import Lookup
    from ptexplore.resolve.places.sources import installed_source

    known = conditions(torch.runtime, torch.tree)
    sources = tuple(_sources(torch, known, watch))
    index = open_index(torch.runtime)  # of the installed text, if a search has built it: a trace does not wait for that
    installed = installed_source(torch.tree, index, known, torch.runtime) if index is not None else None
    return Lookup(torch.tree, torch.catalogue, sources, installed)


def _sources(torch: InstalledTorch, known: Conditions, watch: Watch) -> Iterator[Source]:
    from ptexplore.source.fetch.checkouts import current, extensions

    chosen = current(torch.runtime)
    for checkout in (*([chosen] if chosen is not None else []), *extensions()):
        # What this needs is imported only if there is a checkout.
        from ptexplore.resolve.places.relation import decide
        from ptexplore.resolve.places.sources import source
        from ptexplore.source.fetch.install import recheck_listed
        from ptexplore.source.tree import checkout_tree

        now, listed = recheck_listed(checkout)
        tree = checkout_tree(now)
        index = fresh_index(now, torch.runtime, watch, listed)
        decision = decide(now, torch.runtime, tree, torch.catalogue, index)
        yield source(now, tree, index, decision, known, torch.runtime)
    atlas = _atlas(torch, known) if chosen is None else None
    if atlas is not None:
        yield atlas


def _atlas(torch: InstalledTorch, known: Conditions) -> Source | None:
    """The names and lines of one release that ship with us; None if that file is missing or damaged."""
    from ptexplore.errors import PtexploreError
    from ptexplore.resolve.places.sources import atlas_source
    from ptexplore.source.atlas import Atlas

    try:
        return atlas_source(Atlas.open(), known, torch.runtime)
    except PtexploreError:
        return None


def compared_checkouts(torch: InstalledTorch, watch: Watch = unwatched) -> tuple[str, list[CheckoutHealth]]:
    """What the choice of a checkout left to say, and the checkouts in use, each compared with the torch in full."""
    from ptexplore.resolve.places.relation import relate
    from ptexplore.source.fetch.checkouts import choose, extensions
    from ptexplore.source.fetch.install import recheck
    from ptexplore.source.tree import checkout_tree
    from ptexplore.view.health import CheckoutHealth

    choice = choose(torch.runtime)
    in_use = [*([choice.checkout] if choice.checkout is not None else []), *extensions()]
    compared = []
    for checkout in map(recheck, in_use):
        index = fresh_index(checkout, torch.runtime, watch)
        relation = relate(checkout, torch.runtime, checkout_tree(checkout), torch.catalogue, index)
        compared.append(CheckoutHealth(checkout_tree(checkout, relation.decision.word).info, checkout, relation))
    return choice.note, compared
