"""Which input of torch.autograd.grad the outputs do not depend on, and how that tensor is related to the graph.

The error gives at most the number of the input. The graph says which tensors the outputs come from. The input may be
another result of the same leaves, or may share its memory with a leaf of the graph. No code of the user is called.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from types import FrameType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from . import torch_api as api
from .values import describe

if TYPE_CHECKING:
    from .messages import UnusedInputData

Situation: TypeAlias = Literal["beside", "detached", "elsewhere"]
REASON = re.compile(r"differentiated Tensors? (?:at index (\d+) )?appears to not have been used in the graph")
NODES = 50_000  # nodes of a graph that are read
NAMED = 3  # leaves that are described


def unused_input(message: str, frames: Iterable[FrameType]) -> UnusedInputData | None:
    """Return the tensor that such an error is about, as plain data; None for any other error, or if it is unknown.

    `frames` are the Python functions that the error left.
    """
    reason = REASON.search(message)
    asked = list(filter(None, map(api.given_to_grad, frames))) if reason is not None else []
    if reason is None or not asked:
        return None
    outputs, inputs = asked[-1]
    with suppress(Exception), api.without_overrides():
        reached = list(api.nodes_of(map(_node, outputs), NODES))
        if len(reached) == NODES:
            return None
        leaves = _leaves(reached)
        index = int(reason[1]) if reason[1] is not None else _first_unused(inputs, reached, leaves)
        if index is not None:
            return _describe_input(index, inputs, leaves)
    return None


def _node(tensor: Any) -> Any:
    return api.TENSOR_BASE.grad_fn.__get__(tensor)


def _leaves(nodes: Iterable[Any]) -> list[Any]:
    """Return the leaves that these nodes lead to: an AccumulateGrad node holds its leaf."""
    return [leaf for node in nodes if (leaf := getattr(node, "variable", None)) is not None]


def _first_unused(inputs: Sequence[Any], reached: Collection[Any], leaves: Sequence[Any]) -> int | None:
    """Return the number of the first input that is no leaf of the graph, and whose node is not in the graph.

    This is for older versions of torch, whose error has no number.
    """
    nodes = set(reached)
    for index, tensor in enumerate(inputs):
        node = _node(tensor)
        is_used = node in nodes if node is not None else any(tensor is leaf for leaf in leaves)
        if not is_used:
            return index
    return None


def _describe_input(index: int, inputs: Sequence[Any], leaves: Sequence[Any]) -> UnusedInputData:
    tensor = inputs[index]
    node = _node(tensor)
    own = _leaves(api.nodes_of([node], NODES)) if node is not None else []
    memory = api.memory(tensor)
    if any(mine is leaf for mine in own for leaf in leaves):
        situation: Situation = "beside"
    elif memory and any(api.memory(leaf) == memory for leaf in leaves):
        situation = "detached"
    else:
        situation = "elsewhere"
    return {
        "index": index,
        "count": len(inputs),
        "tensor": describe(tensor),
        "node": str(node.name()) if node is not None else "",
        "situation": situation,
        "leaves": [describe(leaf) for leaf in leaves[:NAMED]],
        "further": max(0, len(leaves) - NAMED),
    }
