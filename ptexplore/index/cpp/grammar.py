"""What C++, CUDA and Objective-C++ may write and the parser's grammar does not know, rewritten at equal length."""

from __future__ import annotations

import re
from collections.abc import Callable

from ptexplore.index.cpp.text import blank

Rewrite = Callable[["re.Match[str]"], str]


def _blanked(match: re.Match[str]) -> str:
    return blank(match[0])


def _empty_body(match: re.Match[str]) -> str:
    """`= default;` as a body: the grammar takes it for an expression after some return types."""
    return "{" + blank(match[0][1:-1]) + "}"


def _zero(match: re.Match[str]) -> str:
    """`= {…}` as a default argument becomes `= 0`."""
    return match[1] + "0" + blank(match[2][1:])


def _after_at(match: re.Match[str]) -> str:
    return " " + match[0][1:]


# A word that must stand in the text for the rewrite to be tried, the pattern, the rewrite.
_EVERYWHERE: tuple[tuple[str, re.Pattern[str], Rewrite], ...] = (
    ("delete", re.compile(r"=\s*delete\s*;"), _empty_body),
    ("default", re.compile(r"=\s*default\s*;"), _empty_body),
    ("{", re.compile(r"(=\s*)(\{[^{};]*\})(?=\s*[,)])"), _zero),
    ("typename", re.compile(r"\btypename(?=\s+(?:::)?\w+\s*(?:<|::))"), _blanked),
    ("nullptr", re.compile(r"(?<=\*)\s*=\s*nullptr(?=\s*[>,])"), _blanked),
    ("template", re.compile(r"(?:\bextern\s+)?\btemplate\s+(?:class|struct|[\w:]+)\b(?!\s*\()[^;{}=]*;"), _blanked),
    ("<<<", re.compile(r"<<<.*?>>>", re.DOTALL), _blanked),
    ("${", re.compile(r"\$\{\w+\}"), _blanked),
)
_OBJECTIVE = (
    ("@", re.compile(r"@(?:autoreleasepool|synchronized\s*\([^()]*\)|try|finally)\b"), _blanked),
    ("@", re.compile(r"@(?:interface|implementation|protocol)\b.*?@end", re.DOTALL), _blanked),
    ("@", re.compile(r"@(?:class|import)\b[^;\n]*;"), _blanked),
    ("@", re.compile(r'@["(\[{]'), _after_at),
    ("^", re.compile(r"\^(?=\s*[({])"), _blanked),
)
_METAL = (
    ("", re.compile(r"\b(?:kernel|device|constant|threadgroup|thread)\b(?!\s*[;,)=(.])"), _blanked),
    ("[[", re.compile(r"\[\[[^\[\]]*\]\]"), _blanked),
)


def rewrite(path: str, text: str) -> str:
    """`text` (comments and literals blanked) with what the grammar lacks rewritten; the same length."""
    rules = _EVERYWHERE
    if path.endswith((".mm", ".m")) or ("@interface" in text or "@protocol" in text):
        rules += _OBJECTIVE
    elif path.endswith(".metal"):
        rules += _METAL
    for word, pattern, made in rules:
        if word in text:
            text = pattern.sub(made, text)
    return text
