"""What the screens read: trees, notes and operators; what takes long runs in a process of its own."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from ptexplore.annotations.load import NoteLibrary as Notes
    from ptexplore.annotations.marks import Mark
    from ptexplore.annotations.records import Lab, Stop, Tour
    from ptexplore.model.trace import Trail
    from ptexplore.view.card import Card
    from ptexplore.view.notes.labs import LabResult
    from ptexplore.view.notes.noted import Noted
    from ptexplore.view.notes.tour import Guide
    from ptexplore.view.search.operators import Catalogue
    from ptexplore.view.trees import IndexedTree
    from ptexplore.workspace.workspace import Workspace


class Job(Protocol):
    """A process that runs for the reader: it says how far it is, and can be stopped from any thread."""

    def step(self, name: str, done: float | None = None) -> None:
        """`name` is running; called by whoever does the work."""

    @property
    def stopped(self) -> bool:
        """Whether the reader wants it no more."""

    def watch(self, stop: Callable[[], None]) -> None:
        """Call `stop` when the reader wants it no more; at once where that is so already."""


@dataclass
class Library:
    """What the screens read: the workspace, its trees that have an index, the one in use first.

    `run_command` runs a ptexplore command in a process of its own, for a job, and returns what it printed; `edit` opens
    a file at a line in the reader's editor. `torch` is the installed torch's version, `advice` what the reader should
    know of what is missing here.
    """

    workspace: Workspace
    trees: Sequence[IndexedTree]
    run_command: Callable[[Sequence[str], Job], str]
    edit: Callable[[str, int], None]
    torch: str | None = None
    advice: tuple[str, ...] = ()
    _marks: dict[tuple[str, str], list[Mark]] | None = field(default=None, repr=False)
    _reading: Lock = field(default_factory=Lock, repr=False)

    @cached_property
    def catalogue(self) -> Catalogue | None:
        """The operators that the installed torch registered; None where there is none, or nothing was made yet."""
        return self.workspace.catalogue_at_hand(self.trees)

    @cached_property
    def notes(self) -> Notes:
        """Every tour and note."""
        return self.workspace.library

    @cached_property
    def noted(self) -> Noted:
        """Where the stops are, by a tree's name."""
        return self.workspace.marks(self.trees)

    def apart_guide(self) -> Guide:
        """The stops of tours on these trees, PyTorch's own, with connections of its own: for a thread."""
        from ptexplore.view.notes.tour import Guide
        from ptexplore.view.trees import project

        return Guide(self.notes, [one for one in self.apart().trees if project(one) == "pytorch"], self.torch)

    # --- what takes long: to be called in a thread; it blocks, and raises PtexploreError ---

    def trace(self, expression: str, job: Job) -> Trail:
        """Trace an expression; its Trail. Ends early when the job is stopped."""
        from ptexplore.workspace.saved_traces import load_trace

        with tempfile.TemporaryDirectory(prefix="ptexplore-browse-") as folder:
            file = f"{folder}/trace.json"
            self.run_command(["trace", expression, *self._python, "--save", file], job)
            return load_trace(file)[0]

    def run_lab(self, tour: Tour, stop: Stop, lab: Lab, job: Job) -> tuple[LabResult, Trail | None]:
        """Run one lab; how it ended, and its Trail, if it has one. Ends early when the job is stopped."""
        from ptexplore.annotations.records import Where
        from ptexplore.view.notes.labs import LabResult
        from ptexplore.workspace.saved_traces import load_trace

        notes = [part for folder in self.workspace.notes for part in ("--notes", folder)]
        with tempfile.TemporaryDirectory(prefix="ptexplore-browse-") as folder:
            file = f"{folder}/trail.json"
            command = ["__lab", tour.name_of(stop), lab.id, *notes, *self._python, "--save", file]
            told: dict[str, Any] = json.loads(self.run_command(command, job))
            trail = load_trace(file)[0] if os.path.isfile(file) else None
        return LabResult(**told | {"where": Where(**told["where"])}), trail

    def build_indexes(self, job: Job) -> Sequence[IndexedTree]:
        """Build every index that is missing; all trees afterwards. Ends early when the job is stopped."""
        self.run_command(["index", *self._python], job)
        return self.workspace.apart().trees

    def card(self, name: str) -> Card:
        """The card of an operator's full name."""
        with self.workspace.apart() as own:
            return own.operator(name)

    @property
    def _python(self) -> list[str]:
        return ["--python", self.workspace.python] if self.workspace.python else []

    # --- trees and marks ---

    @property
    def standing(self) -> str:
        """What is read here, and what is missing, in a line."""
        trees = ", ".join(f"{one.tree.info.label} ({one.tree.info.relation})" for one in self.trees)
        return "; ".join([*self.advice, trees])

    def tree(self, name: str) -> IndexedTree | None:
        """The tree of that name; None where there is none."""
        return next((one for one in self.trees if one.tree.info.name == name), None)

    def read_notes(self) -> None:
        """Read the notes and where they stand; for a thread: with a new index every anchor has to be placed.

        Raises PtexploreError where a folder of notes cannot be read.
        """
        with self._reading:
            if self._marks is None:
                marks: dict[tuple[str, str], list[Mark]] = {}
                for name, found in self.workspace.marks(self.apart().trees).items():
                    for mark in found:
                        if mark.placed:
                            marks.setdefault((name, mark.path), []).append(mark)
                _ = self.notes  # the text of the first one is asked for as soon as it is known where it stands
                self._marks = marks

    @property
    def marked(self) -> bool:
        """Whether it is known where the notes stand: `read_notes` came to its end."""
        return self._marks is not None

    def marks(self, tree: str, path: str) -> list[Mark]:
        """The stops that are placed in one file, by line; none before they are read."""
        return sorted((self._marks or {}).get((tree, path), ()), key=lambda one: (one.line, one.stop))

    def apart(self) -> Library:
        """The same with connections of its own: for a thread whose questions must not make the screen wait."""
        return replace(self, trees=[indexed.reopened() for indexed in self.trees], _marks=None)


@dataclass(frozen=True)
class Place:
    """Where a reader is, or was: a line (1-based) and a column (0-based) of a file of a tree."""

    tree: str
    path: str
    line: int = 1
    column: int = 0
