"""The limit on the length of a query. No name, path or few words are longer, and longer ones cost more time."""

from __future__ import annotations

from ptexplore.errors import USAGE, PtexploreError

LONGEST = 1000  # characters


def check_length(query: str) -> None:
    """Raise PtexploreError (usage) if a query is longer than `LONGEST`."""
    if len(query) > LONGEST:
        why = f"it has {len(query):,} characters, but the limit is {LONGEST:,}"
        hint = "ptexplore find NAME; for the text of an error: ptexplore explain-error"
        raise PtexploreError(f"the query {query[:40]!r}… is too long", why, hint, USAGE)
