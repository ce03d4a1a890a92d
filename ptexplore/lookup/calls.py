"""Finds the callers and the callees of a function, some levels deep.

Callers are found as `refs` finds uses; callees as the site's pages link names. Both are found by name, unless a
semantic reader resolved them. If a name can mean several definitions, it stays a choice. If it can mean too many, or
nothing in these trees, it is only counted.
"""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Literal, NamedTuple

from ptexplore.lookup.link_targets import DefinitionsByName, LinkTarget, is_own, local_names, of_another_kind
from ptexplore.lookup.refs import asked_for, fits
from ptexplore.lookup.trees import IndexedTree, Spot, one_tree_a_file, spot, symbol_spot
from ptexplore.lookup.use_meaning import PLAIN, FileReader, Reading, UseReader, may_mean, without_constructor
from ptexplore.model.remarks import AnswerRemark, FoundByName, NoCallIndexed
from ptexplore.model.symbols import Symbol, SymbolKind
from ptexplore.source.canonical import is_made, is_test_file
from ptexplore.store.index import site as index_site
from ptexplore.store.index.site import SiteUse

LEVELS = 2
# Why no callers are listed under a function: they are at another row, there is no room, or this is the last level. ""
# means that all are listed.
CallEnd = Literal["", "elsewhere", "room", "depth"]
MOST = 8  # functions of the first level that are named, in each direction; each further level names half as many
CALLING: tuple[SymbolKind, ...] = ("function", "macro")  # the kinds of symbol that calls can be in
_IN_A_FILE = 40  # calls of one name in one file that are read, at least


@dataclass(frozen=True, slots=True)
class CallNode:
    """A function at the other end of a call.

    `name` is its qualified name. For a callee that may mean several definitions, it is the text of the call; for a call
    outside of functions, it is the path. `places` are where the function is defined. `call` is the first call, or the
    first sure call if there is one; `times` counts the calls. `how` is "resolved" if a semantic reader resolved the
    call, else "name-matched".

    `is_choice` says that the name at the call may mean one of several definitions, or that only the name speaks for it.
    `further` are the functions one level on. `more` counts calls of it, or names in it, that are left out. `end` says
    why `callers` stopped here.
    """

    name: str
    places: tuple[Spot, ...]
    call: Spot
    times: int
    how: str
    is_choice: bool
    symbol: Symbol | None = None
    further: tuple[CallNode, ...] = ()
    more: int = 0
    end: CallEnd = ""


@dataclass(frozen=True, slots=True)
class CallsView:
    """The calls of one function, and the calls in it.

    `more_callers` counts the calls of its name that are not listed; `more_callees` counts further names.
    """

    symbol: Symbol
    spot: Spot
    callers: tuple[CallNode, ...]
    more_callers: int
    callees: tuple[CallNode, ...]
    more_callees: int
    remarks: tuple[AnswerRemark, ...]


class _Calls(NamedTuple):
    """The calls of one name in one file of a tree: for each line, the use and the reading of that line."""

    tree: int
    path: str
    uses: list[tuple[int, SiteUse, Reading]]


