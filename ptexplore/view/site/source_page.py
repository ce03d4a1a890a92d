"""The data of a source file's page: links of words, definitions, and the template that it was generated from."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

from ptexplore.lookup.link_targets import Meaning, local_names, scopes_by_line
from ptexplore.lookup.use_meaning import UseReader
from ptexplore.store.index.site import SiteDefinition

_NAMED = frozenset({"call", "address"})
_TEMPLATE = re.compile(r"@generated (?:by (\S+) )?from (?:\S*/)?([\w.-]+)")
_BANNER = 4000  # characters at the start of a generated file that may name its template
SIGNATURE = 160


class Link(NamedTuple):
    """A link on a word, written after `before` ("at::").

    Leads to entry `entry` of the page's list, or to line `line`.
    """

    before: str
    entry: int
    line: int = 0
    sure: bool = True


@dataclass
class SourceData:
    """The data of a page besides its text. `words`: line -> word -> links. `entries`: the list that links refer to."""

    path: str
    words: dict[int, dict[str, list[Link]]] = field(default_factory=dict)
    includes: dict[int, Link] = field(default_factory=dict)
    entries: list[tuple[str, Meaning]] = field(default_factory=list)
    defined: list[SiteDefinition] = field(default_factory=list)


def source_data(reader: UseReader, path: str, text: str, only: frozenset[int] | None = None) -> SourceData:
    """Returns the links and definitions of a file. With `only`, links only for these lines."""
    names, file = reader.names, reader.of_file(path, text)
    symbols = names.defined(path)
    defined = [symbol for symbol in symbols if symbol.kind != "namespace"]
    data = SourceData(path, defined=sorted(defined, key=lambda symbol: (symbol.line, symbol.name)))
    python = path.endswith((".py", ".pyi"))
    scopes = [] if python else scopes_by_line(symbols, text.count("\n") + 2)
    local = local_names(text, python=python)
    entries = _Entries(data)
    words: defaultdict[int, dict[str, list[Link]]] = defaultdict(dict)
    for use in names.uses(path):
        if use.kind == "yaml":
            continue
        before = use.text[: -len(use.name)] if use.text.endswith(use.name) else ""
        hidden = not before and use.kind in _NAMED and use.name in local
        lines = use.lines if only is None else sorted(only.intersection(use.lines))
        of_class: dict[int, Link] = {}  # meanings by the class of the variable that a call goes through
        for meant, meant_lines in file.members_meant(use, lines):
            of_class |= dict.fromkeys(meant_lines, entries.link(meant, before, hidden=False))
        links: dict[str, Link | None] = {}  # within one scope, a use means the same on every line
        for line in lines:
            scope = scopes[line] if 0 < line < len(scopes) else ""
            if scope not in links and line not in of_class:
                by_name = names.meant(use, path, scope)
                links[scope] = entries.link(by_name, before, hidden=hidden) if by_name is not None else None
            link = of_class.get(line) or links[scope]
            if link is None:
                continue
            if use.kind == "include":
                data.includes[line] = link
            else:
                words[line].setdefault(use.name, []).append(link)
    data.words = dict(words)
    return data


class _Entries:
    """Fills the list of a page. A meaning that is used in many places is one entry."""

    def __init__(self, data: SourceData) -> None:
        self._data = data
        self._numbers: dict[tuple[object, ...], int] = {}

    def link(self, meant: Meaning, before: str, *, hidden: bool) -> Link:
        """Returns the link of a use to its meaning. The link is not sure if a local name may hide that meaning."""
        sure = meant.sure and not hidden
        only = meant.places[0]
        if sure and only.path == self._data.path and only.definition.line:
            return Link(before, 0, only.definition.line)
        key = (sure, tuple([(place.path, place.definition.line) for place in meant.places]))
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._numbers) + 1
            meaning = meant if sure == meant.sure else meant._replace(sure=sure)
            self._data.entries.append((only.definition.qualified, meaning))
        return Link(before, number, 0, sure)


def template_of(text: str) -> tuple[str, str] | None:
    """Returns the generator and the template that a generated file's banner names."""
    match = _TEMPLATE.search(text, 0, _BANNER)
    return (match[1] or "", match[2]) if match else None
