"""Names and paths in one text are found as a plain look at each of them finds them."""

from __future__ import annotations

import random

import pytest

from ptexplore.store.index.search import LinesText, PathsText, lowered

LETTERS = "aAbB_1é"
NAMES = sorted({"".join(random.Random(seed).choices(LETTERS, k=1 + seed % 6)) for seed in range(600)})
PATHS = sorted(f"{a}/{b}.cpp" for a in ("aten/src", "torch", "tests/add") for b in NAMES[:120])


@pytest.mark.parametrize("asked", ["a", "ab", "_a", "1", "é", "b_1", "aab", "zz"])
def test_names(asked):
    text = LinesText("\n" + "\n".join(NAMES) + "\n")
    assert list(text.beginning(asked)) == [one for one in NAMES if lowered(one).startswith(asked)]
    assert list(text.called(asked)) == [one for one in NAMES if lowered(one) == asked]
    assert list(text.holding(asked)) == [one for one in NAMES if asked in lowered(one)]
    assert text.has(asked) == (asked in NAMES)
    assert list(LinesText("\n").beginning(asked)) == []


@pytest.mark.parametrize("asked", ["a", "add", "src/a", "AB", ".cpp", "torch", "é", "cpp\ntorch", "nothing"])
@pytest.mark.parametrize("limit", [1, 7, 1000])
def test_paths(asked, limit):
    def rank(path):
        low, part = path.lower(), asked.lower()
        name = low.rsplit("/", 1)[-1]
        ends = low == part or low.endswith(f"/{part}")
        return not ends, part not in name, not name.startswith(part), len(path), path

    assert (
        PathsText(PATHS).like(asked, limit)
        == sorted((p for p in PATHS if asked.lower() in p.lower()), key=rank)[:limit]
    )
