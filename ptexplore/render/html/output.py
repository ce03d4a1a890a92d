"""Write a site into its folder, by several processes: whole files or none, nothing outside it, no stale page."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import gc
import hashlib
import json
import multiprocessing
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, Generic, TypeVar

from ptexplore.errors import FAILED, USAGE, PtexploreError
from ptexplore.locations import site_file
from ptexplore.processes import as_done, end_with_parent, ending_workers
from ptexplore.render.html.svg import MARK
from ptexplore.safe_text import clean_document, is_clean
from ptexplore.source.progress import Progress
from ptexplore.source.tree import is_plain
from ptexplore.writing import folder_below, keep_whole, write_whole

MANIFEST = "ptexplore-site.json"
FORMAT = 1
_UNKNOWN = "?"  # the hash of what a file was made of that a killed build wrote
_LOST = "!"  # the same of a file that could not be written: why stands in place of its size
# What is wrong with one name, and with no other: its page is lost, and all others are written.
_OF_ONE_NAME = {
    errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.EILSEQ, errno.EINVAL, errno.ELOOP,
}  # fmt: skip
# How the files of a site begin. A list of pages may have been planted: what it names is only taken away, or written
# over, where the file itself shows that ptexplore wrote it.
_BEGINS = {
    ".html": (b'<!doctype html>\n<html lang="en" data-root="',),
    ".js": (b"ptx.",),
    ".svg": (MARK,),
}
_ASSETS = (
    b"docs/html.md",
    b"tests/unit/lookup/test_ranking.py",
    b'rx="3" fill="#0550ae"/>',
)  # near the beginning of each
_LARGEST = 256 * 1024 * 1024  # bytes of a list of pages
Row = tuple[str, list[Any], bool]  # a URL, what the manifest knows of it, whether its bytes changed
ASIDE = ".ptexplore-aside"
_JOURNAL = ".new"
_PATIENCE = 2.0  # seconds: the processes of a build that was killed end soon after it
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_ALONE = 24  # tasks that are done sooner than a process starts
_Task = TypeVar("_Task")
_Made = TypeVar("_Made")


def digest(*parts: object) -> str:
    """A short hash of anything that prints the same each time."""
    made = hashlib.sha256()
    for part in parts:
        made.update(str(part).encode("utf-8", "surrogatepass"))
        made.update(b"\0")
    return made.hexdigest()[:16]


class Output:
    """A site's folder. `pages` is what is known of each file: the hash of what it was made of, its size, what was kept
    with it, and the hash of its bytes.

    `lost` says why a file could not be written, by its URL. With `force` files that ptexplore did not write are written
    over.
    """

    def __init__(self, root: Path, *, force: bool = False) -> None:
        self.root = root
        self.force = force
        self.lost: dict[str, str] = {}
        self._aside = Aside(root)
        self.before: dict[str, list[Any]] = _manifest(root)
        self.pages: dict[str, list[Any]] = {}
        self.changed: set[str] = set()  # of these, the files whose bytes are not what they were
        self.size = 0  # of the list of pages
        self._folders: set[str] = set()

    def take(self, rows: Iterable[Row]) -> None:
        """Know of files that another process wrote."""
        for url, known, changed in rows:
            if known[0] == _LOST:
                self.lost[url] = known[1]
                continue
            self.pages[url] = known
            if changed:
                self.changed.add(url)

    def fresh(self, url: str, key: str) -> bool:
        """Whether a file is there that was made of the same, and is as it was written; it is kept then."""
        known = self.before.get(url)
        if known is None or known[0] != key:
            return False
        content = _content(self.root / url, known[1])
        if content is None or hashlib.sha256(content).hexdigest() != known[-1]:
            return False
        self._folder(url)
        self.pages[url] = known
        return True

    def write(self, url: str, text: str | bytes, key: str = "", data: object = None) -> Row:
        """Write a file whole, where it differs from what is there. `data` is kept with it.

        Gives what is known of it, to be taken over by the process that asked for it. Raises PtexploreError where it
        cannot be written.
        """
        content = _safe(text) if isinstance(text, str) else text
        own: list[Any] = [] if data is None else [data]
        known = [key, len(content), *own, hashlib.sha256(content).hexdigest()]  # by the last a later build knows it
        file = self.root / url
        with _told(self.root):
            try:
                self._folder(url)
                if _content(file, len(content)) != content:
                    self._check(url)
                    if url not in self.before:
                        self._aside.note(url)
                    write_whole(file, content, self._aside.folder, root=self.root)
                    self.changed.add(url)
            except OSError as error:
                if error.errno not in _OF_ONE_NAME:
                    raise
                self.lost[url] = f"{error.strerror} ({error.filename})"
                return url, [_LOST, self.lost[url]], False
        self.pages[url] = known
        return url, known, url in self.changed

    def _check(self, url: str) -> None:
        """Raise PtexploreError where something is in the way that ptexplore did not write."""
        try:
            status = os.lstat(self.root / url)
        except OSError:
            return  # nothing is there
        if self.force or stat.S_ISDIR(status.st_mode) or self._is_ours(url):
            return
        why = "ptexplore did not write it, though a list of pages is there"
        hint = "another folder, or --force to write over it"
        raise PtexploreError(f"{self.root / url} is in the way of a page", why, hint, USAGE)

    def _is_ours(self, url: str) -> bool:
        """Whether a regular file of ours is there: it begins as ours do, or has the hash that was kept of it."""
        try:
            handle = os.open(self.root / url, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(handle, "rb") as file:
                if not stat.S_ISREG(os.fstat(handle).st_mode):
                    return False
                begin = file.read(2000)
                begins = _BEGINS.get(PurePosixPath(url).suffix)
                if begins is not None and begin.startswith(begins):
                    return True
                if url.startswith("assets/"):
                    return any(mark in begin for mark in _ASSETS)
                known = self.before.get(url, [])
                rest = hashlib.sha256(begin + file.read()).hexdigest()
                return begins is None and ((url == ".nojekyll" and not begin) or known[-1:] == [rest])
        except OSError:
            return False

    def _folder(self, url: str) -> None:
        """Make the folders of a page; none of them may be a link, which would lead out of the site."""
        folder = url.rpartition("/")[0]
        if folder in self._folders:
            return
        made, parts = self.root, folder.split("/") if folder else []
        for part in parts:
            made = made / part
            if made.is_symlink():
                why = f"{made} is a link, and a site is written into its own folder alone"
                raise PtexploreError(f"{self.root} cannot be written", why, "another folder", USAGE)
        with folder_below(self.root, parts, make=True):
            self._folders.add(folder)

    def begin(self) -> None:
        """Say that the folder is a site's before anything is written; half pages of a build that was killed go."""
        with _told(self.root):
            self.before = {url: [_UNKNOWN, -1] for url in self._aside.open()} | self.before
            self._save(self.before)
            self._aside.empty()

    def keep(self) -> None:
        """Remember what is written of a build that was stopped: the next one goes on there, and knows what may go."""
        with contextlib.suppress(PtexploreError):
            self._save(self.before | self.pages)

    def finish(self) -> int:
        """Delete what an earlier build wrote and this one has not, and keep what is known. Gives how many went."""
        stale = [url for url in self.before if url not in self.pages and is_plain(url) and self._is_ours(url)]
        gone = 0
        for url in stale:
            file = self.root / url
            if any(parent.is_symlink() for parent in list(file.parents)[: url.count("/")]):
                continue
            parts = PurePosixPath(url).parent.parts
            with _told(self.root), contextlib.suppress(FileNotFoundError), folder_below(self.root, parts) as at:
                os.unlink(file.name, dir_fd=at)
            gone += 1
        folders = {folder for url in stale for folder in PurePosixPath(url).parents if folder.name}
        for folder in sorted(folders, key=lambda folder: len(folder.parts), reverse=True):
            with contextlib.suppress(OSError):  # something is in it
                os.rmdir(self.root / folder)
        self._save(self.pages)
        with contextlib.suppress(OSError):
            self._aside.close()
        return gone

    def let_go(self) -> None:
        """Nothing more is written by this process."""
        self._aside.let_go()

    def _save(self, pages: dict[str, list[Any]]) -> None:
        rows = ",\n".join(
            f"{json.dumps(url)}:{json.dumps(known, separators=(',', ':'))}" for url, known in sorted(pages.items())
        )
        text = f'{{"format": {FORMAT}, "pages": {{\n{rows}\n}}}}\n'
        self.size = len(text)
        with _told(self.root):
            write_whole(self.root / MANIFEST, text, self._aside.folder)
        with contextlib.suppress(OSError):  # the next build looks into each file then
            keep_whole(site_file(os.path.realpath(self.root)), hashlib.sha256(text.encode()).hexdigest())


