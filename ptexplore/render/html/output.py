"""Writes a site into its folder, with several processes: files whole or not at all, none outside, no stale page."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import gc
import hashlib
import hmac
import json
import multiprocessing
import os
import re
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
from ptexplore.safe_text import clean_document, clean_json, is_clean
from ptexplore.source.progress import Progress
from ptexplore.writing import folder_below, keep_whole, kept_bytes, open_below, write_whole

MANIFEST = "ptexplore-site.json"
FORMAT = 1
_UNKNOWN = "?"  # stands for the hash of a file's inputs, if a killed build wrote the file
_LOST = "!"  # the same for a file that could not be written; its size is replaced by the reason
# Errors about one name only: its page is lost, and all others are written.
_OF_ONE_NAME = {
    errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.EILSEQ, errno.EINVAL, errno.ELOOP,
}  # fmt: skip
_LARGEST = 256 * 1024 * 1024  # bytes of a list of pages
_LISTS = 2  # lists of pages that are trusted; a killed build may leave the one before
Row = tuple[str, list[Any], bool]  # a URL, the manifest's row for it, whether its bytes changed
ASIDE = ".ptexplore-aside"
_JOURNAL = ".new"
_OURS = re.compile(r"\.ptx-[0-9a-f]{8}|\d+\.new")  # files that a build leaves aside: half pages and journals
_PATIENCE = 2.0  # seconds; the processes of a killed build end soon after it
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_ALONE = 24  # tasks that are done sooner than a process starts
_Task = TypeVar("_Task")
_Made = TypeVar("_Made")


def digest(*parts: object) -> str:
    """Returns a short hash of values whose text is the same each time."""
    made = hashlib.sha256()
    for part in parts:
        made.update(str(part).encode("utf-8", "surrogatepass"))
        made.update(b"\0")
    return made.hexdigest()[:16]


class Output:
    """The folder of a site.

    `pages` has for each file: the hash of its inputs, its size, data that was kept with it, and the hash of its bytes.
    `lost` has the reason for each file that could not be written, by URL. With `force`, files that ptexplore did not
    write are overwritten.
    """

    def __init__(self, root: Path, *, force: bool = False) -> None:
        self.root = root
        self.force = force
        self.lost: dict[str, str] = {}
        remembered = _Remembered.of(root)
        self.remembered = remembered
        self._aside = Aside(root, remembered.secret)
        before = _manifest(root, remembered)
        self.is_known = before is not None  # whether the list of pages there was written here
        self.before: dict[str, list[Any]] = before or {}
        self.pages: dict[str, list[Any]] = {}
        self.changed: set[str] = set()  # the pages whose bytes have changed
        self.size = 0  # of the list of pages
        self.unrecorded = ""  # why this build could not be recorded among this user's sites
        self._folders: set[str] = set()

    def take(self, rows: Iterable[Row]) -> None:
        """Add the rows of files that another process wrote."""
        for url, known, changed in rows:
            if known[0] == _LOST:
                self.lost[url] = known[1]
                continue
            self.pages[url] = known
            if changed:
                self.changed.add(url)

    def fresh(self, url: str, key: str) -> bool:
        """Whether a file from the same inputs is there, unchanged since it was written. If so, it is kept."""
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
        """Write a file whole, if it differs from the file that is there. `data` is kept with it.

        Returns its manifest row, for the process that asked for the file. Raises PtexploreError if the file cannot be
        written.
        """
        content = _safe(text) if isinstance(text, str) else text
        if isinstance(text, str) and url.endswith(".js"):
            content = clean_json(content)  # it is data, and a browser reads the escapes in it
        own: list[Any] = [] if data is None else [data]
        known = [key, len(content), *own, hashlib.sha256(content).hexdigest()]  # later builds compare the last
        file = self.root / url
        with _explaining(self.root):
            try:
                self._folder(url)
                if _content(file, len(content)) != content:
                    self._check(url)
                    self._aside.note(url, known[-1])
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
        """Raise PtexploreError if a file that ptexplore did not write is in the way."""
        try:
            status = os.lstat(self.root / url)
        except OSError:
            return  # nothing is there
        if self.force or stat.S_ISDIR(status.st_mode) or (url in self.before and stat.S_ISREG(status.st_mode)):
            return
        why, hint = "ptexplore did not write it", "choose another folder, or --force to overwrite it"
        raise PtexploreError(f"{self.root / url} is in the way of a page", why, hint, USAGE)

    def _is_as_written(self, url: str, sha: str) -> bool:
        """Whether a regular file is there whose bytes have the recorded hash."""
        try:
            with open_below(self.root, url) as file:
                return hashlib.sha256(file.read(_LARGEST)).hexdigest() == sha
        except (OSError, ValueError):
            return False

    def _folder(self, url: str) -> None:
        """Make the folders of a page. None of them may be a link, because a link may lead out of the site."""
        folder = url.rpartition("/")[0]
        if folder in self._folders:
            return
        made, parts = self.root, folder.split("/") if folder else []
        for part in parts:
            made = made / part
            if made.is_symlink():
                why = f"{made} is a link, and ptexplore writes a site only into its own folder"
                raise PtexploreError(f"{self.root} cannot be written", why, "choose another folder", USAGE)
        with folder_below(self.root, parts, make=True):
            self._folders.add(folder)

    def begin(self) -> None:
        """Mark the folder as a site before anything is written. Half pages of a killed build are deleted."""
        with _explaining(self.root):
            for url, sha in self._aside.open():
                if self._is_as_written(url, sha):
                    self.before[url] = [_UNKNOWN, -1, sha]
            self._save(self.before)
            self._aside.empty()

    def keep(self) -> None:
        """Record the files of a stopped build. The next build continues there, and knows which files it may delete."""
        with contextlib.suppress(PtexploreError):
            self._save(self.before | self.pages)

    def finish(self) -> int:
        """Delete the files that only an earlier build wrote, and record this one. Returns how many were deleted."""
        gone_from = self.before.keys() - self.pages.keys()
        stale = [url for url in sorted(gone_from) if self._is_as_written(url, self.before[url][-1])]
        gone = 0
        for url in stale:
            file = self.root / url
            if any(parent.is_symlink() for parent in list(file.parents)[: url.count("/")]):
                continue
            parts = PurePosixPath(url).parent.parts
            with _explaining(self.root), contextlib.suppress(FileNotFoundError), folder_below(self.root, parts) as at:
                os.unlink(file.name, dir_fd=at)
            gone += 1
        folders = {folder for url in stale for folder in PurePosixPath(url).parents if folder.name}
        for folder in sorted(folders, key=lambda folder: len(folder.parts), reverse=True):
            with contextlib.suppress(OSError):  # the folder is not empty
                os.rmdir(self.root / folder)
        self._save(self.pages)
        with contextlib.suppress(OSError):
            self._aside.close()
        return gone

    def let_go(self) -> None:
        """Close the journal: this process writes nothing further."""
        self._aside.let_go()

    def _save(self, pages: dict[str, list[Any]]) -> None:
        rows = ",\n".join(
            f"{json.dumps(url)}:{json.dumps(known, separators=(',', ':'))}" for url, known in sorted(pages.items())
        )
        text = f'{{"format": {FORMAT}, "pages": {{\n{rows}\n}}}}\n'
        self.size = len(text)
        try:
            self.remembered.also(hashlib.sha256(text.encode()).hexdigest())  # before writing the list: we may be killed
            self.unrecorded = ""
        except OSError as error:  # then the next build trusts no list
            self.unrecorded = f"the next build of this site will need --force: {error.strerror} ({error.filename})"
        with _explaining(self.root):
            write_whole(self.root / MANIFEST, text, self._aside.folder)


def _safe(page: str) -> bytes:
    """Returns the text of a page, cleaned in case nobody did. A carriage return stays: Windows files have it."""
    content = page.encode("utf-8", "surrogatepass")
    if is_clean(content.replace(b"\r", b"")):  # nearly all are, and this check is ten times faster
        return content
    return "\r".join(map(clean_document, page.split("\r"))).encode("utf-8", "replace")


def _content(file: Path, size: int) -> bytes | None:
    """Returns the bytes of a regular file of that size, else None."""
    try:
        status = os.lstat(file)
        return file.read_bytes() if stat.S_ISREG(status.st_mode) and status.st_size == size else None
    except OSError:
        return None


class _Remembered:
    """The data about a site in this user's own folder: the last lists of pages that were written, and a secret.

    Somebody may have planted a list of pages, with the hashes of the files beside it. So a list that is not known here
    decides nothing. A line of a journal that is not signed with the secret decides nothing either.
    """

    def __init__(self, file: Path, lists: Sequence[str], secret: str) -> None:
        self._file, self.lists, self.secret = file, lists, secret

    @classmethod
    def of(cls, root: Path) -> _Remembered:
        """Returns the data about the site in a folder; with a new secret if there is none."""
        from secrets import token_hex

        file = site_file(os.path.realpath(root))
        try:
            data = json.loads(kept_bytes(file, 4096) or b"")
            lists, secret = [str(sha) for sha in data["lists"]], str(data["secret"])
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            lists, secret = [], token_hex(32)
        return cls(file, lists, secret)

    @property
    def doubt(self) -> str:
        """Why a site in this folder is not known as this user's own."""
        if self.lists:
            return f"its {MANIFEST} was changed after ptexplore wrote it"
        return (
            f"{self._file.parent}, the list of your sites, does not have it: another user wrote it, it was moved,"
            " or HOME or PTEXPLORE_DATA had another value"
        )

    def also(self, sha: str) -> None:
        """Record the hash of a list of pages that is about to be written. Raises OSError."""
        self.lists = [*(other for other in self.lists if other != sha), sha][-_LISTS:]
        keep_whole(self._file, json.dumps({"lists": self.lists, "secret": self.secret}), 0o600)


