"""Why a tensor gets a gradient from a graph, or none: codes, and which one holds. Only what the record says."""

from __future__ import annotations

from typing import Literal

from ptexplore.model.autograd_graph import AutogradGraph, NamedTensor

GradientReason = Literal[
    "reached",
    "has-grad",
    "retained",
    "no-leaf",
    "no-leaf-unreached",
    "dtype",
    "inference",
    "no-grad",
    "no-graph",
    "detached",
    "unreached",
    "unknown",
]


def why_gradient(graph: AutogradGraph, tensor: NamedTensor) -> GradientReason:
    """Returns why backward from the results gives a tensor a gradient, or why it does not."""
    if not tensor.differentiable:
        return "dtype"
    if not tensor.needs_grad:
        return "inference" if tensor.inference else "no-grad"
    if not any(result.needs_grad for result in graph.results):
        return "no-graph"
    if tensor.node is None and graph.cut:
        return "unknown"
    if not tensor.is_leaf:
        if tensor.node is None:
            return "no-leaf-unreached"
        return "retained" if tensor.retains_grad else "no-leaf"
    if tensor.node is None:
        return "unreached" if tensor.detached is None else "detached"
    return "has-grad" if tensor.has_grad else "reached"
