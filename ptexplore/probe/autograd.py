"""Run backward from whatever the expression gave, and tell the autograd graph that its tensors lead to."""

from __future__ import annotations

import math
from typing import Any

import torch

from . import torch_api as api
from .events import BACKWARD
from .expression import Refused
from .values import describe, tensors

GRAPH_LIMIT = 20_000  # autograd nodes told of one result
Starts = list[tuple[torch.Tensor, torch.Tensor]]


def roots(result: Any) -> list[torch.Tensor]:
    """The tensors that backward starts from. Raises Refused where none requires grad."""
    starts = [t for t in tensors(result) if t.requires_grad]
    if not starts:
        text = f"the result ({describe(result)}) does not require grad: there is nothing to run backward"
        raise Refused("backward", text)
    return starts


def backward(starts: list[torch.Tensor]) -> Starts:
    """Run backward from `starts`, each summed where it is no scalar; pairs of start and what backward ran from.

    Of a complex one from the real part: autograd has no default gradient for complex numbers.
    """
    scalars = _scalars(starts)
    with api.marker(BACKWARD):
        _run(scalars)
    return list(zip(starts, scalars, strict=True))


def run_backward(starts: list[torch.Tensor]) -> None:
    """The same without a marker of ours in it."""
    _run(_scalars(starts))


def _scalars(starts: list[torch.Tensor]) -> list[torch.Tensor]:
    real = [t.real if t.is_complex() else t for t in starts]
    return [t if math.prod(t.shape) == 1 else t.sum() for t in real]


def _run(scalars: list[torch.Tensor]) -> None:
    if len(scalars) == 1:
        scalars[0].backward()
    else:
        torch.autograd.backward(scalars)


def told(starts: Starts) -> dict[str, str]:
    """What backward ran from, in words; {} where it did not run."""
    if not starts:
        return {}
    words = [describe(t) + _change(t, scalar) for t, scalar in starts]
    return {"backward": f"from {' and '.join(words[:4])}{' and more' if len(words) > 4 else ''}"}


def _change(start: torch.Tensor, scalar: torch.Tensor) -> str:
    """What was made of a start before backward ran from it."""
    if not start.is_complex():
        return "" if start is scalar else ", summed"
    return ", its real part" + ("" if math.prod(start.shape) == 1 else ", summed")


def graph(result: Any) -> tuple[list[dict[str, Any]], bool]:
    """The nodes that the result's tensors lead to, with the sequence numbers of the calls that made them; if cut."""
    numbers: dict[Any, int] = {}
    with api.without_overrides():
        pending = [t.grad_fn for t in tensors(result) if t.grad_fn is not None]
    while pending and len(numbers) < GRAPH_LIMIT:
        node = pending.pop()
        if node is not None and node not in numbers:
            numbers[node] = len(numbers)
            pending += [following for following, _ in node.next_functions]
    nodes = [
        {
            "id": numbers[node],
            "name": node.name(),
            "sequence": api.sequence_number(node),
            "next": [numbers[following] for following, _ in node.next_functions if following in numbers],
        }
        for node in numbers
    ]
    return nodes, bool(pending)
