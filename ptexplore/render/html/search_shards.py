"""Write what the search box reads: shards of the source, kept while it is the same, and those of what people wrote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ptexplore.annotations.topics import topics
from ptexplore.render.html.output import Output, digest
from ptexplore.render.html.prose import headings
from ptexplore.render.html.source_pages import LETTERS
from ptexplore.source.canonical import folders_around
from ptexplore.view.search.ranking import (
    Entry,
    file_entry,
    folder_entry,
    operator_entry,
    row_code,
    row_place,
    symbol_entry,
    use_bits,
)
from ptexplore.view.site.shards import Inside, SearchRow, Shards, TopicRow, begins, table, topic_files
from ptexplore.view.site.site import Site, folder_url, operator_names, stop_url

if TYPE_CHECKING:
    from ptexplore.annotations.folders import FolderPages
    from ptexplore.render.html.tours import Tours
    from ptexplore.render.html.traces import Traces
    from ptexplore.source.progress import Progress
    from ptexplore.store.index.site import SiteDefinition
    from ptexplore.view.link_targets import DefinitionsByName
    from ptexplore.workspace.site_contents import SiteContents

_TABLE = "search/table.js"
_INSIDE = 50_000  # numbers of the shards of words inside names begin here
_WRITTEN = 100_000  # those of headings and traces
_TOPICS = {"tour": "g", "stop": "n", "note": "n", "concept": "k", "folder": "d"}


def write_search(
    site: Site, out: Output, contents: SiteContents, tours: Tours, traces: Traces, base: str, progress: Progress
) -> None:
    """Write the shards, what people wrote, and the table of both."""
    names, pages = contents.names, contents.folder_pages
    key = digest(base, "search", sorted(pages.pages))
    tables = _kept(out, key)
    if tables is None:
        progress.step("writing the search")
        names.preload()
        rows = list(source_rows(site, names, pages))
        tables = [_write(out, Shards(rows, 0, begins), key), _write(out, Shards(rows, _INSIDE, Inside()), key)]
    written = _write(out, Shards(_written(tours, traces), _WRITTEN))
    files = topic_files(list(topic_rows(site, tours, pages)))
    for number, text in enumerate(files):
        out.write(f"search/topics-{number}.js", text)
    out.write(_TABLE, table((*tables, written), len(files)), key, tables)


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


def source_rows(site: Site, names: DefinitionsByName, pages: FolderPages) -> Iterator[SearchRow]:
    """Symbols, files, folders, operators."""
    counts: Counter[str] = Counter()
    for indexed in site.trees:
        counts.update(indexed.store.every_use())
    uses = Counter({name: use_bits(count) for name, count in counts.items()})
    for path, url in site.sources.items():
        yield _row(file_entry(path, uses[path.rpartition("/")[2]]), "p", url)
        for symbol in _once(names.defined(path)):
            container = symbol.container.rstrip(":.")
            entry = symbol_entry(
                symbol.kind, symbol.name, container, path, declared=symbol.declared, uses=uses[symbol.name]
            )
            yield _row(entry, LETTERS.get(symbol.kind, "v"), url, str(symbol.line))
    for path in sorted(folders_around(site.sources)):
        yield _row(folder_entry(path, written=path in pages.pages), "d", folder_url(path))
    for name, url in site.operators.items():
        namespace, rest = operator_names(name)
        yield _row(operator_entry(namespace, rest, uses[rest.partition(".")[0]]), "o", url)


def _row(entry: Entry, letter: str, url: str, fragment: str = "") -> SearchRow:
    return SearchRow(entry.name, letter, url, fragment, entry.context, row_code(entry), row_place(entry))


def _once(symbols: Iterable[SiteDefinition]) -> Iterable[SiteDefinition]:
    """Each name once, where it is defined rather than declared; of overloads the first leads to the others."""
    best: dict[str, SiteDefinition] = {}
    for symbol in symbols:
        known = best.get(symbol.qualified)
        if symbol.kind != "namespace" and (known is None or (known.declared and not symbol.declared)):
            best[symbol.qualified] = symbol
    return best.values()


def topic_rows(site: Site, tours: Tours, pages: FolderPages) -> Iterator[TopicRow]:
    """Tours, stops, concepts, and the folders that the site has a file of."""
    folders = folders_around(site.sources)
    for topic in topics(tours.guide.library, tours.path, pages):
        letter = _TOPICS[topic.kind]
        if topic.kind == "folder":
            if topic.name in folders:
                yield TopicRow(letter, topic, folder_url(topic.name))
        elif topic.kind == "concept":
            yield TopicRow(letter, topic, "concepts.html", topic.name)
        else:
            yield TopicRow(letter, topic, stop_url(topic.name))


def _written(tours: Tours, traces: Traces) -> Iterator[SearchRow]:
    """Headings of stops, their labs, traces."""
    for tour, stop in tours.guide.library.stops():
        url = stop_url(tour.name_of(stop))
        parts = [(lab.id, f"lab-{lab.id}") for lab in stop.labs]
        parts += headings(part.text for part in stop.parts if part.lab is None)
        for title, anchor in parts:
            yield _row(Entry("heading", title, stop.title), "h", url, anchor)
    for name, trail, _session in traces.given:
        yield _row(Entry("trace", trail.expression[:120], "trace"), "x", traces.url(name))
