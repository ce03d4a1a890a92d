"""Make sure that what a command reads is there: the runtime's generated C++ and its catalogue, built on first need."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ptexplore.locations import catalogue_file, lock_file

if TYPE_CHECKING:
    from ptexplore.index.sources import Built, Source
    from ptexplore.model import Checkout, Runtime
    from ptexplore.source.checkout_tree import Relation
    from ptexplore.source.listing import Listed
    from ptexplore.source.progress import Progress
    from ptexplore.source.tree import SourceTree
    from ptexplore.store.index_store import IndexStore
    from ptexplore.store.store import Store

_FIRST = "first run with this torch: regenerating its C++ and reading its dispatcher"


@dataclass(frozen=True)
class Ready:
    """A runtime with its tree and its open catalogue."""

    runtime: Runtime
    tree: SourceTree
    store: Store


@cache
def runtime_of(python: str | None) -> Runtime:
    """As `find_runtime`, once for a command: it reads every file that the generated C++ depends on."""
    from ptexplore.source.runtime import find_runtime

    return find_runtime(python)


def ready(python: str | None) -> Ready:
    """The runtime of our own or another Python, everything built.

    The generated C++ and the catalogue's dump are made side by side; a second process waits for the first.
    Raises PtexploreError where torch is missing, the cache cannot be written or a generator fails.
    """
    from ptexplore.source import generated
    from ptexplore.source.tree import runtime_tree

    runtime = runtime_of(python)
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


@dataclass(frozen=True)
class Indexed:
    """A tree with its open index; `checkout` is None for the installed torch's own text."""

    tree: SourceTree
    store: IndexStore
    checkout: Checkout | None


def indexes(python: str | None = None, only: str | None = None) -> list[Indexed]:
    """The indexes to look into: the checkout in use, extensions' own sources, the runtime's text; or one of that name.

    What has no index yet gets one, with progress; what has one is read as it is (`ptexplore index` refreshes).
    Without any torch the checkouts alone. Raises PtexploreError where there is neither, nothing is called `only`, or an
    index cannot be built.
    """
    from ptexplore.errors import USAGE, PtexploreError
    from ptexplore.model import Runtime
    from ptexplore.source.checkout_tree import checkout_tree
    from ptexplore.source.tree import runtime_tree

    runtime, found = sources(python)
    named = {one.name: one for one in found} | ({"runtime": runtime} if runtime is not None else {})
    if only is not None and only not in named:
        why = f"searched are {', '.join(named)}"
        raise PtexploreError(f"there is no tree {only} in use", why, "ptexplore fetch --list", USAGE)
    wanted = [one for name, one in named.items() if only in (None, name)]
    missing = [one for one in wanted if open_index(one) is None]
    if missing:
        with _progress("first use of this source: indexing it") as progress:
            for one in missing:
                refresh(one, runtime, progress)
    return [
        Indexed(runtime_tree(one), _opened(one), None)
        if isinstance(one, Runtime)
        else Indexed(checkout_tree(one, _relation(one, runtime)), _opened(one), one)
        for one in wanted
    ]


def checkout_index(checkout: Checkout, runtime: Runtime, listed: list[Listed] | None = None) -> IndexStore:
    """The index of one checkout, built now, with progress, where there is none. Raises as `indexes`.

    A folder used in place is read again first: lines are of its text now. `listed` are its files, listed just now.
    """
    from ptexplore.source.registry import is_in_place

    if open_index(checkout) is None or (is_in_place(checkout) and not _is_fresh(checkout, runtime, listed)):
        with _progress("this source has no index yet, or changed: indexing it") as progress:
            refresh(checkout, runtime, progress)
    return _opened(checkout)


def installed_index(runtime: Runtime) -> IndexStore | None:
    """The index of an installed torch's own text, None where nothing built one yet."""
    return open_index(runtime)


def _is_fresh(checkout: Checkout, runtime: Runtime, listed: list[Listed] | None) -> bool:
    from ptexplore.index.sources import is_fresh
    from ptexplore.source.progress import Silent

    return is_fresh(_to_index(checkout, runtime, Silent(), listed), index_of(checkout))


def _relation(checkout: Checkout, runtime: Runtime | None) -> Relation:
    """How a checkout relates to the torch at hand, where that can be told without that torch's catalogue."""
    from ptexplore.index.relation import decide
    from ptexplore.source.checkout_tree import checkout_tree

    if runtime is None:
        return "version-skew"
    store = _open(catalogue_file(runtime.key))
    index = open_index(checkout)
    if store is None or index is None:
        from ptexplore.index.relation import known

        decision = known(checkout, runtime)
        return decision.word if decision is not None else "version-skew"
    return decide(checkout, runtime, checkout_tree(checkout), store, index).word


