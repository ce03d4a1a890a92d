"""What one pane asks of the whole: post one of these from any widget, and the app does it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

from ptexplore.tui.places import FOLDER, Place

if TYPE_CHECKING:
    from ptexplore.annotations.folders import FolderPage
    from ptexplore.annotations.records import See
    from ptexplore.capture.allowed import AllowedRun
    from ptexplore.model.trace import Session, Trail
    from ptexplore.view.opening import Opening


@dataclass
class OpenPlace(Message):
    """Show a line of a file of a tree, or a folder's page; `origin` is where going back leads first."""

    place: Place
    origin: Place | None = None


@dataclass
class ShowFolder(Message):
    """Show a folder's page beside the files, which keep the keys."""

    place: Place


@dataclass
class OpenOperator(Message):
    """Show the card of the operator of this full name ("aten::add.Tensor").

    `back` is how the card was left, where going back leads to it.
    """

    name: str
    back: Place | None = None


@dataclass
class OpenTour(Message):
    """Walk a tour or note by its id: from a stop's id on, else from where it was left.

    `origin` is where the way back out of it leads; without it, to the place that is open.
    """

    tour: str
    at: str | None = None  # `stop` is the message's own
    origin: Place | None = None


@dataclass
class OpenTrail(Message):
    """Show what ran, as a tree whose hops open the source. `ran` is what you allowed to run for it, in this `browse`;
    None for what was loaded from a file.
    """

    trail: Trail
    session: Session | None = None
    ran: AllowedRun | None = None


@dataclass
class StepCall(Message):
    """Trace once more what was allowed to run, and step one operator call of it alone: `add.Tensor#2`."""

    ran: AllowedRun
    call: str


@dataclass
class GoBack(Message):
    """Show the place before the one that is left, as the reading screen's own key does; forward leads to it again."""

    left: Place


@dataclass
class ShowTrail(Message):
    """Show the tree of what ran last, where it was left. `went_back` says that going back led to it."""

    went_back: bool = False


@dataclass
class OpenHop(Message):
    """Show a hop of what ran last in its tree."""

    hop: int


@dataclass
class Follow(Message):
    """Open what a stop points to."""

    see: See


@dataclass
class GoToStop(Message):
    """Show a stop of the tour that is walked, by its number; a number beyond the last one leaves the tour."""

    number: int


class Fetch(Message):
    """Offer to fetch the source of the installed torch."""


@dataclass
class GoHome(Message):
    """Show what to read next: the learning path and the tours. `went_back` says that going back led there."""

    went_back: bool = False


@dataclass
class Trace(Message):
    """Trace the expression that a folder's page says to try, and show what ran: asked about before, where need be."""

    page: FolderPage


@dataclass
class OpenDefinition(Message):
    """Show the definition of a name that stands at a place; `name` includes what qualifies it."""

    name: str
    place: Place


@dataclass
class OpenUses(Message):
    """List the uses of a name; `only` is the file that alone sees it, if one does."""

    name: str
    only: str = ""


@dataclass
class Moved(Message):
    """The cursor is on another line or file: what follows it, follows."""

    place: Place


@dataclass
class Left(Message):
    """The cursor jumps away from this place: going back leads to it."""

    place: Place


class Filled(Message):
    """A pane beside the source shows something else: what stands there is laid out anew."""


@dataclass
class Tell(Message):
    """A line for the reader."""

    text: str


def message_for(opening: Opening) -> Message | None:
    """The message that opens it; None if nothing can be opened."""
    if opening.operator is not None:
        return OpenOperator(opening.operator)
    if opening.folder is not None:
        return OpenPlace(Place(opening.folder.tree, opening.folder.path or "", FOLDER))
    if opening.stop is not None:
        return open_stop(opening.stop)
    ref = opening.ref
    return OpenPlace(Place(ref.tree, ref.path, ref.line or 1)) if ref is not None and ref.path is not None else None


def open_stop(name: str) -> OpenTour:
    """The message that walks a tour from a stop on; `name` is "tour#stop", or a tour: from where it was left."""
    tour, _, stop = name.partition("#")
    return OpenTour(tour, stop or None)
