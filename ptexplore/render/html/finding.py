"""Write what the search box reads: shards of the source, kept while it is the same, and those of what people wrote."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ptexplore.render.html.output import digest
from ptexplore.render.html.prose import headings
from ptexplore.render.html.source_page import LETTERS
from ptexplore.view.site.shards import Inside, SearchRow, Shards, begins, table
from ptexplore.view.site.site import operator_names, stop_url

if TYPE_CHECKING:
    from ptexplore.render.html.output import Output
    from ptexplore.render.html.saved import Traces
    from ptexplore.render.html.tours import Tours
    from ptexplore.source.progress import Progress
    from ptexplore.store.index.site import SiteDefinition
    from ptexplore.view.site.link_targets import DefinitionsByName
    from ptexplore.view.site.site import Site

_INSIDE = 50_000  # those of words inside names
_WRITTEN = 100_000  # numbers of the shards of what people wrote begin here


def write_search(
    site: Site, out: Output, names: DefinitionsByName, tours: Tours, traces: Traces, base: str, progress: Progress
) -> None:
    """Write the shards and their table."""
    key = digest(base, "search")
    source = _kept(out, key)
    if source is None:
        progress.step("writing the search")
        names.preload()
        rows = list(_source(site, names))
        source = []
        for first, words in ((0, begins), (_INSIDE, Inside())):
            made = Shards(rows, first, words)
            for number, text in made.files.items():
                out.write(f"search/{number}.js", text, key)
            source.append(made.table)
    written = Shards(_written(tours, traces), _WRITTEN)
    for number, text in written.files.items():
        out.write(f"search/{number}.js", text)
    out.write("search/table.js", table((*source, written.table)), key, source)


def _kept(out: Output, key: str) -> list[dict[str, int]] | None:
    """The tables of the shards that are there already; None where one of them is not."""
    known = out.before.get("search/table.js")
    if known is None or known[0] != key or len(known) < 3 or not isinstance(known[2], list):
        return None
    found: list[dict[str, int]] = known[2]
    numbers = {number for one in found for number in one.values()}
    return found if sum(out.fresh(f"search/{number}.js", key) for number in numbers) == len(numbers) else None


def _source(site: Site, names: DefinitionsByName) -> Iterator[SearchRow]:
    """Symbols, files, folders, operators."""
    for path, url in site.sources.items():
        folder, _, name = path.rpartition("/")
        made = path.startswith("build/") or "/autograd/generated/" in path  # what people wrote is meant more often
        yield SearchRow(name, "p", url, "", folder)
        for one in _once(names.defined(path)):
            low = 2 * int(one.declared) + int(made) + 4 * int(one.test)
            yield SearchRow(one.name, LETTERS.get(one.kind, "v"), url, str(one.line), one.container.rstrip(":."), low)
    for name, url in site.operators.items():
        namespace, rest = operator_names(name)
        yield SearchRow(rest, "o", url, "", namespace)


def _once(found: Iterable[SiteDefinition]) -> Iterator[SiteDefinition]:
    """Each name once, where it is defined rather than declared; of overloads the first leads to the others."""
    best: dict[str, SiteDefinition] = {}
    for one in found:
        known = best.get(one.qualified)
        if one.kind != "namespace" and (known is None or (known.declared and not one.declared)):
            best[one.qualified] = one
    return iter(best.values())


def _written(tours: Tours, traces: Traces) -> Iterator[SearchRow]:
    """Stops, headings of their prose, concepts, traces."""
    for tour, stop in tours.guide.library.stops():
        name = tour.name_of(stop)
        yield SearchRow(stop.title, "n", stop_url(name), "", tour.title)
        for lab in stop.labs:
            yield SearchRow(lab.id, "h", stop_url(name), f"lab-{lab.id}", stop.title)
        for title, anchor in headings(part.text for part in stop.parts if part.lab is None):
            yield SearchRow(title, "h", stop_url(name), anchor, stop.title)
    for tour in tours.guide.library.tours.values():
        if tour.stops:
            yield SearchRow(tour.title, "n", stop_url(tour.id), "", tour.kind)
            yield SearchRow(tour.id, "n", stop_url(tour.id), "", tour.title)
    for concept in tours.path.concepts.values():
        yield SearchRow(concept.title, "k", "concepts.html", concept.id, "concept")
    for name, trail, _session in traces.given:
        yield SearchRow(trail.expression[:120], "x", traces.url(name), "", "trace")
