"""The screen of a graph, from records: whose bytes are counted where, what a row says, what is folded."""

from __future__ import annotations

from ptexplore.model.autograd_graph import (
    AutogradGraph,
    AutogradNode,
    GradientEdge,
    GraphLeaf,
    GraphResult,
    GraphSession,
    KeptStorage,
    KeptValue,
    LocatedGraph,
    NamedTensor,
    NodeMadeAt,
    NodeSource,
)
from ptexplore.model.gradient_reasons import GradientReason, why_gradient
from ptexplore.model.place_reasons import NotLookedUp
from ptexplore.model.places import SourceRef
from ptexplore.model.trace import ResultInfo, TorchInfo
from ptexplore.view.graph.page import GraphOptions, GraphView, graph_view, shortened
from ptexplore.view.words import graph as says

NOWHERE = SourceRef(path=None, line=None, layer=None, precision="unknown", reason=NotLookedUp())
ACCUMULATE = "torch::autograd::AccumulateGrad"


def leaf(*names: str) -> AutogradNode:
    return AutogradNode(ACCUMULATE, leaf=GraphLeaf(names, (3,), "float32", "cpu"))


def node(
    name: str, *targets: int | None, sequence: int = 0, saved: tuple[KeptValue, ...] = (), module: str = ""
) -> AutogradNode:
    made = NodeMadeAt("<expression>", 1, 0, 4, "<module>", name.lower(), module)
    return AutogradNode(name, tuple(GradientEdge(t) for t in targets), sequence, saved, made=made)


def view(
    nodes: tuple[AutogradNode, ...],
    storages: tuple[KeptStorage, ...] = (),
    tensors: tuple[NamedTensor, ...] = (),
    options: GraphOptions = GraphOptions(),  # noqa: B008
    *,
    reads_saved: bool = True,
) -> GraphView:
    result = GraphResult("Tensor[] float32 cpu requires_grad", 0, needs_grad=True)
    graph = AutogradGraph((result,), nodes, storages, tensors, reads_saved=reads_saved)
    session = GraphSession("f(a)", TorchInfo("2.6.0"), (), ResultInfo("Tensor", result.description), graph)
    return graph_view(LocatedGraph(session, (NodeSource(NOWHERE),) * len(nodes), ()), options)


def kept_text(form: str, name: str, **more: str) -> str:
    """What a row says of a saved tensor."""
    return says.SAVED[form].format(name=name, sizes="[3]", **more)


def kept(name: str, *storages: int, **more: object) -> KeptValue:
    return KeptValue(name, sizes=(3,), dtype="float32", device="cpu", storages=storages, **more)  # type: ignore[arg-type]


def test_a_storage_counts_at_the_node_that_was_made_first() -> None:
    nodes = (
        node("MulBackward0", 1, sequence=2, saved=(kept("self", 0), kept("other", 1))),
        node("ExpBackward0", 2, sequence=1, saved=(kept("result", 0),)),
        leaf("a"),
    )
    storages = (KeptStorage(12), KeptStorage(40, (("name", "x"),)))
    shown = view(nodes, storages)
    assert shown.facts[0] == "2 nodes, 1 leaf; keeps 12 B until backward and shares 40 B with x"
    assert [(row.kept, row.keeps) for row in shown.rows] == [
        ("", f"{kept_text('counted', 'self', node='ExpBackward0')}, {kept_text('held', 'other', holder='x')}"),
        ("12 B", kept_text("alone", "result")),
        ("", "leaf [3]"),
    ]


def test_numbers_packed_changed_and_freed() -> None:
    saved = (
        kept("other", is_number=True),
        KeptValue("self", "packed", "tuple", hook="unpack"),
        kept("result", 0, version=2, saved_version=1),
        KeptValue("mask", "freed"),
    )
    shown = view((node("XBackward0", 1, saved=saved), leaf("a")), (KeptStorage(12),))
    changed = says.SAVED["changed"].format(saved=kept_text("alone", "result"), before=1, now=2)
    numbers, packed = kept_text("number", "other"), kept_text("packed", "self", hook="unpack")
    assert shown.rows[0].keeps == f"{numbers}, {packed}, {changed}, {kept_text('freed', 'mask')}"
    assert shown.facts[1:4] == tuple(says.UNCOUNTED[kind][0] for kind in ("packed", "numbers", "freed"))


