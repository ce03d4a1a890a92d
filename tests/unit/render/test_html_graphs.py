"""The pages of autograd graphs and of tensors: each box leads to the row of its node, and all names are text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ptexplore.model.autograd_graph import (
    AutogradGraph,
    AutogradNode,
    GradientEdge,
    GraphLeaf,
    GraphResult,
    GraphSession,
    LocatedGraph,
    NodeSource,
)
from ptexplore.model.place_reasons import NotLookedUp
from ptexplore.model.places import SourceRef
from ptexplore.model.tensor_layouts import ConcludedTensor, MemoryBlock, PlacedTensor, SeenTensor, TensorLayouts
from ptexplore.model.trace import ResultInfo, TorchInfo
from ptexplore.render.html.flowchart import chart
from ptexplore.render.html.graphs import GraphPages
from ptexplore.render.html.output import Output
from ptexplore.render.html.tensors import TensorPages
from ptexplore.view.graph.page import flow_of
from ptexplore.view.site.site import Settings, Site

NOWHERE = SourceRef(path=None, line=None, layer=None, precision="unknown", reason=NotLookedUp())


def located(*nodes: AutogradNode) -> LocatedGraph:
    result = GraphResult("Tensor[] float32 cpu requires_grad", 0, needs_grad=True)
    session = GraphSession(
        "f(a < b)", TorchInfo("2.13.0"), (), ResultInfo("Tensor", ""), AutogradGraph((result,), nodes, ())
    )
    sources = tuple(NodeSource(NOWHERE, inputs=("self", "other") if len(node.edges) == 2 else ()) for node in nodes)
    return LocatedGraph(session, sources, ())


def leaf(name: str) -> AutogradNode:
    return AutogradNode("torch::autograd::AccumulateGrad", leaf=GraphLeaf((name,), (3,), "float32", "cpu"))


@pytest.fixture
def graph() -> LocatedGraph:
    """A sum of a product: `a` is reached on two ways, and one input of the product needs no gradient."""
    return located(
        AutogradNode("AddBackward0", (GradientEdge(1), GradientEdge(2))),
        AutogradNode("MulBackward0", (GradientEdge(2), GradientEdge(None))),
        leaf("a<b>"),
    )


def test_the_drawing_has_the_edges_of_the_graph(graph: LocatedGraph) -> None:
    edges = [(edge.source_text, edge.label, edge.target_text) for edge in flow_of(graph)]
    assert edges == [
        ("AddBackward0", "self", "MulBackward0"),
        ("AddBackward0", "other", "a<b>"),
        ("MulBackward0", "self", "a<b>"),
    ]


def test_a_box_leads_to_the_row_of_its_node(graph: LocatedGraph, tmp_path: Path) -> None:
    site, out = Site(Settings("Drawn", "core"), [], {}, {}, {}, traces=True), Output(tmp_path)
    out.begin()
    GraphPages(site, out, [graph]).write()
    out.finish()
    page = (tmp_path / "graphs/1.html").read_text(encoding="utf-8")
    links = re.findall(r'<a href="#(n\d)"><rect', page)
    assert sorted(links) == ["n0", "n1", "n2"]
    assert sorted(re.findall(r'<tr id="(n\d)"', page)) == ["n0", "n1", "n2"]
    assert "a&lt;b&gt;" in page
    assert "<b>" not in page
    assert "ptexplore graph &#39;f(a &lt; b)&#39;" in page


def test_a_graph_with_too_many_edges_has_no_drawing() -> None:
    many = located(*(AutogradNode(f"Node{n}", (GradientEdge(n + 1),)) for n in range(41)), leaf("a"))
    assert len(flow_of(many)) == 41
    assert chart(flow_of(many), {}) == ""
    assert chart((), {}) == ""


def test_the_page_of_tensors_has_their_cells(tmp_path: Path) -> None:
    seen = SeenTensor(
        "a<b>", "Tensor", 0, "float32", "cpu", "strided", 4, (2, 2), (1, 2), 1, 0, (), is_conj=False, is_neg=False,
        is_nested=False, requires_grad=False, is_leaf=True,
    )  # fmt: skip
    block = MemoryBlock((0,), 20, "cpu", True, 4, ("float32",), (PlacedTensor(0, (2, 2), (1, 2), 1),))
    layouts = TensorLayouts("2.13.0", (block,), (ConcludedTensor(seen, ()),), ())
    site, out = Site(Settings("Drawn", "core"), [], {}, {}, {}, traces=True), Output(tmp_path)
    out.begin()
    pages = TensorPages(site, out, [("f(a < b)", layouts)])
    pages.write()
    out.finish()
    page = (tmp_path / pages.listed()[0][1]).read_text(encoding="utf-8")
    assert re.findall(r"<td[^>]*>([^<]*)</td>", page.partition("</figure>")[0]) == ["", "0,0", "1,0", "0,1", "1,1"]
    assert "a&lt;b&gt;" in page
    assert "<b>" not in page
    assert "ptexplore tensor &#39;f(a &lt; b)&#39;" in page
