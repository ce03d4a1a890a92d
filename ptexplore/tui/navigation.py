"""Goes to places: the definition of the name under the cursor, or one of several candidates."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from ptexplore.lookup.definitions import find_definitions
from ptexplore.lookup.link_targets import DefinitionsByName
from ptexplore.tui.asking import ChoiceScreen, two_lines
from ptexplore.tui.messages import OpenOperator
from ptexplore.tui.places import Place
from ptexplore.view.why_there import why_there
from ptexplore.view.words.remarks import remark_in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import App
    from textual.content import Content

    from ptexplore.lookup.trees import Candidate
    from ptexplore.tui.library import Library
    from ptexplore.tui.screens.reader import ReadingScreen


class Navigator:
    """The part that takes the reader to a candidate. If there are several, the reader chooses."""

    def __init__(self, app: App[None], library: Library, reader: ReadingScreen) -> None:
        self._app = app
        self._library = library
        self._reader = reader

    def show_reader(self) -> ReadingScreen:
        """Close everything over the reading screen, and return this screen."""
        while self._app.screen is not self._reader and len(self._app.screen_stack) > 1:
            self._app.pop_screen()
        return self._reader

    @cached_property
    def _names(self) -> DefinitionsByName:
        return DefinitionsByName([indexed.store for indexed in self._library.trees])

    def open_definition(self, name: str, place: Place) -> None:
        """Go to the definition of a name at a place."""
        trees = self._library.trees
        definitions, remark = find_definitions(trees, self._names, name, place.tree, place.path, place.line)
        if definitions:
            self.choose(name, definitions, remark_in_words(remark))
        else:
            self._reader.tell(remark_in_words(remark))

    def choose(self, name: str, choices: Sequence[Candidate], remark: str = "") -> None:
        """Go to the only candidate, or to the one that the reader chooses. `remark` is a remark on them."""
        if len(choices) == 1:
            self._take(choices[0], remark)
            return
        title = f"{remark} ({len(choices)} things)" if remark else f"{name} means {len(choices)} things"
        self._app.push_screen(
            ChoiceScreen(title, [_option(candidate) for candidate in choices]),
            lambda at: self._take(choices[at]) if at is not None else None,
        )

    def _take(self, candidate: Candidate, remark: str = "") -> None:
        ref, symbol = candidate.spot.ref, candidate.symbol
        if candidate.kind == "operator":
            self._app.post_message(OpenOperator(candidate.name))
        elif ref.path is None:
            self.show_reader().tell(f"{candidate.name}: {why_there(ref.reason) or 'its place is not known'}")
        else:
            line = candidate.first or ref.line or 1
            last = candidate.last if candidate.first else symbol.end_line if symbol is not None else None
            lit = (symbol.begin if symbol is not None else line, last) if last and last > line else None
            place = Place(candidate.spot.tree.name, ref.path, line)
            local = candidate.name if candidate.kind == "local name" else ""
            place = self._library.at_name(place, symbol.name if symbol is not None else local)
            self.show_reader().go(place, lit=lit)
            uncertain = ref.precision in ("ambiguous", "unknown")
            self._reader.tell(f"{ref.precision}: {why_there(ref.reason)}" if uncertain else remark)


def _option(candidate: Candidate) -> Content:
    """Returns an option for a candidate: name and signature; below them kind, place, tree and precision."""
    ref = candidate.spot.ref
    line = candidate.first or ref.line
    where = f"{ref.path}:{line}" if line else ref.path or why_there(ref.reason) or "no place"
    facts = [candidate.kind, where, candidate.spot.tree.label, ref.layer or "", ref.precision]
    if candidate.guards:
        facts.append(f"#if {' and '.join(candidate.guards)}")
    if candidate.declared:
        facts.append("declaration")
    gap = "  " if candidate.kind in ("file", "operator") else ""
    named = candidate.detail.startswith(candidate.name)  # a schema begins with the name
    title = candidate.detail if named else f"{candidate.name}{gap}{candidate.detail}"
    return two_lines(title, " · ".join(filter(None, facts)))
