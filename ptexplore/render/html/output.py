"""The folder that a site is written into: whole files or none, nothing outside it, and no page that is stale."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ptexplore.errors import FAILED, USAGE, PtexploreError
from ptexplore.render.html.journal import ASIDE, Aside, hold
from ptexplore.source.tree import is_plain

MANIFEST = "ptexplore-site.json"
FORMAT = 1
_UNKNOWN = "?"  # the hash of what a file was made of that a killed build wrote
Row = tuple[str, list[Any], bool]  # a URL, what the manifest knows of it, whether its bytes changed
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def digest(*parts: object) -> str:
    """A short hash of anything that prints the same each time."""
    made = hashlib.sha256()
    for part in parts:
        made.update(str(part).encode("utf-8", "surrogatepass"))
        made.update(b"\0")
    return made.hexdigest()[:16]


class Output:
    """A site's folder. `pages` is what is known of each file: the hash of what it was made of, and its size."""

    def __init__(self, root: Path, held: int | None = None) -> None:
        self.root = root
        self._held = held  # a descriptor: the folder is ours while it is open
        self._aside = Aside(root)
        self.before: dict[str, list[Any]] = _manifest(root)
        self.pages: dict[str, list[Any]] = {}
        self.changed: set[str] = set()  # of these, the files whose bytes are not what they were
        self.size = 0  # of the list of pages
        self._folders: set[str] = set()

    def row(self, url: str) -> Row:
        """What is known of a file that was written, to be taken over by the process that asked for it."""
        return url, self.pages[url], url in self.changed

    def take(self, rows: Iterable[Row]) -> None:
        """Know of files that another process wrote."""
        for url, known, changed in rows:
            self.pages[url] = known
            if changed:
                self.changed.add(url)

    def fresh(self, url: str, key: str) -> bool:
        """Whether a file is there that was made of the same; it is kept then."""
        known = self.before.get(url)
        if known is None or known[0] != key or not self._is_whole(url, known[1]):
            return False
        self._folder(url)
        self.pages[url] = known
        return True

    def _is_whole(self, url: str, size: object) -> bool:
        try:
            found = os.lstat(self.root / url)
        except OSError:
            return False
        return found.st_size == size

    def write(self, url: str, text: str | bytes, key: str = "", data: object = None) -> int:
        """Write a file whole, where it differs from what is there. `data` is kept with it. Gives its size.

        Raises PtexploreError where it cannot be written.
        """
        content = text.encode("utf-8", "replace") if isinstance(text, str) else text
        self.pages[url] = [key, len(content)] if data is None else [key, len(content), data]
        file = self.root / url
        try:
            self._folder(url)
            if _content(file, len(content)) != content:
                if url not in self.before:
                    self._aside.note(url)
                self._whole(file, content)
                self.changed.add(url)
        except OSError as error:
            raise trouble(error, self.root) from error
        return len(content)

    def _whole(self, file: Path, content: bytes) -> None:
        """Write aside, in a folder of half-written files alone, then put into place."""
        aside = self._aside.file()
        try:
            aside.write_bytes(content)
            os.replace(aside, file)
        except OSError:
            with contextlib.suppress(OSError):
                aside.unlink()
            raise

    def _folder(self, url: str) -> None:
        """Make the folders of a page; none of them may be a link, which would lead out of the site."""
        folder = url.rpartition("/")[0]
        if folder in self._folders:
            return
        at = self.root
        for part in folder.split("/") if folder else ():
            at = at / part
            if at.is_symlink():
                why = f"{at} is a link, and a site is written into its own folder alone"
                raise PtexploreError(f"{self.root} cannot be written", why, "another folder", USAGE)
            at.mkdir(exist_ok=True)
        self._folders.add(folder)

    def begin(self) -> None:
        """Say that the folder is a site's before anything is written; half pages of a build that was killed go."""
        try:
            self.before = {url: [_UNKNOWN, -1] for url in self._aside.open()} | self.before
            self._save(self.before)
            self._aside.empty()
        except OSError as error:
            raise trouble(error, self.root) from error

    def keep(self) -> None:
        """Remember what is written of a build that was stopped: the next one goes on there, and knows what may go."""
        with contextlib.suppress(PtexploreError):
            self._save(self.before | self.pages)

    def finish(self) -> int:
        """Delete what an earlier build wrote and this one has not, and keep what is known. Gives how many went."""
        stale = [url for url in self.before if url not in self.pages and is_plain(url)]
        gone = 0
        for url in stale:
            file = self.root / url
            if any(parent.is_symlink() for parent in list(file.parents)[: url.count("/")]):
                continue
            try:
                file.unlink(missing_ok=True)
                gone += 1
            except OSError as error:
                raise trouble(error, self.root) from error
        for folder in sorted({parent for url in stale for parent in _parents(url)}, key=len, reverse=True):
            try:
                os.rmdir(self.root / folder)
            except OSError:
                continue  # something is in it
        self._save(self.pages)
        with contextlib.suppress(OSError):
            self._aside.close()
        return gone

    def release(self) -> None:
        """Let other builds write into the folder."""
        if self._held is not None:
            os.close(self._held)
            self._held = None

    def _save(self, pages: dict[str, list[Any]]) -> None:
        rows = ",\n".join(f"{json.dumps(url)}:{_short(pages[url])}" for url in sorted(pages))
        text = f'{{"format": {FORMAT}, "pages": {{\n{rows}\n}}}}\n'
        self.size = len(text)
        try:
            self._whole(self.root / MANIFEST, text.encode())
        except OSError as error:
            raise trouble(error, self.root) from error


