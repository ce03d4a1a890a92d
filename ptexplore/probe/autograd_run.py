"""Run backward over the graph behind a value: the order of its nodes, their threads and times, and every gradient.

This is a run of its own. Each node of the graph gets a hook before it and a hook after it, which only look.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from . import passes
from . import torch_api as api
from .autograd_graph import GraphReader, evaluated, sizes_of
from .expression import Refused
from .reasons import reason
from .recorders import GRAPH_RUN
from .values import describe, type_name

if TYPE_CHECKING:
    from .messages import GradientSeenData, GraphRunData, NodeRunData, RunRequestData, RunToldData

MOST_TEXT = 2_000  # characters of an error's message


def run(request: RunRequestData) -> RunToldData:
    """Run the code, then backward from its value, and return what each node did. Raises Refused without a graph."""
    running = passes.prepared(GRAPH_RUN, request)
    asked = evaluated(running)
    reader = GraphReader(asked.value)
    if not reader.nodes:
        raise Refused("backward", reason("needs-no-grad", result=describe(asked.value)))
    return {"observations": [], "ran": BackwardRun(reader).data()}


class BackwardRun:
    """One backward over a graph, as hooks of its nodes see it. `begin` runs it."""

    def __init__(self, reader: GraphReader) -> None:
        self._reader = reader
        self._ran: list[NodeRunData] = []
        self._open: dict[int, tuple[NodeRunData, int]] = {}  # nodes that run, with the time of their beginning
        self._threads: dict[int, int] = {threading.get_ident(): 0}
        self._had_grad = [api.gradient(leaf) is not None for leaf in map(api.leaf_of, reader.nodes) if leaf is not None]

    def data(self) -> GraphRunData:
        """Run backward, and return what ran as plain data. An error of backward is part of it."""
        hooks = [hook for number, node in enumerate(self._reader.nodes) for hook in self._hooks(number, node)]
        raised = ("", "")
        try:
            self._begin()
        except Exception as error:
            raised = (type_name(error), str(error)[:MOST_TEXT])
        finally:
            for hook in hooks:
                hook.remove()
        leaves = [number for number, node in enumerate(self._reader.nodes) if api.leaf_of(node) is not None]
        had = [number for number, had in zip(leaves, self._had_grad, strict=True) if had]
        return {
            "shape": self._reader.shape(),
            "ran": self._ran,
            "had_grad": had,
            "unfinished": sorted(self._open),
            "error": raised[0],
            "message": raised[1],
        }

    def _begin(self) -> None:
        """Start backward as PyTorch would for the sum of all elements: with a gradient of ones."""
        starts = [tensor for tensor in self._reader.results if tensor.requires_grad]
        torch.autograd.backward(starts, [torch.ones_like(tensor) for tensor in starts])

    def _hooks(self, number: int, node: Any) -> tuple[Any, Any]:
        return (
            node.register_prehook(lambda gradients: self._before(number, gradients)),
            node.register_hook(lambda sent, _received: self._after(number, sent)),
        )

    def _before(self, number: int, gradients: Sequence[Any]) -> None:
        ident = threading.get_ident()
        ran: NodeRunData = {
            "node": number,
            "thread": self._threads.setdefault(ident, len(self._threads)),
            "took": 0,
            "received": [_seen(gradient) for gradient in gradients],
            "sent": [],
        }
        self._ran.append(ran)
        self._open[number] = ran, time.perf_counter_ns()

    def _after(self, number: int, sent: Sequence[Any]) -> None:
        now = time.perf_counter_ns()
        ran, began = self._open.pop(number)
        ran["took"] = now - began
        ran["sent"] = [_seen(gradient) for gradient in sent]


def _seen(gradient: Any) -> GradientSeenData | None:
    """Return the description of a gradient; None if it is undefined."""
    if gradient is None:
        return None
    with api.without_overrides():
        return {
            "sizes": sizes_of(gradient),
            "dtype": str(gradient.dtype).removeprefix("torch."),
            "layout": str(gradient.layout).removeprefix("torch."),
        }
