"""The Markdown that notes are written in: CommonMark with tables, without HTML, links of known schemes alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

SCHEMES = ("http", "https")
PICTURES = (".svg", ".png")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")


def parser(*, html: bool = False) -> MarkdownIt:
    """The parser for showing notes: HTML is text to it, and what `link_trouble` refuses is no link."""
    from markdown_it import MarkdownIt

    found = MarkdownIt("commonmark", {"html": html}).enable("table")
    found.validateLink = lambda url: link_trouble(url) is None  # type: ignore[method-assign]
    return found


def tokens(text: str) -> list[Token]:
    """The tokens of `text` with HTML and every link told apart, for `troubles`."""
    found = parser(html=True)
    found.validateLink = lambda url: bool(url) or True  # type: ignore[method-assign]
    return found.parse(text)


def troubles(found: list[Token]) -> Iterator[tuple[int, str]]:
    """Line (0-based) and text of everything that may not stand in a note."""
    for token in found:
        line = token.map[0] if token.map else 0
        if token.type == "html_block":
            yield line, "raw HTML is not read: write Markdown"
        if token.type == "fence" and token.info.strip() == "mermaid" and "javascript:" in token.content.lower():
            yield line, "a picture may not hold javascript: links"
        for child in token.children or ():
            if child.type in ("softbreak", "hardbreak"):
                line += 1
            elif child.type == "html_inline":
                yield line, f"raw HTML is not read: {child.content[:40]!r} (code goes between `backticks`)"
            elif child.type == "link_open":
                yield from _refused(line, str(child.attrGet("href") or ""), picture=False)
            elif child.type == "image":
                yield from _refused(line, str(child.attrGet("src") or ""), picture=True)


def _refused(line: int, url: str, *, picture: bool) -> Iterator[tuple[int, str]]:
    trouble = picture_trouble(url) if picture else link_trouble(url)
    if trouble is not None:
        yield line, trouble


def link_trouble(url: str) -> str | None:
    """Why a link may not be followed; None where it may: http(s), or a relative one."""
    from urllib.parse import unquote

    plain = re.sub(r"[\x00-\x20\x7f-\x9f]", "", unquote(url))
    scheme = _SCHEME.match(plain)
    if scheme is not None and scheme[1].lower() not in SCHEMES:
        return f"a link to {scheme[1].lower()}: is not allowed: http, https and relative ones are"
    if scheme is None and (plain.startswith(("/", "\\")) or "\\" in plain):
        return f"a link must be http(s) or relative to the file, not {url[:60]!r}"
    return None


def picture_trouble(url: str) -> str | None:
    """Why a picture may not be shown; None for a file beside or below the tour's own."""
    plain = re.split(r"[?#]", url, maxsplit=1)[0]
    if link_trouble(url) or _SCHEME.match(plain) or ".." in plain.split("/") or not plain.endswith(PICTURES):
        return f"a picture must be a file beside the tour ({', '.join(PICTURES)}), not {url[:60]!r}"
    return None
