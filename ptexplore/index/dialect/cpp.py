"""PyTorch's macro dialect in one C++ file, as rows: registrations, stubs, structured kernels, bindings, flags."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from ptexplore.index.cpp.macros import MacroTable
from ptexplore.index.cpp.text import Text
from ptexplore.index.dialect import lists, tables
from ptexplore.index.dialect.expand import LocalMacros, Lookup, Macro, lookup_in, of_header
from ptexplore.index.dialect.libraries import libraries
from ptexplore.index.dialect.operators import operators
from ptexplore.index.dialect.piece import Piece
from ptexplore.index.dialect.stubs import structured, stubs
from ptexplore.symbols import Dialect

# What the readers themselves know stays as written; a selective-build macro only wraps a string.
_KEPT = re.compile(
    r"_?(?:STATIC_)?(?:MAKE_)?TORCH_LIBRARY\w*|(?:DECLARE|DEFINE|(?:ALSO_)?REGISTER\w*)_DISPATCH"
    r"|TORCH_(?:IMPL|META|PRECOMPUTE_META)_FUNC2?|TORCH_SELECTIVE_\w+|TORCH_FN|TORCH_FN_TYPE|TORCH_BOXED_FN"
    r"|ATEN_FN|ATEN_FN2|C10_DEFINE_\w+|TORCH_CHECK\w*|TORCH_INTERNAL_ASSERT\w*|CPU_CAPABILITY"
)
_STUB = re.compile(
    r"\b(?:DECLARE|DEFINE|(?:ALSO_)?REGISTER\w*)_DISPATCH\b|\bTORCH_(?:IMPL|META|PRECOMPUTE_META)_FUNC2?\b"
)
_BLOCK = re.compile(r"\bTORCH_LIBRARY|\bC10_DEFINE_(?:int|bool|double|string)")
_NONE: frozenset[str] = frozenset()
_INVOKED = re.compile(r"(?:^|[;{})])[ \t]*([A-Za-z_]\w*)[ \t]*(?=\()", re.MULTILINE)


def dialect(text: Text, macros: MacroTable | None = None) -> list[Dialect]:
    """The rows of one file, by line.

    `macros` says what a macro of the headers means; the file's own definitions come first, each from where it stands.
    """
    rows = list(_rows(text, macros))
    rows.sort(key=lambda row: (row.line, row.end_line))
    return rows


def _rows(text: Text, macros: MacroTable | None) -> Iterator[Dialect]:
    raw, names = text.raw, text.names
    if "define" in names:
        yield from lists.lists(text)
    dialects = "TORCH_LIBRARY" in names
    bound = "def" in names and "py" in names and ".def" in raw and ("pybind11" in names or "py::" in raw)
    kernels = "_DISPATCH" in names or "TORCH_IMPL_FUNC" in names or "META_FUNC" in names
    old = "Operator" in names and ("RegisterOperators" in names or "OperatorGenerator" in names or "Operator(" in raw)
    flags = "C10_DEFINE_" in names or "CAFFE2_DEFINE_" in names or "TORCH_DEFINE_" in names
    methods = "PyMethodDef" in names
    inherited = _header_carriers(macros) if macros is not None else _NONE
    wrapped = _names_any(text, inherited)
    if not (wrapped or dialects or bound or kernels or old or flags or methods):
        return
    defines = "define" in names and any(directive.word in ("define", "undef") for directive in text.directives)
    local = LocalMacros(text) if defines else None
    piece = Piece(text, lambda at: _lookup(local, macros, at))
    spans: list[tuple[int, int]] = []
    if dialects:
        found, spans = libraries(piece)
        yield from found
    if kernels:
        yield from stubs(piece)
        yield from structured(piece)
    if old:
        yield from operators(piece)
    if flags:
        yield from tables.flags(piece)
    if methods:
        yield from tables.methods(piece)
    if bound:
        yield from tables.pybind(piece, spans, local)
    if wrapped or (local is not None and (dialects or kernels)):
        yield from _wrapped(piece, _carriers(local.all() if local is not None else [], inherited))


def _names_any(text: Text, carriers: frozenset[str]) -> bool:
    """Whether a text names one of `carriers`, comments and literals looked through too."""
    if text.words is None:
        return any(one in text.raw for one in carriers)
    return not _encoded(carriers).isdisjoint(text.words.all)


@lru_cache(maxsize=4)
def _encoded(names: frozenset[str]) -> frozenset[bytes]:
    return frozenset(name.encode() for name in names)


def _lookup(local: LocalMacros | None, macros: MacroTable | None, at: int) -> Lookup:
    def lookup(name: str) -> Macro | None:
        if _KEPT.fullmatch(name):
            return None
        inherited = lookup_in(macros, name) if macros is not None else None
        return local.get(name, at, inherited) if local is not None and name in local.by_name else inherited

    return lookup


def _wrapped(piece: Piece, carriers: frozenset[str]) -> Iterator[Dialect]:
    """What wrapper macros register when they are invoked outside of any block."""
    if not carriers:
        return
    for match in _INVOKED.finditer(piece.text.bare):
        name, begin = match[1], match.start(1)
        if name not in carriers or piece.directive(begin):
            continue
        closing = piece.brackets.closing(match.end())
        made = piece.expanded(begin, closing + 1, name, _needed(carriers)) if closing >= 0 else None
        if made is not None:
            yield from libraries(made)[0]
            yield from stubs(made)
            yield from structured(made)
            yield from tables.flags(made)


def _needed(carriers: frozenset[str]) -> Callable[[Macro], bool]:
    """Of all macros in a body only those matter that lead to a dialect macro or make its arguments."""
    return lambda one: one.name in carriers or "##" in one.body or "CONCATENATE" in one.body


@lru_cache(maxsize=4)
def _header_carriers(macros: MacroTable) -> frozenset[str]:
    """The headers' wrappers around dialect macros (an extension's REGISTER_MY_OP, for one)."""
    return _carriers((of_header(one) for all_ in macros.by_name.values() for one in all_), _NONE)


def _carriers(macros: Iterable[Macro], known: frozenset[str]) -> frozenset[str]:
    """Of `macros` those whose body holds a dialect macro, directly or through another or a `known` one; with these."""
    names: dict[str, set[str]] = {}
    found = set(known)
    for one in macros:
        if _KEPT.fullmatch(one.name):
            continue
        if _STUB.search(one.body) or _BLOCK.search(one.body):
            found.add(one.name)
        else:
            names.setdefault(one.name, set()).update(one.names)
    grown = bool(found)
    while grown:
        more = {name for name, used in names.items() if name not in found and used & found}
        grown = bool(more)
        found |= more
    return frozenset(found)
