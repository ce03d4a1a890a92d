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
        ("← → h l", "name before, name after"),
        ("PgUp PgDn ^u ^d space", "screen"),
        ("g g, G", "first line, last line"),
        ("[ ]", "definition before, definition after"),
        (":", "go to a line"),
        ("/  then . ,", "find in this file; next, before"),
        ("w", "long lines go on below, or to the right"),
    )),
    ("Everywhere", (
        ("Tab", "next pane: what is coloured there opens"),
        ("Esc", "back to the source; again: leave the tour"),
        ("t", "dark or light"),
        ("?", "these keys"),
        ("q", "quit"),
    )),
    ("Names", (
        ("Enter, g d", "the definition of the name under the cursor"),
        ("r, g r", "who uses it"),
        ("^o  Alt+←  Backspace", "back"),
        ("f  Alt+→", "forward"),
    )),
    ("Notes", (
        ("n  p", "next stop in this file, the one before"),
        ("S", "walk the tour from the stop about this line"),
        ("i", "show or hide what stands beside the source"),
        ("J  K", "scroll them from the source"),
        (">  <", "in a tour: the next stop, the one before"),
        ("=  c", "in a tour: back to the stop's source; its contents"),
        ("L", "in a tour: predict and run the stop's lab"),
        ("a  d", "in a tour: answer its question; read, or not"),
    )),
    ("Places", (
        ("^p, s", "search: names, operators, files, notes, text"),
        ("H", "home: the learning path, tours, recent places"),
        ("e", "show or hide the files (in a tour: or stops)"),
        ("n  p", "on an operator's card: the next dispatch key"),
        ("v", "on the left: the folder's page"),
        ("F", "fetch the source, where none is here"),
        ("o", "open the line in $VISUAL or $EDITOR"),
        ("y", "copy the line's permalink"),
    )),
    ("What runs", (
        ("x", "trace an expression"),
        ("T", "what ran last; Enter opens, space folds"),
        ("v  f", "there: the next view; every hop"),
        ("N  y", "there: step this call alone; copy the permalink"),
        ("File.cpp:12~  …12?", "no keys: another version's place; not certain"),
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
