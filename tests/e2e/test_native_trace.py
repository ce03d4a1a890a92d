"""`ptexplore trace` with its native pass: what ran is observed, nested as the machine called it, with its source."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from tests.e2e.conftest import BACKWARD, save_whole
from tests.harness import THOROUGH, InProcess, Result, made_once, nested, result_once
from tests.torch_says import torch_says

pytestmark = pytest.mark.e2e

Hop = dict[str, Any]


Trace = Callable[..., Result]


@pytest.fixture
def trace(command: InProcess, tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """Make a trace, each once; skip where nothing can be stepped here."""
    return tracing(command, tmp_path_factory)


@pytest.fixture
def compiler_trace(compiler_command: InProcess, tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """The same for what imports torch's compiler."""
    return tracing(compiler_command, tmp_path_factory)


def tracing(command: InProcess, folders: pytest.TempPathFactory) -> Trace:
    def run(*arguments: str, again: bool = False) -> Result:
        asked = ("trace", *arguments, "--json")
        result = command(*asked) if again else result_once(folders, command, *asked)
        captured = result.data["captured"]
        if not captured["native"]:
            assert captured["reason"], "no native pass, and no reason"
            pytest.skip(f"nothing is stepped here: {captured['reason']}")
        return result

    return run


def path_to(hops: list[Hop], wanted: str, above: tuple[Hop, ...] = ()) -> tuple[Hop, ...] | None:
    """The hops from the top down to the first whose name ends with `wanted`."""
    for hop in hops:
        here = (*above, hop)
        found = here if hop["name"].endswith(wanted) else path_to(hop["children"], wanted, here)
        if found is not None:
            return found
    return None


def in_order(path: tuple[Hop, ...], names: list[str]) -> list[Hop]:
    """The hops of those name endings, each further down than the one before."""
    found: list[Hop] = []
    left = iter(path)
    for name in names:
        hop = next((one for one in left if one["name"].endswith(name)), None)
        assert hop is not None, f"{name} is not below {[h['name'] for h in found]}: {[h['name'] for h in path]}"
        found.append(hop)
    return found


@pytest.mark.parametrize("made, attribute", [("x.exp()", "_saved_result"), ("x.cumsum(0)", "_saved_dim")])
def test_a_getter_that_the_compiler_folded_is_no_getter_of_another_node(
    trace: Trace, command: InProcess, made: str, attribute: str
) -> None:
    """Getters of saved values are the same code where these lie at the same offset. Torch says which node it is."""
    setup = f"x = torch.randn(3, requires_grad=True); y = {made}"
    asked = (f"y.grad_fn.{attribute}", "--setup", setup)
    node = torch_says(f"x = torch.ones(3, requires_grad=True); print(json.dumps(type({made}.grad_fn).__name__))")
    getters = [hop for hop in trace(*asked).hops if hop["name"].endswith("_getter")]
    mine = [hop for hop in getters if f"::THP{node}_" in hop["name"]]
    others = [hop for hop in getters if hop not in mine]
    getter = mine[0]["native"]["symbol"]
    assert len(mine) == 1
    assert all(hop["native"]["folded"] and getter in hop["native"]["alike"] for hop in others)
    assert all(hop["source"]["precision"] in ("ambiguous", "unknown") for hop in others)
    for view in ((), ("--view", "tree")):
        shown = set(re.findall(r"THP\w+_getter", command("trace", *asked, *view).out))
        assert shown == {f"THP{node}{attribute.removeprefix('_saved')}_getter"}, view


def test_an_addition_down_to_its_loop(trace: Trace) -> None:
    result = trace("torch.add(a, b)", "--grad")
    path = path_to(result.tree, "VectorizedLoop2d::operator()")
    assert path is not None, result
    names = [
        "THPVariable_add", "aten::add.Tensor", "AutogradCPU", "wrap_kernel_functor_unboxed_::call",
        "VariableType::add_Tensor", "at::_ops::add_Tensor::redispatch", "CPU", "wrap_kernel_functor_unboxed_::call",
        "wrapper_CPU_add_Tensor", "structured_ufunc_add_CPU::impl", "add_stub", "add_kernel",
        "TensorIteratorBase::for_each", "callback_fn", "VectorizedLoop2d::operator()",
    ]  # fmt: skip
    for hop in in_order(path, names):
        assert hop["status"] == ("inlined" if hop["name"].endswith(("add_stub", "operator()")) else "observed"), hop
        assert hop["evidence"], hop
        ran = hop["kind"] != "key" and hop["status"] == "observed"
        assert (hop["instructions"] is not None) is ran, hop
    meta = path_to(result.tree, "TensorIteratorBase::build")
    assert meta is not None, result
    in_order(meta, ["wrapper_CPU_add_Tensor", "structured_add_Tensor::meta", "TensorIteratorBase::build"])
    assert not result.data["findings"], result.data["findings"]


