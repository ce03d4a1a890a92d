"""Completes names, from the indexes and the catalogue that exist. Nothing is built for it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

_ID = re.compile(r"^id: *([a-z0-9-]+) *$", re.MULTILINE)
_TITLE = re.compile(r"^title: *(.{1,120})$", re.MULTILINE)
_STOP = re.compile(r"^## (.{1,120}?) *\{#([a-z0-9-]+)\} *$", re.MULTILINE)

# characters of a line: a title has 120, and the rest of its line is short
_LONGEST = 400

if TYPE_CHECKING:
    from ptexplore.model.places import Checkout, Runtime
    from ptexplore.store.index.reader import IndexStore


def names(sorts: Sequence[str], typed: str, limit: int) -> Iterator[str]:
    """Yields symbols ("name"), operators ("op") and files ("file") that begin with `typed`."""
    from ptexplore.workspace.opening import open_catalogue, open_index
    from ptexplore.workspace.workspace import Workspace

    runtime, checkouts = Workspace().sources(needed=False)
    catalogue = open_catalogue(runtime) if "op" in sorts and runtime is not None else None
    if catalogue is not None:
        yield from _operators(catalogue.all_names(), typed)[:limit]
    sources: list[Checkout | Runtime] = [*checkouts, *([runtime] if runtime is not None else [])]
    stores = [store for source in sources if (store := open_index(source)) is not None]
    if "file" in sorts and len(typed) > 2:
        for store in stores:
            yield from _files(store, typed, limit)
    if "name" in sorts and len(typed) > 1:
        for store in stores:
            yield from store.names(typed, limit)


def tours(before: Sequence[str], typed: str) -> Iterator[tuple[str, str]]:
    """Yields ids of tours and notes that begin with `typed`, or stops of the tour in `before`, each with its title.

    Files are searched line by line: parsing them all would take longer than a key press may.
    """
    for text in _texts():
        name = _ID.search(text)
        if name is None or len(before) > 1:
            continue
        title = _TITLE.search(text)
        if not before and name[1].startswith(typed):
            yield name[1], title[1].strip() if title else ""
        elif before and before[0] == name[1]:
            yield from ((match[2], match[1]) for match in _STOP.finditer(text) if match[2].startswith(typed))


def exercises() -> Iterator[tuple[str, str]]:
    """Yields ids of exercises, each with its title."""
    from ptexplore.annotations.exercises import load_exercises
    from ptexplore.annotations.layers import layers

    yield from ((name, exercise.title) for name, exercise in load_exercises(layers()).by_id.items())


def _texts() -> Iterator[str]:
    """Yields the text of notes and tours, without long lines, which have no title.

    Each set has the limits of `tour`.
    """
    from ptexplore.annotations.files import names_in, read_bytes
    from ptexplore.annotations.format import LARGEST, LARGEST_FOLDER
    from ptexplore.annotations.layers import layers

    for layer in layers():
        left = LARGEST_FOLDER
        for folder in (layer.root, layer.root / "notes", layer.root / "tours"):
            with suppress(OSError):  # also for a folder that is a link out of the notes
                for name in names_in(folder, layer.root):
                    with suppress(OSError):
                        data = read_bytes(folder / name, min(LARGEST, left)) if name.endswith(".md") else b""
                        left -= len(data)
                        if data.startswith(b"---"):
                            lines = data.decode("utf-8", "replace").split("\n")
                            yield "\n".join(line for line in lines if len(line) <= _LONGEST)


def _operators(known: Sequence[str], typed: str) -> list[str]:
    """Returns full names if a namespace was typed; else namespaces, and names of aten ("add", "add.Tensor")."""
    if "::" in typed:
        return [name for name in known if name.startswith(typed)]
    bare = [name.removeprefix("aten::") for name in known if name.startswith("aten::")]
    bases = dict.fromkeys(name.partition(".")[0] for name in bare)
    spaces = dict.fromkeys(name.partition("::")[0] + "::" for name in known)
    candidates = [*bases, *spaces] if "." not in typed else bare
    return sorted((name for name in candidates if name.startswith(typed)), key=lambda name: (len(name), name))


def _files(store: IndexStore, typed: str, limit: int) -> list[str]:
    """Returns paths and bare file names that begin with the typed text."""
    if "/" in typed:
        return [path for path in store.files_like(typed, limit) if path.startswith(typed)]
    paths = store.files_like(f"/{typed}", limit)
    return sorted({name for path in paths if (name := path.rsplit("/", 1)[-1]).startswith(typed)})
