"""What binds C++ to Python and the command line: PyMethodDef tables, pybind definitions, C10_DEFINE_* flags."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ptexplore.index.dialect.kernels import kernel_name
from ptexplore.index.dialect.piece import Piece, literal, one_line, split
from ptexplore.symbols import Dialect

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
_PYBIND = re.compile(
    r"\.\s*(def|def_static|def_property|def_property_readonly|def_property_static|def_property_readonly_static"
    r"|def_readwrite|def_readonly|def_readwrite_static|def_readonly_static)\s*\("
)
_STATEMENT_END = re.compile(r"[;{}]")
_OTHER_CLASSES = re.compile(r"\b(?:torch|jit|m|module)\s*(?:::|\.)\s*(?:jit::)?class_\s*<")


def methods(piece: Piece) -> Iterator[Dialect]:
    """The rows of every PyMethodDef table of a piece."""
    text = piece.text
    for match in _TABLE.finditer(text.bare):
        closing = text.closing(match.end() - 1)
        if closing < 0 or piece.directive(match.start()):
            continue
        at = match.end()
        single = text.bare[at:closing].lstrip().startswith('"')
        if single:
            row = _method(piece, match[1], match.end() - 1, closing)
            if row is not None:
                yield row
        while not single:
            opening = text.bare.find("{", at, closing)
            end = text.closing(opening) if opening >= 0 else -1
            if end < 0:
                break
            row = _method(piece, match[1], opening, end)
            if row is not None:
                yield row
            at = end + 1


def _method(piece: Piece, table: str, opening: int, closing: int) -> Dialect | None:
    arguments = [piece.text.code[slice(*one)] for one in split(piece.text, opening + 1, closing)]
    name = literal(arguments[0])
    if name is None or len(arguments) < 2:
        return None
    target = kernel_name(arguments[1], piece.names(opening))
    said = piece.text.code[opening : closing + 1]
    return piece.row("method", (opening, closing), name, said, context=table, target=target, macro="PyMethodDef")


def pybind(piece: Piece, libraries: Sequence[tuple[int, int]]) -> Iterator[Dialect]:
    """Every pybind11 definition of a piece, those between the offsets of `libraries` left out.

    The receiver of a chained call is that of the chain's first.
    """
    text = piece.text
    chained: tuple[int, str] | None = None
    for match, closing in piece.calls(_PYBIND):
        if any(start <= match.start() < stop for start, stop in libraries):
            continue
        if chained is not None and not text.bare[chained[0] : match.start()].strip():
            receiver = chained[1]
        else:
            receiver = _receiver(piece, match.start())
        chained = (closing + 1, receiver)
        if _OTHER_CLASSES.search(receiver) and "py::class_" not in receiver:
            continue  # a TorchScript class: its methods are not Python's
        spans = split(text, match.end(), closing, 2)
        name = literal(text.code[slice(*spans[0])])
        if name is None or len(spans) < 2:
            continue
        value = split(text, *spans[1], 2)[0]
        yield piece.row(
            "pybind",
            (match.start(), closing),
            name,
            text.code[slice(*spans[1])],
            context=receiver,
            target=_function(text.code[slice(*spans[1])], text.code[slice(*value)], piece, match.start()),
            macro=piece.macro or match[1],
        )


def _function(everything: str, first: str, piece: Piece, at: int) -> str | None:
    """The function that is bound: commas in template arguments do not end it."""
    names = piece.names(at)
    return kernel_name(first, names) or (kernel_name(everything, names) if "<" in first else None)


def _receiver(piece: Piece, at: int) -> str:
    """The expression before the call, back to where its statement starts."""
    bare = piece.text.bare
    depth, begin = 0, at
    while begin > 0:
        sign = bare[begin - 1]
        if sign in ")}]":
            depth += 1
        elif sign in "({[":
            if depth == 0:
                break
            depth -= 1
        elif sign == ";" and depth == 0:
            break
        begin -= 1
    said = one_line(piece.text.code[begin:at])
    return said.rpartition("= ")[2].rpartition("} ")[2] if "(" not in said.partition("= ")[0] else said


def flags(piece: Piece) -> Iterator[Dialect]:
    """The command line flags a piece defines (c10/util/Flags.h)."""
    for match, closing in piece.calls(_FLAG):
        arguments = [piece.text.code[slice(*one)] for one in split(piece.text, match.end(), closing)]
        kind = _FLAG_TYPES.get(match[1]) or arguments.pop(0)
        if arguments and arguments[0].isidentifier():
            macro = piece.macro or match[0].rstrip("( \t\n")
            said = piece.text.code[match.end() : closing]
            yield piece.row("flag", (match.start(), closing), arguments[0], said, context=kind, macro=macro)
