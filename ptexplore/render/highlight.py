"""Colour source text for a terminal, line by line, with Pygments; plain where it is too big or nothing is coloured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

BIGGEST = 1_000_000  # characters; more is shown plain
# Standard colours alone, so that they suit light and dark terminals: the terminal's own theme says what they are.
_STYLES = {
    "Comment.Preproc": "35",
    "Comment.PreprocFile": "32",
    "Comment": "90",
    "Keyword.Type": "36",
    "Keyword": "34;1",
    "Literal.String": "32",
    "Literal.Number": "36",
    "Name.Function": "1",
    "Name.Class": "1",
    "Name.Decorator": "35",
    "Name.Tag": "34;1",
    "Operator.Word": "34;1",
}


def highlighted(lines: Sequence[str], before: Sequence[str], language: str) -> Iterator[str]:
    """`lines` with colour codes, each line whole in itself; `before` is read first and not given out.

    The lines hold no control characters. The codes are SGR alone.
    """
    lexer = _lexer(language)
    if lexer is None or sum(map(len, lines)) > BIGGEST:
        yield from lines
        return
    text = "\n".join([*before, *lines]) + "\n"
    yield from islice(_coloured(lexer.get_tokens(text)), len(before), len(before) + len(lines))


def _lexer(language: str) -> Any:
    options = {"stripnl": False, "stripall": False, "ensurenl": False}
    if language == "cpp":
        from pygments.lexers.c_cpp import CppLexer  # type: ignore[import-untyped]

        return CppLexer(**options)
    if language == "python":
        from pygments.lexers.python import PythonLexer  # type: ignore[import-untyped]

        return PythonLexer(**options)
    if language == "yaml":
        from pygments.lexers.data import YamlLexer  # type: ignore[import-untyped]

        return YamlLexer(**options)
    return None


def _coloured(tokens: Iterable[tuple[Any, str]]) -> Iterator[str]:
    known: dict[Any, str] = {}
    parts: list[str] = []
    for kind, value in chain(tokens, ((None, "\n"),)):
        if kind not in known:
            known[kind] = _style(kind)
        style = known[kind]
        first, *rest = value.split("\n")
        _add(parts, style, first)
        for piece in rest:
            yield "".join(parts)
            parts.clear()
            _add(parts, style, piece)


def _add(parts: list[str], style: str, piece: str) -> None:
    if piece:
        parts.append(f"\x1b[{style}m{piece}\x1b[0m" if style and not piece.isspace() else piece)


def _style(kind: Any) -> str:
    """The colour of a token's kind, or of the nearest kind above it."""
    name = str(kind).removeprefix("Token.")
    while name:
        if name in _STYLES:
            return _STYLES[name]
        name = name.rpartition(".")[0]
    return ""
