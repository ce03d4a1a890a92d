"""List macros: macros that call one of their parameters again and again, once for every member of a list."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ptexplore.index.cpp.text import Text
from ptexplore.index.dialect.piece import one_line
from ptexplore.symbols import Dialect

_DEFINE = re.compile(r"define[ \t]+(\w+)\(([^()\n]*(?:\\\n[^()\n]*)*)\)((?:[^\\\n]|\\\r?\n|\\[^\n])*)")
_HASH = re.compile(r"^[ \t]*#[ \t]*$")


def lists(text: Text) -> Iterator[Dialect]:
    """A row for every list macro that a file defines."""
    for match in _DEFINE.finditer(text.raw):
        body = match[3]
        for parameter in match[2].replace("\\\n", " ").split(","):
            name = parameter.strip()
            if body.count(name) < 2 or not name.isidentifier():
                continue
            calls = re.findall(rf"(?<![\w.#>]){re.escape(name)}\s*(?:\.\s*(?:impl|def)\s*)?\(([^()]*)", body)
            if len(set(calls)) > 1 and _directive(text, match.start()):
                line, end = text.line(match.start()), text.line(match.end())
                said = one_line(body.replace("\\\n", " "))
                yield Dialect(
                    text.path, line, end, "list", match[1], macro="define", text=said, guards=text.guards(line)
                )
                break


def _directive(text: Text, at: int) -> bool:
    start = text.code.rfind("\n", 0, at) + 1
    return _HASH.match(text.code[start:at]) is not None
