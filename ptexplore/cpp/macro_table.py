"""The macros that an index was made with, kept in it: as text and back, and which of them are not what they were."""

from __future__ import annotations

import json
import re

from ptexplore.cpp.macros import Define, MacroTable

_WORD = re.compile(r"[A-Za-z_]\w*")


def as_text(macros: MacroTable) -> str:
    """The table as JSON."""
    return json.dumps({name: [one[1:] for one in found] for name, found in macros.by_name.items()})


def from_text(text: str) -> MacroTable:
    """The table that `as_text` wrote."""
    return MacroTable(
        {
            name: tuple(Define(name, None if given is None else tuple(given), *rest) for given, *rest in found)
            for name, found in json.loads(text).items()
        }
    )


def changed(before: MacroTable, after: MacroTable) -> set[str]:
    """The macros that mean something else now, by their own definitions or through a macro that these name."""
    names = {
        name
        for name in before.by_name.keys() | after.by_name.keys()
        if [_meaning(one) for one in before.get(name)] != [_meaning(one) for one in after.get(name)]
    }
    users: dict[str, set[str]] = {}
    for name, found in after.by_name.items() if names else ():
        for word in {word for one in found for word in _WORD.findall(one.body)}:
            users.setdefault(word, set()).add(name)
    waiting = list(names)
    while waiting:
        more = users.get(waiting.pop(), set()) - names
        names |= more
        waiting += more
    return names


def _meaning(define: Define) -> tuple[object, ...]:
    """All of a definition but where it stands."""
    return define._replace(offset=0)
