"""What the native pass costs: a trace with it, how fast it steps, how long the symbols take."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from statistics import median as middle

from lib.measure import Bench, Row, Sample, median

FLOOR = Path(__file__).with_name("step_floor.py")
LOADED = """
import json, sys, time
from pathlib import Path
import importlib.util
from ptexplore.capture.native.symbols import Elf
libraries = Path(importlib.util.find_spec("torch").origin).parent / "lib"
cache = Path(sys.argv[1])
found = []
for _ in range(2):
    began = time.perf_counter()
    for name in ("libtorch_cpu.so", "libtorch_python.so", "libc10.so"):
        Elf(str(libraries / name), cache)
    found.append(time.perf_counter() - began)
print(json.dumps(found))
"""


def traces(bench: Bench, expression: str, peer: str, runs: int, progress: Callable[[str], None]) -> list[Row]:
    """A trace with everything built, without and with the native pass, as ratios to the same call in plain Python."""
    without: list[Sample] = []
    with_it: list[Sample] = []
    plain: list[Sample] = []
    for number in range(runs):
        progress(f"warm trace {number + 1} of {runs}")
        plain.append(bench.run_python("-c", peer))
        without.append(bench.ptexplore("trace", expression, "--no-native"))
        with_it.append(bench.ptexplore("trace", expression))
    rows = []
    for what, samples, budget in (("warm trace, --no-native", without, 1.8), ("warm trace", with_it, 2.5)):
        note = f"{median(samples):.2f} s; plain Python takes {median(plain):.2f} s"
        rows.append(Row(f'{what} "{expression}"', median(samples) / median(plain), "x", budget, note))
    return rows


def stepping(bench: Bench, runs: int, progress: Callable[[str], None]) -> Row:
    """Instructions that are stepped in a second, as the session tells them.

    Beside it what the machine (the kernel's signal, a virtual one's exits) takes for a step whose handler does nothing.
    """
    rates, shares = [], []
    beside: dict[str, list[float]] = {"ours": [], "floor": [], "kernel": []}
    file = bench.cache / "stepped.json"
    for number in range(runs):
        progress(f"stepping {number + 1} of {runs}")
        bench.ptexplore("trace", "F.softmax(a @ b, dim=-1).sum()", "--grad", "--save", str(file))
        session = json.loads(file.read_text(encoding="utf-8"))["session"]
        [part] = [one["data"] for one in session["observations"] if one["kind"] == "calls"]
        rates.append(part["stepped"] / part["seconds"])
        shares.append(1 - part["instructions"] / part["stepped"])
        for name, rate in json.loads(bench.run_python("-P", str(FLOOR)).output).items():
            beside[name].append(rate)
    ours, floor, kernel = (middle(found) for found in beside.values())
    note = (
        f"softmax of a product, summed, with grad. {middle(shares):.0%} of the instructions are in the profile "
        f"function, which sees Python's calls. Instructions per second of processor time, measured in turns: "
        f"{ours:,.0f}; {floor:,.0f} with a handler that only counts each instruction; {kernel:,.0f} if that handler "
        f"returns through the kernel"
    )
    return Row("native stepping", middle(rates), "instructions/s", 80_000, note, at_least=True)


def symbols(bench: Bench, runs: int, progress: Callable[[str], None]) -> list[Row]:
    """The functions of torch's three libraries by address: read from the files, and from what is kept by build id."""
    cold, warm = [], []
    for number in range(runs):
        progress(f"symbols {number + 1} of {runs}")
        folder = bench.cache / f"symbols-{number}"
        first, second = json.loads(bench.run_python("-c", LOADED, str(folder)).output)
        cold.append(first)
        warm.append(second)
    return [
        Row("symbols of three libraries, cold", middle(cold), "s", 0.5),
        Row("symbols of three libraries, warm", middle(warm), "s", 0.1),
    ]


def native_rows(bench: Bench, expression: str, peer: str, runs: int, progress: Callable[[str], None]) -> list[Row]:
    """All of it; where this machine cannot be stepped, the traces alone."""
    rows = traces(bench, expression, peer, runs, progress)
    file = Path(bench.cache) / "asked.json"
    bench.ptexplore("trace", expression, "--save", str(file))
    captured = json.loads(file.read_text(encoding="utf-8"))["captured"]
    if not captured["native"]:
        return rows
    return [*rows, stepping(bench, runs, progress), *symbols(bench, runs, progress)]
