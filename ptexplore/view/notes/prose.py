"""The Markdown of notes as tokens that are safe to draw: links are their text and where they lead, pictures named."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ptexplore.annotations.markdown import parser
from ptexplore.safe_text import clean_lines
from ptexplore.view.notes.flowchart import arrows

if TYPE_CHECKING:
    from markdown_it.token import Token

PICTURE = "picture"  # the language of a flowchart's block, once its boxes and arrows are written out
StopNumber = Callable[[str], "int | None"]  # the id of a stop of this tour -> its number


def prose_tokens(text: str, number: StopNumber = lambda _name: None) -> list[Token]:
    """The tokens of a text without control characters, raw HTML and links. Links to stops say the stop's number."""
    tokens = parser().parse(clean_lines(text))
    for token in tokens:
        if token.type == "fence" and token.info.strip() == "mermaid":
            drawn = arrows(token.content)
            if drawn is not None:
                token.info, token.content = PICTURE, "\n".join(drawn)
        if token.children:
            token.children = _inline(token.children, number)
    return tokens


def _inline(children: list[Token], number: StopNumber) -> list[Token]:
    """Without links inside the tour: their text, and the stop's number behind it."""
    out: list[Token] = []
    behind: list[str] = []
    for token in children:
        if token.type == "link_open":
            url = str(token.attrGet("href") or "")
            behind.append(_leads_to(url, number))
        elif token.type == "link_close":
            out.append(_text(token, behind.pop()))
        elif token.type == "image":
            out.append(_text(token, f"[picture: {token.content or token.attrGet('src')} ({token.attrGet('src')})]"))
        else:
            out.append(token)
    return out


def _leads_to(url: str, number: StopNumber) -> str:
    stop = number(url[1:]) if url.startswith("#") else None
    if stop is not None:
        return f" (stop {stop})"
    return f" ({url})" if not url.startswith("#") else ""


def _text(like: Any, content: str) -> Token:
    found: Token = type(like)("text", "", 0)
    found.content = content
    return found
