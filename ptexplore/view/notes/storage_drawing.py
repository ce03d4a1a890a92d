"""Draws which cells of a storage some tensors reach: from sizes, strides and offset, as cells and as text."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ptexplore.model.tensor_layouts import PlacedTensor
from ptexplore.view.tensor.strip import Strip, strip

# The language of a block in a note. It has a line for each tensor: "v = x[1:]: sizes (2, 4), strides (4, 1), offset 4".
LANGUAGE = "storage"
MOST_CELLS = 64
MOST_TENSORS = 8
_LONGEST = 300  # characters
_NUMBERS = r"\(((?:\d{1,6}, ?)*(?:\d{1,6})?)\)"
_LINE = re.compile(rf"(?P<name>.{{1,80}}?): sizes {_NUMBERS},? strides {_NUMBERS},? offset (\d{{1,6}})")
WIDTH = 76  # columns of a drawing in a text


@dataclass(frozen=True, slots=True)
class Layout:
    """A tensor over the storage: the expression that makes it, sizes, strides and offset in elements."""

    name: str
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int

    @property
    def short(self) -> str:
        """The name before `=`."""
        return self.name.partition("=")[0].strip()

    @property
    def placed(self) -> PlacedTensor:
        """The tensor over the cells of the storage."""
        return PlacedTensor(0, self.sizes, self.strides, self.offset)

    @property
    def facts(self) -> str:
        """Sizes, strides and offset in words."""
        return f"sizes {self.sizes}, strides {self.strides}, offset {self.offset}"


@dataclass(frozen=True, slots=True)
class StorageDrawing:
    """The number of cells of a storage, and the tensors over it."""

    cells: int
    layouts: tuple[Layout, ...]

    def strip(self, width: int = WIDTH) -> Strip:
        """Returns the cells in rows that fit the width."""
        return strip([(layout.short, layout.placed) for layout in self.layouts], self.cells, width)

    @property
    def in_words(self) -> str:
        """The drawing as one sentence a tensor, for who cannot see it."""
        sentences = []
        for layout in self.layouts:
            reached = [str(cell) for cell in range(self.cells) if layout.placed.indices_at(cell, 1)]
            sentences.append(f"{layout.name} reaches cells {', '.join(reached)}")
        return f"A storage of {self.cells} elements. {'. '.join(sentences)}."


def drawing(text: str) -> StorageDrawing | None:
    """Returns the drawing of a block of a note; None if a line is not of a tensor, or if it is too large to draw."""
    layouts = []
    for line in text.strip().splitlines():
        match = _LINE.fullmatch(line.strip()) if len(line) <= _LONGEST else None
        if match is None:
            return None
        sizes, strides = _numbers(match[2]), _numbers(match[3])
        if len(sizes) != len(strides):
            return None
        layouts.append(Layout(match["name"].strip(), sizes, strides, int(match[4])))
    return drawn(layouts)


def drawn(layouts: Sequence[Layout]) -> StorageDrawing | None:
    """Returns the drawing of tensors over one storage; None if it is too large, or if nothing is reached."""
    if not layouts or len(layouts) > MOST_TENSORS or any(math.prod(layout.sizes) > MOST_CELLS for layout in layouts):
        return None
    last = max((layout.placed.last for layout in layouts if layout.placed.elements), default=-1)
    return StorageDrawing(last + 1, tuple(layouts)) if 0 <= last < MOST_CELLS else None


def lines_of(picture: StorageDrawing) -> list[str]:
    """Returns the drawing in box characters, with the facts of each tensor below."""
    return [*picture.strip(WIDTH - 1).boxed(), "", *(f"{layout.name}: {layout.facts}" for layout in picture.layouts)]


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(",") if part.strip())