def _manifest(root: Path, remembered: _Remembered) -> dict[str, list[Any]] | None:
    """Returns the list of pages that a build left. None if it is missing, or if this user did not write it here.

    Raises PtexploreError if the list exists but cannot be read: to ignore it would keep deleted pages forever.
    """
    try:
        with _explaining(root):
            kept = _regular(root / MANIFEST)
    except PtexploreError as error:
        if isinstance(error.__cause__, (FileNotFoundError, IsADirectoryError)):
            return None
        raise
    if hashlib.sha256(kept).hexdigest() not in remembered.lists:
        return None
    data = json.loads(kept)
    pages: dict[str, list[Any]] = data["pages"] if data["format"] == FORMAT else {}
    return pages


def _regular(file: Path) -> bytes:
    """Returns the bytes of a regular file that is not a link. Raises OSError. A FIFO makes nobody wait."""
    handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as opened:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
            raise OSError(errno.EINVAL, "it is not a list of pages", str(file))
        return opened.read()


def check_output(root: Path, *, force: bool) -> list[str]:
    """Returns the names in the folder to write into; none if it does not exist yet.

    Raises PtexploreError if it is no folder, or if it holds something that is no site and `force` is not set.
    """
    with _explaining(root):
        if root.is_symlink() and not root.exists():
            why = f"{os.readlink(root)} does not exist"
            raise PtexploreError(
                f"{root} is a link to nothing", why, "make that folder first, or choose another", USAGE
            )
        if root.exists() and not root.is_dir():
            raise PtexploreError(f"{root} is not a folder", "a site is many files", "ptexplore html OUT", USAGE)
        holds = sorted(set(os.listdir(root)) - {ASIDE}) if root.is_dir() else []
    if holds and MANIFEST not in holds and not force:
        why = f"it has {', '.join(holds[:3])}{' …' if len(holds) > 3 else ''}, which ptexplore did not write"
        raise PtexploreError(
            f"{root} is not empty", why, "choose an empty folder, or --force to write beside these files", USAGE
        )
    return holds


