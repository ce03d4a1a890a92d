"""What recording a program costs: a training step beside the same script alone, the file, memory, a hundred steps."""

from __future__ import annotations

import json
import re
import shutil
import statistics
from collections.abc import Callable
from pathlib import Path

from lib.measure import ROOT, Bench, Row, Sample, median

GPT = ROOT / "examples" / "gpt.py"
STEPS = (1, 50, 100)
MEMORY = """
import json, resource, runpy, sys
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({"peak": used.ru_maxrss / 1024, "processor": used.ru_utime + used.ru_stime}))
"""
RECORDED = """
import json, resource, sys
from ptexplore.api.trace import PublicTrace
import ptexplore
trace = ptexplore.trace(script=sys.argv[1], native=False, timeout=3600)
if len(sys.argv) > 2:
    trace.save(sys.argv[2])
told = {}
for name, who in (("own", resource.RUSAGE_SELF), ("probe", resource.RUSAGE_CHILDREN)):
    used = resource.getrusage(who)
    told |= {name: used.ru_maxrss / 1024, "processor_" + name: used.ru_utime + used.ru_stime}
print(json.dumps(told))
"""
LOOP = """
import json, sys, time
import torch
import ptexplore
number, recorded = int(sys.argv[1]), sys.argv[2] == "recorded"
x = torch.ones(2)
def run(count):
    began = time.process_time()
    for _ in range(count):
        torch.neg(x)
    return time.process_time() - began
run(1000)
def peak():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) / 1024
if recorded:
    with ptexplore.record():
        run(1000)
    before = peak()
    with ptexplore.record():
        took = run(number)
    print(json.dumps({"seconds": took / number, "grown": peak() - before}))
else:
    print(json.dumps({"seconds": run(number) / number, "grown": 0.0}))
"""


def variant(folder: Path, name: str, **values: int) -> Path:
    """The example with other values for its constants."""
    text = GPT.read_text(encoding="utf-8")
    line = re.search(r"^(LAYERS.*) = (.*)$", text, re.MULTILINE)
    assert line is not None
    names = [part.strip() for part in line[1].split(",")]
    held = dict(zip(names, line[2].split(","), strict=True)) | {key: f" {value}" for key, value in values.items()}
    file = folder / f"{name}.py"
    file.write_text(text.replace(line[0], f"{line[1]} = {','.join(held.values())}"), encoding="utf-8")
    return file


def in_turns(
    bench: Bench, script: Path, saved: Path, runs: int, progress: Callable[[str], None]
) -> tuple[list[Sample], list[Sample]]:
    """The script alone and recorded, shown and saved, in turns."""
    alone, recorded = [], []
    for number in range(runs):
        progress(f"{script.name} {number + 1} of {runs}")
        alone.append(bench.run_python(str(script)))
        arguments = ("trace", "--script", str(script), "--no-native", "--timeout", "3600", "--save", str(saved))
        recorded.append(bench.ptexplore(*arguments))
    return alone, recorded


def program_rows(bench: Bench, folder: Path, runs: int, progress: Callable[[str], None]) -> list[Row]:
    """Every row about programs."""
    folder = folder / "programs"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    bench.ptexplore("op", "add")  # the catalogue is there
    rows: list[Row] = []
    for name, values, file_budget in (
        ("GPT step (12 layers, d 256, AdamW)", {}, 3.0),
        ("GPT-2's size (12 layers, d 768, 128 tokens)", {"WIDTH": 768, "HEADS": 12, "TOKENS": 128}, 5.0),
    ):
        script, saved = variant(folder, "gpt" if not values else "gpt2", **values), folder / "saved.trace"
        alone, recorded = in_turns(bench, script, saved, runs, progress)
        budget = 3 * median(alone) + (3 if not values else 0)
        note = f"{median(recorded) / median(alone):.2f} x the script without recording, {median(alone):.2f} s"
        rows.append(Row(f"{name}: record, save, first screen", median(recorded), "s", round(budget, 2), note))
        rows.append(Row(f"{name}: saved file", saved.stat().st_size / 1e3, "kB", 1000 * file_budget))
        if not values:
            screen = recorded[0].output.decode().splitlines()
            rows.append(Row(f"{name}: rows of the first screen", len(screen), "rows", 100))
            opened = [bench.ptexplore("trace", "--load", str(saved)) for _ in range(runs)]
            rows.append(Row(f"{name}: open it again, first screen", median(opened), "s", 0.5))
            rows += memory(bench, script)
    return [*rows, *hundred(bench, folder, runs, progress), *loop(bench, runs, progress)]


