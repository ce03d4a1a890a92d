"""`refs --callers`: finds the callers of a function, their callers and so on, as a tree that fits a screen.

A function that is in the tree twice is followed once. If a function is not followed, because there is no room or it is
on the last level, its row says so. A row without such a note is a function without an indexed call.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ptexplore.errors import FAILED, PtexploreError
from ptexplore.lookup.calls import CALLING, CallEnd, CallNode, CallReader
from ptexplore.lookup.link_targets import is_own
from ptexplore.lookup.overrides import OverrideReader
from ptexplore.lookup.query_length import check_length
from ptexplore.lookup.refs import asked_for, nothing_refers
from ptexplore.lookup.trees import IndexedTree, Spot, symbol_spot
from ptexplore.model.places import TreeInfo
from ptexplore.model.remarks import (
    AnswerRemark,
    CallsMayMeanOther,
    FollowedElsewhere,
    FoundByName,
    IsRegistered,
    LastLevel,
    NoRoomToFollow,
    OverridesOther,
)
from ptexplore.model.symbols import Symbol

DEPTH = 3
ROWS = 32  # callers in total, if no limit was asked for
FUNCTIONS = 6  # functions with the name that are followed
_MOST = (12, 6, 4, 3, 2)  # callers of one function on each level; the last number is for all further levels


@dataclass(frozen=True, slots=True)
class FunctionCallers:
    """A function that you asked for, and its callers. `more` counts calls of its name that are not among them.

    `same` counts the definitions with that exact name. `registered` are the names that it is registered under: calls
    through these do not use its own name. `overridden` are functions of bases that it overrides: a call of one of them
    may run it.
    """

    name: str
    spot: Spot
    same: int
    callers: tuple[CallNode, ...]
    more: int
    registered: tuple[str, ...] = ()
    overridden: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CallersView:
    """Everything that a renderer needs: the functions with the name, and how many further ones are not followed."""

    asked: str
    depth: int
    functions: tuple[FunctionCallers, ...]
    more: int
    remarks: tuple[AnswerRemark, ...]
    trees: tuple[TreeInfo, ...]


@dataclass(slots=True)
class _Branch:
    """A function of the tree while the tree grows. `node` is None for the function that was asked for."""

    node: CallNode | None
    symbol: Symbol | None
    branches: list[_Branch] = field(default_factory=list)
    more: int = 0
    end: CallEnd = ""

    def folded(self) -> tuple[CallNode, ...]:
        """Returns the nodes below it, each with its own nodes below."""
        return tuple(
            replace(branch.node, further=branch.folded(), more=branch.more, end=branch.end)
            for branch in self.branches
            if branch.node is not None
        )


def callers(trees: Sequence[IndexedTree], name: str, depth: int = DEPTH, limit: int | None = None) -> CallersView:
    """Find the callers of the functions with that name, `depth` levels up.

    Each function gets at most `limit` callers, or as many as fit. Raises PtexploreError if nothing has the name, or if
    no function has it.
    """
    check_length(name)
    reader = CallReader(trees)
    followed = _functions(trees, name)
    shown = followed[:FUNCTIONS]
    functions = tuple(
        _called(trees, reader, number, symbol, depth, limit, ROWS // len(shown)) for number, symbol in shown
    )
    remarks = list(_remarks(functions))
    infos = tuple(indexed.tree.info for indexed in trees)
    return CallersView(name, depth, functions, len(followed) - len(shown), tuple(remarks), infos)


def _functions(trees: Sequence[IndexedTree], name: str) -> list[tuple[int, Symbol]]:
    """Returns the functions and macros that a name means, each once, with its tree's number; definitions come first."""
    named = asked_for(trees, name).symbols
    if not named:
        raise nothing_refers(trees, name)
    functions = [(number, symbol) for number, symbol in named if symbol.kind in CALLING]
    if not functions:
        kind = named[0][1].kind
        why = f"{name} is a {kind}" if kind[0] not in "aeiou" else f"{name} is an {kind}"
        raise PtexploreError(f"nothing calls {name}", why, f"ptexplore refs {shlex.quote(name)}", FAILED)
    each: dict[tuple[str, str], tuple[int, Symbol]] = {}
    for number, symbol in sorted(functions, key=lambda pair: (pair[1].role != "definition", pair[0])):
        each.setdefault(_key(symbol), (number, symbol))
    return list(each.values())


