"""The lines beside a stop, their names linked as on the page of their file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ptexplore.render.html.source_page import entry
from ptexplore.render.html.words import Marker
from ptexplore.view.site.source_page import SourceData, source_data
from ptexplore.view.trees import changed

if TYPE_CHECKING:
    from markupsafe import Markup

    from ptexplore.view.notes.tour import Excerpt
    from ptexplore.view.site.link_targets import DefinitionsByName, Meaning
    from ptexplore.view.site.site import Site

_LINK = re.compile(r"<a href=#([Lr])(\d+)( class=q)?>([^<]*)</a>")  # as words.py writes it; all other text is escaped


def lines(excerpt: Excerpt, data: SourceData, site: Site, here: str) -> tuple[Markup, Markup]:
    """The lines, those that are meant marked; and the list of the names that are no plain link."""
    from markupsafe import Markup

    given = [*excerpt.before, *excerpt.lines]
    above = len(excerpt.before) + 1 - excerpt.first  # of a line's number here and in its file
    words = {line + above: found for line, found in data.words.items() if line >= excerpt.first}
    includes = {line + above: found for line, found in data.includes.items() if line >= excerpt.first}
    made = Marker(excerpt.language).lines("\n".join(given), words, includes)[len(excerpt.before) :]
    links = _Links(site, data, here)
    first, last = excerpt.marked
    rows = [
        f"<li{' class=m' if first <= number <= last else ''}>{_LINK.sub(links.put, line)}\n"
        for number, line in enumerate(made, excerpt.first)
    ]
    return Markup(f"<ol class=c start={excerpt.first}>{''.join(rows)}</ol>\n"), Markup("".join(links.listed))


def names_of(excerpt: Excerpt, names: DefinitionsByName, path: str, site: Site) -> SourceData:
    """What the names in an excerpt of a page of the site mean; nothing where the index is of another text."""
    indexed = site.trees[site.owner[path]]
    found = indexed.tree.read(path)
    if found is None or changed(indexed, path):
        return SourceData(path)
    return source_data(names, path, found.text, frozenset(range(excerpt.first, excerpt.first + len(excerpt.lines))))


class _Links:
    """Turns links of a file's page into those of a page that shows some of its lines."""

    def __init__(self, site: Site, data: SourceData, here: str) -> None:
        self._site, self._data, self._here = site, data, here
        self._numbers: dict[int, int] = {}
        self.listed: list[str] = []

    def put(self, match: re.Match[str]) -> str:
        """The link anew: straight to the one definition, else to an entry of the list."""
        kind, number, word = match[1], int(match[2]), match[4]
        if kind == "L":
            where = self._site.place(self._here, self._data.path, number)
            return f"<a href={where}>{word}</a>" if where is not None else word
        name, meant = self._data.entries[number - 1]
        where = self._straight(meant)
        if where is not None:
            return f"<a href={where}>{word}</a>"
        if number not in self._numbers:
            self._numbers[number] = len(self._numbers) + 1
            self.listed.append(entry(self._site, self._data.path, self._numbers[number], name, meant, self._here))
        return f"<a href=#r{self._numbers[number]}{match[3] or ''}>{word}</a>"

    def _straight(self, meant: Meaning) -> str | None:
        """Where a name leads that has one definition, on this site and of this version."""
        only, site = meant.places[0], self._site
        own = site.owner.get(self._data.path, 0)
        if not meant.sure or len(meant.places) > 1 or site.skewed(own, site.owner.get(only.path, only.tree)):
            return None
        return site.place(self._here, only.path, only.definition.line or None)
