"""One visible line of source as a strip: gutter, colours, what was searched for, the name under the cursor."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from ptexplore.tui.widgets import colours

if TYPE_CHECKING:
    from ptexplore.tui.reading.files import OpenFile

_MARKS = {0: " ", 1: "●"}
MORE = "›"


@dataclass(frozen=True, slots=True)
class Window:
    """What of a file is on the screen, and how: `left` is its first column, `word` the name under the cursor."""

    left: int
    width: int
    line: int
    word: tuple[int, int] | None
    span: tuple[int, int] | None
    dark: bool


def gutter(file: OpenFile) -> int:
    """How wide the line numbers are, with the note marks before them and a space after."""
    return len(str(max(len(file.raw), 1))) + 3


def strip(file: OpenFile, number: int, window: Window, found: Iterable[tuple[int, int]]) -> Strip:
    """Line `number` of a file; `found` are the columns to light up."""
    dark = window.dark
    here = number == window.line
    background = colours.part("here" if here else "span", dark=dark)
    base = colours.part("base", dark=dark)
    if here or (window.span is not None and window.span[0] <= number <= window.span[1]):
        base += background
    room = max(window.width - gutter(file), 1)
    text = file.window(number, window.left, room)
    marks = file.noted.get(number, 0)
    segments = [
        Segment(_MARKS.get(marks, str(min(marks, 9))), colours.part("mark", dark=dark)),
        Segment(f"{number:>{gutter(file) - 2}} ", colours.part("number-here" if here else "number", dark=dark)),
        *_text(file, number, text, window, base, found),
    ]
    line = Strip(segments).adjust_cell_length(window.width, base)
    if file.length(number) > window.left + room:
        line = Strip.join([line.crop(0, window.width - 1), Strip([Segment(MORE, base + Style(bold=True))])])
    return line


def _text(
    file: OpenFile, number: int, text: str, window: Window, base: Style, found: Iterable[tuple[int, int]]
) -> list[Segment]:
    left, dark = window.left, window.dark
    styles = [base] * len(text)

    def lay(begin: int, end: int, style: Style) -> None:
        begin, end = max(begin - left, 0), min(end - left, len(text))
        for at in range(begin, end):
            styles[at] = styles[at] + style

    for begin, end, kind in file.spans(number):
        if end > left and begin < left + len(text):
            lay(begin, end, colours.word(kind, dark=dark))
    for begin, end in found:
        lay(begin, end, colours.part("found", dark=dark))
    if number == window.line and window.word is not None:
        lay(*window.word, colours.part("word", dark=dark))
    at = 0
    segments = []
    for style, run in groupby(styles, id):
        size = len(list(run))
        del style
        segments.append(Segment(text[at : at + size], styles[at]))
        at += size
    return segments


def blank(width: int, *, dark: bool) -> Strip:
    """A line below the end of the file."""
    return Strip.blank(width, colours.part("base", dark=dark))
