"""Choose the operator calls to step in an expression that is too long to be stepped whole: one of each kind.

The profiler says which calls an expression makes, and how they nest. Breakpoints on the entry points of operators say
which entry points it reaches, in order. A call can be stepped if it is certain which of the reached entry points is
its own. A boxed call (torch.ops, TorchScript, a function transform inside a call) reaches none.

A kind: calls of one overload that call the same operators inside, and so take the same way through the dispatcher.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

MOST_COMPARED = 1_000_000  # pairs of a call and an entry point that are compared; with more, no call is certain


class RecordedCall(NamedTuple):
    """An event of the profiler: an operator call, or something around operator calls (a node, a range)."""

    op: str  # the operator with its namespace, without its overload; "" for anything else
    overload: str | None  # None if the profiler records no overloads
    parent: int | None  # the number of the event around it, which comes earlier
    time: int  # nanoseconds
    thread: int = 0
    elements: int = 0  # about how many elements its inputs have


@dataclass(frozen=True)
class ChosenCall:
    """An operator call to step. `reached` is its number among all reached entry points, from 1 on."""

    call: int
    reached: int
    share: float  # of the time of all operator calls: of the calls of this kind together


class CallTree:
    """The recorded calls of one run, in the order in which they began, and which entry points are theirs."""

    def __init__(self, calls: Sequence[RecordedCall]) -> None:
        self.calls = calls
        self.inside: list[list[int]] = [[] for _ in calls]
        self.outermost: list[int] = []
        for number, call in enumerate(calls):
            (self.outermost if call.parent is None else self.inside[call.parent]).append(number)
        self._kinds = self._all_kinds()

    def _all_kinds(self) -> list[int]:
        """Return the number of each call's kind. Calls inside come later than the call around them."""
        known: dict[tuple[object, ...], int] = {}
        kinds = [0] * len(self.calls)
        for number in range(len(self.calls) - 1, -1, -1):
            call = self.calls[number]
            key = (call.op, call.overload, *(kinds[inner] for inner in self.inside[number]))
            kinds[number] = known.setdefault(key, len(known))
        return kinds

    def matched(self, reached: Sequence[str], known: Collection[str]) -> dict[int, int]:
        """Return the number of the reached entry point, from 1 on, of each call for which it is certain.

        `reached` are the overloads of the entry points ("add.Tensor"), in order. They are among the `known` ones.
        """
        overloads, bases = frozenset(known), {op.partition(".")[0] for op in known}
        named = ((number, call.op.removeprefix("aten::"), call) for number, call in enumerate(self.calls) if call.op)
        mine = [
            number
            for number, op, call in named
            if not call.thread
            and (
                op in bases
                if call.overload is None
                else (f"{op}.{call.overload}" if call.overload else op) in overloads
            )
        ]
        must = set(self._from_python()) & set(mine)

        def fits(call: int, entry: int) -> bool:
            return self.is_of(call, reached[entry])

        # Python calls operators through their entry points, unless it calls them by torch.ops.
        for needed in (must, set[int]()):
            first = _embedded(mine, len(reached), fits, needed)
            if first is not None:
                last = _embedded(mine, len(reached), fits, needed, from_end=True)
                assert last is not None
                return {event: entry + 1 for event, entry in first.items() if last.get(event) == entry}
        return {}

    def _from_python(self) -> Iterator[int]:
        """Yield the operator calls that no other operator made."""
        pending = list(self.outermost)
        while pending:
            number = pending.pop()
            if self.calls[number].op:
                yield number
            else:
                pending += self.inside[number]

    def chosen(self, matched: Mapping[int, int], within: Iterable[int] | None = None) -> list[ChosenCall]:
        """Return the largest call of each kind, the costliest kind first.

        They are the outermost calls, among all calls or among those in `within`, that are certain. Sizes choose among
        the calls of a kind, not times, so that each run of the same command chooses the same call.
        """
        whole = sum(self.calls[number].time for number in self._from_python()) or 1
        kinds: dict[int, list[int]] = {}
        pending = list(self.outermost if within is None else within)[::-1]
        while pending:
            number = pending.pop()
            if number in matched:
                kinds.setdefault(self._kinds[number], []).append(number)
            else:
                pending += reversed(self.inside[number])
        out = []
        for calls in kinds.values():
            largest = max(calls, key=lambda number: self.calls[number].elements)
            share = sum(self.calls[number].time for number in calls) / whole
            out.append(ChosenCall(largest, matched[largest], share))
        return sorted(out, key=lambda choice: -choice.share)

    def overloads(self) -> Iterator[str]:
        """Yield each operator of aten that the expression's own thread called: with its overload if that is known."""
        named = {
            (call.op, call.overload): None for call in self.calls if call.op.startswith("aten::") and not call.thread
        }
        for op, overload in named:
            yield op.removeprefix("aten::") + (f".{overload}" if overload else "")

    def is_of(self, number: int, op: str) -> bool:
        """Return whether a call is of this operator ("add.Tensor")."""
        name, _, overload = op.partition(".")
        return self.calls[number].op == f"aten::{name}" and self.calls[number].overload in (None, overload)

    def after(self, number: int, matched: Mapping[int, int], last: int) -> list[int]:
        """Return the outermost certain calls inside a call that come after the reached entry point `last`."""
        out: list[int] = []
        pending = list(self.inside[number])[::-1]
        while pending:
            inner = pending.pop()
            if matched.get(inner, 0) > last:
                out.append(inner)
            else:
                pending += reversed(self.inside[inner])
        return out

    def kind(self, number: int) -> int:
        """Return the number of a call's kind."""
        return self._kinds[number]

    def numbered(self, number: int) -> tuple[int, int]:
        """Return which call of its overload a call is, and how many calls the operator has."""
        call = self.calls[number]
        alike = [n for n, other in enumerate(self.calls) if other.op == call.op]
        return sum(n <= number and self.calls[n].overload == call.overload for n in alike), len(alike)


def _embedded(
    events: Sequence[int],
    entries: int,
    fits: Callable[[int, int], bool],
    must: set[int],
    *,
    from_end: bool = False,
) -> dict[int, int] | None:
    """Give every entry to an event, in order. Return the entries by event; None if the orders differ.

    Each event in `must` gets an entry. The events are as early as possible; with `from_end`, as late as possible.
    """
    extra = len(events) - entries
    if extra < 0 or (extra + 1) * max(len(events), 1) > MOST_COMPARED:
        return None
    order = list(reversed(events)) if from_end else list(events)

    def entry_at(left_out: int, n: int) -> int:
        return entries - 1 - (n - left_out) if from_end else n - left_out

    # can[n]: with how many events left out before n the rest fits; the n-th bit stands for n events.
    can = [0] * (len(order) + 1)
    can[-1] = 1 << extra
    for n in range(len(order) - 1, -1, -1):
        event, after = order[n], can[n + 1]
        bits = 0 if event in must else after >> 1
        for left_out in range(max(0, n - entries + 1), min(extra, n) + 1):
            if after >> left_out & 1 and fits(event, entry_at(left_out, n)):
                bits |= 1 << left_out
        can[n] = bits
    if not can[0] & 1:
        return None
    taken: dict[int, int] = {}
    left_out = 0
    for n, event in enumerate(order):
        entry = entry_at(left_out, n)
        if 0 <= entry < entries and can[n + 1] >> left_out & 1 and fits(event, entry):
            taken[event] = entry
        else:
            left_out += 1
    return taken