def memory(bench: Bench, script: Path) -> list[Row]:
    """What ptexplore's own process holds at most, and what the probe holds beyond the script's own."""
    measured = _read_values(bench.run_python("-c", RECORDED, str(script)))
    plain = _read_values(bench.run_python("-c", MEMORY, str(script)))
    more = measured["probe"] - plain["peak"]
    return [
        Row("GPT step: memory of ptexplore's own process", measured["own"], "MB", 300),
        Row("GPT step: memory that the probe adds to the script", more, "MB", 200, f"script: {plain['peak']:.0f} MB"),
    ]


def hundred(bench: Bench, folder: Path, runs: int, progress: Callable[[str], None]) -> list[Row]:
    """A hundred steps against fifty, and against one: what recording costs a step, the file, resolving.

    Processor time of whole processes: the program's own one, and that of its probe, apart from what concludes.
    """
    alone: dict[int, list[float]] = {steps: [] for steps in STEPS}
    probe: dict[int, list[float]] = {steps: [] for steps in STEPS}
    own: dict[int, list[float]] = {steps: [] for steps in STEPS}
    sizes: dict[int, float] = {}
    for number in range(runs):
        for steps in STEPS:
            progress(f"{steps} steps, {number + 1} of {runs}")
            script, saved = variant(folder, f"steps{steps}", STEPS=steps, LAYERS=4), folder / f"steps{steps}.trace"
            alone[steps].append(_read_values(bench.run_python("-c", MEMORY, str(script)))["processor"])
            measured = _read_values(bench.run_python("-c", RECORDED, str(script), str(saved)))
            probe[steps].append(measured["processor_probe"])
            own[steps].append(measured["processor_own"])
            sizes[steps] = saved.stat().st_size
    plain, recorded = ({steps: median_of(by[steps]) for steps in STEPS} for by in (alone, probe))
    one, fifty, many = STEPS
    added = [
        (recorded[end] - recorded[begin]) - (plain[end] - plain[begin]) for begin, end in ((one, fifty), (fifty, many))
    ]
    further = (recorded[many] - recorded[one]) / max(plain[many] - plain[one], 1e-9)
    each = [1000 * added[0] / (fifty - one), 1000 * added[1] / (many - fifty)]
    note = f"100 steps: {recorded[many]:.1f} s of processor time with recording, {plain[many]:.1f} s without"
    note += f"; one step: {recorded[one]:.1f} s and {plain[one]:.1f} s"
    per_step = f"{each[1]:.1f} ms of processor time and {each[0]:.1f} ms"
    return [
        Row("99 further steps (4 layers): time with recording / without", further, "x", 3, note),
        Row(
            "time that recording adds to a step: steps 51 to 100 / steps 2 to 50",
            each[1] / max(each[0], 1e-9),
            "x",
            1.1,
            per_step,
        ),
        Row("saved file: 100 steps / 1 step", sizes[many] / sizes[one], "x", 1.2),
        Row(
            "time of resolving: 100 steps / 1 step",
            median_of(own[many]) / median_of(own[one]),
            "x",
            1.2,
            "processor time of ptexplore's own process",
        ),
    ]


def median_of(values: list[float]) -> float:
    """The median of some figures."""
    return statistics.median(values)


def _read_values(sample: Sample) -> dict[str, float]:
    """What a script of the bench printed last."""
    values: dict[str, float] = json.loads(sample.output.splitlines()[-1])
    return values


def loop(bench: Bench, runs: int, progress: Callable[[str], None]) -> list[Row]:
    """`record()` around a loop of the smallest operator, in one process."""
    progress("a loop under record()")
    printed = {
        how: [json.loads(bench.run_python("-c", LOOP, "20000", how).output.splitlines()[-1]) for _ in range(runs)]
        for how in ("plain", "recorded")
    }
    plain, recorded = (sorted(one["seconds"] for one in printed[how])[runs // 2] for how in ("plain", "recorded"))
    grown = json.loads(bench.run_python("-c", LOOP, "1000000", "recorded").output.splitlines()[-1])["grown"]
    note = f"a call: {recorded * 1e6:.1f} us of processor time with recording, {plain * 1e6:.2f} us without"
    return [
        Row("a loop of torch.neg: time with record() / without", recorded / plain, "x", 20, note),
        Row("record(): memory that a million operators add", grown, "MB", 100),
    ]
