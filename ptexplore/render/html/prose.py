"""Turns the Markdown of notes into HTML: raw HTML stays text, links have known schemes only, pictures only draw."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path

from markdown_it.token import Token
from markupsafe import Markup

from ptexplore.annotations.files import read_bytes
from ptexplore.annotations.markdown import parser, picture_trouble
from ptexplore.errors import BROKEN
from ptexplore.render.html.flowchart import figure
from ptexplore.render.html.storage_figure import storage_figure
from ptexplore.render.html.svg import redrawn
from ptexplore.safe_text import clean_document, clean_lines
from ptexplore.view.notes.storage_drawing import LANGUAGE, drawing

Picture = Callable[[str], "tuple[str, tuple[int, int] | None] | None"]  # a picture's URL -> its address and size
Lead = Callable[[str], "str | None"]  # a link as it is written -> its address, None if it leads to nothing
LARGEST = 1_000_000  # bytes of a picture
_PNG = b"\x89PNG\r\n\x1a\n"


def html_of(text: str, lead: Lead, picture: Picture, named: Lead = lambda _code: None) -> Markup:
    """Returns `text` as HTML. Headings begin at the third level. A dead link becomes its text.

    `named` gives the address of a piece of code, if that names a place.
    """
    reader = parser()
    tokens = reader.parse(clean_lines(text))
    for number, token in enumerate(tokens):
        if token.type == "heading_open" and (anchor := _anchor(tokens[number + 1].content)):
            token.attrSet("id", anchor)
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1:]) + 1)}"
        if token.type == "fence" and token.info.strip() == "mermaid":
            drawn = figure(token.content)
            if drawn is not None:
                token.type, token.content = "html_block", drawn
        if token.type == "fence" and token.info.strip() == LANGUAGE:
            storage = drawing(token.content)
            if storage is not None:
                token.type, token.content = "html_block", storage_figure(storage)
        if token.children:
            token.children = _inline(token.children, lead, picture, named)
    return Markup(clean_document(reader.renderer.render(tokens, reader.options, {})))


def headings(texts: Iterable[str]) -> list[tuple[str, str]]:
    """Returns the headings of a stop's text, each with its anchor on the page."""
    titles = []
    for text in texts:
        tokens = parser().parse(clean_lines(text))
        titles += [title.content for token, title in pairwise(tokens) if token.type == "heading_open"]
    return [(title, _anchor(title)) for title in titles if _anchor(title)]


def _anchor(title: str) -> str:
    """Returns the anchor of a heading; "" if no character of it can be in an address."""
    words = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    return f"part-{words[:60]}" if words else ""


def _inline(children: list[Token], lead: Lead, picture: Picture, named: Lead) -> list[Token]:
    out: list[Token] = []
    dropped = linked = 0
    for token in children:
        if token.type == "link_open":
            where = lead(str(token.attrGet("href") or ""))
            if where is None:
                dropped += 1
                continue
            token.attrSet("href", where)
            if where.startswith("http"):
                token.attrSet("rel", "noopener noreferrer")
            linked += 1
        elif token.type == "link_close" and dropped:
            dropped -= 1
            continue
        elif token.type == "link_close":
            linked -= 1
        elif token.type == "code_inline" and not linked and (place := named(token.content)) is not None:
            out += [Token("link_open", "a", 1, {"href": place}), token, Token("link_close", "a", -1)]
            continue
        out.append(_picture(token, picture) if token.type == "image" else token)
    return out


def _picture(token: Token, picture: Picture) -> Token:
    shown = picture(str(token.attrGet("src") or ""))
    if shown is None:
        return Token("text", "", 0, content=f"[picture: {token.content}]")
    where, size = shown
    token.attrSet("src", where)
    if size is not None:  # so that nothing moves when the picture is loaded
        token.attrSet("width", str(size[0]))
        token.attrSet("height", str(size[1]))
    token.attrs.pop("title", None)
    return token


def safe_picture(folder: str, url: str) -> bytes | None:
    """Returns a picture beside a tour; an SVG is redrawn. None if it may not be shown: it is elsewhere, or no picture.

    Raises OSError if the picture exists, but a broken disk does not give it.
    """
    if picture_trouble(url) is not None or "?" in url or "#" in url:
        return None
    root = Path(folder).resolve()
    file = root / url
    try:
        if not file.resolve().is_relative_to(root):
            return None
        data = read_bytes(file, LARGEST)
    except OSError as error:
        if error.errno in BROKEN:
            raise
        return None
    except ValueError:
        return None
    if len(data) > LARGEST:
        return None
    if url.endswith(".png"):
        return data if data.startswith(_PNG) else None
    return redrawn(data)


def picture_size(data: bytes) -> tuple[int, int] | None:
    """Returns width and height of a picture in pixels, as its file says. None if it does not, or says a huge size."""
    if data.startswith(b"\x89PNG"):
        sides = int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
        return sides if max(sides) < 100_000 else None
    head = re.search(rb"<svg\b[^>]*>", data)
    tag = head[0] if head else b""
    given = [re.search(rb"\b%s=[\"'](\d{1,5})(?:\.\d+)?(?:px)?[\"']" % side, tag) for side in (b"width", b"height")]
    box = re.search(rb"viewBox=[\"'][-\d.]+[ ,]+[-\d.]+[ ,]+(\d{1,5})(?:\.\d+)?[ ,]+(\d{1,5})(?!\d)", tag)
    if given[0] and given[1]:
        return int(given[0][1]), int(given[1][1])
    return (int(box[1]), int(box[2])) if box else None
