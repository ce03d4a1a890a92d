"""Logs of a program's calls, kept in case backward fails: who wrote to a tensor, and which nodes ran."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from . import freed, written
from . import torch_api as api
from .call_numbers import CallNumbers, NumberedCall
from .kinds import KindTable, RowTable
from .paths import Path

if TYPE_CHECKING:
    from .messages import FreedNodeData, SavedTensorWritesData


class FaultLogs:
    """Keeps the logs, and looks up in them an error's tensors and nodes. `writes` is None if torch cannot give them."""

    def __init__(self, rows: RowTable, kinds: KindTable, numbers: CallNumbers) -> None:
        self._rows, self._kinds, self._numbers = rows, kinds, numbers
        self.writes = written.WriteLog() if api.can_read_refused() else None
        self.engine = freed.EngineLog()

    def modified(
        self, refused: api.RefusedTensor, paths: Sequence[Path], *, whole: bool
    ) -> SavedTensorWritesData | None:
        """Returns who saved a tensor and who wrote to it since, as an observation's data; None if no saver is known."""
        saver = self._numbers.numbered(refused.sequence)
        if saver is None or self.writes is None:
            return None
        path, _, kind, _, _, _ = self._rows.keys()[saver[0]]
        operator = self._kinds.by_number[kind].first["name"]
        since = self.writes.since(refused.memory, saver[2])
        return written.writes_data(refused, since, (paths[path], operator), whole=whole)

    def freed(
        self, error: BaseException, paths: Sequence[Path], backwards: int, *, whole: bool
    ) -> FreedNodeData | None:
        """Returns which node was freed when the engine reached it, as an observation's data; None if unknown."""
        key_of = self._rows.keys()

        def maker(known: NumberedCall) -> freed.NodeMaker:
            path, _, kind, *_ = key_of[known[0]]
            return freed.NodeMaker(paths[path], self._kinds.by_number[kind].first["name"], known[2])

        def made(sequence: int) -> freed.NodeMaker | None:
            known = self._numbers.numbered(sequence)
            return maker(known) if known is not None else None

        def makers() -> Iterator[freed.NodeMaker]:
            return map(maker, self._numbers.every())

        return freed.node_data(self.engine, written.graph_of(error), made, makers, error, backwards, whole=whole)
