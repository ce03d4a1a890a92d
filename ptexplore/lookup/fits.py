"""Compares names, tours, notes and folders with the text that you typed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

from ptexplore.annotations.topics import Topic
from ptexplore.lookup.query import BACKENDS, ReadQuery
from ptexplore.store.index.search import lowered, slips, word_starts

# How a result is like the query, best first. MINOR results are members, methods, namespaces and declarations, and
# things in tests or in third-party text. These come after the other results with the same name.
# ANSWERED is how anything answers several words (lookup/answers.py).
(PUBLIC, WHOLE, CASE, TITLE, ANSWERED, SAID, HALF_SAID, WHOLE_MINOR, CASE_MINOR, LATE_TITLE, BEGINS, NEAR, WORDS,
 INSIDE, LATE_SAID, SLIPPED, LATE_HALF) = range(17)  # fmt: skip
_NEARLY_WHOLE = 8  # letters: one typing error in so many still means the whole name, not the beginnings of words
_SHORTEST_SLIP = 5  # letters: a shorter name is like too many others
_SHORTEST_WORD = 2  # letters: a shorter word is in every note
_HUMPS = 24  # letters at most, for the beginnings of several words


@dataclass(frozen=True, slots=True)
class Fit:
    """How a name is like the query: one of the grades above. `extra` counts the words of the name that do not fit."""

    grade: int
    extra: int = 0


@lru_cache(maxsize=1 << 14)
def name_fit(term: str, name: str) -> Fit | None:
    """Returns how a name is like a term, or None if it is not. Typing errors are for `slip_fit`."""
    if name == term:
        return Fit(WHOLE)
    low, wanted = lowered(name), lowered(term)
    plain = wanted.lstrip("_")
    lead = 0 if wanted != plain else len(low) - len(low.lstrip("_"))
    if low == wanted or (plain and low.lstrip("_") == plain):
        return Fit(CASE)
    if not wanted:
        return None
    if low.startswith(wanted, lead):
        end = lead + len(wanted)
        return Fit(BEGINS, sum(at >= end for at in word_starts(name)))
    held = wanted in low
    if not held and (low[lead : lead + 1] != plain[:1] or not 1 < len(plain) <= _HUMPS):
        return None
    begins = word_starts(name)
    for at in begins if held else ():
        if low.startswith(wanted, at):
            return Fit(WORDS, sum(not at <= other < at + len(wanted) for other in begins))
    if len(plain) > 2 or term.isupper():
        words = [low[at:end] for at, end in zip(begins, [*begins[1:], len(low)], strict=False)]
        if _humps(plain.replace("_", ""), words, 0):
            return Fit(WORDS, len(words))
    return Fit(INSIDE, len(begins)) if held and len(wanted) > 2 else None


def _humps(wanted: str, words: Sequence[str], at: int) -> bool:
    """Whether the text splits into beginnings of the name's words, in order.

    "tenit" fits TensorIterator, "DKS" fits DispatchKeySet.
    """
    if not wanted:
        return True
    for number in range(at, len(words)):
        if number and at == 0:
            return False  # the first piece must begin the name
        word = words[number]
        for length in range(1, min(len(wanted), len(word)) + 1):
            if wanted[length - 1] != word[length - 1]:
                break
            if _humps(wanted[length:], words, number + 1):
                return True
    return False


def slip_fit(term: str, name: str) -> Fit | None:
    """Returns how near a name with one typing error is (two in a long name), or None.

    A typing error is a letter that is missing, added, changed or swapped.
    """
    wanted, low = lowered(term), lowered(name)
    if len(wanted) < _SHORTEST_SLIP:
        return None
    most = 1 if len(wanted) < _NEARLY_WHOLE - 1 else 2
    count = slips(wanted, low, most)
    if not 0 < count <= most:
        return None
    # In a short name, capitals and underscores mean beginnings of words rather than a typing error.
    whole = len(wanted) >= _NEARLY_WHOLE or (wanted == term and "_" not in term)
    return Fit(NEAR if count == 1 and whole else SLIPPED, count)


def words_of_path(path: str) -> list[str]:
    """Returns the words of all parts of a path."""
    return list(chain.from_iterable(map(words_of, path.split("/"))))


@lru_cache(maxsize=1 << 16)  # a search asks about the same names, scopes and folders again and again
def words_of(name: str) -> tuple[str, ...]:
    """Returns the words of a name in lower case: "UfuncCPUKernel_add" gives ufunc, cpu, kernel, add."""
    begins = word_starts(name)
    ends = [*begins[1:], len(name)][: len(begins)]
    low = lowered(name)
    return tuple(low[at:end].strip("_.") for at, end in zip(begins, ends, strict=True))


# --- notes ---


def topic_fit(asked: ReadQuery, topic: Topic, weights: Sequence[int], *, titles: bool = False) -> Fit | None:
    """Returns how a tour, stop, concept or folder is like the query, or None if no word fits.

    `weights` has the weight of each word. With `titles`, only names and titles are compared, not the text.
    """
    if asked.text in topic.names:
        return Fit(WHOLE)
    if topic.kind == "folder" and asked.operator and _of_another_backend(asked, topic.names[0]):
        return None
    if " ".join(asked.words) in topic.stemmed:
        return Fit(CASE)
    if (not asked.plain and len(asked.words) > 1) or min(map(len, asked.words), default=0) < _SHORTEST_WORD:
        return None
    title = _spaced(topic.titled)
    about, text = ("", "") if titles else (_spaced(topic.about), _spaced(topic.words))
    scores = [_score(word, title, about, text) for word in asked.words]
    total = sum(score * weight for score, weight in zip(scores, weights, strict=True))
    if not total:
        return None
    if all(score >= _OF_TITLE for score in scores):
        return Fit(TITLE, -total)
    if all(scores) and not titles:
        return Fit(SAID, -total)
    return Fit(HALF_SAID, -total) if len(scores) > 1 and not titles else None


def _of_another_backend(asked: ReadQuery, path: str) -> bool:
    """Whether the words of a folder name backends, but not the backend that is asked for."""
    backends = BACKENDS.intersection(words_of_path(path))
    return bool(backends) and asked.backend not in backends


_OF_TITLE = 5  # the score of a word of the title; a word that only begins a word of the title gets one less


@lru_cache(maxsize=1 << 12)  # every search asks about all topics
def _spaced(text: str) -> str:
    """Returns a text's words with one blank around each, so that a search in the text is a search for a word."""
    return f" {' '.join(text.split())} "


def _score(word: str, title: str, about: str, text: str) -> int:
    """Returns the score of a word in texts with one blank around each word."""
    whole, begun = f" {word} ", f" {word}"
    if whole in title:
        return _OF_TITLE
    long = len(word) > 2
    if long and begun in title:
        return _OF_TITLE - 1
    if whole in about:
        return 3
    if whole in text:
        return 2
    return 1 if long and (begun in about or begun in text) else 0


def word_weights(asked: ReadQuery, topics: Sequence[Topic]) -> list[int]:
    """Returns the weight of each word of the query. A word in few topics weighs more."""
    held = [words_of_topic(topic) for topic in topics]
    return [max(1, (len(held) // max(1, sum(word in words for words in held))).bit_length()) for word in asked.words]


def words_of_topic(topic: Topic) -> frozenset[str]:
    """Returns the stems of all texts of a topic."""
    return _words_of_texts(topic.titled, topic.about, topic.words)


@lru_cache(maxsize=1 << 12)  # every search asks about all topics
def _words_of_texts(*texts: str) -> frozenset[str]:
    return frozenset(word for text in texts for word in text.split())
