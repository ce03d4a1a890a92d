"""Read files into index rows, in this process or in several; what cannot be read is said, never fatal."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import time
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ptexplore.errors import PtexploreError
from ptexplore.index.cpp.macros import MacroTable
from ptexplore.source import canonical
from ptexplore.source.listing import PYTHON, YAML
from ptexplore.source.tree import LARGEST
from ptexplore.store.index_rows import Read, Rows, pack
from ptexplore.symbols import Dialect, FileRecords, Language, Ref, Symbol

if TYPE_CHECKING:
    from multiprocessing.context import BaseContext

LONGEST_LINE = 500_000  # characters; longer ones are data, and their file gives its words alone
_TOO_NEAR = 2_000_000_000  # ns: a file that changed so shortly before it was read may have changed again unseen
_ALONE = 1_500_000  # bytes that are read sooner than workers start
_BATCH = 400_000  # bytes that a worker is given at a time
_WORD_BYTES = bytes(c if c > 127 or c == 95 or chr(c).isalnum() else 32 for c in range(256))


class Task(NamedTuple):
    """One file to read: the id for its rows, and the hash that the index has of it, None to read it whatever it is."""

    file: int
    path: str
    where: str
    layer: str
    size: int
    known: str | None


@dataclass(frozen=True, slots=True)
class Same:
    """A file whose content the index has already."""

    path: str
    stamp: int


@dataclass(frozen=True, slots=True)
class Unread:
    """A file that could not be read, and why."""

    path: str
    why: str


Result = Rows | Same | Unread


def read_all(tasks: Sequence[Task], macros: MacroTable, jobs: int) -> Generator[Result, None, None]:
    """Every task's result, in no order; by `jobs` processes where there is enough to do.

    Raises PtexploreError where a worker died.
    """
    if jobs < 2 or sum(task.size for task in tasks) < _ALONE:
        for task in tasks:
            yield read(task, macros)
        return
    import multiprocessing
    from concurrent.futures.process import BrokenProcessPool

    # Not fork: a progress bar has a thread, and what it holds locked would stay locked in the child.
    context = multiprocessing.get_context("spawn")
    batches = _batches(tasks)
    try:
        yield from _in_pool(batches, macros, min(jobs, len(batches)), context)
    except BrokenProcessPool as error:
        raise PtexploreError(
            "the source could not be read", "a process that reads files died", "ptexplore index --jobs 1"
        ) from error


def _in_pool(batches: list[list[Task]], macros: MacroTable, jobs: int, context: BaseContext) -> Iterator[Result]:
    with ProcessPoolExecutor(jobs, context, _begin, (macros, os.getpid())) as pool:
        try:
            with _uninterrupted():  # what starts here keeps it so, and leaves interrupting to us
                pending = {pool.submit(_read_batch, batch) for batch in batches}
            for done in as_completed(pending):
                pending.discard(done)
                yield from done.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ctrl-C waits until the end of the block."""
    import signal

    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _batches(tasks: Sequence[Task]) -> list[list[Task]]:
    """Tasks in heaps of about equal size, the biggest files first, so that no worker ends long after the others."""
    batches: list[list[Task]] = []
    room = 0
    for task in sorted(tasks, key=lambda task: (-task.size, task.path)):
        if room <= 0:
            batches.append([])
            room = _BATCH
        batches[-1].append(task)
        room -= task.size + 500
    return batches


_macros: MacroTable


def _begin(macros: MacroTable, parent: int) -> None:
    """Make this process a worker that ends with `parent`, however that ends."""
    import gc
    import threading

    gc.freeze()
    gc.set_threshold(200_000)  # a file's records live as long as it is read; looking through them costs a tenth
    global _macros  # noqa: PLW0603  (a worker's one table, given once instead of with each batch)
    _macros = macros

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _read_batch(batch: list[Task]) -> list[Result]:
    return [read(task, _macros) for task in batch]


def read(task: Task, macros: MacroTable) -> Result:
    """One file's rows, or why there are none."""
    try:
        data, stamp = _bytes(task.where)
    except (OSError, ValueError) as error:
        return Unread(task.path, getattr(error, "strerror", None) or str(error))
    sha = hashlib.sha256(data).hexdigest()
    if sha == task.known:
        return Same(task.path, stamp)
    text, problems = _text(task, data)
    seen = Read(task.file, task.layer, sha, len(data), stamp, text.count("\n") + (text[-1:] not in ("", "\n")))
    if max(map(len, text.split("\n"))) > LONGEST_LINE:
        problems.append(f"a line of more than {LONGEST_LINE:,} characters: not read as source")
        records = FileRecords(task.path, language_of(task.path), problems=tuple(problems))
    else:
        records = _records(task.path, text, macros, problems)
    return pack(seen, records, _words(data))


def _bytes(where: str) -> tuple[bytes, int]:
    """Content and mtime of a regular file; 0 for a time too near to tell a later change by."""
    handle = os.open(where, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(handle, "rb") as file:
        now = time.time_ns()
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("not a regular file")
        if status.st_size > LARGEST:
            raise ValueError(f"{status.st_size:,} bytes are too many")
        return file.read(), status.st_mtime_ns if now - status.st_mtime_ns > _TOO_NEAR else 0


def _text(task: Task, data: bytes) -> tuple[str, list[str]]:
    """The text as a SourceTree gives it, so that lines mean the same."""
    problems = []
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
        problems.append("not UTF-8 throughout")
    text = text.replace("\r\n", "\n")
    if task.layer == "wheel":
        text, _ = canonical.unwrap(text)
    return text, problems


def language_of(path: str) -> Language:
    """The language of a file, by its name."""
    suffix = os.path.splitext(path)[1]
    return "python" if suffix in PYTHON else "yaml" if suffix in YAML else "cpp"


def _records(path: str, text: str, macros: MacroTable, problems: list[str]) -> FileRecords:
    language = language_of(path)
    symbols: list[Symbol] = []
    refs: list[Ref] = []
    dialect: list[Dialect] = []
    try:
        if language == "python":
            from ptexplore.index import pysource

            symbols, refs, more = pysource.extract(path, text)
            problems += more
        elif language == "yaml":
            from ptexplore.index.dialect.yaml import yaml_rows

            dialect, refs = yaml_rows(path, text)
        else:
            symbols, refs, dialect, more = _cpp(path, text, macros)
            problems += more
    except Exception as error:  # noqa: BLE001  (whatever a file does to a reader, the other files are read)
        problems.append(f"the reader failed: {type(error).__name__}: {error}"[:300])
    return FileRecords(path, language, tuple(symbols), tuple(refs), tuple(dialect), tuple(problems))


def _cpp(path: str, text: str, macros: MacroTable) -> tuple[list[Symbol], list[Ref], list[Dialect], list[str]]:
    from ptexplore.index.cpp.extract import extract
    from ptexplore.index.cpp.text import Text
    from ptexplore.index.dialect.cpp import dialect

    whole = Text(path, text)
    symbols, refs, problems = extract(path, text, macros, whole)
    return symbols, refs, dialect(whole, macros), problems


def _words(data: bytes) -> str:
    """Every distinct identifier-like word of a file."""
    words = (word for word in set(data.translate(_WORD_BYTES).split()) if not 48 <= word[0] <= 57)
    return b" ".join(sorted(words)).decode("utf-8", "replace")
