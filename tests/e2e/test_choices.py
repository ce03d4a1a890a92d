"""Why this kernel: what a trace says about choices, against the answers that torch itself gives when it is asked."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping

import pytest

from tests.harness import TARGET, InProcess, Result

pytestmark = pytest.mark.e2e
WIDE = {"COLUMNS": "200"}

ATTENTION = {
    "plain": "q, q, q",
    "dropout": "q, q, q, dropout_p=0.5",
    "mask": "q, q, q, attn_mask=m",
    "heads": "q, q, r",
    "strides": "q, q, t",
}
TENSORS = {
    "q": "torch.ones(1, 2, 3, 4)",
    "r": "torch.ones(1, 1, 3, 4)",
    "t": "torch.ones(1, 2, 4, 3).mT",
    "m": "torch.ones(3, 3).requires_grad_()",
}
CONVOLUTIONS = {
    "small": ("torch.ones(1, 3, 16, 16)", "torch.ones(8, 3, 3, 3)"),
    "batch": ("torch.ones(2, 3, 16, 16)", "torch.ones(8, 3, 3, 3)"),
    "double": ("torch.ones(2, 3, 8, 8).double()", "torch.ones(8, 3, 3, 3).double()"),
}

# torch tells in warnings why it does not take flash attention, if nothing else is allowed.
ASKED = f"""
import json, torch, warnings
from torch.nn.attention import SDPBackend, sdpa_kernel
torch.set_num_threads(1)
{"".join(f"{name} = {value}" + chr(10) for name, value in TENSORS.items())}
told = {{}}
for name, given in {ATTENTION}.items():
    choice = eval(f"torch._fused_sdp_choice({{given}})")
    with warnings.catch_warnings(record=True) as caught, sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        warnings.simplefilter("always")
        try:
            eval(f"torch._fused_sdp_choice({{given}})")
        except RuntimeError:
            pass
    told[name] = [choice, [str(warning.message) for warning in caught]]
for name, (x, w) in {CONVOLUTIONS}.items():
    lists = [1, 1], [0, 0], [1, 1], False, [0, 0], 1
    told[name] = torch._C._select_conv_backend(eval(x), eval(w), None, *lists).name
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def asked() -> dict[str, object]:
    """What torch answers itself, in a process without us."""
    out = subprocess.run([TARGET or sys.executable, "-I", "-c", ASKED], capture_output=True, text=True, check=True)
    told: dict[str, object] = json.loads(out.stdout)
    return told


def traced(command: InProcess, *arguments: str, env: Mapping[str, str] = {}) -> Result:
    made = command("trace", *arguments, "--view", "path", env={**WIDE, **env})
    if "nothing was stepped" in made.out:
        pytest.skip("no native pass here")
    return made


def row(result: Result, name: str) -> str:
    """The text of a row, with the lines below it that continue it."""
    lines = result.out.splitlines()
    at = next(number for number, line in enumerate(lines) if name in line)
    below = re.sub(r"^[\s│]*", " ", lines[at + 1]) if "%" not in lines[at + 1] else ""
    return lines[at] + below


@pytest.mark.parametrize(
    ("name", "refused", "told_by_torch"),
    [
        ("plain", "", ""),
        ("dropout", "check_for_dropout", "dropout"),
        ("mask", "check_attn_mask_shape", ""),
        ("heads", "check_batch_size_and_num_heads_dense", "same num_heads"),
        ("strides", "check_last_dim_stride_equals_1_dense", "stride 1"),
    ],
)
def test_attention_says_which_check_refused_flash(
    command: InProcess, asked: dict[str, object], name: str, refused: str, told_by_torch: str
) -> None:
    choice, warnings = asked[name]  # type: ignore[misc]
    shown = row(attended(command, name), "select_sdp_backend_cpp")
    assert "flash_attention" in shown
    assert ("math" in shown) == (choice == 0), shown
    assert refused in shown
    assert any(told_by_torch in warning for warning in warnings) or not told_by_torch, warnings


def attended(command: InProcess, name: str) -> Result:
    used = [known for known in TENSORS if re.search(rf"\b{known}\b", ATTENTION[name])]
    variables = [part for known in used for part in ("--var", f"{known}={TENSORS[known]}")]
    return traced(command, f"F.scaled_dot_product_attention({ATTENTION[name]})", *variables)


@pytest.mark.words
@pytest.mark.parametrize(
    ("name", "in_words"),
    [("dropout", "check_for_dropout() false, dropout_p is not 0"), ("mask", "the mask requires grad")],
)
def test_attention_says_in_words_why_it_chooses(command: InProcess, name: str, in_words: str) -> None:
    shown = row(attended(command, name), "select_sdp_backend_cpp")
    assert "chooses math" in shown
    assert in_words in shown
    assert "not flash_attention" in shown


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_a_convolution_names_the_backend_that_torch_selects(
    command: InProcess, asked: dict[str, object], name: str
) -> None:
    x, w = CONVOLUTIONS[name]
    result = traced(command, "F.conv2d(x, w)", "--var", f"x={x}", "--var", f"w={w}")
    shown = row(result, "_select_conv_backend")
    assert str(asked[name]) in shown, shown
    assert ("use_mkldnn" in shown) == (asked[name] != "Mkldnn")


