"""Going to what was asked for: a name, a definition, one of several candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptexplore.errors import PtexploreError
from ptexplore.tui import messages
from ptexplore.tui.library import Place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import App

    from ptexplore.tui.library import Library
    from ptexplore.tui.screens.reader import ReadingScreen
    from ptexplore.view.search.show import Candidate


class Navigator:
    """Takes the reader to a candidate; where there are several, the reader says which."""

    def __init__(self, app: App[None], library: Library, reader: ReadingScreen) -> None:
        self._app = app
        self._library = library
        self._reader = reader

    def show_reader(self) -> ReadingScreen:
        """The reading screen, whatever lay over it."""
        while self._app.screen is not self._reader and len(self._app.screen_stack) > 1:
            self._app.pop_screen()
        return self._reader

    def open_symbol(self, name: str) -> None:
        """Go to what bears this name."""
        from ptexplore.view.search.show import candidates

        try:
            self.choose(name, candidates(self._library.trees, self._library.catalogue, name))
        except PtexploreError as error:
            self.show_reader().tell(error.message)

    def open_definition(self, name: str, place: Place) -> None:
        """Go to the definition of a name that stands at a place."""
        from ptexplore.tui.reading.defining import definitions

        found, told = definitions(self._library, name, place)
        if found:
            self.choose(name, found, told)
        else:
            self._reader.tell(told)

    def choose(self, name: str, candidates: Sequence[Candidate], told: str = "") -> None:
        """Go to the one candidate, or to the one that the reader chooses. `told` is what to know of them."""
        from ptexplore.tui.screens.choice import ChoiceScreen, row

        if not candidates:
            self.show_reader().tell(f"there is nothing named {name} in these trees")
        elif len(candidates) == 1:
            self._take(candidates[0], told)
        else:
            title = f"{told} ({len(candidates)} things)" if told else f"{name} names {len(candidates)} things"
            choice = ChoiceScreen(title, [row(candidate) for candidate in candidates])
            self._app.push_screen(choice, lambda at: self._take(candidates[at]) if at is not None else None)

    def _take(self, candidate: Candidate, told: str = "") -> None:
        ref, symbol = candidate.spot.ref, candidate.symbol
        if candidate.kind == "operator":
            self._app.post_message(messages.OpenOperator(candidate.name))
        elif ref.path is None:
            self.show_reader().tell(f"{candidate.name}: {ref.reason or 'no place is known'}")
        else:
            line = candidate.first or ref.line or 1
            last = candidate.last if candidate.first else symbol.end_line if symbol is not None else None
            lit = (symbol.begin if symbol is not None else line, last) if last and last > line else None
            place = Place(candidate.spot.tree.name, ref.path, line, self._column(candidate, line))
            self.show_reader().go(place, lit=lit)
            if ref.precision in ("ambiguous", "unknown"):
                self._reader.tell(f"{ref.precision}: {ref.reason}")
            elif told:
                self._reader.tell(told)

    def _column(self, candidate: Candidate, line: int) -> int:
        """Where the name is on its line, so that a definition is shown with the cursor on it."""
        indexed, path = self._library.tree(candidate.spot.tree.name), candidate.spot.ref.path
        if candidate.symbol is None or indexed is None or path is None:
            return 0
        return max(0, (indexed.tree.line(path, line) or "").find(candidate.symbol.name))
