"""PyTorch's macro dialect in one C++ file, as rows: a reader for each family of macros, list macros, wrappers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from ptexplore.cpp.expand import Expander
from ptexplore.cpp.macros import Define, FileMacros, MacroTable
from ptexplore.cpp.text import Text
from ptexplore.index.dialect import tables
from ptexplore.index.dialect.libraries import libraries, operators
from ptexplore.index.dialect.piece import Piece, one_line
from ptexplore.index.dialect.stubs import structured, stubs
from ptexplore.model.symbols import Dialect


class Family(NamedTuple):
    """Macros, or calls, of one kind: a test whether a file may contain them, and the reader of their rows.

    `held` is called for every file and only looks for words. `macros` is a regular expression of macro names. These
    macros stay as written when others are expanded. A macro that invokes one of them, defined in the file or a header,
    is expanded in place. A family without `macros` is read only where the source spells it out.
    """

    held: Callable[[Text], bool]
    read: Callable[[Piece], Iterable[Dialect]]
    macros: str = ""


def _any(*parts: str) -> Callable[[Text], bool]:
    return lambda text: any(part in text.names for part in parts)


def _may_register_by_object(text: Text) -> bool:
    return "Operator" in text.names and (
        "RegisterOperators" in text.names or "OperatorGenerator" in text.names or "Operator(" in text.raw
    )


def _may_bind(text: Text) -> bool:
    names, raw = text.names, text.raw
    return "def" in names and "py" in names and ".def" in raw and ("pybind11" in names or "py::" in raw)


# To add a macro to a family, change its `macros` and its reader. A new family needs a row here, and a row in
# DIALECT_KINDS for each kind of row that it makes.
FAMILIES = (
    Family(_any("TORCH_LIBRARY"), libraries, r"_?(?:STATIC_)?(?:MAKE_)?TORCH_LIBRARY\w*"),
    Family(_any("_DISPATCH"), stubs, r"(?:DECLARE|DEFINE|(?:ALSO_)?REGISTER\w*)_DISPATCH"),
    Family(_any("TORCH_IMPL_FUNC", "META_FUNC"), structured, r"TORCH_(?:IMPL|META|PRECOMPUTE_META)_FUNC2?"),
    Family(_may_register_by_object, operators),
    Family(_any("C10_DEFINE_", "CAFFE2_DEFINE_", "TORCH_DEFINE_"), tables.flags,
           r"C10_DEFINE_(?:int|bool|double|string)\w*"),
    Family(_any("PyMethodDef"), tables.methods),
    Family(_may_bind, tables.pybind),
)  # fmt: skip
_MACROS = "|".join(family.macros for family in FAMILIES if family.macros)
_INVOKES = re.compile(rf"\b(?:{_MACROS})\b")
# Also kept as written: macros that only wrap a name or a string, and macros unrelated to registrations.
_KEPT = re.compile(
    rf"{_MACROS}|TORCH_SELECTIVE_\w+|TORCH_FN|TORCH_FN_TYPE|TORCH_BOXED_FN|ATEN_FN|ATEN_FN2|C10_DEFINE_\w+|TORCH_CHECK\w*"
    r"|TORCH_INTERNAL_ASSERT\w*|CPU_CAPABILITY"
)
_WORD = re.compile(r"[A-Za-z_]\w*")
_NONE: frozenset[str] = frozenset()
_INVOKED = re.compile(r"(?:^|[;{})])[ \t]*([A-Za-z_]\w*)[ \t]*(?=\()", re.MULTILINE)


def dialect(text: Text, macros: MacroTable | None = None) -> list[Dialect]:
    """Returns the rows of one file, sorted by line.

    `macros` are the macros of the headers. A definition in the file comes first, from its line on.
    """
    return sorted(_rows(text, macros), key=lambda row: (row.line, row.end_line))


def _rows(text: Text, macros: MacroTable | None) -> Iterator[Dialect]:
    if "define" in text.names:
        yield from lists(text)
    held = [family for family in FAMILIES if family.held(text)]
    inherited = _header_carriers(macros) if macros is not None else _NONE
    wrapped = _names_any(text, inherited)
    if not wrapped and not held:
        return
    in_force = FileMacros(text, macros)
    expander = Expander(lambda name, at: None if _KEPT.fullmatch(name) else in_force.definition(name, at))
    piece = Piece(text, expander, macros=in_force)
    for family in held:
        yield from family.read(piece)
    if wrapped or (any(family.macros for family in held) and in_force.own):
        own = (define for definitions in in_force.own.values() for define in definitions)
        yield from _wrapped(piece, _carriers(own, inherited))


def _names_any(text: Text, carriers: frozenset[str]) -> bool:
    """Whether a text names one of `carriers`. Comments and literals count, too."""
    if text.words is None:
        return any(name in text.raw for name in carriers)
    return not _encoded(carriers).isdisjoint(text.words.all)


@lru_cache(maxsize=4)
def _encoded(names: frozenset[str]) -> frozenset[bytes]:
    return frozenset(name.encode() for name in names)


def _wrapped(piece: Piece, carriers: frozenset[str]) -> Iterator[Dialect]:
    """Yields the registrations of wrapper macros that are invoked outside library blocks."""
    if not carriers:
        return
    for match in _INVOKED.finditer(piece.text.bare):
        name, begin = match[1], match.start(1)
        if name not in carriers or piece.directive(begin):
            continue
        closing = piece.text.brackets.closing(match.end())
        made = piece.expanded(begin, closing + 1, name, _needed(carriers)) if closing >= 0 else None
        if made is not None:
            for family in FAMILIES:
                if family.macros:
                    yield from family.read(made)


def _needed(carriers: frozenset[str]) -> Callable[[Define], bool]:
    """Returns a test for macros in a body: only macros that lead to a dialect macro, or make its arguments, matter."""
    return lambda define: define.name in carriers or "##" in define.body or "CONCATENATE" in define.body


@lru_cache(maxsize=4)
def _header_carriers(macros: MacroTable) -> frozenset[str]:
    """Returns the headers' macros that wrap dialect macros, for example an extension's REGISTER_MY_OP."""
    return _carriers((define for definitions in macros.by_name.values() for define in definitions), _NONE)


def _carriers(macros: Iterable[Define], known: frozenset[str]) -> frozenset[str]:
    """Returns `known`, and each of `macros` whose body contains a dialect macro, directly or through another macro."""
    names: dict[str, set[str]] = {}
    carriers = set(known)
    for define in macros:
        if _KEPT.fullmatch(define.name):
            continue
        if _INVOKES.search(define.body):
            carriers.add(define.name)
        else:
            names.setdefault(define.name, set()).update(_WORD.findall(define.body))
    grown = bool(carriers)
    while grown:
        more = {name for name, used in names.items() if name not in carriers and used & carriers}
        grown = bool(more)
        carriers |= more
    return frozenset(carriers)


_DEFINED = re.compile(r"[ \t]+(\w+)\(([^()\n]*(?:\\\n[^()\n]*)*)\)")
_GROUP = re.compile(r"\([^()]*\)")


def lists(text: Text) -> Iterator[Dialect]:
    """Yields a row for every list macro that a file defines."""
    for directive in text.directives:
        if directive.word != "define":
            continue
        match = _DEFINED.match(text.raw, directive.end - len(directive.rest), directive.end)
        if match is None or "(" not in text.raw[match.end() : directive.end]:
            continue
        body = " ".join(text.code_between(match.end(), directive.end).replace("\\\n", " ").split())
        if any(_repeats(body, parameter.strip()) for parameter in match[2].replace("\\\n", " ").split(",")):
            line, end = text.line(match.start()), text.line(directive.end)
            yield Dialect(
                text.path, line, end, "list", match[1], macro="define", text=one_line(body), guards=text.guards(line)
            )


def _repeats(body: str, parameter: str) -> bool:
    """Whether a body consists of calls: two or more of the parameter, or of other lists that receive the parameter."""
    if body.count(parameter) < 2 or not parameter.isidentifier():
        return False
    calls = re.findall(rf"(?<![\w.#]){re.escape(parameter)}\s*(?:\.\s*(?:impl|def)\s*)?\(", body)
    if len(calls) < 2:
        return False
    outside, shorter = "", body
    while outside != shorter:
        outside, shorter = shorter, _GROUP.sub(" ", shorter)
    words = set(_WORD.findall(outside)) - {parameter, "impl", "def", "__VA_ARGS__"}
    return all(word.isupper() for word in words)
