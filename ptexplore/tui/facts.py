"""Finds the facts about the symbol under the cursor, in a thread, and keeps them. So the cursor never waits."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

from ptexplore.errors import PtexploreError
from ptexplore.lookup.calls import CallReader, CallsView
from ptexplore.lookup.definitions import find_definitions
from ptexplore.lookup.symbol_facts import SymbolFacts, symbol_facts
from ptexplore.model.remarks import AnswerRemark, MayBeSeveral

if TYPE_CHECKING:
    from ptexplore.lookup.operators import Catalogue
    from ptexplore.lookup.trees import IndexedTree
    from ptexplore.model.symbols import Symbol
    from ptexplore.tui.library import Library
    from ptexplore.tui.places import Place

_KEPT = 300  # symbols whose facts are kept
_RESTS = 0.5  # seconds that the cursor rests before calls are looked up
_READ = 20_000  # definitions that a reader of uses keeps, with everything that it knows about them
_MOST = 5  # functions of the first level that are named, in each direction
_Key = tuple[str, str, int, str]  # tree, path, line, qualified name
Known = TypeVar("Known")


@dataclass(frozen=True)
class Pointed:
    """The thing under the cursor: the `name` to look up, its place, and the definition around it.

    `own` says that the place is the name's own definition.
    """

    place: Place
    name: str | None
    around: Symbol | None
    own: bool


@dataclass(frozen=True)
class Answer:
    """The facts about one symbol: the one that the name means (`meant`), or else the one around the cursor.

    `facts` is None if there is no symbol. `remark` says how the name was found, or why another symbol is shown. `calls`
    is None at first and comes later. `complete` says that nothing further comes.
    """

    facts: SymbolFacts | None
    remark: AnswerRemark | None = None
    meant: bool = False
    calls: CallsView | None = None
    complete: bool = False
    failed: str = ""  # why there are no facts


Hear = Callable[[Pointed, Answer], object]


class FactsReader:
    """A thread with its own connections that finds the facts about symbols. Only the last question counts.

    The thread ends with the program, even in the middle of a lookup.
    """

    def __init__(self, library: Library) -> None:
        self._library = library
        self._known: OrderedDict[_Key, SymbolFacts] = OrderedDict()
        self._calls: OrderedDict[_Key, CallsView] = OrderedDict()
        self._questions: SimpleQueue[tuple[Pointed, Hear] | None] = SimpleQueue()
        Thread(target=self._answer, name="facts", daemon=True).start()

    def ask(self, pointed: Pointed, hear: Hear) -> None:
        """Find the facts about the thing under the cursor. `hear` is called in the thread, unless a new question came.

        `hear` may be called twice: callers and callees take longer, and are looked up once the cursor rests.
        """
        self._questions.put((pointed, hear))

    def close(self) -> None:
        """End the thread; look up nothing further."""
        self._questions.put(None)

    def _answer(self) -> None:
        while (question := self._questions.get()) is not None:
            pointed, hear = question
            for answer in self._steps(pointed):
                if not self._questions.empty():
                    break
                hear(pointed, answer)
            self._forget()

    def _forget(self) -> None:
        """Drop the texts that were read. Drop the reader of calls too if it keeps too much: the next one is new.

        A reader of a hundred files would keep all names in them, and the text of every caller's file.
        """
        for indexed in vars(self).get("_trees", ()):  # none, if they could not be opened
            indexed.tree.forget()
        if "_call_reader" in vars(self) and self._call_reader.names.kept > _READ:  # only if there is one already
            del self._call_reader

    def _rests(self) -> bool:
        """Whether no new question comes for a moment."""
        end = time.monotonic() + _RESTS
        while time.monotonic() < end:
            if not self._questions.empty():
                return False
            time.sleep(_RESTS / 10)
        return True

    def _steps(self, pointed: Pointed) -> Iterator[Answer]:
        try:
            symbol, remark, meant = self._meant(pointed)
            if symbol is None:
                yield Answer(None, remark, complete=True)
                return
            facts, key = self._facts(*symbol), self._key(*symbol)
            calls = self._calls.get(key)
            has_calls = symbol[1].kind == "function"
            yield Answer(facts, remark, meant, calls, calls is not None or not has_calls)
            if calls is None and has_calls and self._rests():
                _keep(self._calls, key, self._call_reader.around(symbol[1], key[0], most=_MOST))
                yield Answer(facts, remark, meant, self._calls[key], complete=True)
        except PtexploreError as error:
            yield Answer(None, complete=True, failed=error.one_line)

    @cached_property
    def _trees(self) -> list[IndexedTree]:
        return self._library.reopened_trees()

    @cached_property
    def _call_reader(self) -> CallReader:
        return CallReader(self._trees)

    @cached_property
    def _catalogue(self) -> Catalogue | None:
        return self._library.workspace.catalogue_at_hand(self._trees)

    def _meant(self, pointed: Pointed) -> tuple[tuple[int, Symbol] | None, AnswerRemark | None, bool]:
        """Returns the symbol of the name, or around the cursor, with its tree's number; then a remark; then `meant`."""
        number = next(n for n, indexed in enumerate(self._trees) if indexed.tree.info.name == pointed.place.tree)
        around = (number, pointed.around) if pointed.around is not None else None
        if pointed.name is None or pointed.own:
            return around, None, pointed.own
        place = pointed.place
        named, remark = find_definitions(
            self._trees, self._call_reader.names, pointed.name, place.tree, place.path, place.line
        )
        symbols = [
            (candidate.tree, candidate.symbol)
            for candidate in named
            if candidate.symbol is not None and candidate.tree >= 0
        ]
        names = {symbol.qualified for _number, symbol in symbols}
        if len(names) == 1 and len(symbols) == len(named):
            return symbols[0], remark, True
        return around, MayBeSeveral(pointed.name, len(named)) if len(names) > 1 else remark, False

    def _facts(self, number: int, symbol: Symbol) -> SymbolFacts:
        key = self._key(number, symbol)
        if key not in self._known:
            marks = self._library.read_marks()
            facts = symbol_facts(self._trees, self._catalogue, marks, number, symbol, self._call_reader.uses)
            _keep(self._known, key, facts)
        return self._known[key]

    def _key(self, number: int, symbol: Symbol) -> _Key:
        return (self._trees[number].tree.info.name, symbol.path, symbol.line, symbol.qualified)


def _keep(known: OrderedDict[_Key, Known], key: _Key, value: Known) -> None:
    known[key] = value
    if len(known) > _KEPT:
        known.popitem(last=False)
