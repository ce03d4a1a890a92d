"""What was launched on a device, as it is shown: of sessions that were recorded on one, torch 2.11.0+cu130.

An expression and a program on an NVIDIA H200, a library's kernel and a graph's on an NVIDIA H100.

The profiler's own list of what ran there is compared in tests/probe/test_device_events.py.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.harness import InProcess

pytestmark = pytest.mark.e2e

RECORDED = Path(__file__).parents[1] / "data" / "device"


def document(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(gzip.decompress((RECORDED / f"{name}.json.gz").read_bytes()))
    return loaded


def shown_by(command: InProcess, *arguments: str) -> str:
    result = command("trace", *arguments)
    assert result.code == 0, result
    return result.out


def test_the_path_leads_to_the_kernel_that_ran_on_the_device(command: InProcess) -> None:
    saved = str(RECORDED / "expression.json.gz")
    shown = shown_by(command, "--load", saved, "--view", "path")
    assert "vectorized_elementwise_kernel<4, CUDAFunctor_add<float>, …>" in shown
    (launch,) = (hop for hop in document("expression")["hops"] if hop["kind"] == "launch")
    assert f"launched; {launch['launch']['took'] / 1e3:.1f} us on the device" in shown
    told = shown_by(command, "--load", saved, "--explain", str(launch["id"]))
    assert "cudaLaunchKernel" in told
    assert "CUDALoops.cuh" in told


def test_a_program_counts_what_its_operators_launched(command: InProcess) -> None:
    program = document("program")["program"]
    shown = shown_by(command, "--load", str(RECORDED / "program.json.gz"), "--view", "modules")
    whole = sum(sum(calls.get("device", ())) for calls in program["calls"])
    launches = sum(calls["calls"] * len(calls.get("device", ())) for calls in program["calls"])
    assert f"on the device: {whole / 1e3:,.0f} us in {launches:,} launches" in shown
    assert "CUDA is in use, which no fork of the program can use" in " ".join(shown.split())
    names = Counter(kind["name"] for kind in program["kinds"] if kind["type"] == "launch")
    assert f"of {len(names)} kinds" in shown
    assert set(names.values()) == {1}
    operators = shown_by(command, "--load", str(RECORDED / "program.json.gz"), "--view", "operators")
    assert "launches multi_tensor_apply_kernel" in " ".join(operators.split())


def test_a_kernel_that_a_library_launched_is_on_the_path(command: InProcess) -> None:
    """cuBLASLt launches by the driver's own function: nothing of that library is shown but the kernel."""
    shown = shown_by(command, "--load", str(RECORDED / "library.json.gz"), "--view", "path")
    (launch,) = (hop for hop in document("library")["hops"] if hop["kind"] == "launch")
    rows = shown.splitlines()
    at = next(number for number, row in enumerate(rows) if launch["name"] in row)
    assert "cuda::blas::gemm_and_bias" in rows[at - 1]
    assert "launched" in f"{rows[at]} {rows[at + 1]}"


def test_the_kernels_of_a_graph_are_at_the_function_that_replays_it(command: InProcess) -> None:
    shown = shown_by(command, "--load", str(RECORDED / "graph.json.gz"), "--view", "path")
    names = [hop["name"] for hop in document("graph")["hops"]
             if hop["kind"] == "launch" and hop["launch"]["through"] == "cudaGraphLaunch"]  # fmt: skip
    assert len(names) == 3
    below = shown.partition("CUDAGraph.replay()")[2].partition("torch.Tensor.sum")[0]
    assert below.count("launched, order unknown") == 3
    assert "no operator seen" not in shown
