"""How many bytes autograd saved for backward, by the call that saved them."""

from __future__ import annotations

from collections import Counter
from typing import Any

from . import torch_api as api
from .call_numbers import CallNumbers
from .kinds import RowTable


class SavedBytes:
    """Adds the bytes that graphs saved to the rows of the calls that recorded their nodes, each storage once.

    `counts` has the other numbers about saved tensors, under the names of the program's fields.
    """

    def __init__(self, rows: RowTable, numbers: CallNumbers) -> None:
        self._rows, self._numbers = rows, numbers
        self.counts: Counter[str] = Counter()
        self._met: set[tuple[int, int]] = set()  # the calls and storages of saved tensors so far
        self._unplaced: list[tuple[int, int]] = []  # number and bytes for calls that are not folded yet

    def count(self, nodes: list[Any], *, folded: bool = True) -> None:
        """Count the bytes that a graph's nodes saved, each storage once, for the first call that saved it.

        Backward may run through a graph more than once: the bytes of a node count the first time. If the run until now
        is not `folded`, as in a backward inside another one, some calls are known only after it is folded.
        """
        kept = api.saved_storages(nodes)
        counts = self.counts
        counts.update({f"saved_{name}": count for name, count in kept.uncounted().items()})
        counts["saved_backwards"] += api.tells_saved_unread()
        counted = {address for sequence, address, _ in kept.storages if (sequence, address) in self._met}
        self._met.update((sequence, address) for sequence, address, _ in kept.storages)
        for sequence, address, size in sorted(kept.storages, key=lambda saved: saved[0]):
            if address in counted:
                continue
            counted.add(address)
            known = self._numbers.numbered(sequence)
            if known is not None:
                self._rows.by_number[known[0]].weigh("saved", size)
                continue
            counts["saved_elsewhere"] += size
            if not folded:
                self._unplaced.append((sequence, size))

    def place(self) -> None:
        """Add the bytes of calls that are folded by now to their rows."""
        unplaced, self._unplaced = self._unplaced, []
        for sequence, size in unplaced:
            known = self._numbers.numbered(sequence)
            if known is not None:
                self._rows.by_number[known[0]].weigh("saved", size)
                self.counts["saved_elsewhere"] -= size
