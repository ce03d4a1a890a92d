"""What a user's very first trace costs, beside torchgen's two processes alone, and where its processor time goes."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from statistics import median as middle

from lib.measure import EVERY, Bench, Row, Sample, median

# makes everything that comes from torchgen's inputs, and nothing else
GENERATE = "from ptexplore.source.runtime import describe, generated; generated.ensure(describe.find_runtime())"
BUDGET = 12  # seconds
_TICKS = os.sysconf("SC_CLK_TCK")
_GENERATORS, _READERS, _PROBE, _ITSELF = "torchgen", "reading the generated C++", "torch's dispatcher and the trace", ""
# a word in the command line of a process, and what that process does
_WORK = {"torchgen_child.py": _GENERATORS, "multiprocessing": _READERS, "probe/main.py": _PROBE}


def first_row(python: str, expression: str, runs: int, progress: Callable[[str], None]) -> Row:
    """The first command from an empty cache, in turns with the generators alone from another one."""
    first: list[Sample] = []
    alone: list[Sample] = []
    shares: dict[str, list[float]] = {}
    for number in range(runs):
        progress(f"first run {number + 1} of {runs}")
        with tempfile.TemporaryDirectory(prefix="ptexplore-bench-cache-") as folder:
            alone.append(Bench(python, Path(folder)).run_python("-c", GENERATE))
        with tempfile.TemporaryDirectory(prefix="ptexplore-bench-cache-") as folder:
            first.append(Bench(python, Path(folder)).ptexplore("trace", expression))
        with tempfile.TemporaryDirectory(prefix="ptexplore-bench-cache-") as folder:
            for work, seconds in _by_work(Bench(python, Path(folder)), expression).items():
                shares.setdefault(work, []).append(seconds)
    note = f"{runs} runs; {median(first) / median(alone):.2f} x torchgen's two processes alone, {median(alone):.2f} s"
    return Row(f'first run, empty cache: trace "{expression}"', median(first), "s", BUDGET, f"{note}. {_split(shares)}")


def _split(shares: Mapping[str, list[float]]) -> str:
    named = [f"{middle(shares[work]):.1f} s {work}" for work in _WORK.values() if work in shares]
    return f"Processor time: {', '.join(named)}, {middle(shares[_ITSELF]):.1f} s ptexplore's own process"


def _by_work(bench: Bench, expression: str) -> dict[str, float]:
    """Seconds of processor time of the first run, by what its processes do."""
    command = (bench.python, "-m", "ptexplore", "trace", expression)
    with subprocess.Popen(
        command, cwd=bench.folder, env=bench.environment, start_new_session=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        watch = _Processors(process.pid)
        if process.wait():
            sys.exit(f"{' '.join(command)} ended with {process.returncode}")
        return watch.stop()


class _Processors:
    """The processor time of all processes below a process, looked at again and again."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._seconds: dict[int, tuple[str, float]] = {}  # by process: its work, and the last reading
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def stop(self) -> dict[str, float]:
        self._done.set()
        self._thread.join()
        by_work: dict[str, float] = {}
        for work, seconds in self._seconds.values():
            by_work[work] = by_work.get(work, 0.0) + seconds
        return by_work

    def _look(self) -> None:
        while not self._done.is_set():
            states = dict(_states())
            below = {self._root}
            for number in sorted(states):  # a process has a higher number than its parent, unless numbers begin anew
                if states[number][0] in below:
                    below.add(number)
            for number in below & states.keys():
                _, seconds, command = states[number]
                work = next((work for word, work in _WORK.items() if word in command), _ITSELF)
                self._seconds[number] = (work, seconds)
            self._done.wait(EVERY)


def _states() -> Iterator[tuple[int, tuple[int, float, str]]]:
    """Yields each process of the system: its number; the parent's, its seconds of processor time, its command line."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                command = (folder / "cmdline").read_text(errors="replace")
                fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
                seconds = (int(fields[11]) + int(fields[12])) / _TICKS
                if command:  # a process that has ended has none
                    yield int(folder.name), (int(fields[1]), seconds, command)
