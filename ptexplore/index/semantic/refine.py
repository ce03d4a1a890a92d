"""Refine a checkout's index with libclang: parse chosen units on all cores, replace the references of their files."""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ptexplore.errors import PtexploreError
from ptexplore.index.semantic.arguments import HEADERS, Headers
from ptexplore.index.semantic.choose import Chosen, choose
from ptexplore.index.semantic.clang import load
from ptexplore.index.semantic.merge import Resolved, merge
from ptexplore.index.semantic.pool import TaskOutcome, run
from ptexplore.index.semantic.unit import Diagnostic
from ptexplore.index.semantic.worker import UnitResult, Work, work
from ptexplore.locations import lock_file
from ptexplore.model.symbols import Ref
from ptexplore.source.progress import Progress, Silent
from ptexplore.store.index.reader import IndexStore
from ptexplore.store.index.writer import IndexWriter

TIMEOUT = 300  # seconds for one unit; the slowest of PyTorch's takes about 30


@dataclass(frozen=True, slots=True)
class UnitReport:
    """One parsed unit's diagnostics; `failed` is why there are none."""

    path: str
    errors: int
    warnings: int
    messages: tuple[Diagnostic, ...]
    failed: str | None


@dataclass(slots=True)
class Refined:
    """What a run did. `units` are worst first; `resolved` and `kept` count references now in the refined `files`."""

    units: list[UnitReport] = field(default_factory=list)
    files: int = 0
    resolved: int = 0
    kept: int = 0
    before: int = 0
    not_read: tuple[str, ...] = ()
    changed: list[str] = field(default_factory=list)
    seconds: float = 0.0


def refine(
    target: Path, headers: Headers, named: Sequence[str], jobs: int, progress: Progress | None = None,
    timeout: float = TIMEOUT,
) -> Refined:  # fmt: skip
    """Refine the index at `target` of the checkout at `headers.root`; see `choose` for `named`.

    A header's references are what all units that include it say together; one that none includes is parsed by itself.
    Raises PtexploreError where libclang is missing or a name is wrong.
    """
    load()
    started = time.monotonic()
    watcher = progress or Silent()
    store = IndexStore.open(target)
    try:
        chosen = choose(store.files(), headers.root, named)
    finally:
        store.close()
    done = Refined(not_read=chosen.others)
    resolved: dict[str, Resolved] = {}
    _parse(chosen.units, headers, chosen, jobs, timeout, watcher, done, resolved)
    alone = [path for path in chosen.headers if path not in resolved]
    _parse(alone, headers, chosen, jobs, timeout, watcher, done, resolved)
    done.units.sort(key=lambda one: (one.failed is None, -one.errors, -one.warnings, one.path))
    _write(target, headers.root, resolved, done)
    done.seconds = time.monotonic() - started
    return done


def _parse(  # noqa: PLR0913  (what to parse, with what, and where results go)
    paths: Sequence[str], headers: Headers, chosen: Chosen, jobs: int, timeout: float, watcher: Progress,
    done: Refined, resolved: dict[str, Resolved],
) -> None:  # fmt: skip
    tasks = [Work(headers, path, chosen.all) for path in paths]
    step = f"libclang: parsing {len(tasks):,} {'headers' if paths and _is_header(paths[0]) else 'units'}"
    with contextlib.closing(run(work, tasks, jobs, timeout)) as outcomes:
        for number, outcome in enumerate(outcomes, 1):
            watcher.step(step, number / len(tasks))
            done.units.append(_report(outcome))
            if outcome.result is not None:
                _take(outcome.result, resolved)


def _is_header(path: str) -> bool:
    return Path(path).suffix in HEADERS


def _report(outcome: TaskOutcome[Work, UnitResult]) -> UnitReport:
    found = outcome.result
    if found is None:
        return UnitReport(outcome.task.path, 0, 0, (), outcome.failed)
    return UnitReport(outcome.task.path, found.errors, found.warnings, found.messages, None)


def _take(found: UnitResult, resolved: dict[str, Resolved]) -> None:
    for path, uses in found.uses.items():
        one = resolved.setdefault(path, Resolved())
        one.add(uses, found.skipped.get(path, ()), erring=path in found.erring)


def _write(target: Path, root: str, resolved: dict[str, Resolved], done: Refined) -> None:
    """Replace the references of every file that is still what the index has read."""
    from filelock import FileLock

    with FileLock(lock_file(target)):
        changes = dict(_merged(target, root, resolved, done))
        try:
            with IndexWriter(target, anew=False) as writer:
                for path, refs in changes.items():
                    writer.replace_refs(path, refs, "libclang")
                before = json.loads(writer.meta("semantic") or "{}")
                said = {one.path: [one.errors, one.warnings, one.failed] for one in done.units}
                writer.put_meta({"semantic": json.dumps(before | said)})
        except OSError as error:
            why = f"{error.filename or target}: {error.strerror or error}"
            raise PtexploreError("the index cannot be written", why, "make room there, then try again") from error


def _merged(target: Path, root: str, resolved: dict[str, Resolved], done: Refined) -> list[tuple[str, list[Ref]]]:
    found = []
    store = IndexStore.open(target)
    try:
        for path, one in sorted(resolved.items()):
            known = store.file(path)
            data = Path(root, path).read_bytes()
            if known is None or hashlib.sha256(data).hexdigest() != known.sha:
                done.changed.append(path)
                continue
            before = store.refs_in(path)
            refs = merge(path, data.decode("utf-8", "replace").replace("\r\n", "\n"), before, one)
            done.files += 1
            done.before += len(before)
            done.resolved += sum(ref.extractor == "libclang" for ref in refs)
            done.kept += sum(ref.extractor != "libclang" for ref in refs)
            found.append((path, refs))
    finally:
        store.close()
    return found