def test_keys_are_what_the_registers_held(trace: Trace) -> None:
    hops = trace("torch.add(a, b)", "--grad").hops
    keys = [hop for hop in hops if hop["kind"] == "key"]
    assert [hop["name"] for hop in keys] == ["AutogradCPU", "CPU"]
    for hop in keys:
        assert hop["dispatch"]["observed_raw"] == hop["dispatch"]["raw"]
        assert int(hop["dispatch"]["observed_raw"], 16)
        assert hop["dispatch"]["set"].split(", ")[0] == hop["name"]
    assert int(keys[0]["dispatch"]["raw"], 16) > int(keys[1]["dispatch"]["raw"], 16)


def test_the_machines_nesting_adds_up(trace: Trace) -> None:
    """No call runs more instructions inside the calls it makes than it runs itself."""
    for hop in trace("torch.softmax(a, 0)", "--grad").hops:
        if hop["instructions"] is None:
            continue
        pending, inside = list(hop["children"]), 0
        while pending:
            below = pending.pop()
            if below["instructions"] is None:
                pending += below["children"]
            else:
                inside += below["instructions"]
        assert inside <= hop["instructions"], hop["name"]
        if hop["native"] is not None:
            assert hop["native"]["own"] <= hop["instructions"] - inside + 1, hop["name"]


CASES = {
    "in-place": (("a.add_(b)",), {"aten::add_.Tensor": ["AutogradCPU", "ADInplaceOrView", "CPU"]}),
    "view": (("a.view(9)", "--grad"), {"aten::view": ["AutogradCPU", "ADInplaceOrView", "CPU"]}),
    "syntax": (("a + b",), {"aten::add.Tensor": ["AutogradCPU", "CPU"]}),
    "factory": (("torch.zeros(3)",), {"aten::zeros": ["BackendSelect", "CPU"], "aten::zero_": ["CPU"]}),
    "composite": (("torch.matmul(a, b)",), {"aten::matmul": ["AutogradCPU"], "aten::mm": ["AutogradCPU", "CPU"]}),
    "inference": (("torch.add(a, b)", "--with", "torch.inference_mode()"), {"aten::add.Tensor": ["CPU"]}),
    "autocast": (("torch.mm(a, b)", "--with", "torch.autocast('cpu')"), {"aten::mm": ["AutocastCPU"]}),
    "sparse": (
        ("torch.add(s, s)", "--var", "s=torch.eye(3).to_sparse()"),
        {"aten::add.Tensor": ["AutogradCPU", "SparseCPU"]},
    ),
}


@pytest.mark.parametrize("case", sorted(CASES))
def test_the_keys_that_a_call_went_through(trace: Trace, case: str) -> None:
    arguments, wanted = CASES[case]
    hops = trace(*arguments).hops
    for op, keys in wanted.items():
        call = next(hop for hop in hops if hop["kind"] == "op" and hop["op"] == op)
        assert call["instructions"], call
        chain, pending = [], list(call["children"])
        while pending:
            hop = pending.pop(0)
            if hop["kind"] == "op":
                continue
            if hop["kind"] == "key":
                chain.append(hop["name"])
                assert hop["status"] == "observed", hop
            pending = hop["children"] + pending
        assert chain == keys, (op, chain)


MADE_IN_INFERENCE = """\
with torch.inference_mode():
    i, w, o = torch.tensor([0, 1, 2, 1]), torch.randn(4, 3), torch.tensor([0, 2])
"""


