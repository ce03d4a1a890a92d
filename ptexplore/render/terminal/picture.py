"""What the console shows, as an SVG picture: rich's own export with a frame of ours that loads nothing."""

from __future__ import annotations

import html
import io
from collections.abc import Callable

from rich.console import Console

WIDTH = 100

# rich's stock frame fetches a font from a CDN; this one takes the reader's own monospace.
FRAME = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="TITLE">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
  font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>{lines}</defs>
<rect width="100%" height="100%" rx="8" fill="#0c0c0c"/>
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g></g></svg>
"""


def picture(draw: Callable[[Console], None], title: str) -> str:
    """The SVG of what `draw` prints, 100 columns wide, in colour; equal input gives equal bytes."""
    console = Console(
        record=True, width=WIDTH, file=io.StringIO(), markup=False, highlight=False, force_terminal=True,
        color_system="truecolor", legacy_windows=False,
    )  # fmt: skip
    draw(console)
    label = html.escape(title).replace("{", "{{").replace("}", "}}")  # the frame is a format string
    return console.export_svg(title=title, code_format=FRAME.replace("TITLE", label), unique_id="ptx")
