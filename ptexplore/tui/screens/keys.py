"""The list of all keys, under `?`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from ptexplore.tui.key_line import KeyLine

if TYPE_CHECKING:
    from textual.app import ComposeResult

KEYS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    ("Reading", (
        ("↑ ↓ j k", "line"),
        ("← → h l", "previous name, next name"),
        ("PgUp PgDn ^u ^d space", "screen"),
        ("g g, G", "first line, last line"),
        ("[ ]", "previous definition, next definition"),
        (":", "go to a line"),
        ("/  then . ,", "find in this file; next, previous"),
        ("w", "fold long lines, or cut them at the edge"),
    )),
    ("Everywhere", (
        ("Tab", "next pane: Enter opens its coloured lines"),
        ("Esc", "back to the source; again: leave the tour"),
        ("t", "dark or light"),
        ("?", "this list of keys"),
        ("q", "quit"),
    )),
    ("Names", (
        ("Enter, g d", "the definition of the name under the cursor"),
        ("r, g r", "who uses it; then c: callers of callers"),
        ("^o  Alt+←  Backspace", "back"),
        ("f  Alt+→", "forward"),
    )),
    ("Notes", (
        ("n  p", "next stop in this file, previous stop"),
        ("S", "open the tour at the stop for this line"),
        ("i", "show or hide the pane beside the source"),
        ("J  K", "scroll that pane from the source"),
        ("P", "pictures wider than that pane, over the whole screen"),
        (">  <", "in a tour: next stop, previous stop"),
        ("=  c", "in a tour: back to the stop's source; its contents"),
        ("L", "in a tour: predict and run the stop's lab"),
        ("a", "in a tour: answer a question, and grade your answer"),
    )),
    ("Places", (
        ("^p, s", "search: names, operators, files, notes, text"),
        ("H", "home: the learning path, tours, recent places"),
        ("e", "show or hide the files (in a tour: or stops)"),
        ("n  p", "on an operator's card: the next dispatch key"),
        ("v", "on the left: the folder's page"),
        ("F", "fetch the source, if it is missing"),
        ("o", "open the line in $VISUAL or $EDITOR"),
        ("y", "copy the line's permalink"),
    )),
    ("What runs", (
        ("x", "trace an expression"),
        ("T", "the last trace; Enter opens, space folds"),
        ("v  f", "in the trace: next view; every hop"),
        ("N  y", "in the trace: step only this call; copy permalink"),
        ("File.cpp:12~  …12?", "not keys: place of another version; not certain"),
    )),
)  # fmt: skip


class Keys(ModalScreen[None]):
    """The list of keys. Escape, q and ? close it."""

    DEFAULT_CSS = """
    Keys { align: center middle; }
    Keys VerticalScroll { width: 90%; max-width: 76; height: auto; max-height: 90%; border: round $accent;
        padding: 0 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll(1)", "Scroll", key_display="j k"),
        Binding("k", "scroll(-1)", show=False),
        Binding("escape,q,question_mark", "dismiss", "Close", key_display="esc"),
    ]

    def compose(self) -> ComposeResult:
        """One line for each key."""
        lines: list[Content] = []
        for title, keys in KEYS:
            lines.append(Content.styled(title, "bold $accent"))
            lines += [Content.assemble((f"  {key:<24}", "bold"), meaning) for key, meaning in keys]
        with VerticalScroll() as box:
            box.border_title = "Keys: j and k scroll"
            yield Static(Content("\n").join(lines))
        yield KeyLine()

    def action_scroll(self, step: int) -> None:
        """Scroll up and down, as in vim."""
        self.query_one(VerticalScroll).scroll_relative(y=step, animate=False)
