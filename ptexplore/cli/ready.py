"""Make sure that what a command reads is there: the runtime's generated C++ and its catalogue, built on first need."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ptexplore.locations import catalogue_file, lock_file

if TYPE_CHECKING:
    from ptexplore.model import Runtime
    from ptexplore.source.progress import Progress
    from ptexplore.source.tree import SourceTree
    from ptexplore.store.store import Store


@dataclass(frozen=True)
class Ready:
    """A runtime with its tree and its open catalogue."""

    runtime: Runtime
    tree: SourceTree
    store: Store


def ready(python: str | None) -> Ready:
    """The runtime of our own or another Python, everything built.

    The generated C++ and the catalogue's dump are made side by side; a second process waits for the first.
    Raises PtexploreError where torch is missing, the cache cannot be written or a generator fails.
    """
    from ptexplore.source import generated
    from ptexplore.source.runtime import find_runtime
    from ptexplore.source.tree import runtime_tree

    runtime = find_runtime(python)
    folder = generated.find(runtime)
    store = _open(catalogue_file(runtime.key)) if folder is not None else None
    if store is None:
        folder, store = _build(runtime)
    return Ready(runtime, runtime_tree(runtime, folder), store)


def _open(path: Path) -> Store | None:
    from ptexplore.store.store import Stale, Store

    try:
        return Store.open(path)
    except (Stale, FileNotFoundError):
        return None


def _build(runtime: Runtime) -> tuple[Path, Store]:
    from concurrent.futures import ThreadPoolExecutor

    from filelock import FileLock

    from ptexplore.capture.runtime import dump
    from ptexplore.errors import MISSING, PtexploreError
    from ptexplore.index.build import build_catalogue
    from ptexplore.source import generated
    from ptexplore.source.tree import runtime_tree

    target = catalogue_file(runtime.key)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        hint = "set PTEXPLORE_CACHE to a folder that can be written to"
        why = f"{error.strerror or error}: {target.parent}"
        raise PtexploreError("the cache cannot be written", why, hint, MISSING) from error
    with FileLock(lock_file(target)), _progress() as progress:
        folder = generated.find(runtime)
        store = _open(target)
        if store is not None and folder is not None:
            return folder, store  # another process built it while we waited
        with ThreadPoolExecutor(1) as pool:
            raw = pool.submit(dump, runtime)
            folder = generated.ensure(runtime, progress)
            build_catalogue(runtime, runtime_tree(runtime, folder), raw.result(), target, progress)
    store = _open(target)
    if store is None:
        raise PtexploreError("the catalogue was built and cannot be read", str(target), "ptexplore doctor", MISSING)
    return folder, store


@contextmanager
def _progress() -> Iterator[Progress]:
    """A progress bar on stderr, so that stdout stays clean; only plain lines where stderr is no terminal."""
    from ptexplore.render.progress import progress_bar

    with progress_bar("first run with this torch: regenerating its C++ and reading its dispatcher") as progress:
        yield progress
