"""scripts/plain: which sentences it counts, and that no part has more of them than before."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "scripts"))

from lib.plain import (
    PRONOUN_HEAVY,
    TOO_LONG,
    above,
    ceilings,
    found_in,
    habits_of,
    lowered,
    messages_of,
    parts,
    sentences,
    texts_of_code,
)

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("sentence", "habits"),
    [
        ("What nobody knows is no link, and that which is none of these is what it was.", {PRONOUN_HEAVY, "what … is"}),
        ("The index keeps one row for each definition of a function.", set()),
        ("Which overload a use is of is not told.", {"told"}),
        ("The wheel is not there any more.", {"no more"}),
        ("No more than two rows are shown.", set()),
        ("A function of torch's calls the kernel.", {"of X's"}),
        ("None where the path is not a checkout.", {"None where"}),
        ("The row is that of the kernel.", {"that of"}),
        ("word " * 31, {TOO_LONG}),
    ],
)
def test_which_habits_a_sentence_has(sentence: str, habits: set[str]) -> None:
    assert set(habits_of(sentence)) == habits


def test_what_is_a_sentence() -> None:
    text = "# A title\nOne. Two `a. b`!\n\n- a row\n\n| a cell | another |\n\n```\nno. sentence.\n```\n[a link](x.y)"
    assert list(sentences(text)) == ["# A title One.", "Two X!", "- a row", "a cell", "another", "a link"]


def test_docstrings_and_comments_are_read_and_messages_apart_from_them() -> None:
    source = '''"""A module."""
# one
# two
X = 1  # three


def f():
    """A function."""
    return "no such row {name}"
'''
    assert [text for text in texts_of_code(source) if text] == ["A module.", "A function.", "one\ntwo\nthree"]
    assert list(messages_of(source)) == ["no such row X"]


def test_a_ceiling_only_falls() -> None:
    most = {"a": {"told": 3, "no more": 1}, "gone": {"told": 1}}
    counts = {"a": {"told": 2, "no more": 2}, "new": {"told": 1}}
    assert above(counts, most) == [("a", "no more", 2, 1), ("new", "told", 1, 0)]
    assert lowered(counts, most) == {"a": {"told": 2, "no more": 1}}


def test_no_part_has_more_than_its_ceiling() -> None:
    counts = {part: found_in(texts).counts for part, texts in parts(ROOT)}
    assert above(counts, ceilings(ROOT / "scripts/lib/plain.json")) == [], "scripts/plain --show PART"
