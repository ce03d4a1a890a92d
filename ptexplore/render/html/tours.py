"""Writes the home page, the pages of tours and questions, and the pages of stops with lines of source beside them.

These pages are quick to make: they are rendered each time, and written if they differ. Names in the lines beside
a stop are linked as on the page of their file.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from markupsafe import Markup

from ptexplore.annotations.anchors import in_file
from ptexplore.annotations.concepts import STAGES, LearningPath
from ptexplore.annotations.folders import FolderPages
from ptexplore.annotations.markdown import link_trouble
from ptexplore.annotations.records import Anchor, See, Tour
from ptexplore.lookup.link_targets import Meaning
from ptexplore.lookup.trees import changed
from ptexplore.lookup.use_meaning import UseReader
from ptexplore.render.html.output import Output
from ptexplore.render.html.pages import render
from ptexplore.render.html.prose import html_of, picture_size, safe_picture
from ptexplore.render.html.source_markup import begins_long, class_of, marked_lines
from ptexplore.render.html.source_pages import entry
from ptexplore.render.html.traces import LiveTrace
from ptexplore.view.notes.folder import MapRow, on_map
from ptexplore.view.notes.paths import PATHS, PathStep, ReadingPath, steps_of
from ptexplore.view.notes.tour import Excerpt, Guide, StopView, in_order
from ptexplore.view.site.site import Site, between, folder_url, picture_url, stop_url
from ptexplore.view.site.source_page import SourceData, source_data

ROOM = 60  # lines of source beside a stop
# source_markup.py writes links like this; all other text is escaped.
_LINK = re.compile(r"<a href=#([Lr])(\d+)( class=q)?>([^<]*)</a>")


@dataclass
class Tours:
    """The writer of all pages that are made from notes."""

    site: Site
    out: Output
    guide: Guide
    path: LearningPath
    reader: UseReader
    pages: FolderPages
    map: Sequence[tuple[MapRow, str]] = ()
    live: LiveTrace | None = None
    lost: list[str] = field(default_factory=list)
    _views: dict[str, StopView] = field(default_factory=dict)

    def write(self, counts: Sequence[str]) -> None:
        """Write every page. `counts` are figures of the site for the home page."""
        tours = [tour for tour in in_order(self.guide.library) if tour.stops]
        views = [self.guide.stop(tour, number) for tour in tours for number in range(1, len(tour.stops) + 1)]
        self._views = {view.name: view for view in views}
        self.lost += [view.name for view in views if not view.resolved.placed]
        for tour in tours:
            self._tour(tour)
        for view in views:
            self._stop(view)
        stages = [(title, self.path.of(stage)) for stage, title in STAGES.items()]
        for url, template, kind, title in (
            ("index.html", "home.html", "home", self.site.settings.title),
            ("tours/index.html", "tours.html", "tours", "Learn"),
        ):
            self._write(
                template, url, kind=kind, id="", title=title, counts=counts, tours=tours, stages=stages,
                views=self._views, live=self.live, paths=self._paths(),
            )  # fmt: skip

    def _paths(self) -> list[tuple[ReadingPath, list[tuple[PathStep, str]]]]:
        """Returns the paths with the page of each step. A path without steps is left out."""

        def title(folder: str) -> str:
            page = self.pages.pages.get(folder)
            shown = any(path.startswith(f"{folder}/") for path in self.site.sources)
            return page.title if page is not None and shown else ""

        paths = []
        for path in PATHS:
            steps = [
                (step, folder_url(step.target) if step.kind == "folder" else stop_url(step.target))
                for step in steps_of(path, self.guide.library, title)
            ]
            paths += [(path, steps)] if steps else []
        return paths

    def _write(self, template: str, url: str, **values: Any) -> None:
        self.out.write(url, render(self.site, template, url, lost=self.lost, map=self.map, **values))

    def _tour(self, tour: Tour) -> None:
        url = stop_url(tour.id)
        before = [self.guide.library.tours.get(name) for name in tour.prerequisites]
        self._write(
            "tour.html", url, kind="tour", id=tour.id, title=tour.title, tour=tour,
            intro=self._prose(tour, url, tour.intro), after=between(url, stop_url(tour.name_of(tour.stops[0]))),
            prerequisites=[other for other in before if other is not None and other.stops],
        )  # fmt: skip

    def _stop(self, view: StopView) -> None:
        tour, url = view.tour, stop_url(view.name)
        before, after = (
            between(url, stop_url(tour.name_of(tour.stops[at]))) if 0 <= at < view.total else ""
            for at in (view.number - 2, view.number)
        )
        excerpt = self.guide.excerpt(view, ROOM)
        ref = view.spot.ref if view.spot is not None else None
        linked = self._is_linked(view)
        lines, listed = self._excerpt(excerpt, view.resolved.path, url, linked=linked) if excerpt else ("", "")
        self._write(
            "stop.html", url, kind="stop", id=view.name, title=view.stop.title, tour=tour, view=view,
            prose=partial(self._prose, tour, url), see=[self._see(see, url) for see in view.stop.anchor.see],
            excerpt=lines, listed=listed, cut=excerpt.cut if excerpt else "",
            place=self.site.place(url, ref.path or "", ref.line) if ref is not None and linked else None,
            where=f"{ref.path}:{ref.line}" if ref is not None else "", precision=ref.precision if ref else "",
            before=before, after=after, on_map=on_map(view.stop.anchor.path),
        )  # fmt: skip

    def _is_linked(self, view: StopView) -> bool:
        """Whether the site's page of the file is from the tree that the stop is placed in."""
        if view.spot is None or view.resolved.path not in self.site.owner:
            return False
        return self.site.trees[self.site.owner[view.resolved.path]].tree.info.name == view.spot.tree.name

    def _see(self, see: See, url: str) -> tuple[str, str | None]:
        """Returns the text for a thing that a stop points to, and its URL from the page `url`, or None."""
        if see.kind == "stop" and see.text in self._views:
            return self._views[see.text].stop.title, between(url, stop_url(see.text))
        if see.kind == "op":
            name = see.text.removeprefix("op:")
            name = name if "::" in name else f"aten::{name}"
            return name, between(url, self.site.operators[name]) if name in self.site.operators else None
        return see.text.removeprefix("src:"), self._way(see, url)

    def _way(self, see: See, url: str) -> str | None:
        """Returns the URL of a place to see. A symbol is found by name, even if it moved; a YAML entry by its line."""
        if see.path.endswith((".yaml", ".yml")):
            place = self.site.place(url, see.path, None)
            if place is None:
                return None
            store = self.site.trees[self.site.owner[see.path]].store
            entries = in_file(store, Anchor(see.where, see.path, see.symbol), (), None)
            return place + (f"#L{entries[0].line}" if len(entries) == 1 else "")
        path = see.path if self._defines(see.path, see.symbol) else self._moved_to(see) or see.path
        place = self.site.place(url, path, None) if path else None
        if place is None or not self._defines(path, see.symbol):
            return place
        return f"{place}#s={see.symbol}"

    def _defines(self, path: str, name: str) -> bool:
        """Whether a file of the site defines or declares a symbol with that name, or one that ends in it."""
        ends = (f"::{name}", f".{name}")
        return any(
            symbol.qualified == name or symbol.qualified.endswith(ends) for symbol in self.reader.names.defined(path)
        )

    def _moved_to(self, see: See) -> str:
        """Returns the file of the site that now defines the qualified name of `see`; "" if there is not exactly one."""
        last = see.symbol.rpartition("::")[2].rpartition(".")[2]
        places = [place for place in self.reader.names.places(last) if place.definition.qualified == see.symbol]
        defined = {place.path for place in places if not place.definition.declared and place.path in self.site.sources}
        return defined.pop() if len(defined) == 1 else ""

    # --- prose ---

    def _prose(self, tour: Tour, page: str, text: str) -> Markup:
        def picture(url: str) -> tuple[str, tuple[int, int] | None] | None:
            data = safe_picture(tour.folder, url)
            if data is None:
                return None
            where = picture_url(tour.id, url)
            self.out.write(where, data)
            return between(page, where), picture_size(data)

        return html_of(text, partial(self._lead, tour, page), picture)

    def _lead(self, tour: Tour, page: str, url: str) -> str | None:
        """Returns the URL of a link in a note (a stop, a tour, a page outside), or None if it leads to nothing."""
        if url.startswith(("http://", "https://")):
            return url if link_trouble(url) is None else None
        file, _, anchor = url.partition("#")
        name = posixpath.basename(file).removesuffix(".md") if file else tour.id
        target = self.guide.library.tours.get(name) if file.endswith(".md") or not file else None
        full = f"{name}#{anchor}" if anchor else name
        if target is None or not target.stops or (anchor and full not in self._views):
            return None
        return between(page, stop_url(full))

    # --- the lines beside a stop ---

    def _excerpt(self, excerpt: Excerpt, path: str, url: str, *, linked: bool) -> tuple[Markup, Markup]:
        """Returns the lines of an excerpt, the stop's own lines marked, and the list of names without a plain link."""
        data = self._names(excerpt, path) if linked else SourceData(path)
        offset = len(excerpt.before) + 1 - excerpt.first  # from a line's number in the file to its number here
        words = {line + offset: links for line, links in data.words.items() if line >= excerpt.first}
        includes = {line + offset: link for line, link in data.includes.items() if line >= excerpt.first}
        text = "\n".join([*excerpt.before, *excerpt.lines])
        looks = self.reader.names.looks(python=path.endswith((".py", ".pyi")))
        marked = marked_lines(excerpt.language, text, words, includes, looks=looks)[len(excerpt.before) :]
        links = _Links(self.site, data, url)
        first, last = excerpt.marked
        rows = []
        for number, (plain, line) in enumerate(zip(excerpt.lines, marked, strict=True), excerpt.first):
            kinds = ["m"] * (first <= number <= last) + ["f"] * begins_long(plain)
            rows.append(f"<li{class_of(*kinds)}>{_LINK.sub(links.put, line)}\n")
        return Markup(f"<ol class=c start={excerpt.first}>{''.join(rows)}</ol>\n"), Markup("".join(links.listed))

    def _names(self, excerpt: Excerpt, path: str) -> SourceData:
        """Returns the meanings of the names in an excerpt; nothing if the file has changed since it was indexed."""
        indexed = self.site.trees[self.site.owner[path]]
        file = indexed.tree.read(path)
        if file is None or changed(indexed, path):
            return SourceData(path)
        only = frozenset(range(excerpt.first, excerpt.first + len(excerpt.lines)))
        return source_data(self.reader, path, file.text, only)


