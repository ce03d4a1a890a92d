"""Draw the Markdown of notes in a terminal: plain headings, code without a box, links that say where they lead."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rich.markdown import CodeBlock, Heading, Markdown
from rich.padding import Padding
from rich.text import Text
from rich.theme import Theme

from ptexplore.annotations.markdown import parser
from ptexplore.render.flowchart import arrows
from ptexplore.render.plain import clean_lines

if TYPE_CHECKING:
    from markdown_it.token import Token
    from rich.console import Console, ConsoleOptions, RenderResult

# Standard colours alone, as for source: the terminal's own theme says what they are.
THEME = Theme({
    "markdown.code": "cyan",
    "markdown.link": "underline",
    "markdown.link_url": "dim",
    "markdown.item.bullet": "dim",
    "markdown.item.number": "dim",
    "markdown.block_quote": "italic",
    "markdown.hr": "dim",
})  # fmt: skip
StopNumber = Callable[[str], "int | None"]  # the id of a stop of this tour -> its number


class _Code(CodeBlock):
    """A fenced block: its text, set in; of a flowchart its arrows."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code, drawn = str(self.text).rstrip(), None
        name = f"{self.lexer_name}:\n" if self.lexer_name == "mermaid" else ""
        if name:
            drawn = arrows(code)
        text = Text("picture:\n" if drawn else name, style="dim")
        text.append("\n".join(drawn) if drawn else code, style="not dim cyan")
        text.overflow = "fold"
        yield Padding(text, (0, 0, 0, 2))


class _Heading(Heading):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        text = self.text.copy()
        text.stylize("bold")
        yield Text("")
        yield text


class _Prose(Markdown):
    elements = Markdown.elements | {"fence": _Code, "code_block": _Code, "heading_open": _Heading}


def prose(text: str, number: StopNumber = lambda _name: None) -> Markdown:
    """Markdown ready to print under THEME. Links to stops of the tour say the stop's number."""
    shown = _Prose("", hyperlinks=False)
    shown.parsed = parser().parse(clean_lines(text))
    for token in shown.parsed:
        if token.children:
            token.children = _inline(token.children, number)
    return shown


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
