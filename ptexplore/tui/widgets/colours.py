"""The colours of the screens, dark and light: of words in source, and of the spans of view lines."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from rich.style import Style
from rich.text import Text
from textual.content import Content

from ptexplore.safe_text import clean

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ptexplore.view.line import Span, Tone

# Weight and slant say the same if there is no colour.
_DARK = {"comment": "#8b949e italic", "string": "#a5d6a7", "number": "#79c0ff", "keyword": "#ff7b92 bold",
         "type": "#7ee0d0", "function": "#d2b3ff bold", "preproc": "#e3a857", "decorator": "#e3a857",
         "tag": "#79c0ff bold", "member": "#9ecbff"}  # fmt: skip
_LIGHT = {"comment": "#6a737d italic", "string": "#22701f", "number": "#0a50a8", "keyword": "#b3202f bold",
          "type": "#0b6e68", "function": "#5b2da0 bold", "preproc": "#8a5300", "decorator": "#8a5300",
          "tag": "#0a50a8 bold", "member": "#1b4b91"}  # fmt: skip

# The labels of a tree can use only the terminal's own colours; all else uses the theme's.
_IN_TREES: dict[Tone, str] = {"strong": "bold", "dim": "dim", "good": "green", "fair": "cyan", "doubt": "yellow",
                              "bad": "red", "other": "magenta"}  # fmt: skip
STYLES: dict[Tone, str] = {"strong": "bold", "dim": "dim", "good": "$text-success", "fair": "$text-secondary",
                               "doubt": "$text-warning", "bad": "$text-error", "other": "$text-accent",
                               "link": "$text-accent"}  # fmt: skip


def label(spans: Iterable[Span]) -> Text:
    """Returns spans as the label of a tree node."""
    text = Text(no_wrap=True)
    for span in spans:
        style = _IN_TREES.get(span.tone, "")
        text.append(clean(span.text), style if "bold" in style else f"not bold {style}")
    return text


_PARTS = ("::", "/", "_", ",", "(")  # a name, a path or a signature may be broken after these
_SHORTEST = 16  # columns of a place that are kept at least


def cut_to(spans: Iterable[Span], room: int) -> list[Span]:
    """Cut spans to the room: first reasons, then fronts of paths (their ends say most), notes, names, last spans."""
    spans = [replace(span, text=clean(span.text)) for span in spans]
    over = sum(len(span.text) for span in spans) - room
    for style, least in (("reason", 0), ("place", _SHORTEST), ("note", 0), ("title", _SHORTEST)):
        for number, span in reversed(list(enumerate(spans))):
            keep = max(len(span.text) - over - 1, least)
            if over > 0 and span.style == style and keep < len(span.text) - 1:
                text = f"…{span.text[-keep:]}" if style == "place" else f"{span.text[:keep]}…"
                spans[number] = replace(span, text=text)
                over -= len(span.text) - len(text)
    while over > 0 and spans:
        last = spans.pop()
        if len(last.text) > over:
            return [*spans, replace(last, text=f"{last.text[: -over - 1]}…")]
        over -= len(last.text)
    return spans


def hung(text: Content, room: int, indent: int) -> Content:
    """Fold a line to the room, with further lines indented. It breaks at blanks, else after a part of a name."""
    lines = []
    left, plain = text, text.plain
    while len(plain) > room > indent + _SHORTEST:
        blank = plain.rfind(" ", indent + 1, room + 1)
        cut = blank if blank > room // 2 else max(plain.rfind(sign, indent + 1, room) + len(sign) for sign in _PARTS)
        cut = cut if cut > indent + 1 else room
        lines.append(left[:cut].rstrip())
        left = Content.assemble(" " * indent, left[cut + (plain[cut] == " ") :])
        plain = left.plain
    return Content("\n").join([*lines, left])


def content(spans: Iterable[Span]) -> Content:
    """Returns spans for other widgets. Places look like links."""
    return Content.assemble(*(
        (clean(span.text), STYLES["link"] if span.style == "place" else STYLES.get(span.tone, "")) for span in spans
    ))  # fmt: skip


@cache
def word(kind: str, *, dark: bool) -> Style:
    """Returns the style of a kind of word (see view/tokens.py)."""
    return Style.parse((_DARK if dark else _LIGHT).get(kind, ""))


@cache
def part(name: str, *, dark: bool) -> Style:
    """Returns the style of a part around the source: "number", "here" (the cursor's line), "word" (at the cursor), …"""
    dark_ones = {"base": "#e6edf3 on #14181f", "number": "#6e7681 on #14181f", "here": "on #232b38",
                 "number-here": "#e6edf3 bold on #232b38", "mark": "#ffd866 bold on #14181f", "word": "reverse",
                 "found": "black on #e3a857", "span": "on #1d2430"}  # fmt: skip
    light_ones = {"base": "#1f2328 on #ffffff", "number": "#8c959f on #ffffff", "here": "on #e8eef7",
                  "number-here": "#1f2328 bold on #e8eef7", "mark": "#9a6700 bold on #ffffff", "word": "reverse",
                  "found": "black on #ffd866", "span": "on #f3f6fa"}  # fmt: skip
    return Style.parse((dark_ones if dark else light_ones)[name])
