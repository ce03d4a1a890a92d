"""Draws a storage and the tensors over it as a table: a column for each cell, a row for each tensor."""

from __future__ import annotations

from ptexplore.render.html.source_markup import escaped
from ptexplore.view.notes.storage_drawing import BETWEEN, StorageDrawing


def storage_figure(picture: StorageDrawing) -> str:
    """Returns the HTML of a drawing. A cell that a tensor reaches is marked, and has the index that leads to it."""
    head = "".join(f"<th scope=col>{cell}</th>" for cell in range(picture.cells))
    rows = []
    for layout, labels in picture.tensors:
        name = layout.name.partition("=")[0].strip()
        cells = "".join(f"<td{_kind(label)}>{escaped(label)}</td>" for label in labels)
        rows.append(f"<tr><th scope=row><code>{escaped(name)}</code></th>{cells}</tr>")
    facts = "".join(
        f"<li><code>{escaped(layout.name)}</code> {escaped(layout.facts)}</li>" for layout, _labels in picture.tensors
    )
    words = escaped(picture.in_words)
    return (
        f'<figure class="storage"><div class="drawn" tabindex="0" role="region" aria-label="{words}">'
        f"<table><thead><tr><th scope=row>element</th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
        f"<ul class=facts>{facts}</ul></figure>\n"
    )


def _kind(label: str) -> str:
    return ' class="in"' if label not in ("", BETWEEN) else ""
