"""The pages of tours, stops, concepts, and home: light, so they are rendered each time, and written where new."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ptexplore.annotations.candidates import in_file
from ptexplore.annotations.concepts import STAGES
from ptexplore.annotations.records import Anchor
from ptexplore.render.html import excerpts
from ptexplore.render.html.pages import render
from ptexplore.render.html.prose import html_of, outside, picture_size, safe_picture
from ptexplore.view.notes.labs import lab_code, lab_facts, trace_command
from ptexplore.view.notes.tour import in_order
from ptexplore.view.site.site import between, operator_url, safe, stop_url
from ptexplore.view.site.source_page import SourceData

if TYPE_CHECKING:
    from markupsafe import Markup

    from ptexplore.annotations.concepts import Concept, LearningPath
    from ptexplore.annotations.records import See, Stop, StopPart, Tour
    from ptexplore.render.html.output import Output
    from ptexplore.view.notes.tour import Excerpt, Guide, StopView
    from ptexplore.view.site.link_targets import DefinitionsByName
    from ptexplore.view.site.site import Site

ROOM = 60  # lines of source beside a stop


@dataclass
class Tours:
    """Writes everything that is made of notes."""

    site: Site
    out: Output
    guide: Guide
    path: LearningPath
    names: DefinitionsByName
    lost: list[str] = field(default_factory=list)
    _views: dict[str, StopView] = field(default_factory=dict)

    def write(self, counts: Sequence[str]) -> None:
        """Every page; `counts` are figures of the site for its first page."""
        from ptexplore.view.site.site import NAV

        tours = [tour for tour in in_order(self.guide.library) if tour.stops]
        for tour in tours:
            for number in range(1, len(tour.stops) + 1):
                view = self._views[tour.name_of(tour.stops[number - 1])] = self.guide.stop(tour, number)
                if not view.resolved.placed:
                    self.lost.append(view.name)
        for tour in tours:
            self._tour(tour)
            for number in range(1, len(tour.stops) + 1):
                self._stop(tour, number)
        for url, template, kind, title in (
            ("index.html", "home.html", "home", self.site.title), (NAV[1][1], "tours.html", "tours", "Tours and notes"),
            ("concepts.html", "concepts.html", "concepts", "Concepts"),
        ):  # fmt: skip
            given: dict[str, Any] = {"tours": [self._shown(tour, url) for tour in tours], "stages": self._stages(url)}
            page = render(
                self.site, template, url, kind=kind, id="", title=title, lost=self.lost, counts=counts, **given
            )
            self.out.write(url, page)

    def _shown(self, tour: Tour, here: str) -> dict[str, Any]:
        """A tour as templates ask for it on the page `here`."""
        stops = [self._link(tour.name_of(stop), here) for stop in tour.stops]
        return {"id": tour.id, "title": tour.title, "href": between(here, stop_url(tour.id)), "stops": stops,
                "level": tour.level, "kind": tour.kind, "summary": tour.summary, "baseline": tour.baseline}  # fmt: skip

    def _link(self, name: str, here: str) -> dict[str, Any]:
        view = self._views[name]
        href = between(here, stop_url(name))
        return {"name": name, "title": view.stop.title, "href": href, "lost": not view.resolved.placed}

    def _stages(self, here: str) -> list[tuple[str, list[dict[str, Any]]]]:
        return [(title, [self._concept(one, here) for one in self.path.of(stage)]) for stage, title in STAGES.items()]

    def _concept(self, one: Concept, here: str) -> dict[str, Any]:
        stops = [self._link(name, here) for name in one.stops if name in self._views]
        return {"id": one.id, "title": one.title, "question": one.question, "stops": stops}

    # --- a tour, a stop ---

    def _tour(self, tour: Tour) -> None:
        url = stop_url(tour.id)
        before = [one for name in tour.prerequisites if (one := self.guide.library.tours.get(name)) and one.stops]
        page = render(
            self.site, "tour.html", url, kind="tour", id=tour.id, title=tour.title, tour=self._shown(tour, url),
            intro=self._prose(tour, tour.intro, url), after=between(url, stop_url(tour.name_of(tour.stops[0]))),
            prerequisites=[{"title": one.title, "href": between(url, stop_url(one.id))} for one in before],
        )  # fmt: skip
        self.out.write(url, page)

    def _stop(self, tour: Tour, number: int) -> None:
        stop = tour.stops[number - 1]
        name = tour.name_of(stop)
        view, url = self._views[name], stop_url(name)
        steps = {
            "before": tour.stops[number - 2] if number > 1 else None,
            "after": tour.stops[number] if number < len(tour.stops) else None,
        }
        around: dict[str, Any] = {}
        for which, other in steps.items():
            around[which] = between(url, stop_url(tour.name_of(other))) if other is not None else ""
            around[f"{which}_title"] = other.title if other is not None else ""
        excerpt = self.guide.excerpt(view, ROOM)
        ref = view.spot.ref if view.spot is not None else None
        shown, listed = self._excerpt(view, excerpt, url) if excerpt is not None else ("", "")
        page = render(
            self.site, "stop.html", url, kind="stop", id=name, title=stop.title, number=number,
            tour=self._shown(tour, url), outcome=view.outcome, lost=not view.resolved.placed, facts=view.facts,
            was=view.url, parts=[self._part(tour, part, url) for part in stop.parts], see=self._see(stop, url),
            excerpt=shown, listed=listed, cut=excerpt.cut if excerpt is not None else "",
            place=self.site.place(url, ref.path or "", ref.line) if ref is not None and self._is_shown(view) else None,
            where=f"{ref.path}:{ref.line}" if ref is not None else "", precision=ref.precision if ref else "", **around,
        )  # fmt: skip
        self.out.write(url, page)

    def _excerpt(self, view: StopView, excerpt: Excerpt, url: str) -> tuple[Markup, Markup]:
        """The lines beside a stop, and the list of its names; linked where the site has a page of that very text."""
        path = view.resolved.path
        data = excerpts.names_of(excerpt, self.names, path, self.site) if self._is_shown(view) else SourceData(path)
        return excerpts.lines(excerpt, data, self.site, url)

    def _is_shown(self, view: StopView) -> bool:
        """Whether the site's page of the file is of the tree in which the stop is placed."""
        spot = view.spot
        number = self.site.owner.get(spot.ref.path or "") if spot is not None else None
        return number is not None and spot is not None and self.site.trees[number].tree.info.name == spot.tree.name

    def _part(self, tour: Tour, part: StopPart, url: str) -> dict[str, Any]:
        if part.lab is None:
            return {"lab": None, "prose": self._prose(tour, part.text, url)}
        lab = part.lab
        return {"lab": lab, "code": "\n".join(lab_code(lab)), "facts": lab_facts(lab), "trail": lab.trail,
                "value": lab.value, "command": trace_command(lab)}  # fmt: skip

    def _see(self, stop: Stop, here: str) -> list[tuple[str, str | None]]:
        found: list[tuple[str, str | None]] = []
        for see in stop.anchor.see:
            if see.kind == "stop" and see.text in self._views:
                found.append((self._views[see.text].stop.title, between(here, stop_url(see.text))))
            elif see.kind == "op":
                name = see.text.removeprefix("op:")
                name = name if "::" in name else f"aten::{name}"
                found.append((name, between(here, operator_url(name)) if name in self.site.operators else None))
            else:
                url = self.site.place(here, see.path, None) if see.path else None
                found.append((see.text.removeprefix("src:"), url and url + self._at(see)))
        return found

    def _at(self, see: See) -> str:
        """The anchor of a place to see: a symbol by its name; what is no symbol, an entry of YAML, by its line."""
        if not see.path.endswith((".yaml", ".yml")):
            return f"#s={see.symbol}"
        store = self.site.trees[self.site.owner[see.path]].store
        found = in_file(store, Anchor(see.where, see.path, see.symbol), (), None)
        return f"#L{found[0].line}" if len(found) == 1 else ""

    # --- prose ---

    def _prose(self, tour: Tour, text: str, here: str) -> Markup:
        def lead(url: str) -> str | None:
            return self._lead(tour, url, here)

        def picture(url: str) -> tuple[str, tuple[int, int] | None] | None:
            data = safe_picture(tour.folder, url)
            if data is None:
                return None
            where = f"tours/{safe(tour.id)}-{safe(url.replace('/', '-'))}"
            self.out.write(where, data)
            return between(here, where), picture_size(data)

        return html_of(text, lead, picture)

    def _lead(self, tour: Tour, url: str, here: str) -> str | None:
        """Where a link of a note leads on the site: to a stop, a tour, or elsewhere; None where to nothing."""
        if url.startswith(("http://", "https://")):
            return outside(url)
        file, _, anchor = url.partition("#")
        name = posixpath.basename(file).removesuffix(".md") if file else tour.id
        target = self.guide.library.tours.get(name) if file.endswith(".md") or not file else None
        if target is None or not target.stops:
            return None
        full = f"{target.id}#{anchor}" if anchor else target.id
        if anchor and full not in self._views:
            return None
        return between(here, stop_url(full))
