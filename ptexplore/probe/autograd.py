"""Run backward from the result of the expression, and list the nodes of its autograd graph."""

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

GRAPH_LIMIT = 20_000  # maximum number of autograd nodes that are sent for one result
STARTS = 4  # maximum number of tensors that are named as starts of backward
# The code that says how backward began, by the text that was added to make a scalar of the tensor.
_BEGUN = {"": "began-at", ".sum()": "began-at-sum", ".real": "began-at-real", ".real.sum()": "began-at-real-sum"}


@dataclass(frozen=True)
class BackwardStart:
    """A tensor that backward starts from, and the code that makes the scalar of it that autograd needs."""

    tensor: torch.Tensor
    added: str  # "", ".real", ".sum()" or ".real.sum()"


def roots(result: Any) -> list[BackwardStart]:
    """Returns the tensors of a result that backward starts from. Raises Refused if no tensor requires grad.

    A tensor with more than one element is summed. Of a complex tensor the real part is taken: autograd has no default
    gradient for complex numbers.
    """
    starts = [BackwardStart(t, _added(t)) for t in tensors(result) if t.requires_grad]
    if not starts:
        raise Refused("backward", reason("needs-no-grad", result=describe(result)))
    return starts


def _added(tensor: torch.Tensor) -> str:
    return (".real" if tensor.is_complex() else "") + ("" if math.prod(tensor.shape) == 1 else ".sum()")


def backward(starts: list[BackwardStart], scalars: list[torch.Tensor] | None = None) -> None:
    """Run backward from `starts`. The profiler's marker encloses the calls that make scalars, too."""
    with api.marker(BACKWARD):
        run_backward(starts, scalars)


def run_backward(starts: list[BackwardStart], scalars: list[torch.Tensor] | None = None) -> None:
    """Run backward without a marker. `scalars` is filled with the tensors that backward runs from, before it runs."""
    scalars = [] if scalars is None else scalars
    scalars += [_scalar(start) if start.added else start.tensor for start in starts]
    if len(scalars) == 1:
        scalars[0].backward()
    else:
        torch.autograd.backward(scalars)


def _scalar(start: BackwardStart) -> torch.Tensor:
    return eval(_ADDED[start.added], {"start": start.tensor})


# Compiled under a file name of their own: the recorders ignore calls of ptexplore's own files.
_ADDED = {
    added: compile(f"start{added}", "<added for backward>", "eval") for added in (".real", ".sum()", ".real.sum()")
}


def starts_data(starts: list[BackwardStart]) -> ResultInfoData:
    """Returns the tensors that backward ran from, as data of the result; {} if backward did not run."""
    if not starts:
        return {}
    first = [reason(_BEGUN[start.added], tensor=describe(start.tensor)) for start in starts[:STARTS]]
    return {"backward": reason("backward-from", starts=first, more=max(len(starts) - STARTS, 0))}


def _node_of(tensor: Any) -> Any:
    """Returns the autograd node of a tensor; None for a leaf, and if torch raises.

    torch raises for a view that was made under no_grad and written to since. Reading the node is what raises
    (VariableHooks::grad_fn of torch/csrc/autograd/variable.cpp).
    """
    try:
        return tensor.grad_fn
    except RuntimeError:
        return None


def graph(result: Any, scalars: Sequence[torch.Tensor] = ()) -> tuple[list[GraphNodeData], bool]:
    """Returns the nodes of the result's graph, each with its sequence number, and whether GRAPH_LIMIT cut the list.

    `scalars`: the tensors that backward ran from. Their nodes are included: they belong to the calls that were added.
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
    """The bytes that a result's graph keeps for backward, by the sequence number of the call that saved them.

    Each storage counts once, for the first call that saved it. Storages of leaves do not count. No sum contains these:
    `packed` tensors, which a hook packed; `unread` tensors, whose storage cannot be read; tensors of `silent` nodes.
    """

    by_sequence: dict[int, int] = field(default_factory=dict)
    packed: int = 0
    unread: int = 0
    silent: int = 0


def saved(result: Any) -> KeptBytes:
    """Returns the bytes that the graph of a result keeps for backward. An error inside torch gives an empty record."""
    by_sequence: dict[int, int] = {}
    with suppress(Exception), api.without_overrides():
        nodes = [node for node in map(_node_of, tensors(result)) if node is not None]
        kept = api.saved_storages(nodes, GRAPH_LIMIT)
        counted = set()
        for sequence, address, size in sorted(kept.storages, key=lambda saved: saved[0]):
            if address not in counted:
                counted.add(address)
                by_sequence[sequence] = by_sequence.get(sequence, 0) + size
        return KeptBytes(by_sequence, kept.packed, kept.unread, kept.silent)
    return KeptBytes()
