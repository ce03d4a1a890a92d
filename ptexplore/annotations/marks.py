"""Where the stops of all notes are on one tree, kept in the cache: searches show notes and must not place them anew."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from ptexplore import __version__
from ptexplore.locations import marks_file
from ptexplore.writing import write_whole

if TYPE_CHECKING:
    from pathlib import Path

    from ptexplore.annotations.load import Layer, NoteLibrary
    from ptexplore.source.tree import SourceTree
    from ptexplore.store.index.reader import IndexStore

FORMAT = 1
_KEPT = 50  # files of marks; older ones go


@dataclass(frozen=True, slots=True)
class Mark:
    """One stop on one tree. `line` to `end_line` is what its anchor means, `begin` to `symbol_end` the symbol.

    `name` is the symbol's, `kind` what it is, "" where that is no symbol. `ops` are operators it points to by `see`.
    Everything about places is 0 or "" where the anchor is not placed. `text` is what a search looks through.
    """

    stop: str
    title: str
    tour: str
    outcome: str
    baseline: str
    path: str = ""
    line: int = 0
    end_line: int = 0
    begin: int = 0
    symbol: int = 0
    symbol_end: int = 0
    name: str = ""
    kind: str = ""
    ops: tuple[str, ...] = ()
    text: str = ""

    @property
    def placed(self) -> bool:
        return self.line > 0

    @property
    def command(self) -> str:
        """What shows the stop."""
        return f"ptexplore tour {self.stop.replace('#', ' ')}"


def marks(library: NoteLibrary, tree: SourceTree, store: IndexStore) -> list[Mark]:
    """Every stop of the library, placed on the tree where its anchor is."""
    from ptexplore.annotations.anchors import Resolver, resolve_all

    found = []
    for tour, stop, one in resolve_all(library, Resolver(tree, store)):
        ops = tuple(see.text.removeprefix("op:") for see in stop.anchor.see if see.kind == "op")
        kind = next((s.kind for s in store.outline(one.path) if s.line == one.symbol), "") if one.placed else ""
        place = (
            (one.path, one.line, one.end_line, one.begin, one.symbol, one.symbol_end, one.name)
            if one.placed
            else ("", 0, 0, 0, 0, 0, "")
        )
        words = " ".join(stop.prose.split())
        found.append(
            Mark(one.stop, stop.title, tour.title, one.outcome, tour.baseline, *place, kind=kind, ops=ops, text=words)
        )
    return found


def kept_marks(layers: Sequence[Layer], tree: SourceTree, store: IndexStore) -> list[Mark]:
    """The stops of these folders' notes on one tree: from the cache, while neither the notes nor the index changed."""
    name = _key(layers, store.path)
    kept = _read(name)
    if kept is not None:
        return kept
    from ptexplore.annotations.load import load

    placed = marks(load(layers), tree, store)
    _write(name, placed)
    return placed


def _key(layers: Sequence[Layer], index: Path) -> str:
    """What is the same while the notes' files and the index are: names, sizes, times of change."""
    digest = hashlib.sha256(f"{FORMAT} {__version__}".encode())
    for layer in layers:
        digest.update(f"\0{layer.root}\0{layer.shown}\0{layer.quiet}".encode())
        for folder in (layer.root, layer.root / "tours", layer.root / "notes"):
            digest.update("".join(sorted(_stamps(folder))).encode("utf-8", "surrogatepass"))
    digest.update(_stamp(index).encode())
    return digest.hexdigest()[:32]


def _stamps(folder: Path) -> Iterable[str]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith((".md", ".MD", ".lock")):
                    known = entry.stat(follow_symlinks=False)
                    yield f"\0{entry.path} {known.st_size} {known.st_mtime_ns}"
    except OSError:
        return


def _stamp(file: Path) -> str:
    try:
        known = file.stat()
    except OSError:
        return ""
    return f"\0{file} {known.st_size} {known.st_mtime_ns}"


def _read(name: str) -> list[Mark] | None:
    """The marks that are kept under this key; None where there are none, or they cannot be used."""
    try:
        data: Any = json.loads(marks_file(name).read_bytes())
        order = [one.name for one in fields(Mark)]
        rows = [dict(zip(order, row, strict=True)) for row in data["marks"]]
        return [Mark(**row | {"ops": tuple(row["ops"])}) for row in rows]
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return None


def _write(name: str, found: Sequence[Mark]) -> None:
    """Keep the marks, and let the oldest files go. Where the cache cannot be written nothing is kept."""
    file = marks_file(name)
    order = [one.name for one in fields(Mark)]
    rows = [[values[each] for each in order] for values in map(asdict, found)]
    with contextlib.suppress(OSError, UnicodeError):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, json.dumps({"marks": rows}, ensure_ascii=False))
        kept = sorted(file.parent.glob("*.json"), key=lambda one: one.stat().st_mtime_ns)
        for old in kept[:-_KEPT]:
            old.unlink(missing_ok=True)
