"""Run backward from whatever the expression gave, and tell the autograd graph that its tensors lead to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from . import torch_api as api
from .events import BACKWARD
from .expression import Refused
from .reasons import reason
from .values import describe, tensors

if TYPE_CHECKING:
    from .messages import GraphNodeData, ResultInfoData

GRAPH_LIMIT = 20_000  # autograd nodes told of one result
STARTS = 4  # tensors that backward ran from which are told
# How backward began at a tensor, by what was added to get a scalar of it.
_BEGUN = {"": "began-at", ".sum()": "began-at-sum", ".real": "began-at-real", ".real.sum()": "began-at-real-sum"}


@dataclass(frozen=True)
class BackwardStart:
    """A tensor that backward starts from, and what is written after it to get the scalar that autograd asks for."""

    tensor: torch.Tensor
    added: str  # "", ".real", ".sum()" or ".real.sum()"


def roots(result: Any) -> list[BackwardStart]:
    """What backward starts from. Raises Refused where no tensor of the result requires grad.

    A tensor that is no scalar is summed. Of a complex one the real part is taken: autograd has no default gradient for
    complex numbers.
    """
    starts = [BackwardStart(t, _added(t)) for t in tensors(result) if t.requires_grad]
    if not starts:
        raise Refused("backward", reason("needs-no-grad", result=describe(result)))
    return starts


def _added(tensor: torch.Tensor) -> str:
    return (".real" if tensor.is_complex() else "") + ("" if math.prod(tensor.shape) == 1 else ".sum()")


def backward(starts: list[BackwardStart], scalars: list[torch.Tensor] | None = None) -> None:
    """Run backward from `starts`, marked for the profiler from the first call that is added on."""
    with api.marker(BACKWARD):
        run_backward(starts, scalars)


def run_backward(starts: list[BackwardStart], scalars: list[torch.Tensor] | None = None) -> None:
    """The same without a marker of ours in it. `scalars` gets the tensors that backward runs from, before it does."""
    scalars = [] if scalars is None else scalars
    scalars += [_scalar(start) if start.added else start.tensor for start in starts]
    if len(scalars) == 1:
        scalars[0].backward()
    else:
        torch.autograd.backward(scalars)


def _scalar(start: BackwardStart) -> torch.Tensor:
    return eval(_ADDED[start.added], {"start": start.tensor})


# Texts of their own, since the recorders pass over what a file of ours calls.
_ADDED = {
    added: compile(f"start{added}", "<added for backward>", "eval") for added in (".real", ".sum()", ".real.sum()")
}


def told(starts: list[BackwardStart]) -> ResultInfoData:
    """What backward ran from; {} where it did not run."""
    if not starts:
        return {}
    first = [reason(_BEGUN[start.added], tensor=describe(start.tensor)) for start in starts[:STARTS]]
    return {"backward": reason("backward-from", starts=first, more=max(len(starts) - STARTS, 0))}


def _node_of(tensor: Any) -> Any:
    """The node that a tensor comes from; None for a leaf, and where torch refuses to tell.

    It does of a view made under no_grad that was written to since: reading the node is what raises
    (VariableHooks::grad_fn of torch/csrc/autograd/variable.cpp).
    """
    try:
        return tensor.grad_fn
    except RuntimeError:
        return None


def graph(result: Any, scalars: Sequence[torch.Tensor] = ()) -> tuple[list[GraphNodeData], bool]:
    """The nodes that the result's tensors lead to, with the sequence numbers of the calls that made them; if cut.

    `scalars`: what backward ran from, whose nodes are told too: those of the calls that were added.
    """
    numbers: dict[Any, int] = {}
    with api.without_overrides():
        pending = [node for node in map(_node_of, (*scalars, *tensors(result))) if node is not None]
    while pending and len(numbers) < GRAPH_LIMIT:
        node = pending.pop()
        if node is not None and node not in numbers:
            numbers[node] = len(numbers)
            pending += [following for following, _ in node.next_functions]
    nodes: list[GraphNodeData] = [
        {
            "id": numbers[node],
            "name": node.name(),
            "sequence": api.sequence_number(node),
            "next": [numbers[following] for following, _ in node.next_functions if following in numbers],
            "needed": [following is not None for following, _ in node.next_functions],
        }
        for node in numbers
    ]
    return nodes, bool(pending)


@dataclass(frozen=True)
class KeptBytes:
    """The bytes that the graph of a result keeps for backward, by the sequence number of the call that saved them.

    Each storage counts once, for the first call that saved it. What leaves hold does not count. `packed` tensors a hook
    packed, and the memory of `unread` ones cannot be asked for: these are in no sum, nor is what `silent` nodes keep.
    """

    told: dict[int, int] = field(default_factory=dict)
    packed: int = 0
    unread: int = 0
    silent: int = 0


def saved(result: Any) -> KeptBytes:
    """What the graph of a result keeps for backward."""
    told: dict[int, int] = {}
    with suppress(Exception), api.without_overrides():
        nodes = [node for node in map(_node_of, tensors(result)) if node is not None]
        kept = api.saved_storages(nodes, GRAPH_LIMIT)
        counted = set()
        for sequence, address, size in sorted(kept.told, key=lambda saved: saved[0]):
            if address not in counted:
                counted.add(address)
                told[sequence] = told.get(sequence, 0) + size
        return KeptBytes(told, kept.packed, kept.unread, kept.silent)
    return KeptBytes()
