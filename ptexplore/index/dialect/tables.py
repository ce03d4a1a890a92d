"""Bindings of C++ to Python and to the command line: PyMethodDef tables, pybind definitions, C10_DEFINE_* flags."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ptexplore.cpp.text import Text
from ptexplore.index.dialect.libraries import block_spans
from ptexplore.index.dialect.piece import Piece, literal, one_line, plain_literal
from ptexplore.model.symbols import Dialect

_TABLE = re.compile(r"\bPyMethodDef\s*(?:,\s*\w+\s*)?>?\s*(\w+)\s*(?:\[[^\]]*\])?\s*=?\s*\{")
_FLAG = re.compile(r"\b(?:C10|CAFFE2|TORCH)_DEFINE_(int|int32|int64|double|bool|string|typed_var)\s*\(")
_FLAG_TYPES = {
    "int": "int",
    "int32": "int32_t",
    "int64": "int64_t",
    "double": "double",
    "bool": "bool",
    "string": "std::string",
}
_DEFS = (
    r"(?:def|def_static|def_property|def_property_readonly|def_property_static|def_property_readonly_static"
    r"|def_readwrite|def_readonly|def_readwrite_static|def_readonly_static)"
)
_PYBIND = re.compile(rf"\.\s*({_DEFS})\s*\(")
_MADE = re.compile(rf"(?:\.\s*|^\s*)({_DEFS})\s*\(")
_MAKES = re.compile(rf"\b{_DEFS}\s*\(\s*#")
_CHAINED = re.compile(r"\s*\.\s*def\w*\s*\(")
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\\\n]|\\[^\n]|\\\n)*", re.MULTILINE)
_RECEIVER = 160  # characters; a class_ may contain a page of documentation
_OTHER_CLASSES = re.compile(r"\b(?:torch|jit|m|module)\s*(?:::|\.)\s*(?:jit::)?class_\s*<")


def methods(piece: Piece) -> Iterator[Dialect]:
    """Yields the rows of every PyMethodDef table of a piece."""
    for match, closing in piece.calls(_TABLE):
        single = piece.text.bare[match.end() : closing].lstrip().startswith('"')
        spans = [(match.end() - 1, closing)] if single else _braced(piece.text, match.end(), closing)
        yield from filter(None, (_method(piece, match[1], *span) for span in spans))


def _braced(text: Text, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yields the outermost pairs of braces between two offsets, up to the first brace that does not close."""
    opening = text.bare.find("{", start, stop)
    while opening >= 0 and (closing := text.brackets.closing(opening)) >= 0:
        yield opening, closing
        opening = text.bare.find("{", closing, stop)


def _method(piece: Piece, table: str, opening: int, closing: int) -> Dialect | None:
    arguments = piece.arguments(opening + 1, closing)
    name = literal(arguments[0])
    if name is None or len(arguments) < 2:
        return None
    target = piece.kernel(arguments[1], opening)
    written = piece.written(opening, closing + 1)
    return piece.row("method", (opening, closing), name, written, context=table, target=target, macro="PyMethodDef")


def pybind(piece: Piece) -> Iterator[Dialect]:
    """Yields every pybind11 definition of a piece. An `m.def` inside a library block is not one.

    In a chain, every call has the receiver of the first call. A macro of the file may make the call (`.GS(name)`).
    """
    libraries = block_spans(piece)
    own = piece.macros.own if piece.macros is not None else {}
    # macros whose body binds a name that it makes a string of
    makers = [name for name, definitions in own.items() if any(_MAKES.search(define.body) for define in definitions)]
    calls = re.compile(rf"{_PYBIND.pattern}|(?:\.\s*)?\b({'|'.join(makers)})\s*\(") if makers else _PYBIND
    chained: tuple[int, str] | None = None
    for match, closing in piece.calls(calls):
        if any(start <= match.start() < stop for start, stop in libraries):
            continue
        receiver = _receiver(piece, match.start(), chained)
        chained = (closing, receiver)
        if _OTHER_CLASSES.search(receiver) and "py::class_" not in receiver:
            continue  # a TorchScript class: its methods are not Python methods
        if match[1] is None:
            made = piece.expanded(match.start(2), closing + 1, match[2])
            rows = [_bound(made, *call, receiver) for call in made.calls(_MADE)] if made is not None else []
        else:
            rows = [_bound(piece, match, closing, receiver)]
        yield from filter(None, rows)


def _bound(piece: Piece, match: re.Match[str], closing: int, receiver: str) -> Dialect | None:
    spans = piece.text.brackets.arguments(match.end(), closing, 2)
    name = plain_literal(piece.written(*spans[0]))
    if name is None or len(spans) < 2:
        return None
    written = piece.written(*spans[1])
    first = piece.arguments(*spans[1], 2)[0]
    # A comma in template arguments does not end the name of the bound function.
    target = piece.kernel(first, match.start()) or (piece.kernel(written, match.start()) if "<" in first else None)
    span = (match.start(), closing)
    return piece.row("pybind", span, name, written, context=receiver, target=target, macro=piece.macro or match[1])


def _receiver(piece: Piece, at: int, chained: tuple[int, str] | None) -> str:
    """Returns the expression before the call, from the start of its statement.

    A chained call has the same expression as the call before it.
    """
    floor = chained[0] if chained is not None else 0
    begin = piece.text.brackets.statement(at, floor)
    if chained is not None and begin == floor:
        return chained[1]
    expression = one_line(_CHAINED.split(_DIRECTIVE.sub("", piece.written(begin, at)))[0])
    before, equals, after = expression.partition(" = ")
    return (after if equals and "(" not in before else expression).removeprefix("return ")[:_RECEIVER]


def flags(piece: Piece) -> Iterator[Dialect]:
    """Yields the command line flags that a piece defines (c10/util/Flags.h)."""
    for match, closing in piece.calls(_FLAG, word="_DEFINE_"):
        arguments = piece.arguments(match.end(), closing)
        kind = _FLAG_TYPES.get(match[1]) or arguments.pop(0)
        if arguments and arguments[0].isidentifier():
            macro = piece.macro or match[0].rstrip("( \t\n")
            written = piece.written(match.end(), closing)
            yield piece.row("flag", (match.start(), closing), arguments[0], written, context=kind, macro=macro)
