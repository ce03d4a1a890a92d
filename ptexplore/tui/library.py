"""The data of the screens: trees, notes and operators. Long work runs in another process."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING, Any

from ptexplore.errors import PtexploreError
from ptexplore.temporary import temporary_folder

if TYPE_CHECKING:
    from ptexplore.annotations.about import MarksByTree
    from ptexplore.annotations.folders import FolderPages
    from ptexplore.annotations.load import NoteLibrary as Notes
    from ptexplore.annotations.marks import Mark
    from ptexplore.annotations.records import Lab, Stop, Tour
    from ptexplore.capture.allowed import AllowedRun
    from ptexplore.lookup.gathering import SearchedNotes
    from ptexplore.lookup.trees import IndexedTree
    from ptexplore.model.places import TreeInfo
    from ptexplore.model.trace import Session, Trace
    from ptexplore.source.python_docs import DocLine
    from ptexplore.tui.jobs import Job
    from ptexplore.tui.places import Place
    from ptexplore.view.card import Card
    from ptexplore.view.notes.folder import FolderView
    from ptexplore.view.notes.labs import LabResult
    from ptexplore.view.notes.tour import Guide
    from ptexplore.workspace.workspace import Workspace


@dataclass
class Library:
    """The data of the screens: the workspace and its trees with an index; the tree in use is first.

    `run_command` runs a ptexplore command in another process, for a job, and returns its output. `edit` opens a file at
    a line in the reader's editor. `torch` is the version of the installed torch. `advice` are remarks on missing data.
    """

    workspace: Workspace
    trees: Sequence[IndexedTree]
    run_command: Callable[[Sequence[str], Job], str]
    edit: Callable[[str, int], None]
    torch: str | None = None
    advice: tuple[str, ...] = ()
    _marks: MarksByTree | None = field(default=None, init=False, repr=False)  # None until the marks are read
    _docs: Mapping[str, DocLine] | None = field(default=None, init=False, repr=False)
    _reading: Lock = field(default_factory=Lock, init=False, repr=False)

    # --- trees and notes ---

    @property
    def standing(self) -> str:
        """One line on the trees that are read, and on missing data."""
        trees = ", ".join(map(_standing, (indexed.tree.info for indexed in self.trees)))
        return "; ".join(filter(None, [*self.advice, self.lacks, trees]))

    @property
    def lacks(self) -> str:
        """What fetching PyTorch's source would add. "" if some of it is here, or if there is no installed torch."""
        from ptexplore.annotations.about import without_source
        from ptexplore.lookup.trees import project

        if self.torch is None or any(
            indexed.checkout is not None and project(indexed) == "pytorch" for indexed in self.trees
        ):
            return ""
        missing, total = without_source(self._marks or {})
        stops = f"{missing} of {total} stops have no source here" if missing else "no hand-written C++ is here"
        return f"{stops}: F fetches it"

    def tree(self, name: str) -> IndexedTree | None:
        """Returns the tree with that name, or None."""
        return next((indexed for indexed in self.trees if indexed.tree.info.name == name), None)

    def at_name(self, place: Place, name: str, *, once: bool = False) -> Place:
        """Returns the place with the column of a name on its line.

        The column is 0 if the name is not there, or with `once` if it is there twice.
        """
        indexed = self.tree(place.tree)
        line = (indexed.tree.line(place.path, place.line) or "") if indexed is not None else ""
        columns = [match.start() for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", line)] if name else []
        return replace(place, column=columns[0] if len(columns) == 1 or (columns and not once) else 0)

    def reopened_trees(self) -> list[IndexedTree]:
        """Returns the trees with new connections, for a thread whose questions must not make the screen wait."""
        return [indexed.reopened() for indexed in self.trees]

    def folder(self, tree: str, path: str) -> FolderView:
        """Returns the page of a folder of a tree. Raises PtexploreError if a folder of notes cannot be read."""
        from ptexplore.view.notes.folder import folder_view

        indexed = self.tree(tree)
        assert indexed is not None
        return folder_view(indexed, path, self.folder_pages, self.notes)

    @property
    def folder_pages(self) -> FolderPages:
        """The notes on folders. Raises PtexploreError if a folder of notes cannot be read."""
        return self.workspace.folder_pages

    @property
    def notes(self) -> Notes:
        """Every tour and note. Raises PtexploreError if a folder of notes cannot be read."""
        return self.workspace.library

    def read_marks(self) -> MarksByTree:
        """Returns the marks of all notes, read once. Call it in a thread: with a new index all anchors must be placed.

        Raises PtexploreError if a folder of notes cannot be read.
        """
        with self._reading:
            if self._marks is None:
                marks = self.workspace.marks(self.reopened_trees())
                _ = self.notes  # the texts are needed as soon as the places are known
                self._marks = marks
            return self._marks

    def searched_notes(self) -> SearchedNotes:
        """Returns the notes for a search. Call it in a thread. Raises PtexploreError as `read_marks` does."""
        from ptexplore.lookup.gathering import SearchedNotes

        return SearchedNotes(self.read_marks(), self.workspace.topics)

    @property
    def marked(self) -> bool:
        """Whether the marks of the notes are read."""
        return self._marks is not None

    def marks(self, tree: str, path: str) -> list[Mark]:
        """Returns the stops that are placed in one file, by line; none before the marks are read."""
        marks = self._marks.get(tree, ()) if self._marks is not None else ()
        return sorted((mark for mark in marks if mark.placed and mark.path == path), key=lambda m: (m.line, m.stop))

    # --- long work: call it in a thread; it blocks, and raises PtexploreError ---

    def guide(self) -> Guide:
        """Returns the stops of tours in PyTorch's own trees, with new connections."""
        from ptexplore.lookup.trees import project
        from ptexplore.view.notes.tour import Guide

        trees = [indexed for indexed in self.reopened_trees() if project(indexed) == "pytorch"]
        return Guide(self.notes, trees, self.torch)

    def trace(self, run: AllowedRun, job: Job) -> tuple[Trace, Session | None, AllowedRun]:
        """Trace allowed code. Returns the trace, its session, and the run. Ends early if the job is stopped."""
        from ptexplore.view.words.commands import with_options, words_of
        from ptexplore.workspace.saved_traces import load_trace

        words = words_of(run.request.expression, run.request)
        with temporary_folder("browse") as folder:
            file = f"{folder}/trace.json"
            self.run_command(["trace", *with_options(words, (*self._python, "--save", file))], job)
            return (*load_trace(file), run)

    def run_lab(self, tour: Tour, stop: Stop, lab: Lab, job: Job) -> tuple[LabResult, Trace | None]:
        """Run one lab. Returns the result, and the trace if there is one. Ends early if the job is stopped."""
        from ptexplore.annotations.records import Where
        from ptexplore.view.notes.labs import LabResult
        from ptexplore.workspace.saved_traces import load_trace

        notes = [part for folder in self.workspace.notes for part in ("--notes", folder)]
        with temporary_folder("browse") as folder:
            file = f"{folder}/trace.json"
            command = ["__lab", tour.name_of(stop), lab.id, *notes, *self._python, "--save", file]
            result: dict[str, Any] = json.loads(self.run_command(command, job))
            trace = load_trace(file)[0] if os.path.isfile(file) else None
        return LabResult(**result | {"where": Where(**result["where"])}), trace

    def fetch(self, job: Job) -> Library:
        """Fetch and index the installed torch's source. Returns the new library. Ends early if the job is stopped."""
        self.run_command(["fetch", *self._python], job)
        self.run_command(["index", *self._python], job)
        own = self.workspace.apart()
        return replace(self, workspace=own, trees=own.trees)

    def build_indexes(self, job: Job) -> Sequence[IndexedTree]:
        """Build every missing index and the catalogue of operators. Returns all trees.

        The catalogue comes first: the generated C++ that it reads is not read again for the index. If there can be no
        catalogue, because torch does not start, source is still indexed. Ends early if the job is stopped.
        """
        if self.lacks_operators:
            try:
                self.collect_operators(job)
            except PtexploreError:
                if job.stopped:
                    raise
        self.run_command(["index", *self._python], job)
        return self.workspace.apart().trees

    @property
    def lacks_operators(self) -> bool:
        """Whether there is an installed torch whose operators are not collected yet."""
        return self.workspace.runtime_if_any is not None and self.workspace.catalogue_at_hand(self.trees) is None

    def collect_operators(self, job: Job) -> None:
        """Build the catalogue of operators. Ends early if the job is stopped."""
        self.run_command(["op", "aten::add.Tensor", *self._python], job)

    def card(self, name: str, job: Job) -> Card:
        """Returns the card of an operator by its full name. A missing catalogue or index is built first.

        The card also has the text from the Python documentation. `ptexplore op` does not show this text, because
        reading it takes as long as the card.
        """
        from ptexplore.source.python_docs import doc_lines
        from ptexplore.view.card import documented

        with self.workspace.apart() as own:
            if own.trees_at_hand()[1] or own.catalogue_at_hand(self.trees) is None:
                self.run_command(["op", name, *self._python], job)
            card, tree = own.operator(name), own.lookup.tree
            if self._docs is None:
                self._docs = doc_lines(tree)
            return documented(card, self._docs, tree)

    @property
    def _python(self) -> list[str]:
        return ["--python", self.workspace.python] if self.workspace.python else []


def _standing(tree: TreeInfo) -> str:
    """Returns the name of a tree, and its relation to the installed torch if it may have other text."""
    return tree.label if tree.relation in ("runtime", "matches") else f"{tree.label} ({tree.relation})"
