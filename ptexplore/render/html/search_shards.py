"""Write what the search box reads: shards of the source, kept while it is the same, and those of what people wrote."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ptexplore.render.html.output import Output, digest
from ptexplore.render.html.prose import headings
from ptexplore.render.html.source_pages import LETTERS
from ptexplore.source.canonical import is_made
from ptexplore.view.site.shards import Inside, SearchRow, Shards, begins, table
from ptexplore.view.site.site import Site, operator_names, stop_url

if TYPE_CHECKING:
    from ptexplore.render.html.tours import Tours
    from ptexplore.render.html.traces import Traces
    from ptexplore.source.progress import Progress
    from ptexplore.store.index.site import SiteDefinition
    from ptexplore.view.link_targets import DefinitionsByName

_TABLE = "search/table.js"
_INSIDE = 50_000  # numbers of the shards of words inside names begin here
_WRITTEN = 100_000  # those of what people wrote


def write_search(
    site: Site, out: Output, names: DefinitionsByName, tours: Tours, traces: Traces, base: str, progress: Progress
) -> None:
    """Write the shards and their table."""
    key = digest(base, "search")
    tables = _kept(out, key)
    if tables is None:
        progress.step("writing the search")
        names.preload()
        rows = list(_source(site, names))
        tables = [_write(out, Shards(rows, 0, begins), key), _write(out, Shards(rows, _INSIDE, Inside()), key)]
    written = _write(out, Shards(_written(tours, traces), _WRITTEN))
    out.write(_TABLE, table((*tables, written)), key, tables)


def _write(out: Output, shards: Shards, key: str = "") -> dict[str, int]:
    for number, text in shards.files.items():
        out.write(f"search/{number}.js", text, key)
    return shards.table


def _kept(out: Output, key: str) -> list[dict[str, int]] | None:
    """The tables of the shards that are there already; None where one of them is not."""
    known = out.before.get(_TABLE)
    if known is None or known[0] != key or len(known) < 3 or not isinstance(known[2], list):
        return None
    tables: list[dict[str, int]] = known[2]
    numbers = {number for shards in tables for number in shards.values()}
    fresh = [number for number in numbers if out.fresh(f"search/{number}.js", key)]
    return tables if len(fresh) == len(numbers) else None


def _source(site: Site, names: DefinitionsByName) -> Iterator[SearchRow]:
    """Symbols, files, folders, operators."""
    for path, url in site.sources.items():
        folder, _, name = path.rpartition("/")
        generated = is_made(path)  # what people wrote is meant more often
        yield SearchRow(name, "p", url, "", folder)
        for symbol in _once(names.defined(path)):
            low = 2 * int(symbol.declared) + int(generated) + 4 * int(symbol.test)
            letter, context = LETTERS.get(symbol.kind, "v"), symbol.container.rstrip(":.")
            yield SearchRow(symbol.name, letter, url, str(symbol.line), context, low)
    for name, url in site.operators.items():
        namespace, rest = operator_names(name)
        yield SearchRow(rest, "o", url, "", namespace)


def _once(symbols: Iterable[SiteDefinition]) -> Iterable[SiteDefinition]:
    """Each name once, where it is defined rather than declared; of overloads the first leads to the others."""
    best: dict[str, SiteDefinition] = {}
    for symbol in symbols:
        known = best.get(symbol.qualified)
        if symbol.kind != "namespace" and (known is None or (known.declared and not symbol.declared)):
            best[symbol.qualified] = symbol
    return best.values()


def _written(tours: Tours, traces: Traces) -> Iterator[SearchRow]:
    """Stops, headings of their prose, concepts, traces."""
    for tour, stop in tours.guide.library.stops():
        url = stop_url(tour.name_of(stop))
        yield SearchRow(stop.title, "n", url, "", tour.title)
        parts = [(lab.id, f"lab-{lab.id}") for lab in stop.labs]
        parts += headings(part.text for part in stop.parts if part.lab is None)
        for title, anchor in parts:
            yield SearchRow(title, "h", url, anchor, stop.title)
    for tour in tours.guide.library.tours.values():
        if tour.stops:
            yield SearchRow(tour.title, "n", stop_url(tour.id), "", tour.kind)
            yield SearchRow(tour.id, "n", stop_url(tour.id), "", tour.title)
    for concept in tours.path.concepts.values():
        yield SearchRow(concept.title, "k", "concepts.html", concept.id, "concept")
    for name, trail, _session in traces.given:
        yield SearchRow(trail.expression[:120], "x", traces.url(name), "", "trace")
