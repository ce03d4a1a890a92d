"""Bring source to this machine: from a remote, a folder or an archive, as `ptexplore fetch` is asked to."""

from __future__ import annotations

import os
from pathlib import Path

from ptexplore.errors import MISSING, USAGE, PtexploreError
from ptexplore.model.places import Runtime
from ptexplore.source.fetch import from_git as fetch_remote
from ptexplore.source.fetch import install as placing
from ptexplore.source.fetch import local as fetch_local
from ptexplore.source.fetch import registry
from ptexplore.source.fetch.git import Watcher
from ptexplore.source.fetch.install import FetchOutcome, Request
from ptexplore.source.fetch.project_file import Project
from ptexplore.source.fetch.remotes import PYTORCH, looks_remote, parse_remote


def fetch(request: Request, runtime: Runtime | None, project: Project | None, watcher: Watcher) -> FetchOutcome:
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
