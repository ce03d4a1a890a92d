"""Writes the files of the search box: shards of the source, kept while the source is the same, and shards of notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from ptexplore.annotations.topics import topics
from ptexplore.lazy import uncollected
from ptexplore.lookup.entries import (
    Entry,
    file_entry,
    folder_entry,
    operator_entry,
    row_code,
    row_place,
    symbol_entry,
    use_bits,
)
from ptexplore.render.html.output import Output, Row, SiteWork, digest
from ptexplore.render.html.prose import headings
from ptexplore.render.html.recordings import NONE, Listed
from ptexplore.render.html.source_pages import LETTERS
from ptexplore.source.canonical import folders_around
from ptexplore.view.site.shards import (
    Inside,
    SearchRow,
    Shards,
    TopicRow,
    begins,
    best_first,
    docs_file,
    table,
    topic_files,
)
from ptexplore.view.site.site import Site, folder_url, operator_names, stop_url
from ptexplore.view.trace.around import title_of

if TYPE_CHECKING:
    from ptexplore.annotations.folders import FolderPages
    from ptexplore.lookup.link_targets import DefinitionsByName
    from ptexplore.render.html.tours import Tours
    from ptexplore.render.html.traces import Traces
    from ptexplore.source.python_docs import DocLine
    from ptexplore.store.index.reader import IndexStore
    from ptexplore.store.index.site import SiteDefinition

_TABLE = "search/table.js"
_INSIDE = 50_000  # shards of words inside names have numbers from here on
_WRITTEN = 100_000  # shards of headings and traces have numbers from here on
_TOPICS = {"tour": "g", "stop": "n", "note": "n", "concept": "k", "folder": "d"}


@dataclass
class Search:
    """The writer of one site's search. `source_work` is the work of the source's shards, if they are not there yet."""

    site: Site
    out: Output
    names: DefinitionsByName
    pages: FolderPages
    reopen: Callable[[], list[IndexStore]]  # opens the indexes with connections of this process
    base: str  # a hash of everything that all pages depend on
    docs: Mapping[str, DocLine] = field(default_factory=dict)  # lines of Python's documentation on ATen's operators
    _tables: list[dict[str, int]] | None = None

    def source_work(self) -> SiteWork[str, SourceShards]:
        """Returns at most one task. The place of each row is known only when all rows are."""
        self._tables = _kept(self.out, self._key)
        tasks = ["search"] if self._tables is None else []
        if tasks:
            self.names.preload()
        return SiteWork(tasks, self._make, self._take, 1)

    def write(self, tours: Tours, traces: Traces, others: Listed = NONE) -> None:
        """Write the shards of notes, and the table of all shards. The source's shards must be written before."""
        assert self._tables is not None
        written, _rows = _write(self.out, Shards(best_first(_written(tours, traces, others)), _WRITTEN))
        files = topic_files(list(topic_rows(self.site, tours, self.pages)))
        for number, text in enumerate(files):
            self.out.write(f"search/topics-{number}.js", text)
        bases = {operator_names(name)[1].partition(".")[0] for name in self.site.operators}
        self.out.write("search/docs.js", docs_file({base: self.docs[base].text for base in bases & self.docs.keys()}))
        self.out.write(_TABLE, table((*self._tables, written), len(files)), self._key, self._tables)

    @property
    def _key(self) -> str:
        return digest(self.base, "search", sorted(self.pages.pages))

    def _make(self, _tasks: Sequence[str]) -> SourceShards:
        with uncollected():
            rows = best_first(source_rows(self.site, self.names, self.pages, self.reopen()))
            made = [_write(self.out, Shards(rows, 0, begins), self._key)]
            made.append(_write(self.out, Shards(rows, _INSIDE, Inside()), self._key))
        return SourceShards([table for table, _rows in made], [row for _table, written in made for row in written])

    def _take(self, made: SourceShards) -> None:
        self._tables = made.tables
        self.out.take(made.rows)


class SourceShards(NamedTuple):
    """The tables of the source's shards, and the manifest rows of their files."""

    tables: list[dict[str, int]]
    rows: list[Row]


def _write(out: Output, shards: Shards, key: str = "") -> tuple[dict[str, int], list[Row]]:
    return shards.table, [out.write(f"search/{number}.js", text, key) for number, text in shards.files.items()]


def _kept(out: Output, key: str) -> list[dict[str, int]] | None:
    """Returns the tables of the shards that an earlier build wrote; None if one of the shards is missing."""
    known = out.before.get(_TABLE)
    if known is None or known[0] != key or len(known) < 3 or not isinstance(known[2], list):
        return None
    tables: list[dict[str, int]] = known[2]
    numbers = {number for shards in tables for number in shards.values()}
    fresh = [number for number in numbers if out.fresh(f"search/{number}.js", key)]
    return tables if len(fresh) == len(numbers) else None


def source_rows(
    site: Site, names: DefinitionsByName, pages: FolderPages, stores: Iterable[IndexStore]
) -> Iterator[SearchRow]:
    """Yields rows for symbols, files, folders and operators."""
    counts: Counter[str] = Counter()
    for store in stores:
        counts.update(store.every_use())
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
    """Returns each name once: its definition rather than a declaration. The first overload leads to the others."""
    best: dict[str, SiteDefinition] = {}
    for symbol in symbols:
        known = best.get(symbol.qualified)
        if symbol.kind != "namespace" and (known is None or (known.declared and not symbol.declared)):
            best[symbol.qualified] = symbol
    return best.values()


def topic_rows(site: Site, tours: Tours, pages: FolderPages) -> Iterator[TopicRow]:
    """Yields rows for tours, stops, concepts, and the folders with a file on the site."""
    folders = folders_around(site.sources)
    for topic in topics(tours.guide.library, tours.path, pages):
        letter = _TOPICS[topic.kind]
        if topic.kind == "folder":
            if topic.name in folders:
                yield TopicRow(letter, topic, folder_url(topic.name))
        elif topic.kind == "concept":
            yield TopicRow(letter, topic, "tours/index.html", topic.name)
        else:
            yield TopicRow(letter, topic, stop_url(topic.name))


def _written(tours: Tours, traces: Traces, others: Listed) -> Iterator[SearchRow]:
    """Yields rows for headings of stops, labs, traces and other recordings."""
    for tour, stop in tours.guide.library.stops():
        url = stop_url(tour.name_of(stop))
        parts = [(lab.id, f"lab-{lab.id}") for lab in stop.labs]
        parts += headings(part.text for part in stop.parts if part.lab is None)
        for title, anchor in parts:
            yield _row(Entry("heading", title, stop.title), "h", url, anchor)
    for name, trace, _session in traces.given:
        yield _row(Entry("trace", title_of(trace)[:120], "trace"), "x", traces.url(name))
    for heading, listed in others.items():
        for title, url, _version in listed:
            yield _row(Entry("trace", title[:120], heading), "x", url)
