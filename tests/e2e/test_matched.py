"""Traces into hand-written C++, with the 2.6.0 source at hand: every line checked against the text it names.

On torch 2.6.0 the source matches, and every landmark down to the CPU kernel must be `registered` or `located`; on any
other torch the same lines are `version-skew`, and nothing may say more.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.harness import KNOWN, Cli, InProcess, Result, result_once, torch_version

pytestmark = pytest.mark.e2e

MATCHED = torch_version().startswith("2.6.0")
RELEASE = "2236df1770800ffea5697b11b0bb0d910b2e59e1"
Q = "torch.randn(1, 2, 4, 8)"

# Per call: the kernels that its operators end in, by the name of the function in the text of 2.6.0.
CALLS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "add": (("torch.add(a, b)",), ("add_kernel",)),
    "mul": (("a * b",), ("mul_kernel",)),
    "mm": (("torch.mm(a, b)",), ("impl",)),
    "conv2d": (
        ("F.conv2d(x, w)", "--var", "x=torch.randn(1, 3, 8, 8)", "--var", "w=torch.randn(4, 3, 3, 3)"),
        ("convolution",),
    ),
    "sum": (("a.sum()",), ("sum_kernel_impl",)),
    "relu": (("F.relu(a)",), ("clamp_min_scalar_kernel_impl",)),
    "slice": (("a[1:]",), ("as_strided_tensorimpl", "THPVariable_getitem")),
    "view": (("a.view(-1)",), ("view",)),
    "copy": (("a.copy_(b)",), ("copy_kernel", "copy_")),
    "softmax": (("F.softmax(a, -1)",), ("softmax_lastdim_kernel_impl",)),
    "sort": (("torch.sort(a)",), ("sort_kernel",)),
    "index_put": (("a.index_put_((torch.tensor([0]),), b[0])",), ("index_put_kernel",)),
    "attention": (
        ("F.scaled_dot_product_attention(q, k, v)", *(p for n in "qkv" for p in ("--var", f"{n}={Q}"))),
        ("flash_attention_kernel_impl",),
    ),
    "backward": (("(a * b).exp()", "--backward"), ("exp_kernel", "mul_tensor_backward", "AccumulateGrad")),
}
# What no text can place: a range marked for the profiler, Python's own type, an engine's own event.
UNPLACED = ("range-marked", "range-begun", "outside-torch", "function-unseen", "in-interpreter", "boxed-by-interpreter")


@pytest.fixture(params=CALLS, ids=list(CALLS))
def traced(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    sourced_command: InProcess,
    sourced: Cli,
) -> tuple[Result, tuple[str, ...], Cli]:
    arguments, kernels = CALLS[request.param]
    asked = ("trace", *arguments, "--no-native", "--json")
    return result_once(tmp_path_factory, sourced_command, *asked, of="the source at hand"), kernels, sourced


def checkout_places(hop: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    found = [(name, hop[name]) for name in ("source", "registration") if hop.get(name)]
    return [(name, ref) for name, ref in found if ref["tree"] != "runtime" and ref["line"]]


def test_every_landmark_is_known(traced: tuple[Result, tuple[str, ...], Cli]) -> None:
    result, kernels, _ = traced
    allowed = KNOWN if MATCHED else (*KNOWN, "version-skew")
    for hop in result.hops:
        ref = hop["source"]
        if ref["precision"] not in allowed:
            assert ref["reason"]["code"] in UNPLACED, hop
        if hop["kind"] in ("key", "kernel"):
            assert (hop["registration"] or ref)["precision"] in allowed, hop
    named = {hop["name"].removesuffix("::apply").rsplit("::", 1)[-1] for hop in result.hops}
    assert set(kernels) <= named, sorted(named)


def test_lines_in_the_checkout_hold_what_they_say(traced: tuple[Result, tuple[str, ...], Cli]) -> None:
    result, _, cli = traced
    seen = 0
    for hop in result.hops:
        for name, ref in checkout_places(hop):
            line = cli.line_of(ref)
            seen += 1
            if name == "registration" or hop["kind"] == "key":
                assert re.search(r"TORCH_LIBRARY|REGISTER|\bfallback\b|^[A-Z_0-9]+\(", line), (hop, line)
                continue
            last = hop["name"].rsplit("::", 1)[-1]
            if last in ("impl", "meta"):
                stem = hop["name"].rsplit("::", 2)[-2].removeprefix("structured_").split("_", maxsplit=1)[0]
                assert re.search(rf"_FUNC2?\s*\(\s*{stem}", line), (hop, line)
            elif last != "AccumulateGrad":
                made = rf"^[A-Z_0-9]+\({re.escape(last.removesuffix('_kernel'))}\)"  # by a macro that makes kernels
                assert re.search(rf"\b{re.escape(last)}\b|{made}", line), (hop, line)
    assert seen, "nothing led into the checkout"


def test_what_a_checkouts_place_may_claim(traced: tuple[Result, tuple[str, ...], Cli]) -> None:
    result, _, _ = traced
    trees = {tree["name"]: tree for tree in result.data["trees"]}
    assert len(trees) == 2
    beyond = next(tree for name, tree in trees.items() if name != "runtime")
    assert beyond["relation"] == ("matches" if MATCHED else "version-skew")
    for hop in result.hops:
        for _, ref in checkout_places(hop):
            assert ref["tree"] in trees
            assert ref["precision"] in (KNOWN if MATCHED else ("version-skew",)), hop
            if MATCHED:
                assert ref["url"] == f"https://github.com/pytorch/pytorch/blob/{RELEASE}/{ref['path']}#L{ref['line']}"
            else:
                assert "2.6.0" in ref["reason"]["text"], ref
                assert torch_version() in ref["reason"]["text"], ref


def test_stub_and_kernel_say_how_they_are_known(sourced: Cli, sourced_command: InProcess) -> None:
    hops = sourced_command("trace", "a * b", "--no-native", "--json").hops
    stub = next(hop for hop in hops if hop["kind"] == "stub")
    kernel = next(hop for hop in hops if hop["kind"] == "native")
    assert stub["name"] == "at::native::mul_stub"
    assert stub["status"] == kernel["status"] == "predicted", "nothing saw them run"
    assert "mul_stub" in sourced.line_of(stub["stub"]["called_at"])
    assert "capability" in kernel["stub_kernel"]["cpu_capability"]
    for loop in kernel["stub_kernel"]["loops"]:
        assert loop["call"] in sourced.line_of(loop["source"])
    assert kernel["registration"]["path"].endswith("native/cpu/BinaryOpsKernel.cpp")


def test_a_stub_whose_call_hangs_on_a_condition_says_so(sourced: Cli, sourced_command: InProcess) -> None:
    """at::native::_convolution names two stubs, each below a `case` of its own; here neither runs."""
    given = ("--var", "x=torch.randn(1, 3, 8, 8)", "--var", "w=torch.randn(4, 3, 3, 3)", "--no-native")
    hops = sourced_command("trace", "F.conv2d(x, w)", *given, "--json").hops
    stubs = [hop for hop in hops if hop["kind"] == "stub" and hop["parent"] and "convolution" in hop["name"]]
    assert len(stubs) == 2
    text = sourced_command("trace", "F.conv2d(x, w)", *given, "--view", "tree").out
    for stub in stubs:
        condition = stub["stub"]["condition"]
        assert sourced.line_of(condition).lstrip().startswith("case ConvBackend::"), stub
        name = stub["name"].rsplit("::", 1)[-1]
        assert f"{name} predicted, line {condition['line']} decides" in text


def test_the_terminal_says_which_trees(sourced_command: InProcess) -> None:
    text = " ".join(sourced_command("trace", "a * b").out.replace("│", "").split())
    word = "matches" if MATCHED else "version-skew"
    assert re.search(rf"source \S+ \(2\.6\.0.*\): {word}", text), text
    assert "mul_kernel" in text
    if not MATCHED:
        assert re.search(rf"version-skew \(\S+ is 2\.6\.0\w*, torch here {re.escape(torch_version())}\)", text), text


def test_the_card_goes_down_to_the_kernels(sourced: Cli, sourced_command: InProcess) -> None:
    card = sourced_command("op", "mul.Tensor", "--json").data
    cpu = next(row for row in card["keys"] if "CPU" in row["keys"])
    stubs = [stub for target in cpu["targets"] for stub in target["stubs"]]
    assert [stub["name"] for stub in stubs] == ["at::native::mul_stub"]
    assert [kernel["name"] for kernel in stubs[0]["kernels"]] == ["at::native::mul_kernel"]
    assert "mul_kernel" in sourced.line_of(stubs[0]["kernels"][0]["source"])
    text = sourced_command("op", "mul.Tensor").out
    assert "BinaryOpsKernel.cpp:" in text
    manual = sourced_command("op", "copy_", "--json").data
    autograd = next(row for row in manual["keys"] if "AutogradCPU" in row["keys"])
    assert "m.impl(" in sourced.line_of(autograd["op_entry"])
    assert autograd["kernel"].endswith("::copy_")
    assert autograd["registration"]["precision"] == ("registered" if MATCHED else "version-skew")


def test_doctor_says_how_the_checkout_relates(sourced_command: InProcess) -> None:
    report = sourced_command("doctor", "--json").data
    checkout = report["checkouts"][0]
    counts = report["registrations"]["handwritten"]
    if MATCHED:
        assert checkout["relation"] == "matches"
        assert checkout["files"]["different"] == 0
        assert checkout["files"]["same"] > 3_500
        assert counts["confirmed"] == counts["total"] == 3_186
        assert report["in_cpp"] == {"confirmed": 20_749, "total": 20_749}
    else:
        assert checkout["relation"] == "version-skew"
        assert counts["confirmed"] == 0
        assert counts["total"] > 1_000
    assert "".join(checkout["why"].split()) in "".join(sourced_command("doctor").out.split())


def test_what_a_hidden_guard_may_change_stays_predicted(sourced: Cli, sourced_command: InProcess) -> None:
    """The hand-written binding of torch.tensor has a line now; its guards are not followed all the same."""
    hops = sourced_command("trace", "torch.tensor([1.0])", "--no-native", "--json").hops
    assert {hop["status"] for hop in hops if hop["kind"] == "key"} == {"predicted"}
    binding = next(hop for hop in hops if hop["kind"] == "binding")
    assert "THPVariable_tensor" in sourced.line_of(binding["source"])


def test_without_a_checkout_the_atlas_names_lines(command: InProcess) -> None:
    data = command("trace", "a.copy_(b)", "--no-native", "--json").data
    assert [tree["layers"] for tree in data["trees"]] == [["generated", "wheel"], ["atlas"]]
    places = [ref for hop in data["hops"] if (ref := hop["source"])["tree"] == "atlas"]
    assert places
    for ref in places:
        assert ref["layer"] == "atlas"
        assert ref["precision"] == ("located" if MATCHED else "version-skew")
        assert ref["url"].startswith(f"https://github.com/pytorch/pytorch/blob/{RELEASE}/")
