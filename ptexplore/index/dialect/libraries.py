"""Registrations of operators: TORCH_LIBRARY(_FRAGMENT|_IMPL) blocks with every m.def, m.impl and m.fallback inside.

Older ways are read too: c10's RegisterOperators().op(…) and the JIT's lists of Operator(…).

The macros are defined in torch/library.h. The binary records the line of the macro that opens the block. If another
macro makes the registration, the record has the line of that macro's invocation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ptexplore.index.dialect.piece import LONGEST, Piece, kernel_name, literal, one_line
from ptexplore.model.symbols import Dialect

CATCH_ALL = "CompositeImplicitAutograd"  # the key of a kernel that is registered without one

_BLOCK = re.compile(r"\b_?(?:STATIC_)?(MAKE_)?TORCH_LIBRARY(_IMPL|_FRAGMENT)?\s*\(")
_KEY = re.compile(  # torch::dispatch(key, kernel), and the older form with the key as a separate argument
    r"\bdispatch\s*\(\s*(?:(?:c10|at|torch)::)*(?:DispatchKey::|k)(\w+)\s*,|^(?:(?:c10|at)::)*DispatchKey::(\w+)\s*,"
)
_TAGS = re.compile(r",\s*(?:\{[^{}]*\}|(?:\w+::)*_RegisterOrVerify::\w+)\s*$")
_TAG_VARIABLE = re.compile(r"\bTag\s*>\s*(\w+)")
_MADE = re.compile(r"(\w+)\s*=\s*$")
_STATEMENT = re.compile(r"(?:^|[;{})])\s*([A-Za-z_]\w*)(?=\s*[(;}]|\s*$)", re.MULTILINE)
_NOT_CALLS = frozenset(["if", "for", "while", "switch", "return", "else", "do", "static_assert", "sizeof", "auto"])


@dataclass(frozen=True, slots=True)
class _Block:
    """One library: namespace, key, the variable for registrations, and the offsets of its statements.

    `begin` is the offset of the macro, `start` the offset of the first statement.
    """

    namespace: str
    key: str | None
    variable: str
    line: int
    macro: str
    written: str  # the macro with its arguments
    begin: int
    start: int
    stop: int
    tags: tuple[str, ...] = ()  # names of variables that hold tags of operators


def libraries(piece: Piece) -> Iterator[Dialect]:
    """Yields the rows of every block of a piece."""
    for block in _blocks(piece):
        span, macro = (block.begin, block.stop), piece.macro or block.macro
        yield piece.row("library", span, block.namespace, block.written, context=block.key, macro=macro)
        yield from _entries(piece, block, block.start, block.stop)


def block_spans(piece: Piece) -> list[tuple[int, int]]:
    """Returns begin and end of each block of a piece."""
    return [(block.begin, block.stop) for block in _blocks(piece)] if "TORCH_LIBRARY" in piece.text.names else []


def _blocks(piece: Piece) -> Iterator[_Block]:
    last = -1
    for match, closing in piece.calls(_BLOCK, word="TORCH_LIBRARY"):
        nested = match.start() < last and not match[1]
        block = None if nested else _block(piece, match, closing)
        if block is not None:
            last = block.stop
            yield block


def _block(piece: Piece, match: re.Match[str], closing: int) -> _Block | None:
    text = piece.text
    macro = text.code[match.start() : match.end() - 1].strip()
    written = piece.written(match.start(), closing + 1)
    arguments = piece.arguments(match.end(), closing)
    key = arguments[1].rsplit("::", 1)[-1] if match[2] == "_IMPL" and len(arguments) > 1 else None
    line = piece.lines(match.start(), closing)[0]
    if match[1]:
        before = _MADE.search(text.bare, max(0, match.start() - 80), match.start())
        if before is None:
            return None
        start, stop = closing + 1, text.brackets.scope_end(closing + 1)
        return _Block(arguments[0], key, before[1], line, macro, written, match.start(), start, stop)
    opening = text.brackets.behind_blanks(closing + 1)
    if text.bare[opening : opening + 1] != "{" or len(arguments) < 2:
        return None
    end = piece.text.brackets.closing(opening)
    if end < 0:  # the arms of an #if have different braces: the block ends at the next brace at the start of a line
        end = text.bare.find("\n}", opening) + 1 or len(text.bare)
    variable = arguments[2 if match[2] == "_IMPL" else 1] if len(arguments) > (match[2] == "_IMPL") + 1 else "m"
    tags = tuple(_TAG_VARIABLE.findall(text.bare, opening, end))
    return _Block(arguments[0], key, variable, line, macro, written, match.start(), opening + 1, end, tags)


def _entries(piece: Piece, block: _Block, start: int, stop: int) -> Iterator[Dialect]:
    """Yields the registrations between two offsets: first the registrations in the text, then those made by macros."""
    call = re.compile(rf"(?<![\w.>]){re.escape(block.variable)}\s*\.\s*(impl|def|fallback)\s*\(")
    spans: list[tuple[int, int]] = []
    for match, closing in piece.calls(call, start, stop):
        if spans and match.start() < spans[-1][1]:
            continue  # inside the body of a kernel
        spans.append((match.start(), closing))
        row = _entry(piece, block, match, closing)
        if row is not None:
            yield row
    if piece.at is not None:
        return  # an expansion contains no more invocations
    at = 0
    for match in _STATEMENT.finditer(piece.text.bare, start, stop):
        name, begin = match[1], match.start(1)
        while at < len(spans) and spans[at][1] < begin:
            at += 1
        inside = at < len(spans) and spans[at][0] <= begin
        if inside or name in _NOT_CALLS or not piece.is_macro(name, begin) or piece.directive(begin):
            continue
        yield from _made(piece, block, name, begin, match.end(1))


def _made(piece: Piece, block: _Block, name: str, begin: int, end: int) -> Iterator[Dialect]:
    """Yields the registrations that one macro invocation in the block makes."""
    bare = piece.text.bare
    opening = piece.text.brackets.behind_blanks(end)
    closing = piece.text.brackets.closing(opening) if bare[opening : opening + 1] == "(" else end - 1
    made = piece.expanded(begin, closing + 1, name) if closing >= 0 else None
    if made is not None:
        yield from _entries(made, block, 0, len(made.text.bare))


def _entry(piece: Piece, block: _Block, match: re.Match[str], closing: int) -> Dialect | None:
    arguments = piece.arguments(match.end(), closing, 2)
    first, rest = arguments[0], arguments[1] if len(arguments) > 1 else ""
    if match[1] == "fallback":
        name: str | None = "*"
        rest = first
    else:
        schema = literal(first)
        name = schema.partition("(")[0].strip() if schema else None
    if not name:
        return None
    name = name if "::" in name else f"{block.namespace}::{name}"
    rest = "" if rest.startswith("{") or rest in block.tags else _TAGS.sub("", rest)
    other = _KEY.search(rest)
    if other is not None and other[2]:
        rest = rest[other.end() :]
    key = (other[1] or other[2]) if other else block.key
    if match[1] == "def":
        said_all = _two(first, rest)
        key = (key or CATCH_ALL) if rest else None
    else:
        said_all = rest
        key = key or CATCH_ALL
    return piece.row(
        "def" if match[1] == "def" else "impl",
        (match.start(), closing),
        name,
        said_all,
        context=key,
        target=piece.kernel(rest, match.start()) if rest else None,
        block=block.line,
        macro=piece.macro or f"{block.variable}.{match[1]}",
    )


def _two(schema: str, kernel: str) -> str:
    """Returns schema and kernel expression. If both are too long, the schema is cut."""
    if not kernel:
        return schema
    kernel = one_line(kernel)[:120]
    return f"{one_line(schema)[: LONGEST - len(kernel) - 2]}, {kernel}"


_OP = re.compile(r"\.\s*op\s*\(")
_OPERATOR = re.compile(r"\b(Operator|OperatorGenerator|OperatorGeneratorArgs|RegisterOperators\s+\w+)\s*[({]")
_KERNEL = re.compile(r"\.\s*(kernel|catchAllKernel)\s*<")
_OPTION_KEY = re.compile(r"DispatchKey::(\w+)")
_SCHEMA = re.compile(r"[\w.]+::[\w.]+")


def operators(piece: Piece) -> Iterator[Dialect]:
    """Yields a `def` row for every operator that an object registers, instead of a library block."""
    text = piece.text
    if "RegisterOperators" in text.raw:
        for match, closing in piece.calls(_OP):
            yield from _row(piece, match, closing, "RegisterOperators.op")
    for match, closing in piece.calls(_OPERATOR):
        yield from _row(piece, match, closing, match[1].split()[0])


def _row(piece: Piece, match: re.Match[str], closing: int, macro: str) -> Iterator[Dialect]:
    spans = piece.text.brackets.arguments(match.end(), closing, 2)
    first = piece.written(*spans[0])
    schema = literal(first) if not first.startswith("{") else None  # a list: its members are found separately
    name = schema.partition("(")[0].strip() if schema else ""
    if not _SCHEMA.fullmatch(name):
        return
    rest = piece.written(*spans[1]) if len(spans) > 1 else ""
    options = _KERNEL.search(rest)
    if options is not None:
        key = _OPTION_KEY.search(rest)
        inside = rest[options.end() :].partition(">(")[0].rpartition("&")[2]
        target, context = kernel_name(inside), key[1] if key else None
    else:
        function = piece.arguments(*spans[1], 2)[0] if len(spans) > 1 else ""
        target, context = piece.kernel(function, match.start()), None
    written = piece.written(match.end(), closing)
    yield piece.row(
        "def", (match.start(), closing), name, written, context=context, target=target, macro=piece.macro or macro
    )
