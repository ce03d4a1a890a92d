"""Where Python, C++, transforms and modes take turns: what a trace says, against what torch itself says.

The expected values are asked of the torch under test, in a process that knows nothing of ptexplore.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.harness import TARGET, InProcess

pytestmark = pytest.mark.e2e


def torch_says(code: str) -> Any:
    """What `code` prints as JSON where torch and json are imported."""
    command = [TARGET or sys.executable, "-I", "-W", "ignore", "-c", f"import torch, json\n{code}"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def test_every_bit_of_the_threads_sets_has_a_name(command: InProcess) -> None:
    """Torch's own parser does not know all of them: AutocastXLA."""
    expected = torch_says(
        "sets = torch._C._dispatch_tls_local_include_set(), torch._C._dispatch_tls_local_exclude_set()\n"
        "print(json.dumps([repr(keys)[len('DispatchKeySet('):-1].split(', ') for keys in sets]))"
    )
    keys = [hop for hop in command("trace", "torch.add(a, b)", "--no-native", "--json").hops if hop["kind"] == "key"]
    included, excluded = keys[0]["dispatch"]["tls_include"], keys[0]["dispatch"]["tls_exclude"]
    assert [included.split(", ")[::-1], excluded.split(", ")[::-1]] == expected


@pytest.mark.parametrize("native", [True, False])
def test_a_call_that_backward_adds_is_made_once(command: InProcess, native: bool) -> None:
    """`.sum()` of what is no scalar: the profiler records one `aten::sum`, and so does the trace, in backward."""
    code = (
        "a = torch.rand(3, 3, requires_grad=True)\n"
        "with torch.profiler.profile() as profile: a.exp().sum().backward()\n"
        "print(json.dumps([event.name for event in profile.events() if event.name == 'aten::sum']))"
    )
    recorded = torch_says(code)  # the profiler counts what an operator calls under its own name as one with it
    made = command("trace", "torch.exp(a)", "--backward", "--json", *([] if native else ["--no-native"]))
    sums = [hop for hop in made.hops if hop["op"] == "aten::sum" and hop["kind"] == "op"]
    assert len(sums) == len(recorded) == 1
    assert sums[0]["phase"] == "backward"
    assert made.data["result"]["backward"].endswith(", summed")
