"""Draws a storage and the tensors over it as tables: a column for each cell, a row for each tensor."""

from __future__ import annotations

from ptexplore.render.html.source_markup import escaped
from ptexplore.view.notes.storage_drawing import StorageDrawing
from ptexplore.view.tensor.strip import BETWEEN, Strip, StripRow


def storage_figure(picture: StorageDrawing) -> str:
    """Returns the HTML of a drawing. A cell that a tensor reaches is marked, and has the index that leads to it."""
    tables = cell_tables(picture.strip())
    facts = "".join(
        f"<li><code>{escaped(layout.name)}</code> {escaped(layout.facts)}</li>" for layout in picture.layouts
    )
    words = escaped(picture.in_words)
    return (
        f'<figure class="storage"><div class="drawn" tabindex="0" role="region" aria-label="{words}">'
        f"{tables}</div><ul class=facts>{facts}</ul></figure>\n"
    )


def cell_tables(drawn: Strip) -> str:
    """Returns the rows of a strip as tables. A table says where cells were left out."""
    return "".join(
        _table(row) if isinstance(row, StripRow) else f"<p class=facts>{escaped(row.text)}</p>" for row in drawn.rows
    )


def _table(row: StripRow) -> str:
    head = "".join(f"<th scope=col>{row.first + number}</th>" for number in range(row.count))
    lines = []
    for name, labels in row.lines:
        cells = "".join(f"<td{_kind(label)}>{escaped(label)}</td>" for label in labels)
        lines.append(f"<tr><th scope=row><code>{escaped(name)}</code></th>{cells}</tr>")
    return f"<table><thead><tr><th scope=row>element</th>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _kind(label: str) -> str:
    return ' class="in"' if label not in ("", BETWEEN) else ""
