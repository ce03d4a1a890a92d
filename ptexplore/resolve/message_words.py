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
from pathlib import Path
from typing import NamedTuple

from ptexplore.cpp.text import Text
from ptexplore.model.places import Runtime, SourceRef
from ptexplore.resolve.places.lookup import Lookup
from ptexplore.resolve.places.precision import in_runtime
from ptexplore.resolve.places.sources import Source
from ptexplore.source.constant_text import constants, libraries, texts
from ptexplore.store.index.search import IndexSearch

LONGEST = 2000  # characters of a message that are searched for.
_PROBE = 12  # characters that are looked up first, at each word of a message.
_PROBES = 12  # about so many of them are looked up in each file.
ENOUGH = 30  # characters: constant texts of this length identify a message, whatever is between them.
_ALIKE = 0.6  # of the longest texts in one statement: another statement with so much may be the one as well.
_MOSTLY = 0.6  # of a message: a statement for other devices counts only if it has so much of the message.
_FEWEST = 8  # characters of a constant text; a shorter one is in many messages.
_PART = 0.4  # of a message: shorter constant texts identify it if they are so much of it.
_LITERAL_LENGTH = 4000  # characters; longer texts are no messages.
_HITS = 200  # places of one probe in a library.
_RELEVANT = 0.1  # of the greatest weight of a file; a file below that has only common words.
_FILES = 8  # files that are read whole: those with most of the rare probes.
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
    libraries: tuple[str, ...] = ()  # names of the libraries that have it.
    places: tuple[WordsPlace, ...] = ()  # if there are several, each may have made the message.
    further: int = 0  # places beyond these.


class _Held(NamedTuple):
    """A constant text that is in a message: its longest part, and the characters of all its parts."""

    words: str
    size: int


class _Statement(NamedTuple):
    """A statement with constant texts that are in a message."""

    size: int  # characters of these texts.
    line: int  # of the longest text.
    words: str
    function: str


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
    in_libraries = _in_libraries(runtime, message)
    held = max(in_libraries.values(), default=_Held("", 0), key=lambda held: held.size)
    candidates = _in_installed(lookup, runtime, message)
    installed = {candidate.place.source.path for candidate in candidates}
    others = _in_checkouts(lookup, message, held.words)
    candidates += [candidate for candidate in others if candidate.place.source.path not in installed]
    best = max((candidate.size for candidate in candidates), default=0)
    candidates = [candidate for candidate in candidates if candidate.size >= best * _ALIKE]
    own = [candidate for candidate in candidates if candidate.place.source.path == raised_in]
    names = tuple(name for name, other in in_libraries.items() if other == held) if held.size >= best else ()
    if is_pythons and not own:
        in_cpp = [candidate for candidate in candidates if not (candidate.place.source.path or "").endswith(".py")]
        if candidates and not in_cpp and not names:
            return None
        candidates = in_cpp
    if (
        all(_is_special(candidate.place.source.path or "") for candidate in candidates)
        and best < len(message) * _MOSTLY
    ):
        candidates = []  # a few words that this build does not have
    chosen = sorted(
        own or candidates, key=lambda candidate: (_is_special(candidate.place.source.path or ""), -candidate.size)
    )
    words = chosen[0].words if chosen else held.words
    places = tuple(candidate.place for candidate in chosen)
    return MessageWords(words, names, places[:PLACES], max(0, len(places) - PLACES))


def _is_special(path: str) -> bool:
    """Whether a file has a second version of a function: such a place comes after the others."""
    return not _SPECIAL.isdisjoint(path.split("/"))


def _identifies(size: int, words: str, message: str) -> bool:
    """Whether constant texts with so many characters, of which `words` are the longest part, identify a message."""
    return len(words) >= _PROBE and size >= min(ENOUGH, max(_PROBE, len(message) * _PART))


def _held(literal: str, message: str) -> _Held | None:
    """Returns the parts of a constant text, if all of them are in the message, in their order."""
    parts = [" ".join(part.split()) for part in _VALUE.split(literal)]
    at = 0
    for part in parts:
        begin = message.find(part, at)
        if begin < 0:
            return None
        at = begin + len(part)
    longest = max(parts, key=len)
    return _Held(longest, sum(map(len, parts))) if len(longest) >= _FEWEST else None


def _probes(message: str) -> list[tuple[int, bytes]]:
    """Returns the characters behind the start of each word: position and text."""
    starts = (word.start() for word in re.finditer(r"\S+", message))
    return [(at, message[at : at + _PROBE].encode()) for at in starts if at + _PROBE <= len(message)]


# --- libraries ---


def _in_libraries(runtime: Runtime, message: str) -> dict[str, _Held]:
    """Returns the longest constant text of the message in each library, by the library's name."""
    longest = {}
    for library in libraries(runtime):
        held = _in_library(library, message)
        if held is not None and _identifies(held.size, held.words, message):
            longest[library.name] = held
    return longest


