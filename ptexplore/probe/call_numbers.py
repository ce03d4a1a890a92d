"""Which call autograd gave a number, by which a node of backward knows the call that recorded it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import torch_api as api
from .profiled import read

MOST = 1 << 20  # numbers of one thread that are remembered

# The call that has a number: its row, the number in it, when it ended.
NumberedCall = tuple[int, int, int]


class CallNumbers:
    """The calls by autograd's numbers. Each thread counts for itself; `current` are those of the one that is folded."""

    __slots__ = ("_by_thread", "_recorders", "current", "has_threads")

    def __init__(self) -> None:
        self.current: dict[int, NumberedCall] = {}
        self.has_threads = False  # whether threads of the program's own ran, which a torch may not record
        self._by_thread: dict[int, dict[int, NumberedCall]] = {}
        self._recorders = api.ForwardThreads(None)  # tells which thread recorded a node

    def begin(self, profile: Any) -> None:
        """What one profile saw is folded from here on."""
        self._recorders = api.ForwardThreads(profile)

    def enter(self, thread: int) -> None:
        """What a thread ran, by the profiler's number of it, is folded from here on."""
        self.current = self._by_thread.setdefault(thread, {})

    def release(self) -> None:
        """Hold the profile no longer."""
        self._recorders = api.ForwardThreads(None)

    def forget(self) -> None:
        """Let go of the calls of a thread where they are too many."""
        for calls in self._by_thread.values():
            if len(calls) > MOST:
                calls.clear()

    def recorded_elsewhere(self) -> list[tuple[int, int]]:
        """Of nodes that another thread recorded: the threads that ran them, and those that recorded them."""
        return [pair for pair in self._recorders.pairs() if pair[0] != pair[1]]

    def every(self) -> Iterator[NumberedCall]:
        """All calls that have a number."""
        return (known for calls in self._by_thread.values() for known in calls.values())

    def numbered(self, sequence: int) -> NumberedCall | None:
        """The call of that number, where one thread alone has counted so far."""
        if self.has_threads and not api.records_all_threads():
            return None
        known = [calls[sequence] for calls in self._by_thread.values() if sequence in calls]
        return known[0] if len(known) == 1 else None

    def maker(self, event: Any, sequence: int) -> NumberedCall | None:
        """The call that recorded a node: that of the node's number.

        CopySlices, around the node of a write through a view, has a number that no call has: that of the node in it.
        """
        maker = self._recorded(event, sequence)
        if maker is not None or not event.name.endswith(api.COPY_SLICES):
            return maker
        pending = list(event.children)
        while pending:
            inner = pending.pop()
            call = read(inner, inner.name)
            if call is not None and call[2] == "node" and not inner.name.endswith(api.COPY_SLICES):
                return self._recorded(inner, call[3].sequence_number)
            pending += inner.children
        return None

    def _recorded(self, node: Any, sequence: int) -> NumberedCall | None:
        """The call of that number in the thread that recorded a node."""
        counting = [calls for calls in self._by_thread.values() if calls]
        if self.has_threads or len(counting) > 1:
            return self._by_thread.get(self._recorders.of(node), {}).get(sequence)
        return counting[0].get(sequence) if counting else None
