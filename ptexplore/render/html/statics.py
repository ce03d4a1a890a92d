"""The files that are the same for every site: the style sheet, the scripts, and what hosts need."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptexplore.render.html.output import Output


def write_assets(out: Output) -> None:
    """Write them."""
    folder = files("ptexplore.render.html") / "assets"
    for asset in sorted(folder.iterdir(), key=lambda one: one.name):
        if asset.name.endswith((".css", ".js", ".svg")):
            out.write(f"assets/{asset.name}", asset.read_bytes())
    out.write(".nojekyll", "")
