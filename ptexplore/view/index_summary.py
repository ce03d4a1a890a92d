"""The result of a run of the indexer, and the contents of the index."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ptexplore.index.build import Built
from ptexplore.store.index.reader import IndexStore


@dataclass(frozen=True)
class IndexSummary:
    """One index: the figures of the run, counts by kind, and the files with problems."""

    name: str
    built: Built
    counts: dict[str, int]
    problems: tuple[tuple[str, str], ...]  # (path, problem)
    database: str
    database_bytes: int

    def kinds(self, of: str) -> dict[str, int]:
        """Returns the counts of "symbol", "ref" or "dialect" by kind, most first."""
        counts = Counter({key.removeprefix(f"{of} "): n for key, n in self.counts.items() if key.startswith(f"{of} ")})
        return dict(counts.most_common())


@dataclass(frozen=True)
class WrittenTags:
    """An export that was written: the checkout, the path of the file, and how many tags or symbols (`what`) it has."""

    checkout: str
    file: str
    tags: int
    what: str = "tags"


def summary(name: str, built: Built, store: IndexStore) -> IndexSummary:
    """Returns the summary of an index that was just built or refreshed."""
    problems = [(file.path, f"not read: {file.why}") for file in built.unread]
    problems += [(path, problem) for path, all_ in store.problems() for problem in all_]
    return IndexSummary(name, built, store.counts(), tuple(problems), str(store.path), store.path.stat().st_size)
