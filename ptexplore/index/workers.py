"""Reads files into index rows, in one process or several. An unreadable file is reported and stops nothing."""

from __future__ import annotations

import contextlib
import hashlib
import multiprocessing
import os
import pickle
import shutil
import stat
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cache
from multiprocessing.context import BaseContext
from pathlib import Path
from typing import NamedTuple, TypeVar

from ptexplore.cpp.macros import HEADERS, LARGEST_HEADER, MacroTable
from ptexplore.cpp.text import Text, Words
from ptexplore.errors import PtexploreError
from ptexplore.index.budgets import OverBudget, budget, limit_memory, too_deep
from ptexplore.model.symbols import Dialect, FileRecords, RefLines, Symbol, ref_lines
from ptexplore.processes import as_done, end_with_parent, ending_workers, starting_workers
from ptexplore.source import canonical
from ptexplore.source.listing import is_unicode
from ptexplore.source.tree import LARGEST
from ptexplore.store.index.rows import ReadFile, Rows, pack
from ptexplore.temporary import temporary_folder

LONGEST_LINE = 500_000  # characters; a file with a longer line is data, and only its words are indexed
_TOO_NEAR = 2_000_000_000  # nanoseconds: a file that changed so recently may change again with the same time stamp
_ALONE = 1_500_000  # bytes; reading so few is faster than starting workers
_LARGE = 250_000  # bytes; a parser may take minutes for the text of a larger file
_BATCH = 400_000  # bytes in a batch for a worker
_LAST = 40_000  # bytes in a batch near the end, so that no worker is without work
_EACH = 500  # bytes whose reading takes as long as the fixed cost of a file
_AT = "at-"  # prefix of the files in which workers write which file they are reading
_DIED_OF = "reading it takes more time or memory than for any source"
# bytes for each worker that need no macros, read while the macros are collected
_MEANWHILE = 4_000_000


class Task(NamedTuple):
    """One file to read: the id for its rows, and its hash in the index.

    If the hash is None, the file is always read.
    """

    file: int
    path: str
    where: str
    layer: str
    size: int
    known: str | None


@dataclass(frozen=True, slots=True)
class Same:
    """A file whose content is the same as in the index."""

    path: str
    stamp: int