PREDICTED: list[tuple[tuple[str, ...], set[str]]] = [
    # no derivative is known; tensors of Python's values, by the guard of torch/csrc/utils/tensor_new.cpp
    (
        ("torch.bincount(i), torch.tensor([1.0]), a[[0, 2]]", "--var", "i=torch.arange(3)"),
        {"aten::bincount", "aten::min", "aten::lift_fresh"},
    ),
    # no transform sees the plain tensor that is made of Python's values
    (("torch.vmap(f)(a)", "--setup", "def f(x): return x + torch.tensor(1.)"), {"aten::lift_fresh", "aten::to.device"}),
    # what is made of a NumPy array is lifted where no guard is held
    (("torch.from_numpy(n)", "--setup", "n = np.ones(3)"), {"aten::lift_fresh"}),
    # a conjugate view on the way; a layout that no record tells
    (("torch.fft.hfft(a), a.to_sparse()",), {"aten::_fft_c2r", "aten::sparse_coo_tensor.indices_size"}),
    # what is written over is saved before the guard; views of conjugate views in the backward
    (("a.mul(2).clamp_min_(0).sum()", "--backward"), {"aten::clamp_min_", "aten::clone"}),
    # an undefined tensor brings AutogradOther, which decides where no other tensor has autograd's keys
    (("torch.embedding_bag(w, i, o)", "--setup", MADE_IN_INFERENCE), {"aten::_embedding_bag_forward_only"}),
    # what is made in inference mode has no keys of autograd
    (
        ("torch.cov(a).t().add_(1)", "--with", "torch.inference_mode()"),
        {"aten::cov", "aten::t", "aten::add_.Tensor"},
    ),
]
THOROUGHLY: list[tuple[tuple[str, ...], set[str]]] = [
    (("torch.polar(a, b).abs().sum()", "--backward"), {"aten::polar", "aten::_conj", "aten::sgn"}),
]


@pytest.mark.parametrize(("arguments", "ops"), PREDICTED + (THOROUGHLY if THOROUGH else []))
def test_what_was_predicted_is_what_ran(compiler_trace: Trace, arguments: tuple[str, ...], ops: set[str]) -> None:
    result = compiler_trace(*arguments)
    assert not [one["text"] for one in result.data["findings"] if one["kind"] == "prediction-differs"]
    assert ops <= {hop["op"] for hop in result.hops if hop["kind"] == "op"}


OF_LONG = ("aten::add.Tensor", "aten::mul.Tensor", "aten::matmul")


def test_what_python_takes_all_the_time_of_is_stepped_at_its_operator(trace: Trace) -> None:
    """Python's own work uses up the time that stepping may take: the operator call alone is stepped then."""
    result = trace("[sum(range(9000)), torch.add(a, b)][1]", "--timeout", "20")
    kernel = path_to(result.tree, "add_kernel")
    assert kernel is not None, result.data["findings"]
    assert kernel[-1]["status"] == "observed", kernel[-1]
    assert not [one for one in result.data["findings"] if one["kind"] == "cut"], result.data["findings"]


def test_of_a_long_expression_one_call_of_each_kind_is_stepped(trace: Trace) -> None:
    """Python's work is over the limit: the calls of the operators are stepped in one run, and the later add is not."""
    result = trace("[sum(range(9000)), torch.add(a, b), torch.mul(a, b) @ a, torch.add(b, a)][1]")
    outermost = [hop for hop in result.hops if hop["kind"] == "op" and hop["op"] in OF_LONG]
    told = {op: [hop["instructions"] is not None for hop in outermost if hop["op"] == op] for op in OF_LONG}
    assert told == {"aten::add.Tensor": [True, False], "aten::mul.Tensor": [True], "aten::matmul": [True]} or told == {
        "aten::add.Tensor": [False, True], "aten::mul.Tensor": [True], "aten::matmul": [True],
    }, "of two equal calls the one that took longer"  # fmt: skip
    names = {hop["name"] for hop in result.hops if hop["status"] == "observed"}
    assert any("add_kernel" in name for name in names)
    assert any("mul_kernel" in name for name in names)