@contextlib.contextmanager
def open_output(root: Path, sources: Iterable[str], *, force: bool) -> Iterator[Output]:
    """Open the folder to write into; it is made if it is missing. In this block, no other build writes into the folder.

    Raises PtexploreError as `check_output` does, and in these cases: it is inside one of `sources`, the folders that
    the source is read from; without `force`, it holds a site that is not known to be yours; another build is writing
    into it.
    """
    real = os.path.realpath(root)
    for source in map(os.path.realpath, sources):
        if real == source or real.startswith(source.rstrip("/") + os.sep):
            why = f"the source is read from {source}, so nothing is written there"
            raise PtexploreError(f"the site cannot be written to {root}", why, "ptexplore html SOMEWHERE-ELSE", USAGE)
    holds = check_output(root, force=force)
    with _explaining(root):
        os.makedirs(real, exist_ok=True)
        folder = os.open(real, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _hold(real, folder)
        out = Output(Path(real), force=force)
        if holds and not out.is_known and not force:
            hint = "choose an empty folder, or --force, which overwrites pages there and deletes nothing"
            raise PtexploreError(f"{root} has a site that is not known to be yours", out.remembered.doubt, hint, USAGE)
        try:
            yield out
        finally:
            out.let_go()
    finally:
        os.close(folder)


@contextlib.contextmanager
def _explaining(root: Path) -> Iterator[None]:
    """Turn an OSError in this block into a PtexploreError with our own words."""
    try:
        yield
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        hint = (
            "free space, then run it again: the pages written so far are kept"
            if error.errno in _FULL
            else "choose another folder"
        )
        why = f"{error.strerror or error}{where}"
        raise PtexploreError(f"the site cannot be written to {root}", why, hint, FAILED) from error


class Aside:
    """The folder inside a site where files are half written. Only one build at a time uses it.

    A killed build leaves pages that its list of pages does not name. So every process of a build first writes the URL
    of each new file to its own journal here. The next build reads all journals.
    """

    def __init__(self, root: Path, secret: str) -> None:
        self.folder = root / ASIDE
        self._secret = secret.encode()
        self._journal = (0, -1)  # process id and descriptor of the journal

    def open(self) -> list[tuple[str, str]]:
        """Make the folder. Returns URL and hash of each file in the journals of a killed build; `empty` drops these.

        Raises OSError, also if a link has the folder's name.
        """
        if self.folder.is_symlink():
            raise OSError(errno.ELOOP, "it is a link, and half-written pages go there", str(self.folder))
        self.folder.mkdir(parents=True, exist_ok=True)
        # Not with glob: it finds nothing in a folder that a bad disk does not give.
        left = [name for name in os.listdir(self.folder) if name.endswith(_JOURNAL) and _OURS.fullmatch(name)]
        return [row for name in sorted(left) for row in self._read(name)]

    def empty(self) -> None:
        """Delete the files that builds left in the folder. Other files stay."""
        for left in self.folder.iterdir():
            if _OURS.fullmatch(left.name) and not left.is_dir():
                left.unlink()

    def note(self, url: str, sha: str) -> None:
        """Record that a file is about to be written whose bytes have this hash."""
        process = os.getpid()
        if self._journal[0] != process:  # a fork has its own journal
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
            self._journal = (process, os.open(self.folder / f"{process}{_JOURNAL}", flags, 0o666))
        row = f"{sha} {url}".encode("utf-8", "surrogateescape")
        os.write(self._journal[1], b"%s %s\n" % (self._signed(row), row))

    def _signed(self, row: bytes) -> bytes:
        return hmac.digest(self._secret, row, "sha256").hex().encode()

    def _read(self, name: str) -> Iterator[tuple[str, str]]:
        """Yields the rows of a journal that are signed by us; none if the file is missing."""
        with contextlib.suppress(FileNotFoundError), open_below(self.folder, name) as journal:
            for line in journal.read(_LARGEST).split(b"\n"):
                signature, _, row = line.partition(b" ")
                if hmac.compare_digest(signature, self._signed(row)):
                    sha, _, url = row.decode("utf-8", "surrogateescape").partition(" ")
                    yield url, sha

    def let_go(self) -> None:
        """Close the journal: this process writes nothing further."""
        if self._journal[0] == os.getpid():
            os.close(self._journal[1])
            self._journal = (0, -1)

    def close(self) -> None:
        """Delete the folder. Call this after the list of pages is written: the list then names every page."""
        self.empty()
        self.folder.rmdir()


def _hold(root: str, folder: int) -> None:
    """Lock the folder of a site for this process and its forks, as long as the descriptor `folder` is open.

    Does nothing if the file system has no locks. Raises PtexploreError if another build holds the lock.
    """
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                why, hint = (
                    "another ptexplore html is writing there",
                    "wait until it has ended, or choose another folder",
                )
                raise PtexploreError(f"{root} is in use", why, hint, FAILED) from None
            time.sleep(0.05)
        except OSError:
            return
        else:
            return


# --- many pages, made in several processes: these are forked, so that all of them share the data read before ---

_works: Sequence[SiteWork[Any, Any]]


@dataclass(frozen=True)
class SiteWork(Generic[_Task, _Made]):
    """Tasks of one sort. `make` does a batch of them, in any process. `take` gets the result in this process."""

    tasks: Sequence[_Task]
    make: Callable[[Sequence[_Task]], _Made]
    take: Callable[[_Made], None]
    batch: int


def in_processes(
    works: Sequence[SiteWork[Any, Any]],
    label: str,
    progress: Progress,
    jobs: int,
    meanwhile: Callable[[], None] = lambda: None,
) -> None:
    """Do every task of all works. The result of each batch is taken as soon as it is done, in no certain order.

    One set of processes does all works, so that no work waits for the last batch of another. `meanwhile` is
    called in this process while they work. `label` is the text for the progress.

    Raises PtexploreError if a process died, and the errors of the works.
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
        progress.step(label, done / count)
        works[number].take(made)


def _made(
    works: Sequence[SiteWork[Any, Any]],
    batches: Sequence[tuple[int, Sequence[Any]]],
    jobs: int,
    meanwhile: Callable[[], None],
) -> Iterator[tuple[int, int, Any]]:
    """Yields for every batch the number of its work, its number of tasks, and the result."""
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
        why = "the system may have ended it because memory ran out"
        raise PtexploreError("a process that writes pages died", why, "--jobs 1", FAILED) from error


def _begin(works: Sequence[SiteWork[Any, Any]]) -> None:
    """Begin a process. It ends with its parent: else it would wait forever, and hold the site's folder."""
    global _works  # noqa: PLW0603  (they come with the fork: they cannot be sent)
    _works = works
    gc.freeze()  # inherited objects stay: a search for cycles among them would also copy them
    gc.set_threshold(5_000_000)  # hardly any object here is in a cycle
    end_with_parent()


def _call(number: int, tasks: Sequence[Any]) -> Any:
    return _works[number].make(tasks)
