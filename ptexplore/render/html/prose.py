"""Markdown of notes as HTML: raw HTML is text, links of known schemes alone, pictures that can do nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ptexplore.annotations.load import read_bytes
from ptexplore.annotations.markdown import link_trouble, parser, picture_trouble
from ptexplore.render.plain import clean_lines

if TYPE_CHECKING:
    from markdown_it.token import Token
    from markupsafe import Markup

Lead = Callable[[str], "str | None"]  # a link as written -> where it leads, None where nowhere
LARGEST = 1_000_000  # bytes of a picture
_ACTIVE = re.compile(
    rb"<\s*/?\s*(?:[\w-]+:)?(?:script|foreignobject|iframe|embed|object|use|image|animate\w*|set|handler|a)\b"
    rb"|\son\w+\s*=|<!\s*(?:doctype|entity)|<\?xml-stylesheet|javascript:|@import|url\s*\(|\bhref\s*=|&#",
    re.IGNORECASE,
)


def html_of(text: str, lead: Lead, picture: Lead) -> Markup:
    """`text` as HTML. Headings begin at the third level; a link that leads nowhere is its text."""
    from markupsafe import Markup

    reader = parser()
    tokens = reader.parse(clean_lines(text))
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1:]) + 1)}"
        if token.children:
            token.children = _inline(token.children, lead, picture)
    return Markup(reader.renderer.render(tokens, reader.options, {}))


def _inline(children: list[Token], lead: Lead, picture: Lead) -> list[Token]:
    out: list[Token] = []
    dropped = 0
    for token in children:
        if token.type == "link_open":
            where = lead(str(token.attrGet("href") or ""))
            if where is None:
                dropped += 1
                continue
            token.attrSet("href", where)
            if where.startswith("http"):
                token.attrSet("rel", "noopener noreferrer")
        elif token.type == "link_close" and dropped:
            dropped -= 1
            continue
        out.append(_picture(token, picture) if token.type == "image" else token)
    return out


def _picture(token: Token, picture: Lead) -> Token:
    where = picture(str(token.attrGet("src") or ""))
    if where is not None:
        token.attrSet("src", where)
        token.attrs.pop("title", None)
        return token
    made: Any = type(token)("text", "", 0)
    made.content = f"[picture: {token.content}]"
    return made  # type: ignore[no-any-return]


def safe_picture(folder: str, url: str) -> bytes | None:
    """The bytes of a picture beside a tour; None where it may not be shown: it is elsewhere, or could do something."""
    if picture_trouble(url) is not None or "?" in url or "#" in url:
        return None
    root = Path(folder).resolve()
    file = root / url
    try:
        if not file.resolve().is_relative_to(root):
            return None
        data = read_bytes(file)
    except (OSError, ValueError):
        return None
    if len(data) > LARGEST:
        return None
    if url.endswith(".png"):
        return data if data.startswith(b"\x89PNG\r\n\x1a\n") else None
    return None if _ACTIVE.search(data) or b"<svg" not in data[:1000] or b"\0" in data else data


def outside(url: str) -> str | None:
    """A link to elsewhere, where it may be followed."""
    return url if url.startswith(("https://", "http://")) and link_trouble(url) is None else None
