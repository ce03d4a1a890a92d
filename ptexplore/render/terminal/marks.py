"""Print the notes that stand on what is shown; all that comes from notes is stripped of controls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from ptexplore.render.terminal.console import folded
from ptexplore.safe_text import clean

if TYPE_CHECKING:
    from ptexplore.annotations.marks import Mark


def print_marks(console: Console, found: Sequence[Mark], title: str) -> None:
    """Notes on what is shown: line, title, what to know of the place, the command that shows each."""
    console.print(Text(title, style="bold"))
    for mark in found:
        line = Text(f"{mark.line}* " if mark.line else "", style="cyan")
        line.append(clean(mark.title), style="default")
        if mark.outcome == "changed":
            line.append(f"  (changed since {clean(mark.baseline)})", style="yellow")
        line.append(f"  {clean(mark.command)}", style="cyan")
        folded(console, line, "  ", "      ")
