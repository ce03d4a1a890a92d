"""The rows of a table of parts: the costliest parts and operators that fit, in the order in which they first ran.

The rows inside a row add up to it. Two rows sum up everything else: `N more rows` has the parts and operators that do
not fit. `the rest` has the operators and the Python that never have rows of their own.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from ptexplore.model import details as says
from ptexplore.model import trace_remarks as beside
from ptexplore.model.nesting import with_levels
from ptexplore.model.run import OwnOperators, Part, Run, Weighed, total
from ptexplore.view.trace.columns import Column, cells, of_part
from ptexplore.view.trace.page import ScreenRow
from ptexplore.view.trace.same_modules import same_modules
from ptexplore.view.words.details import described
from ptexplore.view.words.trace_remarks import worded

NODES = 4  # nodes of backward that may have rows
# Python is named beside the operators from this share of a part's own work on.
NOTICED = 0.2
# A part that called no operator is shown from this share of the whole on.
NOTHING = 0.001
# An operator that a program's part called itself has a row from a share of the time on, or of all saved bytes.
OWN_ROW, LEAST_NAMED = 0.005, 0.01
AT_LEAST = "≥"
APART = ("imports", "thread")  # kinds of parts whose cost is not in the cost of the part around them


@dataclass(frozen=True, slots=True)
class Shown:
    """What all rows of a table of parts have in common: the run, the columns, the part whose rows they are.

    `opened`: the reader opened `root`, so every operator has a row, and shares of a program are fractions of `root`.
    `each_call`: every call is known. Operators are then named, with the number of their calls beside the name.
    """

    run: Run
    columns: tuple[Column, ...]
    root: Part
    opened: bool = False
    each_call: bool = False
    lists: bool = False  # operators of an innermost part have rows, if a line cannot name them all

    @property
    def whole(self) -> int:
        """The cost that shares are fractions of."""
        return max((self.run.whole if self.each_call else self.root).cost, 1)

    def has(self, part: Part) -> bool:
        """Whether a part may have a row: it called an operator, or took noticeable time."""
        return part.operators > 0 or part.cost >= NOTHING * self.whole

    def share(self, cost: int) -> float | None:
        """Returns the share of the whole.

        None if nothing was measured, for example in another thread or after a cut; or if the whole is only a bound.
        """
        if self.root.at_most:
            return None
        return cost / self.whole if not self.each_call or (cost and self.whole > 1) else None


@dataclass(frozen=True, slots=True)
class RestOfPart:
    """Work of a part that is in none of its parts and operators with rows."""

    name: str
    weighed: Weighed
    kinds: int = 0  # how many kinds of operators and nodes it stands for; 0: also other work
    without: tuple[str, ...] = ()  # weights that its row does not show


_Item = Part | OwnOperators | RestOfPart


@dataclass(eq=False, slots=True)
class _Candidate:
    """An item that may have a row, with the items inside it."""

    item: _Item
    level: int
    module: str  # the name of the innermost module around it
    outer: _Candidate | None = None
    inside: list[_Candidate] = field(default_factory=list)
    is_chosen: bool = False
    same_as: str | None = None  # the function in which the same modules ran; the rows inside are there

    @property
    def cost(self) -> int:
        """The cost of the item."""
        return self.item.weighed.cost if isinstance(self.item, RestOfPart) else self.item.cost

    @property
    def is_apart(self) -> bool:
        """Whether its cost is not in the cost of the item around it: it is another thread."""
        return isinstance(self.item, Part) and self.item.kind == "thread"

    @property
    def is_open(self) -> bool:
        """Whether an item inside has a row."""
        return any(inner.is_chosen for inner in self.inside)

    def left(self, besides: Sequence[_Candidate] = ()) -> list[list[_Candidate]]:
        """Returns the items inside that have no row, and are not `besides`. Threads are a list of their own."""
        left = [inner for inner in self.inside if not (inner.is_chosen or inner in besides)]
        parted = [inner for inner in left if not inner.is_apart], [inner for inner in left if inner.is_apart]
        return [held for held in parted if held]


def fitting(shown: Shown, most: int) -> tuple[tuple[ScreenRow, ...], int]:
    """Returns the rows of a part and of everything inside it, and how many parts inside have no row.

    The costliest items are chosen. If no cost is known, the rows of the innermost levels are left out.
    """
    tops = [part for part in shown.root.parts if part.kind == "imports" and shown.has(part)]
    same = {} if shown.each_call else same_modules(shown.root)
    candidates = [_candidate(part, shown, same) for part in (*tops, shown.root)]
    for candidate in candidates:
        candidate.is_chosen = True
    if shown.root.cost:
        _choose_costliest(candidates, most - len(candidates))
    else:
        _choose_outermost(candidates, most)
    rows = tuple(_rows(candidates, shown))
    chosen = sum(isinstance(each.item, Part) for top in candidates for each in _chosen(top))
    all_parts = sum(1 for _ in with_levels([shown.root], lambda part, _level: id(part) not in same))
    return rows[:most], all_parts - chosen


def _candidate(part: Part, shown: Shown, same: Mapping[int, str]) -> _Candidate:
    """Returns a part with all items inside it that may have rows. `same`: the modules whose rows are elsewhere."""
    made = _Candidate(part, 0, "")
    pending = [made]
    while pending:
        outer = pending.pop()
        outer.same_as = same.get(id(outer.item))
        if not isinstance(outer.item, Part) or outer.same_as is not None:
            continue
        module = outer.item.name if outer.item.kind == "module" else outer.module
        outer.inside = [_Candidate(item, outer.level + 1, module, outer) for item in _items(outer.item, shown)]
        pending += outer.inside
    return made


def _items(part: Part, shown: Shown) -> Iterator[_Item]:
    """Yields everything in a part that may have a row, in the order of the rows."""
    inside = [inner for inner in part.parts if inner.kind != "imports" and shown.has(inner)]
    own = _with_rows(part, shown)
    items: list[Part | OwnOperators] = [*inside, *own]
    yield from sorted(items, key=lambda item: (isinstance(item, Part) and item.kind == "thread", item.first))
    if part.kind == "backward":
        yield from _rest_of_backward(part, inside, own, shown) if inside or own else ()
    elif inside or own:
        yield from _rest(part, inside, own, shown)


def _choose_costliest(candidates: Sequence[_Candidate], most: int) -> None:
    """Chooses the costliest items, as long as they fit into so many rows. An item comes after the item around it."""
    numbers = count()
    waiting: list[tuple[int, int, _Candidate]] = []

    def wait(outer: _Candidate) -> None:
        for inner in outer.inside:
            heapq.heappush(waiting, (-inner.cost, next(numbers), inner))

    for candidate in candidates:
        wait(candidate)
    used = 0
    while waiting:
        _, _, candidate = heapq.heappop(waiting)
        outer = candidate.outer
        if candidate.is_chosen or outer is None:
            continue
        # A single item that is left gets a row, since a row with its sum would take the same room.
        chosen = [candidate, *(held[0] for held in outer.left([candidate]) if len(held) == 1)]
        sums_before = len(outer.left()) if outer.is_open else 0
        used += len(chosen) + len(outer.left(chosen)) - sums_before
        if used > most:
            return
        for each in chosen:
            each.is_chosen = True
            wait(each)


def _choose_outermost(candidates: Sequence[_Candidate], most: int) -> None:
    """Chooses whole levels, the outermost first, as many as fit into so many rows; of the first level a part."""
    held: Sequence[_Candidate] = candidates
    used = len(candidates)
    while held:
        held = [inner for candidate in held for inner in candidate.inside]
        used += len(held)
        if used > most and held and held[0].level > 1:
            return
        room = most - len(candidates) - 1 if used > most else len(held)  # one row for what does not fit
        for candidate in held[:room]:
            candidate.is_chosen = True


def _chosen(candidate: _Candidate) -> Iterator[_Candidate]:
    """Yields a candidate and everything inside it that has a row, outermost first."""
    pending = [candidate]
    while pending:
        each = pending.pop()
        yield each
        pending += [inner for inner in reversed(each.inside) if inner.is_chosen]


# --- the rows ---


def _rows(candidates: Iterable[_Candidate], shown: Shown) -> Iterator[ScreenRow]:
    """Yields the rows of everything chosen, each followed by the rows inside it."""
    pending: list[_Candidate | ScreenRow] = [*reversed([*candidates])]
    while pending:
        each = pending.pop()
        if isinstance(each, ScreenRow):
            yield each
            continue
        yield _row(each, shown)
        inside: list[_Candidate | ScreenRow] = [inner for inner in each.inside if inner.is_chosen]
        rests = [inner for inner in each.inside if inner.is_chosen and isinstance(inner.item, RestOfPart)]
        at = len(inside) - len(rests)
        pending += reversed([*inside[:at], *_left_rows(each, shown), *inside[at:]])


def _row(candidate: _Candidate, shown: Shown) -> ScreenRow:
    item = candidate.item
    if isinstance(item, Part):
        return _part_row(candidate, item, shown)
    if isinstance(item, OwnOperators):
        return _operator_row(item, shown, candidate.level)
    figures = cells(shown.columns, item.weighed, *item.without)
    opens = candidate.outer.item.name if candidate.outer is not None and isinstance(candidate.outer.item, Part) else ""
    share = shown.share(item.weighed.cost)
    is_rest = not item.kinds
    return ScreenRow(
        name=item.name, level=candidate.level, share=share, cells=figures, opens=opens * is_rest, is_rest=is_rest
    )


def _part_row(candidate: _Candidate, part: Part, shown: Shown) -> ScreenRow:
    lists_operators = shown.each_call and not (candidate.is_open or shown.opened or part.kind == "backward")
    return ScreenRow(
        name=row_name(part, candidate.module),
        level=candidate.level,
        share=shown.share(part.cost) if part.kind != "imports" and not part.at_most else None,
        cells=of_part(shown.columns, part, AT_LEAST),
        details=(
            *((_operators(part.own or part.parts),) if lists_operators and _says_more(part) else ()),
            *((says.ModulesAs(function=candidate.same_as),) if candidate.same_as is not None else ()),
            *part.choices,
        ),
        place=part.source,
        times=max(len(part.names), 1),
        opens=part.name or part.type or "",
    )


def _left_rows(outer: _Candidate, shown: Shown) -> Iterator[ScreenRow]:
    """Yields a row for everything directly inside that has no row of its own; other threads have another such row."""
    for held in outer.left() if outer.is_open else ():
        yield _left_row(outer, held, shown)


def _left_row(outer: _Candidate, left: Sequence[_Candidate], shown: Shown) -> ScreenRow:
    weighed, is_apart = total(_weighed(inner.item) for inner in left), left[0].is_apart
    if not is_apart and isinstance(outer.item, Part):  # rows are exact sums: small times without a row are here, too
        chosen = total(_weighed(inner.item) for inner in outer.inside if inner.is_chosen and not inner.is_apart)
        weighed = replace(weighed, cost=max(outer.item.cost - chosen.cost, weighed.cost))
    kinds = [_kinds(inner.item) for inner in left]
    few = sum(max(number, 1) for number in kinds)
    parts = [inner.item for inner in left if isinstance(inner.item, Part)]
    without = {"calls", *(("backward",) if any(_runs_backward(part) for part in parts) else ())}
    sign = AT_LEAST if any(part.at_least for part in parts) else ""
    return ScreenRow(
        name=worded(beside.MoreKinds(few=few) if all(kinds) else beside.MoreRows(few=few, threads=is_apart)),
        level=outer.level + 1,
        share=shown.share(weighed.cost),
        cells=tuple(f"{sign}{cell}" if cell else cell for cell in cells(shown.columns, weighed, *without)),
        opens=outer.item.name if isinstance(outer.item, Part) else "",
    )


def _weighed(item: _Item) -> Weighed:
    return item.weighed if isinstance(item, RestOfPart) else item


def _kinds(item: _Item) -> int:
    """Returns how many kinds of operators and nodes an item stands for; 0 for other items."""
    return item.kinds if isinstance(item, RestOfPart) else int(isinstance(item, OwnOperators))


def _runs_backward(part: Part) -> bool:
    return any(inner.kind == "backward" for inner in part.walk())


def _with_rows(part: Part, shown: Shown) -> list[OwnOperators]:
    """Returns the operators and nodes that a part called itself and that may have rows between the rows of its parts.

    In a program, cheap ones have none. In backward, only the costliest nodes have rows.
    """
    if shown.opened:
        return list(part.own)
    if part.kind == "backward":
        return list(part.own[: NODES + (len(part.own) == NODES + 1)])  # a row for one more kind would be as long
    if shown.lists and not part.parts and len(part.own) >= NODES:
        return list(part.own)
    if not part.parts or _overlap(part) or part.kind == "optimizer":
        return []
    if shown.each_call:
        return list(part.own)
    most = LEAST_NAMED * shown.run.whole.saved
    return [own for own in part.own if own.cost >= OWN_ROW * shown.whole or own.saved > most > 0]


def _overlap(part: Part) -> bool:
    """Whether a part's own operators took more time than the part itself: one called another through Python."""
    return total(part.own).cost > part.cost


