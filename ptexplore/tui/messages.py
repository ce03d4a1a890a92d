"""What one pane asks of the whole: post one of these from any widget, and the app does it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from ptexplore.model.trace import Trail
    from ptexplore.tui.library import Place


class OpenPlace(Message):
    """Show a line of a file of a tree; `keep` leaves the focus where it is (a list that is walked through)."""

    def __init__(self, tree: str, path: str, line: int = 1, column: int = 0, *, keep: bool = False) -> None:
        super().__init__()
        self.tree, self.path, self.line, self.column, self.keep = tree, path, line, column, keep


class OpenSymbol(Message):
    """Show what bears this name (or "FILE", "FILE:LINE"); where several do, the reader chooses."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


class OpenOperator(Message):
    """Show the card of the operator of this full name ("aten::add.Tensor")."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


class OpenTour(Message):
    """Walk a tour or note by its id: from a stop's id on, else from where it was left."""

    def __init__(self, tour: str, at: str | None = None) -> None:
        super().__init__()
        self.tour, self.at = tour, at  # `stop` is the message's own


class OpenTrail(Message):
    """Show what ran, as a tree whose hops open the source."""

    def __init__(self, trail: Trail, title: str = "") -> None:
        super().__init__()
        self.trail, self.title = trail, title


class OpenUses(Message):
    """List the uses of a name."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


class Edit(Message):
    """Open a file of this machine in the reader's editor."""

    def __init__(self, file: str, line: int) -> None:
        super().__init__()
        self.file, self.line = file, line


class Moved(Message):
    """The cursor is on another line or file: what follows it, follows."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self.place = place


class Coloured(Message):
    """What a file's words are is known: it can be shown in colour."""
