"""Bring source to this machine: from a remote, a folder or an archive, as `ptexplore fetch` is asked to."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ptexplore import locations
from ptexplore.errors import MISSING, USAGE, PtexploreError
from ptexplore.model import Checkout, Runtime
from ptexplore.source import fetch_local, fetch_remote, placing, registry
from ptexplore.source.git import Watcher
from ptexplore.source.listing import Listed, files_of
from ptexplore.source.placing import Outcome, Request
from ptexplore.source.project import Project
from ptexplore.source.remote import PYTORCH, looks_remote, parse_remote


def fetch(request: Request, runtime: Runtime | None, project: Project | None, watcher: Watcher) -> Outcome:
    """Bring what is asked for and register it; what is whole and there already is only named.

    Without a ref, the project's pin is asked for, else the commit of `runtime`. Raises PtexploreError.
    """
    _check_project(request)
    pin = project if request.project == "pytorch" and project is not None and project.pin else None
    source = request.source
    with placing.room(), registry.locked(lambda: watcher.step("waiting for another ptexplore to finish fetching")):
        placing.sweep()
        if source is None or source.startswith("-") or looks_remote(source):
            return fetch_remote.fetch(parse_remote(source or PYTORCH), request, runtime, pin, watcher)
        path = Path(os.path.abspath(os.path.expanduser(source)))
        if not path.exists():
            hint = "give a folder, an archive (tar.xz, tar.gz, zip) or a URL: ptexplore fetch --from …"
            raise PtexploreError(f"cannot fetch from {source}", "there is no such file or folder here", hint, MISSING)
        if request.ref is not None:
            why = f"{source} is a folder or archive, which holds one version only"
            hint = f"ptexplore fetch --from {source}; or a repository's URL: --from file://{path}"
            raise PtexploreError("--ref cannot be used here", why, hint, USAGE)
        if path.is_dir():
            return fetch_local.folder(path, request, pin, watcher)
        if not path.is_file():
            why = "it is neither a file nor a folder"
            raise PtexploreError(f"cannot fetch from {source}", why, "ptexplore fetch --from ARCHIVE.tar.gz", USAGE)
        return fetch_local.packed(path, request, pin, watcher)


def recheck(checkout: Checkout, listed: Sequence[Listed] | None = None) -> Checkout:
    """The checkout as it is now: one used in place may have another commit or other text; the record follows.

    Others are as they were fetched. `listed` are its files where somebody listed them just now. Raises
    PtexploreError(MISSING) where the folder is gone.
    """
    if not registry.is_in_place(checkout):
        return checkout
    if not os.path.isdir(checkout.root):
        why = f"it was used in place, and {checkout.root} is no longer there"
        hint = f"ptexplore fetch --remove {checkout.name}"
        raise PtexploreError(f"the checkout {checkout.name} is gone", why, hint, MISSING)
    details, stamp = registry.details(checkout.name), placing.stamp(checkout, listed)
    # A work tree of git's own whose HEAD lies elsewhere may move without a sign here: that is always looked at.
    if details.get("stamp") == stamp and not os.path.isfile(os.path.join(checkout.root, ".git")):
        return checkout
    now = placing.described(checkout)
    with placing.room(), registry.locked():
        registry.write_record(locations.checkouts_dir() / checkout.name, now, {**details, "stamp": stamp})
    return now


def recheck_listed(checkout: Checkout) -> tuple[Checkout, list[Listed] | None]:
    """As `recheck`, with the files that had to be listed for it, for who looks whether one of them changed."""
    listed = files_of(checkout) if registry.is_in_place(checkout) else None
    now = recheck(checkout, listed)
    return now, listed if now is checkout else None  # looking at it anew may have taken long


def _check_project(request: Request) -> None:
    if request.project == "pytorch" and request.named:
        why = "pytorch is what PyTorch's own source is called"
    elif not registry.is_name(request.project):
        why = "a name has letters, digits and . _ + - and begins with a letter or digit"
    elif request.named and request.source is None:
        hint = f"ptexplore fetch --name {request.project} --from FOLDER, ARCHIVE or URL"
        raise PtexploreError("--name needs --from", "it names an extension's own source", hint, USAGE)
    else:
        return
    raise PtexploreError(f"{request.project!r} cannot be an extension's name", why, "--name my_backend", USAGE)
