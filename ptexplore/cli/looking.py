"""Gather what trace, op and doctor resolve with: the runtime, then the fetched checkouts with their indexes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ptexplore.cli.ready import Ready
    from ptexplore.index.conditions import Conditions
    from ptexplore.model import Checkout
    from ptexplore.resolve.lookup import Lookup
    from ptexplore.resolve.sources import Source
    from ptexplore.view.health import CheckoutHealth


def look(here: Ready) -> Lookup:
    """Everything that can say where something stands; a checkout without an index gets one now, with progress.

    Raises PtexploreError where an index cannot be built or the project's file is wrong.
    """
    from ptexplore.resolve.lookup import Lookup

    return Lookup(here.tree, here.store, tuple(_sources(here)), _installed(here))


def _installed(here: Ready) -> Source | None:
    """The index of the installed torch's own text, where a search has built it: a trace does not wait for that."""
    from ptexplore.cli.ready import installed_index
    from ptexplore.index.conditions import conditions
    from ptexplore.resolve.sources import installed_source

    index = installed_index(here.runtime)
    return installed_source(here.tree, index, conditions(here.runtime, here.tree), here.runtime) if index else None


def _sources(here: Ready) -> Iterator[Source]:
    from ptexplore.source.checkouts import current, extensions

    chosen = current(here.runtime)
    found = [*([chosen] if chosen is not None else []), *extensions()]
    from ptexplore.index.conditions import conditions

    known = conditions(here.runtime, here.tree)
    if found:
        yield from _fetched(here, found, known)
    if chosen is None:
        atlas = _atlas(here, known)
        if atlas is not None:
            yield atlas


def _fetched(here: Ready, found: list[Checkout], known: Conditions) -> Iterator[Source]:
    """Checkouts with their indexes; all this needs is imported only where there are any."""
    from ptexplore.cli.ready import checkout_index
    from ptexplore.index.relation import decide
    from ptexplore.resolve.sources import source
    from ptexplore.source.checkout_tree import checkout_tree
    from ptexplore.source.fetching import recheck_listed

    for checkout, listed in map(recheck_listed, found):
        tree = checkout_tree(checkout)
        index = checkout_index(checkout, here.runtime, listed)
        decision = decide(checkout, here.runtime, tree, here.store, index)
        yield source(checkout, tree, index, decision, known, here.runtime)


def _atlas(here: Ready, known: Conditions) -> Source | None:
    """The names and lines that ship with us, of one release; None where that file is missing or damaged."""
    from ptexplore.errors import PtexploreError
    from ptexplore.resolve.sources import atlas_source
    from ptexplore.source.atlas import Atlas

    try:
        return atlas_source(Atlas.open(), known, here.runtime)
    except PtexploreError:
        return None


def checkouts(here: Ready) -> tuple[str, list[CheckoutHealth]]:
    """What the choice of a checkout left to say, and the checkouts in use with how each relates, compared in full."""
    from ptexplore.cli.ready import checkout_index
    from ptexplore.index.relation import relate
    from ptexplore.source.checkout_tree import checkout_tree
    from ptexplore.source.checkouts import choose, extensions
    from ptexplore.source.fetching import recheck
    from ptexplore.view.health import CheckoutHealth

    choice = choose(here.runtime)
    found = []
    for checkout in map(recheck, (*([choice.checkout] if choice.checkout is not None else []), *extensions())):
        index = checkout_index(checkout, here.runtime)
        relation = relate(checkout, here.runtime, checkout_tree(checkout), here.store, index)
        found.append(CheckoutHealth(checkout_tree(checkout, relation.decision.word).info, checkout, relation))
    return choice.note, found
