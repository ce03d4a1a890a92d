"""Draws in a terminal with rich: at any width, in a pipe, with and without colour. Or the same as an SVG picture."""

from __future__ import annotations

import html
import io
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook
from rich.segment import Segment
from rich.text import Text

from ptexplore.model.places import SourceRef
from ptexplore.safe_text import clean, clean_document
from ptexplore.view.line import Span, Tone

if TYPE_CHECKING:  # most commands print no notes and no HTML
    from rich.terminal_theme import TerminalTheme

    from ptexplore.annotations.marks import Mark

Locate = Callable[[SourceRef], str | None]  # a place in a tree -> the address of its line on this machine
_Drawn = ParamSpec("_Drawn")

SIZES, LEAST_SIZE = ("COLUMNS", "LINES"), 10  # the variables for a terminal's size, and the least size that is believed
PIPE_WIDTH = 4000  # columns: a path:line that another program reads is never broken
PICTURE_WIDTH = 100

STYLES: dict[Tone, str] = {
    "": "", "strong": "bold", "dim": "dim", "good": "green", "fair": "cyan", "doubt": "yellow", "bad": "red",
    "other": "magenta", "link": "",
}  # fmt: skip

# rich's stock frame fetches a font from a CDN. This frame uses the reader's own monospace font. It has no title bar, so
# the text moves up into the middle.
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
<g transform="translate(0, -16) translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g></g></svg>
"""


class _Gate(RenderHook):
    """A filter for everything that a console draws: no text steers the terminal, even if it was not cleaned."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        """Wrap each renderable, for cleaning while it is drawn."""
        return [_Gated(renderable) for renderable in renderables]


@dataclass(frozen=True)
class _Gated:
    drawn: ConsoleRenderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for segment in console.render(self.drawn, options):
            safe = segment.control or (segment.text.isascii() and segment.text.isprintable())
            yield segment if safe else segment._replace(text=clean_document(segment.text))


def gated(console: Console) -> Console:
    """Returns the console with a gate, so that no text steers the terminal. All consoles of ptexplore have one.

    All are made with `force_jupyter=False`: in a notebook, rich would show each line as an output of its own.
    """
    console.push_render_hook(_Gate())
    return console


def make_console(*, stderr: bool = False) -> Console:
    """Returns a console that obeys NO_COLOR and never reads markup. In a pipe it folds lines only if COLUMNS is set."""
    environment = {name: value for name, value in os.environ.items() if name not in SIZES or _is_size(value)}
    console = gated(Console(
        stderr=stderr, markup=False, highlight=False, emoji=False, force_jupyter=False, _environ=environment,
    ))  # fmt: skip
    if not console.is_terminal and "COLUMNS" not in environment:
        console.width = PIPE_WIDTH
    return console


def plain_text(draw: Callable[[Console], object], width: int) -> str:
    """Returns everything that `draw` prints, without colours."""
    out = io.StringIO()
    console = gated(Console(
        file=out, width=width, markup=False, highlight=False, emoji=False, force_jupyter=False, color_system=None,
    ))  # fmt: skip
    draw(console)
    return out.getvalue()


def _is_size(text: str) -> bool:
    """Whether COLUMNS or LINES has a real size: some programs leave 0 there."""
    return text.isascii() and text.isdigit() and len(text) < 6 and int(text) >= LEAST_SIZE


def picture(draw: Callable[[Console], None], title: str) -> str:
    """Returns an SVG of everything that `draw` prints, 100 columns wide, in colour. Equal input gives equal bytes."""
    console = gated(Console(
        record=True, width=PICTURE_WIDTH, file=io.StringIO(), markup=False, highlight=False, force_terminal=True,
        force_jupyter=False, color_system="truecolor", legacy_windows=False,
    ))  # fmt: skip
    draw(console)
    label = html.escape(clean(title)).replace("{", "{{").replace("}", "}}")  # the frame is a format string
    return console.export_svg(title=clean(title), code_format=FRAME.replace("TITLE", label), unique_id="ptx")


def inline_html(draw: Callable[[Console], object], width: int) -> str:
    """Returns everything that `draw` prints as HTML for a <pre>, with colours that fit light and dark pages.

    It has only <span> with inline styles: no style sheet, no class, no script.
    """
    console = gated(Console(
        record=True, width=width, file=io.StringIO(), markup=False, highlight=False, force_terminal=True,
        force_jupyter=False, color_system="truecolor", legacy_windows=False,
    ))  # fmt: skip
    draw(console)
    return console.export_html(theme=_on_any_page(), code_format="{code}", inline_styles=True).rstrip()


def _on_any_page() -> TerminalTheme:
    """Returns the colours of HTML. Each has about the same contrast on a white page and on a black one."""
    from rich.terminal_theme import TerminalTheme

    grey, red, green, yellow = (118, 118, 118), (214, 64, 56), (40, 132, 60), (150, 110, 0)
    blue, magenta, cyan = (60, 116, 214), (168, 80, 190), (0, 128, 148)
    # rich mixes the colour of dim text with the background's: with grey, the contrast stays.
    return TerminalTheme(grey, grey, [grey, red, green, yellow, blue, magenta, cyan, grey])


def captured(
    draw: Callable[Concatenate[Console, _Drawn], None], console: Console, *args: _Drawn.args, **kwargs: _Drawn.kwargs
) -> list[str]:
    """Returns everything that `draw` prints on this console, as lines."""
    with console.capture() as capture:
        draw(console, *args, **kwargs)
    return [line.rstrip() for line in capture.get().split("\n")[:-1]]


# --- a line of text ---


def styled(*parts: tuple[str, str]) -> Text:
    """Join texts, each with its style. They are cleaned, since they may come from source or notes."""
    return Text.assemble(*((clean(text), style) for text, style in parts), overflow="fold")


def drawn(spans: Iterable[Span], locate: Locate | None = None) -> Text:
    """Returns spans as text. Places become hyperlinks if `locate` knows their file."""
    return styled(*((span.text, _style(span, locate)) for span in spans))


def _style(span: Span, locate: Locate | None) -> str:
    address = locate(span.ref) if locate is not None and span.ref is not None else None
    return linked(address) or STYLES[span.tone]


def linked(address: str | None) -> str:
    """Returns the style of a link to an address; "" if there is none. Only terminals get links, pipes never do."""
    return f"underline link {address}" if address else ""


def address_of(file: str, line: int, editor: str | None) -> str:
    """Returns the address of a line on this machine: the editor's form, if the project names one, else `file://`."""
    uri = Path(file).as_uri()
    if editor is None:
        return f"{uri}#L{line}"
    return editor.replace("{path}", uri.removeprefix("file://")).replace("{line}", str(line))


