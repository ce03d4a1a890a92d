"""Compare the operators of a lowered graph with torch.export's program, which runs as in eager mode."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

import torch

from . import rung_api
from .differences import difference

if TYPE_CHECKING:
    from .messages import OperatorDifferenceData
    from .rung_graphs import ReadGraphs


def compare_operators(
    rung: str, graph: torch.fx.GraphModule, given: Sequence[Any], program: Any, program_inputs: Sequence[Any],
    known: ReadGraphs,
) -> tuple[int, OperatorDifferenceData | None, OperatorDifferenceData | None]:  # fmt: skip
    """Return how many operators were compared, and the first one whose value differs from eager's.

    The first one is given twice: with the errors so far, and with eager's inputs for each operator.

    `known` has the operators of the program. Only values that one operator of the graph gives for one operator of the
    program are compared.
    """
    values = _values(program.graph_module, program_inputs, known)
    pairs = dict(_pairs(graph, known, values))
    compared: list[OperatorDifferenceData | None] = []
    for uses_eager in (False, True):
        torch.manual_seed(0)
        comparing = _Comparison(graph, pairs, values, uses_eager=uses_eager)
        with torch.no_grad():
            comparing.run(*_copied(given))
        first = comparing.first
        if first is None:
            compared.append(None)
            continue
        operator, source, far = first
        made: OperatorDifferenceData = {
            "operator": {"rung": cast("Any", rung), "name": operator},
            "source": {"rung": "export", "name": source},
            "difference": far,
        }
        compared.append(made)
    return len(pairs), compared[0], compared[1]


def _copied(given: Sequence[Any]) -> list[Any]:
    return [value.detach().clone() if isinstance(value, torch.Tensor) else value for value in given]


class _Values(torch.fx.Interpreter):  # type: ignore[misc]  # torch.fx has no types for it
    """Runs a graph, and keeps the value of each call, as it was when the call returned."""

    def __init__(self, graph: torch.fx.GraphModule) -> None:
        super().__init__(graph)
        self.values: dict[str, Any] = {}

    def run_node(self, node: Any) -> Any:
        """Run one node."""
        result = super().run_node(node)
        if rung_api.is_call(node) and isinstance(result, torch.Tensor):
            self.values[node.name] = result.detach().clone()
        return result


def _values(graph: torch.fx.GraphModule, given: Sequence[Any], known: ReadGraphs) -> dict[str, torch.Tensor]:
    """Return the value of each operator of the program that gives one tensor, by the operator's name."""
    run = _Values(graph)
    with torch.no_grad():
        run.run(*_copied(given))
    names = {operator["name"] for operator in known.operators}
    return {name: value for name, value in run.values.items() if name in names}


def _pairs(
    graph: torch.fx.GraphModule, known: ReadGraphs, values: dict[str, torch.Tensor]
) -> Iterator[tuple[str, str]]:
    """Yield the nodes of a graph that give the value of an operator of the program, with the operator's name.

    A node gives the value, if it is the only node made from this operator that others use, and if it is like it.
    """
    made: dict[str, list[Any]] = {}
    for node in graph.graph.nodes:
        sources = rung_api.origins(node, known.names)
        if node.op == "call_function" and len(sources) == 1:
            made.setdefault(sources[0], []).append(node)
    for name, nodes in made.items():
        if name not in values:
            continue
        inside = set(nodes)
        used = [node for node in nodes if any(user not in inside for user in node.users)]
        value = used[0].meta.get("val") if len(used) == 1 else None
        expected = values[name]
        if isinstance(value, torch.Tensor) and (value.shape, value.dtype) == (expected.shape, expected.dtype):
            yield used[0].name, name


class _Comparison(torch.fx.Interpreter):  # type: ignore[misc]
    """Runs a graph, and compares values with eager's. With `uses_eager`, each operator gets eager's inputs."""

    def __init__(
        self, graph: torch.fx.GraphModule, pairs: dict[str, str], values: dict[str, torch.Tensor], *, uses_eager: bool
    ) -> None:
        super().__init__(graph)
        self._pairs, self._values, self._uses_eager = pairs, values, uses_eager
        self.first: tuple[str, str, Any] | None = None

    def run_node(self, node: Any) -> Any:
        """Run one node."""
        result = super().run_node(node)
        source = self._pairs.get(node.name)
        if source is None or not isinstance(result, torch.Tensor):
            return result
        expected = self._values[source]
        far = difference([("result", result)], [("result", expected)])
        if not far["is_equal"] and self.first is None:
            self.first = node.name, source, far
        return expected.clone() if self._uses_eager else result
