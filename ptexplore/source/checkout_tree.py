"""A fetched checkout as a tree of files under canonical paths, all of one layer."""

from __future__ import annotations

import os
from typing import Literal

from ptexplore.model.places import Checkout, TreeInfo
from ptexplore.source.listing import is_checkout_source
from ptexplore.source.tree import LayerFiles, SourceTree

Relation = Literal["matches", "consistent", "version-skew"]


def checkout_tree(checkout: Checkout, relation: Relation = "version-skew") -> SourceTree:
    """The tree of `checkout`. Links that lead out of it are not followed, and what a build left there is not read.

    `relation` is how it relates to the running torch; who has not decided that claims the least.
    """
    root = os.path.realpath(checkout.root)
    layer = LayerFiles("checkout", lambda path: [f"{root}/{path}"] if is_checkout_source(path) else [], (root,))
    version = checkout.release or checkout.version or "unknown"
    return SourceTree(TreeInfo(checkout.name, version, ("checkout",), checkout.commit, relation), (layer,))