def test_a_function_transform_goes_through_boxed_kernels(compiler_trace: Trace) -> None:
    hops = compiler_trace("torch.vmap(torch.add)(a, b)", "--native-op", "add.Tensor").hops
    observed = [hop["name"] for hop in hops if hop["kind"] == "key" and hop["status"] == "observed"]
    layers = ["FuncTorchDynamicLayerFrontMode", "FuncTorchBatched", "FuncTorchDynamicLayerBackMode"]
    assert observed == [*layers, "AutogradCPU", "CPU"]
    assert sum(hop["kind"] == "op" for hop in hops) == 4, "one of each layer, those called boxed too"


def test_an_operator_of_the_users_own(trace: Trace) -> None:
    setup = (
        "lib = torch.library.Library('mine', 'FRAGMENT')\n"
        "if not hasattr(torch.ops.mine, 'foo'):\n"
        "    lib.define('foo(Tensor x) -> Tensor')\n"
        "    lib.impl('foo', lambda x: torch.add(x, 1), 'CPU')"
    )
    result = trace("torch.ops.mine.foo(a)", "--setup", setup)
    path = path_to(result.tree, "aten::add.Tensor")
    assert path is not None, result
    own, key, inner = in_order(path, ["mine::foo", "CPU", "aten::add.Tensor"])
    assert all(hop["status"] == "observed" and hop["evidence"] for hop in (own, key, inner))
    assert own["instructions"] > inner["instructions"]


def test_backward_runs_nodes(command: InProcess, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = made_once(tmp_path_factory, "backward.json", partial(save_whole, command, BACKWARD))
    hops = nested(json.loads(file.read_text(encoding="utf-8"))["hops"])
    nodes = [hop for hop in hops if hop["kind"] == "node" and hop["phase"] == "backward"]
    assert [hop["name"].rsplit("::", 2)[-2] for hop in nodes[:2]] == ["SumBackward0", "MulBackward0"]
    for hop in nodes:
        assert hop["status"] == "observed", hop
        assert hop["instructions"], hop
    path = path_to([hop for hop in hops if hop["parent"] is None], "MulBackward0::apply")
    assert path is not None
    in_order(path, ["Engine::execute", "Engine::evaluate_function", "MulBackward0::apply"])


def test_two_runs_run_the_same_functions_of_torch(trace: Trace) -> None:
    """With the same numbers, too: `--explain N` traces again."""

    def ran(*, again: bool) -> list[tuple[int, str]]:
        hops = trace("torch.softmax(a, 0)", "--grad", again=again).hops
        return [(hop["id"], hop["name"]) for hop in hops if hop["kind"] != "closed"]

    assert ran(again=False) == ran(again=True)


def test_names_are_short_and_whole_names_are_kept(trace: Trace) -> None:
    hops = trace("torch.softmax(a, 0)", "--grad").hops
    for hop in hops:
        if hop["kind"] in ("native", "closed") and hop["native"] and hop["native"]["mangled"]:
            assert not re.search(r"_Z\w+|\(anonymous|<[\w:]+>(?!\()", hop["name"]), hop["name"]
            assert hop["native"]["library"], hop
        if hop["kind"] == "closed":
            assert hop["source"]["precision"] == "unknown", hop
            assert hop["source"]["reason"], hop


def test_without_it_nothing_is_observed_natively(command: InProcess) -> None:
    data = command("trace", "torch.add(a, b)", "--no-native", "--json").data
    assert not data["captured"]["native"]
    assert all(hop["instructions"] is None for hop in data["hops"])
    assert {hop["status"] for hop in data["hops"] if hop["kind"] == "key"} == {"derived"}


def test_generated_functions_that_two_files_define(trace: Trace) -> None:
    """Of torch and of Tensor: `map` calls them, and nothing but the machine code sees that."""
    hops = trace("list(map(torch.is_complex, [a])), list(map(torch.Tensor.sum, [a]))").hops
    sources = {hop["name"]: hop["source"] for hop in hops if hop["kind"] == "native"}
    told = sources["torch::autograd::THPVariable_is_complex"]
    assert told["precision"] == "located", "the two of that name take two and three parameters"
    assert told["path"].startswith("torch/csrc/autograd/generated/python_torch_functions_")
    method = sources["torch::autograd::THPVariable_sum"]
    assert method["precision"] == "located", "the two of that name take as many: the symbols' files tell"
    assert method["path"] == "torch/csrc/autograd/generated/python_variable_methods.cpp"
