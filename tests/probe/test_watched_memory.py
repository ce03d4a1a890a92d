"""The peak of memory and what steps leave behind, against the operating system, torch's own tracker, and arithmetic."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
ROOT = Path(__file__).resolve().parents[2]
SAVES = importlib.import_module("ptexplore.probe.torch_api").tells_saved_unread()

# Runs the recorder in a process of its own, as the probe does, and prints what it returns.
RUN = """
import json, sys
sys.path.insert(0, sys.argv[1])
from ptexplore.capture.probing import asked_for, request_of
class Anywhere:
    torch_dir = "/nowhere"
request = asked_for(None, {"script": sys.argv[2], "native": False, "owners": True, **json.loads(sys.argv[3])})
from ptexplore.probe import watched_memory
told = watched_memory.run(request_of(request, "graph", Anywhere(), {}))
print("TOLD" + json.dumps(told["watched"]))
"""
MB = 1_000_000


def watched(tmp_path: Path, text: str, **asked: Any) -> dict[str, Any]:
    script = tmp_path / "train.py"
    script.write_text(text, encoding="utf-8")
    arguments = [sys.executable, "-c", RUN, str(ROOT), str(script), json.dumps(asked)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=300)
    assert "TOLD" in done.stdout, done.stderr[-3000:]
    return dict(json.loads(done.stdout.rpartition("TOLD")[2]))


def by_owner(watch: dict[str, Any]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for part in watch["peak"]["parts"]:
        sums[part["owner"]] = sums.get(part["owner"], 0) + part["bytes"]
    return sums


def test_the_peak_is_where_arithmetic_says(tmp_path: Path) -> None:
    text = """
import torch

def big():
    first = torch.ones(10_000_000)
    second = first * 2
    del first
    return second.sum()

w = torch.ones(1_000_000)
total = big()
kept = torch.ones(5_000_000)
"""
    watch = watched(tmp_path, text)
    peak = watch["peak"]
    assert 84 * MB <= peak["bytes"] < 84 * MB + 10_000
    assert peak["moment"]["made"]["line"] in (6, 8)  # the sum has some bytes more
    assert watch["alive"] - 24 * MB < 10_000
    assert sum(part["bytes"] for part in peak["parts"]) == peak["bytes"]
    assert by_owner(watch)["temporary"] >= 80 * MB
    assert watch["ended"]


STEPS = """
import sys
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(2000, 2000), nn.Tanh(), nn.Linear(2000, 2000), nn.Tanh(), nn.Linear(2000, 10))
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def step(x):
    loss = model(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()


"""


def test_the_peak_of_a_training_is_that_of_torchs_tracker(tmp_path: Path) -> None:
    """MemTracker of torch sees tensors by a dispatch mode: not what an operator allocates inside."""
    loop = "for number in range(2):\n    step(torch.ones(500, 2000))\n"
    watch = watched(tmp_path, STEPS + loop)
    tracked = """
from torch.distributed._tools.mem_tracker import MemTracker
tracker = MemTracker()
tracker.track_external(model, opt)
with tracker:
    for number in range(2):
        step(torch.ones(500, 2000))
        tracker.reset_mod_stats()
print("PEAK", int(tracker.get_tracker_snapshot("peak")[torch.device("cpu")]["Total"]))
"""
    done = subprocess.run([sys.executable, "-c", STEPS + tracked], capture_output=True, text=True, check=False)
    if "PEAK" not in done.stdout:
        pytest.skip(f"MemTracker does not run here: {done.stderr[-200:]}")
    theirs = int(done.stdout.rpartition("PEAK")[2])
    assert abs(watch["peak"]["bytes"] - theirs) < 0.05 * theirs
    sums = by_owner(watch)
    parameters = 4 * (2 * (2000 * 2000 + 2000) + 2000 * 10 + 10)
    assert sums["parameter"] == parameters
    assert sums["optimizer"] in (0, parameters)
    # In the second forward: one backward was called, and its gradients are alive until zero_grad.
    assert watch["peak"]["moment"]["step"] == 1
    assert watch["peak"]["moment"]["made"]["text"] == "loss = model(x).pow(2).mean()"
    assert watch["steps"] == 2


def test_the_peak_is_that_of_the_operating_system(tmp_path: Path) -> None:
    text = """
def resident(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(name))
import torch
torch.ones(3).sum()
before = resident("VmRSS")
a = torch.ones(40_000_000)
b = a + 1
del a
c = b[:10_000_000].clone()
with open(OUT, "w") as file:
    file.write(str(resident("VmHWM") - before))
"""
    out = tmp_path / "rss"
    watch = watched(tmp_path, f"OUT = {str(out)!r}\n{text}")
    seen = int(out.read_text(encoding="utf-8"))
    assert abs(watch["peak"]["bytes"] - seen) < 0.1 * seen


LEAKING = (
    STEPS.replace("2000", "50")
    + """
import collections, functools
losses, window, registry, hooks = [], collections.deque(maxlen=2), {}, []
total = torch.zeros(())


class Logger:
    seen = []


def closing(x):
    return lambda: x


for number in range(9):
    x = torch.ones(500, 50)
    out = model(x)
    loss = out.mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(model(torch.ones(31, 50)).mean())
    window.append(torch.ones(77))
    Logger.seen.append({"last": torch.ones(41)})
    registry[number] = closing(torch.ones(43))
    total = total + (torch.ones(47, requires_grad=True) * 1.5).exp().sum()
    last = torch.ones(53)
"""
)


def test_what_steps_leave_behind(tmp_path: Path) -> None:
    watch = watched(tmp_path, LEAKING, owners=False, leak=True, steps=6)
    left = {tuple(part["sizes"]): part for part in watch["left"] if "sizes" in part}
    plain = {(41,): "Logger.seen[…]['last']", (43,): "registry[…].__closure__[0].cell_contents"}
    for sizes, wanted in plain.items():
        part = left[sizes]
        assert "".join("[…]" if c.isdigit() else c for c in part["name"]).replace("[[…]]", "[…]") == wanted.replace(
            "[0]", "[…]"
        )
        assert part["steps"] == [2, 3, 4, 5, 6]
        assert part["chain"][-1]["type"] == "torch.Tensor"
    assert (77,) not in left, "a window of two does not grow"
    assert (53,) not in left, "a variable that is set anew does not grow"
    assert (500, 50) not in left
    if SAVES:
        assert left[31, 50]["name"].startswith("losses[")
        of_total = [(part["node"], part["name"]) for part in watch["left"] if part.get("sizes") == [47]]
        nodes = {"ExpBackward0", "torch::autograd::AccumulateGrad"}  # the second one holds the leaf
        assert {node for node, _ in of_total} == nodes
        assert {name for _, name in of_total} == {"total"}


def test_too_few_steps(tmp_path: Path) -> None:
    loop = "for number in range(3):\n    step(torch.ones(5, 2000))\n"
    watch = watched(tmp_path, STEPS + loop, owners=False, leak=True, steps=5)
    assert (watch["few"], watch["left"], watch["steps"], watch["ended"]) == (True, [], 3, True)