def _safe(page: str) -> bytes:
    """The text of a page, cleaned whoever forgot it. A line feed's companion stays: it is so in a file of Windows'."""
    content = page.encode("utf-8", "surrogatepass")
    if is_clean(content.replace(b"\r", b"")):  # nearly all are, which is known ten times sooner
        return content
    return "\r".join(map(clean_document, page.split("\r"))).encode("utf-8", "replace")


def _content(file: Path, size: int) -> bytes | None:
    """What is in a regular file of that size; None else."""
    try:
        status = os.lstat(file)
        return file.read_bytes() if stat.S_ISREG(status.st_mode) and status.st_size == size else None
    except OSError:
        return None


def _manifest(root: Path) -> dict[str, list[Any]]:
    """The list of pages that a build left; empty where it left none that can be used.

    Of a list that is not the last one which was written here, by this user's cache, no page is taken to be of what the
    list says: somebody else may have planted it, and whoever reads the site runs its scripts.

    Raises PtexploreError where it is there and cannot be read: taken for none, pages that went would stay for ever.
    """
    try:
        with _told(root):
            kept = _regular(root / MANIFEST)
    except PtexploreError as error:
        if isinstance(error.__cause__, (FileNotFoundError, IsADirectoryError)):
            return {}
        raise
    try:
        data = json.loads(kept)
        pages = data["pages"] if data["format"] == FORMAT else {}
        rows = {url: row for url, row in pages.items() if isinstance(row, list) and len(row) >= 2}
        return rows if _is_remembered(root, kept) else {url: [_UNKNOWN, *row[1:]] for url, row in rows.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def _is_remembered(root: Path, kept: bytes) -> bool:
    """Whether this is the list that was written here last."""
    try:
        return site_file(os.path.realpath(root)).read_text("ascii") == hashlib.sha256(kept).hexdigest()
    except (OSError, ValueError):
        return False


def _regular(file: Path) -> bytes:
    """The bytes of a regular file that is no link. Raises OSError; a FIFO keeps nobody waiting."""
    handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as opened:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
            raise OSError(errno.EINVAL, "it is no list of pages", str(file))
        return opened.read()


@contextlib.contextmanager
def open_output(root: Path, sources: Iterable[str], *, force: bool) -> Iterator[Output]:
    """The folder to write into, made where it is not there; no other build writes into it in this block.

    Raises PtexploreError where it is no folder, holds something that is no site without `force`, lies in one of
    `sources`, the folders that the source is read from, or is written by another build.
    """
    real = os.path.realpath(root)
    for source in map(os.path.realpath, sources):
        if real == source or real.startswith(source.rstrip("/") + os.sep):
            why = f"{source} is where the source is read from, and nothing is written there"
            raise PtexploreError(f"a site cannot be written to {root}", why, "ptexplore html SOMEWHERE-ELSE", USAGE)
    with _told(root):
        if root.is_symlink() and not root.exists():
            why = f"{os.readlink(root)} is not there"
            raise PtexploreError(f"{root} is a link to nothing", why, "make that folder first, or name another", USAGE)
        if root.exists() and not root.is_dir():
            raise PtexploreError(f"{root} is no folder", "a site is many files", "ptexplore html OUT", USAGE)
        holds = sorted(set(os.listdir(root)) - {ASIDE}) if root.is_dir() else []
    if holds and MANIFEST not in holds and not force:
        why = f"it holds {', '.join(holds[:3])}{' …' if len(holds) > 3 else ''}, which ptexplore did not write"
        raise PtexploreError(f"{root} is not empty", why, "an empty folder, or --force to write beside that", USAGE)
    with _told(root):
        os.makedirs(real, exist_ok=True)
        folder = os.open(real, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    out = Output(Path(real), force=force)
    try:
        _hold(real, folder)
        yield out
    finally:
        out.let_go()
        os.close(folder)


@contextlib.contextmanager
def _told(root: Path) -> Iterator[None]:
    """Trouble of the file system in here is said in our own words. Raises PtexploreError."""
    try:
        yield
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        hint = "make room, then run it again: what is written is kept" if error.errno in _FULL else "another folder"
        why = f"{error.strerror or error}{where}"
        raise PtexploreError(f"the site cannot be written to {root}", why, hint, FAILED) from error


class Aside:
    """The folder inside a site where files are half written: held by one build, and knowing what a killed one wrote.

    A build that is killed leaves pages that its list of pages does not name. So every process of a build first writes
    the URL of each file that is new to its own journal here; the next build reads them all.
    """

    def __init__(self, root: Path) -> None:
        self.folder = root / ASIDE
        self._journal = (0, -1)  # the process that opened it, and its descriptor

    def open(self) -> set[str]:
        """Make the folder. Gives the URLs that the journals of a killed build name, which `empty` drops."""
        if self.folder.is_symlink():
            self.folder.unlink()
        self.folder.mkdir(parents=True, exist_ok=True)
        # Not by glob, which finds nothing in a folder that a bad disk keeps back.
        left = [name for name in os.listdir(self.folder) if name.endswith(_JOURNAL)]
        return {url for name in left for url in _read(self.folder / name)}

    def empty(self) -> None:
        """Drop what is left in the folder."""
        for left in self.folder.iterdir():
            left.unlink()

    def note(self, url: str) -> None:
        """Say that a file is about to be there that was not."""
        process = os.getpid()
        if self._journal[0] != process:  # a fork has one of its own
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
            self._journal = (process, os.open(self.folder / f"{process}{_JOURNAL}", flags, 0o666))
        os.write(self._journal[1], f"{url}\n".encode("utf-8", "surrogateescape"))

    def let_go(self) -> None:
        """Nothing more is written by this process."""
        if self._journal[0] == os.getpid():
            os.close(self._journal[1])
            self._journal = (0, -1)

    def close(self) -> None:
        """The list of pages names everything now: the folder goes."""
        self.empty()
        self.folder.rmdir()


def _read(journal: Path) -> Iterator[str]:
    if stat.S_ISREG(os.lstat(journal).st_mode):
        *lines, _half = journal.read_bytes().decode("utf-8", "replace").split("\n")
        yield from filter(is_plain, lines)


def _hold(root: str, folder: int) -> None:
    """Hold a site's folder for this process and those that it forks, while the descriptor `folder` is open.

    Nothing where the file system cannot. Raises PtexploreError where another build holds it.
    """
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                why, hint = "another ptexplore html is writing there", "wait until that is done, or another folder"
                raise PtexploreError(f"{root} is in use", why, hint, FAILED) from None
            time.sleep(0.05)
        except OSError:
            return
        else:
            return


# --- many pages, made in several processes: each is forked, so that what was read once is there for all ---

_works: Sequence[SiteWork[Any, Any]]


@dataclass(frozen=True)
class SiteWork(Generic[_Task, _Made]):
    """Tasks of one sort. `make` does a batch of them, in whatever process; `take` is given in ours what that made."""

    tasks: Sequence[_Task]
    make: Callable[[Sequence[_Task]], _Made]
    take: Callable[[_Made], None]
    batch: int


def in_processes(
    works: Sequence[SiteWork[Any, Any]],
    told: str,
    progress: Progress,
    jobs: int,
    meanwhile: Callable[[], None] = lambda: None,
) -> None:
    """Do every task of all works; what a batch made is taken as soon as it is done, in no order.

    One set of processes does them all: none waits until the last batch of another sort is done. `meanwhile` is done in
    this process while they are at it. `told` is what progress says.

    Raises PtexploreError where a process died, and what the works raise.
    """
    batches = [
        (number, work.tasks[first : first + work.batch])
        for number, work in enumerate(works)
        for first in range(0, len(work.tasks), work.batch)
    ]
    count = sum(len(work.tasks) for work in works)
    done = 0
    for number, tasks, made in _made(works, batches, jobs if count >= _ALONE else 1, meanwhile):
        done += tasks
        progress.step(told, done / count)
        works[number].take(made)


def _made(
    works: Sequence[SiteWork[Any, Any]],
    batches: Sequence[tuple[int, Sequence[Any]]],
    jobs: int,
    meanwhile: Callable[[], None],
) -> Iterator[tuple[int, int, Any]]:
    """Of every batch the number of its work, of its tasks, and what was made."""
    if jobs < 2:
        yield from ((number, len(tasks), works[number].make(tasks)) for number, tasks in batches)
        meanwhile()
        return
    context = multiprocessing.get_context("fork")
    try:
        with ProcessPoolExecutor(jobs, context, partial(_begin, works)) as pool, ending_workers(pool):
            waiting = {pool.submit(_call, number, tasks): (number, len(tasks)) for number, tasks in batches}
            meanwhile()
            for future in as_done(waiting):
                yield *waiting.pop(future), future.result()
    except BrokenProcessPool as error:
        why = "the system may have ended it for want of memory"
        raise PtexploreError("a process that wrote pages died", why, "--jobs 1", FAILED) from error


def _begin(works: Sequence[SiteWork[Any, Any]]) -> None:
    """Begin a process. If its parent were killed, it would wait for work for ever, and hold the site's folder."""
    global _works  # noqa: PLW0603  (they come with the fork: they cannot be sent)
    _works = works
    gc.freeze()  # what came with the fork stays: looking for circles in it would also copy it
    gc.set_threshold(5_000_000)  # next to nothing here is a circle
    end_with_parent()


def _call(number: int, tasks: Sequence[Any]) -> Any:
    return _works[number].make(tasks)
