"""What every way of fetching shares: what a tree is, the name it goes under, how it becomes visible, how it is now."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import shlex
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ptexplore import locations
from ptexplore.errors import FAILED, MISSING, USAGE, PtexploreError
from ptexplore.model.places import Checkout
from ptexplore.source.fetch import checkouts, releases
from ptexplore.source.listing import ROOTS, Listed, checkout_files, first_bytes, is_at

if TYPE_CHECKING:
    from ptexplore.source.fetch.git_folder import GitState

GIT = f"{checkouts.ASIDE}git-"  # half-made by git: a second try goes on there
BUSY = "busy"  # the file in such a folder whose lock says that git is at work there
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
    if checkout.project == "pytorch":
        _check_is_pytorch(checkout, root)
    listed = checkout_files(checkout)
    if not listed:
        why = "it holds no C, C++, CUDA, Objective-C++, Metal, Python or YAML file"
        raise PtexploreError(f"there is nothing to read in {checkout.origin}", why, "give its source folder", USAGE)
    is_archive = checkout.kind == "archive"
    if not is_archive and not verified:
        state = _git_state(checkout, listed)
        commit, modified = (state.commit, state.modified) if state is not None else (None, False)
        checkout = replace(checkout, kind="git" if state is not None else "folder", commit=commit, modified=modified)
    release = releases.by_archive(checkout.sha256) if is_archive else releases.by_commit(checkout.commit)
    is_release = release is not None and checkout.project == "pytorch" and not checkout.modified
    return replace(checkout, release=release.version if release and is_release else None, version=_version(root))


def _check_is_pytorch(checkout: Checkout, root: Path) -> None:
    if _is_pytorch(root):
        return
    inside = next((entry.name for entry in sorted(root.iterdir()) if _is_pytorch(entry)), None)
    why = "it lacks aten/src/ATen or c10" + (f"; its folder {inside} has them" if inside else "")
    hint = "ptexplore fetch --name NAME --from … for an extension's own source"
    if inside and checkout.kind == "folder":
        hint = f"ptexplore fetch --from {shlex.quote(str(root / inside))}"
    raise PtexploreError(f"{checkout.origin} is no source of PyTorch", why, hint, USAGE)


def _is_pytorch(root: Path) -> bool:
    return (root / "aten/src/ATen").is_dir() and (root / "c10").is_dir()


def _git_state(checkout: Checkout, listed: Sequence[Listed]) -> GitState | None:
    """What git says of the checkout's files; None where its folder is no git folder."""
    if not is_at(os.path.join(checkout.root, ".git")):
        return None
    from ptexplore.source.fetch.git_folder import look

    return look(Path(checkout.root), {file.path for file in listed}, ROOTS if checkout.project == "pytorch" else ())


def _version(root: Path) -> str | None:
    """What the tree says of itself, in version.txt."""
    file = root / "version.txt"
    text = b"" if file.is_symlink() or not file.is_file() else first_bytes(file, 100)
    match = re.match(r"\s*([0-9][\w.+-]*)", text.decode("utf-8", errors="replace"))
    return match[1] if match else None


def existing(is_it: Callable[[Checkout], bool]) -> Checkout | None:
    """The first registered checkout that `is_it`."""
    return next(filter(is_it, checkouts.checkouts()), None)


def name_for(request: Request, plain: str, is_it: Callable[[Checkout], bool]) -> str:
    """The name of what was fetched: the extension's own, else `plain` made a name.

    A number follows where another checkout than one that `is_it` has that name; an extension's source replaces what was
    there. Raises PtexploreError where the extension's name is that of another thing.
    """
    if request.project != "pytorch":
        taken = checkouts.read(request.project)
        if taken is not None and taken.project != request.project:
            hint = f"choose another name, or ptexplore fetch --remove {taken.name}"
            raise PtexploreError(f"the name {taken.name} is taken", "it is a checkout of PyTorch", hint, USAGE)
        return request.project
    base = re.sub(r"[^A-Za-z0-9._+-]+", "-", plain).strip("-.")[:80] or "source"
    if not checkouts.is_name(base):
        base = "x" + base
    for name in (base, *(f"{base}-{number}" for number in range(2, 1000))):
        taken = checkouts.read(name)
        if taken is None or is_it(taken):
            return name
    raise PtexploreError(f"there are too many checkouts called {base}", "", "ptexplore fetch --list")


