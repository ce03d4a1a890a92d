"""Older ways to register operators: c10's RegisterOperators().op(…) and the JIT's lists of Operator(…)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ptexplore.index.dialect.kernels import kernel_name
from ptexplore.index.dialect.piece import Piece, literal
from ptexplore.model.symbols import Dialect

_OP = re.compile(r"\.\s*op\s*\(")
_OPERATOR = re.compile(r"\b(Operator|OperatorGenerator|OperatorGeneratorArgs|RegisterOperators\s+\w+)\s*[({]")
_KERNEL = re.compile(r"\.\s*(kernel|catchAllKernel)\s*<")
_KEY = re.compile(r"DispatchKey::(\w+)")
_SCHEMA = re.compile(r"[\w.]+::[\w.]+")


def operators(piece: Piece) -> Iterator[Dialect]:
    """A `def` row for every operator registered by an object and not by a library block."""
    text = piece.text
    if "RegisterOperators" in text.raw:
        for match, closing in piece.calls(_OP):
            yield from _row(piece, match, closing, "RegisterOperators.op")
    for match, closing in piece.calls(_OPERATOR):
        yield from _row(piece, match, closing, match[1].split()[0])


def _row(piece: Piece, match: re.Match[str], closing: int, macro: str) -> Iterator[Dialect]:
    spans = piece.text.brackets.arguments(match.end(), closing, 2)
    first = piece.said(*spans[0])
    schema = literal(first) if not first.startswith("{") else None  # a list: its members are found by themselves
    name = schema.partition("(")[0].strip() if schema else ""
    if not _SCHEMA.fullmatch(name):
        return
    rest = piece.said(*spans[1]) if len(spans) > 1 else ""
    options = _KERNEL.search(rest)
    if options is not None:
        key = _KEY.search(rest)
        inside = rest[options.end() :].partition(">(")[0].rpartition("&")[2]
        target, context = kernel_name(inside), key[1] if key else None
    else:
        function = piece.arguments(*spans[1], 2)[0] if len(spans) > 1 else ""
        target, context = piece.kernel(function, match.start()), None
    said = piece.said(match.end(), closing)
    yield piece.row(
        "def", (match.start(), closing), name, said, context=context, target=target, macro=piece.macro or macro
    )
