"""A storage as rows of cells: which index of which tensor is in which cell. Wraps at a width, and folds long parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ptexplore.model.tensor_layouts import PlacedTensor
from ptexplore.view.line import Span

BETWEEN = "·"  # a cell between the elements of a tensor
CONTINUES = "─"  # a further cell of an element
EVERY = "*"  # every index of a dimension with stride 0
HEADING = "cell"
GAP = 2  # columns between two cells
MOST_ROWS = 8  # rows of cells; if there are more, only some are shown: the first ones, and those where a tensor ends
FIRST_ROWS = 2
MOST_LINES = 4  # lines for the indices that lead to one cell; more indices are counted
MOST_COUNTED = 99  # indices that lead to one cell
LONGEST_NAME, SHORTEST_NAME = 32, 12  # columns
COLOURS = 4  # of indices
SHORTENED = "…"


@dataclass(frozen=True, slots=True)
class StripRow:
    """A row of cells: the number of the first one, and for each tensor in it the labels of the cells ("" for none).

    A tensor has several lines if several of its indices lead to one cell. Further lines have no name.
    """

    first: int
    count: int
    lines: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class FoldedCells:
    """Cells that are not shown."""

    count: int

    @property
    def text(self) -> str:
        """The number of the cells in words."""
        return f"{SHORTENED} {self.count:,} more cell{'s' * (self.count != 1)}"


@dataclass(frozen=True, slots=True)
class Strip:
    """A storage as rows of cells, with the width of the names and of a cell in columns."""

    names: int
    cell: int
    rows: tuple[StripRow | FoldedCells, ...]

    def lines(self) -> Iterator[tuple[Span, ...]]:
        """Yields the lines of the picture, with an empty line between rows."""
        for number, row in enumerate(self.rows):
            if number:
                yield ()
            if isinstance(row, FoldedCells):
                yield (Span(row.text, "dim"),)
                continue
            numbers = [str(row.first + cell) for cell in range(row.count)]
            yield (Span(f"{HEADING:<{self.names}}{'  '.join(['', *map(self._cell, numbers)])}".rstrip(), "dim"),)
            for name, labels in row.lines:
                yield (Span(f"{name:<{self.names}}", "name"), *self._spans(labels))

    def boxed(self) -> Iterator[str]:
        """Yields the lines of the picture with a box around each cell: one column wider than `lines`."""
        before = " " * (self.names + 1)
        for row in self.rows:
            if isinstance(row, FoldedCells):
                yield f"{SHORTENED} {row.count:,} more cell{'s' * (row.count != 1)}"
                continue
            numbers = (self._cell(str(row.first + cell)) for cell in range(row.count))
            border = ["─" * (self.cell + 1)] * row.count
            yield f"{HEADING:<{self.names}}  {'  '.join(numbers)}".rstrip()
            yield f"{before}┌{'┬'.join(border)}┐"
            for name, labels in row.lines:
                cells = "│".join(f"{self._cell(label)}{CONTINUES if label == CONTINUES else ' '}" for label in labels)
                yield f"{name:<{self.names}} │{cells}│"
            yield f"{before}└{'┴'.join(border)}┘"

    def _spans(self, labels: Sequence[str]) -> Iterator[Span]:
        """Yields the cells of a line. The colour of an index depends on its first number, so each row has a colour."""
        last = max(number for number, label in enumerate(labels) if label)
        for label in labels[: last + 1]:
            first, comma, _rest = label.partition(",")
            colour = int(first) % COLOURS if comma and first.isdecimal() else 0
            yield Span(f"{' ' * GAP}{self._cell(label)}", "dim" if label == BETWEEN else f"index {colour}")

    def _cell(self, label: str) -> str:
        filler = CONTINUES if label == CONTINUES else " "
        return f"{label}{filler * (self.cell - len(label))}"


def strip(tensors: Sequence[tuple[str, PlacedTensor]], cells: int, width: int) -> Strip:
    """Returns the cells of a block of memory in rows that fit the width, with the names of the tensors before them.

    `short_names` makes names that are short enough.
    """
    names = max(len(HEADING), *(len(name) for name, _ in tensors))
    cell = max(len(str(cells - 1)), *(_widest(placed) for _, placed in tensors))
    room = max((width - names) // (cell + GAP), 1)
    count = _in_a_row([placed for _, placed in tensors], cells, room)
    return Strip(names, cell, tuple(_rows(tensors, cells, count)))


def short_names(names: Iterable[str], width: int) -> dict[str, str]:
    """Returns each name with the text for the column of names at a width. Different names get different texts.

    A long name loses its middle. If that makes two names equal, both lose their beginning; else they are numbered.
    """
    longest = max(min(width // 4, LONGEST_NAME), SHORTEST_NAME)
    half = (longest - 1) // 2
    wanted = list(dict.fromkeys(names))
    short: dict[str, str] = {name: name for name in wanted if len(name) <= longest}
    for first, last in ((half, half), (0, longest - 1)):
        left = {n: f"{n[:first]}{SHORTENED}{n[-last:]}" for n in wanted if n not in short}
        counts = Counter([*left.values(), *short.values()])
        short |= {name: text for name, text in left.items() if counts[text] == 1}
    for number, name in enumerate(wanted, 1):
        end = f"{SHORTENED}{number}"
        short.setdefault(name, f"{name[: longest - len(end)]}{end}")
    return short


def _widest(placed: PlacedTensor) -> int:
    """Returns the columns that the longest label of a tensor needs."""
    last = [
        EVERY if n > 1 and not stride else str(n - 1) for n, stride in zip(placed.sizes, placed.strides, strict=True)
    ]
    return len(",".join(last)) or len("()")


def _in_a_row(placed: Sequence[PlacedTensor], cells: int, room: int) -> int:
    """Returns how many cells a row has: whole rows of the largest tensor, if they fit."""
    if cells <= room:
        return cells
    base = max(placed, key=lambda tensor: tensor.elements)
    moving = [(stride, n) for n, stride in zip(base.sizes, base.strides, strict=True) if n > 1 and stride]
    stride, n = min(moving, default=(1, 1))
    run = stride * n
    return room - room % run if run <= room else room


def _rows(shown: Sequence[tuple[str, PlacedTensor]], cells: int, count: int) -> Iterator[StripRow | FoldedCells]:
    """Yields the rows in order: all of them, or those in which a tensor begins or ends, and the first ones."""
    total = -(-cells // count)
    wanted = range(total) if total <= MOST_ROWS else _wanted([placed for _, placed in shown], total, count)
    expected = 0
    for number in wanted:
        if number > expected:
            yield FoldedCells((number - expected) * count)
        yield _row(shown, number * count, min(count, cells - number * count))
        expected = number + 1
    if expected < total:
        yield FoldedCells(cells - expected * count)


def _wanted(placed: Sequence[PlacedTensor], total: int, count: int) -> list[int]:
    ends = {*range(FIRST_ROWS), total - 1}
    for tensor in placed:
        for cell in (tensor.start, tensor.last + tensor.span - 1):
            if len(ends) < MOST_ROWS:
                ends.add(cell // count)
    return sorted(ends)


def _row(shown: Sequence[tuple[str, PlacedTensor]], first: int, count: int) -> StripRow:
    lines: list[tuple[str, tuple[str, ...]]] = []
    for name, placed in shown:
        for number, labels in enumerate(_lines(placed, first, count)):
            lines.append(("" if number else name, labels))
    return StripRow(first, count, tuple(lines))


def _lines(placed: PlacedTensor, first: int, count: int) -> list[tuple[str, ...]]:
    """Returns the labels of the cells of one row, in as many lines as one cell has indices; [] without any."""
    indices_of = [placed.indices_at(cell, MOST_COUNTED + 1) for cell in range(first, first + count)]
    most = max(map(len, indices_of))
    lines = [[""] * count for _ in range(most if most <= MOST_LINES else 1)]
    lines = lines or [[""] * count]
    line_of: dict[tuple[int, ...], int] = {}
    for number, indices in enumerate(indices_of):
        if len(indices) > len(lines):
            lines[0][number] = f"×{len(indices)}" if len(indices) <= MOST_COUNTED else f">{MOST_COUNTED}"
        elif indices:
            line_of = _assigned(line_of, indices)
            for index in indices:
                lines[line_of[index[:-1]]][number] = _label(placed, index)
        else:
            lines[0][number] = _empty(placed, first + number)
    return [tuple(line) for line in lines] if any(map(any, lines)) else []


def _assigned(before: dict[tuple[int, ...], int], indices: Sequence[tuple[int, ...]]) -> dict[tuple[int, ...], int]:
    """Returns the line of each index, by its outer part, which keeps the line that it has in the cell before."""
    outer = [index[:-1] for index in indices]
    kept = {part: before[part] for part in outer if part in before}
    free = iter(line for line in range(len(outer)) if line not in kept.values())
    for part in outer:
        if part not in kept:
            kept[part] = next(free)
    return kept


def _empty(placed: PlacedTensor, cell: int) -> str:
    """Returns the label of a cell in which no element begins."""
    if any(placed.indices_at(before, 1) for before in range(max(cell - placed.span + 1, 0), cell)):
        return CONTINUES
    return BETWEEN if placed.start < cell < placed.last else ""


def _label(placed: PlacedTensor, index: tuple[int, ...]) -> str:
    """Returns an index: `1,0`, with `*` for a dimension along which all indices lead to the same cell."""
    parts = zip(index, placed.sizes, placed.strides, strict=True)
    return ",".join(EVERY if n > 1 and not stride else str(i) for i, n, stride in parts) or "()"
