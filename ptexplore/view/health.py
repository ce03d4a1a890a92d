"""What `doctor` reports: the runtime, its layers and caches, the truth check's counts, and what is missing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ptexplore.locations import cache_root, catalogue_file, generated_dir
from ptexplore.model import FORMAT, Count, Registration, Runtime, TreeInfo
from ptexplore.source.tree import SourceTree
from ptexplore.store.store import Store
from ptexplore.view.document import tree_to_json

LISTED = 400  # unconfirmed registrations listed by reason; more than that says nothing new


@dataclass(frozen=True, slots=True)
class Cache:
    """One thing kept in the cache: where it lies, and its size in bytes (0 where it is missing)."""

    name: str
    path: str
    size: int


@dataclass(frozen=True, slots=True)
class Health:
    """The report. `sound` when every registration in generated C++ is confirmed."""

    runtime: Runtime
    trees: tuple[TreeInfo, ...]
    registrations: dict[str, Count]
    operators: int
    reasons: tuple[tuple[str, int], ...]
    unconfirmed: tuple[Registration, ...]
    caches: tuple[Cache, ...]
    advice: tuple[str, ...]

    @property
    def sound(self) -> bool:
        generated = self.registrations.get("generated", Count(0, 0))
        return generated.confirmed == generated.total and generated.total > 0


def health(runtime: Runtime, tree: SourceTree, store: Store) -> Health:
    """Gather the report; nothing is built or changed."""
    counts = store.counts()
    generated = counts.get("generated", Count(0, 0))
    reasons = store.unconfirmed_reasons()
    advice = []
    if generated.confirmed != generated.total:
        missing = generated.total - generated.confirmed
        advice.append(f"{missing} registrations in generated C++ are not confirmed: ptexplore doctor --unconfirmed")
    if runtime.build == "source":
        advice.append("this torch is a source build: its generated C++ is read from its own build folder where found")
    return Health(
        runtime=runtime,
        trees=(tree.info,),
        registrations=counts,
        operators=len(store.all_names()),
        reasons=tuple(reasons),
        unconfirmed=tuple(store.unconfirmed(LISTED)),
        caches=tuple(_caches(runtime)),
        advice=tuple(advice),
    )


def _caches(runtime: Runtime) -> list[Cache]:
    found = [Cache("cache", str(cache_root()), 0)]
    generated, catalogue = generated_dir(runtime.inputs_key), catalogue_file(runtime.key)
    found.append(Cache("generated C++", str(generated), _size(generated)))
    found.append(Cache("catalogue", str(catalogue), _size(catalogue)))
    return found


def _size(path: Path) -> int:
    if path.is_dir():
        return sum(p.stat().st_size for p in path.rglob("*") if p.is_file())
    return path.stat().st_size if path.exists() else 0


def health_to_document(report: Health) -> dict[str, Any]:
    """The report as plain JSON data."""
    runtime = report.runtime
    return {
        "format": FORMAT,
        "torch": {
            "version": runtime.version,
            "git_version": runtime.git_version,
            "build": runtime.build,
            "python": runtime.python,
            "python_version": runtime.python_version,
            "folder": runtime.torch_dir,
        },
        "trees": [tree_to_json(t) for t in report.trees],
        "operators": report.operators,
        "registrations": {
            name: {"confirmed": count.confirmed, "total": count.total} for name, count in report.registrations.items()
        },
        "unconfirmed": [{"reason": reason, "count": count} for reason, count in report.reasons],
        "caches": [{"name": c.name, "path": c.path, "bytes": c.size} for c in report.caches],
        "sound": report.sound,
        "advice": list(report.advice),
    }
