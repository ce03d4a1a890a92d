"""What is known of the symbol under the cursor: found in a thread, and kept, so that moving the cursor waits for nothing."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ptexplore.errors import PtexploreError
from ptexplore.tui.navigation import find_definitions
from ptexplore.view.search.symbol_facts import SymbolFacts, symbol_facts

if TYPE_CHECKING:
    from ptexplore.model.symbols import Symbol
    from ptexplore.tui.library import Library
    from ptexplore.tui.places import Place
    from ptexplore.view.search.operators import Catalogue
    from ptexplore.view.trees import IndexedTree

_KEPT = 300  # symbols whose facts are kept


@dataclass(frozen=True)
class Pointed:
    """What the cursor is on: `name` at a place, as it is looked up, and the definition around it.

    `own` says that the place is that of the name's own definition.
    """

    place: Place
    name: str | None
    around: Symbol | None
    own: bool


@dataclass(frozen=True)
class Answer:
    """The facts of one symbol, None where there is none; `remark` says why the name itself is not it."""

    facts: SymbolFacts | None
    remark: str = ""


class FactsReader:
    """Finds the facts of symbols in a thread, with connections of its own; of several questions the last one counts."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._last = 0
        self._known: OrderedDict[tuple[str, str, int, str], SymbolFacts] = OrderedDict()
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="facts")

    def ask(self, pointed: Pointed, hear: Callable[[Pointed, Answer], object]) -> None:
        """Find what the cursor is on; `hear` is called in the thread, unless something else was asked meanwhile."""
        self._last += 1
        self._pool.submit(self._answer, self._last, pointed, hear)

    def close(self) -> None:
        """Wait for nothing."""
        self._last += 1
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _answer(self, number: int, pointed: Pointed, hear: Callable[[Pointed, Answer], object]) -> None:
        if number != self._last:
            return
        try:
            symbol, remark = self._meant(pointed)
            answer = Answer(self._facts(*symbol), remark) if symbol is not None else Answer(None, remark)
        except PtexploreError as error:
            answer = Answer(None, error.one_line)
        if number == self._last:
            hear(pointed, answer)

    @cached_property
    def _trees(self) -> list[IndexedTree]:
        return self._library.reopened_trees()

    @cached_property
    def _catalogue(self) -> Catalogue | None:
        return self._library.workspace.apart().catalogue_at_hand(self._trees)

    def _meant(self, pointed: Pointed) -> tuple[tuple[int, Symbol] | None, str]:
        """The symbol that the name means, else the one around the cursor; with its tree's number."""
        number = next(n for n, indexed in enumerate(self._trees) if indexed.tree.info.name == pointed.place.tree)
        around = (number, pointed.around) if pointed.around is not None else None
        if pointed.name is None or pointed.own:
            return around, ""
        named, remark = find_definitions(self._trees, pointed.name, pointed.place)
        symbols = [(one.tree, one.symbol) for one in named if one.symbol is not None and one.tree >= 0]
        names = {symbol.qualified for _number, symbol in symbols}
        if len(names) == 1 and len(symbols) == len(named):
            return symbols[0], remark
        if len(names) > 1:
            return around, f"{pointed.name} may be {len(named)} things: Enter lists them"
        return around, remark

    def _facts(self, number: int, symbol: Symbol) -> SymbolFacts:
        key = (self._trees[number].tree.info.name, symbol.path, symbol.line, symbol.qualified)
        facts = self._known.get(key)
        if facts is None:
            facts = symbol_facts(self._trees, self._catalogue, self._library.read_marks(), number, symbol)
            self._known[key] = facts
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return facts
