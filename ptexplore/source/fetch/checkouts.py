"""The checkouts that `fetch` made: their folders and records, and which of them is in use.

A checkout is visible only when it is complete:

checkouts/NAME/checkout.json   the record; the checkout exists if this file exists
checkouts/NAME/tree/           the source, for git and archives; a folder used in place stays where it is
checkouts/.use                 the name that `fetch --use` chose
checkouts/.fetching-*          incomplete ones, which this module never reads
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import stat
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ptexplore import locations, writing
from ptexplore.errors import MISSING, USAGE, PtexploreError
from ptexplore.model.places import Checkout, Runtime
from ptexplore.safe_text import clean_document
from ptexplore.source.fetch.project_file import Project, find_project
from ptexplore.source.fetch.releases import by_archive, by_commit, by_tag
from ptexplore.source.runtime.generated import build_folder_of

FORMAT = 1
RECORD = "checkout.json"
TREE = "tree"
ASIDE = ".fetching-"
REPLACED = f"{ASIDE}old-"  # followed by a name: an old checkout, until the new one has that name
_LOCK = ".lock"
_USE = ".use"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")
_WAIT = 3600.0  # seconds; fetching over a slow line takes long, and the waiting can be interrupted


def is_name(name: str) -> bool:
    """Whether `name` can name a checkout: letters, digits and `._+-`, no leading dot or dash."""
    return _NAME.fullmatch(name) is not None


def checkouts() -> list[Checkout]:
    """Returns all checkouts, extensions included, sorted by name. One with a damaged record is ignored."""
    try:
        names = sorted(os.listdir(locations.checkouts_dir()))
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [checkout for name in names if is_name(name) and (checkout := read(name)) is not None]


def extensions() -> list[Checkout]:
    """Returns the sources of extensions whose folders exist."""
    return [checkout for checkout in checkouts() if checkout.project != "pytorch" and is_there(checkout)]


def read(name: str) -> Checkout | None:
    """Returns the checkout of that name. None if there is none, its record is damaged, or its folder is a link."""
    if (locations.checkouts_dir() / name).is_symlink():
        return None
    fields = _record(name).get("checkout")
    try:
        checkout = Checkout(**fields) if isinstance(fields, dict) else None
    except TypeError:
        return None
    if checkout is None or not all(isinstance(v, (str, bool, type(None))) for v in dataclasses.astuple(checkout)):
        return None
    # In a cache that was moved or copied, the name and root in the record would be wrong.
    tree = locations.checkouts_dir() / name / TREE
    is_own = tree.is_dir() and not tree.is_symlink()
    return dataclasses.replace(checkout, name=name, root=str(tree) if is_own else checkout.root)


def load(name: str) -> Checkout:
    """Returns the checkout called `name`. Raises PtexploreError(MISSING), which lists the existing names."""
    checkout = read(name) if is_name(name) else None
    if checkout is None:
        known = ", ".join(other.name for other in checkouts())
        why = f"the fetched checkouts are {known}" if known else "nothing was fetched yet"
        hint = "ptexplore fetch --list" if known else "ptexplore fetch"
        raise PtexploreError(f"no checkout is called {name}", why, hint, MISSING)
    return checkout


def details(name: str) -> dict[str, Any]:
    """Returns the `details` that were passed to `register`, or {} if they are unknown."""
    stored = _record(name).get("details")
    return stored if isinstance(stored, dict) else {}


def _record(name: str) -> dict[str, Any]:
    data = writing.kept_bytes(locations.checkouts_dir() / name / RECORD)
    try:
        record = clean_document(json.loads(data or b""))
    except ValueError:
        return {}
    return record if isinstance(record, dict) and record.get("format") == FORMAT else {}


def write_record(folder: Path, checkout: Checkout, details: dict[str, Any]) -> None:
    """Writes the record of `checkout` into `folder`. `details` belong to the fetch and are not part of the model."""
    record = {"format": FORMAT, "checkout": dataclasses.asdict(checkout), "details": details}
    writing.write_whole(folder / RECORD, json.dumps(record, indent=1) + "\n")


def is_in_place(checkout: Checkout) -> bool:
    """Whether its source is a folder of the user's own, which is never written to."""
    return checkout.root != str(locations.checkouts_dir() / checkout.name / TREE)