def placed(folder: Path, checkout: Checkout) -> Checkout:
    """Make the aside `folder` the checkout."""
    files, size = _tally(folder)
    details: dict[str, Any] = {"fetched": time.time(), "files": files, "bytes": size}
    if not (folder / checkouts.TREE).is_dir():
        details["stamp"] = _stamp(checkout, checkout_files(checkout))
    return checkouts.register(folder, checkout, details)


def _stamp(checkout: Checkout, listed: Sequence[Listed]) -> str:
    """A hash that changes when a folder's files or its commit do: by size and time, without reading any source."""
    hasher = hashlib.sha256()
    for file in listed:
        time_ns, size = file.state or (0, 0)
        hasher.update(os.fsencode(f"{file.path}\0{size}\0{time_ns}\n"))
    dot = Path(checkout.root) / ".git"
    head = first_bytes(dot / "HEAD" if dot.is_dir() else dot)
    parts = [head, b"", b""]
    if head.startswith(b"ref: "):
        parts[1:] = first_bytes(dot / os.fsdecode(head[5:].strip())), first_bytes(dot / "packed-refs", 1 << 24)
    for part in parts:
        hasher.update(part + b"\n")
    return hasher.hexdigest()


def is_whole(checkout: Checkout) -> bool:
    """Whether a checkout in the cache still is what was fetched: git's by hashing, an archive's by count and size."""
    if checkouts.is_in_place(checkout):
        return False
    if checkout.kind == "git":
        state = _git_state(checkout, checkout_files(checkout))
        return state is not None and state.commit == checkout.commit and not state.modified
    details = checkouts.details(checkout.name)
    return _tally(locations.checkouts_dir() / checkout.name) == (details.get("files"), details.get("bytes"))


def _tally(folder: Path) -> tuple[int, int]:
    """How many files there are in the tree of `folder`, and their bytes; links count, and are not followed."""
    walk = os.walk(folder / checkouts.TREE)
    sizes = [os.lstat(os.path.join(parent, name)).st_size for parent, _, names in walk for name in names]
    return len(sizes), sum(sizes)


def recheck(checkout: Checkout) -> tuple[Checkout, list[Listed] | None]:
    """The checkout as it is now, with the files that had to be listed to check whether any of them changed.

    One used in place may have another commit or other text; the record follows. Others are as they were fetched.
    Raises PtexploreError(MISSING) where the folder is gone.
    """
    if not checkouts.is_in_place(checkout):
        return checkout, None
    if not checkouts.is_there(checkout):
        why = f"it was used in place, and {checkout.root} is no longer there"
        hint = f"ptexplore fetch --remove {checkout.name}"
        raise PtexploreError(f"the checkout {checkout.name} is gone", why, hint, MISSING)
    listed = checkout_files(checkout)
    details, stamp = checkouts.details(checkout.name), _stamp(checkout, listed)
    # A work tree of git's own whose HEAD lies elsewhere may move without a sign here: that is always looked at.
    if details.get("stamp") == stamp and not Path(checkout.root, ".git").is_file():
        return checkout, listed
    now = described(checkout)
    with no_room_told(), checkouts.locked():
        checkouts.write_record(locations.checkouts_dir() / checkout.name, now, {**details, "stamp": stamp})
    return now, None  # describing it may have taken long: list its files again


def sweep() -> None:
    """Delete what killed fetches left; what git can go on with stays for two weeks. Call it inside the lock.

    A checkout that gave way to one that never came gets its name back.
    """
    for left in locations.checkouts_dir().glob(f"{checkouts.ASIDE}*"):
        if left.is_symlink():  # none of ours: what is made there would lie elsewhere
            left.unlink()
            continue
        replaced = left.with_name(left.name.removeprefix(checkouts.REPLACED))
        if replaced != left and not is_at(replaced):
            left.rename(replaced)
            continue
        busy = left / BUSY
        kept = left.name.startswith(GIT) and busy.is_file() and time.time() - busy.stat().st_mtime < _KEPT
        if not kept:
            shutil.rmtree(left, ignore_errors=True)


@contextlib.contextmanager
def fresh() -> Iterator[Path]:
    """A new aside folder, gone afterwards unless it was renamed. Call it inside the lock."""
    folder = locations.checkouts_dir() / f"{checkouts.ASIDE}new"
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def no_room_told() -> Iterator[None]:
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
