"""A query that is too long to be one is refused before anything is searched."""

from __future__ import annotations

import pytest

from ptexplore.errors import USAGE, PtexploreError
from ptexplore.lookup.find import find
from ptexplore.lookup.gathering import FindQuery
from ptexplore.lookup.query_length import LONGEST, check_length
from ptexplore.lookup.refs import refs
from ptexplore.lookup.targets import candidates
from ptexplore.view.card import card


@pytest.mark.parametrize("query", ["a<b>" * 20_000, "a::" * 30_000, "x" * (LONGEST + 1), " " * 5000])
def test_it_is_refused_everywhere(query: str) -> None:
    for ask in (
        lambda: find([], None, query, FindQuery(20, None, text=True, declarations=False)),
        lambda: refs([], query, 20),
        lambda: candidates([], None, query),
        lambda: card(None, query),  # type: ignore[arg-type]  # nothing is looked into
    ):
        with pytest.raises(PtexploreError, match="too long") as refused:
            ask()
        assert refused.value.exit_code == USAGE
        assert len(refused.value.one_line) < 200


def test_a_query_of_any_usual_length_is_none_of_these() -> None:
    check_length("at::native::" * 80)
