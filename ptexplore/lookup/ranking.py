"""The order of the results of a search: the same for the command line, the screens and the site.

A result is a name, a note or a folder. `ranked` orders everything that was gathered and drops the things that do not
fit. `render/html/assets/ranking.js` does the same in a browser, with the facts that the site's rows keep.
tests/unit/lookup/test_ranking.py checks that the two agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeVar

from ptexplore.annotations.topics import Topic
from ptexplore.lookup.answers import Answering
from ptexplore.lookup.entries import RANKS, Entry
from ptexplore.lookup.fits import (
    ANSWERED,
    BEGINS,
    CASE,
    CASE_MINOR,
    HALF_SAID,
    INSIDE,
    LATE_HALF,
    LATE_SAID,
    LATE_TITLE,
    PUBLIC,
    SAID,
    TITLE,
    WHOLE,
    WHOLE_MINOR,
    WORDS,
    Fit,
    name_fit,
    slip_fit,
    topic_fit,
    word_weights,
    words_of,
    words_of_path,
)
from ptexplore.lookup.query import BACKENDS, OF_KERNELS, SPACES, ReadQuery
from ptexplore.lookup.trees import Candidate
from ptexplore.source.canonical import FOREIGN
from ptexplore.store.index.search import lowered, word_starts

_CLASSES = ("class", "struct", "union", "enum")
_DEFINED = (*_CLASSES, "function")
_BEHIND_KERNELS = 20  # counted as extra words of an operator, if the query asks for its kernel
_FOLDER_ALONE = 50  # counted as extra words of a file, if only its folder has the name

Key = tuple[Any, ...]  # numbers and, at the end, texts; compared from the front
_T = TypeVar("_T")
HitSort = Literal["best", "symbol", "atlas", "operator", "folder", "file", "note", "text"]  # sorts of search results


@dataclass(frozen=True, slots=True, eq=False)
class Possible:
    """A thing that a query may mean: its group, the facts that order it, and a function that makes the result.

    `is_public` says that a public Python name leads to it. `number` is the place of a topic in the notes.
    """

    group: HitSort
    about: Entry | Topic
    candidate: Callable[[], Candidate]
    is_public: bool = False
    number: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Rated:
    """A result with the key that orders it, and the family that it belongs to."""

    key: Key
    family: str
    possible: Possible


class Ranking(NamedTuple):
    """The results in their order.

    `some_words` says that no note has all words of the query. `dropped` are words that the search in notes ignores.
    """

    rows: list[Rated]
    some_words: bool = False
    dropped: tuple[str, ...] = ()

    @property
    def is_called(self) -> bool:
        """Whether a result has the name that you typed (case aside), or is a note whose words you typed."""
        return any(row.key[0] <= CASE_MINOR for row in self.rows)


def ranked(asked: ReadQuery, gathered: Iterable[Possible], topics: Sequence[Topic], *, slips: bool) -> Ranking:
    """Returns the gathered things that fit, best first. With `slips`, typing errors fit too.

    `topics` are all topics of the notes; they give each word of the query its weight. For a query of several words,
    names and notes are compared with all of its words (lookup/answers.py). For other queries, notes with only some of
    the words count only if no note has all words.
    """
    names: list[Rated] = []
    notes: list[Rated] = []
    weights = word_weights(asked, topics)
    answering = Answering(asked, topics)
    for possible in gathered:
        about = possible.about
        if isinstance(about, Entry):
            key = public_key(asked, about) if possible.is_public else entry_key(asked, about, slips=slips)
            key = answer_key(asked, answering, about, key)
            if key is not None:
                # Answers of one name in several scopes are one family: others are more likely meant than the second.
                is_answer = key[0] == ANSWERED and about.kind != "folder"
                family = f"answer {about.answer_family}" if is_answer else about.family
                names.append(Rated(key, family, possible))
        else:
            fits = _fits(asked, about, weights, slips=slips, titles=bool(answering.terms))
            keys = [topic_key(asked, fit, about, possible.number) for fit in fits]
            if answering.terms:
                keys = [key for key in keys if key[0] <= TITLE] or _answer_keys(
                    asked, answering, about, possible.number
                )
            if keys:
                family = f"{'folder' if about.kind == 'folder' else 'topic'} {about.name}"
                notes.append(Rated(min(keys), family, possible))
    if answering.terms:
        counting = notes
        some_words = bool(notes) and not any(answering.has_all(topic) for topic in topics)
    else:
        counting, some_words = _that_count(asked, notes, names)
    rows = _folders_once([*names, *counting])
    dropped = tuple(dict.fromkeys(asked.dropped)) if counting else ()
    return Ranking(in_order((row.key, row.family, row) for row in rows), some_words, dropped)


def is_slip_likely(asked: ReadQuery, ranking: Ranking) -> bool:
    """Whether you typed one name, and no result has this name, begins with it, or is a note about it."""
    return not (asked.joined or asked.question or any(row.key[0] <= BEGINS for row in ranking.rows))


def _fits(asked: ReadQuery, topic: Topic, weights: Sequence[int], *, slips: bool, titles: bool) -> list[Fit]:
    """Returns how a topic fits: by its words, and with `slips` also with a typing error in a name (not a folder's).

    With `titles`, only the words of names and titles count.
    """
    fits = [topic_fit(asked, topic, weights, titles=titles)]
    if slips and topic.kind != "folder":
        fits += [slip_fit(asked.text, name) for name in topic.names]
    return [fit for fit in fits if fit is not None]


def _that_count(asked: ReadQuery, notes: list[Rated], names: Sequence[Rated]) -> tuple[list[Rated], bool]:
    """Returns the notes that count, and whether these have only some of the words.

    Notes with some of the words count only if no note has all.
    """
    whole = [row for row in notes if row.key[0] not in (HALF_SAID, LATE_HALF)]
    if len(asked.words) < 2 or whole:
        return whole, False
    half = notes if asked.plain or not names else []
    return half, bool(half)


def _folders_once(rows: Iterable[Rated]) -> list[Rated]:
    """Merge results for one folder: a folder may fit by its name and by its page."""
    best: dict[object, Rated] = {}
    for row in rows:
        name = row.family if row.possible.group == "folder" else row
        if name not in best or row.key < best[name].key:
            best[name] = row
    return list(best.values())


# --- keys ---


def public_key(asked: ReadQuery, entry: Entry) -> Key:
    """Returns the key of a definition that a public Python name leads to. It comes before everything else."""
    return _key(asked, entry, PUBLIC, 0, minor=False, outer=0)


def entry_key(asked: ReadQuery, entry: Entry, *, slips: bool) -> Key | None:
    """Returns the key of a name among the results, or None if it does not fit. With `slips`, typing errors fit too."""
    if _on_a_backend(asked, entry):
        return _key(asked, entry, PUBLIC, _BEHIND_KERNELS * asked.kernel, minor=False, outer=0)
    further = _kernel_on_a_backend(asked, entry)
    if further:
        return _key(asked, entry, PUBLIC, further, minor=False, outer=0)
    fit = _entry_fit(asked, entry) or (_slipped(asked, entry) if slips else None)
    if fit is None:
        return None
    minor = entry.minor
    if asked.dotted and not entry.python and entry.kind not in ("operator", "file", "folder"):
        minor = True  # a name with dots is Python's, so C++ things with that name come after it
    outer = _outer_rank(asked, entry)
    return _key(asked, entry, _grade(asked, entry, fit, minor=minor, outer=outer), fit.extra, minor=minor, outer=outer)


def answer_key(asked: ReadQuery, answering: Answering, entry: Entry, key: Key | None) -> Key | None:
    """Returns the key of a name that answers several words, if it comes before its other key; else that key."""
    score = answering.entry_score(entry) if answering.terms else None
    if score is None:
        return key
    answer = _key(asked, entry, ANSWERED, -score, minor=False, outer=0)
    return answer if key is None or answer < key else key


def _answer_keys(asked: ReadQuery, answering: Answering, topic: Topic, number: int) -> list[Key]:
    """Returns the key of a note among all things that answer several words; empty if it is no answer."""
    score = answering.topic_score(topic)
    entry = Entry(topic.kind, topic.names[0], "", order=number)
    return [_key(asked, entry, ANSWERED, -score, minor=False, outer=0)] if score is not None else []


def _grade(asked: ReadQuery, entry: Entry, fit: Fit, *, minor: bool, outer: int) -> int:
    """Returns the grade of a fit. A whole name gets a lower grade if it is hardly meant; other fits keep theirs."""
    if fit.grade not in (WHOLE, CASE):
        return fit.grade
    if asked.joined and outer and lowered(entry.name).replace("_", "") != asked.joined:
        return WORDS  # "memory format" is hardly a format somewhere in memory_viz
    if asked.qualified and not outer and entry.area < FOREIGN:
        return fit.grade  # a reader who writes the class means its member
    capitals = asked.last != lowered(asked.last)
    if minor or (asked.question and len(asked.words) > 1):
        # Capitals are typed on purpose: an enumerator with exactly that name comes before a function that differs in
        # case.
        spelled = capitals and entry.area < FOREIGN and not asked.dotted
        return CASE_MINOR if fit.grade == CASE else CASE if spelled else WHOLE_MINOR
    if fit.grade == CASE and not asked.joined:
        if capitals:
            return TITLE  # no note has this grade for a name with capitals
        if asked.plain and entry.kind in _CLASSES and not entry.area:
            return WHOLE  # "tensor" is Tensor
    return fit.grade


def topic_key(asked: ReadQuery, fit: Fit, topic: Topic, number: int) -> Key:
    """Returns the key of a topic among the results. `number` is its place in the notes."""
    grade = fit.grade
    if not asked.plain:
        grade = {TITLE: LATE_TITLE, SAID: LATE_SAID, HALF_SAID: LATE_HALF}.get(grade, grade)
    elif not asked.question and len(asked.words) == 1:
        grade = {SAID: LATE_SAID, HALF_SAID: LATE_HALF}.get(grade, grade)
    elif not asked.question:
        grade = {HALF_SAID: LATE_HALF}.get(grade, grade)
    entry = Entry(topic.kind, topic.names[0], "", order=number)
    return _key(asked, entry, grade, fit.extra, minor=False, outer=0)


def _key(asked: ReadQuery, entry: Entry, grade: int, extra: int, *, minor: bool, outer: int) -> Key:
    rank = RANKS[entry.kind][asked.plain]
    if asked.path and entry.kind in ("folder", "file"):
        rank = -1
    elif entry.kind == "folder" and entry.area:
        rank = RANKS["file"][asked.plain]  # nobody wrote a page about it
    return (grade, minor, 0, outer, extra, rank, entry.area, -entry.uses, entry.order, len(entry.name),
            len(entry.context), entry.name, entry.context)  # fmt: skip


_REPEATED = 2  # the place in a key for how many results of the same family came before


def in_order(rated: Iterable[tuple[Key, str, _T]]) -> list[_T]:
    """Returns the results in the order of their keys.

    The first result of a family keeps its place. The others come after the results that are equal so far.
    """
    times: Counter[tuple[object, str]] = Counter()
    placed: list[tuple[Key, int, _T]] = []
    for number, (key, family, result) in enumerate(sorted(rated, key=lambda row: row[0])):
        times[key[0], family] += 1
        repeated = min(2, times[key[0], family])
        placed.append(((*key[:_REPEATED], repeated, *key[_REPEATED + 1 :]), number, result))
    placed.sort(key=lambda row: (row[0], row[1]))
    return [result for _key, _number, result in placed]


def _entry_fit(asked: ReadQuery, entry: Entry) -> Fit | None:
    """Returns how a name fits, together with the scope or folder before it."""
    low = lowered(entry.name if asked.question else f"{entry.context} {entry.name}")
    fit = _operator_fit(asked, entry) if entry.kind == "operator" else name_fit(asked.last, entry.name)
    if fit is not None and asked.outer and not (entry.kind == "operator" and asked.call):
        if not all(word in low for word in asked.outer):
            # x.view may be any view.
            fit = Fit(CASE_MINOR) if asked.call and fit.grade in (WHOLE, CASE) and entry.kind != "file" else None
        elif fit.grade in (WORDS, INSIDE, BEGINS) and asked.joined:
            begins = [lowered(entry.name)[at:] for at in word_starts(entry.name)]
            covered = sum(any(part.startswith(word) for part in begins) for word in asked.outer)
            fit = Fit(fit.grade, max(0, fit.extra - covered))
    if asked.joined:
        bare = lowered(entry.name).replace("_", "")
        if bare == asked.joined:
            return Fit(CASE)
        if bare.startswith(asked.joined):
            return Fit(BEGINS, max(0, len(word_starts(entry.name)) - len(asked.outer) - 1))
    if fit is None and entry.kind == "file" and lowered(asked.text) in lowered(f"{entry.context}/{entry.name}"):
        return Fit(INSIDE, _FOLDER_ALONE)
    return fit


def _slipped(asked: ReadQuery, entry: Entry) -> Fit | None:
    if asked.outer and not all(word in lowered(f"{entry.context} {entry.name}") for word in asked.outer):
        return None
    return slip_fit(asked.last, entry.name.partition(".")[0] if entry.kind == "operator" else entry.name)


def _operator_fit(asked: ReadQuery, entry: Entry) -> Fit | None:
    """Returns how an operator fits: by its base ("add"), its overload ("add.Tensor"), or its spelling in Python."""
    base = entry.name.partition(".")[0]
    if asked.text in (entry.name, f"{entry.context}::{entry.name}"):
        return Fit(WHOLE, -1 if "." in entry.name else 0)
    if asked.call and lowered(base) == lowered(asked.call):
        return Fit(WHOLE if base == asked.call else CASE)
    if asked.dotted:
        return Fit(BEGINS) if lowered(entry.name).startswith(lowered(asked.text)) else None
    fit = name_fit(asked.last, base)
    if fit is None and "." in asked.last:
        fit = name_fit(asked.last, entry.name)
    return fit


def _on_a_backend(asked: ReadQuery, entry: Entry) -> bool:
    """Whether the query is an operator of ATen and a backend, and the entry is the first overload of the operator.

    Overloads that write to an argument (`out`) come later.
    """
    if entry.kind != "operator" or entry.context != "aten" or entry.order > 1:
        return False
    return asked.operator == lowered(entry.name.partition(".")[0])


def _kernel_on_a_backend(asked: ReadQuery, entry: Entry) -> int:
    """Returns how many words a kernel's name has beside the operator's, if it is a kernel for the backend; else 0.

    Only the names of the kernel and its file decide. The card of an operator shows its kernels with other names.
    """
    operator = asked.operator
    native = entry.context.rpartition("::")[2] == "native"  # the namespace of kernels
    if not operator or entry.kind not in _DEFINED or entry.minor or not native or operator not in entry.name:
        return 0
    backend = asked.backend
    words = words_of(entry.name)
    own = words_of(operator)
    at = next((at for at in range(len(words)) if words[at : at + len(own)] == own), None)
    further = [*words[:at], *words[at + len(own) :]] if at is not None else []
    if not all(word in OF_KERNELS or word == backend for word in further):
        return 0
    # native/quantized/cpu has other kernels than native/cpu
    backends = BACKENDS.intersection([*further, *words_of_path(entry.path)])
    return len(further) + ("kernel" not in further) if further and backends == {backend} else 0


def _outer_rank(asked: ReadQuery, entry: Entry) -> int:
    """Returns 0 if the scope or folder before the name ends in the parts that you typed, each whole; else 1."""
    if not asked.outer or (entry.kind == "operator" and asked.call):
        return 0
    parts = [part for part in SPACES.split(lowered(entry.context).replace(".", "/")) if part]
    return 0 if tuple(parts[-len(asked.outer) :]) == asked.outer else 1
