"""Places of search results in a terminal: tree, path:line as a link, and how precisely it is known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rich.text import Text

from ptexplore.render.terminal.console import precision
from ptexplore.safe_text import clean
from ptexplore.view.trees import Spot

LocateIn = Callable[[Spot], "tuple[str, int] | None"]  # a place in a tree -> file and line on this machine


def path_line(spot: Spot, locate: LocateIn | None = None) -> Text:
    """`path:line`, a link where the file lies on this machine."""
    ref = spot.ref
    found = locate(spot) if locate is not None else None
    link = f"underline link {Path(found[0]).as_uri()}#L{found[1]}" if found else ""
    shown = f"{ref.path}:{ref.line}" if ref.line else ref.path or ""
    return Text.assemble((clean(shown), link), overflow="fold")


def where(spot: Spot, locate: LocateIn | None = None) -> Text:
    """`path:line  tree precision (reason)`."""
    out = path_line(spot, locate)
    ref = spot.ref
    out.append("  " if out else "")
    out.append(clean(spot.tree.label), style="magenta")
    out.append(" ").append_text(precision(ref))
    if ref.reason:
        out.append(f" ({clean(ref.reason)})", style="dim")
    return out
