"""Names that complete what was typed, from the indexes and the catalogue that are there; nothing is built for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptexplore.model import Runtime
    from ptexplore.store.index_store import IndexStore


def names(sorts: Sequence[str], typed: str, limit: int) -> Iterator[tuple[str, str]]:
    """Symbols ("name"), operators ("op") and files ("file") that begin with `typed`, each with what it is."""
    if not sorts:
        return
    from ptexplore.cli.ready import sources

    runtime, checkouts = sources(None, needed=False)
    if "op" in sorts and runtime is not None:
        yield from ((name, "operator") for name in _operators(runtime, typed)[:limit])
    stores = [store for source in (*checkouts, runtime) if source is not None and (store := _open(source)) is not None]
    if "file" in sorts and len(typed) > 2:
        for store in stores:
            yield from ((path, "file") for path in _files(store, typed, limit))
    if "name" in sorts and len(typed) > 1:
        for store in stores:
            yield from ((name, "") for name in store.names(typed, limit))


def _open(source: object) -> IndexStore | None:
    from ptexplore.cli.ready import index_of
    from ptexplore.store.index_store import IndexStore, Stale

    try:
        return IndexStore.open(index_of(source))  # type: ignore[arg-type]
    except (FileNotFoundError, Stale):
        return None


def _operators(runtime: Runtime, typed: str) -> list[str]:
    """Full names where a namespace is typed; else bare ones ("add", "add.Tensor") of aten, and every namespace."""
    from ptexplore.locations import catalogue_file
    from ptexplore.store.store import Stale, Store

    try:
        known = Store.open(catalogue_file(runtime.key)).all_names()
    except (FileNotFoundError, Stale):
        return []
    if "::" in typed:
        return [name for name in known if name.startswith(typed)]
    bare = [name.removeprefix("aten::") for name in known if name.startswith("aten::")]
    bases = dict.fromkeys(name.partition(".")[0] for name in bare)
    spaces = dict.fromkeys(name.partition("::")[0] + "::" for name in known)
    given = [*bases, *spaces] if "." not in typed else bare
    return sorted((name for name in given if name.startswith(typed)), key=lambda name: (len(name), name))


def _files(store: IndexStore, typed: str, limit: int) -> list[str]:
    """Paths and bare file names that begin with what was typed."""
    if "/" in typed:
        return [path for path in store.files_like(typed, limit) if path.startswith(typed)]
    found = store.files_like(f"/{typed}", limit)
    return sorted({name for path in found if (name := path.rsplit("/", 1)[-1]).startswith(typed)})
