"""The checkouts that `fetch` brought, and which of them is in use."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ptexplore import locations
from ptexplore.errors import MISSING, USAGE, PtexploreError
from ptexplore.model.places import Checkout, Runtime
from ptexplore.source.fetch.project_file import Project, find_project
from ptexplore.source.fetch.registry import RECORD, forget_index, is_name, locked, names, read, when
from ptexplore.writing import write_whole

_USE = ".use"


@dataclass(frozen=True, slots=True)
class CheckoutChoice:
    """The checkout in use and why; `note` is what the user should know of it, such as a pin that nothing matches."""

    checkout: Checkout | None
    reason: Literal["used", "pinned", "fits", "only", "last", "none"]
    note: str = ""


def checkouts() -> list[Checkout]:
    """Everything that was fetched, extensions included, by name. A damaged record is as if it were not there."""
    return [found for name in names() if (found := read(name)) is not None]


def extensions() -> list[Checkout]:
    """The extensions' own sources that lie beside PyTorch's and are there."""
    return [found for found in checkouts() if found.project != "pytorch" and is_there(found)]


def load(name: str) -> Checkout:
    """The checkout called `name`. Raises PtexploreError(MISSING) that names those there are."""
    found = read(name) if is_name(name) else None
    if found is None:
        known = ", ".join(checkout.name for checkout in checkouts())
        why = f"fetched are: {known}" if known else "nothing was fetched yet"
        hint = "ptexplore fetch --list" if known else "ptexplore fetch"
        raise PtexploreError(f"there is no checkout {name}", why, hint, MISSING)
    return found


def is_there(checkout: Checkout) -> bool:
    """Whether its folder still is; one used in place may have gone."""
    return os.path.isdir(checkout.root)


def current(runtime: Runtime | None = None, start: Path | None = None) -> Checkout | None:
    """PyTorch's checkout in use; None where there is none. See `choose`."""
    return choose(runtime, start).checkout


def choose(runtime: Runtime | None = None, start: Path | None = None) -> CheckoutChoice:
    """Which of PyTorch's checkouts is in use and why.

    The one chosen by `fetch --use`, else the one the project's file pins, else the one that fits `runtime` (our own
    where None), else the only or last one fetched. A pin that nothing fetched matches gives none, and says so.
    `start` is where the project's file is looked for, the current folder where None. Raises PtexploreError(USAGE)
    where that file is wrong.
    """
    there = [found for found in checkouts() if found.project == "pytorch" and is_there(found)]
    project = _project(start)
    pin = project.pin if project is not None else None
    pinned = [found for found in there if project is not None and is_pinned(found, project)]
    used = next((found for found in there if found.name == _used()), None)
    if used is not None:
        note = ""
        if project is not None and pin is not None and used not in pinned:
            note = f"{project.file} pins {pin}; in use is {used.name}, chosen by fetch --use"
        return CheckoutChoice(used, "used", note)
    if project is not None and pin is not None:
        if not pinned:
            return CheckoutChoice(None, "none", f"{project.file} pins {pin}, which is not fetched: ptexplore fetch")
        return CheckoutChoice(_best(pinned, runtime), "pinned")
    if len(there) < 2:
        return CheckoutChoice(there[0], "only") if there else CheckoutChoice(None, "none")
    fitting = [found for found in there if fits(found, runtime or _own_runtime())]
    return CheckoutChoice(fitting[0], "fits") if fitting else CheckoutChoice(max(there, key=when), "last")


def is_pinned(checkout: Checkout, project: Project) -> bool:
    """Whether `checkout` is what the project's file pins: by archive hash, by commit, or by the ref it came from."""
    from ptexplore.source.fetch.releases import by_archive, by_tag

    if project.archive_sha256 is not None:
        return checkout.sha256 == project.archive_sha256
    if project.ref is None:
        return False
    release = by_tag(project.ref)
    known = by_archive(checkout.sha256) if checkout.sha256 else None
    names_of_it = (checkout.ref, checkout.commit, *((known.tag, known.commit) if known else ()))
    if project.ref in names_of_it:
        return not checkout.modified
    return release is not None and checkout.release == release.version


def use(name: str | None) -> Checkout | None:
    """Choose the checkout `name` for every later command; None undoes the choice. Raises as `load`, and USAGE."""
    file = locations.checkouts_dir() / _USE
    if name is None:
        file.unlink(missing_ok=True)
        return None
    found = load(name)
    if found.project != "pytorch":
        why = "it is an extension's own source, which is read beside PyTorch's and needs no choosing"
        raise PtexploreError(f"{name} cannot be the checkout in use", why, "ptexplore fetch --list", USAGE)
    write_whole(file, name + "\n")
    return found


def remove(name: str) -> Checkout:
    """Delete the checkout `name` with its index; of a folder used in place only the record. Raises as `load`."""
    with locked():
        found = load(name)
        folder = locations.checkouts_dir() / name
        if _used() == name:
            use(None)
        (folder / RECORD).unlink()  # from here on it is not there, however far the rest comes
        if folder.is_symlink():
            folder.unlink()
        else:
            shutil.rmtree(folder)
        forget_index(name)
    return found


def _used() -> str | None:
    try:
        return (locations.checkouts_dir() / _USE).read_text(encoding="utf-8").strip() or None
    except (OSError, ValueError):
        return None


def _project(start: Path | None) -> Project | None:
    try:
        return find_project(start or Path.cwd())
    except FileNotFoundError:
        return None  # the current folder is gone


def _own_runtime() -> Runtime | None:
    from ptexplore.source.runtime.describe import find_runtime

    try:
        return find_runtime()
    except PtexploreError:
        return None


def fits(checkout: Checkout, runtime: Runtime | None) -> bool:
    """Whether it is known to be the source that `runtime` was built from: by commit, or as that very release."""
    from ptexplore.source.fetch.releases import by_commit

    if runtime is None or checkout.modified:
        return False
    release = by_commit(runtime.git_version)
    return checkout.commit == runtime.git_version or (release is not None and checkout.release == release.version)


def _best(pinned: list[Checkout], runtime: Runtime | None) -> Checkout:
    return next((found for found in pinned if runtime is not None and fits(found, runtime)), pinned[0])
