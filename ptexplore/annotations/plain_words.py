"""Plain words, as a search of notes takes them: words that say nothing are dropped, endings cut.

`render/html/assets/ranking.js` does the same in a browser; tests/unit/lookup/test_ranking.py holds the two together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

# Words that every question has, and no answer is told by.
_STOP = """
a about all an and any are as at be been before between by can could do does done explain for from get gets
go goes happen happens has have how i if in into is it its let me my of on or our over should show so tell than that
the their them then there these they this to up us was we were what when where whether which while who whom why
will with work works would you your
"""
STOP_WORDS = frozenset(_STOP.split())
_WORD = re.compile(r"[a-z0-9_\u0080-\uffff]+")
# What is cut off, what stands there instead, how many letters have to be left.
_ENDINGS = (("ies", "y", 3), ("ied", "y", 3), ("ing", "", 4), ("ed", "", 4), ("es", "", 4), ("s", "", 3), ("e", "", 3))

_SAME = {"begin": "start"}  # of two words for one thing, the one that stands for both


def plain_words(text: str) -> list[str]:
    """The words of a text in small letters, in order."""
    return _WORD.findall(text.lower())


def stem(word: str) -> str:
    """A word without an ending of English: "gradients" and "gradient" are one word, and so are "shared" and "share"."""
    for ending, instead, shortest in _ENDINGS:
        kept = len(word) - len(ending)
        if kept >= shortest and word.endswith(ending) and not (ending == "s" and word.endswith("ss")):
            word = word[:kept] + instead
            break
    return _SAME.get(word, word)


def stems(text: str) -> list[str]:
    """The stems of a text's words that say something, in order."""
    return [stem(word) for word in plain_words(text) if word not in STOP_WORDS]


def distinct_stems(texts: Iterable[str]) -> str:
    """The stems of some texts, each once, parted by blanks: what is kept of a text that a search looks through."""
    return " ".join(dict.fromkeys(word for text in texts for word in stems(text)))