@dataclass(frozen=True, slots=True)
class Unread:
    """A file that could not be read, and the reason."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class Whole:
    """A file that was read: its text, its records, and the rows made of the records."""

    text: str
    records: FileRecords
    rows: Rows


class Wave(NamedTuple):
    """Files to read together, and the macros for them. The macros are None if none of the files is C++."""

    tasks: Sequence[Task]
    macros: MacroTable | None


Result = Rows | Same | Unread
_R = TypeVar("_R")
Read = Callable[[Task, MacroTable], _R]  # makes a worker's result of a file: a function at module level


def read_all(
    waves: Iterable[Wave], jobs: int, read: Read[_R], given_up: Callable[[Task, str], _R] | None = None
) -> Generator[_R]:
    """Yields the result of `read` for every task, in any order, with `jobs` processes if there are several.

    Waves are fetched one by one, since each may have to wait for files or macros. Earlier waves are read meanwhile; the
    processes start with the first wave. If reading a file kills its worker, the result is that of `given_up`, which
    gets the reason. Raises PtexploreError if a worker dies and there is no `given_up`, or if it dies for another
    reason.
    """
    if jobs < 2:
        for wave in waves:
            for task in wave.tasks:
                yield read(task, wave.macros or _NO_MACROS)
        return
    # With fork, a lock that the thread of a progress bar holds would stay locked in the child.
    context = multiprocessing.get_context("spawn")
    try:
        with temporary_folder("index") as folder:
            yield from _in_pools(folder, waves, jobs, read, given_up, context)
    except BrokenProcessPool as error:
        raise PtexploreError(
            "the source could not be read", "a process that reads files died", "ptexplore index --jobs 1"
        ) from error


def worth_starting(tasks: Sequence[Task], jobs: int) -> int:
    """Returns how many of `jobs` processes have enough to do."""
    if sum(task.size for task in tasks) < _ALONE:
        # A parser that hangs cannot be stopped in this process, so such a file needs another process.
        large = jobs > 1 and any(task.size > _LARGE and canonical.language_of(task.path) == "cpp" for task in tasks)
        return 2 if large else 1
    return min(jobs, len(batches(tasks)))


class _Batch(NamedTuple):
    """A batch of tasks for a worker, and the number of the table of macros to read them with."""

    tasks: list[Task]
    table: int | None


def _in_pools(
    folder: Path,
    waves: Iterable[Wave],
    jobs: int,
    read: Read[_R],
    given_up: Callable[[Task, str], _R] | None,
    context: BaseContext,
) -> Iterator[_R]:
    """Yields the result of `read` for every task.

    If a worker dies, the files that workers were reading are read one at a time, and the rest by new workers.
    """
    left = yield from _in_pool(folder, _begun(folder, waves, jobs), jobs, read, context)
    while left:
        suspects = {file.read_text("utf-8", "surrogateescape") for file in folder.glob(f"{_AT}*")}
        alone = [(task, table) for tasks, table in left for task in tasks if task.path in suspects]
        if given_up is None or not alone:
            raise BrokenProcessPool
        for task, table in alone:
            if (yield from _in_pool(folder, [[_Batch([task], table)]], 1, read, context)):
                yield given_up(task, _DIED_OF)
        rest = [_Batch([task for task in tasks if task.path not in suspects], table) for tasks, table in left]
        left = yield from _in_pool(folder, [[batch for batch in rest if batch.tasks]], jobs, read, context)


def _begun(folder: Path, waves: Iterable[Wave], jobs: int) -> Iterator[list[_Batch]]:
    """Yields the batches of each wave, and writes the wave's macros to a file for the workers."""
    for number, wave in enumerate(waves):
        begun = batches(wave.tasks)
        if number == 0:
            begun += [[] for _ in range(jobs - len(begun))]  # start all workers now, even if there is no work yet
        if wave.macros is not None:
            with _named(folder), (folder / str(number)).open("wb") as file:
                pickle.dump(wave.macros, file, pickle.HIGHEST_PROTOCOL)
        yield [_Batch(tasks, None if wave.macros is None else number) for tasks in begun]


@contextlib.contextmanager
def _named(folder: Path) -> Iterator[None]:
    """Adds the folder to an error of writing: the system gives no name, and this is not the folder of the index."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(folder)) from error


def _in_pool(
    folder: Path, todo: Iterable[list[_Batch]], jobs: int, read: Read[_R], context: BaseContext
) -> Generator[_R, None, list[_Batch]]:
    """Yields the result of `read` for the batches. If a worker died, returns the batches that were not done."""
    for old in folder.glob(f"{_AT}*"):
        old.unlink()
    undone: list[_Batch] = []
    with starting_workers():  # its queues start another process
        pool = ProcessPoolExecutor(jobs, context, _begin, (str(folder),))
    with pool, ending_workers(pool):
        pending: dict[Future[list[_R]], _Batch] = {}
        for begun in todo:
            with starting_workers(), _uninterrupted():  # processes started here leave Ctrl-C to the parent
                for batch in begun:
                    try:
                        pending[pool.submit(_read_batch, read, batch.tasks, batch.table)] = batch
                    except BrokenProcessPool:
                        undone.append(batch)
        for done in as_done(pending):
            batch = pending.pop(done)
            try:
                made = done.result()
            except BrokenProcessPool:
                undone.append(batch)
            else:
                yield from made
    return [batch for batch in undone if batch.tasks]


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Delays Ctrl-C until the end of the block."""
    import signal

    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_tables: Path
_at: int | None = None  # in a worker: the open file that says which file it is reading


