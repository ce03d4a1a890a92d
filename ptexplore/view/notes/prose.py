"""The Markdown of notes as tokens that are safe to draw in a terminal: links become text, flowcharts become arrows."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ptexplore.annotations.markdown import parser
from ptexplore.safe_text import clean_lines
from ptexplore.view.notes.storage_drawing import LANGUAGE, drawing, lines_of

if TYPE_CHECKING:
    from markdown_it.token import Token


PICTURE = "picture"  # the language of a flowchart in words
DRAWING = "drawing"  # of a block whose lines must not be folded, because characters draw something.
_DRAWN = "text"  # how a tour writes such a block.
StopNumber = Callable[[str], "int | None"]  # takes the id of a stop of this tour, returns its number


def prose_tokens(text: str, number: StopNumber = lambda _name: None) -> list[Token]:
    """Returns a text's tokens without control characters, raw HTML and links.

    A link to a stop becomes the stop's number.
    """
    tokens = parser().parse(clean_lines(text))
    for token in tokens:
        if token.type == "fence" and token.info.strip() == "mermaid":
            drawn = arrows(token.content)
            if drawn is not None:
                token.info, token.content = PICTURE, "\n".join(drawn)
        if token.type == "fence" and token.info.strip() == LANGUAGE:
            storage = drawing(token.content)
            if storage is not None:
                token.info, token.content = DRAWING, "\n".join(lines_of(storage))
        if token.type == "fence" and token.info.strip() == _DRAWN:
            token.info = DRAWING
        if token.children:
            token.children = _inline(token.children, number)
    return tokens


def lines_of_drawings(text: str) -> list[str]:
    """Returns the lines of all blocks of a text that must not be folded."""
    drawings = [token.content for token in prose_tokens(text) if token.type == "fence" and token.info == DRAWING]
    return [line.rstrip() for drawn in drawings for line in drawn.split("\n")]


def plain_text(text: str) -> str:
    """Returns the words of a text on one line, without Markdown signs. Code keeps its underscores."""
    (line,) = parser().parseInline(" ".join(clean_lines(text).split()))
    return " ".join("".join(token.content for token in line.children or ()).split())


def _inline(children: list[Token], number: StopNumber) -> list[Token]:
    """Replaces links by their text, followed by the number of the stop or the URL."""
    out: list[Token] = []
    behind: list[str] = []
    for token in children:
        if token.type == "link_open":
            behind.append(_leads_to(str(token.attrGet("href") or ""), number))
        elif token.type == "link_close":
            out.append(_text(token, behind.pop()))
        elif token.type == "image":
            out.append(_text(token, f"[picture: {token.content or token.attrGet('src')} ({token.attrGet('src')})]"))
        else:
            out.append(token)
    return out


def _leads_to(url: str, number: StopNumber) -> str:
    if not url.startswith("#"):
        return f" ({url})"
    stop = number(url[1:])
    return f" (stop {stop})" if stop is not None else ""


def _text(like: Any, content: str) -> Token:
    text: Token = type(like)("text", "", 0)
    text.content = content
    return text


_NODE = r'(?P<{0}>\w+)(?:\["(?P<{0}_text>[^"\]]*)"\])?'
_EDGE = re.compile(
    rf'\s*{_NODE.format("source")}\s*(?:-->|--\s*"(?P<label>[^"]*)"\s*-->)\s*{_NODE.format("target")}\s*'
)
_HEAD = re.compile(r"\s*(flowchart|graph)\s+(TD|TB|LR|RL|BT)\s*")


class Edge(NamedTuple):
    """An arrow between two boxes: the boxes' names, their texts, and the text beside the arrow."""

    source: str
    target: str
    source_text: str
    target_text: str
    label: str


def edges(picture: str) -> list[Edge] | None:
    """Returns the arrows in the order written; None for any other picture, which is shown as it is."""
    head, *rest = picture.strip().split("\n")
    if not rest or not _HEAD.fullmatch(head):
        return None
    matches = [match for match in map(_EDGE.fullmatch, rest) if match is not None]
    if len(matches) != len(rest):
        return None
    words = {edge[end]: edge[f"{end}_text"] for edge in matches for end in ("source", "target") if edge[f"{end}_text"]}
    return [
        Edge(a, b, words.get(a, a), words.get(b, b), label or "")
        for a, b, label in (edge.group("source", "target", "label") for edge in matches)
    ]


def arrows(picture: str) -> list[str] | None:
    """Lists each box once, with a number and the numbers that its arrows lead to; None for any other picture.

    An arrow with a text has a line of its own.
    """
    written = edges(picture)
    if written is None:
        return None
    words = {edge.source: edge.source_text for edge in written}  # boxes with arrows from them come first
    words |= {edge.target: edge.target_text for edge in written}
    number = {name: n for n, name in enumerate(words, 1)}
    lines: list[str] = []
    for name, text in words.items():
        leaving = [edge for edge in written if edge.source == name]
        plain = ", ".join(str(number[edge.target]) for edge in leaving if not edge.label)
        lines.append(f"{number[name]}. {text} --> {plain}" if plain else f"{number[name]}. {text}")
        lines += [f"   -- {edge.label} --> {number[edge.target]}" for edge in leaving if edge.label]
    return lines
