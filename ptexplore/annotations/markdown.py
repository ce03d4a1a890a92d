"""The Markdown of notes: CommonMark with tables, without HTML, and with links of a few schemes only."""

from __future__ import annotations

import re
from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from ptexplore.safe_text import clean_lines

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_EMPTY_LINES = re.compile(r"\n[ \t]*\n")
_BRACKETS = 100  # in a paragraph: each may begin a link, which the parser searches to the paragraph's end
_CELLS = 20_000  # in all tables of a file: each row is filled up to the cells of the widest row
_SCHEMES = ("http", "https")
PICTURES = (".svg", ".png")
_TITLED = re.compile(r"(.*)\{#([^{}]*)\}\s*")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")


def parser(*, html: bool = False) -> MarkdownIt:
    """Returns the parser for showing notes. HTML is plain text, and so is a URL that `link_trouble` refuses."""
    from markdown_it import MarkdownIt

    class Reader(MarkdownIt):
        """Makes tokens with clean texts: entities (&#x202e;) become characters only in the parser."""

        def parse(self, src: str, env: MutableMapping[str, Any] | None = None) -> list[Token]:
            return _cleaned(super().parse(src, env))

        def parseInline(self, src: str, env: MutableMapping[str, Any] | None = None) -> list[Token]:  # noqa: N802
            return _cleaned(super().parseInline(src, env))

    parser = Reader("commonmark", {"html": html}).enable("table")
    parser.validateLink = lambda url: link_trouble(url) is None  # type: ignore[method-assign]
    return parser


def _cleaned(tokens: list[Token]) -> list[Token]:
    """Cleans texts and attributes of tokens, inner tokens included."""
    for token in tokens:
        token.content, token.info = clean_lines(token.content), clean_lines(token.info)
        for name, value in token.attrs.items():
            if isinstance(value, str):
                token.attrs[name] = clean_lines(value)
        if token.children:
            _cleaned(token.children)
    return tokens


def tokens(text: str) -> list[Token]:
    """Returns the tokens of `text` with HTML and all links recognised, for `troubles`.

    Raises ValueError for a paragraph with too many brackets, and for tables with too many cells.
    """
    reading = parser(html=True)
    reading.validateLink = lambda url: True  # type: ignore[method-assign]  # noqa: ARG005
    paragraphs = _EMPTY_LINES.split(text)
    if any(paragraph.count("[") > _BRACKETS for paragraph in paragraphs):
        raise ValueError(f"more than {_BRACKETS} brackets [ without an empty line between them")
    if sum(map(_most_cells, paragraphs)) > _CELLS:
        raise ValueError(f"its tables may have more than {_CELLS:,} cells")
    return reading.parse(text)


def _most_cells(paragraph: str) -> int:
    """Returns the greatest number of cells in the lines of a paragraph, if they were the rows of one table."""
    lines = paragraph.split("\n")
    return len(lines) * max(line.count("|") for line in lines)


def line_of(token: Token) -> int:
    """Returns the line of a block, 1-based."""
    return token.map[0] + 1 if token.map else 1


@dataclass(frozen=True, slots=True)
class HeadedSection:
    """A heading, and everything below it up to the next one: tokens, and lines `first` (the heading's) to `last`.

    `title` and `id` are the parts of "Dispatch keys {#dispatch-key}"; `id` is "" if the heading has none.
    """

    level: str  # "h2"
    title: str
    id: str
    tokens: list[Token]
    first: int
    body: int  # the first line below the heading
    last: int


def sections(document: list[Token], levels: tuple[str, ...], last: int) -> list[HeadedSection]:
    """Returns the sections below headings of these levels ("h2") outside lists and quotes.

    `last` is the last line of the text.
    """
    starts = [n for n, token in enumerate(document) if token.type == "heading_open" and token.tag in levels]
    starts = [start for start in starts if not document[start].level]
    made = []
    for start, end in pairwise([*starts, len(document)]):
        head = document[start]
        body = head.map[1] + 1 if head.map else last
        until = line_of(document[end]) - 1 if end < len(document) else last
        # A heading is three tokens: it opens, its text, it closes.
        heading = document[start + 1].content
        titled = _TITLED.fullmatch(heading)
        title, name = (titled[1].strip(), titled[2]) if titled else (heading.strip(), "")
        made.append(HeadedSection(head.tag, title, name, document[start + 3 : end], line_of(head), body, until))
    return made


def troubles(document: list[Token]) -> Iterator[tuple[int, str]]:
    """Yields line (1-based) and text of everything that is not allowed in a note."""
    for token in document:
        line = line_of(token)
        if token.type == "html_block":
            yield line, "raw HTML is not allowed: write Markdown"
        if token.type == "fence" and token.info.strip() == "mermaid" and "javascript:" in token.content.lower():
            yield line, "a picture may not hold javascript: links"
        for child in token.children or ():
            trouble = None
            if child.type in ("softbreak", "hardbreak"):
                line += 1
            elif child.type == "html_inline":
                trouble = f"raw HTML is not allowed: {child.content[:40]!r} (code goes between `backticks`)"
            elif child.type == "link_open":
                trouble = link_trouble(str(child.attrGet("href") or ""))
            elif child.type == "image":
                trouble = picture_trouble(str(child.attrGet("src") or ""))
            if trouble is not None:
                yield line, trouble


def link_trouble(url: str) -> str | None:
    """Returns why a link is not allowed. None if it is: http(s), or a relative one."""
    plain = re.sub(r"[\x00-\x20\x7f-\x9f]", "", unquote(url))
    scheme = _SCHEME.match(plain)
    if scheme is not None and scheme[1].lower() not in _SCHEMES:
        return f"a link to {scheme[1].lower()}: is not allowed: use http, https or a relative path"
    if scheme is None and (plain.startswith(("/", "\\")) or "\\" in plain):
        return f"a link must be http(s) or relative to the file, not {url[:60]!r}"
    return None


def picture_trouble(url: str) -> str | None:
    """Returns why a picture is not allowed. Returns None if the picture is in the folder of the tour, or below."""
    plain = re.split(r"[?#]", url, maxsplit=1)[0]
    if link_trouble(url) or _SCHEME.match(plain) or ".." in plain.split("/") or not plain.endswith(PICTURES):
        return f"a picture must be a file beside the tour ({', '.join(PICTURES)}), not {url[:60]!r}"
    return None
