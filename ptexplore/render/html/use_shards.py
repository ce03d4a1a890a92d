"""Write who uses what: shards that a page loads when its reader asks for a name, kept while the source is the same."""

from __future__ import annotations

import json
import multiprocessing
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ptexplore.model.symbols import DIALECT_KINDS, Dialect
from ptexplore.render.html.output import Output, Row, digest, in_processes, write_pages
from ptexplore.render.html.source_pages import pack
from ptexplore.view.search.refs import NAME_MATCHED, NOT_INDEXED, NOT_READ, SEVERAL, TOLD_APART
from ptexplore.view.site.uses import SHARD, ShardOfUses, SiteUses, UsesOfFile, file_uses, shard_of
from ptexplore.view.trees import changed
from ptexplore.view.use_meaning import UseReader

if TYPE_CHECKING:
    from ptexplore.source.progress import Progress
    from ptexplore.store.index.reader import IndexStore
    from ptexplore.view.link_targets import DefinitionsByName
    from ptexplore.view.site.site import Site
    from ptexplore.view.site.uses import At

_TABLE = "uses/table.js"
_FILES = 48  # files of a batch
_SHARDS = 8


@dataclass
class UsesWriter:
    """Writes the uses of one site."""

    site: Site
    names: DefinitionsByName
    out: Output
    reopen: Callable[[], list[IndexStore]]  # indexes with connections of this process's own
    base: str  # a hash of everything that all pages depend on
    _own: bool = False
    _whole: bool = True  # whether every file has the text that was indexed

    def write(self, jobs: int, progress: Progress) -> None:
        """Write every shard and the table, unless they are there already."""
        key = digest(self.base, "uses")
        if self._kept(key):
            return
        uses = self._gathered(jobs, progress)
        if not self._whole:
            key = ""  # the next build gathers them again
        names = uses.names()
        count = max(1, round(len(names) / SHARD))
        by_shard: defaultdict[int, list[str]] = defaultdict(list)
        for name in names:
            by_shard[shard_of(name, count)].append(name)

        def make(numbers: Sequence[int]) -> list[Row]:
            return [
                self.out.write(_url(number), self._shard(uses, number, by_shard[number]), key) for number in numbers
            ]

        write_pages(self.out, range(count), make, "files of uses", progress, jobs, _SHARDS)
        words = {
            "matched": NAME_MATCHED,
            "several": SEVERAL,
            "types": NOT_INDEXED,
            "values": NOT_READ,
            "apart": TOLD_APART,
        }
        table = json.dumps({"shards": count, **words}, separators=(",", ":"))
        self.out.write(_TABLE, f"ptx.usesTable({table})\n", key, count)

    def _kept(self, key: str) -> bool:
        known = self.out.before.get(_TABLE)
        if not self.out.fresh(_TABLE, key) or known is None or len(known) < 3 or not isinstance(known[2], int):
            return False
        return all(self.out.fresh(_url(number), key) for number in range(known[2]))

    def _gathered(self, jobs: int, progress: Progress) -> SiteUses:
        """What every file of the trees uses of what the site has."""
        self.names.preload()
        wanted = frozenset(
            symbol.name
            for path in self.site.sources
            for symbol in self.names.defined(path)
            if symbol.kind != "namespace"
        )

        reader = UseReader(self.names)

        def make(paths: Sequence[str]) -> list[UsesOfFile]:
            if not self._own and multiprocessing.parent_process() is not None:
                self.names.reopened(self.reopen())  # a connection does not survive a fork
                self._own = True
            sources = self.site.sources
            return [file_uses(reader, path, self._text(path), wanted, on_site=path in sources) for path in paths]

        uses = SiteUses(reader, self.site.sources)
        files = list(self.names.owner)
        gathered = [
            file for some in in_processes(files, make, "looking for uses", progress, jobs, _FILES) for file in some
        ]
        for file in sorted(gathered, key=lambda file: file.path):
            uses.take(file)
        self._whole = all(file.with_text for file in gathered)
        rows = self._rows()
        uses.take_rows(rows, self._lines(rows))
        return uses

    def _text(self, path: str) -> str | None:
        """The text of a file of the trees, if the index is of that text."""
        indexed = self.site.trees[self.names.owner[path][0]]
        if changed(indexed, path):  # asked first: it keeps the text that it reads, if it reads one
            return None
        file = indexed.tree.glance(path)
        indexed.tree.forget()
        return file.text if file is not None else None

    def _rows(self) -> list[Dialect]:
        """The dialect's rows of every file, each of the first tree that has the file."""
        return [
            row
            for number, indexed in enumerate(self.site.trees)
            for row in indexed.store.every_dialect(tuple(DIALECT_KINDS))
            if self.names.owner.get(row.path, (-1, 0))[0] == number
        ]

    def _lines(self, rows: Sequence[Dialect]) -> dict[At, str]:
        """The text of each row's line."""
        wanted: defaultdict[str, set[int]] = defaultdict(set)
        for row in rows:
            wanted[row.path].add(row.line)
        texts: dict[At, str] = {}
        for path, numbers in wanted.items():
            if path not in self.site.sources:
                continue
            lines = (self._text(path) or "").split("\n")
            texts |= {(path, n): lines[n - 1] for n in numbers if 0 < n <= len(lines)}
        return texts

    def _shard(self, uses: SiteUses, number: int, names: Sequence[str]) -> str:
        shard = ShardOfUses(self.site.sources)
        for name in names:
            shard.add(uses.entry(name))
        return f'ptx.uses({number},"{pack(shard.json())}")\n'


def _url(number: int) -> str:
    return f"uses/{number}.js"
