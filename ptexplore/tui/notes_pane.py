"""What people wrote about the lines under the cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content
from textual.widgets import Static

from ptexplore.view.plain import clean

if TYPE_CHECKING:
    from ptexplore.tui.library import Library, Place


class NotesPane(Static):
    """The stops that are about where the reader is."""

    def __init__(self, library: Library) -> None:
        super().__init__(id="notes")
        self._library = library

    def follow(self, place: Place) -> None:
        """The cursor is here now."""
        here = [m for m in self._library.marks(place.tree, place.path) if m.begin <= place.line <= m.symbol_end]
        self.update(Content("\n\n".join(clean(f"{one.title} ({one.stop})") for one in here) or "no note on this line"))