def _rest_of_backward(
    part: Part, inside: Sequence[Part], own: Sequence[OwnOperators], shown: Shown
) -> Iterator[RestOfPart]:
    """Yields the rest of backward: the other nodes, then the time outside all nodes and parts."""
    rest = [other for other in part.own if other not in own]
    if rest:
        without = ("backward", *_without_calls(shown))
        yield RestOfPart(worded(beside.MoreKinds(few=len(rest))), total(rest), len(rest), without)
    between = part.cost - total(part.own).cost - total(inside).cost
    if between >= NOTHING * shown.whole:
        yield RestOfPart(worded(beside.RestOfBackward()), Weighed(cost=between), without=("calls",))


def _without_calls(shown: Shown) -> tuple[str, ...]:
    """Returns the weights that a row of operators leaves out.

    In an expression, the number of calls is beside the name.
    """
    return ("calls",) if shown.each_call else ()


def _rest(part: Part, inside: Sequence[Part], own: Sequence[OwnOperators], shown: Shown) -> Iterator[RestOfPart]:
    """Yields the rest of a part, if there is any: its own operators that have no rows, and Python."""
    rest = [other for other in part.own if other not in own]
    with_rows = total(inner for inner in inside if inner.kind not in APART).cost + total(own).cost
    time = max(part.cost - with_rows, 0 if _overlap(part) else total(rest).cost)
    if not rest and time < NOTHING * shown.whole:
        return
    python = time - total(rest).cost
    names = [described((_operators(rest),))] if rest else []
    if python > time * NOTICED or not names:  # named if it took most of the time, or much
        names.insert(0 if 2 * python > time else len(names), "Python")
    remark = beside.StepItself if part.kind == "optimizer" else beside.RestIs
    without = _without_calls(shown) if rest else ("calls",)
    yield RestOfPart(worded(remark(names=tuple(names))), replace(total(rest), cost=time), without=without)


