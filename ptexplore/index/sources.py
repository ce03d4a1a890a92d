"""Build and refresh the index of one tree: what changed is read, by all cores, and replaces only its own rows."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path

from ptexplore.errors import MISSING, PtexploreError
from ptexplore.index import macro_table
from ptexplore.index.cpp.macros import HEADERS, MacroTable, collect
from ptexplore.index.tasks import Task, in_turn
from ptexplore.index.workers import Result, Same, Unread, read, read_all
from ptexplore.locations import lock_file
from ptexplore.source.listing import Listed
from ptexplore.source.progress import Progress, Silent
from ptexplore.store.index_rows import Rows
from ptexplore.store.index_store import IndexStore, Known, Stale
from ptexplore.store.index_writer import IndexWriter

_WAIT = 1800  # seconds for another indexer to finish


@dataclass(frozen=True, slots=True)
class Source:
    """What to index: the tree's name, what tells this source from another of that name, its files.

    `headers` are files outside the tree whose macros its files use: of an extension, PyTorch's own.
    """

    tree: str
    identity: str
    files: Sequence[Listed]
    headers: Sequence[Listed] = ()


@dataclass(frozen=True, slots=True)
class Built:
    """What a run did: files read, known by their content and left alone, removed; those that could not be read."""

    read: int
    kept: int
    removed: int
    unread: tuple[Unread, ...]
    anew: bool
    seconds: float


def build(source: Source, target: Path, *, jobs: int | None = None, progress: Progress | None = None) -> Built:
    """Make or refresh the index of `source` at `target`; a second process waits for the first and finds all done.

    Killed at any moment, `target` is as it was or complete. Raises PtexploreError where the cache cannot be written or
    a worker died.
    """
    watcher = progress or Silent()
    started = time.monotonic()
    with _errors(target), _locked(target, watcher) as waited:
        if waited:  # long enough for files to change
            source = replace(source, files=[one._replace(state=None) for one in source.files])
        try:
            built = _build(source, target, jobs or available(), watcher)
        except Stale:  # damage that shows only where it is read: what is there is no use
            target.unlink(missing_ok=True)
            built = _build(source, target, jobs or available(), watcher)
    return Built(*built, time.monotonic() - started)


def available() -> int:
    """The cores that this process may use, at most sixteen."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, 16)


def is_current(store: IndexStore, source_identity: str) -> bool:
    """Whether an open index is of that very source."""
    return store.meta("source") == source_identity


def is_fresh(source: Source, target: Path) -> bool:
    """Whether the index at `target` is of `source` as it lies there now: nothing to read, nothing gone."""
    store = _open(target)
    if store is None or not is_current(store, source.identity):
        return False
    plan = _plan(source.files, store.known())
    return not plan.removed and _same_unread(store, plan)


_Built = tuple[int, int, int, tuple[Unread, ...], bool]


def _build(source: Source, target: Path, jobs: int, watcher: Progress) -> _Built:
    store = _open(target)
    known = store.known() if store is not None else {}
    plan = _plan(source.files, known)
    if store is not None and is_current(store, source.identity) and not plan.removed and _same_unread(store, plan):
        return 0, len(known), 0, tuple(Unread(*one) for one in _unread(store)), False
    macros = functools.cache(functools.partial(_macros, source, store, plan, watcher))
    if store is not None:
        plan = _plan(source.files, known, _users(store, macros()))
    anew = store is None or 2 * plan.sure > len(source.files) or _is_worn(store, len(known))
    if anew:
        known, plan = {}, _plan(source.files, {})
    first = 1 if anew or store is None else int(store.meta("next_file") or 1)
    if store is not None:
        store.close()
    tasks = in_turn([Task(0, *rest) for rest in plan.read], first, jobs)
    changes = _Changes(source, target, anew, known, macros)
    with contextlib.closing(read_all(tasks, macros, jobs)) as results:
        changes.apply(_watched(results, tasks, watcher, f"{source.tree}: reading {len(tasks):,} files"), plan.removed)
    watcher.step(f"{source.tree}: done", 1.0)
    kept = len(known) - len(plan.removed) - changes.replaced
    return changes.read, kept, len(plan.removed), tuple(changes.unread), anew


@dataclass(frozen=True)
class _Plan:
    """What to read, as Task without its id; what to remove; how many of `read` are surely not what the index has."""

    read: list[tuple[str, str, str, int, str | None]]
    removed: list[str]
    sure: int


def _plan(files: Sequence[Listed], known: dict[str, Known], forced: Set[str] = frozenset()) -> _Plan:
    read: list[tuple[str, str, str, int, str | None]] = []
    sure = 0
    for path, where, layer, state in files:
        have = known.get(path)
        try:
            stamp, size = state or _state(where)
        except OSError:
            read.append((path, where, layer, 0, None))  # the reader says why
            continue
        if have is None or path in forced or have.layer != layer:
            sure += 1
            read.append((path, where, layer, size, None))
        elif (have.stamp, have.size) != (stamp, size):
            sure += have.size != size
            read.append((path, where, layer, size, have.sha))
    return _Plan(read, sorted(known.keys() - {listed.path for listed in files}), sure)


def _state(file: str) -> tuple[int, int]:
    status = os.stat(file, follow_symlinks=False)
    return status.st_mtime_ns, status.st_size