def _begin(tables: str) -> None:
    """Makes this process a worker. The worker ends when its parent ends, for any reason.

    `tables` is the folder of macros.
    """
    import gc

    gc.freeze()
    gc.set_threshold(5_000_000)  # there are hardly any cycles, and searching for them takes a tenth of the time
    _keep_memory()
    limit_memory()
    global _tables, _at  # noqa: PLW0603 (a worker has one folder of tables; it is set once instead of with each batch)
    _tables = Path(tables)
    try:
        _at = os.open(_tables / f"{_AT}{os.getpid()}", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    # either the parent is gone and another worker deleted the folder, or the disk is full, which the parent reports
    except OSError:
        os._exit(1)
    end_with_parent(lambda: shutil.rmtree(_tables, ignore_errors=True))  # deletes what the parent could not
    _get_ready()


def _get_ready() -> None:
    """Imports and compiles the readers of C++ now, while the parent collects macros and there is nothing to read."""
    from importlib import import_module

    from ptexplore.index.cpp.tree import parser

    for name in ("cpp.extract", "dialect.cpp"):
        import_module(f"ptexplore.index.{name}")
    parser()


def _keep_memory() -> None:
    """Makes the C library keep freed memory for the next file: returning it to the system takes a tenth of the time."""
    import ctypes

    with contextlib.suppress(OSError, AttributeError, TypeError):  # other C libraries lack mallopt
        mallopt = ctypes.CDLL(None).mallopt
        for option, value in ((-1, 1 << 29), (-2, 1 << 25), (-3, 1 << 25)):  # trim threshold, top pad, mmap threshold
            mallopt(option, value)


@cache
def _macros(table: int) -> MacroTable:
    """Loads a table of macros. Its file is written before the first batch that needs it."""
    with open(_tables / str(table), "rb") as file:
        macros: MacroTable = pickle.load(file)
    return macros


_NO_MACROS = MacroTable({})


def _read_batch(read: Read[_R], batch: list[Task], table: int | None) -> list[_R]:
    macros = _NO_MACROS if table is None else _macros(table)
    made = []
    for task in batch:
        _say_at(task.path)
        made.append(read(task, macros))
    _say_at("")
    return made


def _say_at(path: str) -> None:
    """Writes which file this worker is reading, for the case that the worker dies."""
    if _at is not None:
        name = path.encode("utf-8", "surrogateescape")
        with _named(_tables):
            os.pwrite(_at, name, 0)
            os.ftruncate(_at, len(name))


def read_rows(task: Task, macros: MacroTable) -> Result:
    """Returns the rows of one file, or the reason why there are none."""
    result = read_whole(task, macros)
    return result.rows if isinstance(result, Whole) else result


def read_whole(task: Task, macros: MacroTable) -> Whole | Same | Unread:
    """Returns one file with its records and rows, or the reason why there are none."""
    if not is_unicode(task.where):
        return Unread(task.path, "its name is not UTF-8: left out")
    try:
        data, stamp = content(task.where)
    except (OSError, ValueError) as error:
        return Unread(task.path, getattr(error, "strerror", None) or str(error))
    sha = hashlib.sha256(data).hexdigest()
    if sha == task.known:
        return Same(task.path, stamp)
    text, problems = _text(task, data)
    refused = too_deep(data) if canonical.language_of(task.path) in ("cpp", "python") else ""
    seen = ReadFile(task.file, task.layer, sha, len(data), stamp, text.count("\n") + (text[-1:] not in ("", "\n")))
    words = Words.of(data)
    if len(text) > LARGEST_HEADER and task.path.endswith(HEADERS):
        problems.append(f"a header of more than {LARGEST_HEADER:,} characters: its macros are unknown in other files")
    if len(text) > LONGEST_LINE and max(map(len, text.split("\n"))) > LONGEST_LINE:
        problems.append(f"a line of more than {LONGEST_LINE:,} characters: not parsed")
        records = FileRecords(task.path, canonical.language_of(task.path), problems=tuple(problems))
    elif refused:
        records = FileRecords(task.path, canonical.language_of(task.path), problems=(*problems, refused))
    else:
        records = _within_budget(task.path, text, macros, problems, words)
    return Whole(text, records, pack(seen, records, words.listed))


def content(where: str) -> tuple[bytes, int]:
    """Returns content and mtime of a regular file. The mtime is 0 if it is too recent to detect a later change."""
    handle = os.open(where, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with open(handle, "rb", buffering=0) as file:
        now = time.time_ns()
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("not a regular file")
        if status.st_size > LARGEST:
            raise ValueError(f"{status.st_size:,} bytes are too much")
        return file.read(), status.st_mtime_ns if now - status.st_mtime_ns > _TOO_NEAR else 0


def _text(task: Task, data: bytes) -> tuple[str, list[str]]:
    """Returns the text as a SourceTree returns it, so that line numbers agree."""
    problems = []
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
        problems.append("not all of it is UTF-8")
    if "\r" in text:  # the test comes first: replacing nothing takes five times as long
        text = text.replace("\r\n", "\n")
    if task.layer == "wheel":
        text, _ = canonical.unwrap(text)
    return text, problems


def _within_budget(path: str, text: str, macros: MacroTable, problems: list[str], words: Words) -> FileRecords:
    """Returns the records of a file. A file over its time gets a problem, and only its words are indexed."""
    try:
        with budget(len(text), final=_at is not None):
            return _records(path, text, macros, list(problems), words)
    except OverBudget as error:
        return FileRecords(path, canonical.language_of(path), problems=(*problems, f"{error}: not parsed"))


def _records(path: str, text: str, macros: MacroTable, problems: list[str], words: Words | None = None) -> FileRecords:
    language = canonical.language_of(path)
    symbols: list[Symbol] = []
    refs: RefLines = {}
    dialect: list[Dialect] = []
    try:
        if language == "python":
            from ptexplore.index import python as pysource

            symbols, uses, more = pysource.extract(path, text)
            refs = ref_lines(uses)
            problems += more
        elif language == "yaml":
            from ptexplore.index.dialect.yaml import yaml_rows

            dialect, uses = yaml_rows(path, text)
            refs = ref_lines(uses)
        else:
            from ptexplore.index.cpp.extract import extract
            from ptexplore.index.dialect import cpp

            source = Text(path, text)
            source.words = words
            symbols, refs, more = extract(path, text, macros, source)
            problems += more
            dialect = cpp.dialect(source, macros)
    except OverBudget:
        raise
    except Exception as error:  # whatever a file does to its reader, the other files are read
        if isinstance(error, MemoryError) and _at is None:
            # a worker has its own limit; here the error says nothing about the file, and the next run may read it
            raise
        problems.append(f"the reader failed: {type(error).__name__}: {error}"[:300])
    return FileRecords(path, language, tuple(symbols), refs, tuple(dialect), tuple(problems))


def in_turn(tasks: Sequence[Task], first: int, jobs: int) -> tuple[list[Task], list[Task]]:
    """Returns the tasks, split in two parts, with ids from `first` on. Ids follow the order of reading.

    So most rows are added at the end. The first part are the biggest files that need no macros: as many as `jobs`
    workers read while the macros are collected.
    """
    most = jobs * _MEANWHILE
    early: list[Task] = []
    later: list[Task] = []
    for task in sorted(tasks, key=lambda task: (-task.size, task.path)):
        if most > 0 and canonical.language_of(task.path) != "cpp":
            early.append(task)
            most -= task.size
        else:
            later.append(task)
    return numbered(early, first), numbered(later, first + len(early))


def numbered(tasks: Sequence[Task], first: int) -> list[Task]:
    """Returns the tasks in the order of reading, big files first, with ids from `first` on."""
    ordered = sorted(tasks, key=lambda task: (-task.size, task.path))
    return [task._replace(file=number) for number, task in enumerate(ordered, first)]


def batches(tasks: Sequence[Task]) -> list[list[Task]]:
    """Groups tasks into batches, big files first. The last batches are small, so that all workers end together."""
    heaps: list[list[Task]] = []
    left = sum(task.size + _EACH for task in tasks)
    room = 0
    for task in sorted(tasks, key=lambda task: (-task.size, task.path)):
        if room <= 0:
            heaps.append([])
            room = min(_BATCH, max(_LAST, left // 16))
        heaps[-1].append(task)
        room -= task.size + _EACH
        left -= task.size + _EACH
    return heaps