def _operators(given: Sequence[OwnOperators | Part]) -> says.Names:
    """Returns the names of a part's own operators, the costliest first; or the names of its parts."""
    return says.Names(names=tuple(own.name for own in given[: NODES - 1]), more=len(given) >= NODES)


def _says_more(part: Part) -> bool:
    """Whether the names of a part's operators say more than the name of its class."""
    names = [own.name.replace("_", "") for own in part.own]
    return names != [(part.type or "").rpartition(".")[2].lower()]


def _operator_row(own: OwnOperators, shown: Shown, level: int) -> ScreenRow:
    figures = cells(shown.columns, own, *_without_calls(shown))
    share = shown.share(own.cost) if own.cost else None  # otherwise its time is in the time of the row around it
    times = own.calls if shown.each_call else 1
    return ScreenRow(own.name, level, share=share, cells=figures, times=times, opens=own.name)


def row_name(part: Part, module: str) -> str:
    """Returns the name of a part within the module around it; for alike parts, the first and the last name."""
    names = [name.removeprefix(f"{module}.") if part.kind == "module" else name for name in part.names or (part.name,)]
    if part.kind == "imports":
        return f"imports  {worded(beside.Modules(count=part.calls))}"
    if part.kind == "module" and not part.name:
        return part.type or "module"
    name = ", ".join(names) if len(names) < 3 else f"{names[0]} … {names[-1]}"
    return f"{name}  {part.type}" if part.kind == "module" and part.type else name
