"""What C++, CUDA and Objective-C++ may write and the parser's grammar does not know, rewritten at equal length."""

from __future__ import annotations

import re
from collections.abc import Callable

from ptexplore.cpp.text import Words

Rewrite = Callable[["re.Match[str]"], str]


def _blanked(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _empty_body(match: re.Match[str]) -> str:
    """`= default;` as a body: the grammar takes it for an expression after some return types."""
    return "{" + " " * (len(match[0]) - 2) + "}"


def _zero(match: re.Match[str]) -> str:
    """`= {…}` as a default argument becomes `= 0`."""
    return match[1] + "0" + " " * (len(match[2]) - 1)


def _after_at(match: re.Match[str]) -> str:
    return " " + match[0][1:]


def _word(match: re.Match[str]) -> str:
    """An operator called by name: `->operator!=(` becomes `->operatorxx(`."""
    if match.string[match.start() - 1 : match.start()] not in (".", ">"):
        return match[0]
    return re.sub(r"[^\w\n]", "x", match[0])


def _default_of_pointer(match: re.Match[str]) -> str:
    """The default of an unnamed pointer parameter: `typename X::type* = nullptr>`."""
    before = match.string[max(0, match.start() - 40) : match.start()].rstrip()
    return " " * len(match[0]) if before.endswith("*") else match[0]


def _disambiguator(match: re.Match[str]) -> str:
    """`x.template f<T>()`: the word says nothing that the grammar needs."""
    before = match.string[max(0, match.start() - 20) : match.start()].rstrip()
    return " " * len(match[0]) if before.endswith((".", "->", "::")) else match[0]


def _swapped(match: re.Match[str]) -> str:
    return match[2] + match[1]


def _struct(match: re.Match[str]) -> str:
    return "struct".ljust(len(match[0]))


def _inside(match: re.Match[str]) -> str:
    """`PyAPI_FUNC(void)` is a type."""
    return match[1].ljust(len(match[0]))


def _pointer(match: re.Match[str]) -> str:
    """What a typedef calls a block is written as a function pointer with another sign."""
    return f"{match[1]}(*"


def _some_type(match: re.Match[str]) -> str:
    """A trailing `-> decltype(…)` whose expression the grammar may not know."""
    return "-> T".ljust(len(match[0]))


_NESTED = r"\((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*\)"

# A word that must stand in the text for the rewrite to be tried, the pattern, the rewrite.
_EVERYWHERE: tuple[tuple[str, re.Pattern[str], Rewrite], ...] = (
    ("delete", re.compile(r"=\s*delete\s*;"), _empty_body),
    ("default", re.compile(r"=\s*default\s*;"), _empty_body),
    ("{", re.compile(r"(=\s*)(\{[^{};]*\})(?=\s*[,)])"), _zero),
    ("typename", re.compile(r"typename(?=\s+(?:::)?\w+\s*(?:<|::))"), _blanked),
    ("template", re.compile(r"template(?=\s+\w+\s*<)"), _disambiguator),
    ("[[", re.compile(r"\[\[[\w:, ]*(?:\([^()\[\]]*\))?\s*\]\]"), _blanked),
    ("friend", re.compile(r"(inline\s+|constexpr\s+|virtual\s+)(friend\s+)"), _swapped),
    ("decltype", re.compile(rf"->\s*decltype\s*{_NESTED}(?=\s*\{{)"), _some_type),
    ("nullptr", re.compile(r"=\s*nullptr(?=\s*[>,)])"), _default_of_pointer),
    ("template", re.compile(r"extern\s+template\s[^;{}=]*;"), _blanked),
    ("template", re.compile(r"template\s+(?:class|struct|[\w:]+)\b(?!\s*\()[^;{}=]*;"), _blanked),
    ("<<<", re.compile(r"<<<.*?>>>", re.DOTALL), _blanked),
    ("operator", re.compile(r"operator\s*(?:[^\w\s(]+|\(\s*\))(?=\s*\()"), _word),
    ("unsigned", re.compile(r"\bunsigned\s*:\s*\d+\s*;"), _blanked),  # bits without a name
    # Macros of headers that are in no tree of ours.
    ("FLATBUFFERS_MANUALLY_ALIGNED_STRUCT", re.compile(r"FLATBUFFERS_MANUALLY_ALIGNED_STRUCT\(\w+\)"), _struct),
    ("CALLBACK", re.compile(r"(?<=\w )CALLBACK(?= \w+\()"), _blanked),
    ("PyAPI_FUNC", re.compile(r"PyAPI_FUNC\(([\w *]+)\)"), _inside),
    *(
        (f"PYBIND11_{word}", re.compile(rf"PYBIND11_{word}\s*{_NESTED}"), _blanked)
        for word in ("MAKE_OPAQUE", "DECLARE_HOLDER_TYPE", "TYPE_CASTER")
    ),
    ("$", re.compile(r"\$\{\w*\}"), _blanked),
)
_OBJECTIVE = (
    ("@", re.compile(r"@(?:autoreleasepool|synchronized\s*\([^()]*\)|try|finally)\b"), _blanked),
    ("@", re.compile(r"@(?:interface|implementation|protocol)\b.*?@end", re.DOTALL), _blanked),
    ("(^", re.compile(r"(typedef\s[^;{}()]*)\(\^(?=\w+\))"), _pointer),
    ("@", re.compile(r"@(?:class|import|compatibility_alias)\b[^;\n]*;"), _blanked),
    ("@", re.compile(r'@["(\[{]'), _after_at),
    ("^", re.compile(r"\^(?=\s*[({])"), _blanked),
)
_METAL = (
    ("", re.compile(r"\b(?:kernel|device|constant|threadgroup|thread)\b(?!\s*[;,)=(.])"), _blanked),
    ("[[", re.compile(r"\[\[[^\[\]]*\]\]"), _blanked),
)


def rewrite(path: str, text: str, words: Words | None = None) -> str:
    """`text` (comments and literals blanked) with what the grammar lacks rewritten; the same length.

    With the `words` of its file, a rule is passed over without a look at the text.
    """
    rules = _EVERYWHERE
    if path.endswith((".mm", ".m")) or ("@" in text and ("@interface" in text or "@protocol" in text)):
        rules += _OBJECTIVE
    elif path.endswith(".metal"):
        rules += _METAL
    for word, pattern, made in rules:
        if word in text if words is None or not word.isidentifier() else word.encode() in words.all:
            text = pattern.sub(made, text)
    return text