def test_a_torch_that_cannot_say_says_so() -> None:
    shown = view((node("XBackward0", 1), leaf("a")), reads_saved=False)
    assert "torch 2.6.0 cannot say what nodes keep" in shown.facts[0]


def test_rounds_are_one_and_their_bytes_are_summed() -> None:
    blocks = [
        part
        for number in range(3)
        for part in (
            node("MulBackward0", 2 * number + 1, 2 * number + 2, saved=(kept("self", number),), module=f"m.{number}"),
            leaf(f"m.{number}.weight"),
        )
    ]
    nodes = (*blocks, node("CloneBackward0", 7), leaf("a"))
    storages = tuple(KeptStorage(100) for _ in range(3))
    shown = view(nodes, storages)
    assert [(row.name, row.made, row.kept) for row in shown.rows[:2]] == [
        ("×3", "m.0 … m.2", "300 B"),
        ("MulBackward0", "m.0", "100 B"),
    ]
    assert len(view(nodes, storages, options=GraphOptions(full=True)).rows) == 8
    assert [row.name for row in view(nodes, storages, options=GraphOptions(only="m.1.w")).rows] == ["0: m.1.weight"]


def test_leaves_that_are_not_reached_are_listed() -> None:
    tensors = (
        NamedTensor("a", "Tensor", needs_grad=True, node=1),
        NamedTensor("b", "Tensor", needs_grad=True),
        NamedTensor("c", "Tensor"),
    )
    assert view((node("XBackward0", 1), leaf("a")), tensors=tensors).facts[-2] == "no gradient from here: b"


def test_why() -> None:
    result = GraphResult("Tensor", 0, needs_grad=True)
    graph = AutogradGraph((result,), (), ())
    no_graph = AutogradGraph((GraphResult("Tensor"),), (), ())
    cut = AutogradGraph((result,), (), (), cut=True)
    wanted: dict[GradientReason, tuple[AutogradGraph, NamedTensor]] = {
        "dtype": (graph, NamedTensor("i", "", differentiable=False)),
        "no-grad": (graph, NamedTensor("i", "")),
        "inference": (graph, NamedTensor("i", "", inference=True)),
        "no-graph": (no_graph, NamedTensor("i", "", needs_grad=True)),
        "unknown": (cut, NamedTensor("i", "", needs_grad=True)),
        "unreached": (graph, NamedTensor("i", "", needs_grad=True)),
        "detached": (graph, NamedTensor("i", "", needs_grad=True, detached=NodeMadeAt("f.py", 3))),
        "reached": (graph, NamedTensor("i", "", needs_grad=True, node=1)),
        "has-grad": (graph, NamedTensor("i", "", needs_grad=True, node=1, has_grad=True)),
        "no-leaf": (graph, NamedTensor("i", "", is_leaf=False, needs_grad=True, node=1)),
        "no-leaf-unreached": (graph, NamedTensor("i", "", is_leaf=False, needs_grad=True)),
        "retained": (graph, NamedTensor("i", "", is_leaf=False, needs_grad=True, node=1, retains_grad=True)),
    }
    assert {reason: why_gradient(*given) for reason, given in wanted.items()} == {reason: reason for reason in wanted}


def test_the_code_of_a_node_is_short() -> None:
    assert shortened("a * b") == "a * b"
    assert shortened("torch.nn.functional.gelu(a * b).mul(c)") == "….mul(c)"
    assert shortened("torch.nn.functional.layer_norm(x, (3, 3))") == "torch.nn.functional.layer…"
