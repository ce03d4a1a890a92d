"""What the screens need, handed in by cli/browse.py: trees, notes, and what runs in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ptexplore.annotations.load import Library as Notes
    from ptexplore.annotations.marks import Mark
    from ptexplore.annotations.records import Lab, Stop, Tour
    from ptexplore.model import Checkout, Trail
    from ptexplore.source.tree import SourceTree
    from ptexplore.store.index_store import IndexStore
    from ptexplore.view.card import Card
    from ptexplore.view.labs import LabResult
    from ptexplore.view.noted import Noted
    from ptexplore.view.operators import Catalogue
    from ptexplore.view.tour import Guide
    from ptexplore.view.trees import IndexedTree


class Job(Protocol):
    """A process that runs for the reader: it says how far it is, and can be stopped from any thread."""

    def step(self, name: str, done: float | None = None) -> None:
        """`name` is running; called by whoever does the work."""

    @property
    def stopped(self) -> bool:
        """Whether the reader wants it no more."""

    def watch(self, stop: Callable[[], None]) -> None:
        """Call `stop` when the reader wants it no more; at once where that is so already."""


@dataclass(frozen=True)
class Runs:
    """What takes long, each to be called in a thread: it blocks, raises PtexploreError, and ends early when stopped."""

    trace: Callable[[str, Job], Trail]  # of an expression
    lab: Callable[[Tour, Stop, Lab, Job], tuple[LabResult, Trail | None]]
    index: Callable[[Job], Sequence[IndexedTree]]  # build what is missing; the trees afterwards
    card: Callable[[str], Card]  # of an operator's full name
    edit: Callable[[str, int], None]  # open a file at a line in $EDITOR; the screen is not ours meanwhile


@dataclass
class Library:
    """Trees with their indexes, the one in use first, and what is opened when it is first needed.

    `torch` is the installed torch's version, `advice` what the reader should know of what is missing here.
    """

    trees: Sequence[IndexedTree]
    runs: Runs
    open_catalogue: Callable[[Sequence[IndexedTree]], Catalogue | None]
    open_notes: Callable[[], Notes]
    open_marks: Callable[[Sequence[IndexedTree]], Noted]
    torch: str | None = None
    advice: tuple[str, ...] = ()
    _marks: dict[tuple[str, str], list[Mark]] | None = field(default=None, repr=False)
    _reading: Lock = field(default_factory=Lock, repr=False)

    @cached_property
    def catalogue(self) -> Catalogue | None:
        """The operators that the installed torch registered; None where there is none, or nothing was made yet."""
        return self.open_catalogue(self.trees)

    @cached_property
    def notes(self) -> Notes:
        """Every tour and note."""
        return self.open_notes()

    @cached_property
    def noted(self) -> Noted:
        """Where the stops are, by a tree's name."""
        return self.open_marks(self.trees)

    def apart_guide(self) -> Guide:
        """The stops of tours on these trees, PyTorch's own, with connections of its own: for a thread."""
        from ptexplore.view.tour import Guide
        from ptexplore.view.trees import project

        return Guide(self.notes, [one for one in self.apart().trees if project(one) == "pytorch"], self.torch)

    @property
    def standing(self) -> str:
        """What is read here, and what is missing, in a line."""
        from ptexplore.view.trees import label

        trees = ", ".join(f"{label(one.tree.info)} ({one.tree.info.relation})" for one in self.trees)
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
                for name, found in self.open_marks(self.apart().trees).items():
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
        trees = [Apart(one.tree, type(one.store).open(one.store.path), one.checkout) for one in self.trees]
        return replace(self, trees=trees, _marks=None)


@dataclass(frozen=True)
class Apart:
    """A tree with an index that is open once more."""

    tree: SourceTree
    store: IndexStore
    checkout: Checkout | None


@dataclass(frozen=True)
class Place:
    """Where a reader is, or was: a line (1-based) and a column (0-based) of a file of a tree."""

    tree: str
    path: str
    line: int = 1
    column: int = 0
