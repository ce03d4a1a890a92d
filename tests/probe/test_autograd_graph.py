"""The graph that is read, against torch: edges walked by the test itself, bytes counted by hooks in another run."""

from __future__ import annotations

import hashlib
import importlib
import itertools
import math
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")
autograd_graph = importlib.import_module("ptexplore.probe.autograd_graph")
api = importlib.import_module("ptexplore.probe.torch_api")
expression = importlib.import_module("ptexplore.probe.expression")
F, nn = torch.nn.functional, torch.nn
pytestmark = pytest.mark.filterwarnings("ignore")  # of deprecated operators
READS_SAVED = api.tells_saved_unread()
OPERATORS = 300  # of OpInfo's, as many as have a sample that records a graph
MOST_SAMPLES = 2


class Holder:
    """What a hook packs a tensor to. It lives as long as the node that keeps it."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor


def read(value: Any) -> dict[str, Any]:
    return dict(autograd_graph.GraphReader(value).data())


def walked(value: Any) -> set[tuple[Any, ...]]:
    """Every edge behind a value, walked here: names and sequence numbers of both nodes, the edge, the input."""
    edges, seen = set(), set()
    pending = [t.grad_fn for t in autograd_graph.tensors(value) if t.requires_grad and t.grad_fn is not None]
    while pending:
        node = pending.pop()
        if node in seen:
            continue
        seen.add(node)
        for number, (following, into) in enumerate(node.next_functions):
            if following is not None:
                edges.add((node.name(), node._sequence_nr(), following.name(), following._sequence_nr(), number, into))
                pending.append(following)
    return edges


def edges_of(value: Any) -> set[tuple[Any, ...]]:
    """The same of the graph that is read."""
    reader = autograd_graph.GraphReader(value)
    nodes, edges = reader.data()["nodes"], set()
    for node, held in zip(nodes, reader.nodes, strict=True):
        for number, edge in enumerate(node["edges"]):
            if edge["node"] is not None:
                target = reader.nodes[edge["node"]]
                numbers = held._sequence_nr(), target._sequence_nr()
                edges.add((node["name"], numbers[0], target.name(), numbers[1], number, edge["input"]))
    return edges


def counted_by_hooks(run: Callable[[], Any]) -> int | None:
    """The bytes of all storages that hooks on saved tensors see and that the graph keeps; None if one is not plain."""
    packed: list[weakref.ref[Holder]] = []

    def pack(tensor: Any) -> Holder:
        holder = Holder(tensor)
        packed.append(weakref.ref(holder))
        return holder

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda holder: holder.tensor):
        value = run()
    storages = {}
    for reference in packed:
        holder = reference()
        if holder is not None:
            if holder.tensor.layout is not torch.strided or type(holder.tensor) not in (torch.Tensor, nn.Parameter):
                return None
            storage = holder.tensor.untyped_storage()
            storages[storage._cdata] = storage.nbytes()
    del value
    return sum(storages.values())


def kept(graph: dict[str, Any]) -> int:
    """The bytes of all storages of saved tensors that are no Python numbers."""
    values = [value for node in graph["nodes"] for value in node.get("saved", ()) if not value.get("is_number")]
    return sum(graph["storages"][number]["bytes"] for number in {n for value in values for n in value["storages"]})


def is_whole(graph: dict[str, Any]) -> bool:
    """Whether all nodes say what they saved."""
    return not any(node.get("silent") for node in graph["nodes"])


def differentiated(sample: Any) -> Any:
    """A sample whose floating-point tensors are leaves that require grad."""
    return sample.transform(
        lambda v: v.detach().clone().requires_grad_() if isinstance(v, torch.Tensor) and v.is_floating_point() else v
    )


def samples() -> Iterator[tuple[str, Callable[[], Any]]]:
    """OpInfo's smallest samples: a name, and the run of one."""
    database = pytest.importorskip("torch.testing._internal.common_methods_invocations", exc_type=ImportError)
    for op in database.op_db:
        if not op.supports_autograd or torch.float32 not in op.supported_backward_dtypes("cpu"):
            continue
        try:
            drawn = list(itertools.islice(op.sample_inputs("cpu", torch.float32, requires_grad=False), MOST_SAMPLES))
        except Exception:
            continue
        for number, sample in enumerate(drawn):

            def run(op: Any = op, sample: Any = sample) -> Any:
                torch.manual_seed(0)
                given = differentiated(sample)
                return op(given.input, *given.args, **given.kwargs)

            yield f"{op.formatted_name}#{number}", run


