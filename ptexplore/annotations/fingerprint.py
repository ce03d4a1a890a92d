"""A stretch of source as tokens without comments and white space, and their hash: what tells whether text changed."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

_CPP = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*.*?(?:\*/|\Z))
    |R"(?P<mark>[^()\\\s]{0,16})\(.*?(?:\)(?P=mark)"|\Z)
    |"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)+'
    |[^\W\d]\w*|\d(?:'?[\w.])*|.""",
    re.DOTALL | re.VERBOSE,
)
_PYTHON = re.compile(
    r"""(?P<skip>\s+|\#[^\n]*)
    |(?:[rRbBuUfF]{0,2})(?:\"\"\".*?(?:\"\"\"|\Z)|'''.*?(?:'''|\Z)|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |[^\W\d]\w*|\d[\w.]*|.""",
    re.DOTALL | re.VERBOSE,
)
_YAML = re.compile(r"(?P<skip>\s+|(?:(?<=\s)|\A)\#[^\n]*)|[^\W\d]\w*|\d[\w.]*|.", re.DOTALL)
_BY_LANGUAGE = {"cpp": _CPP, "python": _PYTHON, "yaml": _YAML}
_DIGITS = 20  # of the hash, in hexadecimal: enough to tell texts apart, no way back to them


class Token(NamedTuple):
    """One token and its line, 1-based in the file."""

    text: str
    line: int


def tokens(lines: Sequence[str], first: int, last: int, language: str) -> list[Token]:
    """The tokens of lines `first` to `last` (1-based, both in it) of a file that has `lines`."""
    text = "\n".join(lines[first - 1 : last])
    pattern = _BY_LANGUAGE.get(language, _CPP)
    found, line, at = [], first, 0
    for match in pattern.finditer(text):
        line += text.count("\n", at, match.start())
        at = match.start()
        if match["skip"] is None:
            found.append(Token(match[0], line))
    return found


def digest(texts: Iterable[str]) -> str:
    """The hash of these tokens in this order."""
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


def fingerprint(found: Sequence[Token]) -> str:
    """The hash of a stretch."""
    return digest(token.text for token in found)


def places(found: Sequence[Token], hash_: str, size: int) -> list[tuple[int, int]]:
    """First and last line of every run of `size` tokens that fills its lines and has that hash."""
    out = []
    for start, token in enumerate(found[: max(len(found) - size + 1, 0)]):
        if start and found[start - 1].line == token.line:
            continue
        run = found[start : start + size]
        after = found[start + size].line if start + size < len(found) else 0
        if after != run[-1].line and digest(one.text for one in run) == hash_:
            out.append((run[0].line, run[-1].line))
    return out