def place_text(ref: SourceRef, room: int) -> str:
    """Returns a place in at most that many columns, but never less than the file's name and the line."""
    if ref.path is None or len(ref.candidates) > 1:
        return f"{len(ref.candidates)} places possible" if ref.candidates else "not known"
    line = f":{ref.line}" if ref.line else ""
    parts = ref.path.split("/")
    for first in range(len(parts)):
        text = f"{'…/' if first else ''}{'/'.join(parts[first:])}{line}"
        if cell_len(text) <= room:
            return text
    return f"{parts[-1]}{line}"


class Leveled(Protocol):
    """A row with its depth."""

    @property
    def level(self) -> int:
        """The number of rows that it is inside of."""


def guides(rows: Sequence[Leveled], columns: int) -> list[str]:
    """Returns the guides before the name of each row: lines from the row that it is inside of.

    Rows are in reading order, each `level` deep. A level may be missing.
    """
    out = [""] * len(rows)
    further: dict[int, bool] = {}  # by level: whether another row of that level follows, inside of the same row
    for number in range(len(rows) - 1, -1, -1):
        level = rows[number].level
        goes_on = further.get(level, False)
        further = {known: True for known in further if known < level} | ({level: True} if level else {})
        bars = [("│" if further.get(step) else " ") for step in range(1, level)]
        signs = [*bars, "├" if goes_on else "└"] if level else []
        out[number] = "".join(f"{sign:<{columns}}" for sign in signs)
    return out


def print_next(console: Console, command: str, before: str = "") -> None:
    """Print the next command."""
    print_command(console, command, f"{before}next: ")


def print_command(console: Console, command: str, label: str) -> None:
    """Print a command after a label. A long command continues after a backslash, as the shell reads it."""
    indent = " " * len(label.lstrip("\n"))
    try:
        words = [shlex.quote(word) for word in shlex.split(clean(command))]
    except ValueError:  # cleaning removed the other half of a pair of quotes
        words = [clean(command)]
    lines = [words[0]]
    for word in words[1:]:
        if len(indent) + len(lines[-1]) + len(word) + 3 > console.width:
            lines.append(word)
        else:
            lines[-1] += f" {word}"
    for number, line in enumerate(lines):
        more = " \\" if number < len(lines) - 1 else ""
        styled_line = Text.assemble((indent if number else label, "dim"), (f"{line}{more}", "cyan"))
        console.print(styled_line, soft_wrap=len(indent) + len(line) + len(more) > console.width)


def print_marks(console: Console, marks: Sequence[Mark], title: str) -> None:
    """Print the notes on the page: line, title, a warning if the place has changed, and the command for each."""
    console.print(Text(title, style="bold"))
    for mark in marks:
        line = styled(
            (f"{mark.line}* " if mark.line else "", "cyan"), (mark.title, ""),
            (f"  (changed since {mark.baseline})" if mark.outcome == "changed" else "", "yellow"),
        )  # fmt: skip
        command = styled((mark.command, "cyan"))
        if line.cell_len + command.cell_len + 4 <= console.width:
            folded(console, Text.assemble(line, "  ", command), "  ", "      ")
        else:
            folded(console, line, "  ", "      ")
            folded(console, command, "    ", "      ")  # unbroken, so that you can copy it


def folded(console: Console, text: Text, first: str = "", further: str = "") -> None:
    """Print a line, folded if the terminal is narrower, with the tree's guides before each part.

    Line ends become blanks, because a text of others must not begin a line.
    """
    if not text.plain.isprintable():
        text = text.copy()
        text.plain = clean(text.plain)  # one letter for one letter: styles stay in place
    rooms = [max(console.width - len(indent), 20) for indent in (first, further)]
    for number, part in enumerate(text.divide(_breaks(text.plain, *rooms))):
        shown = part[len(part.plain) - len(part.plain.lstrip()) :] if number else part
        shown.rstrip()
        console.print(Text.assemble((further if number else first, "dim"), shown), soft_wrap=True)


def folded_within(console: Console, text: Text, first: str, further: str, width: int) -> None:
    """Print a line, folded at the width of a page; a pipe has no width."""
    whole, console.width = console.width, width
    try:
        folded(console, text, first, further)
    finally:
        console.width = whole


def _breaks(text: str, room: int, room_after: int) -> list[int]:
    """Returns where to fold, so that no part is wider than its room: after a space, else after a slash, else anywhere.

    The first part has `room` columns, all further parts have `room_after`.
    """
    breaks: list[int] = []
    start = 0
    while len(text) - start > room:
        part = text[start : start + room + 1]
        start += min(part.rfind(" ") + 1 or part.rfind("/", 0, room) + 1 or room, room)
        breaks.append(start)
        room = room_after
    return breaks
