"""What was launched on a device, as it is shown: of sessions that were recorded on an NVIDIA H200, torch 2.11.0+cu130.

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