def _short(row: list[Any]) -> str:
    return json.dumps(row, separators=(",", ":"))


def _parents(url: str) -> Iterable[str]:
    while "/" in url:
        url = url.rpartition("/")[0]
        yield url


def _content(file: Path, size: int) -> bytes | None:
    """What is in a regular file of that size; None else."""
    try:
        if file.is_symlink() or file.stat().st_size != size:
            return None
        return file.read_bytes()
    except OSError:
        return None


def _manifest(root: Path) -> dict[str, list[Any]]:
    try:
        data = json.loads((root / MANIFEST).read_bytes())
        pages = data["pages"] if data["format"] == FORMAT else {}
        return {url: row for url, row in pages.items() if isinstance(row, list) and len(row) >= 2}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def open_output(root: Path, sources: Iterable[str], *, force: bool) -> Output:
    """The folder to write into, made where it is not there.

    Raises PtexploreError where it is no folder, holds something that is no site without `force`, lies in one of
    `sources`, the folders that the source is read from, or is written by another build.
    """
    real = os.path.realpath(root)
    for source in map(os.path.realpath, sources):
        if real == source or real.startswith(source.rstrip("/") + os.sep):
            why = f"{source} is where the source is read from, and nothing is written there"
            raise PtexploreError(f"a site cannot be written to {root}", why, "ptexplore html SOMEWHERE-ELSE", USAGE)
    try:
        if root.exists() and not root.is_dir():
            raise PtexploreError(f"{root} is no folder", "a site is many files", "ptexplore html OUT", USAGE)
        holds = sorted(set(os.listdir(root)) - {ASIDE}) if root.is_dir() else []
    except OSError as error:
        raise trouble(error, root) from error
    if holds and MANIFEST not in holds and not force:
        why = f"it holds {', '.join(holds[:3])}{' …' if len(holds) > 3 else ''}, which ptexplore did not write"
        raise PtexploreError(f"{root} is not empty", why, "an empty folder, or --force to write beside that", USAGE)
    try:
        os.makedirs(real, exist_ok=True)
        held = hold(Path(real))
    except OSError as error:
        raise trouble(error, root) from error
    return Output(Path(real), held)


def trouble(error: OSError, root: Path) -> PtexploreError:
    """What is said where a page cannot be written."""
    where = f" ({error.filename})" if error.filename else ""
    why = f"{error.strerror or error}{where}"
    hint = "make room, then run it again: what is written is kept" if error.errno in _FULL else "another folder"
    return PtexploreError(f"the site cannot be written to {root}", why, hint, FAILED)