class _Links:
    """The links of a file's page, rewritten for the page `url`, which shows some lines of that file."""

    def __init__(self, site: Site, data: SourceData, url: str) -> None:
        self._site, self._data, self._url = site, data, url
        self._numbers: dict[int, int] = {}
        self.listed: list[str] = []

    def put(self, match: re.Match[str]) -> str:
        """Returns the new link: directly to the only definition, else to an entry of the list."""
        kind, number, word = match[1], int(match[2]), match[4]
        if kind == "L":
            where = self._site.place(self._url, self._data.path, number)
            return f"<a href={where}>{word}</a>" if where is not None else word
        name, meant = self._data.entries[number - 1]
        where = self._straight(meant)
        if where is not None:
            return f"<a href={where}>{word}</a>"
        if number not in self._numbers:
            self._numbers[number] = len(self._numbers) + 1
            self.listed.append(entry(self._site, self._data.path, self._numbers[number], name, meant, self._url))
        return f"<a href=#r{self._numbers[number]}{match[3] or ''}>{word}</a>"

    def _straight(self, meant: Meaning) -> str | None:
        """Returns the URL of a name with one definition, if that is on this site and of this version; else None."""
        only, site = meant.places[0], self._site
        own = site.owner.get(self._data.path, 0)
        if not meant.sure or len(meant.places) > 1 or site.skewed(own, site.owner.get(only.path, only.tree)):
            return None
        return site.place(self._url, only.path, only.definition.line or None)