def is_there(checkout: Checkout) -> bool:
    """Whether its folder exists. A folder used in place may be gone or unreadable. Raises other OSErrors."""
    try:
        return stat.S_ISDIR(os.stat(checkout.root).st_mode)
    except (FileNotFoundError, NotADirectoryError, PermissionError, ValueError):
        return False


def locked(waiting: Callable[[], None] = lambda: None) -> AbstractContextManager[bool]:
    """Locks the checkouts against other processes. `waiting()` is called once if another process has the lock."""
    lock = locations.checkouts_dir() / _LOCK
    why = f"another process has held {lock} for an hour"
    refusal = PtexploreError(
        "another process is changing the checkouts", why, f"find that process (fuser {lock}), end it, and try again"
    )
    return writing.locked(lock, _WAIT, waiting, refusal)


def register(folder: Path, checkout: Checkout, details: dict[str, Any]) -> Checkout:
    """Makes `folder`, which contains TREE or nothing, the checkout by renaming it. An older checkout is replaced.

    Call it inside `locked`. The record is written before the folder gets its name: so a visible checkout is complete.
    """
    target = locations.checkouts_dir() / checkout.name
    write_record(folder, checkout, details)
    folder.chmod(0o755)
    if target.exists():
        old = target.with_name(f"{REPLACED}{checkout.name}")
        shutil.rmtree(old, ignore_errors=True)
        _forget_index(checkout.name)
        target.rename(old)
        try:
            folder.rename(target)
        except BaseException:
            old.rename(target)
            raise
        shutil.rmtree(old, ignore_errors=True)
    else:
        folder.rename(target)
    return read(checkout.name) or checkout


def remove(name: str) -> Checkout:
    """Deletes the checkout `name` and its index. For a folder used in place, only the record.

    Raises the errors of `load`.
    """
    with locked():
        checkout = load(name)
        folder = locations.checkouts_dir() / name
        if _used() == name:
            use(None)
        (folder / RECORD).unlink()  # from here on the checkout does not exist, even if the rest fails
        shutil.rmtree(folder)
        _forget_index(name)
    return checkout


def _forget_index(name: str) -> None:
    """Deletes the index of the checkout `name`: the text that it was made from is gone."""
    file = locations.index_file(f"checkout-{name}")
    for left in (file, *(file.with_name(file.name + ending) for ending in ("-wal", "-shm", "-journal"))):
        left.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class CheckoutChoice:
    """The checkout in use and why. `note` is a remark for the user, such as a pin that nothing matches."""

    checkout: Checkout | None
    reason: Literal["used", "pinned", "built", "fits", "only", "last", "none"]
    note: str = ""


