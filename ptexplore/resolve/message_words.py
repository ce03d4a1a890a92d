"""Where the constant words of an error message are: in torch's Python, in its libraries, and in C++ source.

A message is made from constant texts with values between them. A constant text counts only if the whole of it is in the
message: its parts between the conversions, in their order. The statement with most of the message is where it is made.
"""

from __future__ import annotations

import ast
import heapq
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from ptexplore.cpp.text import Text
from ptexplore.errors import NOT_PYTHON
from ptexplore.model.places import Runtime, SourceRef
from ptexplore.resolve.places.lookup import Lookup
from ptexplore.resolve.places.precision import in_runtime
from ptexplore.resolve.places.sources import Source
from ptexplore.source.constant_text import ConstantTexts, constant_texts
from ptexplore.store.index.search import IndexSearch

LONGEST = 2000  # characters of a message that are searched for.
_PROBE = 12  # characters that are looked up first, at each word of a message.
_PROBES = 12  # about so many of them are looked up in each file.
# Constant texts identify a message if they have so many characters and are such a part of it.
ENOUGH = 30
_SHARE = 0.25
_BEGINNING = 20  # characters that are enough if the message begins with them.
_OWN = 0.6  # of the longest texts in one statement: enough for a statement in the file that raised the error.
_ALIKE = 0.9  # the same for a statement elsewhere.
_MOSTLY = 0.6  # of a message: a statement for other devices counts only if it has so much of the message.
_FEWEST = 8  # characters of a constant text; a shorter one is in many messages.
_PART = 0.4  # of a message: shorter constant texts identify it if they are so much of it.
_LITERAL_LENGTH = 4000  # characters; longer texts are no messages.
_HITS = 200  # places of one probe in a library.
_RELEVANT = 0.1  # of the greatest weight of a file; a file below that has only common words.
_FILES = 8  # files that are read whole: those with most of the rare probes.
_PIECES = 3  # texts that are looked up in the index of a checkout.
_SOURCE_FILES = 300  # files of a checkout that are looked at.
PLACES = 4  # places that are shown.
# Folders and files with a second version of a function: for other devices or tensors, for meta tensors, in C++.
_SPECIAL = frozenset(
    (
        "metal", "mps", "vulkan", "cuda", "cudnn", "hip", "miopen", "xpu", "xnnpack", "quantized", "nested", "sparse",
        "mkldnn", "lazy", "functorch", "test", "api", "mobile", "static", "_refs", "_decomp", "_meta_registrations.py",
        "_prims", "_prims_common", "ao", "_numpy",
    )
)  # fmt: skip
# Hints that other files put into their messages.
_INSERTED = frozenset(("torch/_dynamo/graph_break_hints.py",))
# A value in a text: of printf and Python, and of fmt and str.format.
_VALUE = re.compile(r"%(?:\(\w+\))?[-+ #0-9.*hlzjt]*[A-Za-z%]|\{[^{}\n]{0,80}\}")
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"(?:\s*"((?:[^"\\\n]|\\.)*)")*')
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r"}
_ONE_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_WORD = re.compile(r"\w{2,}")
_WORDS = 12  # words of a text that are looked up.


@dataclass(frozen=True, slots=True)
class WordsPlace:
    """A statement with constant words of a message."""

    source: SourceRef  # the line of the longest text in the statement.
    function: str = ""  # the function around it; empty if unknown.


@dataclass(frozen=True, slots=True)
class MessageWords:
    """The places of a message's constant words."""

    words: str  # the longest of the constant texts that were found; empty if none was.
    libraries: tuple[str, ...] = ()  # names of the libraries that have it too, if its line in C++ source is not known.
    places: tuple[WordsPlace, ...] = ()  # if there are several, each may have made the message.
    further: int = 0  # places beyond these.


class _Held(NamedTuple):
    """A constant text that is in a message: its longest part, the characters of all its parts, and where they are."""

    words: str
    size: int
    begin: int
    end: int


class _Statement(NamedTuple):
    """A statement with constant texts that are in a message."""

    size: int  # characters of these texts.
    line: int  # of the longest text.
    words: str
    function: str
    begin: int  # of the first of these texts in the message.


class _Candidate(NamedTuple):
    """A place of a statement, with the number of characters and the longest text of the message there."""

    size: int
    place: WordsPlace
    words: str


def find_words(
    lookup: Lookup, runtime: Runtime, message: str, raised_in: str | None = None, *, is_pythons: bool = False
) -> MessageWords | None:
    """Returns where the constant words of a message are; None for a message without a text that is long enough.

    `raised_in` is the file of the innermost Python function, if it is torch's. `is_pythons`: no other Python
    file of torch raised the error. Its function would be in the traceback, or Python itself raises this class.
    """
    message = " ".join(message[:LONGEST].split())
    if len(message) < _PROBE:
        return None
    texts = constant_texts(runtime)
    in_libraries = {name: _in_library(data, message) for name, data in texts.libraries.items()}
    all_held = sorted({held for some in in_libraries.values() for held in some}, key=lambda held: -held.size)
    held = all_held[0] if all_held else _Held("", 0, 0, 0)
    candidates = [some for some in _in_installed(lookup, texts, message) if some.place.source.path not in _INSERTED]
    installed = {candidate.place.source.path for candidate in candidates}
    others = _in_checkouts(lookup, message, [held.words for held in all_held[:_PIECES]])
    candidates += [candidate for candidate in others if candidate.place.source.path not in installed]
    best = max((candidate.size for candidate in candidates), default=0)
    own = [
        candidate
        for candidate in candidates
        if candidate.place.source.path == raised_in and candidate.size >= best * _OWN
    ]
    if is_pythons and not own:
        in_cpp = [candidate for candidate in candidates if not (candidate.place.source.path or "").endswith(".py")]
        if candidates and not in_cpp and not all_held:
            return None
        candidates = in_cpp
        best = max((candidate.size for candidate in candidates), default=0)
    names = tuple(name for name, some in in_libraries.items() if held in some) if held.size >= best * _ALIKE else ()
    alike = [candidate for candidate in candidates if candidate.size >= best * _ALIKE]
    if all(is_special(candidate.place.source.path or "") for candidate in alike) and best < len(message) * _MOSTLY:
        alike = []  # a few words that this build does not have
    chosen = sorted(
        own or alike, key=lambda candidate: (is_special(candidate.place.source.path or ""), -candidate.size)
    )
    words = chosen[0].words if chosen else held.words
    places = tuple(candidate.place for candidate in chosen if candidate.words == words)
    if own or not all((place.source.path or "").endswith(".py") for place in places):
        names = ()
    return MessageWords(words, names, places[:PLACES], max(0, len(places) - PLACES))


def is_special(path: str) -> bool:
    """Whether a file has a second version of a function: such a place comes after the others."""
    return not _SPECIAL.isdisjoint(path.split("/"))


def _identifies(size: int, words: str, begin: int, message: str) -> bool:
    """Whether constant texts with so many characters, of which `words` are the longest part, identify a message.

    `begin` is where the first of them is in the message.
    """
    if len(words) < _PROBE:
        return False
    part = len(message) * (_PART if size < ENOUGH else _SHARE)
    return size >= part or size >= (_BEGINNING if begin == 0 else len(message))


def constant_parts(literal: str) -> list[str]:
    """Returns the constant parts of a text, without the values between them, and with one blank for each gap."""
    return [" ".join(part.split()) for part in _VALUE.split(literal)]


def _held(literal: str, message: str, behind: int = 0) -> _Held | None:
    """Returns the parts of a constant text, if all of them are in the message, in their order.

    They begin at the position `behind` or later.
    """
    parts = constant_parts(literal)
    at, begin = behind, -1
    for part in filter(None, parts):
        position = message.find(part, at)
        if position < 0:
            return None
        begin, at = begin if begin >= 0 else position, position + len(part)
    longest = max(parts, key=len)
    return _Held(longest, sum(map(len, parts)), begin, at) if len(longest) >= _FEWEST else None


def _together(literals: Iterable[tuple[str, int]], message: str) -> tuple[_Held, int] | None:
    """Returns the parts of a message that a statement's constant texts make, in order, and the place of the longest.

    A text that is not there, as the other arm of a condition, is left out. None if no text is there.
    """
    helds: list[tuple[_Held, int]] = []
    for literal, at in literals:
        behind = helds[-1][0].end if helds else 0
        held = _held(literal, message, behind) if len(literal) >= _FEWEST else None
        if held is not None:
            helds.append((held, at))
    if not helds:
        return None
    longest, at = max(helds, key=lambda pair: pair[0].size)
    size = sum(held.size for held, _ in helds)
    return _Held(longest.words, size, helds[0][0].begin, helds[-1][0].end), at


def _probes(message: str) -> list[tuple[int, bytes]]:
    """Returns the characters behind the start of each word: position and text."""
    starts = (word.start() for word in re.finditer(r"\S+", message))
    return [(at, message[at : at + _PROBE].encode()) for at in starts if at + _PROBE <= len(message)]


# --- libraries ---


def _in_library(data: bytes, message: str) -> list[_Held]:
    """Returns the constant texts of a library that identify the message."""
    helds: list[_Held] = []
    seen_to = 0
    for at, probe in _probes(message):
        if at < seen_to:
            continue  # inside a text that was found
        best = None
        position = data.find(probe)
        for _ in range(_HITS):
            if position < 0:
                break
            begin, end = data.rfind(b"\0", max(0, position - _LITERAL_LENGTH), position), data.find(b"\0", position)
            if begin >= 0 and 0 < end - begin < _LITERAL_LENGTH:
                held = _held(data[begin + 1 : end].decode("utf-8", "replace"), message)
                if held is not None and (best is None or held.size > best.size):
                    best = held
            position = data.find(probe, position + 1)
        if best is not None:
            seen_to = max(seen_to, message.find(best.words) + len(best.words))
            helds.append(best)
    return [held for held in helds if _identifies(held.size, held.words, held.begin, message)]


# --- installed text ---


def _in_installed(lookup: Lookup, texts: ConstantTexts, message: str) -> list[_Candidate]:
    """Returns the statements in Python files and headers of the wheel with most of the message."""
    probes = [probe for _, probe in _probes(message)]
    probes = probes[:: max(1, len(probes) // _PROBES)]
    with_probe = {probe: texts.paths_with(probe) for probe in probes}
    weights: defaultdict[str, float] = defaultdict(float)
    for paths in with_probe.values():
        for path in paths:
            weights[path] += 1 / len(paths)
    candidates = []
    most = max(weights.values(), default=0.0)
    for path in heapq.nlargest(_FILES, weights, key=weights.__getitem__):
        if weights[path] < most * _RELEVANT:
            break
        file = lookup.tree.glance(path)
        read = _in_python if path.endswith(".py") else _in_cpp
        for statement in read(file.text, message) if file is not None else ():
            place = WordsPlace(in_runtime(lookup.tree, path, statement.line), statement.function)
            candidates.append(_Candidate(statement.size, place, statement.words))
    return candidates


def _in_python(text: str, message: str) -> list[_Statement]:
    """Returns the statements of a Python file with constant texts that are in the message."""
    try:
        module = ast.parse(text)
    except NOT_PYTHON:
        return []
    return [
        statement
        for statement in _of_body(module.body, message, ())
        if _identifies(statement.size, statement.words, statement.begin, message)
    ]


def _of_body(body: Iterable[ast.stmt], message: str, around: tuple[str, ...]) -> Iterator[_Statement]:
    for statement in body:
        inner = [child for field in ("body", "orelse", "finalbody") for child in getattr(statement, field, ())]
        inner += [child for handler in getattr(statement, "handlers", ()) for child in handler.body]
        inner += [child for case in getattr(statement, "cases", ()) for child in case.body]
        if isinstance(statement, ast.FunctionDef):
            defaults = [*statement.args.defaults, *filter(None, statement.args.kw_defaults)]
            yield from _of_literals(defaults, message, (*around, statement.name))
        if inner:
            name = (statement.name,) if isinstance(statement, ast.FunctionDef | ast.ClassDef) else ()
            yield from _of_body(inner, message, (*around, *name))
            continue
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue  # a docstring
        yield from _of_literals([statement], message, around)


def _of_literals(nodes: Sequence[ast.AST], message: str, around: tuple[str, ...]) -> Iterator[_Statement]:
    """Yields a statement, or the defaults of a function's arguments, if it has texts of the message."""
    held = _together(_literals(nodes), message)
    if held is not None:
        yield _Statement(held[0].size, held[1], held[0].words, ".".join(around), held[0].begin)


def _literals(nodes: Sequence[ast.AST]) -> Iterator[tuple[str, int]]:
    """Yields the texts in some nodes, in their order, with their lines. An f-string has `{}` for each value."""
    pending = list(nodes)[::-1]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.JoinedStr):
            parts = (str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
            yield "".join(parts), node.lineno
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value, node.lineno
        else:
            pending += [*ast.iter_child_nodes(node)][::-1]


# --- C++ source ---


def _in_cpp(text: str, message: str) -> list[_Statement]:
    """Returns the statements of a C++ file with constant texts that are in the message."""
    file = Text("", text)
    ends = [match.start() for match in re.finditer("[;{}]", file.bare)]
    literals = (
        (
            bisect_right(ends, match.start()),
            "".join(_unescaped(part[1]) for part in _ONE_STRING.finditer(match[0])),
            match,
        )
        for match in _STRING.finditer(file.code)
    )
    statements = []
    for _, group in groupby(literals, key=lambda each: each[0]):
        held = _together(((literal, match.start()) for _, literal, match in group), message)
        if held is not None and _identifies(held[0].size, held[0].words, held[0].begin, message):
            statements.append(_Statement(held[0].size, file.line(held[1]), held[0].words, "", held[0].begin))
    return statements


def _unescaped(literal: str) -> str:
    return _ESCAPE.sub(lambda escape: _LETTERS.get(escape[1], escape[1]), literal)


def _in_checkouts(lookup: Lookup, message: str, words: Sequence[str]) -> list[_Candidate]:
    """Returns the C++ statements of the first checkout that has words of the message.

    `words` are constant texts of the message, if some are known. Else the texts between numbers and names are tried.
    """
    probes = [probe.decode() for _, probe in _probes(message)]
    pieces = words or sorted(re.split(r"[\d'\"`\[\]()<>{}:]+", message), key=len)[: -_PIECES - 1 : -1]
    for source in lookup.sources:
        if source.checkout is None or not isinstance(source.names, IndexSearch):
            continue
        candidates = []
        paths = dict.fromkeys(path for piece in pieces for path in _with_words(source.names, piece))
        for path in list(paths)[:_SOURCE_FILES]:
            file = source.tree.glance(path) if not path.endswith((".py", ".pyi")) else None
            if file is None or not any(probe in file.text for probe in probes):
                continue
            for statement in _in_cpp(file.text, message):
                function = _function_at(source, path, statement.line)
                place = WordsPlace(source.ref(path, statement.line), function)
                candidates.append(_Candidate(statement.size, place, statement.words))
        if candidates:
            return candidates
    return []


def _with_words(names: IndexSearch, piece: str) -> list[str]:
    """Returns the files that have every word of a text. At its ends it may have parts of words."""
    if len(piece) < _PROBE:
        return []
    words = [word for word in _WORD.findall(piece) if word[0].isalpha()][:_WORDS]
    inner = words[piece[0].isalnum() : len(words) - piece[-1].isalnum()]
    for some in (words, inner):
        if some and (files := names.files_with_words(some, _SOURCE_FILES, whole=True)):
            return files
    return []


def _function_at(source: Source, path: str, line: int) -> str:
    """Returns the name of the innermost C++ function around a line; "" if the index has none."""
    around = [
        symbol
        for symbol in source.outline(path)
        if symbol.kind == "function" and symbol.line <= line <= (symbol.end_line or symbol.line)
    ]
    return max(around, key=lambda symbol: symbol.line).qualified if around else ""
