"""Opens, and builds if missing: the torch's catalogue, indexes, a trace's lookup.

Catalogue and indexes are in the cache. Each is built once; a second process waits for the first.
"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ptexplore.errors import MISSING, PtexploreError, cache_errors
from ptexplore.locations import cache_root, catalogue_file, generated_dir, index_file, lock_file, read_ahead_file
from ptexplore.model.places import Checkout, Runtime
from ptexplore.source.atlas import Atlas
from ptexplore.source.fetch.checkouts import choose, current, extensions, is_in_place
from ptexplore.source.progress import Progress, Silent
from ptexplore.source.runtime import generated
from ptexplore.source.tree import Relation, SourceTree, checkout_tree, runtime_tree
from ptexplore.store.catalogue.reader import StaleCatalogue, Store
from ptexplore.store.index.reader import IndexStore, StaleIndex
from ptexplore.writing import locked

if TYPE_CHECKING:
    from ptexplore.cpp.conditions import Conditions
    from ptexplore.index.build import Built
    from ptexplore.index.reading_plan import IndexInput
    from ptexplore.lookup.trees import IndexedTree
    from ptexplore.resolve.places.lookup import Lookup
    from ptexplore.resolve.places.sources import Source
    from ptexplore.source.listing import Listed
    from ptexplore.view.health import CheckoutHealth

_WAIT = 1800.0  # seconds to wait for another process that reads the dispatcher
_FIRST = "first run with this torch: {}"
_ANEW = "the catalogue of this torch is damaged, or another ptexplore made it: {}"
_GENERATE, _READ = "regenerating its C++ and reading its dispatcher", "reading its dispatcher"

# shows progress under a title while something is built
Watch = Callable[[str], AbstractContextManager[Progress]]


# the title while this is done
DAMAGED = "the generated C++ is damaged or incomplete: making it again"


def unwatched(title: str) -> AbstractContextManager[Progress]:
    """A Watch that shows nothing."""
    del title
    return nullcontext(Silent())


def check_cache() -> None:
    """Raises PtexploreError if the cache or a part of it belongs to another user, who could decide what runs.

    A cache that belongs to root is allowed: an administrator may have built one for everybody. A link inside the cache
    is refused, since writing and deleting would then happen in another place. The cache itself may be a link, which its
    user made.
    """
    root = cache_root()
    try:
        _refuse_others(root, os.stat(root))
    except OSError:  # it does not exist yet, or its reader reports the error
        return
    for path in _inside(root):
        with suppress(FileNotFoundError):  # another command has just deleted it
            state = os.lstat(path)
            _refuse_others(path, state)
            _refuse_link(path, state)
            # A hidden file in it is a lock or incomplete: the code that opens it checks it.
            for inner in _inside(path) if stat.S_ISDIR(state.st_mode) else ():
                if not inner.name.startswith("."):
                    with suppress(FileNotFoundError):
                        state = os.lstat(inner)
                        _refuse_others(inner, state)
                        _refuse_link(inner, state)


def _inside(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return sorted(Path(entry.path) for entry in entries)
    except OSError:
        return []


def _refuse_link(path: Path, state: os.stat_result) -> None:
    if stat.S_ISLNK(state.st_mode):
        why = "ptexplore would write and delete files outside of the cache"
        hint = f"rm {shlex.quote(str(path))}; only the link goes; to move the whole cache, set PTEXPLORE_CACHE=FOLDER"
        raise PtexploreError(f"{path} is a symbolic link", why, hint, MISSING)


def _refuse_others(path: Path, state: os.stat_result) -> None:
    if state.st_uid not in (os.geteuid(), 0):
        why = "its owner can change the indexes, generated C++ and checkouts in it"
        hint = "set PTEXPLORE_CACHE to a folder of your own"
        raise PtexploreError(f"the cache belongs to another user: {path}", why, hint, MISSING)


# --- the installed torch ---


@dataclass(frozen=True)
class InstalledTorch:
    """An installed torch with its source tree and its open catalogue."""

    runtime: Runtime
    tree: SourceTree
    catalogue: Store


def open_installed(runtime: Runtime, watch: Watch = unwatched) -> InstalledTorch:
    """Returns an installed torch with its tree and its catalogue. Missing parts are built.

    Raises PtexploreError if the cache cannot be written or a generator fails.
    """
    folder = generated.find(runtime)
    catalogue = open_catalogue(runtime) if folder is not None else None
    if catalogue is None:
        folder, catalogue = _build(runtime, watch)
    return InstalledTorch(runtime, runtime_tree(runtime, folder), catalogue)


def open_catalogue(runtime: Runtime) -> Store | None:
    """Returns the catalogue of an installed torch. None if it was never built, or must be rebuilt."""
    try:
        return Store.open(catalogue_file(runtime.key))
    except (StaleCatalogue, FileNotFoundError):
        return None


def why_built(runtime: Runtime, catalogue: Path) -> str:
    """Returns why the generated C++ or the catalogue is made, and the work that it takes."""
    if generated.find(runtime) is not None:
        return (_ANEW if catalogue.exists() else _FIRST).format(_READ)
    if runtime.build == "source":
        return _FIRST.format(_READ)
    return DAMAGED if generated_dir(runtime.inputs_key).exists() else _FIRST.format(_GENERATE)


def _build(runtime: Runtime, watch: Watch) -> tuple[Path, Store]:
    """Regenerates the C++ and reads the dispatcher, at the same time."""
    from concurrent.futures import ThreadPoolExecutor

    from ptexplore.capture.runtime import dump
    from ptexplore.catalogue.build import DispatcherRecords, build_catalogue
    from ptexplore.catalogue.gather import gather
    from ptexplore.store.index.read_ahead import keep, kept
    from ptexplore.view.words.errors import in_words

    target, ahead = catalogue_file(runtime.key), read_ahead_file(runtime.inputs_key)
    lock = lock_file(target)
    why = f"another process has held {lock} for half an hour"
    refusal = PtexploreError("the catalogue is in use", why, "end that process, then run this again")
    with ExitStack() as held:
        try:
            held.enter_context(locked(lock, _WAIT, lambda: None, refusal))
        except OSError as error:
            hint = "set PTEXPLORE_CACHE to a folder that you can write to"
            why = f"{error.strerror or error}: {error.filename or target.parent}"
            raise PtexploreError("the cache cannot be written", why, hint, MISSING) from error
        progress = held.enter_context(watch(why_built(runtime, target)))
        held.enter_context(in_words())
        folder = generated.find(runtime)
        catalogue = open_catalogue(runtime)
        if catalogue is not None and folder is not None:
            return folder, catalogue  # another process built it meanwhile
        with ThreadPoolExecutor(1) as pool:
            dispatcher = pool.submit(lambda: DispatcherRecords(runtime, dump(runtime)))
            with generated.making(runtime, progress) as making:
                before = kept(ahead) if making.is_whole else None
                gathered = gather(runtime, making, lambda: dispatcher.result().generated, progress, before)
            folder = generated.ensure(runtime)
            tree = runtime_tree(runtime, folder)
            build_catalogue(runtime, tree, dispatcher.result(), gathered.facts, target, progress)
            with cache_errors("the data for the index cannot be written", ahead):
                keep(ahead, gathered.rows)
    catalogue = open_catalogue(runtime)
    if catalogue is None:
        raise PtexploreError("the catalogue was built, but cannot be read", str(target), "ptexplore doctor", MISSING)
    return folder, catalogue


# --- the index of each source: of a checkout, or of the installed torch's own text ---


def index_of(source: Checkout | Runtime) -> Path:
    """Returns the path of the index of a checkout or an installed torch."""
    return index_file(f"runtime-{source.key}" if isinstance(source, Runtime) else f"checkout-{source.name}")


def open_index(source: Checkout | Runtime) -> IndexStore | None:
    """Returns the index of `source`.

    None if there is none, if it is damaged, or if it is of another source of that name.
    """
    try:
        index = IndexStore.open(index_of(source))
        if index.meta("source") == _identity(source):
            return index
    except (FileNotFoundError, StaleIndex):
        return None
    index.close()
    return None


def is_at_hand(source: Checkout | Runtime) -> bool:
    """Whether `source` has an index and the text that it was made from: generated files may be gone or damaged."""
    index = open_index(source)
    if index is None:
        return False
    index.close()
    return not isinstance(source, Runtime) or generated.find(source) is not None


def opened(source: Checkout | Runtime) -> IndexStore:
    """Returns the index of `source`, which was just built. Raises PtexploreError if it cannot be read."""
    index = open_index(source)
    if index is None:
        why = str(index_of(source))
        raise PtexploreError("the index was built, but cannot be read", why, "ptexplore index", MISSING)
    return index


def open_tree(source: Checkout | Runtime, runtime: Runtime | None) -> IndexedTree:
    """Returns the tree of `source` with its index and its relation to `runtime`.

    Raises PtexploreError without an index.
    """
    from ptexplore.lookup.trees import IndexedTree  # with the whole search: 0.03 s that a trace does not need

    index = opened(source)
    if isinstance(source, Runtime):
        return IndexedTree(runtime_tree(source), index, None)
    return IndexedTree(checkout_tree(source, _relation(source, index, runtime)), index, source)


def _relation(checkout: Checkout, index: IndexStore, runtime: Runtime | None) -> Relation:
    """Returns how a checkout relates to the installed torch. Without a catalogue of that torch, claims the least."""
    from ptexplore.resolve.places.relation import known, relate

    if runtime is None:
        return "version-skew"
    word = known(checkout, runtime, index)
    catalogue = open_catalogue(runtime) if word is None else None
    if catalogue is not None:
        with closing(catalogue):
            word = relate(checkout, runtime, checkout_tree(checkout), catalogue, index).word
    return word or "version-skew"


def fresh_index(
    checkout: Checkout, runtime: Runtime | None, watch: Watch, listed: list[Listed] | None = None
) -> IndexStore:
    """Returns the index of one checkout. Builds a missing index, with progress. Raises the errors of `refresh`.

    A folder used in place is read again if it changed, so that lines fit its present text. `listed` are its files, if
    the caller has just listed them.
    """
    from ptexplore.index.reading_plan import is_fresh

    index = open_index(checkout)
    if index is not None and (
        not is_in_place(checkout) or is_fresh(_to_index(checkout, runtime, Silent(), listed), index.path)
    ):
        return index
    with watch("this source is new or has changed: indexing it") as progress:
        refresh(checkout, runtime, progress)
    return opened(checkout)


def refresh(source: Checkout | Runtime, runtime: Runtime | None, progress: Progress, jobs: int | None = None) -> Built:
    """Updates the index of `source`, or rebuilds it if necessary. Raises the errors of `build`.

    The record of a folder used in place is updated: it may have another commit, or uncommitted text.
    """
    from ptexplore.index.build import Built, build
    from ptexplore.source.fetch.install import recheck

    listed = None
    if isinstance(source, Checkout):
        source, listed = recheck(source)
        index = None if is_in_place(source) or source.project != "pytorch" else open_index(source)
        # The index is complete, and nobody edits a checkout in the cache.
        if index is not None and index.meta("unread") in (None, "[]"):
            return Built(0, index.counts()["files"], 0, (), anew=False, seconds=0.0)
    return build(_to_index(source, runtime, progress, listed), index_of(source), jobs=jobs, progress=progress)


def _to_index(
    source: Checkout | Runtime, runtime: Runtime | None, progress: Progress, listed: list[Listed] | None = None
) -> IndexInput:
    """Returns the input for indexing `source`. `listed` are its files, if the caller has just listed them."""
    from ptexplore.index.reading_plan import IndexInput
    from ptexplore.source.listing import files_of

    if isinstance(source, Runtime):
        folder = generated.ensure(source, progress)
        ahead = read_ahead_file(source.inputs_key)
        files = files_of(source, folder)
        return IndexInput("runtime", _identity(source), files, read_ahead=ahead, family=f"torch {source.inputs_key}")
    headers = []
    if source.project != "pytorch":  # its files use the macros of PyTorch's headers
        pytorch = current(runtime) or runtime
        headers = files_of(pytorch) if pytorch is not None else []
    return IndexInput(source.name, _identity(source), files_of(source) if listed is None else listed, headers)


def _identity(source: Checkout | Runtime) -> str:
    """Returns a text that identifies a source among sources of the same name."""
    if isinstance(source, Runtime):
        return source.key
    if is_in_place(source):  # its commit may change while most files stay the same
        return f"{source.project} {source.root}"
    return f"{source.project} {source.kind} {source.root} {source.commit} {source.sha256}"


# --- the lookup for traces and an operator's card: the installed torch, then checkouts, then the atlas ---


def open_lookup(torch: InstalledTorch, watch: Watch = unwatched) -> Lookup:
    """Returns everything that can find a place. A checkout without an index gets one now, with progress.

    Raises PtexploreError if an index cannot be built or the project's file is wrong.
    """
    from ptexplore.cpp.conditions import conditions
    from ptexplore.resolve.places.lookup import Lookup
    from ptexplore.resolve.places.sources import GeneratedNames, Source

    known = conditions(torch.runtime, torch.tree)
    sources = tuple(_sources(torch, known, watch))
    own = [Source(torch.tree, GeneratedNames(torch.catalogue), known, torch.runtime)]
    # the index of the installed text, if a search built it: a trace does not wait for it
    index = open_index(torch.runtime)
    if index is not None:
        own.append(Source(torch.tree, index, known, torch.runtime))
    return Lookup(torch.tree, torch.catalogue, sources, tuple(own))


def _sources(torch: InstalledTorch, known: Conditions, watch: Watch) -> Iterator[Source]:
    from ptexplore.resolve.places.sources import atlas_source, source

    chosen = current(torch.runtime)
    for checkout in (*([chosen] if chosen is not None else []), *extensions()):
        # These modules are imported only if there is a checkout.
        from ptexplore.resolve.places.relation import decide
        from ptexplore.source.fetch.install import recheck

        now, listed = recheck(checkout)
        tree = checkout_tree(now)
        index = fresh_index(now, torch.runtime, watch, listed)
        word = decide(now, torch.runtime, tree, torch.catalogue, index)
        yield source(now, tree, index, word, known, torch.runtime)
    if chosen is None:
        with suppress(PtexploreError):  # the shipped file is missing or damaged
            yield atlas_source(Atlas.open(), known, torch.runtime)


def compared_checkouts(torch: InstalledTorch, watch: Watch = unwatched) -> tuple[str, list[CheckoutHealth]]:
    """Returns the note on the choice of a checkout, and the checkouts in use, each fully compared with the torch."""
    from ptexplore.resolve.places.relation import relate
    from ptexplore.source.fetch.install import recheck
    from ptexplore.view.health import CheckoutHealth

    choice = choose(torch.runtime)
    in_use = [*([choice.checkout] if choice.checkout is not None else []), *extensions()]
    compared = []
    for before in in_use:
        checkout, listed = recheck(before)
        index = fresh_index(checkout, torch.runtime, watch, listed)
        relation = relate(checkout, torch.runtime, checkout_tree(checkout), torch.catalogue, index)
        compared.append(CheckoutHealth(checkout_tree(checkout, relation.word).info, checkout, relation))
    return choice.note, compared
