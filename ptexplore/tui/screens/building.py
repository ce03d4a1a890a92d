"""The screen before there is an index: offers to build it, shows the progress, and lets the reader stop it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Footer, Static

from ptexplore.safe_text import clean
from ptexplore.tui.jobs import Job, hand_over

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

    from ptexplore.errors import PtexploreError
    from ptexplore.tui.library import Library

_KEPT = 8  # steps that stay on the screen
WHY = "Names, uses, notes and files are found through an index of the source; it is built once: about a minute."


class Building(Screen[Any]):
    """The offer to build the index. The screen returns the trees, or None if the reader goes on without an index."""

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
        self._job: Job | None = None

    def compose(self) -> ComposeResult:
        """The missing indexes, and the steps of the build."""
        names = ("the installed torch's own text" if name == "runtime" else name for name in self._missing)
        with Vertical():
            yield Static(Content(clean(f"There is no index of {' and of '.join(names)}.")), classes="title")
            yield Static(Content(WHY))
            if self._library.trees:
                yield Static(Content(clean(self._without())))
            yield Static(id="steps")
        yield Footer(show_command_palette=False)

    def _without(self) -> str:
        """Returns a line on the trees that can be read at once, and on what they do not include."""
        trees = " and ".join(indexed.tree.info.label for indexed in self._library.trees)
        installed = " (generated C++, the wheel's headers and Python)" if "runtime" in self._missing else ""
        return f"Esc reads {trees} at once, without it{installed}."

    def action_build(self) -> None:
        """Build the index in another process."""
        if self._job is None:
            self._show(["starting …"])
            self._job = Job("indexing", lambda name: self.app.call_from_thread(self._step, name))
            build = partial(self._library.build_indexes, self._job)
            self.run_worker(partial(hand_over, self.app, build, self.dismiss, self._failed), thread=True)

    def _step(self, name: str) -> None:
        share = name.endswith("%")
        goes_on = share and self._steps[-1].startswith(name.rpartition(":")[0])
        steps = self._steps[:-1] if goes_on else self._steps
        self._show([*steps[-_KEPT:], name if share else f"{name} …"])

    def _show(self, steps: list[str]) -> None:
        self._steps = steps
        self.query_one("#steps", Static).update(Content("\n".join(map(clean, steps))))

    def _failed(self, error: PtexploreError) -> None:
        self._job = None
        parts = (error.message, error.why, f"try: {error.hint}" if error.hint else "")  # `_show` makes each one line
        self._show([*self._steps, *filter(None, parts)])

    def action_leave(self) -> None:
        """Stop the build; if nothing runs, go on without an index."""
        if self._job is not None:
            self._job.stop()
        else:
            self.dismiss(None)

    def on_unmount(self) -> None:
        """Stop the build when the screen is gone."""
        if self._job is not None:
            self._job.stop()
