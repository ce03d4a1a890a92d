"""Fetches source from a remote, a folder or an archive, for `ptexplore fetch`.

A folder is used in place and never written to. An archive is unpacked.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import Path

from ptexplore.errors import FAILED, MISSING, USAGE, PtexploreError
from ptexplore.model.places import Checkout, Runtime
from ptexplore.source.fetch import archive, checkouts, install, releases, remotes
from ptexplore.source.fetch.install import FetchOutcome, Request
from ptexplore.source.fetch.project_file import Project
from ptexplore.source.progress import Silent, Watcher
from ptexplore.source.runtime.generated import build_folder_of

_ENDINGS = (".tar.xz", ".tar.gz", ".tgz", ".txz", ".zip")


def fetch(request: Request, runtime: Runtime | None, project: Project | None, watcher: Watcher) -> FetchOutcome:
    """Fetches the requested source and registers it. A complete checkout that exists already is only returned.

    Without a ref, the project's pin is fetched, else the commit of `runtime`. Raises PtexploreError.
    """
    _check_project(request)
    pin = project if request.project == "pytorch" and project is not None and project.pin else None
    source = request.source
    waiting = "waiting for another ptexplore to finish fetching"
    with install.explain_disk_errors(), checkouts.locked(lambda: watcher.step(waiting)):
        install.sweep()
        if source is None or source.startswith("-") or remotes.looks_remote(source):
            remote = remotes.parse_remote(source or os.environ.get(remotes.INSTEAD) or remotes.PYTORCH)
            return remotes.fetch(remote, request, runtime, pin, watcher)
        path = Path(os.path.abspath(os.path.expanduser(source)))
        if not path.exists():
            hint = "give a folder, an archive (tar.xz, tar.gz, zip) or a URL: ptexplore fetch --from …"
            raise PtexploreError(f"cannot fetch from {source}", "there is no such file or folder here", hint, MISSING)
        if request.ref is not None:
            why = f"{source} is a folder or archive, which has only one version"
            command = f"ptexplore fetch --from {shlex.quote(source)}"
            hint = f"{command}; or a repository's URL: --from {shlex.quote(path.as_uri())}"
            raise PtexploreError("--ref cannot be used here", why, hint, USAGE)
        if path.is_dir():
            return _use_folder(path, request, pin, watcher)
        if not path.is_file():
            why = "it is neither a file nor a folder"
            raise PtexploreError(f"cannot fetch from {source}", why, "ptexplore fetch --from ARCHIVE.tar.gz", USAGE)
        return _unpack_archive(path, request, pin, watcher)


def _check_project(request: Request) -> None:
    if request.project == "pytorch" and request.named:
        why = "pytorch is the name of PyTorch's own source"
    elif not checkouts.is_name(request.project):
        why = "a name has letters, digits and . _ + - and begins with a letter or digit"
    elif request.named and request.source is None:
        hint = f"ptexplore fetch --name {request.project} --from FOLDER, ARCHIVE or URL"
        raise PtexploreError("--name needs --from", "--name names the source of an extension", hint, USAGE)
    else:
        return
    raise PtexploreError(f"{request.project!r} cannot be an extension's name", why, "--name my_backend", USAGE)


def adopt(runtime: Runtime) -> Checkout | None:
    """Registers the source tree that `runtime` was built in, as a folder used in place. Returns it if that is new.

    None if `runtime` does not run from such a tree. Raises PtexploreError.
    """
    folder = build_folder_of(runtime.torch_dir) if runtime.build == "source" else None
    if folder is None or any(checkouts.is_built_in(runtime, checkout) for checkout in checkouts.checkouts()):
        return None
    with install.explain_disk_errors(), checkouts.locked():
        return _use_folder(folder, Request(str(folder)), None, Silent()).checkout


def _use_folder(path: Path, request: Request, pin: Project | None, watcher: Watcher) -> FetchOutcome:
    """Registers the folder `path`. Nothing is copied, and nothing is written there."""

    def is_it(checkout: Checkout) -> bool:
        return checkout.root == str(path) and checkout.project == request.project

    watcher.step("reading the folder")
    name = install.name_for(request, path.name, is_it)
    checkout = Checkout(name=name, kind="folder", root=str(path), origin=str(path), project=request.project)
    checkout = install.described(checkout)
    new = install.existing(is_it) != checkout
    with install.fresh() as aside:
        checkout = install.placed(aside, checkout)
    return FetchOutcome(checkout, new, _beside_pin(checkout, pin))


def _unpack_archive(path: Path, request: Request, pin: Project | None, watcher: Watcher) -> FetchOutcome:
    """Unpacks the archive `path` into a temporary folder and registers it."""
    with path.open("rb") as stream:
        sha256 = archive.sha256_of(stream, _share(watcher, "reading the archive"))
        if pin is not None and pin.archive_sha256 is not None and pin.archive_sha256 != sha256:
            why = f"its sha256 is {sha256}, but {pin.file} pins {pin.archive_sha256}"
            hint = "download the pinned archive, or change the pin"
            raise PtexploreError(f"{path.name} is not the pinned archive", why, hint, FAILED)

        def is_it(checkout: Checkout) -> bool:
            return (checkout.kind, checkout.sha256, checkout.project) == ("archive", sha256, request.project)

        known = install.existing(is_it)
        if known is not None and install.is_whole(known):
            return FetchOutcome(known, new=False, notes=_beside_pin(known, pin))
        release = releases.by_archive(sha256)
        ending = next((ending for ending in _ENDINGS if path.name.endswith(ending)), path.suffix)
        name = install.name_for(request, release.tag if release else path.name.removesuffix(ending), is_it)
        with install.fresh() as aside:
            unpacked, tree = aside / "unpacked", aside / checkouts.TREE
            unpacked.mkdir()
            archive.unpack(stream, path.name, unpacked, _share(watcher, "unpacking")).rename(tree)
            checkout = Checkout(name, "archive", str(tree), str(path), request.project, sha256=sha256)
            checkout = install.placed(aside, install.described(checkout))
    return FetchOutcome(checkout, new=True, notes=_beside_pin(checkout, pin))


def _beside_pin(checkout: Checkout, pin: Project | None) -> tuple[str, ...]:
    if pin is None or checkouts.is_pinned(checkout, pin):
        return ()
    return (f"{pin.file} pins {pin.pin}; it is not known whether {checkout.name} is that",)


def _share(watcher: Watcher, name: str) -> Callable[[float], None]:
    watcher.step(name)
    return lambda done: watcher.step(name, min(done, 1.0))
