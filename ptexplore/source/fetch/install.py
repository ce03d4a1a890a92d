"""What every way of fetching shares: what a tree is, the name it goes under, and how it becomes visible."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ptexplore import locations
from ptexplore.errors import FAILED, MISSING, USAGE, PtexploreError
from ptexplore.model.places import Checkout
from ptexplore.source.fetch import git_folder, registry, releases
from ptexplore.source.listing import ROOTS, Listed, checkout_files

GIT = f"{registry.ASIDE}git-"  # half-made by git: a second try goes on there
NEW = f"{registry.ASIDE}new"
_KEPT = 14 * 24 * 3600.0  # seconds that a half-made checkout waits for its second try
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@dataclass(frozen=True, slots=True)
class Request:
    """What to fetch: `source` is a folder, archive or URL (None: PyTorch's own repository), `ref` what of it.

    `project` names an extension whose own source it is; `named` says that the user gave that name.
    """

    source: str | None = None
    ref: str | None = None
    project: str = "pytorch"
    named: bool = False


@dataclass(frozen=True, slots=True)
class FetchOutcome:
    """What is there now, whether it was there before, and what the user should know of it."""

    checkout: Checkout
    new: bool
    notes: tuple[str, ...] = ()


def described(checkout: Checkout, *, verified: bool = False) -> Checkout:
    """`checkout` with what its own files say: version, commit, whether modified, and which release it is known to be.

    `verified` means that every file was just checked against the commit. Raises PtexploreError where the folder is no
    PyTorch, or holds nothing to read.
    """
    root = Path(checkout.root)
    paths = _checked(checkout, root)
    if checkout.kind != "archive" and not verified:
        state = git_folder.look(root, paths, _tops(checkout))
        commit, modified = (state.commit, bool(state.modified)) if state is not None else (None, False)
        checkout = replace(checkout, kind="git" if state is not None else "folder", commit=commit, modified=modified)
    by_hash = checkout.kind == "archive"
    release = releases.by_archive(checkout.sha256) if by_hash else releases.by_commit(checkout.commit)
    is_release = release is not None and checkout.project == "pytorch" and not checkout.modified
    return replace(checkout, release=release.version if release and is_release else None, version=_version(root))


def _checked(checkout: Checkout, root: Path) -> list[str]:
    own = checkout.project == "pytorch"
    if own and not _is_pytorch(root):
        inside = next((entry.name for entry in sorted(root.iterdir()) if _is_pytorch(entry)), None)
        why = "it lacks aten/src/ATen or c10" + (f"; its folder {inside} has them" if inside else "")
        hint = f"ptexplore fetch --from {root / inside}" if inside and checkout.kind == "folder" else ""
        other = "ptexplore fetch --name NAME --from … for an extension's own source"
        raise PtexploreError(f"{checkout.origin} is no source of PyTorch", why, hint or other, USAGE)
    paths = [listed.path for listed in checkout_files(checkout)]
    if not paths:
        why = "it holds no C, C++, CUDA, Objective-C++, Metal, Python or YAML file"
        raise PtexploreError(f"there is nothing to read in {checkout.origin}", why, "give its source folder", USAGE)
    return paths


def _is_pytorch(root: Path) -> bool:
    return (root / "aten/src/ATen").is_dir() and (root / "c10").is_dir()


def _tops(checkout: Checkout) -> tuple[str, ...]:
    return ROOTS if checkout.project == "pytorch" else ()


def _version(root: Path) -> str | None:
    """What the tree says of itself, in version.txt."""
    file = root / "version.txt"
    try:
        if file.is_symlink() or not file.is_file():
            return None
        with file.open("rb") as stream:
            text = stream.read(100).decode("utf-8", errors="replace")
    except OSError:
        return None
    match = re.match(r"\s*([0-9][\w.+-]*)", text)
    return match[1] if match else None


def existing(is_it: Callable[[Checkout], bool]) -> Checkout | None:
    """The first registered checkout that `is_it`."""
    found = (registry.read(name) for name in registry.names())
    return next((checkout for checkout in found if checkout is not None and is_it(checkout)), None)


def free_name(wanted: str, is_it: Callable[[Checkout], bool]) -> str:
    """`wanted` as a name; with a number behind it where another checkout than one that `is_it` has that name."""
    base = re.sub(r"[^A-Za-z0-9._+-]+", "-", wanted).strip("-.")[:80] or "source"
    if not registry.is_name(base):
        base = "x" + base
    for number in range(1, 1000):
        name = base if number == 1 else f"{base}-{number}"
        taken = registry.read(name)
        if taken is None or is_it(taken):
            return name
    raise PtexploreError(f"there are too many checkouts called {base}", "", "ptexplore fetch --list")


def check_free(request: Request) -> None:
    """Raise PtexploreError where an extension would take the name of another thing; its own source it replaces."""
    taken = registry.read(request.project) if request.project != "pytorch" else None
    if taken is not None and taken.project != request.project:
        hint = f"choose another name, or ptexplore fetch --remove {taken.name}"
        raise PtexploreError(f"the name {taken.name} is taken", "it is a checkout of PyTorch", hint, USAGE)


def placed(folder: Path, checkout: Checkout) -> Checkout:
    """Make the aside `folder` the checkout."""
    files, size = tally(folder)
    details: dict[str, Any] = {"fetched": time.time(), "files": files, "bytes": size}
    if not (folder / registry.TREE).is_dir():
        details["stamp"] = stamp(checkout)
    return registry.register(folder, checkout, details)


def stamp(checkout: Checkout, listed: Sequence[Listed] | None = None) -> str:
    """A hash that changes when a folder's files or its commit do: by size and time, without reading any source.

    `listed` are its files where somebody listed them just now.
    """
    hasher = hashlib.sha256()
    for one in checkout_files(checkout) if listed is None else listed:
        time_ns, size = one.state or (0, 0)
        hasher.update(os.fsencode(f"{one.path}\0{size}\0{time_ns}\n"))
    dot = Path(checkout.root) / ".git"
    head = _small(dot / "HEAD") if dot.is_dir() else _small(dot)
    ref = head.removeprefix(b"ref: ").strip()
    packed = _small(dot / "packed-refs", 1 << 24) if ref != head.strip() else b""
    for part in (head, _small(dot / os.fsdecode(ref)) if ref != head.strip() else b"", packed):
        hasher.update(part + b"\n")
    return hasher.hexdigest()


def _small(file: Path, most: int = 4096) -> bytes:
    try:
        with file.open("rb") as stream:
            return stream.read(most)
    except (OSError, ValueError):
        return b""


def is_whole(checkout: Checkout) -> bool:
    """Whether a checkout in the cache still is what was fetched: git's by hashing, an archive's by count and size."""
    if registry.is_in_place(checkout):
        return False
    if checkout.kind == "git":
        paths = [listed.path for listed in checkout_files(checkout)]
        state = git_folder.look(Path(checkout.root), paths, _tops(checkout))
        return state is not None and state.commit == checkout.commit and not state.modified
    details = registry.details(checkout.name)
    return tally(locations.checkouts_dir() / checkout.name) == (details.get("files"), details.get("bytes"))


def tally(folder: Path) -> tuple[int, int]:
    """How many files there are in the tree of `folder`, and their bytes; links count, and are not followed."""
    files = size = 0
    for where, _, names in os.walk(folder / registry.TREE):
        files += len(names)
        size += sum(os.lstat(os.path.join(where, name)).st_size for name in names)
    return files, size


def sweep() -> None:
    """Delete what killed fetches left; what git can go on with stays for two weeks. Call it inside the lock."""
    for left in locations.checkouts_dir().glob(f"{registry.ASIDE}*"):
        busy = left / "busy"
        kept = left.name.startswith(GIT) and busy.is_file() and time.time() - busy.stat().st_mtime < _KEPT
        if not kept:
            shutil.rmtree(left, ignore_errors=True)


@contextlib.contextmanager
def fresh() -> Iterator[Path]:
    """A new aside folder, gone afterwards unless it was renamed. Call it inside the lock."""
    folder = locations.checkouts_dir() / NEW
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def room() -> Iterator[None]:
    """Turn what a folder or disk refuses into the three-part error."""
    try:
        yield
    except OSError as error:
        where = os.fsdecode(error.filename) if error.filename else str(locations.checkouts_dir())
        why = f"{where}: {error.strerror or error}"
        if error.errno in _FULL:
            hint = "make room there, or set PTEXPLORE_CACHE to a folder that has some"
            raise PtexploreError("no room for the source", why, hint, FAILED) from error
        hint = "set PTEXPLORE_CACHE to a folder that can be written to"
        raise PtexploreError("the source cannot be kept", why, hint, MISSING) from error
