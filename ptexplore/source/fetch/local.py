"""Source that is on this machine already: a folder, used in place and never written to, or an archive, unpacked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ptexplore.errors import FAILED, PtexploreError
from ptexplore.model.places import Checkout
from ptexplore.source.fetch import archive, registry, releases
from ptexplore.source.fetch import install as placing
from ptexplore.source.fetch.checkouts import is_pinned
from ptexplore.source.fetch.git import Watcher
from ptexplore.source.fetch.install import FetchOutcome, Request
from ptexplore.source.fetch.project_file import Project

_ENDINGS = (".tar.xz", ".tar.gz", ".tgz", ".txz", ".zip")


def folder(path: Path, request: Request, pin: Project | None, watcher: Watcher) -> FetchOutcome:
    """Register the folder `path`; nothing is copied and nothing written there."""

    def is_it(found: Checkout) -> bool:
        return found.root == str(path) and found.project == request.project

    watcher.step("looking at the folder")
    own = request.project == "pytorch"
    name = placing.free_name(path.name, is_it) if own else request.project
    placing.check_free(request)
    checkout = Checkout(name=name, kind="folder", root=str(path), origin=str(path), project=request.project)
    checkout = placing.described(checkout)
    new = placing.existing(is_it) != checkout
    with placing.fresh() as aside:
        checkout = placing.placed(aside, checkout)
    return FetchOutcome(checkout, new, tuple(_beside_pin(checkout, pin)))


def packed(path: Path, request: Request, pin: Project | None, watcher: Watcher) -> FetchOutcome:
    """Unpack the archive `path` aside and register it."""
    with path.open("rb") as stream:
        sha256 = archive.sha256_of(stream, _share(watcher, "reading the archive"))
        if pin is not None and pin.archive_sha256 is not None and pin.archive_sha256 != sha256:
            why = f"its sha256 is {sha256}; {pin.file} pins {pin.archive_sha256}"
            hint = "get the archive that is pinned, or change the pin"
            raise PtexploreError(f"{path.name} is not the pinned archive", why, hint, FAILED)

        def is_it(found: Checkout) -> bool:
            return found.kind == "archive" and found.sha256 == sha256 and found.project == request.project

        there = placing.existing(is_it)
        if there is not None and placing.is_whole(there):
            return FetchOutcome(there, new=False, notes=tuple(_beside_pin(there, pin)))
        name = _name(path, sha256, request, is_it)
        with placing.fresh() as aside:
            unpacked = aside / "unpacked"
            unpacked.mkdir()
            archive.unpack(stream, path.name, unpacked, _share(watcher, "unpacking"))
            _top(unpacked).rename(aside / registry.TREE)
            root = str(aside / registry.TREE)
            found = Checkout(name, "archive", root, str(path), request.project, sha256=sha256)
            checkout = placing.placed(aside, placing.described(found))
    return FetchOutcome(checkout, new=True, notes=tuple(_beside_pin(checkout, pin)))


def _name(path: Path, sha256: str, request: Request, is_it: Callable[[Checkout], bool]) -> str:
    if request.project != "pytorch":
        placing.check_free(request)
        return request.project
    release = releases.by_archive(sha256)
    ending = next((ending for ending in _ENDINGS if path.name.endswith(ending)), path.suffix)
    return placing.free_name(release.tag if release else path.name.removesuffix(ending), is_it)


def _top(unpacked: Path) -> Path:
    """The folder that everything in an archive lies in, as most have it; else the whole."""
    entries = list(unpacked.iterdir())
    is_one = len(entries) == 1 and entries[0].is_dir() and not entries[0].is_symlink()
    return entries[0] if is_one else unpacked


def _beside_pin(checkout: Checkout, pin: Project | None) -> list[str]:
    if pin is None or is_pinned(checkout, pin):
        return []
    return [f"{pin.file} pins {pin.pin}, which {checkout.name} is not known to be"]


def _share(watcher: Watcher, name: str) -> Callable[[float], None]:
    watcher.step(name)
    return lambda done: watcher.step(name, min(done, 1.0))
