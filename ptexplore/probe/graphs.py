"""Look at the graphs of a program's backward: the bytes that they saved, and how many nodes of which name they have."""

from __future__ import annotations

from typing import Any

import torch

from . import torch_api as api
from .fold import Fold
from .profiler import Profiler
from .slices import Slices
from .taken import threading

BACKWARDS = 3  # calls of backward whose saved tensors are counted


class Graphs:
    """Looks at the graph when backward is called. `backwards`: how often it was called.

    `nodes`: how many nodes of each name the last graph had. It is filled only if a node is to be stepped.
    """

    __slots__ = ("_fold", "_profiler", "_slices", "backwards", "nodes")

    def __init__(self, slices: Slices, profiler: Profiler, fold: Fold) -> None:
        self._slices, self._profiler, self._fold = slices, profiler, fold
        self.backwards = 0
        self.nodes: dict[str, int] = {}

    def backward_begins(self, given: Any) -> None:
        """Before a backward, count the bytes of every tensor that its graph saved, by the call that saved it."""
        self.backwards += 1
        self.nodes = {}
        if self.backwards > BACKWARDS or self._profiler.profile is None or threading.get_ident() != self._profiler.main:
            return
        starts = given if isinstance(given, (list, tuple)) else (given,)
        nodes = [t.grad_fn for t in starts if isinstance(t, torch.Tensor) and t.grad_fn is not None]
        if nodes and self._slices.safety.is_safe():
            self._slices.slice(lambda: self._look_at(nodes))
        elif nodes:
            self._look_at(nodes, folded=False)

    def _look_at(self, nodes: list[Any], *, folded: bool = True) -> None:
        self._fold.saved.count(nodes, folded=folded)
        stepping = self._slices.stepping
        if stepping is not None and stepping.wants_graph:
            self.nodes = api.node_names(nodes)