def _in_library(library: Path, message: str) -> _Held | None:
    data = constants(library)
    best, seen_to = None, 0
    for at, probe in _probes(message):
        if at < seen_to:
            continue  # inside a text that was found
        position = data.find(probe)
        for _ in range(_HITS):
            if position < 0:
                break
            begin, end = data.rfind(b"\0", max(0, position - _LITERAL_LENGTH), position), data.find(b"\0", position)
            if begin >= 0 and 0 < end - begin < _LITERAL_LENGTH:
                held = _held(data[begin + 1 : end].decode("utf-8", "replace"), message)
                if held is not None and (best is None or held.size > best.size):
                    best = held
                    seen_to = max(seen_to, message.find(held.words) + len(held.words))
            position = data.find(probe, position + 1)
    return best


# --- installed text ---


def _in_installed(lookup: Lookup, runtime: Runtime, message: str) -> list[_Candidate]:
    """Returns the statements in Python files and headers of the wheel with most of the message."""
    probes = [probe for _, probe in _probes(message)]
    probes = probes[:: max(1, len(probes) // _PROBES)]
    with_probe: defaultdict[bytes, list[str]] = defaultdict(list)
    data = {}
    for path, content in texts(runtime):
        hits = [probe for probe in probes if probe in content]
        if hits:
            data[path] = content
            for probe in hits:
                with_probe[probe].append(path)
    weights: defaultdict[str, float] = defaultdict(float)
    for paths in with_probe.values():
        for path in paths:
            weights[path] += 1 / len(paths)
    candidates = []
    most = max(weights.values(), default=0.0)
    for path in heapq.nlargest(_FILES, weights, key=weights.__getitem__):
        if weights[path] < most * _RELEVANT:
            break
        text = data[path].decode("utf-8", "replace").replace("\r\n", "\n")
        read = _in_python if path.endswith(".py") else _in_cpp
        for statement in read(text, message):
            line = lookup.tree.own_line(path, statement.line)
            place = WordsPlace(in_runtime(lookup.tree, path, line), statement.function)
            candidates.append(_Candidate(statement.size, place, statement.words))
    return candidates


def _in_python(text: str, message: str) -> list[_Statement]:
    """Returns the statements of a Python file with constant texts that are in the message."""
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return []
    return [
        statement
        for statement in _of_body(module.body, message, ())
        if _identifies(statement.size, statement.words, message)
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
    helds = [(held, line) for literal, line in _literals(nodes) if (held := _held(literal, message))]
    if helds:
        longest, line = max(helds, key=lambda pair: pair[0].size)
        yield _Statement(sum(held.size for held, _ in helds), line, longest.words, ".".join(around))


def _literals(nodes: Sequence[ast.AST]) -> Iterator[tuple[str, int]]:
    """Yields the texts in some nodes, f-strings with `{}` for each value, and their lines."""
    pending = list(nodes)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.JoinedStr):
            parts = (str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
            yield "".join(parts), node.lineno
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value, node.lineno
        else:
            pending += ast.iter_child_nodes(node)


# --- C++ source ---


def _in_cpp(text: str, message: str) -> list[_Statement]:
    """Returns the statements of a C++ file with constant texts that are in the message."""
    file = Text("", text)
    ends = [match.start() for match in re.finditer("[;{}]", file.bare)]
    helds = []
    for match in _STRING.finditer(file.code):
        literal = "".join(_unescaped(part[1]) for part in _ONE_STRING.finditer(match[0]))
        held = _held(literal, message) if len(literal) >= _FEWEST else None
        if held is not None:
            helds.append((bisect_right(ends, match.start()), held, match.start()))
    statements = []
    for _, group in groupby(helds, key=lambda each: each[0]):
        inside = list(group)
        _, longest, at = max(inside, key=lambda each: each[1].size)
        size = sum(held.size for _, held, _ in inside)
        if _identifies(size, longest.words, message):
            statements.append(_Statement(size, file.line(at), longest.words, ""))
    return statements


def _unescaped(literal: str) -> str:
    return _ESCAPE.sub(lambda escape: _LETTERS.get(escape[1], escape[1]), literal)


def _in_checkouts(lookup: Lookup, message: str, words: str) -> list[_Candidate]:
    """Returns the C++ statements of the first checkout that has words of the message.

    `words` is a constant text of the message, if one is known. Else the texts between numbers and names are tried.
    """
    probes = [probe.decode() for _, probe in _probes(message)]
    pieces = [words] if words else sorted(re.split(r"[\d'\"`\[\]()<>{}:]+", message), key=len)[:-4:-1]
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
    return (names.files_with_words(words, _SOURCE_FILES) if words else []) or (
        names.files_with_words(inner, _SOURCE_FILES) if inner else []
    )


def _function_at(source: Source, path: str, line: int) -> str:
    """Returns the name of the innermost C++ function around a line; "" if the index has none."""
    around = [
        symbol
        for symbol in source.outline(path)
        if symbol.kind == "function" and symbol.line <= line <= (symbol.end_line or symbol.line)
    ]
    return max(around, key=lambda symbol: symbol.line).qualified if around else ""
