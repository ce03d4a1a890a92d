"""Draw the Markdown of notes in a terminal: plain headings, code without a box, links that say where they lead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markdown import CodeBlock, Heading, Markdown
from rich.padding import Padding
from rich.text import Text
from rich.theme import Theme

from ptexplore.view.notes.prose import PICTURE, StopNumber, prose_tokens

if TYPE_CHECKING:
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


class _Code(CodeBlock):
    """A fenced block: its text, set in, and what it is where it is a picture."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        text = Text(f"{self.lexer_name}:\n" if self.lexer_name in (PICTURE, "mermaid") else "", style="dim")
        text.append(str(self.text).rstrip(), style="not dim cyan")
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
    shown.parsed = prose_tokens(text, number)
    return shown
