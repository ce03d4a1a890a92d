"""Several things bear one name: the reader chooses, nothing is chosen silently."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from ptexplore.safe_text import clean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

    from ptexplore.view.search.show import Candidate


class ChoiceScreen(ModalScreen[int | None]):
    """A list to choose from; its result is the number of what was chosen, None where nothing was."""

    DEFAULT_CSS = """
    Choice { align: center middle; }
    Choice > Vertical { width: 90%; max-width: 110; height: auto; max-height: 80%; border: round $accent; }
    Choice Static { padding: 0 1; text-style: bold; }
    Choice OptionList { height: auto; max-height: 100%; border: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "Back"),
        Binding("j", "cursor(1)", show=False),
        Binding("k", "cursor(-1)", show=False),
    ]

    def __init__(self, title: str, rows: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self._title = title
        self._rows = rows

    def compose(self) -> ComposeResult:
        """The title over the list."""
        options = [
            Option(Content.assemble(clean(name), "\n", (f"  {clean(where)}", "dim"))) for name, where in self._rows
        ]
        with Vertical():
            yield Static(Content(clean(self._title)))
            yield OptionList(*options)

    def action_cursor(self, step: int) -> None:
        """Up and down as in vim."""
        options = self.query_one(OptionList)
        if step > 0:
            options.action_cursor_down()
        else:
            options.action_cursor_up()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """This one."""
        self.dismiss(event.option_index)


def row(one: Candidate) -> tuple[str, str]:
    """What tells a candidate from the others: its name and signature; kind, place, tree and precision below."""
    ref = one.spot.ref
    where = f"{ref.path}:{one.first or ref.line}" if one.first or ref.line else ref.path or ref.reason or "no place"
    more = [f"#if {' and '.join(one.symbol.guards)}"] if one.symbol is not None and one.symbol.guards else []
    more += ["declaration"] if one.symbol is not None and one.symbol.role == "declaration" else []
    told = " · ".join([one.kind, where, one.spot.tree.label, ref.layer or "", ref.precision, *more])
    detail = one.detail if one.kind != "file" else f"  {one.detail}"
    return f"{one.name}{detail}" if one.kind != "operator" else f"{one.name}  {detail}", told.replace(" ·  · ", " · ")
