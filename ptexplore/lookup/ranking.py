"""Which of all that fits a query comes first: one order for the command line, the screens and the site.

A result is a name, a note or a folder. `fit` says how a name is like what was typed, `topic_fit` how a note is; `key`
puts a result in its place among the others. `render/html/assets/ranking.js` does the same in a browser, over what a
site's rows keep; tests/unit/lookup/test_ranking.py holds the two together.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeVar

from ptexplore.annotations.plain_words import STOP_WORDS, plain_words, stem
from ptexplore.annotations.topics import Topic
from ptexplore.source.canonical import FOREIGN, area, language_of
from ptexplore.source.python_names import is_python_name
from ptexplore.store.index.search import lowered, slips, word_starts

# How a result is like the query, best first. MINOR ones are members, methods, namespaces, declarations, and what stands
# in tests or in text that was taken over: they follow what else is called so.
(PUBLIC, WHOLE, CASE, TITLE, SAID, HALF_SAID, WHOLE_MINOR, CASE_MINOR, LATE_TITLE, BEGINS, NEAR, WORDS, INSIDE,
 LATE_SAID, SLIPPED, LATE_HALF) = range(16)  # fmt: skip

# Of what is alike: the sort of thing. A name in small letters may be a word, which notes are about.
_RANKS = {
    "tour": (4, 0), "stop": (4, 1), "note": (4, 1), "concept": (4, 1), "folder": (5, 2), "operator": (2, 3),
    "class": (1, 4), "struct": (1, 4), "union": (1, 4), "enum": (1, 4), "function": (3, 5), "concept of C++": (4, 6),
    "macro": (3, 5), "typedef": (4, 6), "file": (6, 7), "heading": (7, 7), "trace": (7, 8), "method": (8, 8),
    "enumerator": (8, 9), "member": (9, 9), "variable": (9, 9), "namespace": (10, 10),
}  # fmt: skip
_CLASSES = ("class", "struct", "union", "enum")
_DEFINED = (*_CLASSES, "function")
# "add cpu" asks where an operator is for a backend: its card says so, and after it comes what is named as its kernel.
# The table is written into a site's search as well (view/site/shards.py), whose script reads queries by it.
QUERY_WORDS = {
    "stops": " ".join(sorted(STOP_WORDS)),  # that say nothing in a query
    "backends": "cpu cuda mps xpu meta autograd sparse quantized mkldnn nested",
    "of_kernels": "kernel impl out structured ufunc",  # of a kernel's name, beside the operator's and the backend's
    "for_kernels": "kernel kernels implementation impl",  # of a query that asks for a kernel
    # How kernels of an operator for a backend are called, or begin.
    "kernel_names": "{operator}_kernel {operator}_out_{backend} {operator}_{backend} structured_{operator}_{backend}",
}
_BACKENDS, _OF_KERNELS, _FOR_KERNELS = (
    frozenset(QUERY_WORDS[name].split()) for name in ("backends", "of_kernels", "for_kernels")
)
_KERNEL_NAMES = QUERY_WORDS["kernel_names"].split()
_NEARLY_WHOLE = 8  # letters: one slip in so many is a whole name, not the beginnings of words
_SHORTEST_SLIP = 5  # letters: in fewer, every name is like every other
_BEHIND_KERNELS = 20  # as many words more has an operator where its kernel is asked for
_FOLDER_ALONE = 50  # as many words more: a file in a folder that is called so
_SHORTEST_WORD = 2  # letters: fewer are in every note
_HUMPS = 24  # letters at most of the beginnings of words

# torch.add, F.conv2d, x.view and Tensor.add_ are how Python writes an operator.
_CALL = re.compile(r"(?:torch|tensor|[a-z]|nn|functional|aten)(?:\.\w+)*\.(\w+)", re.IGNORECASE)
_QUESTION = re.compile(r"[a-z0-9 ',?-]+")
_TAIL = re.compile(r"(?<!operator)\(.*$|\?+$")  # a call's arguments, a question's mark
_SPACES = re.compile(r"\s+|::|/")
_LINE = re.compile(r"(?<=\w):(?P<line>[1-9]\d{0,6})(?:-\d+)?$")  # of a file: "Dispatcher.h:120"
_FILE = re.compile(r"\w\.(?:cpp|h|hpp|cu|cuh|cc|c|py|pyi|yaml|md|mm|metal|inl|in|txt|cmake)$")


@dataclass(frozen=True, slots=True)
class ReadQuery:
    """A query as a search understands it.

    `name` is the text without brackets, `spellings` are the names that it may be. `last` is the name looked for,
    `outer` what has to stand before it, `joined` all of it in one, where it is several words. `words` are the stems of
    its words, less those that say nothing (`dropped`). `plain` says that it may be words of a note, `question` that
    it is hardly a name. `call` is the operator that Python writes so. `line` stood behind a file, 0 where none did.
    `operator` and `backend` are those of "add cpu", and of "cpu softmax kernel"; `kernel`: its kernel was named.
    """

    text: str
    name: str
    spellings: tuple[str, ...]
    outer: tuple[str, ...]
    last: str
    joined: str
    words: tuple[str, ...]
    dropped: tuple[str, ...]
    plain: bool
    question: bool
    dotted: bool
    path: bool
    call: str = ""
    line: int = 0
    operator: str = ""
    backend: str = ""
    kernel: bool = False

    @property
    def qualified(self) -> bool:
        """Whether it is a name of C++ with what it is in, as it is written there."""
        return "::" in self.name and bool(self.outer) and not self.joined


def read_query(typed: str) -> ReadQuery:
    """What was typed, understood: a name with what stands before it, or words."""
    text = " ".join(typed.split())
    placed = _LINE.search(text)
    if placed is not None and _FILE.search(text[: placed.start()]):
        text = text[: placed.start()]
    else:
        placed = None
    bare = _TAIL.sub("", text).strip() or text
    pieces = [piece for piece in _SPACES.split(bare) if piece]
    dotted = is_python_name(bare) and not _FILE.search(bare)
    if dotted:
        pieces = bare.split(".")
    words = plain_words(text)
    several = len(text.split()) > 1
    kept = [word for word in words if word not in STOP_WORDS] if len(words) > 1 and "::" not in text else []
    dropped = tuple(word for word in words if word in STOP_WORDS) if kept else ()
    question = several and bool(dropped) and "::" not in text
    if question:
        pieces = kept
    plain = question or bool(_QUESTION.fullmatch(text)) or (several and _QUESTION.fullmatch(text.lower()) is not None)
    call = _CALL.fullmatch(bare) if dotted else None
    *outer, last = pieces or [""]
    joined = several and len(pieces) > 1
    spellings = ["::".join(pieces) if joined or "/" in bare else bare]
    spellings += ["_".join(pieces), "".join(pieces)] if joined else []
    spellings += [call[1]] if call is not None else []
    operator, backend, kernel = _on_backend([lowered(piece) for piece in pieces]) if joined else ("", "", False)
    if operator:
        spellings += [form.format(operator=operator, backend=backend) for form in _KERNEL_NAMES]
    return ReadQuery(
        text,
        bare,
        tuple(spellings) if not _FILE.search(bare) else (),
        tuple(lowered(piece) for piece in outer),
        last,
        lowered("".join(pieces)).replace("_", "") if joined else "",
        tuple(stem(word) for word in kept or words),
        dropped,
        plain,
        question,
        dotted,
        "/" in text,
        call[1] if call is not None else "",
        int(placed["line"]) if placed is not None else 0,
        operator,
        backend,
        kernel,
    )


def _on_backend(pieces: Sequence[str]) -> tuple[str, str, bool]:
    """The operator and the backend that words name, and whether they name its kernel; "" twice where they do not.

    The backend is the last word, or any if the kernel is named: "sparse tensor" is no operator on a backend.
    """
    rest = [piece for piece in pieces if piece not in _FOR_KERNELS]
    backends = [piece for piece in rest if piece in _BACKENDS]
    kernel = len(rest) < len(pieces)
    if len(rest) != 2 or len(backends) != 1 or not (kernel or rest[-1] == backends[0]):
        return "", "", False
    return next(piece for piece in rest if piece != backends[0]), backends[0], kernel


# --- names ---


@dataclass(frozen=True, slots=True)
class Fit:
    """How a name is like what was typed: one of the grades above; `extra` are words that it has beyond that."""

    grade: int
    extra: int = 0


def name_fit(term: str, name: str) -> Fit | None:
    """How one name is like one term; None where it is not. Slips are told by `slip_fit`."""
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
    """Whether every piece of what is wanted begins a word, in their order: "tenit" is TensorIterator, "DKS" too."""
    if not wanted:
        return True
    for number in range(at, len(words)):
        if number and at == 0:
            return False  # the first piece begins the name
        word = words[number]
        for length in range(1, min(len(wanted), len(word)) + 1):
            if wanted[length - 1] != word[length - 1]:
                break
            if _humps(wanted[length:], words, number + 1):
                return True
    return False


def slip_fit(term: str, name: str) -> Fit | None:
    """How near a name is that has a letter more, less, changed or swapped: one slip, two in long names."""
    wanted, low = lowered(term), lowered(name)
    if len(wanted) < _SHORTEST_SLIP:
        return None
    most = 1 if len(wanted) < _NEARLY_WHOLE - 1 else 2
    count = slips(wanted, low, most)
    if not 0 < count <= most:
        return None
    # In a short name capitals and underscores are beginnings of words rather than a slip.
    whole = len(wanted) >= _NEARLY_WHOLE or (wanted == term and "_" not in term)
    return Fit(NEAR if count == 1 and whole else SLIPPED, count)


# --- notes ---


def topic_fit(asked: ReadQuery, topic: Topic, weights: Sequence[int]) -> Fit | None:
    """How a tour, stop, concept or folder is what was asked for; `weights` says how much each word tells.

    None where not one word fits.
    """
    if asked.text in topic.names:
        return Fit(WHOLE)
    if topic.kind == "folder" and asked.operator and _of_another_backend(asked, topic.names[0]):
        return None
    title = topic.titled.split()
    if " ".join(asked.words) in topic.stemmed:
        return Fit(CASE)
    if (not asked.plain and len(asked.words) > 1) or min(map(len, asked.words), default=0) < _SHORTEST_WORD:
        return None
    about, text = topic.about.split(), topic.words.split()
    scores = [_score(word, title, about, text) for word in asked.words]
    total = sum(score * weight for score, weight in zip(scores, weights, strict=True))
    if not total:
        return None
    if all(score >= _OF_TITLE for score in scores):
        return Fit(TITLE, -total)
    if all(scores):
        return Fit(SAID, -total)
    return Fit(HALF_SAID, -total) if len(scores) > 1 else None


def _of_another_backend(asked: ReadQuery, path: str) -> bool:
    """Whether a folder is of backends by its words, and not of the one that is asked for."""
    backends = _BACKENDS.intersection(_words_of_path(path))
    return bool(backends) and asked.backend not in backends


_OF_TITLE = 5  # the score of a word that the title has; that it begins a word of the title is one less


def _score(word: str, title: Sequence[str], about: Sequence[str], text: Sequence[str]) -> int:
    if word in title:
        return _OF_TITLE
    long = len(word) > 2
    if long and any(other.startswith(word) for other in title):
        return _OF_TITLE - 1
    if word in about:
        return 3
    if word in text:
        return 2
    return 1 if long and any(other.startswith(word) for other in (*about, *text)) else 0


def word_weights(asked: ReadQuery, topics: Sequence[Topic]) -> list[int]:
    """How much each word of the query tells: one that few topics have tells more."""
    held = [{*topic.titled.split(), *topic.about.split(), *topic.words.split()} for topic in topics]
    return [max(1, (len(held) // max(1, sum(word in words for words in held))).bit_length()) for word in asked.words]


# --- the order ---


@dataclass(frozen=True, slots=True)
class Entry:
    """One result before it is drawn: what orders it.

    `kind` is a key of the ranks, `context` what stands before the name (a scope, a folder), `minor` and `area` how
    likely it is meant, `uses` the width in bits of how often its name is used, `order` its place in its own family.
    `python` says that it stands in Python, `path` in which file a symbol does.
    """

    kind: str
    name: str
    context: str
    minor: bool = False
    area: int = 0
    uses: int = 0
    order: int = 0
    python: bool = False
    path: str = ""

    @property
    def family(self) -> str:
        """What it is one of: overloads of one function, or of one operator."""
        if self.kind == "folder":
            return f"folder {self.context}/{self.name}".replace(" /", " ")
        name = self.name.partition(".")[0] if self.kind == "operator" else self.name
        return f"{self.kind} {self.context} {name}"


Key = tuple[Any, ...]  # of numbers and, at the end, texts: compared from the front
_T = TypeVar("_T")


def public_key(asked: ReadQuery, entry: Entry) -> Key:
    """Where a definition stands that a public Python name leads to: before all else."""
    return _key(asked, entry, PUBLIC, 0, minor=False, outer=0)


def entry_key(asked: ReadQuery, entry: Entry, *, slips: bool) -> Key | None:
    """Where a name stands among the results; None where it does not fit. `slips` says whether slips count."""
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
        minor = True  # a name with dots is Python's: what C++ calls so comes after it
    outer = _outer_rank(asked, entry)
    return _key(asked, entry, _grade(asked, entry, fit, minor=minor, outer=outer), fit.extra, minor=minor, outer=outer)


def _grade(asked: ReadQuery, entry: Entry, fit: Fit, *, minor: bool, outer: int) -> int:
    """The grade of what is called so, whole: less where it is hardly meant; any other as it is."""
    if fit.grade not in (WHOLE, CASE):
        return fit.grade
    if asked.joined and outer and lowered(entry.name).replace("_", "") != asked.joined:
        return WORDS  # "memory format" is hardly a format somewhere in memory_viz
    if asked.qualified and not outer and entry.area < FOREIGN:
        return fit.grade  # who writes the class means its member
    capitals = asked.last != lowered(asked.last)
    if minor or (asked.question and len(asked.words) > 1):
        # Capitals are meant: an enumerator of just that name comes before a function that differs in case.
        spelled = capitals and entry.area < FOREIGN and not asked.dotted
        return CASE_MINOR if fit.grade == CASE else CASE if spelled else WHOLE_MINOR
    if fit.grade == CASE and not asked.joined:
        if capitals:
            return TITLE  # no note stands there for a name with capitals
        if asked.plain and entry.kind in _CLASSES and not entry.area:
            return WHOLE  # "tensor" is Tensor
    return fit.grade


def topic_key(asked: ReadQuery, fit: Fit, topic: Topic, number: int) -> Key:
    """Where a topic stands among the results; `number` is its place in the notes."""
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
    rank = _RANKS[entry.kind][asked.plain]
    if asked.path and entry.kind in ("folder", "file"):
        rank = -1
    elif entry.kind == "folder" and entry.area:
        rank = _RANKS["file"][asked.plain]  # nobody wrote about it
    return (grade, minor, 0, outer, extra, rank, entry.area, -entry.uses, entry.order, len(entry.name),
            len(entry.context), entry.name, entry.context)  # fmt: skip


_REPEATED = 2  # the place in a key of how many of its family came before


def in_order(rated: Iterable[tuple[Key, str, _T]]) -> list[_T]:
    """The results by their keys; of one family the first alone stands in its place, the others after those alike."""
    times: Counter[tuple[object, str]] = Counter()
    placed: list[tuple[Key, int, _T]] = []
    for number, (key, family, result) in enumerate(sorted(rated, key=lambda row: row[0])):
        times[key[0], family] += 1
        repeated = min(2, times[key[0], family])
        placed.append(((*key[:_REPEATED], repeated, *key[_REPEATED + 1 :]), number, result))
    placed.sort(key=lambda row: (row[0], row[1]))
    return [result for _key, _number, result in placed]


def _entry_fit(asked: ReadQuery, entry: Entry) -> Fit | None:
    """How a name with what stands before it fits."""
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
    """An operator is called by its base ("add"), by its overload ("add.Tensor"), and as Python writes it."""
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
    """Whether the query is an operator of ATen and a backend: its first overload is what is asked for.

    Overloads that write to what is given (`out`) come later.
    """
    if entry.kind != "operator" or entry.context != "aten" or entry.order > 1:
        return False
    return asked_operator(asked) == lowered(entry.name.partition(".")[0])


def _kernel_on_a_backend(asked: ReadQuery, entry: Entry) -> int:
    """How many words a name has beside an operator's, if it is named as the kernel for the backend asked for; else 0.

    By its name and its file's alone: of an operator whose kernels are called otherwise the card tells.
    """
    operator = asked_operator(asked)
    native = entry.context.rpartition("::")[2] == "native"  # the namespace of kernels
    if not operator or entry.kind not in _DEFINED or entry.minor or not native or operator not in entry.name:
        return 0
    backend = asked.backend
    words = _words_of(entry.name)
    own = _words_of(operator)
    at = next((at for at in range(len(words)) if words[at : at + len(own)] == own), None)
    further = [*words[:at], *words[at + len(own) :]] if at is not None else []
    if not all(word in _OF_KERNELS or word == backend for word in further):
        return 0
    # native/quantized/cpu has other kernels than native/cpu
    backends = _BACKENDS.intersection([*further, *_words_of_path(entry.path)])
    return len(further) + ("kernel" not in further) if further and backends == {backend} else 0


def _words_of_path(path: str) -> list[str]:
    """The words of the parts of a path."""
    return list(chain.from_iterable(map(_words_of, path.split("/"))))


def _words_of(name: str) -> list[str]:
    """The words of a name in lower case: "UfuncCPUKernel_add" is ufunc, cpu, kernel, add."""
    begins = word_starts(name)
    return [lowered(name[at:end].strip("_.")) for at, end in zip(begins, [*begins[1:], len(name)], strict=True)]


def asked_operator(asked: ReadQuery) -> str:
    """The operator of "add cpu"; "" where what was typed is no name and a backend."""
    return asked.operator


def _outer_rank(asked: ReadQuery, entry: Entry) -> int:
    """0 where what stands before the name ends as it was typed, whole parts alone."""
    if not asked.outer or (entry.kind == "operator" and asked.call):
        return 0
    parts = [part for part in _SPACES.split(lowered(entry.context).replace(".", "/")) if part]
    return 0 if tuple(parts[-len(asked.outer) :]) == asked.outer else 1


# --- what is known of a thing before anyone asks ---


def symbol_entry(kind: str, name: str, container: str, path: str, *, declared: bool, uses: int) -> Entry:
    """A symbol of a SymbolKind; `container` is what qualifies it, without its last separator."""
    outer = re.split(r"::|\.", container)[-1]
    # PyTorch's classes begin with a capital, its namespaces and modules do not.
    method = kind == "function" and outer.lstrip("_")[:1].isupper()
    shown = "method" if method else "concept of C++" if kind == "concept" else kind
    near = area(path)
    minor = declared or near >= FOREIGN or shown in ("method", "enumerator", "member", "variable", "namespace")
    return Entry(shown, name, container, minor, near, uses, python=language_of(path) == "python", path=path)


def may_be_called(asked: ReadQuery, base: str, *, slips: bool) -> bool:
    """Whether operators of this base may be meant."""
    if lowered(asked.call) == lowered(base) or name_fit(asked.last.partition(".")[0], base) is not None:
        return True
    if slips and slip_fit(asked.last, base) is not None:
        return True
    return bool(asked.joined) and (asked.joined in base.replace("_", "") or asked_operator(asked) == lowered(base))


def operator_entry(namespace: str, name: str, uses: int) -> Entry:
    """An operator ("add.Tensor"): ATen's own first, what returns its result before what writes it."""
    overload = name.partition(".")[2]
    order = 0 if overload in ("", "Tensor") else 1
    order = 2 if "out" in overload else order
    own = namespace == "aten"
    return Entry("operator", name, namespace, minor=False, area=0 if own else 1, uses=uses if own else 0, order=order)


def file_entry(path: str, uses: int) -> Entry:
    """A file, by its last part."""
    folder, _, name = path.rpartition("/")
    near = area(path)
    return Entry("file", name, folder, near >= FOREIGN, near, uses)


def folder_entry(path: str, *, written: bool) -> Entry:
    """A folder, by its last part; one that somebody wrote a page about comes first."""
    outer, _, name = path.rpartition("/")
    near = area(f"{path}/x")
    return Entry("folder", name, outer, not written and near >= FOREIGN, 0 if written else near)


def use_bits(count: int) -> int:
    """How often a name is used, coarsely: what is used twice as often is one more."""
    return min(count.bit_length(), 15)


def row_code(entry: Entry) -> str:
    """What a row of a site keeps of an entry: how likely it is meant, how often its name is used, whether a method."""
    inner = "m" if entry.kind in ("method", "enumerator") else ""
    return f"{int(entry.minor) + 2 * entry.area}{entry.uses:x}{inner}"


def row_place(entry: Entry) -> tuple[int, ...]:
    """Where an entry stands among others that begin alike, before anyone asks: what has few words comes first."""
    words = len(word_starts(entry.name))
    return (int(entry.minor), words, _RANKS[entry.kind][0], entry.area, -entry.uses, entry.order)
