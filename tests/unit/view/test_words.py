"""Reasons in words: each code has its template, a template speaks of all that its code holds."""

from __future__ import annotations

import pytest
from msgspec import Struct

from ptexplore.model import reasons
from ptexplore.model.reasons import Reason
from ptexplore.view.words.reasons import ENGLISH, sentence
from ptexplore.view.words.templates import filled, names


class Given(Struct, frozen=True):
    """A record to speak of."""

    one: str
    several: tuple[str, ...] = ()
    further: str = ""


CODES = [kind for kind in vars(reasons).values() if isinstance(kind, type) and issubclass(kind, Reason)]


def test_each_code_has_a_template_that_speaks_of_all_its_arguments() -> None:
    for kind in CODES:
        if kind is not Reason:
            assert names(ENGLISH[kind]) == set(kind.__struct_fields__) - {"text"}, kind
    assert len(ENGLISH) == len(CODES) - 1


def test_no_two_codes_say_the_same() -> None:
    texts = {kind: text for kind, text in ENGLISH.items() if names(text) != {"reasons"}}  # lists of other reasons
    assert len(set(texts.values())) == len(texts)


@pytest.mark.parametrize(
    ("template", "given", "expected"),
    [
        ("of {one}", Given("a"), "of a"),
        ("{several}; {several: and }", Given("", ("a", "b")), "a, b; a and b"),
        ("{one}[ through {several}], at {further}", Given("a", (), "c"), "a, at c"),
        ("{one}[ through {several}], at {further}", Given("a", ("b",), "c"), "a through b, at c"),
        ("{one}[ ({further})]", Given("a"), "a"),
        ("[{further}: ]{one}", Given("a", (), "x"), "x: a"),
        ("no argument", Given("a"), "no argument"),
        ("{one}", Given("{further} [x]", (), "b"), "{further} [x]"),  # what an argument holds is no template
    ],
)
def test_a_template_is_filled(template: str, given: Given, expected: str) -> None:
    assert filled(template, given, str) == expected


def test_a_reason_stands_in_the_one_that_follows_from_it() -> None:
    wrapped = reasons.ArgumentSets(("a", "b"), reasons.NotRead(reasons.MayBeWrapped()))
    inner = sentence(reasons.MayBeWrapped())
    assert "a, b" in sentence(wrapped)
    assert sentence(wrapped).endswith(inner)
    assert sentence(reasons.KeyNotKnown(wrapped)).endswith(sentence(wrapped))
    both = reasons.Together((reasons.LeftByGuards(), reasons.MayHoldNoNamesGuard()))
    assert sentence(both) == "; ".join(map(sentence, both.reasons))
    assert set(reasons.within(reasons.KeyNotKnown(wrapped))) >= {wrapped, reasons.MayBeWrapped()}
