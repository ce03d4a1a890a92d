"""Going to what was asked for: the definition of the name under the cursor, or one of several candidates."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ptexplore.source.canonical import language_of
from ptexplore.tui.asking import ChoiceScreen, two_lines
from ptexplore.tui.messages import OpenOperator
from ptexplore.tui.places import Place
from ptexplore.view.search.show import candidates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import App
    from textual.content import Content

    from ptexplore.tui.library import Library
    from ptexplore.tui.screens.reader import ReadingScreen
    from ptexplore.view.trees import Candidate, IndexedTree


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

    def open_definition(self, name: str, place: Place) -> None:
        """Go to the definition of a name that stands at a place."""
        definitions, remark = find_definitions(self._library.trees, name, place)
        if definitions:
            self.choose(name, definitions, remark)
        else:
            self._reader.tell(remark)

    def choose(self, name: str, choices: Sequence[Candidate], remark: str = "") -> None:
        """Go to the one candidate, or to the one that the reader chooses. `remark` is what to know of them."""
        if len(choices) == 1:
            self._take(choices[0], remark)
            return
        title = f"{remark} ({len(choices)} things)" if remark else f"{name} names {len(choices)} things"
        self._app.push_screen(
            ChoiceScreen(title, [_option(candidate) for candidate in choices]),
            lambda at: self._take(choices[at]) if at is not None else None,
        )

    def _take(self, candidate: Candidate, remark: str = "") -> None:
        ref, symbol = candidate.spot.ref, candidate.symbol
        if candidate.kind == "operator":
            self._app.post_message(OpenOperator(candidate.name))
        elif ref.path is None:
            self.show_reader().tell(f"{candidate.name}: {ref.reason or 'no place is known'}")
        else:
            line = candidate.first or ref.line or 1
            last = candidate.last if candidate.first else symbol.end_line if symbol is not None else None
            lit = (symbol.begin if symbol is not None else line, last) if last and last > line else None
            place = Place(candidate.spot.tree.name, ref.path, line)
            place = self._library.at_name(place, symbol.name if symbol is not None else "")
            self.show_reader().go(place, lit=lit)
            uncertain = ref.precision in ("ambiguous", "unknown")
            self._reader.tell(f"{ref.precision}: {ref.reason}" if uncertain else remark)


def _option(candidate: Candidate) -> Content:
    """What tells a candidate from the others: its name and signature; kind, place, tree and precision below."""
    ref = candidate.spot.ref
    line = candidate.first or ref.line
    where = f"{ref.path}:{line}" if line else ref.path or ref.reason or "no place"
    facts = [candidate.kind, where, candidate.spot.tree.label, ref.layer or "", ref.precision]
    if candidate.guards:
        facts.append(f"#if {' and '.join(candidate.guards)}")
    if candidate.declared:
        facts.append("declaration")
    gap = "  " if candidate.kind in ("file", "operator") else ""
    named = candidate.detail.startswith(candidate.name)  # as a schema is
    title = candidate.detail if named else f"{candidate.name}{gap}{candidate.detail}"
    return two_lines(title, " · ".join(filter(None, facts)))


def find_definitions(trees: Sequence[IndexedTree], name: str, place: Place) -> tuple[list[Candidate], str]:
    """What a name may be: candidates elsewhere, those of the same file and tree first; and what must be said of them.

    A name with what qualifies it is looked up as it is written, then by its last part: an alias is no namespace.
    """
    local = _local_line(trees, name, place)
    if local is not None:
        return [], f"{name} is a local name here, it seems: line {local} declares it"
    last = name.rpartition("::")[2].rpartition(".")[2]
    named = candidates(trees, None, name)
    remark = ""
    if not named and last != name and "/" not in name:
        named = candidates(trees, None, last)
        remark = f"nothing is called {name}; these are called {last}" if named else ""
    # What is called so in another language is another thing.
    language = language_of(place.path)
    same_language = [candidate for candidate in named if language_of(candidate.spot.ref.path or "") == language]
    if not same_language:
        if named:
            why = "its definition is not known; what is called so is of another language (ctrl+p lists it)"
            return [], f"{last}: {why}"
        return [], f"{name}: no definition in these trees (a local name, or what no header here says)"
    elsewhere = [candidate for candidate in same_language if not _is_at(candidate, place)]
    if not elsewhere:
        return [], f"this is where {last} is defined; r lists its uses"
    if name.startswith("std::") and remark:
        return [], f"{name} is the C++ library's: it is not in these trees"
    if not remark and len(elsewhere) == 1 and elsewhere[0].name != name:
        remark = f"found by its name alone: {elsewhere[0].name}"
    elsewhere.sort(
        key=lambda candidate: (candidate.spot.ref.path != place.path, candidate.spot.tree.name != place.tree)
    )
    return elsewhere, remark


# Words that stand before a name without declaring it.
_NO_TYPE = ("return", "else", "case", "goto", "throw", "new", "delete", "co_return", "typename", "using", "in", "not")


def _local_line(trees: Sequence[IndexedTree], name: str, place: Place) -> int | None:
    """The line of the function around a place that seems to declare a plain name as a parameter or variable of C++.

    By the looks of it: a type before the name, and after it what ends a declarator. None where no line looks so.
    """
    indexed = next((one for one in trees if one.tree.info.name == place.tree), None)
    if indexed is None or not name.isidentifier() or language_of(place.path) != "cpp":
        return None
    around = indexed.store.enclosing(place.path, place.line)
    if around is None or around.kind != "function" or around.name == name:
        return None
    declaration = re.compile(rf"(\w+)(?:<[^;]*>|\[\])?(?:\s*[&*]+\s*|\s+){re.escape(name)}\s*(?:[,;={{)]|:(?!:)|\[|$)")
    for number in range(around.begin, place.line + 1):
        text = (indexed.tree.line(place.path, number) or "").partition("//")[0]
        for match in declaration.finditer(text):
            if match[1] not in _NO_TYPE and not match[1].isdigit():
                return number
    return None


def _is_at(candidate: Candidate, place: Place) -> bool:
    ref = candidate.spot.ref
    return (candidate.spot.tree.name, ref.path, ref.line) == (place.tree, place.path, place.line)