def sources(python: str | None, *, needed: bool = True) -> tuple[Runtime | None, list[Checkout]]:
    """The runtime where there is one, and the checkouts to look into, the one in use first.

    Raises PtexploreError where `python` has no torch, or where there is nothing at all and something is `needed`.
    """
    from ptexplore.errors import PtexploreError
    from ptexplore.source.checkouts import current, extensions

    runtime = None
    try:
        runtime = runtime_of(python)
    except PtexploreError:
        if python is not None or (needed and current() is None and not extensions()):
            raise
    chosen = current(runtime)
    return runtime, [*([chosen] if chosen is not None else []), *extensions()]


def index_of(source: Checkout | Runtime) -> Path:
    """The index's file of a checkout or an installed torch."""
    from ptexplore.locations import index_file
    from ptexplore.model import Runtime

    return index_file(f"runtime-{source.key}" if isinstance(source, Runtime) else f"checkout-{source.name}")


def open_index(source: Checkout | Runtime) -> IndexStore | None:
    """The index of `source` where it is there, sound, and of that very source."""
    from ptexplore.store.index_store import IndexStore, Stale

    try:
        store = IndexStore.open(index_of(source))
        return store if store.meta("source") == _identity(source) else None
    except (FileNotFoundError, Stale):
        return None


def _opened(source: Checkout | Runtime) -> IndexStore:
    from ptexplore.errors import MISSING, PtexploreError

    store = open_index(source)
    if store is None:
        raise PtexploreError(
            "the index was built and cannot be read", str(index_of(source)), "ptexplore index", MISSING
        )
    return store


def _identity(source: Checkout | Runtime) -> str:
    """What tells this source from another one of its name."""
    from ptexplore.model import Runtime
    from ptexplore.source.registry import is_in_place

    if isinstance(source, Runtime):
        return source.key
    if is_in_place(source):  # its commit may change under the same files
        return f"{source.project} {source.root}"
    return f"{source.project} {source.kind} {source.root} {source.commit} {source.sha256}"


def refresh(source: Checkout | Runtime, runtime: Runtime | None, progress: Progress, jobs: int | None = None) -> Built:
    """Bring the index of `source` up to date, made anew where it must be. Raises PtexploreError as `build` does.

    The record of a folder used in place follows: it may have another commit, or text that is no commit's.
    """
    from ptexplore.index.sources import build
    from ptexplore.model import Checkout
    from ptexplore.source.fetching import recheck_listed

    listed = None
    if isinstance(source, Checkout):
        source, listed = recheck_listed(source)
        done = _unchanging(source)
        if done is not None:
            return done
    return build(_to_index(source, runtime, progress, listed), index_of(source), jobs=jobs, progress=progress)


def _unchanging(checkout: Checkout) -> Built | None:
    """What a refresh of a checkout in the cache comes to when its index is whole: nobody edits one there."""
    from ptexplore.index.sources import Built
    from ptexplore.source.registry import is_in_place

    store = None if is_in_place(checkout) or checkout.project != "pytorch" else open_index(checkout)
    if store is None or store.meta("unread") not in (None, "[]"):
        return None
    return Built(0, store.counts()["files"], 0, (), anew=False, seconds=0.0)


def _to_index(
    source: Checkout | Runtime, runtime: Runtime | None, progress: Progress, listed: list[Listed] | None = None
) -> Source:
    """What to index of `source`; `listed` are its files where somebody listed them just now."""
    from ptexplore.index.sources import Source
    from ptexplore.model import Runtime
    from ptexplore.source import generated
    from ptexplore.source.checkouts import current
    from ptexplore.source.listing import files_of

    if isinstance(source, Runtime):
        folder = generated.ensure(source, progress)
        return Source("runtime", _identity(source), files_of(source, folder))
    headers = []
    if source.project != "pytorch":  # its files use the macros of PyTorch's headers
        pytorch = current(runtime) or runtime
        headers = files_of(pytorch) if pytorch is not None else []
    return Source(source.name, _identity(source), files_of(source) if listed is None else listed, headers)


@contextmanager
def _progress(title: str = _FIRST) -> Iterator[Progress]:
    """A progress bar on stderr, so that stdout stays clean; only plain lines where stderr is no terminal."""
    from ptexplore.render.progress import progress_bar

    with progress_bar(title) as progress:
        yield progress
