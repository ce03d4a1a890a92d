"""Names and paths in one text are found as a plain look at each of them finds them."""

from __future__ import annotations

import random

import pytest

from ptexplore.store.index.search import FragmentGroup, LinesText, PathsText, lowered

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


GROUPS = [(("a",), 1), (("ab", "zz"), 3), (("b1", "_"), 2), (("é",), 5), ((), 4), (("aab",), 1)]


@pytest.mark.parametrize("most", [1, 5, 1000])
@pytest.mark.parametrize("end", range(1, len(GROUPS) + 1))
def test_names_and_paths_with_the_most_words(most, end):
    """By the weight of the groups that a name has something of, without case and "_"; then as they are found."""
    groups = [FragmentGroup(*group) for group in GROUPS[:end]]

    def heaviest(names, in_order=False):
        weights = {}
        for group in groups:
            for part in group.fragments:
                for name in names:
                    if part and part in lowered(name).replace("_", ""):
                        weights.setdefault(name, 0)
        for group in groups:
            for name in weights:
                if any(part in lowered(name).replace("_", "") for part in group.fragments):
                    weights[name] += group.weight
        return sorted(sorted(weights) if in_order else weights, key=lambda name: -weights[name])[:most]

    assert LinesText("\n" + "\n".join(NAMES) + "\n").with_most(groups, most) == heaviest(NAMES)
    assert PathsText(PATHS).with_most(groups, most) == heaviest(PATHS, in_order=True)


def test_a_word_that_grows_is_found_among_the_names_that_had_its_beginning():
    text = LinesText("\n" + "\n".join(NAMES) + "\n")
    for asked in ("a", "aa", "aab", "aabb", "ab", "a"):
        names = text.with_most([FragmentGroup((asked,), 1)], 10_000)
        assert names == [name for name in NAMES if asked in lowered(name).replace("_", "")]
    for number in range(200):  # more than are kept
        text.with_most([FragmentGroup((f"x{number}",), 1)], 1)
    assert text.with_most([FragmentGroup(("aab",), 1)], 1)