class CallReader:
    """A reader of the calls in some trees. It keeps all rows for later questions; use it in one thread."""

    def __init__(self, trees: Sequence[IndexedTree]) -> None:
        self._trees = trees
        self.names = DefinitionsByName([indexed.store for indexed in trees])
        self.uses = UseReader(self.names)

    def around(self, symbol: Symbol, tree: str, levels: int = LEVELS, most: int = MOST) -> CallsView:
        """Returns the callers and the callees of a definition in a tree; at most `most` on the first level each way."""
        number = next(number for number, indexed in enumerate(self._trees) if indexed.tree.info.name == tree)
        seen = frozenset({symbol.qualified})
        callers, more_callers = self._callers(symbol, levels, most, seen)
        callees, more_callees = self._callees(symbol, number, levels, most, seen)
        remarks: list[AnswerRemark] = []
        if any(node.how == "name-matched" for node in (*callers, *callees)):
            remarks.append(FoundByName(self.same(symbol)))
        if not callers:
            remarks.append(NoCallIndexed(shlex.quote(symbol.qualified)))
        place = symbol_spot(self._trees[number], symbol)
        return CallsView(symbol, place, callers, more_callers, callees, more_callees, tuple(remarks))

    def same(self, symbol: Symbol) -> int:
        """Returns the number of definitions with the same qualified name."""
        only = symbol.path if is_own(symbol.path, static=symbol.static) else ""
        return self.uses.definitions(symbol.name, (symbol.qualified,), only)

    # --- callers ---

    def callers_of(self, symbol: Symbol, most: int) -> tuple[tuple[CallNode, ...], int]:
        """Returns at most `most` functions that call a symbol, and how many calls of its name are not in these."""
        return self._callers(symbol, 0, most, frozenset())

    def _callers(
        self, symbol: Symbol, levels: int, most: int, seen: frozenset[str]
    ) -> tuple[tuple[CallNode, ...], int]:
        files = sorted(self._calls_of(symbol), key=lambda calls: rank(calls.path, symbol.path))
        total = sum(len(calls.uses) for calls in files)
        several = self.same(symbol) > 1
        nodes: dict[tuple[str, int], CallNode] = {}
        for calls in files:
            if len(nodes) >= most:
                break
            for line, use, reading in sorted(calls.uses)[: max(_IN_A_FILE, most)]:
                self._add_caller(nodes, symbol, calls, line, use, sure=reading.sole is not None, several=several)
        kept = dict(list(nodes.items())[:most])
        shown = sum(node.times for node in kept.values())
        further = [self._with_callers(node, levels - 1, most // 2, seen) for node in kept.values()]
        return tuple(further), total - shown

    def _add_caller(
        self,
        nodes: dict[tuple[str, int], CallNode],
        symbol: Symbol,
        calls: _Calls,
        line: int,
        use: SiteUse,
        *,
        sure: bool,
        several: bool,
    ) -> None:
        """Add the caller on a line that can mean the symbol. `sure` says that the line can mean no other name.

        If the name has `several` definitions, only a semantic reader can say which of them is called.
        """
        indexed = self._trees[calls.tree]
        around = indexed.store.enclosing(calls.path, line, CALLING)
        sure = sure or use.target is not None
        if not sure and not self._is_likely(use, calls.path, around.qualified if around is not None else "", symbol):
            return
        sure = sure and (not several or use.target is not None)
        key = (calls.path, around.line if around is not None else 0)
        known = nodes.get(key)
        if known is not None:
            node = replace(known, times=known.times + 1)
            if known.is_choice and sure:  # show a line that can mean nothing else
                node = replace(node, is_choice=False, call=spot(indexed, calls.path, line))
            nodes[key] = node
            return
        name = around.qualified if around is not None else calls.path
        places = (symbol_spot(indexed, around),) if around is not None else ()
        how = "resolved" if use.target is not None else "name-matched"
        nodes[key] = CallNode(name, places, spot(indexed, calls.path, line), 1, how, not sure, around)

    def _is_likely(self, use: SiteUse, path: str, scope: str, symbol: Symbol) -> bool:
        """Whether a use that may mean the symbol is listed: it goes through an object, or its link leads to it."""
        if use.text != use.name and ("." in use.text or "->" in use.text):
            return True
        meant = self.names.meant(use, path, scope)
        places = {(place.path, place.definition.line) for place in meant.places} if meant is not None else ()
        return (symbol.path, symbol.line) in places

    def _with_callers(self, node: CallNode, levels: int, most: int, seen: frozenset[str]) -> CallNode:
        if levels < 1 or node.symbol is None or node.name in seen:
            return node
        further, more = self._callers(node.symbol, levels, most, seen | {node.name})
        return replace(node, further=further, more=more)

    def _calls_of(self, symbol: Symbol) -> Iterator[_Calls]:
        """Yields every call that can mean the symbol by its spelling, one file after the other."""
        asked = asked_for(self._trees, symbol.qualified)
        fitting = cache(partial(fits, asked))
        own = is_own(symbol.path, static=symbol.static)
        for number, (indexed, earlier) in enumerate(one_tree_a_file(self._trees)):
            by_path: defaultdict[str, list[SiteUse]] = defaultdict(list)
            for last in asked.lasts:
                for path, use in index_site.calls_of(indexed.store, last):
                    if fitting(path, use.text, use.target):
                        by_path[path].append(use)
            for path, uses in by_path.items():
                if any(other.store.file(path) is not None for other in earlier) or (own and path != symbol.path):
                    continue
                text = indexed.tree.glance(path)
                file = self.uses.of_file(path, text.text if text is not None else None)
                lines = [each for use in uses for each in self._select_lines(file, path, use, symbol.qualified)]
                if lines:
                    yield _Calls(number, path, lines)

    def _select_lines(
        self, file: FileReader, path: str, use: SiteUse, qualified: str
    ) -> Iterator[tuple[int, SiteUse, Reading]]:
        """Yields the lines of a use that can mean that name. `refs` decides in the same way."""
        bearers = None if path.endswith((".py", ".pyi")) else self.uses.bearers(use.name)
        for line in use.lines:
            reading = file.read(use, line) if use.target is None else PLAIN
            if may_mean(bearers, (without_constructor(qualified),), reading):
                yield line, use, reading

    # --- callees ---

    def callees_of(self, symbol: Symbol, tree: int, most: int) -> tuple[tuple[CallNode, ...], int]:
        """Returns at most `most` functions that a definition of tree number `tree` calls, and how many names are left.

        The calls of a declaration are not known: it has none.
        """
        return self._callees(symbol, tree, 0, most, frozenset())

    def _callees(
        self, symbol: Symbol, tree: int, levels: int, most: int, seen: frozenset[str]
    ) -> tuple[tuple[CallNode, ...], int]:
        indexed = self._trees[tree]
        file = indexed.tree.read(symbol.path)
        python = symbol.path.endswith((".py", ".pyi"))
        local = local_names(file.text, python=python) if file is not None else frozenset()
        nodes: dict[tuple[tuple[str, int], ...], CallNode] = {}
        unknown = 0
        reader = self.uses.of_file(symbol.path, file.text if file is not None else None)
        for first, use, lines, sole in sorted(_called_in(symbol, self.names.uses(symbol.path), reader), key=_first):
            meant = self.names.meant(use, symbol.path, symbol.qualified)
            if sole is not None and (meant is None or not meant.sure):  # the class of an object decides
                meant = self.uses.meaning(use.name, sole) or meant
            if meant is None:
                unknown += 1
                continue
            hidden = use.text == use.name and use.name in local
            key = tuple((place.path, place.definition.line) for place in meant.places)
            if key in nodes:
                nodes[key] = replace(nodes[key], times=nodes[key].times + len(lines))
                continue
            only = meant.places[0] if meant.sure and not hidden else None
            name = only.definition.qualified if only is not None else use.text
            places = tuple(self._place(place, len(meant.places)) for place in meant.places)
            how = "resolved" if use.target is not None else "name-matched"
            call = spot(indexed, symbol.path, first)
            nodes[key] = CallNode(name, places, call, len(lines), how, only is None, only and self._symbol(only))
        ordered = sorted(nodes.values(), key=_plainest)
        further = [self._with_callees(node, levels - 1, most // 2, seen) for node in ordered[:most]]
        return tuple(further), len(ordered) - len(further) + unknown

    def _with_callees(self, node: CallNode, levels: int, most: int, seen: frozenset[str]) -> CallNode:
        if levels < 1 or node.symbol is None or node.symbol.role != "definition" or node.name in seen:
            return node
        number = next(n for n, each in enumerate(self._trees) if each.tree.info.name == node.places[0].tree.name)
        further, more = self._callees(node.symbol, number, levels, most, seen | {node.name})
        return replace(node, further=further, more=more)

    def _place(self, place: LinkTarget, count: int) -> Spot:
        return spot(self._trees[place.tree], place.path, place.definition.line, place.definition.end_line, count)

    def _symbol(self, place: LinkTarget) -> Symbol | None:
        named = self._trees[place.tree].store.symbols_named(place.definition.name)
        return next((s for s in named if (s.path, s.line) == (place.path, place.definition.line)), None)


def _called_in(
    symbol: Symbol, uses: Iterable[SiteUse], reader: FileReader
) -> Iterator[tuple[int, SiteUse, list[int], str | None]]:
    """Yields the calls in a symbol: the first line, the use, its lines there, and the only name that they can mean."""
    for use in uses:
        inside = _inside(use, symbol)
        if inside:
            for reading, lines in reader.read_lines(use._replace(lines=inside)).items():
                yield min(lines), use, lines, reading.sole


def _first(call: tuple[int, SiteUse, list[int], str | None]) -> int:
    return call[0]


def _inside(use: SiteUse, symbol: Symbol) -> list[int]:
    """Returns the lines of a use that are calls inside a symbol. Macros that the index expands do not count."""
    return [line for line in use.lines if symbol.begin <= line <= symbol.end_line] if use.kind == "call" else []


def _plainest(node: CallNode) -> tuple[bool, bool, int]:
    """Order: single definitions before choices, functions before macros, then by the line of the call."""
    macro = node.symbol is not None and node.symbol.kind == "macro"
    return (node.is_choice, macro, node.call.ref.line or 0)


def rank(path: str, near: str) -> tuple[bool, bool, bool, int, str]:
    """Returns the key that orders files with uses of a definition in the file `near`: files near it come first.

    Files that a machine wrote come after these, then files for one device, then tests.
    """
    (ours, _, _), (theirs, test, made) = _about(near), _about(path)
    shared = 0
    for folder, other in zip(ours, theirs, strict=False):
        if folder != other:
            break
        shared += 1
    return (test, of_another_kind(path, near), made, -shared, path)


@cache
def _about(path: str) -> tuple[list[str], bool, bool]:
    """Returns the folders of a file, whether it is a test, and whether a machine wrote it."""
    return path.split("/")[:-1], is_test_file(path), is_made(path)
