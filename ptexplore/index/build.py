"""Builds and refreshes the index of one tree: all cores read changed files, and only their rows change."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from ptexplore.cpp.macros import HEADERS, MacroTable, collect
from ptexplore.errors import PtexploreError, cache_errors
from ptexplore.index.reading_plan import (
    IndexInput,
    ReadingPlan,
    copy_of_relative,
    same_unread,
    unread_files,
    usable_index,
    what_to_read,
)
from ptexplore.index.workers import (
    Result,
    Same,
    Task,
    Unread,
    Wave,
    content,
    in_turn,
    read_all,
    read_rows,
    worth_starting,
)
from ptexplore.locations import lock_file
from ptexplore.source.listing import Listed
from ptexplore.source.progress import Progress, Silent
from ptexplore.store.index.read_ahead import PackedFile, ReadAhead, kept, unpacked
from ptexplore.store.index.reader import IndexStore, Known, StaleIndex
from ptexplore.store.index.rows import Rows
from ptexplore.store.index.writer import IndexWriter
from ptexplore.writing import locked

_WAIT = 1800  # seconds to wait for another indexer


@dataclass(frozen=True, slots=True)
class Built:
    """The result of a run: counts of files that were read, kept or removed, and the files that could not be read."""

    read: int
    kept: int
    removed: int
    unread: tuple[Unread, ...]
    anew: bool
    seconds: float


def build(source: IndexInput, target: Path, *, jobs: int | None = None, progress: Progress | None = None) -> Built:
    """Builds or refreshes the index of `source` at `target`.

    A second process waits for the first and finds all work done.

    If the process is killed, `target` is either unchanged or complete. Raises PtexploreError if the cache cannot be
    written or a worker died.
    """
    watcher = progress or Silent()
    started = time.monotonic()
    with cache_errors("the index cannot be written", target), _locked(target, watcher) as waited:
        if waited:  # files may have changed during the wait
            source = replace(source, files=[listed._replace(state=None) for listed in source.files])
        try:
            return _build(source, target, jobs or available(), watcher, started)
        except StaleIndex:  # damage that appears only on reading: the present file is useless
            target.unlink(missing_ok=True)
            return _build(source, target, jobs or available(), watcher, started)


def available() -> int:
    """Returns the number of cores that this process may use, at most sixteen."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, 16)


def _build(source: IndexInput, target: Path, jobs: int, watcher: Progress, started: float) -> Built:
    store = usable_index(target) or copy_of_relative(source, target)
    known = store.known() if store is not None else {}
    plan = what_to_read(source.files, known)
    if store is not None and store.meta("source") == source.identity and not plan.removed and same_unread(store, plan):
        unread = tuple(Unread(*row) for row in unread_files(store))
        return Built(0, len(known), 0, unread, anew=False, seconds=time.monotonic() - started)
    ahead = _read_ahead(source) if store is None else None
    unheard: dict[str, str] = {}
    macros = functools.cache(functools.partial(_macros, source, store, plan, ahead, watcher, unheard))
    if store is not None:
        plan = what_to_read(source.files, known, _users(store, macros()))
    anew = store is None or 2 * plan.sure > len(source.files) or _is_worn(store, len(known))
    if anew:
        known, plan = {}, what_to_read(source.files, {})
    first = 1 if anew or store is None else int(store.meta("next_file") or 1)
    taken = _still_so(ahead, source.files) if ahead is not None else []
    if ahead is not None:
        done = {file.path for file, _ in taken}
        plan = replace(plan, read=[row for row in plan.read if row[0] not in done])
        first = ahead.next_file
    if store is not None:
        store.close()
    early, later = in_turn([Task(0, *rest) for rest in plan.read], first, jobs)
    tasks = early + later
    changes = _Changes(source, target, anew, known, macros, unheard)
    waves = (Wave(part, table()) for part, table in ((early, lambda: None), (later, macros)))
    with contextlib.closing(read_all(waves, worth_starting(tasks, jobs), read_rows, _given_up)) as results:
        watched = _watched(results, tasks, watcher, f"{source.tree}: reading {len(tasks):,} files")
        changes.apply(_behind_first(watched, taken), plan.removed)
    watcher.step(f"{source.tree}: done", 1.0)
    kept = len(known) - len(plan.removed) - changes.replaced
    seconds = time.monotonic() - started
    return Built(changes.read, kept, len(plan.removed), tuple(changes.unread), anew, seconds)


def _given_up(task: Task, why: str) -> Result:
    return Unread(task.path, why)


def _read_ahead(source: IndexInput) -> ReadAhead | None:
    """Returns the files read ahead, if they were read with the headers that the source has now. Else None."""
    ahead = kept(source.read_ahead) if source.read_ahead is not None and not source.headers else None
    return ahead if ahead is not None and ahead.headers == header_state(source.files) else None


def _still_so(ahead: ReadAhead, files: Sequence[Listed]) -> list[tuple[PackedFile, int]]:
    """Returns the files read ahead whose content is unchanged, each with its time of change."""
    where = {listed.path: listed.file for listed in files}
    unchanged = []
    for file in ahead.files:
        stamp = stamp_of(where.get(file.path, ""), file.sha)
        if stamp is not None:
            unchanged.append((file, stamp))
    return unchanged


