"""Where the stops of all notes are on one tree, kept in the cache: searches show notes and must not place them anew."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from ptexplore import __version__
from ptexplore.locations import marks_file
from ptexplore.writing import keep_whole

if TYPE_CHECKING:
    from pathlib import Path

    from ptexplore.annotations.load import Layer, NoteLibrary
    from ptexplore.source.tree import SourceTree
    from ptexplore.store.index.reader import IndexStore

FORMAT = 2
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

    placed = []
    for tour, stop, resolved in resolve_all(library, Resolver(tree, store)):
        mark = Mark(
            resolved.stop, stop.title, tour.title, resolved.outcome, tour.baseline, text=" ".join(stop.prose.split()),
            ops=tuple(see.text.removeprefix("op:") for see in stop.anchor.see if see.kind == "op"),
        )  # fmt: skip
        if resolved.placed:
            outline = store.outline(resolved.path)
            mark = replace(
                mark, path=resolved.path, line=resolved.line, end_line=resolved.end_line, begin=resolved.begin,
                symbol=resolved.symbol, symbol_end=resolved.symbol_end, name=resolved.name,
                kind=next((symbol.kind for symbol in outline if symbol.line == resolved.symbol), ""),
            )  # fmt: skip
        placed.append(mark)
    return placed


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
    with contextlib.suppress(OSError):
        digest.update(_stamp(index, index.stat()).encode())
    return digest.hexdigest()[:32]


def _stamps(folder: Path) -> Iterable[str]:
    try:
        with os.scandir(folder) as entries:
            files = [entry for entry in entries if entry.name.endswith((".md", ".MD", ".lock"))]
            return [_stamp(file.path, file.stat(follow_symlinks=False)) for file in files]
    except OSError:
        return []


def _stamp(file: str | Path, state: os.stat_result) -> str:
    return f"\0{file} {state.st_size} {state.st_mtime_ns}"


def _read(name: str) -> list[Mark] | None:
    """The marks that are kept under this key; None where there are none, or they cannot be used."""
    try:
        rows = json.loads(marks_file(name).read_bytes())["marks"]
        return [Mark(**row | {"ops": tuple(row["ops"])}) for row in rows]
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return None


def _write(name: str, marks: Sequence[Mark]) -> None:
    """Keep the marks, and let the oldest files go. Where the cache cannot be written nothing is kept."""
    file = marks_file(name)
    with contextlib.suppress(OSError, UnicodeError):
        keep_whole(file, json.dumps({"marks": [asdict(mark) for mark in marks]}, ensure_ascii=False))
        by_age = sorted(file.parent.glob("*.json"), key=lambda kept: kept.stat().st_mtime_ns)
        for old in by_age[:-_KEPT]:
            old.unlink(missing_ok=True)