def _macros(source: Source, store: IndexStore | None, plan: _Plan, watcher: Progress) -> MacroTable:
    """The macros of the headers: those the index was made with, where no header is to be read or gone."""
    touched = {task[0] for task in plan.read} | set(plan.removed)
    kept = store.meta("macro_table") if store is not None and not source.headers else None
    if kept is not None and not any(path.endswith(HEADERS) for path in touched):
        return macro_table.from_text(kept)
    watcher.step(f"{source.tree}: collecting macros")
    return collect(_headers(source))


def _users(store: IndexStore, macros: MacroTable) -> set[str]:
    """The indexed files that name a macro which is not as it was, or one whose expansion comes to name it."""
    changed = macro_table.changed(macro_table.from_text(store.meta("macro_table") or "{}"), macros)
    return set(store.files_with_any_word(sorted(changed)))


def _unread(store: IndexStore) -> list[tuple[str, str]]:
    return [(path, why) for path, why in json.loads(store.meta("unread") or "[]")]


def _same_unread(store: IndexStore, plan: _Plan) -> bool:
    """Whether all there is to read could not be read last time and cannot now, for the same reason."""
    before = dict(_unread(store))
    if before.keys() != {task[0] for task in plan.read}:
        return False
    now = (read(Task(0, *task), MacroTable({})) for task in plan.read)
    return all(isinstance(one, Unread) and before[one.path] == one.why for one in now)


class _Changes:
    """Results on their way into the index. The index is opened for writing when there is something to write."""

    def __init__(
        self, source: Source, target: Path, anew: bool, known: dict[str, Known], macros: Callable[[], MacroTable]
    ) -> None:
        self.source, self.target, self.anew, self.known, self.macros = source, target, anew, known, macros
        self.read = self.replaced = 0
        self.unread: list[Unread] = []

    def apply(self, results: Iterable[Result], removed: Sequence[str]) -> None:
        """Write every result, and take away the rows of files `removed` and of those that cannot be read any more."""
        with IndexWriter(self.target, anew=self.anew) as writer:
            writer.remove(removed)
            stamps: list[tuple[str, int]] = []
            for result in results:
                if isinstance(result, Same):
                    stamps.append((result.path, result.stamp))
                    continue
                path = result.path if isinstance(result, Unread) else str(result.file[1])
                if path in self.known:
                    writer.remove([path])
                    self.replaced += 1
                if isinstance(result, Unread):
                    self.unread.append(result)
                else:
                    writer.add([result])
                    self.read += 1
            writer.restamp(stamps)
            worn = int(writer.meta("worn") or 0) + self.replaced + len(removed)
            self.unread.sort(key=lambda one: one.path)
            facts = {"tree": self.source.tree, "source": self.source.identity, "worn": str(worn)}
            facts["unread"] = json.dumps([[one.path, one.why] for one in self.unread])
            facts["macro_table"] = macro_table.as_text(self.macros())
            writer.put_meta(facts)


def _watched(results: Iterable[Result], tasks: Sequence[Task], watcher: Progress, step: str) -> Iterator[Result]:
    """The results, with the share of the text that is done reported."""
    sizes = {task.path: task.size for task in tasks}
    total = sum(sizes.values()) or 1
    done = shown = 0
    for result in results:
        done += sizes[str(result.file[1]) if isinstance(result, Rows) else result.path]
        if done - shown > total / 100:
            watcher.step(step, done / total)
            shown = done
        yield result


def _headers(source: Source) -> Iterator[tuple[str, str]]:
    """Path and text of every header; what cannot be read is said by its reader."""
    for path, where, *_ in (*source.headers, *source.files):
        if path.endswith(HEADERS):
            with contextlib.suppress(OSError), open(where, encoding="utf-8", errors="replace") as file:
                yield path, file.read()


def _open(target: Path) -> IndexStore | None:
    try:
        return IndexStore.open(target)
    except (FileNotFoundError, Stale):
        return None


def _is_worn(store: IndexStore, files: int) -> bool:
    """Whether so much was replaced that what it left behind is worth a new beginning."""
    return int(store.meta("worn") or 0) > max(files, 1000)


@contextlib.contextmanager
def _locked(target: Path, watcher: Progress) -> Iterator[bool]:
    """Hold the lock; the value is whether another process had it."""
    import filelock

    target.parent.mkdir(parents=True, exist_ok=True)
    lock = filelock.FileLock(lock_file(target))
    waited = False
    try:
        try:
            lock.acquire(timeout=0)
        except filelock.Timeout:
            waited = True
            watcher.step("waiting for another ptexplore to finish indexing")
            lock.acquire(timeout=_WAIT)
    except filelock.Timeout as error:
        why = f"another process has held {lock_file(target)} for half an hour"
        raise PtexploreError("the index is in use", why, "end that process, then: ptexplore index") from error
    try:
        yield waited
    finally:
        lock.release()


@contextlib.contextmanager
def _errors(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = os.fsdecode(error.filename or str(target))
        raise PtexploreError(
            "the index cannot be written",
            f"{where}: {error.strerror or error}",
            "make room there, or set PTEXPLORE_CACHE to a folder you can write",
            MISSING,
        ) from error
