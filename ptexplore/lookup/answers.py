"""How well a name or a note answers a query of several words: "softmax kernel cpu", "where are threads started".

Each word of the query counts by its weight: a word in few notes weighs more. It counts most in the thing's own name,
less in the name of its class, file or folder, least elsewhere in its path. `render/html/assets/ranking.js` does the
same in a browser; tests/unit/lookup/test_answers.py checks that the two agree.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import nsmallest
from itertools import pairwise
from typing import NamedTuple

from ptexplore.annotations.plain_words import STOP_WORDS, stem
from ptexplore.annotations.topics import Topic
from ptexplore.lookup.entries import Entry
from ptexplore.lookup.fits import slip_fit, words_of, words_of_path, words_of_topic
from ptexplore.lookup.query import SPACES, ReadQuery
from ptexplore.lookup.query_words import ASKING, DEVICES, EXPLAINING, IMPLIED, MODALS, SPECIAL, SYNONYMS
from ptexplore.source.canonical import language_of
from ptexplore.store.index.search import FragmentGroup, lowered, slips

# The score of a word of the query: for an equal word, and for a word that only begins so.
_OWN, _NEAR, _FAR = (6, 4), (4, 3), (2, 1)
_BACKEND = 4  # The score of a backend's name, anywhere.
_ON_CARD = 3  # The score of a backend or "kernel" for an operator. The card has the kernels of all backends.
# The price of a lost word, times its weight. Much code is common to all backends.
_LOST, _LOST_BACKEND = 3, 1
_PART = 3  # an answer has at least one part in so many of the query, by weight
_SHORTEST_RESPELLED = 5  # letters
_SHORTEST_BEGINNING = 3  # letters
LIKELY = 300  # names that are compared word by word
_WORD = re.compile(r"[A-Za-z0-9_\u0080-\uffff]+")
IN_LANGUAGE = re.compile(r"\s+(?:in|from)\s+(c\+\+|cpp|python)\s*\?*$", re.IGNORECASE)  # The end of a question.
_CPP = re.compile(r"(?<![A-Za-z0-9_])[cC]\+\+")  # Names have "cpp" for it.
_OF_DEVICE = 3  # the weight of a backend's name
_HEAVIEST = 5  # a word in no note may be the name of something, or say nothing
# Prices in the unit of the scores.
_EXTRA, _MOST_EXTRA, _MINOR, _UNASKED = 3, 6, 8, 14
_AREAS = (0, 2, 10, 18)
_HEADER = 2  # of a file with declarations
_WITH_MODAL = 12  # The gain of a name that the query has in two words: "can fuse" is can_fuse.
_EXACT = 40  # the gain of a name that the query has in one piece: "make_fx", "RecordFunction"
# The most gain of a name that is used much. Names of operators are words; only headers are used as files.
_MOST_USES = {"operator": 2, "file": 0, "": 8}
_NOT_KERNEL = 6  # The price of an operator if the query asks for a kernel.
_EXPLAINS = 1  # The gain of a note if the query asks how or why, times the weight of each word.
_HOME_OF_CUDA = {"cuda"}  # Some code exists only for CUDA, for example the caching allocator.
_KINDS = {
    "member": 10,
    "variable": 10,
    "enumerator": 12,
    "namespace": 10,
    "method": 1,
    "typedef": 3,
    "concept of C++": 3,
}


@dataclass(frozen=True, slots=True)
class Form:
    """A spelling in a query, its stem, and (if the stem is long enough) the stem as the beginning of a line."""

    word: str
    stem: str
    begins: str = ""


@dataclass(frozen=True, slots=True)
class Term:
    """A word of a query: the spellings that mean it, and other words for the same thing (without "_" in `forms`)."""

    word: str
    spellings: tuple[str, ...]
    others: tuple[str, ...]
    weight: int
    forms: tuple[tuple[Form, int], ...]  # each spelling, with what another word costs
    is_backend: bool  # whether it names a backend
    is_kernel: bool  # whether it asks for a kernel

    @property
    def fragments(self) -> tuple[str, ...]:
        """Texts without "_": a name that has the word contains one of them. Single letters are left out."""
        words = (stem(word).replace("_", "") for word in (*self.spellings, *self.others))
        return tuple(dict.fromkeys(word for word in words if len(word) > 1))


@dataclass(frozen=True, slots=True)
class FieldWords:
    """The words of a text: all that a word of a query may be equal to, and all as one text with a line for each."""

    equal: frozenset[str]
    lines: str

    def match(self, wanted: Form) -> int:
        """Returns 2 if a word is equal to `wanted`, 1 if a word begins with it, 0 if none does."""
        if wanted.word in self.equal or wanted.stem in self.equal:
            return 2
        return 1 if wanted.begins and wanted.begins in self.lines else 0


class _Field(NamedTuple):
    """A text as one query sees it: the score of each word of the query, and the text's backends.

    `more` is the number of words that the query does not ask for; for a path, 1 if it is of a special part of PyTorch.
    """

    scores: tuple[int, ...]
    devices: frozenset[str] = frozenset()
    more: int = 0


@lru_cache(maxsize=1 << 15)
def _of_name(name: str) -> FieldWords:
    """Returns the words of a name. Two neighbours also count as one word: "soft_max" has softmax."""
    return _together([word for word in words_of(name) if word])


@lru_cache(maxsize=1 << 14)
def _of_path(path: str) -> FieldWords:
    """Returns the words of a path, and those that its parts imply."""
    words = [word for word in words_of_path(path) if word]
    return _together([*words, *(implied for word in words for implied in IMPLIED.get(word, "").split())])


def _together(words: Sequence[str]) -> FieldWords:
    pairs = [first + second for first, second in pairwise(words)]
    return FieldWords(frozenset([*words, *pairs, *map(stem, words)]), "\n" + "\n".join([*words, *pairs]))


@lru_cache(maxsize=1 << 14)  # more than the texts of all notes: a search reads each of them
def _of_stems(text: str) -> FieldWords:
    words = text.split()
    return FieldWords(frozenset(words), "\n" + "\n".join(words))


class Answering:
    """A query of several words, ready to be compared with names and notes. Without such a query, `terms` is empty."""

    def __init__(self, asked: ReadQuery, topics: Sequence[Topic]) -> None:
        telling = _telling_words(asked)
        self._language = _language_asked(asked.text)
        meant = _meant(telling)
        known = [words_of_topic(topic) for topic in topics] if telling else []
        self.terms = tuple(
            _term(word, _spellings(telling, at), meant[at], _weight(word, meant[at], known))
            for at, word in enumerate(telling)
        )
        self.devices = DEVICES.intersection(word for at, word in enumerate(telling) for word in (word, *meant[at]))
        self._telling = sum(term.weight for term in self.terms if not term.is_backend)
        words = [
            lowered(word) for word in _WORD.findall(asked.text) if "_" in word.strip("_") or len(words_of(word)) > 1
        ]
        self._of_kernel = any(term.is_kernel for term in self.terms)
        self.names = frozenset(word.strip("_") for word in words) if telling else frozenset()
        pairs = pairwise(map(lowered, _WORD.findall(asked.text)))
        self._phrases = frozenset(f"{first}_{second}" for first, second in pairs if first in MODALS)
        self._explains = asked.question and bool(EXPLAINING.intersection(asked.dropped))
        every = (word for term in self.terms for other in (*term.spellings, *term.others) for word in other.split("_"))
        self._texts = frozenset(word for term in self.terms for word in (term.word, *term.others))
        self._words = frozenset(form for word in every for form in (word, stem(word)))
        self._saying = STOP_WORDS if self.devices else STOP_WORDS | DEVICES  # if no backend is asked for, any is right
        self._unscored = (0,) * len(self.terms)
        forms = [form for term in self.terms for form, _less in term.forms]
        self._forms = frozenset(word for form in forms for word in (form.word, form.stem))
        begins = sorted({re.escape(form.begins) for form in forms if form.begins})
        self._begins = re.compile("|".join(begins) or "(?!)")
        # Many names have the same scope, file or words: each text is compared once.
        self._names: dict[tuple[str, str], _Field] = {}
        self._near: dict[str, tuple[int, ...]] = {}
        self._paths: dict[tuple[str, bool], _Field] = {}

    @property
    def groups(self) -> list[FragmentGroup]:
        """The words of the query, as the store looks for names and paths that have most of them."""
        return [FragmentGroup(term.fragments, term.weight) for term in self.terms]

    def name_score(self, name: str) -> int:
        """Returns how much of the query is in a name alone. 0 if nothing is."""
        scores = self._scores(_of_name(name), _OWN)
        return sum(term.weight * score for term, score in zip(self.terms, scores, strict=True))

    def best_names(self, likely: Sequence[str], most: int) -> list[str]:
        """Returns at most `most` of the names, those with the most of the query. Names with nothing are left out."""
        scores = {name: (self._rank_of(name), len(name), name) for name in likely}
        return nsmallest(most, [name for name in likely if scores[name][0]], key=lambda name: scores[name])

    def _rank_of(self, name: str) -> int:
        typed = lowered(name).strip("_") in self.names
        return -self.name_score(name) - _EXACT * typed

    def respelled(self, is_known: Callable[[str], bool], topics: Sequence[Topic]) -> dict[str, str]:
        """Returns a likely spelling for each word of the query that nothing has: the nearest word of the notes.

        `is_known` says whether some name has a text.
        """
        unknown = [
            term
            for term in self.terms
            if len(term.word) >= _SHORTEST_RESPELLED and not any(map(is_known, term.fragments))
        ]
        if not unknown:
            return {}
        counts = Counter(word for topic in topics for word in {*topic.titled.split(), *topic.words.split()})
        spellings = {}
        for term in unknown:
            near = [word for word in counts if slip_fit(term.word, word) is not None]
            if near:
                spellings[term.word] = min(near, key=lambda word: (slips(term.word, word, 3), -counts[word], word))
        return spellings

    def entry_score(self, entry: Entry) -> int | None:
        """Returns how well a name answers, or None if it is no answer."""
        if self._language and _language(entry) not in ("", self._language):
            return None
        is_path = entry.kind in ("file", "folder")
        stem_of_file, _, ending = entry.name.rpartition(".") if entry.kind == "file" else (entry.name, "", "")
        name = entry.name.partition(".")[0] if entry.kind == "operator" else stem_of_file or entry.name
        # The namespace of an operator is a part of its name.
        own = self._named(name, entry.context if entry.kind == "operator" else "")
        path = f"{entry.context}/{entry.name}" if is_path else f"{entry.context.replace('::', '/')}/{entry.path}"
        far = self._placed(path, is_path=is_path)
        backends = own.devices | far.devices
        if self.devices and backends and self.devices.isdisjoint(backends):
            return None
        file = entry.path.rpartition("/")[2]
        fields = [own.scores, far.scores, self._beside(_last_scope(entry.context))]
        if file and not is_path:
            fields.append(self._beside(file.rpartition(".")[0]))
        scores = list(map(max, *fields))
        for at, term in enumerate(self.terms):
            if term.is_backend:
                scores[at] = min(scores[at], 1) * _BACKEND
            if entry.kind == "operator" and (term.is_backend or term.is_kernel):
                scores[at] = max(scores[at], _ON_CARD)
        plain_name = lowered(name).strip("_")
        typed = plain_name in self.names
        total = self._sum(scores, typed=typed)
        if total is None:
            return None
        on_backend = any(score for term, score in zip(self.terms, scores, strict=True) if term.is_backend)
        price = (
            _EXTRA * min(own.more, _MOST_EXTRA)
            + _MINOR * entry.minor
            + _AREAS[0 if entry.area == 1 and on_backend else entry.area]
            + _UNASKED * far.more
            + _KINDS.get(entry.kind, 0)
            + _NOT_KERNEL * (entry.kind == "operator" and self._of_kernel)
            + _HEADER * (ending in ("h", "hpp", "pyi"))
        )
        gain = _EXACT * typed + _WITH_MODAL * (plain_name in self._phrases)
        return total - price + gain + min(entry.uses, _MOST_USES.get(entry.kind, _MOST_USES[""]))

    def _scores(self, words: FieldWords, worth: tuple[int, int]) -> tuple[int, ...]:
        """Returns the score of each word of the query in a text. `worth` are the scores of _OWN, _NEAR or _FAR."""
        if self._forms.isdisjoint(words.equal) and self._begins.search(words.lines) is None:
            return self._unscored  # most texts have no word of the query
        return tuple(_best(term, words, worth) for term in self.terms)

    def _named(self, name: str, namespace: str) -> _Field:
        """Returns a name as this query sees it."""
        field = self._names.get((name, namespace))
        if field is None:
            words = _of_name(name) if not namespace else _together([*words_of(namespace), *words_of(name)])
            more = sum(not self._is_asked(word) for word in words_of(name) if word and word not in self._saying)
            field = _Field(self._scores(words, _OWN), DEVICES & words.equal, more)
            self._names[name, namespace] = field
        return field

    def _beside(self, name: str) -> tuple[int, ...]:
        """Returns the scores of the name of a scope or a file, for a name in it."""
        if not name:
            return self._unscored
        scores = self._near.get(name)
        if scores is None:
            scores = self._near[name] = self._scores(_of_name(name), _NEAR)
        return scores

    def _placed(self, path: str, *, is_path: bool) -> _Field:
        """Returns the path of a thing as this query sees it. `is_path` says that the thing is a file or a folder."""
        field = self._paths.get((path, is_path))
        if field is None:
            words = _of_path(path)
            is_of_kernels = "/native/" in f"/{path}/"  # a namespace "Native" elsewhere is no folder of kernels
            special = (SPECIAL if is_of_kernels else SPECIAL - _HOME_OF_CUDA) & words.equal
            unasked = bool(special) and not any(map(self._is_asked, special))
            field = _Field(self._scores(words, _NEAR if is_path else _FAR), DEVICES & words.equal, int(unasked))
            self._paths[path, is_path] = field
        return field

    def topic_score(self, topic: Topic) -> int | None:
        """Returns how well a tour, stop, concept or folder answers, or None if it is no answer."""
        fields = ((topic.titled, _OWN), (topic.about, _NEAR), (topic.words, _FAR))
        if topic.kind == "folder" and self.devices:
            named = DEVICES.intersection(words_of_path(topic.name))
            if named and not named & self.devices:
                return None
        scores = list(map(max, *(self._scores(_of_stems(text), worth) for text, worth in fields)))
        total = self._sum(scores)
        if total is None or not self._explains:
            return total
        return total + _EXPLAINS * sum(term.weight for term, score in zip(self.terms, scores, strict=True) if score)

    def has_all(self, topic: Topic) -> bool:
        """Whether a note has every word of the query."""
        texts = (topic.titled, topic.about, topic.words)
        return all(map(max, *(self._scores(_of_stems(text), _OWN) for text in texts)))

    def _sum(self, scores: Sequence[int], *, typed: bool = False) -> int | None:
        """Returns the sum of weighed scores less the price of lost words.

        None if most of the query is lost, except for a name that is `typed` in the query. Names of backends do not
        count for that: much is common to all backends.
        """
        scored = [term for term, score in zip(self.terms, scores, strict=True) if score]
        if not scored:
            return None
        if not typed and _PART * sum(term.weight for term in scored if not term.is_backend) < self._telling:
            return None
        pairs = list(zip(self.terms, scores, strict=True))
        backends = [term.weight * score for term, score in pairs if term.is_backend]
        total = sum(term.weight * score for term, score in pairs if not term.is_backend)
        total -= sum(_LOST * term.weight for term, score in pairs if not (score or term.is_backend))
        if backends:  # of "from cpu to gpu", one is enough
            total += max(backends) or -_LOST_BACKEND * _OF_DEVICE
        return total

    def _is_asked(self, word: str) -> bool:
        """Whether a word of a name is a word of the query, or a part of one ("soft" of softmax)."""
        if word in self._words or stem(word) in self._words:
            return True
        return len(word) >= _SHORTEST_BEGINNING and any(word in text for text in self._texts)


@lru_cache(maxsize=1 << 14)
def _last_scope(context: str) -> str:
    return SPACES.split(context.replace(".", "/"))[-1]


def _best(term: Term, words: FieldWords, worth: tuple[int, int]) -> int:
    """Returns the best score of a word of the query in a text. A synonym scores one less."""
    best = 0
    equal, begins = worth
    for form, less in term.forms:
        match = words.match(form)
        if match:
            best = max(best, (equal if match == 2 else begins) - less)
    return best


def _term(word: str, spellings: tuple[str, ...], others: tuple[str, ...], weight: int) -> Term:
    forms = [(_form(spelling), 0) for spelling in spellings] + [(_form(other.replace("_", "")), 1) for other in others]
    is_backend = not DEVICES.isdisjoint((word, *others))
    return Term(word, spellings, others, weight, tuple(forms), is_backend, stem(word) == "kernel")


def _form(word: str) -> Form:
    short = stem(word)
    return Form(word, short, f"\n{short}" if len(short) >= _SHORTEST_BEGINNING else "")


def _telling_words(asked: ReadQuery) -> list[str]:
    """Returns the words of the query that tell, in small letters. Empty if the query is a name or a path."""
    if "::" in asked.text or asked.path or not (asked.joined or asked.question):
        return []
    words: list[str] = _WORD.findall(_CPP.sub("cpp", IN_LANGUAGE.sub("", asked.text)))
    kept = [word for word in words if lowered(word) not in STOP_WORDS and lowered(word) not in ASKING]
    parts = [part for word in kept or words for part in words_of(word) if part]
    return list(dict.fromkeys(parts)) if any(len(part) > 1 for part in parts) else []  # single letters tell nothing


def _language_asked(text: str) -> str:
    """Returns the language whose code a query asks for at its end: "where are hooks called in c++"; else ""."""
    named = IN_LANGUAGE.search(text)
    return "" if named is None else "python" if named[1].lower() == "python" else "cpp"


def _language(entry: Entry) -> str:
    """Returns the language of a symbol's file, or of a file; "" for other things: they are in no language."""
    path = entry.name if entry.kind == "file" else entry.path
    return language_of(path) if path else ""