def choose(runtime: Runtime | None = None) -> CheckoutChoice:
    """Decides which checkout of PyTorch is in use, and why.

    The order is: chosen by `fetch --use`; pinned by the project's file; the tree that `runtime` was built in. Then:
    fitting `runtime` (by default the torch of this Python); the only or last one fetched. If nothing matches a pin,
    only the tree that `runtime` was built in can be in use, with a note. Raises PtexploreError(USAGE) if the project's
    file is wrong.
    """
    candidates = [checkout for checkout in checkouts() if checkout.project == "pytorch" and is_there(checkout)]
    project = _pinning_project()
    pinned = [checkout for checkout in candidates if project is not None and is_pinned(checkout, project)]
    chosen = _used()
    used = next((checkout for checkout in candidates if checkout.name == chosen), None)
    if used is not None:
        note = ""
        if project is not None and used not in pinned:
            note = f"{project.file} pins {project.pin}, but {used.name} is in use, chosen by fetch --use"
        return CheckoutChoice(used, "used", note)
    if pinned:
        return CheckoutChoice(next((checkout for checkout in pinned if fits(checkout, runtime)), pinned[0]), "pinned")
    built = next((checkout for checkout in candidates if is_built_in(runtime, checkout)), None)
    note = f"{project.file} pins {project.pin}, which is not fetched: ptexplore fetch" if project is not None else ""
    if built is not None:
        return CheckoutChoice(built, "built", note)
    if project is not None:
        return CheckoutChoice(None, "none", note)
    if len(candidates) < 2:
        return CheckoutChoice(candidates[0], "only") if candidates else CheckoutChoice(None, "none")
    runtime = runtime or _own_runtime()
    fitting = [checkout for checkout in candidates if fits(checkout, runtime)]
    return CheckoutChoice(fitting[0], "fits") if fitting else CheckoutChoice(max(candidates, key=_fetched), "last")


def current(runtime: Runtime | None = None) -> Checkout | None:
    """Returns the checkout of PyTorch in use, or None. `choose` decides."""
    return choose(runtime).checkout


def use(name: str | None) -> None:
    """Chooses the checkout `name` for all later commands; None undoes the choice.

    Raises the errors of `load`, and USAGE.
    """
    file = locations.checkouts_dir() / _USE
    if name is None:
        file.unlink(missing_ok=True)
        return
    if load(name).project != "pytorch":
        why = "it is the source of an extension, which is always read beside PyTorch's"
        raise PtexploreError(f"{name} cannot be the checkout in use", why, "ptexplore fetch --list", USAGE)
    writing.write_whole(file, name + "\n")


def is_pinned(checkout: Checkout, project: Project) -> bool:
    """Whether the project's file pins `checkout`: by archive hash, by commit, or by its ref."""
    if project.archive_sha256 is not None:
        return checkout.sha256 == project.archive_sha256
    if project.ref is None:
        return False
    known = by_archive(checkout.sha256) if checkout.sha256 else None
    if project.ref in (checkout.ref, checkout.commit, *((known.tag, known.commit) if known else ())):
        return not checkout.modified
    release = by_tag(project.ref)
    return release is not None and checkout.release == release.version


def fits(checkout: Checkout, runtime: Runtime | None) -> bool:
    """Whether `runtime` is known to be built from this checkout: it has the same commit, or is the same release."""
    if runtime is None or checkout.modified:
        return False
    release = by_commit(runtime.git_version)
    return checkout.commit == runtime.git_version or (release is not None and checkout.release == release.version)


def is_built_in(runtime: Runtime | None, checkout: Checkout) -> bool:
    """Whether `runtime` runs from the tree of this checkout, which it was built in."""
    if runtime is None or runtime.build != "source":
        return False
    folder = build_folder_of(runtime.torch_dir)
    return folder is not None and os.path.realpath(checkout.root) == str(folder)


def _used() -> str | None:
    data = writing.kept_bytes(locations.checkouts_dir() / _USE)
    return data.decode("utf-8", "replace").strip() if data is not None else None


def _fetched(checkout: Checkout) -> float:
    """Returns when it was fetched, in seconds since the epoch, or 0 if that is unknown."""
    seconds = details(checkout.name).get("fetched")
    return seconds if isinstance(seconds, (int, float)) else 0.0


def _pinning_project() -> Project | None:
    """Returns the project's file, in the current folder or above it, if it pins a version."""
    try:
        project = find_project(Path.cwd())
    except FileNotFoundError:
        return None  # the current folder was deleted
    return project if project is not None and project.pin else None


def _own_runtime() -> Runtime | None:
    from ptexplore.source.runtime.describe import find_runtime

    try:
        return find_runtime()
    except PtexploreError:
        return None
