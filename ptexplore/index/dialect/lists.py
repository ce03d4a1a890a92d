"""List macros: macros that call one of their parameters again and again, once for every member of a list."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ptexplore.cpp.text import Text
from ptexplore.index.dialect.piece import one_line
from ptexplore.model.symbols import Dialect

_DEFINED = re.compile(r"[ \t]+(\w+)\(([^()\n]*(?:\\\n[^()\n]*)*)\)")
_GROUP = re.compile(r"\([^()]*\)")
_WORD = re.compile(r"[A-Za-z_]\w*")


def lists(text: Text) -> Iterator[Dialect]:
    """A row for every list macro that a file defines."""
    for directive in text.directives:
        if directive.word != "define":
            continue
        match = _DEFINED.match(text.raw, directive.end - len(directive.rest), directive.end)
        if match is None or "(" not in text.raw[match.end() : directive.end]:
            continue
        body = " ".join(text.code_between(match.end(), directive.end).replace("\\\n", " ").split())
        if any(_repeats(body, one.strip()) for one in match[2].replace("\\\n", " ").split(",")):
            line, end = text.line(match.start()), text.line(directive.end)
            yield Dialect(
                text.path, line, end, "list", match[1], macro="define", text=one_line(body), guards=text.guards(line)
            )


def _repeats(body: str, parameter: str) -> bool:
    """Whether a body is nothing but calls: two or more of the parameter, or of further lists that get it."""
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