ATTEND = ("m(x, x, x)", "--setup", "m = nn.MultiheadAttention(8, 2)", "--var", "x=torch.ones(3, 2, 8)", "--no-native")
STEP = (
    "opt.step()",
    "--setup",
    "p = torch.ones(3, requires_grad=True); p.grad = torch.ones(3); opt = torch.optim.Adam([p])",
    "--no-native",
)


@pytest.mark.words
def test_a_module_says_why_it_took_no_fast_path(command: InProcess) -> None:
    for view in ("modules", "tree"):
        assert "no fast path: training is enabled" in command("trace", *ATTEND, "--view", view, env=WIDE).out


@pytest.mark.words
def test_an_optimizer_says_how_it_updates_parameters(command: InProcess) -> None:
    shown = row(command("trace", *STEP, "--view", "path", env=WIDE), "└adam()")
    assert "one parameter at a time: not all are plain tensors on cuda" in shown


@pytest.mark.words
def test_an_optimizer_says_how_it_updates_parameters_in_the_view_of_parts(command: InProcess) -> None:
    shown = command("trace", *STEP, "--view", "modules", env=WIDE).out
    assert "one parameter at a time: not all are plain tensors on cuda" in " ".join(shown.split())


@pytest.mark.words
@pytest.mark.parametrize(("stable", "algorithm"), [(False, "std::sort"), (True, "std::stable_sort")])
def test_a_sort_names_its_algorithm(command: InProcess, stable: bool, algorithm: str) -> None:
    """SortingKernel.cpp calls one of the two, by the argument `stable`."""
    result = traced(command, f"torch.sort(x, stable={stable})", "--var", "x=torch.randn(500)")
    assert f"by {algorithm}" in row(result, "sort_kernel"), result.out


@pytest.mark.words
def test_only_work_names_an_algorithm(command: InProcess) -> None:
    """A view sorts its few dimensions to see whether it is dense; the sort is no algorithm of the view's."""
    result = traced(command, "x.t().clone()", "--var", "x=torch.randn(8, 4)")
    assert "by std::" not in result.out


@pytest.mark.words
def test_top_k_ends_at_its_loop_and_names_its_algorithms(command: InProcess) -> None:
    """TopKImpl.h selects, then sorts what it selected, unless k is below a 64th of the elements."""
    result = traced(command, "torch.topk(x, 500)", "--var", "x=torch.randn(5000)")
    assert "by std::nth_element; by std::sort" in row(result, "topk_kernel"), result.out
    assert "topk_impl_loop" in result.out


@pytest.mark.words
def test_nothing_is_recorded_while_grad_mode_is_off(command: InProcess) -> None:
    given = ("(x * 2).sum()", "--var", "x=torch.randn(4, requires_grad=True)")
    off = traced(command, *given, "--with", "torch.no_grad()")
    assert "records nothing: grad mode is off" in row(off, "mul_Tensor"), off.out
    on = traced(command, *given)
    assert "grad mode is off" not in on.out, on.out


@pytest.mark.words
@pytest.mark.skipif(TARGET is not None and "2.6" in TARGET, reason="torch 2.6 does not say what a node keeps")
def test_a_recorded_node_says_how_much_is_kept(command: InProcess) -> None:
    """Against the tensors that torch gives to the hooks of saved tensors."""
    import torch

    x, kept = torch.randn(8, 10, requires_grad=True), []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda saved: kept.append(saved.nbytes) or saved, lambda saved: saved
    ):
        torch.log_softmax(x, 1)
    result = traced(command, "torch.log_softmax(x, 1)", "--var", "x=torch.randn(8, 10, requires_grad=True)")
    assert f"keeps {sum(kept)} B" in row(result, "VariableType::_log_softmax"), result.out


@pytest.mark.words
def test_a_choice_that_depends_on_threads_says_what_ran_on_all_of_them(command: InProcess) -> None:
    """ConvParams::use_mkldnn asks for the number of threads; torch's own choice on two threads is asked here."""
    asks = (
        "import torch; torch.set_num_threads(2); x, w = torch.ones(1, 8, 52, 52), torch.ones(4, 8, 1, 1);"
        "print(torch._C._select_conv_backend(x, w, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1).name)"
    )
    python = [TARGET or sys.executable, "-I", "-c", asks]
    chosen = subprocess.run(python, capture_output=True, text=True, check=True).stdout.strip()
    assert chosen == "Mkldnn"
    given = ("--var", "x=torch.ones(1, 8, 52, 52)", "--var", "w=torch.ones(4, 8, 1, 1)")
    result = traced(command, "F.conv2d(x, w)", *given, env={"OMP_NUM_THREADS": "2"})
    told = " ".join(re.sub(r"[│├└]", " ", result.out).split())
    assert "chooses Slow2d here; an earlier run called aten::mkldnn_convolution" in told, result.out