def stamp_of(where: str, sha: str) -> int | None:
    """Returns the time of change of the file at `where` if its content has this hash. Else None."""
    try:
        data, stamp = content(where)
    except (OSError, ValueError):
        return None
    return stamp if hashlib.sha256(data).hexdigest() == sha else None


def _behind_first(results: Iterator[Result], taken: Sequence[tuple[PackedFile, int]]) -> Iterator[Result]:
    """Yields the results, with the files read ahead after the first result. Meanwhile the workers go on reading."""
    yield from itertools.islice(results, 1)
    for file, stamp in taken:
        yield unpacked(file, stamp)
    yield from results


def header_state(files: Iterable[Listed]) -> str:
    """Returns a hash of the paths, sizes and times of change of the headers among `files`."""
    states = sorted(f"{path} {state}" for path, _, _, state in files if path.endswith(HEADERS))
    return hashlib.sha256("\n".join(states).encode("utf-8", "surrogateescape")).hexdigest()


def _macros(
    source: IndexInput,
    store: IndexStore | None,
    plan: ReadingPlan,
    ahead: ReadAhead | None,
    watcher: Progress,
    unheard: dict[str, str],
) -> MacroTable:
    """Returns the macros of the headers. The stored table is used if no header was changed or removed.

    If a header cannot be read, `unheard` gets its path and the reason.
    """
    if ahead is not None:
        return MacroTable.from_text(ahead.macros)
    touched = {task[0] for task in plan.read} | set(plan.removed)
    kept = store.meta("macro_table") if store is not None and not source.headers else None
    if kept and not any(path.endswith(HEADERS) for path in touched):
        return MacroTable.from_text(kept)
    watcher.step(f"{source.tree}: collecting macros")
    return collect(headers((*source.headers, *source.files), unheard))


def _users(store: IndexStore, macros: MacroTable) -> set[str]:
    """Returns the indexed files that name a changed macro, or a macro whose expansion names one."""
    changed = macros.changed_since(MacroTable.from_text(store.meta("macro_table") or "{}"))
    return set(store.files_with_any_word(sorted(changed)))


class _Changes:
    """Writes results into the index. The index is opened for writing when there is something to write."""

    def __init__(
        self,
        source: IndexInput,
        target: Path,
        anew: bool,
        known: dict[str, Known],
        macros: Callable[[], MacroTable],
        unheard: Mapping[str, str],
    ) -> None:
        self.source, self.target, self.anew, self.known, self.macros = source, target, anew, known, macros
        # headers that could not be read when macros were collected, with the reason: a disk error may be temporary
        self.unheard = unheard
        self.read = self.replaced = 0
        self.unread: list[Unread] = []

    def apply(self, results: Iterable[Result], removed: Sequence[str]) -> None:
        """Writes every result. Deletes the rows of `removed` files and of files that can no longer be read."""
        with IndexWriter(self.target, anew=self.anew) as writer:
            writer.remove(removed)
            stamps: list[tuple[str, int]] = []
            for read in results:
                if isinstance(read, Same):
                    stamps.append((read.path, read.stamp))
                    continue
                path = read.path if isinstance(read, Unread) else str(read.file[1])
                # Other files were read without this header's macros. As "unread", it is read again next time, and so
                # are they.
                result = Unread(path, self.unheard[path]) if path in self.unheard else read
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
            table = self.macros().as_text()
            others = self.unheard.keys() - {file.path for file in self.unread}
            self.unread += [Unread(path, self.unheard[path]) for path in others]
            self.unread.sort(key=lambda file: file.path)
            writer.put_meta(
                {
                    "tree": self.source.tree,
                    "source": self.source.identity,
                    "family": self.source.family,
                    "worn": str(worn),
                    "unread": json.dumps([[file.path, file.why] for file in self.unread]),
                    "macro_table": "" if others else table,
                }
            )


def _watched(results: Iterable[Result], tasks: Sequence[Task], watcher: Progress, step: str) -> Iterator[Result]:
    """Yields the results and reports progress: the share of the text that is done."""
    sizes = {task.path: task.size for task in tasks}
    total = sum(sizes.values()) or 1
    done = shown = 0
    for result in results:
        done += sizes[str(result.file[1]) if isinstance(result, Rows) else result.path]
        if done - shown > total / 100:
            watcher.step(step, done / total)
            shown = done
        yield result


def headers(files: Iterable[Listed], unheard: dict[str, str] | None = None) -> Iterator[tuple[str, str]]:
    """Yields path and text of every header among `files`. If one cannot be read, `unheard` gets path and reason."""
    for path, where, *_ in files:
        if path.endswith(HEADERS):
            try:
                data, _ = content(where)
            except (OSError, ValueError) as error:
                if unheard is not None:
                    unheard[path] = getattr(error, "strerror", None) or str(error)
                continue
            text = data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
            yield path, text


def _is_worn(store: IndexStore, files: int) -> bool:
    """Whether so many files were replaced that it is worth building the index from nothing."""
    return int(store.meta("worn") or 0) > max(files, 1000)


def _locked(target: Path, watcher: Progress) -> AbstractContextManager[bool]:
    """Returns a context manager that holds the lock. Its value says whether another process had the lock."""
    lock = lock_file(target)
    why = f"another process has held {lock} for half an hour"
    refusal = PtexploreError("the index is in use", why, "end that process, then: ptexplore index")
    return locked(lock, _WAIT, lambda: watcher.step("waiting for another ptexplore to finish indexing"), refusal)
