"""A checkout as it is now: a folder used in place may have changed since it was registered."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ptexplore import locations
from ptexplore.errors import MISSING, PtexploreError
from ptexplore.model.places import Checkout
from ptexplore.source.fetch import install as placing
from ptexplore.source.fetch import registry
from ptexplore.source.listing import Listed, files_of


def recheck(checkout: Checkout, listed: Sequence[Listed] | None = None) -> Checkout:
    """The checkout as it is now: one used in place may have another commit or other text; the record follows.

    Others are as they were fetched. `listed` are its files where somebody listed them just now. Raises
    PtexploreError(MISSING) where the folder is gone.
    """
    if not registry.is_in_place(checkout):
        return checkout
    if not os.path.isdir(checkout.root):
        why = f"it was used in place, and {checkout.root} is no longer there"
        hint = f"ptexplore fetch --remove {checkout.name}"
        raise PtexploreError(f"the checkout {checkout.name} is gone", why, hint, MISSING)
    details, stamp = registry.details(checkout.name), placing.stamp(checkout, listed)
    # A work tree of git's own whose HEAD lies elsewhere may move without a sign here: that is always looked at.
    if details.get("stamp") == stamp and not os.path.isfile(os.path.join(checkout.root, ".git")):
        return checkout
    now = placing.described(checkout)
    with placing.room(), registry.locked():
        registry.write_record(locations.checkouts_dir() / checkout.name, now, {**details, "stamp": stamp})
    return now


def recheck_listed(checkout: Checkout) -> tuple[Checkout, list[Listed] | None]:
    """As `recheck`, with the files that had to be listed for it, to check whether any of them changed."""
    listed = files_of(checkout) if registry.is_in_place(checkout) else None
    now = recheck(checkout, listed)
    return now, listed if now is checkout else None  # looking at it anew may have taken long
