"""Finds the marks about something on the screen: lines of a file, a place in it, an operator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from ptexplore.annotations.marks import Mark

MarksByTree = Mapping[str, Sequence[Mark]]  # the name of a tree -> its marks

# A hop inside one of these is not about all of it: a class of a thousand lines says little about each method.
_WIDE = ("class", "struct", "union", "enum", "namespace", "module")
_YAML = (".yaml", ".yml")


def on_lines(marks: Iterable[Mark], path: str, first: int, last: int) -> list[Mark]:
    """Returns the placed marks whose own line is among these lines of a file, sorted by line."""
    on_these = (mark for mark in marks if mark.path == path and first <= mark.line <= last)
    return sorted(on_these, key=lambda mark: (mark.line, mark.stop))


def holds(mark: Mark, path: str | None, line: int | None) -> bool:
    """Whether the mark is about a place: the place is on the mark's lines, or in the function around them."""
    if line is None or mark.path != path or not mark.placed:
        return False
    if mark.kind in _WIDE:
        return line == mark.symbol or (
            (mark.line, mark.end_line) != (mark.symbol, mark.symbol_end) and mark.line <= line <= mark.end_line
        )
    return mark.begin <= line <= mark.symbol_end


def without_source(marks_by_tree: MarksByTree) -> tuple[int, int]:
    """Returns how many stops are about files that no tree here has, and how many stops there are."""
    placed: dict[str, bool] = {}
    for mark in chain.from_iterable(marks_by_tree.values()):
        placed[mark.stop] = placed.get(mark.stop, False) or mark.outcome != "absent"
    return sum(not known for known in placed.values()), len(placed)


def about_operator(mark: Mark, name: str) -> bool:
    """Whether a mark is anchored at an operator's YAML entry, or points to the operator."""
    return name.removeprefix("aten::") in operators_of(mark)


def operators_of(mark: Mark) -> set[str]:
    """Returns the operators whose YAML entry a mark is anchored at, or that it points to, without `aten::`."""
    entry = {mark.name.removeprefix("aten::")} if mark.path.endswith(_YAML) else set()
    return entry | {op.removeprefix("aten::") for op in mark.ops}
