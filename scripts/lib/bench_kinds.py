"""What recording costs for twelve kinds of programs, each beside the same program alone and under other profilers.

The floor is the program under an empty profile function and torch's profiler without stacks: what each recorder of
Python calls and operators pays at least. All runs of a program are made in turns.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from lib.measure import Bench, Row, Sample, median

PROGRAMS = Path(__file__).resolve().parent / "kinds_of_programs.py"
NAMES = (
    "small_operators", "reinforcement", "lstm_cells", "loading", "transformer", "gan", "sparse", "python_operator",
    "rnn_text", "vision", "deep_recursion", "own_threads",
)  # fmt: skip
FLOOR, OF_PLAIN = 1.6, 2.5  # budgets: of the floor; and of the program alone, if the floor is below CHEAP of it
CHEAP = 1.55
# Runs a script with arguments under torch's profiler: `sys.argv` has what to record, the file for the trace or "", and
# the script.
PROFILED = """
import runpy, sys
import torch
how, file = sys.argv[1:3]
sys.argv = sys.argv[3:]
def empty(frame, event, argument):
    pass
stacks = how == "stacks"
with torch.profiler.profile(record_shapes=stacks, with_stack=stacks) as profile:
    if not stacks:
        sys.setprofile(empty)
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    finally:
        if not stacks:
            sys.setprofile(None)
if file:
    profile.export_chrome_trace(file)
"""


def kinds_rows(bench: Bench, folder: Path, runs: int, progress: Callable[[str], None]) -> list[Row]:
    """Returns two rows for each program: the cost of recording it, and its memory."""
    folder = folder / "kinds"
    folder.mkdir(exist_ok=True)
    bench.ptexplore("op", "add")  # the catalogue is there
    commands = _commands(bench, folder)
    rows: list[Row] = []
    for name in NAMES:
        samples: dict[str, list[Sample]] = {how: [] for how in commands}
        for number in range(runs):
            for how, command in commands.items():
                progress(f"{name} {how} {number + 1} of {runs}")
                samples[how].append(bench.run(*command(name)))
        rows += _rows(name, samples, folder)
    return rows


def _commands(bench: Bench, folder: Path) -> dict[str, Callable[[str], tuple[str, ...]]]:
    """Returns the command of each way to run a program, by the name of the way. A peer is left out if not installed."""
    python, script = bench.python, str(PROGRAMS)
    commands: dict[str, Callable[[str], tuple[str, ...]]] = {
        "plain": lambda name: (python, script, name),
        "floor": lambda name: (python, "-c", PROFILED, "floor", "", script, name),
        "recorded": lambda name: (
            python, "-m", "ptexplore", "trace", "--script", script, "--no-native", "--timeout", "3600", "--save",
            _file(folder, name, "recorded"), "--", name,
        ),
        "torch.profiler": lambda name: (
            python, "-c", PROFILED, "stacks", _file(folder, name, "torch.profiler"), script, name
        ),
        "pyinstrument": lambda name: (
            python, "-m", "pyinstrument", "-r", "json", "-o", _file(folder, name, "pyinstrument"), script, name
        ),
        "VizTracer": lambda name: (
            python, "-m", "viztracer", "-o", _file(folder, name, "VizTracer"), "--", script, name
        ),
    }  # fmt: skip
    for peer in ("pyinstrument", "VizTracer"):
        find = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({peer.lower()!r}) is None)"
        if subprocess.run([python, "-c", find], check=False).returncode:
            del commands[peer]
    return commands


def _file(folder: Path, name: str, how: str) -> str:
    return str(folder / f"{name}.{how}.json")


def _rows(name: str, samples: dict[str, list[Sample]], folder: Path) -> list[Row]:
    seconds = {how: median(each) for how, each in samples.items()}
    held = {how: median(each, lambda sample: sample.megabytes) for how, each in samples.items()}
    files = {how: Path(_file(folder, name, how)) for how in samples}
    sizes = {how: file.stat().st_size / 1e3 for how, file in files.items() if file.exists()}
    is_cheap = seconds["floor"] < CHEAP * seconds["plain"]
    most = min(FLOOR * seconds["floor"], OF_PLAIN * seconds["plain"] if is_cheap else FLOOR * seconds["floor"])
    label = name.replace("_", " ")
    return [
        Row(f"{label}: record, save, first screen", seconds["recorded"], "s", round(most, 2), _beside(seconds, "s")),
        Row(f"{label}: memory", held["recorded"], "MB", round(1.2 * held["plain"] + 150), _beside(held, "MB")),
        Row(f"{label}: saved file", sizes["recorded"], "kB", None, _beside(sizes, "kB", ",.0f")),
    ]


def _beside(figures: dict[str, float], unit: str, form: str = "") -> str:
    form = form or (".2f" if unit == "s" else ".0f")
    return " · ".join(f"{how} {figure:{form}} {unit}" for how, figure in figures.items() if how != "recorded")
