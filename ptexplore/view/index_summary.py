"""What a run of the indexer did and what its index holds now, for every renderer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ptexplore.index.sources import Built
from ptexplore.store.index_store import IndexStore


@dataclass(frozen=True)
class IndexSummary:
    """One index: the run's figures, counts by kind, and the files with problems."""

    name: str
    built: Built
    counts: dict[str, int]
    problems: tuple[tuple[str, str], ...]  # path and what was wrong with it
    database: str
    database_bytes: int

    def kinds(self, of: str) -> dict[str, int]:
        """Counts of "symbol", "ref" or "dialect" by kind, most first."""
        found = {key.partition(" ")[2]: n for key, n in self.counts.items() if key.startswith(f"{of} ")}
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    @property
    def document(self) -> dict[str, Any]:
        """The same as JSON data."""
        return {
            "name": self.name,
            "files": self.counts["files"],
            "lines": self.counts["lines"],
            "bytes": self.counts["bytes"],
            "read": self.built.read,
            "unchanged": self.built.kept,
            "removed": self.built.removed,
            "anew": self.built.anew,
            "seconds": round(self.built.seconds, 3),
            "symbols": self.kinds("symbol"),
            "refs": self.kinds("ref"),
            "dialect": self.kinds("dialect"),
            "problems": [{"path": path, "problem": problem} for path, problem in self.problems],
            "database": self.database,
            "database_bytes": self.database_bytes,
        }


def summary(name: str, built: Built, store: IndexStore) -> IndexSummary:
    """The summary of an index that was just built or refreshed."""
    problems = [(one.path, f"not read: {one.why}") for one in built.unread]
    problems += [(path, problem) for path, all_ in store.problems() for problem in all_]
    return IndexSummary(name, built, store.counts(), tuple(problems), str(store.path), store.path.stat().st_size)
