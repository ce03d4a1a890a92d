"""Splits text into words for a search of notes: words without meaning are dropped, endings are cut.

`render/html/assets/ranking.js` does the same in a browser; tests/unit/lookup/test_ranking.py checks that both agree.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

# Words of every question, which do not help to find an answer.
_STOP = """
a about all an and any are as at be been before between by can could do does done explain for from get gets
go goes happen happens has have how i if in into is it its let me my of on or our over should show so tell than that
the their them then there these they this to up us was we were what when where whether which while who whom why
will with work works would you your
"""
STOP_WORDS = frozenset(_STOP.split())
_WORD = re.compile(r"[a-z0-9_\u0080-\uffff]+")
# The ending, its replacement, and the least number of letters before it.
_ENDINGS = (("ies", "y", 3), ("ied", "y", 3), ("ing", "", 4), ("ed", "", 4), ("es", "", 4), ("s", "", 3), ("e", "", 3))

_SAME = {"begin": "start"}  # a synonym -> the word that represents both


def plain_words(text: str) -> list[str]:
    """Returns the words of a text in small letters, in order."""
    return _WORD.findall(text.lower())


@lru_cache(maxsize=1 << 16)  # a search asks for the same words again and again
def stem(word: str) -> str:
    """Removes an English ending: "gradients" and "gradient" become the same word, and so do "shared" and "share"."""
    for ending, instead, shortest in _ENDINGS:
        kept = len(word) - len(ending)
        if kept >= shortest and word.endswith(ending) and not (ending == "s" and word.endswith("ss")):
            word = word[:kept] + instead
            break
    return _SAME.get(word, word)


def stems(text: str) -> list[str]:
    """Returns the stems of a text's meaningful words, in order."""
    return [stem(word) for word in plain_words(text) if word not in STOP_WORDS]


def distinct_stems(texts: Iterable[str]) -> str:
    """Returns the distinct stems of some texts, separated by blanks: the form in which a searched text is cached."""
    return " ".join(dict.fromkeys(word for text in texts for word in stems(text)))
