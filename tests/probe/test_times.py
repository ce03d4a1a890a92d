"""The times of torch.profiler's own trace laid over a recording of the same program, by another process."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest

from ptexplore.capture.chrome_trace import TimedOperator, TimedTrace, read_chrome_trace
from ptexplore.errors import PtexploreError
from ptexplore.model.codes import convert
from ptexplore.model.program import Program
from ptexplore.model.program_order import units
from ptexplore.model.trace_remarks import TimesElsewhereBeside
from ptexplore.resolve.times import with_times
from ptexplore.saved.program import flaw_of
from ptexplore.view.trace.program_parts import run_of, times_elsewhere
from ptexplore.view.trace.stacks import _threads

torch = pytest.importorskip("torch")

# Layers alike, a hook that calls an operator in backward, an optimizer, three steps of which the first is unlike.
CODE = """
import torch
from torch import nn
torch.manual_seed(0)

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(4, 8), nn.Linear(8, 4)
    def forward(self, x):
        return x + self.outer(torch.relu(self.inner(x)))

model = nn.Sequential(*(Block() for _ in range(3)), nn.Linear(4, 1))
model[1].inner.weight.register_hook(lambda grad: grad.clamp(-1, 1))
optimizer = torch.optim.Adam(model.parameters())

def run(steps):
    for step in range(steps):
        if step == 0:
            torch.ones(2).cos()
        optimizer.zero_grad()
        model(torch.randn(2, 4)).pow(2).mean().backward()
        optimizer.step()
"""
PROFILED = (
    CODE
    + """
import sys
from torch.profiler import ProfilerActivity, profile
run(1)
for steps, file in ((3, sys.argv[1]), (1, sys.argv[2])):
    with profile(activities=[ProfilerActivity.CPU]) as recorded:
        run(steps)
    recorded.export_chrome_trace(file)
"""
)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Traces of three steps, and of one."""
    folder = tmp_path_factory.mktemp("profiled")
    names = str(folder / "three.json"), str(folder / "one.json.gz")
    subprocess.run([sys.executable, "-c", PROFILED, *names], check=True, capture_output=True)
    return names


@pytest.fixture(scope="module")
def program() -> Program:
    scope: dict[str, Any] = {}
    exec(compile(CODE, "train.py", "exec"), scope)
    scope["run"](1)
    with importlib.import_module("ptexplore.probe.recording").recording() as seen:
        scope["run"](3)
    return convert(seen.data(), Program)


def outermost(file: str) -> tuple[int, Counter[str]]:
    """How many outermost operators a trace has, and the time of each name, read without ptexplore."""
    opened = importlib.import_module("gzip").open if file.endswith(".gz") else open
    with opened(file) as read:
        events = [e for e in json.load(read)["traceEvents"] if e.get("cat") == "cpu_op" and e["ph"] == "X"]
    times: Counter[str] = Counter()
    end, count = -1.0, 0
    for event in sorted(events, key=lambda e: (e["ts"], -e["dur"])):
        if event["ts"] >= end:
            end, count = event["ts"] + event["dur"], count + 1
            times[event["name"]] += round(event["dur"] * 1000)
    return count, times


@pytest.mark.parametrize("which", [0, 1], ids=["three steps", "one step"])
def test_every_call_is_matched_and_its_time_counted_once(which: int, files: tuple[str, str], program: Program) -> None:
    timed = with_times(program, read_chrome_trace(files[which]))
    count, times = outermost(files[which])
    elsewhere = timed.elsewhere
    assert elsewhere is not None
    assert (elsewhere.matched, elsewhere.unmatched, elsewhere.unlike) == (count, 0, 0), elsewhere
    heads: Counter[str] = Counter()
    first = {unit[0][0] for unit in units(program)}
    for number in first:
        assert number is not None
        kind = program.kinds[program.routes[program.calls[number].route].kind]
        heads[kind.name] += timed.calls[number].time
    assert heads == times
    assert timed.wall == sum(times.values())
    assert next(_threads(timed, "run")).total == timed.wall
    assert flaw_of(timed) is None
    part = run_of(timed, "train.py").whole
    assert part.cost == timed.wall
    (matched,) = (remark for remark in times_elsewhere(timed) if isinstance(remark, TimesElsewhereBeside))
    assert (matched.matched, matched.calls) == (count, count)


def test_layers_that_are_alike_are_distinguished(files: tuple[str, str], program: Program) -> None:
    """By what stands before and behind them: of one step each layer's time is that of its own calls, in order."""
    trace = read_chrome_trace(files[1])
    timed = with_times(program, trace)
    linears = [o.time for o in trace.threads[0] if o.name == "aten::linear"]
    by_module = {
        path.name: sum(row.time for row in timed.calls if _is_in(timed, row.path, number))
        for number, path in enumerate(timed.paths)
        if path.type == "Linear"
    }
    assert list(by_module.values()) == linears
    assert list(by_module) == ["0.inner", "0.outer", "1.inner", "1.outer", "2.inner", "2.outer", "3"]


def _is_in(program: Program, path: int | None, outer: int) -> bool:
    while path is not None and path != outer:
        path = program.paths[path].parent
    return path is not None


def operators(*names: str) -> TimedTrace:
    return TimedTrace("x.json", (tuple(TimedOperator(name, n, n + 1, None, []) for n, name in enumerate(names)),), 0)


def test_what_may_be_of_two_places_is_of_none() -> None:
    def twice() -> None:
        x = torch.ones(2)
        for function in (first, second):
            function(x)

    def first(x: Any) -> None:
        x.cos().sin().tan().exp()

    def second(x: Any) -> None:
        x.cos().sin().tan().exp()

    with importlib.import_module("ptexplore.probe.recording").recording() as seen:
        twice()
    program = convert(seen.data(), Program)
    cut = operators("aten::cos", "aten::sin", "aten::tan", "aten::exp")
    with pytest.raises(PtexploreError, match="another program"):
        with_times(program, cut)
    whole = operators(
        "aten::cos", "aten::sin", "aten::tan", "aten::exp", "aten::cos", "aten::sin", "aten::tan", "aten::exp"
    )
    timed = with_times(program, whole)
    assert timed.elsewhere is not None
    assert (timed.elsewhere.matched, timed.elsewhere.unmatched) == (8, 0)
    assert [row.time for row in timed.calls] == [0] + [1] * 8


def test_the_trace_of_another_program_is_refused(program: Program) -> None:
    with pytest.raises(PtexploreError, match="another program") as caught:
        with_times(program, operators("aten::cos", "other::thing"))
    assert caught.value.exit_code == 2
