"""Draws the flowchart of a note: boxes in rows, arrows that never cross a box, and the same in words below."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ptexplore.render.html.source_markup import escaped
from ptexplore.view.notes.prose import Edge, arrows, edges

_CHAR, _LINE, _WIDE = 7.3, 17, 22  # pixels of a letter and of a line; letters in a line of a box
_PHONE, _COLUMN, _PAGE = (
    330,
    640,
    1100,
)  # pixels for a drawing: on a phone, in a column of text, on a page of its own.
_MOST = 40  # arrows; a chart with more is shown in words only
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


class _Arrow(NamedTuple):
    shape: str
    label: str  # drawn over everything else
    right: float  # the right end of the label


def figure(picture: str) -> str | None:
    """Returns the HTML of a Mermaid flowchart, or None if it is not a simple one."""
    flow, text = edges(picture), arrows(picture)
    if flow is None or text is None:
        return None
    words = escaped("\n".join(text))
    if len(flow) > _MOST:
        return f'<pre class="flow">{words}</pre>\n'
    drawn = _scrolled(*_drawn(flow, {}), "Flowchart", _COLUMN)
    return f'<figure class="flow">{drawn}<details><summary>as text</summary><pre>{words}</pre></details></figure>\n'


def chart(flow: Sequence[Edge], links: Mapping[str, str]) -> str:
    """Returns the HTML of a flowchart whose boxes are links, by the name of the box; "" if it has too many arrows."""
    if not 0 < len(flow) <= _MOST:
        return ""
    return f'<figure class="flow">{_scrolled(*_drawn(flow, links), "Drawing of the graph", _PAGE)}</figure>\n'


def _scrolled(svg: str, wide: float, label: str, room: int) -> str:
    """Returns a drawing that scrolls. One that is wider than `room` pixels must not look complete."""
    drawn = f'<div class="drawn" tabindex="0" role="region" aria-label="{label}">{svg}</div>'
    if wide > _PHONE:
        shown = "facts" if wide > room else "facts only-narrow"
        drawn += f'<p class="{shown}">wider than the page: scroll sideways</p>'
    return drawn


def _drawn(flow: Sequence[Edge], links: Mapping[str, str]) -> tuple[str, float]:
    """Returns the drawing and its width."""
    rows = _rows(flow)
    rank = {name: number for number, row in enumerate(rows) for name in row}
    around = [edge for edge in flow if rank[edge.target] != rank[edge.source] + 1]
    boxes, width, height = _placed(rows, flow, rank, len(around))
    drawn = [
        _around(edge, boxes, width, around.index(edge) + 1) if edge in around else _straight(edge, boxes, len(around))
        for edge in flow
    ]
    room = max([width + len(around) * _LANE, *(arrow.right for arrow in drawn)]) + 4
    size = f'width="{room:.0f}" height="{height:.0f}" viewBox="0 0 {room:.0f} {height:.0f}"'
    linked = [_linked(_box(box), links.get(name)) for name, box in boxes.items()]
    shapes = [*(arrow.shape for arrow in drawn), *linked, *(arrow.label for arrow in drawn)]
    hidden = "" if links else ' aria-hidden="true" focusable="false"'
    return f"<svg {size}{hidden}>{''.join(shapes)}</svg>", room


def _linked(box: str, link: str | None) -> str:
    return f'<a href="{escaped(link)}">{box}</a>' if link else box


def _rows(flow: Sequence[Edge]) -> list[list[str]]:
    """Returns the boxes in rows, by their distance from the first box. Arrows back do not count."""
    names = list(dict.fromkeys(name for edge in flow for name in (edge.source, edge.target)))
    leads = {name: [edge.target for edge in flow if edge.source == name] for name in names}
    rank: dict[str, int] = {}

    def visit(name: str, row: int, way: tuple[str, ...]) -> None:
        if rank.get(name, -1) >= row:
            return
        rank[name] = row
        for target in leads[name]:
            if target != name and target not in way:
                visit(target, row + 1, (*way, name))

    for name in names:  # the first name in the text is at the top, even if an arrow leads back to it
        if name not in rank:
            visit(name, 0, ())
    return [[name for name in names if rank[name] == row] for row in range(max(rank.values()) + 1)]


def _placed(
    rows: list[list[str]], flow: Sequence[Edge], rank: dict[str, int], around: int
) -> tuple[dict[str, _Box], float, float]:
    """Returns the boxes, with room for the words of the arrows above each, and the width and height of all."""
    words = {
        end: text for edge in flow for end, text in ((edge.source, edge.source_text), (edge.target, edge.target_text))
    }
    lines = {name: textwrap.wrap(words[name] or name, _WIDE) or [name] for row in rows for name in row}
    labels = {
        edge.target: textwrap.wrap(edge.label, _WIDE) for edge in flow if rank[edge.target] == rank[edge.source] + 1
    }
    wide = {name: max(map(len, box)) * _CHAR + 22 for name, box in lines.items()}
    cell = {name: max(wide[name], max(map(len, labels.get(name) or [""])) * _CHAR) for name in wide}
    width = max(sum(cell[name] + _GAP for name in row) - _GAP for row in rows) + 8
    boxes: dict[str, _Box] = {}
    y = 8.0 + 9 * around
    for number, row in enumerate(rows):
        x = (width - sum(cell[name] + _GAP for name in row) + _GAP) / 2
        y += max(len(labels.get(name, ())) for name in row) * _LINE + (_ROOM + 9 * around if number else 0)
        for name in row:
            high = len(lines[name]) * _LINE + 14
            boxes[name] = _Box(x + (cell[name] - wide[name]) / 2, y, wide[name], high, lines[name])
            x += cell[name] + _GAP
        y += max(boxes[name].high for name in row)
    return boxes, width, y + 12 + 6 * around


def _box(box: _Box) -> str:
    rect = f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.wide:.1f}" height="{box.high:.1f}" rx="5"/>'
    return rect + _text(box.lines, box.middle, box.y + 20, "middle")


def _text(lines: Sequence[str], x: float, y: float, anchor: str) -> str:
    rows = "".join(
        f'<tspan x="{x:.1f}" y="{y + n * _LINE:.1f}">{escaped(line)}</tspan>' for n, line in enumerate(lines)
    )
    return f'<text text-anchor="{anchor}">{rows}</text>'


def _arrow(way: str, x: float, y: float, label: str, left: float, low: float, anchor: str) -> _Arrow:
    """Returns an arrow along a path, with its head at a place. The last line of its words ends at `low`."""
    shape = f'<path d="{way}"/><path class="head" d="M{x:.1f} {y:.1f}l-4 -8h8z"/>'
    lines = textwrap.wrap(label, _WIDE)
    if not lines:
        return _Arrow(shape, "", 0)
    wide = max(map(len, lines)) * _CHAR
    begin = left - wide / 2 if anchor == "middle" else left
    top = low - len(lines) * _LINE
    size = f'width="{wide + 4:.1f}" height="{len(lines) * _LINE:.1f}"'
    back = f'<rect class="back" x="{begin - 2:.1f}" y="{top:.1f}" {size}/>'
    return _Arrow(shape, f'<g class="label">{back}{_text(lines, left, top + 13, anchor)}</g>', begin + wide)


def _straight(edge: Edge, boxes: Mapping[str, _Box], around: int) -> _Arrow:
    """Returns an arrow to the next row. Its words are above its target, and above arrows that come in sideways."""
    start, end = boxes[edge.source], boxes[edge.target]
    x, y = start.middle, start.y + start.high
    low = end.y - 14 - 4 * around
    turn = low - len(textwrap.wrap(edge.label, _WIDE)) * _LINE
    half = (y + turn) / 2
    curve = f"C{x:.1f} {half:.1f} {end.middle:.1f} {half:.1f} {end.middle:.1f} {turn:.1f}"
    way = f"M{x:.1f} {y:.1f}{curve}V{end.y - 2:.1f}"
    return _arrow(way, end.middle, end.y, edge.label, end.middle, low, "middle")


def _around(edge: Edge, boxes: Mapping[str, _Box], width: float, number: int) -> _Arrow:
    """Returns an arrow back, or over a row: out below its box, past all rows at the side, in above its target."""
    start, end = boxes[edge.source], boxes[edge.target]
    lane = width + number * _LANE
    x, y = start.middle + 9 * number, start.y + start.high
    to, top = end.middle + 9 * number, end.y
    low, high = y + 6 + 5 * number, top - 8 - 4 * number
    way = f"M{x:.1f} {y:.1f}V{low:.1f}H{lane:.1f}V{high:.1f}H{to:.1f}V{top - 2:.1f}"
    return _arrow(way, to, top, edge.label, lane + 6, (low + high) / 2 + 20 * (number % 3), "start")
