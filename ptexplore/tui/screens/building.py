"""There is no index yet: offer to build it, show how far it is, let the reader stop it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Footer, Static

from ptexplore.errors import PtexploreError
from ptexplore.safe_text import clean
from ptexplore.tui.jobs import Running

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

    from ptexplore.tui.library import Library

_KEPT = 8  # steps that stay on the screen
WHY = "Names, uses, notes and files are found through an index of the source; it is built once: about a minute."


def _named(missing: Sequence[str]) -> str:
    return ", ".join("the installed torch's own text" if name == "runtime" else name for name in missing)


class Building(Screen[Any]):
    """Ends with the trees once they are indexed; with None where the reader goes on without."""

    DEFAULT_CSS = """
    Building { align: center middle; }
    Building Vertical { width: 90%; max-width: 90; height: auto; border: round $accent; padding: 0 1; }
    Building .title { text-style: bold; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "build", "Build it"),
        Binding("escape", "leave", "Stop, or go on without"),
    ]

    def __init__(self, library: Library, missing: Sequence[str]) -> None:
        super().__init__()
        self._library = library
        self._missing = missing
        self._steps: list[str] = []
        self._job: Running | None = None

    def compose(self) -> ComposeResult:
        """What is missing, and what is done about it."""
        with Vertical():
            yield Static(Content(clean(f"There is no index of {_named(self._missing)}.")), classes="title")
            yield Static(Content(WHY))
            yield Static(id="steps")
        yield Footer(show_command_palette=False)

    def action_build(self) -> None:
        """Build it, in a process of its own."""
        if self._job is None:
            self._steps = ["starting …"]
            self._show()
            self._job = Running("indexing", lambda name, done: self.app.call_from_thread(self._step, name, done))
            self._build(self._job)

    @work(thread=True, exclusive=True)
    def _build(self, job: Running) -> None:
        try:
            trees = self._library.build_indexes(job)
        except PtexploreError as error:
            self.app.call_from_thread(self._failed, error)
        else:
            self.app.call_from_thread(self.dismiss, trees)

    def _step(self, name: str, done: float | None) -> None:
        share = f" {done:.0%}" if done is not None else "" if name.endswith("%") else " …"
        goes_on = name.endswith("%") and bool(self._steps) and self._steps[-1].startswith(name.rpartition(":")[0])
        self._steps = [*(self._steps[:-1] if goes_on else self._steps)[-_KEPT:], f"{name}{share}"]
        self._show()

    def _show(self) -> None:
        self.query_one("#steps", Static).update(Content("\n".join(map(clean, self._steps))))

    def _failed(self, error: PtexploreError) -> None:
        self._job = None
        told = (error.message, error.why, f"try: {error.hint}" if error.hint else "")
        self._steps += [text for text in told if text]
        self._show()

    def action_leave(self) -> None:
        """Stop what runs; where nothing runs, go on with what there is."""
        if self._job is not None:
            self._job.stop()
        else:
            self.dismiss(None)

    def on_unmount(self) -> None:
        """Nothing goes on after the screen is gone."""
        if self._job is not None:
            self._job.stop()
