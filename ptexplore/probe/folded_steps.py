"""Find among the folded calls of the program the calls that were stepped in a fork."""

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
    """The calls that were stepped right before the profile that is folded now (`awaited`), and who stepped them.

    `stepping` gets every folded call; it is None if nothing is stepped.
    """

    __slots__ = ("_kinds", "_now", "awaited", "stepping")

    def __init__(self, kinds: KindTable) -> None:
        self._kinds = kinds
        self.stepping: Stepping | None = None
        self.awaited: list[Stepped] = []
        self._now: Stepped | None = None  # the stepped builtin whose calls are folded now

    def begin(self) -> None:
        """Start to fold a profile."""
        self.awaited = self.stepping.awaited if self.stepping is not None else []

    def drop_half(self) -> None:
        """Forget the current builtin, after a fold was interrupted."""
        self._now = None

    def enter(self, path: Path) -> Stepped | None:
        """Enter the marker of a path, maybe of the stepped builtin. Returns the builtin around it, for `leave`."""
        if self.stepping is not None and path.label.is_backward:
            self.stepping.backward_begins()
        around, self._now = self._now, None
        for call in self.awaited:
            if call.path == path.index and not call.met:
                self._now, call.met = call, 1
                break
        return around

    def leave(self, around: Stepped | None) -> None:
        """Leave a marker: `around` is the current builtin again."""
        self._now = around

    def tell(self, stepping: Stepping, key: RowKey, number: int, path: Path, event: Any, site: Any) -> None:
        """Give a folded call to `stepping`. If the call was stepped, note its row in the stepped call."""
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
        """Note an operator call or node if it was stepped: among the calls of its name, it has the stepped number."""
        for call in self.awaited:
            is_it = call.what == type_ and call.event is None and call.name == event.name
            if is_it and call.overload in (None, getattr(event, "overload_name", None)):
                call.met += 1
                call.event = event if call.met == call.number else None

    def data(self, route_of: list[int]) -> Iterator[tuple[SentStepsData, list[LibraryCallData]]]:
        """Yields what was stepped, with the number of its route, and the calls that libraries reported in it."""
        for part, calls in self.stepping.parts() if self.stepping is not None else ():
            row = part["row"]
            assert row is not None
            part["route"] = route_of[row]
            yield part, calls


def represented(path: Path, key: RowKey, is_node: bool) -> Key:
    """Returns what a call stands for among stepped calls: builtin (None for a node), thread-local sets, and kind."""
    return path.label.called if not is_node else None, key[1], key[2]
