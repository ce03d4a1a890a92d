"""What the shipped atlas adds where no checkout is: names, paths and lines of one release's hand-written source."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from ptexplore.errors import PtexploreError
from ptexplore.model.places import SourceRef, TreeInfo
from ptexplore.resolve.places.precision import Evidence, decide
from ptexplore.source.permalink import permalink
from ptexplore.view.trees import IndexedTree, Spot, project

if TYPE_CHECKING:
    from ptexplore.model.symbols import Symbol
    from ptexplore.source.atlas import Atlas


def atlas_symbols(trees: Sequence[IndexedTree], asked: str, limit: int, *, prefix: bool) -> list[tuple[Symbol, Spot]]:
    """Definitions called `asked`, then (with `prefix`) those that begin so; of files that no tree here has.

    None where a checkout of PyTorch is among the trees: it knows better, and has the text.
    """
    if any(one.checkout is not None and project(one) == "pytorch" for one in trees) or not trees:
        return []
    try:
        atlas = _shipped()
        found = atlas.symbols_ending(asked.removeprefix("::"))
        names = atlas.names(asked, limit) if prefix and "::" not in asked and len(asked) > 2 else []
        for name in names:
            if len(found) < limit and name != asked:
                found += atlas.symbols_named(name)
    except PtexploreError:
        return []  # it only ever adds
    info = _info(trees, atlas)
    here = {path for path in {one.path for one in found} if any(t.store.file(path) is not None for t in trees)}
    return [(one, _spot(atlas, info, one)) for one in found if one.path not in here][:limit]


@lru_cache(maxsize=1)
def _shipped() -> Atlas:
    """Opened once: a palette asks it with every letter."""
    from ptexplore.source.atlas import Atlas

    return Atlas.open()


def _info(trees: Sequence[IndexedTree], atlas: Atlas) -> TreeInfo:
    fits = any(one.checkout is None and one.tree.info.commit == atlas.commit for one in trees)
    return TreeInfo("atlas", atlas.release, ("atlas",), atlas.commit, "matches" if fits else "version-skew")


def _spot(atlas: Atlas, info: TreeInfo, one: Symbol) -> Spot:
    precision = decide(Evidence(relation=info.relation))
    url = permalink(atlas.commit, one.path, one.line)
    return Spot(SourceRef(one.path, one.line, "atlas", precision, one.end_line, tree=info.name, url=url), info)
