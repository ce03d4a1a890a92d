"""Writes the uses of names, in shards that a page loads when its reader asks; kept while the source is the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ptexplore.lazy import lazy
from ptexplore.lookup.trees import changed
from ptexplore.lookup.use_index import SiteUses, UsesOfFile, file_uses
from ptexplore.lookup.use_meaning import UseReader
from ptexplore.model.symbols import DIALECT_KINDS, Dialect
from ptexplore.render.html.output import Output, Row, SiteWork, digest, in_processes
from ptexplore.render.html.packed import pack
from ptexplore.safe_text import safe_json
from ptexplore.view.site.uses import SHARD, ShardOfUses, shard_of
from ptexplore.view.words.remarks import NAME_MATCHED, NOT_INDEXED, NOT_READ, SEVERAL
from ptexplore.view.words.uses import CERTAINTY, OTHERWISE, OVERRIDDEN

if TYPE_CHECKING:
    from ptexplore.lookup.use_index import At
    from ptexplore.source.progress import Progress
    from ptexplore.view.site.site import Site

_TABLE = "uses/table.js"
_SHARDS = 8


class UsesWriter:
    """The writer of the uses of one site. If `needed`, the uses in each file are gathered first."""

    def __init__(self, site: Site, reader: UseReader, out: Output, base: str) -> None:
        self.site, self.names, self.out = site, reader.names, out
        self._key = digest(base, "uses")
        self._reader = reader
        self._gathered: list[UsesOfFile] = []
        self._rows: list[Dialect] = []  # the rows of the dialect in every file, from the first tree that has the file
        self._lines: dict[At, str] = {}  # the text of each row's line
        self.needed = not self._kept(self._key)  # False if every shard and the table are there already

    def of_file(self, path: str, read: Callable[[], str | None]) -> UsesOfFile:
        """Gather the uses in one file of names on the site. `read` returns None if the index is of another text."""
        return file_uses(self._reader, path, read, self._wanted, on_site=path in self.site.sources)

    def take(self, file: UsesOfFile) -> None:
        """Add the uses in one file."""
        self._gathered.append(file)

    @lazy
    def _wanted(self) -> frozenset[str]:
        """The names of all things that the site defines."""
        defined = (symbol for path in self.site.sources for symbol in self.names.defined(path))
        return frozenset(symbol.name for symbol in defined if symbol.kind != "namespace")

    def begin(self) -> None:
        """Compute everything that the work on each file needs, before processes are forked."""
        self.names.preload()
        _ = self._wanted

    def write(self, jobs: int, progress: Progress) -> None:
        """Write every shard and the table. The uses in every file must have been added."""
        progress.step("sorting the uses")
        uses = self._uses()
        # If a file differs from the indexed text, the next build gathers its uses again.
        key = self._key if all(file.with_text for file in self._gathered) else ""
        self._gathered.clear()
        names = uses.names()
        count = max(1, round(len(names) / SHARD))
        by_shard: defaultdict[int, list[str]] = defaultdict(list)
        for name in names:
            by_shard[shard_of(name, count)].append(name)

        def make(numbers: Sequence[int]) -> list[Row]:
            return [
                self.out.write(_url(number), self._shard(uses, number, by_shard[number]), key) for number in numbers
            ]

        shards = SiteWork(range(count), make, self.out.take, _SHARDS)
        in_processes([shards], f"writing {count:,} files of uses", progress, jobs)
        words = {
            "matched": NAME_MATCHED,
            "several": SEVERAL,
            "types": NOT_INDEXED,
            "values": NOT_READ,
            "apart": CERTAINTY,
            "otherwise": OTHERWISE,
            "overridden": OVERRIDDEN,
        }
        table = safe_json({"shards": count, **words})
        self.out.write(_TABLE, f"ptx.usesTable({table})\n", key, count)

    def _kept(self, key: str) -> bool:
        known = self.out.before.get(_TABLE)
        if not self.out.fresh(_TABLE, key) or known is None or len(known) < 3 or not isinstance(known[2], int):
            return False
        return all(self.out.fresh(_url(number), key) for number in range(known[2]))

    def _uses(self) -> SiteUses:
        uses = SiteUses(self._reader, self.site.sources)
        for file in sorted(self._gathered, key=lambda file: file.path):
            uses.take(file)
        uses.take_rows(self._rows, self._lines)
        return uses

    def _text(self, path: str) -> str | None:
        """Returns the text of a file, if the index is of that text. The tree keeps the text until `forget`."""
        indexed = self.site.trees[self.names.owner[path][0]]
        if changed(indexed, path):
            return None
        file = indexed.tree.read(path)
        return file.text if file is not None else None

    def read_rows(self) -> None:
        """Read the rows of the dialect and the text of their lines, for `write`."""
        self._rows = [
            row
            for number, indexed in enumerate(self.site.trees)
            for row in indexed.store.every_dialect(tuple(DIALECT_KINDS))
            if self.names.owner.get(row.path, (-1, 0))[0] == number
        ]
        wanted: defaultdict[str, set[int]] = defaultdict(set)
        for row in self._rows:
            wanted[row.path].add(row.line)
        for path, numbers in wanted.items():
            if path not in self.site.sources:
                continue
            lines = (self._text(path) or "").split("\n")
            self.site.trees[self.names.owner[path][0]].tree.forget()
            self._lines |= {(path, n): lines[n - 1] for n in numbers if 0 < n <= len(lines)}

    def _shard(self, uses: SiteUses, number: int, names: Sequence[str]) -> str:
        shard = ShardOfUses(self.site.sources)
        for name in names:
            shard.add(uses.entry(name))
        return f'ptx.uses({number},"{pack(shard.json())}")\n'


def _url(number: int) -> str:
    return f"uses/{number}.js"
