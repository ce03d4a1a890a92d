"""How CodeTour's own rules would place a stop: by the line's number, or by the first match of the line's text.

As its player and recorder do it (github.com/microsoft/codetour, src/player/index.ts, src/recorder/commands.ts):
`line` is taken as it is; `pattern` is the recorded line without its indentation, and the first match of that very text
in the file counts; a step that matches nothing is shown at line 2000.
"""

from __future__ import annotations

from dataclasses import dataclass

from ptexplore.annotations.anchors import ResolvedAnchor
from ptexplore.source.tree import SourceTree


@dataclass(frozen=True)
class Peer:
    """Where each rule puts a stop in another tree; None where it finds no line (or no file)."""

    line: int | None
    pattern: int | None


def place(stop: ResolvedAnchor, baseline: SourceTree, other: SourceTree) -> Peer:
    """Both rules for a stop that is at `stop.path` and `stop.line` in the baseline."""
    lines = other.lines(stop.path)
    by_line = stop.line if stop.line <= len(lines) else None
    text = (baseline.line(stop.path, stop.line) or "").strip()
    by_text = next((number for number, line in enumerate(lines, 1) if text in line), None) if text else None
    return Peer(by_line, by_text)