def _spellings(telling: Sequence[str], at: int) -> tuple[str, ...]:
    """Returns a word, and the word together with its neighbours: "layer norm" may be layernorm."""
    before = [telling[at - 1] + telling[at]] if at else []
    after = [telling[at] + telling[at + 1]] if at + 1 < len(telling) else []
    return (telling[at], *before, *after)


def _meant(telling: Sequence[str]) -> list[tuple[str, ...]]:
    """Returns for each word of the query the other words for it, from the table of synonyms."""
    stems = [stem(word) for word in telling]
    meant: list[list[str]] = [[] for _word in telling]
    for synonym in SYNONYMS:
        phrase = [stem(word) for word in synonym.phrase.split()]
        for at in range(len(stems) - len(phrase) + 1):
            if stems[at : at + len(phrase)] == phrase:
                for place in range(at, at + len(phrase)):
                    meant[place] += synonym.meant.split()
    return [tuple(dict.fromkeys(words)) for words in meant]


def _weight(word: str, others: Sequence[str], known: Sequence[frozenset[str]]) -> int:
    """Returns the weight of a word of the query. A word in few notes weighs more; all backends weigh the same."""
    if not DEVICES.isdisjoint((word, *others)):
        return _OF_DEVICE
    short = stem(word)
    count = sum(short in words or word in words for words in known)
    return max(1, min(_HEAVIEST, (len(known) // max(1, count)).bit_length()))
