"""What a palette shows while one types: the sorts of `find`, one after the other, the quick ones first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ptexplore.view.search.find import FEW, FindQuery, HitGroup, find

if TYPE_CHECKING:
    from ptexplore.view.notes.noted import Noted
    from ptexplore.view.search.operators import Catalogue
    from ptexplore.view.trees import IndexedTree


@dataclass(frozen=True, slots=True)
class Sort:
    """One sort of results: its name, the sign that chooses it, what `find` calls it."""

    name: str
    sign: str
    kind: str | None


SORTS = (
    Sort("all", "", None),
    Sort("symbols", "@", "symbol"),
    Sort("operators", "%", "operator"),
    Sort("files", "/", "file"),
    Sort("notes", "?", "note"),
    Sort("text", '"', "text"),
)
MOST = 40  # of one sort where it is asked for alone
EACH = 8  # of each where all are
_QUICK = ("symbol", "operator", "file", "note")


def asked(typed: str) -> tuple[Sort, str]:
    """The sort that the first sign of a query chooses, all without one; and the query without it."""
    query = typed.strip()
    chosen = next((sort for sort in SORTS if sort.sign and query.startswith(sort.sign)), SORTS[0])
    return chosen, query[len(chosen.sign) :].strip()


def hits(
    trees: Sequence[IndexedTree],
    catalogue: Catalogue | None,
    noted: Noted,
    query: str,
    sort: Sort,
    stopped: Callable[[], bool] = lambda: False,
) -> Iterator[HitGroup]:
    """The groups of results, each as soon as it is known; lines of text among all only where names are few."""
    if not query:
        return
    if sort.kind is not None:
        yield from find(trees, catalogue, query, FindQuery(MOST, sort.kind, stopped=stopped), noted).groups
        return
    count = 0
    for kind in _QUICK:
        for group in find(trees, catalogue, query, FindQuery(EACH, kind), noted).groups:
            count += len(group.found)
            yield group
    if count < FEW:
        yield from find(trees, catalogue, query, FindQuery(EACH, "text", stopped=stopped), noted).groups
