"""The places of all stops on one tree, cached: a search shows notes and must not place them again."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from ptexplore.annotations.kept import Tell, keep, kept, notes_key, stamp
from ptexplore.errors import BROKEN

if TYPE_CHECKING:
    from ptexplore.annotations.layers import Layer
    from ptexplore.annotations.load import NoteLibrary
    from ptexplore.source.tree import SourceTree
    from ptexplore.store.index.reader import IndexStore

FORMAT = 3


@dataclass(frozen=True, slots=True)
class Mark:
    """One stop on one tree. `line` to `end_line` is the target of its anchor, `begin` to `symbol_end` the symbol.

    `name` is the name of the symbol, `kind` its kind, or "" if it is not a symbol. `ops` are operators that the stop
    points to by `see`. If the anchor is not placed, all fields about places are 0 or "". `text` is the text for
    searches. `absent` is the file and the symbol of an anchor in a file that this tree cannot have.
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
    absent: tuple[str, str] = ("", "")

    @property
    def placed(self) -> bool:
        return self.line > 0

    @property
    def command(self) -> str:
        """The command that shows the stop."""
        return shlex.join(["ptexplore", "tour", *self.stop.split("#")])


def marks(library: NoteLibrary, tree: SourceTree, store: IndexStore) -> list[Mark]:
    """Returns every stop of the library. If its anchor is placed, the mark has its place."""
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
        elif resolved.outcome == "absent":
            mark = replace(mark, absent=(stop.anchor.path, stop.anchor.symbol))
        placed.append(mark)
    return placed


def kept_marks(
    layers: Sequence[Layer], load: Callable[[], NoteLibrary], tree: SourceTree, store: IndexStore, tell: Tell
) -> list[Mark]:
    """Returns the stops of these folders' notes on one tree: from the cache, while notes and index are unchanged.

    `load` reads the folders. `tell` is called for each file that could not be read.
    """
    name = notes_key(layers, str(FORMAT), _index(store))
    placed_before = kept(
        name, "marks", lambda row: Mark(**row | {"ops": tuple(row["ops"]), "absent": tuple(row["absent"])})
    )
    if placed_before is not None:
        return placed_before
    library = load()
    placed = marks(library, tree, store)
    keep(name, "marks", [asdict(mark) for mark in placed], library.problems, tell)
    return placed


def _index(store: IndexStore) -> str:
    try:
        return stamp(store.path, store.path.stat())
    except OSError as error:
        if error.errno in BROKEN:
            raise
        return ""
