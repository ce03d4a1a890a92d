"""A flowchart of a note as a picture in the page: boxes in rows, an arrow never through a box, its words below it."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, NamedTuple

from ptexplore.render.html.words import escaped
from ptexplore.view.notes.prose import Edge, arrows, edges

if TYPE_CHECKING:
    from collections.abc import Sequence

_CHAR, _LINE, _WIDE = 7.3, 17, 22  # pixels of a letter and of a line; letters of a line in a box
_MOST = 40  # arrows that are still a picture
_GAP, _ROOM, _LANE = 26, 34, 18  # pixels between boxes of a row, between rows, between arrows beside the rows


class _Box(NamedTuple):
    x: float
    y: float
    wide: float
    high: float
    lines: list[str]

    @property
    def middle(self) -> float:
        return self.x + self.wide / 2


def figure(picture: str) -> str | None:
    """The HTML of a Mermaid flowchart; None where it is no simple one."""
    found, text = edges(picture), arrows(picture)
    if found is None or text is None:
        return None
    words = escaped("\n".join(text))
    if len(found) > _MOST:
        return f'<pre class="flow">{words}</pre>\n'
    drawn = f'<div class="drawn" tabindex="0" role="region" aria-label="Flowchart">{_drawn(found)}</div>'
    return (
        f'<figure class="flow">{drawn}'
        f"<details><summary>the same in words</summary><pre>{words}</pre></details></figure>\n"
    )


def _drawn(found: Sequence[Edge]) -> str:
    rows = _rows(found)
    rank = {name: number for number, row in enumerate(rows) for name in row}
    around = [one for one in found if rank[one.target] != rank[one.source] + 1]
    boxes, width, height = _placed(rows, found, rank, len(around))
    out: list[str] = []
    labels = []
    for one in found:
        start, end = boxes[one.source], boxes[one.target]
        if one in around:
            labels.append(_around(out, one, start, end, width, around.index(one) + 1))
        else:
            labels.append(_straight(out, one, start, end, len(around)))
    room = max([width + len(around) * _LANE, *(right for right, _text in labels)]) + 4
    shapes = "".join(_box(one) for one in boxes.values())
    told = "".join(text for _right, text in labels)
    size = f'width="{room:.0f}" height="{height:.0f}" viewBox="0 0 {room:.0f} {height:.0f}"'
    return f'<svg {size} aria-hidden="true" focusable="false">{"".join(out)}{shapes}{told}</svg>'


def _rows(found: Sequence[Edge]) -> list[list[str]]:
    """The boxes by how far they are from the first, arrows back left aside; each below what leads to it."""
    names = list(dict.fromkeys(name for one in found for name in (one.source, one.target)))
    leads = {name: [one.target for one in found if one.source == name] for name in names}
    rank: dict[str, int] = {}

    def visit(name: str, at: int, above: tuple[str, ...]) -> None:
        if rank.get(name, -1) >= at:
            return
        rank[name] = at
        for other in leads[name]:
            if other != name and other not in above:
                visit(other, at + 1, (*above, name))

    for name in names:  # what is written first is at the top, also where an arrow leads back to it
        if name not in rank:
            visit(name, 0, ())
    rows: list[list[str]] = [[] for _ in range(max(rank.values()) + 1)]
    for name in names:
        rows[rank[name]].append(name)
    return rows


def _placed(
    rows: list[list[str]], found: Sequence[Edge], rank: dict[str, int], around: int
) -> tuple[dict[str, _Box], float, float]:
    """The boxes, each with room for the words of the arrows above it; how wide and high all are."""
    words = {end: text for one in found for end, text in ((one.source, one.source_text), (one.target, one.target_text))}
    lines = {name: textwrap.wrap(words[name] or name, _WIDE) or [name] for row in rows for name in row}
    told = {one.target: textwrap.wrap(one.label, _WIDE) for one in found if rank[one.target] == rank[one.source] + 1}
    wide = {name: max(map(len, one)) * _CHAR + 22 for name, one in lines.items()}
    cell = {name: max(wide[name], max(map(len, told.get(name) or [""])) * _CHAR) for name in wide}
    width = max(sum(cell[name] + _GAP for name in row) - _GAP for row in rows) + 8
    boxes: dict[str, _Box] = {}
    y = 8.0 + 9 * around
    for number, row in enumerate(rows):
        x = (width - sum(cell[name] + _GAP for name in row) + _GAP) / 2
        y += max(len(told.get(name, ())) for name in row) * _LINE + (_ROOM + 9 * around if number else 0)
        for name in row:
            high = len(lines[name]) * _LINE + 14
            boxes[name] = _Box(x + (cell[name] - wide[name]) / 2, y, wide[name], high, lines[name])
            x += cell[name] + _GAP
        y += max(boxes[name].high for name in row)
    return boxes, width, y + 12 + 6 * around


def _box(one: _Box) -> str:
    rect = f'<rect x="{one.x:.1f}" y="{one.y:.1f}" width="{one.wide:.1f}" height="{one.high:.1f}" rx="5"/>'
    return rect + _text(one.lines, one.middle, one.y + 20, "middle")


def _text(lines: Sequence[str], x: float, y: float, anchor: str) -> str:
    rows = "".join(f'<tspan x="{x:.1f}" y="{y + n * _LINE:.1f}">{escaped(one)}</tspan>' for n, one in enumerate(lines))
    return f'<text text-anchor="{anchor}">{rows}</text>'


def _label(text: str, x: float, low: float, anchor: str) -> tuple[float, str]:
    """The words of an arrow, the last line ending at `low`; how far right they go."""
    lines = textwrap.wrap(text, _WIDE)
    if not lines:
        return 0, ""
    wide = max(map(len, lines)) * _CHAR
    left = x - wide / 2 if anchor == "middle" else x
    y = low - len(lines) * _LINE
    size = f'width="{wide + 4:.1f}" height="{len(lines) * _LINE:.1f}"'
    back = f'<rect class="back" x="{left - 2:.1f}" y="{y:.1f}" {size}/>'
    return left + wide, f'<g class="label">{back}{_text(lines, x, y + 13, anchor)}</g>'


def _straight(out: list[str], one: Edge, start: _Box, end: _Box, around: int) -> tuple[float, str]:
    """An arrow to the next row; its words stand above the box that it leads to, and above what leads in from aside."""
    x, y, there, top = start.middle, start.y + start.high, end.middle, end.y
    low = top - 14 - 4 * around
    turn = low - len(textwrap.wrap(one.label, _WIDE)) * _LINE
    half = (y + turn) / 2
    curve = f"C{x:.1f} {half:.1f} {there:.1f} {half:.1f} {there:.1f} {turn:.1f}"
    out.append(f'<path d="M{x:.1f} {y:.1f}{curve}V{top - 2:.1f}"/>{_head(there, top)}')
    return _label(one.label, there, low, "middle")


def _around(out: list[str], one: Edge, start: _Box, end: _Box, width: float, number: int) -> tuple[float, str]:
    """An arrow back, or over a row: out below its box, beside all rows, in above the box it leads to."""
    lane = width + number * _LANE
    x, y = start.middle + 9 * number, start.y + start.high
    there, top = end.middle + 9 * number, end.y
    low, high = y + 6 + 5 * number, top - 8 - 4 * number
    way = f"M{x:.1f} {y:.1f}V{low:.1f}H{lane:.1f}V{high:.1f}H{there:.1f}V{top - 2:.1f}"
    out.append(f'<path d="{way}"/>{_head(there, top)}')
    return _label(one.label, lane + 6, (low + high) / 2 + 20 * (number % 3), "start")


def _head(x: float, y: float) -> str:
    return f'<path class="head" d="M{x:.1f} {y:.1f}l-4 -8h8z"/>'
