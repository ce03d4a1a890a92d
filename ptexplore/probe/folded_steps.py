"""Which of the calls that are folded were stepped in a fork: each is known again among the program's own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .kinds import KindTable, RowKey
from .paths import Path
from .profiled import NODES

if TYPE_CHECKING:
    from .messages import LibraryCallData, SentStepsData
    from .stepping import Key, Stepped, Stepping


class FoldedSteps:
    """What was stepped right before what is folded now, and who steps, who is told of every call; None: nobody."""

    __slots__ = ("_kinds", "_now", "awaited", "stepping")

    def __init__(self, kinds: KindTable) -> None:
        self._kinds = kinds
        self.stepping: Stepping | None = None
        self.awaited: list[Stepped] = []
        self._now: Stepped | None = None  # the builtin among them that is folded now

    def begin(self) -> None:
        """A profile is folded from here on."""
        self.awaited = self.stepping.awaited if self.stepping is not None else []

    def drop_half(self) -> None:
        """No builtin is folded now, as where a fold was interrupted."""
        self._now = None

    def enter(self, path: Path) -> Stepped | None:
        """A marker of a path begins, which may be that of the builtin that was stepped; the one that is around it."""
        if self.stepping is not None and path.label.is_backward:
            self.stepping.backward_begins()
        around, self._now = self._now, None
        for call in self.awaited:
            if call.path == path.index and not call.met:
                self._now, call.met = call, 1
                break
        return around

    def leave(self, around: Stepped | None) -> None:
        """The marker ends."""
        self._now = around

    def tell(self, stepping: Stepping, key: RowKey, number: int, path: Path, event: Any, site: Any) -> None:
        """Tell of a call that was folded, and whether it is one that was stepped."""
        kind = self._kinds.by_number[key[2]]
        represents = represented(path, key, kind.first["type"] in NODES)
        stepping.met(represents, kind.first, path.index, event.duration_time_ns, site)
        inside = self._now
        if inside is not None and inside.path == path.index:
            inside.units += 1
            inside.row, inside.key = number, represents
        for stepped in self.awaited:
            if stepped.event is None or stepped.row is not None:
                continue
            if stepped.event == event or (stepped.what == "node" and stepped.event in event.children):
                stepped.row, stepped.key = number, represents

    def look_for(self, event: Any, type_: str) -> None:
        """Whether an operator call, or a node, is one that was stepped: it is known by its number."""
        for call in self.awaited:
            is_it = call.what == type_ and call.event is None and call.name == event.name
            if is_it and call.overload in (None, getattr(event, "overload_name", None)):
                call.met += 1
                call.event = event if call.met == call.number else None

    def told(self, route_of: list[int]) -> Iterator[tuple[SentStepsData, list[LibraryCallData]]]:
        """What was stepped, with the route that each is of, and what libraries told of it."""
        for part, calls in self.stepping.parts() if self.stepping is not None else ():
            row = part["row"]
            assert row is not None
            part["route"] = route_of[row]
            yield part, calls


def represented(path: Path, key: RowKey, is_node: bool) -> Key:
    """What a call stands for among those that are stepped: its builtin, the sets, the kind; a node has no builtin."""
    return path.label.called if not is_node else None, key[1], key[2]