def test_the_graphs_of_pytorchs_own_samples() -> None:
    compared, differs, counted = 0, [], 0
    for name, run in samples():
        if compared == OPERATORS:
            break
        try:
            value = run()
        except Exception:
            continue
        if not any(t.requires_grad for t in autograd_graph.tensors(value)):
            continue
        graph = read(value)
        compared += 1
        if edges_of(value) != walked(value):
            differs.append((name, "edges"))
        if not READS_SAVED or not is_whole(graph):
            continue
        wanted, found = counted_by_hooks(run), kept(graph)
        if wanted is not None:
            counted += 1
            if wanted != found:
                differs.append((name, f"{found} bytes, hooks count {wanted}"))
    assert differs == []
    assert compared == OPERATORS
    assert not READS_SAVED or counted > OPERATORS * 0.8


class Residual(nn.Module):
    """A block with a residual connection."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.norm, self.lin = nn.LayerNorm(size), nn.Linear(size, size)

    def forward(self, x: Any) -> Any:
        return x + F.gelu(self.lin(self.norm(x)))


def models() -> dict[str, tuple[Any, Any]]:
    torch.manual_seed(0)
    attention = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    return {
        "mlp": (nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)), torch.randn(3, 4)),
        "convolutions": (
            nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()),
            torch.randn(2, 3, 8, 8),
        ),
        "residual": (nn.Sequential(*(Residual(8) for _ in range(4))), torch.randn(2, 8)),
        "attention": (attention, torch.randn(2, 5, 8)),
        "recurrent": (nn.LSTM(4, 6, batch_first=True), torch.randn(2, 3, 4)),
        "tied": (nn.Sequential(*[nn.Linear(4, 4)] * 3), torch.randn(2, 4)),
    }


@pytest.mark.parametrize("name", models())
def test_the_graphs_of_models(name: str) -> None:
    def run() -> Any:
        model, given = models()[name]
        return model.train()(given)

    value = run()
    graph = read(value)
    assert edges_of(value) == walked(value)
    if READS_SAVED:
        assert is_whole(graph)
        torch.manual_seed(0)
        assert kept(graph) == counted_by_hooks(run)


def state(tensors: list[Any]) -> list[Any]:
    return [
        (t._version, t.grad is None, t.requires_grad, dict(t._backward_hooks or {}), sys.getrefcount(t), digest(t))
        for t in tensors
    ]


def digest(tensor: Any) -> str:
    return hashlib.sha256(tensor.detach().numpy().tobytes()).hexdigest()


@pytest.mark.parametrize("name", models())
def test_reading_changes_nothing(name: str) -> None:
    def gradients(*, reads: bool) -> list[str]:
        model, given = models()[name]
        given.requires_grad_()
        value = model(given)
        loss = sum(t.sum() for t in autograd_graph.tensors(value))
        held = [*model.parameters(), given]
        for tensor in held:
            tensor.register_hook(lambda gradient: gradient * 2)
        random = torch.get_rng_state()
        before = state(held)
        if reads:
            read(loss)
        assert state(held) == before
        assert torch.equal(torch.get_rng_state(), random)
        loss.backward()
        return [digest(tensor.grad) for tensor in held]

    assert gradients(reads=True) == gradients(reads=False)


needs_saved = pytest.mark.skipif(not READS_SAVED, reason="this torch does not say what a node saved")


def node(graph: dict[str, Any], name: str) -> dict[str, Any]:
    return next(n for n in graph["nodes"] if n["name"] == name)


@needs_saved
def test_a_saved_tensor_that_was_written_to_has_both_versions() -> None:
    a = torch.ones(3, requires_grad=True)
    b = a.exp()
    value = b * b
    b.add_(1)
    saved = {v["name"]: (v["saved_version"], v["version"]) for v in node(read(value), "MulBackward0")["saved"]}
    assert saved == {"self": (0, 1), "other": (0, 1)}
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        value.sum().backward()


@needs_saved
def test_numbers_packed_and_freed_tensors() -> None:
    a = torch.ones(3, requires_grad=True)
    scaled = read((a * 2.0).sum())
    assert [v["is_number"] for v in node(scaled, "MulBackward0")["saved"]] == [True]
    assert not any(v["is_number"] for n in read(a * torch.tensor(2.0))["nodes"] for v in n.get("saved", ()))
    calls = []

    def unpack(packed: Any) -> Any:
        calls.append(packed)
        return packed[0]

    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: (tensor,), unpack):
        value = a.exp().sum()
    (packed,) = node(read(value), "ExpBackward0")["saved"]
    assert (packed["kept"], packed["type"], calls) == ("packed", "tuple", [])
    assert packed["hook"].endswith("unpack")
    loss = (a.exp() * a).sum()
    loss.backward()
    assert {v["kept"] for n in read(loss)["nodes"] for v in n.get("saved", ())} == {"freed"}


@needs_saved
def test_a_storage_counts_once_and_has_the_names_of_who_holds_it() -> None:
    names = autograd_graph.NamedTensors()
    w, x = torch.ones(4, 4, requires_grad=True), torch.ones(2, 4)
    names.add("w", w)
    names.add("x", x)
    y = x @ w.t()
    value = y.exp() * y
    data = autograd_graph.GraphReader(value, names).data()
    held = [(storage["bytes"], sorted(set(map(tuple, storage["holders"])))) for storage in data["storages"]]
    assert sorted(held) == [(32, []), (32, []), (32, [("name", "x")])]
    mm = node(data, "MmBackward0")
    assert [v["name"] for v in mm["saved"]] == ["self"]  # x needs no gradient, so w is not kept


def test_leaves_hooks_and_functions() -> None:
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient * 2

    names = autograd_graph.NamedTensors()
    a = torch.ones(3, requires_grad=True)
    names.add("a", a)
    a.register_hook(math.sqrt)
    a.register_post_accumulate_grad_hook(print)
    data = autograd_graph.GraphReader(Double.apply(a), names).data()
    double, leaf = data["nodes"]
    assert double["name"] == "DoubleBackward"
    assert double["python"] == (__file__, Double.backward.__code__.co_firstlineno + 1)
    assert leaf["leaf"]["names"] == ["a"]
    assert leaf["leaf"]["hooks"] == [
        {"kind": "gradient", "function": "sqrt"},
        {"kind": "accumulated", "function": "print"},
    ]


def test_writes_through_a_view() -> None:
    a = torch.ones(4, requires_grad=True)
    b = a.clone()
    b[:2].mul_(2)
    graph = read(b)
    slices, clone, leaf = graph["nodes"]
    assert slices["name"].endswith("CopySlices")
    assert [edge["node"] for edge in slices["edges"]] == [1, None]
    assert slices["silent"]
    assert (clone["name"], leaf["name"].rpartition("::")[2]) == ("CloneBackward0", "AccumulateGrad")


def test_a_leaf_a_tensor_without_gradient_and_no_tensor() -> None:
    leaf = read(torch.ones(2, requires_grad=True))
    assert [n["name"].rpartition("::")[2] for n in leaf["nodes"]] == ["AccumulateGrad"]
    assert read(torch.ones(2))["nodes"] == []
    with pytest.raises(expression.Refused):
        read({"a": 1})


def test_a_graph_of_many_nodes_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(autograd_graph, "MOST_NODES", 50)
    x = torch.ones(2, requires_grad=True)
    y = x
    for _ in range(200):
        y = y.sin()
    graph = read(y)
    assert (len(graph["nodes"]), graph["cut"]) == (50, True)
    assert [edge["unread"] for edge in graph["nodes"][-1]["edges"]] == [True]
    assert not any(edge["unread"] for n in graph["nodes"][:-1] for edge in n["edges"])


def test_the_code_that_made_a_node() -> None:
    values: dict[str, Any] = {"torch": torch, "m": nn.Sequential(nn.Linear(3, 3), Residual(3))}
    text = "(m(torch.ones(2, 3)) * 2).sum()"
    notes = autograd_graph.Notes(text)
    notes.name_modules(values)
    before = sys.modules["torch.fx.traceback"].format_stack, torch.is_anomaly_enabled()
    with api.noting_nodes(notes.note):
        value = eval(compile(text, autograd_graph.EXPRESSION, "eval"), values)
    assert (sys.modules["torch.fx.traceback"].format_stack, torch.is_anomaly_enabled()) == before
    reader = autograd_graph.GraphReader(value)
    made = {n.name(): notes.made(n) for n in reader.nodes}
    if sys.version_info >= (3, 11):
        assert made["MulBackward0"]["text"] == "m(torch.ones(2, 3)) * 2"
        assert made["SumBackward0"]["text"] == text
    gelu = made["GeluBackward0"]
    assert (gelu["file"], gelu["function"], gelu["module"]) == (__file__, "forward", "m.1")
    assert gelu["text"] == "return x + F.gelu(self.lin(self.norm(x)))"
    assert (made["NativeLayerNormBackward0"]["module"]) == "m.1.norm"
    assert made["torch::autograd::AccumulateGrad"] is None
