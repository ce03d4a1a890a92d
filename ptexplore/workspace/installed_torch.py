"""The installed torch: its regenerated C++ and its catalogue, opened, and built where they are missing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ptexplore.locations import catalogue_file, lock_file, read_ahead_file
from ptexplore.source.progress import Progress, Silent

if TYPE_CHECKING:
    from pathlib import Path

    from ptexplore.model.places import Runtime
    from ptexplore.source.tree import SourceTree
    from ptexplore.store.catalogue.reader import Store

_FIRST = "first run with this torch: regenerating its C++ and reading its dispatcher"

Watch = Callable[[str], AbstractContextManager[Progress]]  # shows progress under a title while something is built


def unwatched(title: str) -> AbstractContextManager[Progress]:
    """A Watch that shows nothing."""
    del title
    return nullcontext(Silent())


@dataclass(frozen=True)
class InstalledTorch:
    """A runtime with its tree and its open catalogue."""

    runtime: Runtime
    tree: SourceTree
    catalogue: Store


def open_installed(runtime: Runtime, watch: Watch = unwatched) -> InstalledTorch:
    """The tree and the catalogue of a runtime; what is missing is built, and a second process waits for the first.

    Raises PtexploreError if the cache cannot be written or a generator fails.
    """
    from ptexplore.source.runtime import generated
    from ptexplore.source.tree import runtime_tree

    folder = generated.find(runtime)
    catalogue = open_catalogue(runtime) if folder is not None else None
    if catalogue is None:
        folder, catalogue = _build(runtime, watch)
    return InstalledTorch(runtime, runtime_tree(runtime, folder), catalogue)


def open_catalogue(runtime: Runtime) -> Store | None:
    """The catalogue of a runtime; None if nothing built it yet, or it must be built anew."""
    from ptexplore.store.catalogue.reader import StaleCatalogue, Store

    try:
        return Store.open(catalogue_file(runtime.key))
    except (StaleCatalogue, FileNotFoundError):
        return None


def _build(runtime: Runtime, watch: Watch) -> tuple[Path, Store]:
    """Regenerate the C++ and read the dispatcher, side by side."""
    from concurrent.futures import ThreadPoolExecutor

    from filelock import FileLock

    from ptexplore.capture.runtime import dump
    from ptexplore.catalogue.build import build_catalogue
    from ptexplore.errors import MISSING, PtexploreError
    from ptexplore.source.runtime import generated
    from ptexplore.source.tree import runtime_tree

    target, ahead = catalogue_file(runtime.key), read_ahead_file(f"runtime-{runtime.key}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        hint = "set PTEXPLORE_CACHE to a folder that can be written to"
        why = f"{error.strerror or error}: {target.parent}"
        raise PtexploreError("the cache cannot be written", why, hint, MISSING) from error
    with FileLock(lock_file(target)), watch(_FIRST) as progress:
        folder = generated.find(runtime)
        catalogue = open_catalogue(runtime)
        if catalogue is not None and folder is not None:
            return folder, catalogue  # another process built it while we waited
        with ThreadPoolExecutor(1) as pool:
            raw = pool.submit(dump, runtime)
            folder = generated.ensure(runtime, progress)
            build_catalogue(runtime, runtime_tree(runtime, folder), raw.result(), target, progress, ahead)
    catalogue = open_catalogue(runtime)
    if catalogue is None:
        raise PtexploreError("the catalogue was built and cannot be read", str(target), "ptexplore doctor", MISSING)
    return folder, catalogue
