"""The dispatcher's reasoning against what was seen to run when these calls were stepped natively on 2.13.0."""

from __future__ import annotations

from typing import Any

import pytest

from tests.harness import InProcess

pytestmark = pytest.mark.e2e

# Per call: the keys of every kernel in order, as observed by single-stepping libtorch.
STEPPED = {
    "torch.add(a, b)": "AutogradCPU CPU",
    "a.view(-1)": "AutogradCPU ADInplaceOrView CPU",
    "a[1:, None]": "AutogradCPU ADInplaceOrView CPU CPU AutogradCPU ADInplaceOrView CPU CPU",
    # A factory's binding calls torch::zeros, which keeps everything inside below autograd.
    "torch.zeros(3)": "BackendSelect CPU BackendSelect CPU CPU",
    "torch.zeros_like(a)": "CPU CPU BackendSelect CPU CPU",
    # Autograd's kernel for sum holds a guard: the inner sum goes straight to the CPU.
    "a.sum()": "AutogradCPU CPU CPU CPU CPU",
    "F.relu(a)": "AutogradCPU CPU CPU",
}


def kernels(hops: list[dict[str, Any]]) -> list[str]:
    return [hop["key"] for hop in hops if hop["kind"] == "kernel"]


@pytest.mark.parametrize("expression", STEPPED)
def test_keys_of_every_kernel(command: InProcess, expression: str) -> None:
    assert kernels(command("trace", expression, "--no-native", "--json").hops) == STEPPED[expression].split()


def test_a_hidden_binding_makes_predictions_of_derivations(command: InProcess) -> None:
    """What torch.tensor's hand-written binding does to the thread-local sets, no text in the wheel says."""
    hops = command("trace", "torch.tensor([1.0])", "--no-native", "--json").hops
    keys = [hop for hop in hops if hop["kind"] == "key"]
    assert keys
    assert {hop["status"] for hop in keys} == {"predicted"}


def test_what_does_not_redispatch_ends_there(command: InProcess) -> None:
    hops = command("trace", "a.clone().detach_()", "--no-native", "--json").hops
    assert [hop["key"] for hop in hops if hop["kind"] == "kernel" and hop["op"] == "aten::detach_"] == ["AutogradCPU"]


def test_local_sets_below_a_context(command: InProcess) -> None:
    hops = command("trace", "torch.add(a, b)", "--with", "torch.inference_mode()", "--no-native", "--json").hops
    assert kernels(hops) == ["CPU"]
    key = next(hop for hop in hops if hop["kind"] == "key")
    assert "AutogradFunctionality" in key["dispatch"]["tls_exclude"]


def test_autocast_casts_and_calls_anew(command: InProcess) -> None:
    hops = command("trace", "a @ b", "--with", "torch.autocast('cpu', torch.bfloat16)", "--no-native", "--json").hops
    assert kernels(hops)[0] == "AutocastCPU"
    outer = next(hop for hop in hops if hop["op"] == "aten::matmul" and hop["kind"] == "kernel")
    assert [c["name"] for c in outer["children"] if c["kind"] == "op"].count("aten::matmul") == 1
