"""What a run of the indexer did and what its index holds now, for every renderer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ptexplore.index.build import Built
from ptexplore.store.index.reader import IndexStore

if TYPE_CHECKING:
    from ptexplore.index.semantic.refine import Refined


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
        counts = Counter({key.removeprefix(f"{of} "): n for key, n in self.counts.items() if key.startswith(f"{of} ")})
        return dict(counts.most_common())

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


@dataclass(frozen=True)
class WrittenTags:
    """A tags file that was written: of which checkout, where, how many tags."""

    checkout: str
    file: str
    tags: int


def summary(name: str, built: Built, store: IndexStore) -> IndexSummary:
    """The summary of an index that was just built or refreshed."""
    problems = [(file.path, f"not read: {file.why}") for file in built.unread]
    problems += [(path, problem) for path, all_ in store.problems() for problem in all_]
    return IndexSummary(name, built, store.counts(), tuple(problems), str(store.path), store.path.stat().st_size)


def index_document(
    summaries: Sequence[IndexSummary], refined: Refined | None, note: str, tags: WrittenTags | None
) -> dict[str, Any]:
    """A run of the indexer as JSON data; `note` is what to know of the headers that libclang used."""
    document = {
        "format": 1,
        "indexes": [summary.document for summary in summaries],
        "exported": asdict(tags) if tags is not None else None,
    }
    return document if refined is None else document | {"semantic": _refined_document(refined, note)}


def _refined_document(done: Refined, note: str) -> dict[str, Any]:
    return {
        "files": done.files,
        "references": {"resolved": done.resolved, "by_name": done.kept, "before": done.before},
        "units": [
            {
                "path": unit.path,
                "errors": unit.errors,
                "warnings": unit.warnings,
                "failed": unit.failed,
                "messages": [
                    {"severity": message.severity, "path": message.path, "line": message.line, "text": message.text}
                    for message in unit.messages
                ],
            }
            for unit in done.units
        ],
        "not_read": list(done.not_read),
        "changed": done.changed,
        "note": note,
        "seconds": round(done.seconds, 3),
    }
