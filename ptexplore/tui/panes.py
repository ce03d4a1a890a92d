"""Which panes stand where: beside the source on a wide screen, instead of it or below it on a small one."""

from __future__ import annotations

from typing import Any

from textual.screen import Screen

from ptexplore.tui.notes_pane import NotesPane
from ptexplore.tui.source import SourceView
from ptexplore.tui.tree import FileTree
from ptexplore.tui.uses import Uses

WIDE = 110  # columns from which on files and notes stand beside the source
ROOMY = 120  # columns below which what stands beside the source takes less
NARROW = 40  # columns below which source cannot be read


class Panes(Screen[None]):
    """The panes of the reading screen, shown or hidden as the reader and the width have it."""

    DEFAULT_CSS = """
    Panes { layers: base; }
    #crumb { height: 1; padding: 0 1; background: $panel; color: $text; }
    #status { height: 1; padding: 0 1; background: $panel; color: $text-muted; }
    #notice { height: auto; max-height: 4; padding: 0 1; background: $warning; color: $text; display: none; }
    #files { width: 34; border-right: vkey $panel; }
    #side { width: 46; border-left: vkey $panel; overflow-y: auto; padding: 0 1; }
    #middle { width: 1fr; }
    #source { height: 1fr; }
    Panes.-tight #files { width: 24; }
    Panes.-tight #side { width: 32; }
    Panes.-small #panes { layout: vertical; }
    Panes.-small #files { width: 100%; height: 1fr; border-right: none; }
    Panes.-small #side { width: 100%; height: 45%; border-left: none; border-top: solid $panel; }
    Panes.-small.-choosing #middle { display: none; }
    Panes.-narrow #status, Panes.-narrow Footer { display: none; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._wants_files: bool | None = None  # what the reader asked for; None: as the width has it
        self._wants_notes: bool | None = None

    @property
    def source(self) -> SourceView:
        return self.query_one(SourceView)

    @property
    def files(self) -> FileTree:
        return self.query_one(FileTree)

    @property
    def notes(self) -> NotesPane:
        return self.query_one(NotesPane)

    def action_files(self) -> None:
        """Show or hide the files; shown, they have the keys."""
        shown = self.files.display
        self._wants_files = not shown
        self._arrange()
        if shown:
            self.source.focus()
        else:
            self.files.focus()

    def action_notes(self) -> None:
        """Show or hide the notes."""
        self._wants_notes = not self.query_one("#side").display
        self._arrange()

    def show_notes(self) -> None:
        """The notes are what is read now, however wide the screen is."""
        if not self.query_one("#side").display:
            self._wants_notes = True
            self._arrange()

    def action_away(self) -> None:
        """Close what lies over the source; what runs for the reader ends first."""
        app: Any = self.app
        if app.stop_job():
            return
        uses = self.query_one(Uses)
        if uses.display:
            uses.display = False
        elif self.has_class("-small") and self.files.display and self.source.file is not None:
            self._wants_files = None
        self.source.finding.text = ""
        self._arrange()
        self.source.refresh()
        self.source.focus()

    def _arrange(self, width: int | None = None) -> None:
        width = width or self.size.width
        small = width < WIDE
        self.set_class(small, "-small")
        self.set_class(width < ROOMY and not small, "-tight")
        self.set_class(width < NARROW, "-narrow")
        empty = self.source.file is None
        files = self._wants_files if self._wants_files is not None else not small
        self.files.display = files or empty
        self.set_class(small and self.files.display, "-choosing")
        self.query_one("#side").display = self._wants_notes if self._wants_notes is not None else not small
