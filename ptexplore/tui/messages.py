"""The messages of panes to the app: any widget posts one, and the app acts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

from ptexplore.tui.places import FOLDER, Place

if TYPE_CHECKING:
    from ptexplore.annotations.folders import FolderPage
    from ptexplore.annotations.records import See
    from ptexplore.capture.allowed import AllowedRun
    from ptexplore.model.trace import Session, Trace
    from ptexplore.view.opening import Opening


@dataclass
class OpenPlace(Message):
    """Show a line of a file, or a folder's page. `origin` is the place that going back leads to first."""

    place: Place
    origin: Place | None = None


@dataclass
class ShowFolder(Message):
    """Show a folder's page beside the files, which keep the focus."""

    place: Place


@dataclass
class OpenOperator(Message):
    """Show the card of an operator by its full name ("aten::add.Tensor").

    If going back leads to the card, `back` is how the reader left it.
    """

    name: str
    back: Place | None = None


@dataclass
class OpenTour(Message):
    """Walk a tour or note by its id: from a stop's id on, else from the last stop.

    `origin` is the place that leaving the tour leads back to; without it, the place that is open.
    """

    tour: str
    at: str | None = None  # the message has its own `stop`
    origin: Place | None = None


@dataclass
class OpenTrace(Message):
    """Show a trace as a tree; its hops open the source.

    `ran` is the code that you allowed to run for it in this `browse`, or None if the trace was loaded from a file.
    """

    trace: Trace
    session: Session | None = None
    ran: AllowedRun | None = None


@dataclass
class StepCall(Message):
    """Trace allowed code again, and step only one operator call of it: `add.Tensor#2`."""

    ran: AllowedRun
    call: str


@dataclass
class GoBack(Message):
    """Show the place before the current one, like the reading screen's key. Going forward leads back to `left`."""

    left: Place


@dataclass
class ShowTrace(Message):
    """Show the tree of the last trace, as the reader left it. `went_back` says that going back led to it."""

    went_back: bool = False


@dataclass
class OpenHop(Message):
    """Show a hop of the last trace in its tree."""

    hop: int


@dataclass
class Follow(Message):
    """Open the thing that a stop points to."""

    see: See


@dataclass
class GoToStop(Message):
    """Show a stop of the current tour by its number. A number after the last one leaves the tour."""

    number: int


class Fetch(Message):
    """Offer to fetch the source of the installed torch."""


@dataclass
class GoHome(Message):
    """Show the learning path and the tours. `went_back` says that going back led there."""

    went_back: bool = False


@dataclass
class TraceSuggested(Message):
    """Trace the expression that a folder's page suggests, and show the trace. If needed, the reader is asked before."""

    page: FolderPage


@dataclass
class OpenDefinition(Message):
    """Show the definition of a name at a place. `name` includes its qualifier."""

    name: str
    place: Place


@dataclass
class OpenUses(Message):
    """List the uses of a name. `only` is the file that sees it, if no other file does."""

    name: str
    only: str = ""


@dataclass
class Moved(Message):
    """The cursor is on another line or file."""

    place: Place


@dataclass
class Left(Message):
    """The cursor jumps away from this place: going back leads to it."""

    place: Place


class Filled(Message):
    """A pane beside the source has new content, so the panes are laid out again."""


@dataclass
class Tell(Message):
    """A line of text for the reader."""

    text: str


def message_for(opening: Opening) -> Message | None:
    """Returns the message for an opening; None if nothing can be opened."""
    if opening.operator is not None:
        return OpenOperator(opening.operator)
    if opening.folder is not None:
        return OpenPlace(Place(opening.folder.tree, opening.folder.path or "", FOLDER))
    if opening.stop is not None:
        return open_stop(opening.stop)
    ref = opening.ref
    return OpenPlace(Place(ref.tree, ref.path, ref.line or 1)) if ref is not None and ref.path is not None else None


def open_stop(name: str) -> OpenTour:
    """Returns the message that walks a tour: from a stop ("tour#stop"), or from the last stop ("tour")."""
    tour, _, stop = name.partition("#")
    return OpenTour(tour, stop or None)
