"""How long a query may be: a name, a path or a few words are never longer, and the search's work grows with it."""

from __future__ import annotations

from ptexplore.errors import USAGE, PtexploreError

LONGEST = 1000  # characters


def check_length(query: str) -> None:
    """Raise PtexploreError (usage) for a query that is too long to be one."""
    if len(query) > LONGEST:
        why = f"it has {len(query):,} characters, and a query has at most {LONGEST:,}"
        hint = "ptexplore find NAME; the text of an error goes to ptexplore explain-error"
        raise PtexploreError(f"the query {query[:40]!r}… is too long", why, hint, USAGE)
