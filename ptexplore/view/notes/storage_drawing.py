"""Draws which cells of a storage some tensors reach: from sizes, strides and offset, as cells and as text."""

from __future__ import annotations

import itertools
import math
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

# The language of a block in a note. It has a line for each tensor: "v = x[1:]: sizes (2, 4), strides (4, 1), offset 4".
LANGUAGE = "storage"
MOST_CELLS = 64
MOST_TENSORS = 8
_LONGEST = 300  # characters
_NUMBERS = r"\(((?:\d{1,6}, ?)*(?:\d{1,6})?)\)"
_LINE = re.compile(rf"(?P<name>.{{1,80}}?): sizes {_NUMBERS},? strides {_NUMBERS},? offset (\d{{1,6}})")
BETWEEN = "·"  # a cell inside a tensor that no index leads to


@dataclass(frozen=True, slots=True)
class Layout:
    """A tensor over the storage: the expression that makes it, sizes, strides and offset in elements."""

    name: str
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int

    def reached(self) -> dict[int, list[tuple[int, ...]]]:
        """Returns the indices that lead to each cell of the storage, by the cell's number."""
        cells: defaultdict[int, list[tuple[int, ...]]] = defaultdict(list)
        for index in itertools.product(*map(range, self.sizes)):
            cells[self.offset + sum(i * stride for i, stride in zip(index, self.strides, strict=True))].append(index)
        return dict(cells)

    @property
    def facts(self) -> str:
        """Sizes, strides and offset in words."""
        return f"sizes {self.sizes}, strides {self.strides}, offset {self.offset}"


@dataclass(frozen=True, slots=True)
class StorageDrawing:
    """The number of cells of a storage, and each tensor with a label for each cell ("" for none)."""

    cells: int
    tensors: tuple[tuple[Layout, tuple[str, ...]], ...]

    @property
    def in_words(self) -> str:
        """The drawing as one sentence a tensor, for who cannot see it."""
        sentences = [
            f"{layout.name} reaches cells {', '.join(str(cell) for cell in sorted(layout.reached()))}"
            for layout, _labels in self.tensors
        ]
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
    last = max((_last(layout) for layout in layouts if math.prod(layout.sizes)), default=-1)
    if not 0 <= last < MOST_CELLS:
        return None
    return StorageDrawing(last + 1, tuple((layout, _labels(layout, last + 1)) for layout in layouts))


def lines_of(picture: StorageDrawing) -> list[str]:
    """Returns the drawing in box characters, with the facts of each tensor below."""
    wide = max(len(label) for _layout, labels in picture.tensors for label in (*labels, str(picture.cells - 1)))
    names = max(len(_short(layout)) for layout, _labels in picture.tensors)
    margin = " " * (names + 2)
    rule = "─" * wide
    out = [margin + " ".join(["", *(f"{cell:^{wide}}" for cell in range(picture.cells))]).rstrip()]
    out.append(f"{margin}┌{'┬'.join([rule] * picture.cells)}┐")
    for layout, labels in picture.tensors:
        cells = "│".join(f"{label:^{wide}}" for label in labels)
        out.append(f"{_short(layout):<{names}}  │{cells}│")
    out.append(f"{margin}└{'┴'.join([rule] * picture.cells)}┘")
    return [*out, *(f"{layout.name}: {layout.facts}" for layout, _labels in picture.tensors)]


def _short(layout: Layout) -> str:
    return layout.name.partition("=")[0].strip()


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(",") if part.strip())


def _last(layout: Layout) -> int:
    pairs = zip(layout.sizes, layout.strides, strict=True)
    return layout.offset + sum((size - 1) * stride for size, stride in pairs)


def _labels(layout: Layout, cells: int) -> tuple[str, ...]:
    reached = layout.reached()
    first, last = (min(reached), max(reached)) if reached else (0, -1)
    return tuple(
        _label(reached[cell]) if cell in reached else BETWEEN if first < cell < last else "" for cell in range(cells)
    )


def _label(indices: Sequence[tuple[int, ...]]) -> str:
    """Returns the index that leads to a cell; how many, if several do."""
    return (",".join(map(str, indices[0])) or "()") if len(indices) == 1 else f"×{len(indices)}"
