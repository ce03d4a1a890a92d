"""Find calls by autograd's sequence number: a backward node has the number of the call that recorded it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import torch_api as api
from .profiled import read

MOST = 1 << 20  # a thread that has more numbers than this forgets them all

# A call with a number: its row, its number within the row, and when it ended.
NumberedCall = tuple[int, int, int]


class CallNumbers:
    """Calls by sequence number. Each thread counts separately; `current` holds the calls of the thread being folded."""

    __slots__ = ("_by_thread", "_recorders", "current", "has_threads")

    def __init__(self) -> None:
        self.current: dict[int, NumberedCall] = {}
        self.has_threads = False  # whether the program started threads: some versions of torch do not record them
        self._by_thread: dict[int, dict[int, NumberedCall]] = {}
        self._recorders = api.ForwardThreads(None)  # finds the thread that recorded a node

    def begin(self, profile: Any) -> None:
        """Start to fold what `profile` saw."""
        self._recorders = api.ForwardThreads(profile)

    def enter(self, thread: int) -> None:
        """Start to fold the calls of one thread, given by the profiler's number of the thread."""
        self.current = self._by_thread.setdefault(thread, {})

    def release(self) -> None:
        """Drop the reference to the profile."""
        self._recorders = api.ForwardThreads(None)

    def forget(self) -> None:
        """Drop the calls of each thread that has more than MOST."""
        for calls in self._by_thread.values():
            if len(calls) > MOST:
                calls.clear()

    def recorded_elsewhere(self) -> list[tuple[int, int]]:
        """Returns pairs of threads for nodes that ran in one thread (first) and were recorded in another (second)."""
        return [pair for pair in self._recorders.pairs() if pair[0] != pair[1]]

    def every(self) -> Iterator[NumberedCall]:
        """Returns all calls that have a number."""
        return (known for calls in self._by_thread.values() for known in calls.values())

    def numbered(self, sequence: int) -> NumberedCall | None:
        """Find the call with this sequence number, if exactly one thread has it; else None."""
        if self.has_threads and not api.records_all_threads():
            return None
        known = [calls[sequence] for calls in self._by_thread.values() if sequence in calls]
        return known[0] if len(known) == 1 else None

    def maker(self, event: Any, sequence: int) -> NumberedCall | None:
        """Find the call that recorded a backward node, or None.

        A CopySlices node, made for a write through a view, has a number that no call has. It wraps another node: the
        number of that inner node is used.
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
        """Find the call with this number in the thread that recorded the node."""
        counting = [calls for calls in self._by_thread.values() if calls]
        if self.has_threads or len(counting) > 1:
            return self._by_thread.get(self._recorders.of(node), {}).get(sequence)
        return counting[0].get(sequence) if counting else None
