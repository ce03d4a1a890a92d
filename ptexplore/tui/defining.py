"""What the name under the cursor may be: every candidate that is not where the cursor is already."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptexplore.errors import PtexploreError
from ptexplore.store.index_store import Stale
from ptexplore.view.targets import candidates

if TYPE_CHECKING:
    from ptexplore.tui.library import Library, Place
    from ptexplore.view.targets import Candidate


def definitions(library: Library, name: str, place: Place) -> tuple[list[Candidate], str]:
    """Candidates, those of the same file and the same tree first; and what must be said of them.

    A name with what qualifies it is looked up as it is written, then by its last part: an alias is no namespace.
    """
    found: list[Candidate] = []
    last = name.rpartition("::")[2].rpartition(".")[2]
    told = ""
    for asked in dict.fromkeys((name, last) if "/" not in name else (name,)):
        try:
            found = candidates(library.trees, None, asked)
        except Stale:  # not an answer: the index is damaged
            raise
        except PtexploreError:
            found = []
        if found:
            told = "" if asked == name else f"nothing is called {name}; these are called {asked}"
            break
    if not found:
        return [], f"{name}: no definition in these trees (a local name, or what no header here says)"
    others = [one for one in found if not _is_here(one, place)]
    if not others:
        return [], f"this is where {last} is defined; r lists its uses"
    others.sort(key=lambda one: (one.spot.ref.path != place.path, one.spot.tree.name != place.tree))
    return others, told


def _is_here(one: Candidate, place: Place) -> bool:
    ref = one.spot.ref
    return (one.spot.tree.name, ref.path, ref.line) == (place.tree, place.path, place.line)