def _key(symbol: Symbol) -> tuple[str, str]:
    """Returns the key of a function: its name, and its file if no other file sees it."""
    return symbol.qualified, symbol.path if is_own(symbol.path, static=symbol.static) else ""


def _called(
    trees: Sequence[IndexedTree],
    reader: CallReader,
    number: int,
    symbol: Symbol,
    depth: int,
    limit: int | None,
    rows: int,
) -> FunctionCallers:
    top = _Branch(None, symbol)
    _grow(reader, top, depth, limit, rows)
    overridden = OverrideReader(reader.uses).overridden(symbol.qualified)
    return FunctionCallers(
        symbol.qualified,
        symbol_spot(trees[number], symbol),
        reader.same(symbol),
        top.folded(),
        top.more,
        _registered(trees, symbol),
        tuple(each.name for each in overridden.functions if each.sure),
    )


def _grow(reader: CallReader, top: _Branch, depth: int, limit: int | None, rows: int) -> None:
    """Grow level by level: the near callers are complete before the far callers are read."""
    level, followed, left = [top], set[tuple[str, str]](), rows
    for number in range(depth):
        following: list[_Branch] = []
        for at, branch in enumerate(level):
            if branch.symbol is None:
                continue
            if _key(branch.symbol) in followed:
                branch.end = "elsewhere"
                continue
            most = limit or min(_MOST[min(number, len(_MOST) - 1)], -(-left // (len(level) - at)))
            if most < 1:
                branch.end = "room"
                continue
            followed.add(_key(branch.symbol))
            nodes, branch.more = reader.callers_of(branch.symbol, most)
            branch.branches = [_Branch(node, node.symbol) for node in nodes]
            left = max(0, left - len(nodes))
            following += branch.branches
        level = following
    for branch in level:
        if branch.symbol is not None:
            branch.end = "elsewhere" if _key(branch.symbol) in followed else "depth"


def _registered(trees: Sequence[IndexedTree], symbol: Symbol) -> tuple[str, ...]:
    """Returns the names that a function is registered under in its own file, or with its qualified name elsewhere."""
    rows = (row for indexed in trees for row in indexed.store.dialect_targeting(symbol.name))
    own = (row.name for row in rows if row.path == symbol.path or row.target == symbol.qualified)
    return tuple(dict.fromkeys(own))


def _walk(nodes: Sequence[CallNode]) -> Iterator[CallNode]:
    for node in nodes:
        yield node
        yield from _walk(node.further)


def _remarks(functions: Sequence[FunctionCallers]) -> Iterator[AnswerRemark]:
    """Yields the remarks on the whole tree."""
    nodes = [node for function in functions for node in _walk(function.callers)]
    if any(node.is_choice for node in nodes):
        yield CallsMayMeanOther()
    for end, remark in _ENDS.items():
        if any(node.end == end for node in nodes):
            yield remark
    for function in functions:
        for name in function.overridden:
            yield OverridesOther(function.name, name, shlex.quote(name))
        if function.registered:
            listed = function.registered[:_LISTED]
            more = len(function.registered) - len(listed)
            yield IsRegistered(function.name, shlex.quote(function.name), listed, more)
    if any(node.how == "name-matched" for node in nodes):
        yield FoundByName(max(function.same for function in functions))


_LISTED = 3  # registered names that a remark lists
_ENDS: Mapping[CallEnd, AnswerRemark] = {
    "elsewhere": FollowedElsewhere(),
    "room": NoRoomToFollow(),
    "depth": LastLevel(),
}
