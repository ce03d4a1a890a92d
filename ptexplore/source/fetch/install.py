"""The common part of all ways to fetch: checking a tree, naming it, making it visible, checking it again later."""

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

GIT = f"{checkouts.ASIDE}git-"  # incomplete checkouts by git; a second try continues there
BUSY = "busy"  # a file in such a folder; it is locked while git is working there
_KEPT = 14 * 24 * 3600.0  # seconds that an incomplete checkout is kept for a second try
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@dataclass(frozen=True, slots=True)
class Request:
    """What to fetch: `source` is a folder, archive or URL (None: PyTorch's own repository), `ref` is the version.

    `project` names an extension whose source it is. `named`: the user gave that name.
    """

    source: str | None = None
    ref: str | None = None
    project: str = "pytorch"
    named: bool = False


@dataclass(frozen=True, slots=True)
class FetchOutcome:
    """The checkout, whether it is new, and remarks for the user."""

    checkout: Checkout
    new: bool
    notes: tuple[str, ...] = ()


def described(checkout: Checkout, *, verified: bool = False) -> Checkout:
    """Returns `checkout` with facts from its files: version, commit, whether it is modified, and its known release.

    `verified` means that every file was just checked against the commit. Raises PtexploreError if the folder is not a
    PyTorch source, or has nothing to read.
    """
    root = Path(checkout.root)
    if checkout.project == "pytorch":
        _check_is_pytorch(checkout, root)
    listed = checkout_files(checkout)
    if not listed:
        why = "it has no C, C++, CUDA, Objective-C++, Metal, Python or YAML file"
        raise PtexploreError(f"{checkout.origin} has no source", why, "give its source folder", USAGE)
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
    hint = "for the source of an extension: ptexplore fetch --name NAME --from …"
    if inside and checkout.kind == "folder":
        hint = f"ptexplore fetch --from {shlex.quote(str(root / inside))}"
    raise PtexploreError(f"{checkout.origin} is not PyTorch's source", why, hint, USAGE)


def _is_pytorch(root: Path) -> bool:
    return (root / "aten/src/ATen").is_dir() and (root / "c10").is_dir()


def _git_state(checkout: Checkout, listed: Sequence[Listed]) -> GitState | None:
    """Returns git's state of the checkout's files, or None if its folder is not a git folder."""
    if not is_at(os.path.join(checkout.root, ".git")):
        return None
    from ptexplore.source.fetch.git_folder import look

    return look(Path(checkout.root), {file.path for file in listed}, ROOTS if checkout.project == "pytorch" else ())


def _version(root: Path) -> str | None:
    """Returns the version in the tree's version.txt, or None."""
    file = root / "version.txt"
    text = b"" if file.is_symlink() or not file.is_file() else first_bytes(file, 100)
    match = re.match(r"\s*([0-9][\w.+-]*)", text.decode("utf-8", errors="replace"))
    return match[1] if match else None


def existing(is_it: Callable[[Checkout], bool]) -> Checkout | None:
    """Returns the first registered checkout for which `is_it` is true, or None."""
    return next(filter(is_it, checkouts.checkouts()), None)


def name_for(request: Request, plain: str, is_it: Callable[[Checkout], bool]) -> str:
    """Returns a name for the fetched source: the name of the extension, or one made from `plain`.

    If another checkout has that name (`is_it` is false for it), a number is appended. The source of an extension
    replaces the older one. Raises PtexploreError if PyTorch's checkout has the extension's name.
    """
    if request.project != "pytorch":
        taken = checkouts.read(request.project)
        if taken is not None and taken.project != request.project:
            hint = f"choose another name, or ptexplore fetch --remove {taken.name}"
            raise PtexploreError(f"the name {taken.name} is taken", "a checkout of PyTorch has this name", hint, USAGE)
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
    """Makes the temporary `folder` the checkout."""
    files, size = _tally(folder)
    details: dict[str, Any] = {"fetched": time.time(), "files": files, "bytes": size}
    if not (folder / checkouts.TREE).is_dir():
        details["stamp"] = _stamp(checkout, checkout_files(checkout))
    return checkouts.register(folder, checkout, details)


def _stamp(checkout: Checkout, listed: Sequence[Listed]) -> str:
    """Returns a hash that changes with a folder's files or commit. It uses sizes and times, and reads no source."""
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
    """Whether a checkout in the cache is unchanged: for git by hashes, for an archive by number and size of files."""
    if checkouts.is_in_place(checkout):
        return False
    if checkout.kind == "git":
        state = _git_state(checkout, checkout_files(checkout))
        return state is not None and state.commit == checkout.commit and not state.modified
    details = checkouts.details(checkout.name)
    return _tally(locations.checkouts_dir() / checkout.name) == (details.get("files"), details.get("bytes"))


def _tally(folder: Path) -> tuple[int, int]:
    """Returns the number of files in the tree of `folder`, and their bytes. Links count and are not followed."""
    walk = os.walk(folder / checkouts.TREE)
    sizes = [os.lstat(os.path.join(parent, name)).st_size for parent, _, names in walk for name in names]
    return len(sizes), sum(sizes)


def recheck(checkout: Checkout) -> tuple[Checkout, list[Listed] | None]:
    """Returns the present state of a checkout, and its files if they had to be listed to detect changes.

    A folder used in place may have a new commit or text: its record is updated. Other checkouts do not change. Raises
    PtexploreError(MISSING) if the folder is gone.
    """
    if not checkouts.is_in_place(checkout):
        return checkout, None
    if not checkouts.is_there(checkout):
        why = f"it was used in place, and {checkout.root} no longer exists"
        hint = f"ptexplore fetch --remove {checkout.name}"
        raise PtexploreError(f"the folder of the checkout {checkout.name} is missing", why, hint, MISSING)
    listed = checkout_files(checkout)
    details, stamp = checkouts.details(checkout.name), _stamp(checkout, listed)
    # In a work tree of git, `.git` is a file and HEAD is elsewhere: it may change unseen, so this is always examined.
    if details.get("stamp") == stamp and not Path(checkout.root, ".git").is_file():
        return checkout, listed
    now = described(checkout)
    with explain_disk_errors(), checkouts.locked():
        checkouts.write_record(locations.checkouts_dir() / checkout.name, now, {**details, "stamp": stamp})
    return now, None  # the description may have taken long, so the files are listed again


def sweep() -> None:
    """Deletes the remains of killed fetches. A fetch that git can continue is kept for two weeks.

    Call it inside the lock.

    If a checkout was moved away for a new one that never came, it gets its name back.
    """
    for left in locations.checkouts_dir().glob(f"{checkouts.ASIDE}*"):
        if left.is_symlink():  # not made by ptexplore: new content would be written elsewhere
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
    """Makes a temporary folder and deletes it afterwards, unless it was renamed. Call it inside the lock."""
    folder = locations.checkouts_dir() / f"{checkouts.ASIDE}new"
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def explain_disk_errors() -> Iterator[None]:
    """Converts an error of a folder or disk to the three-part error."""
    try:
        yield
    except OSError as error:
        where = os.fsdecode(error.filename) if error.filename else str(locations.checkouts_dir())
        why = f"{where}: {error.strerror or error}"
        if error.errno in _FULL:
            hint = "free space there, or set PTEXPLORE_CACHE to a folder on a disk with more space"
            raise PtexploreError("no space for the source", why, hint, FAILED) from error
        hint = "set PTEXPLORE_CACHE to a folder that you can write to"
        raise PtexploreError("the source cannot be saved", why, hint, MISSING) from error
