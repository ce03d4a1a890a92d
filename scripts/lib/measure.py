"""What the benchmarks measure with: one run's wall time and peak memory, medians, and the rows of their table."""

from __future__ import annotations

import contextlib
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EVERY = 0.02  # seconds between two looks at a process tree's memory


@dataclass(frozen=True)
class Sample:
    """One run: wall seconds, and the peak resident memory of the largest of its processes, in MB."""

    seconds: float
    megabytes: float
    output: bytes = b""


@dataclass(frozen=True)
class Row:
    """One line of the table; `budget` bounds `value` from above, `at_least` from below; None: nothing is promised."""

    what: str
    value: float
    unit: str
    budget: float | None = None
    note: str = ""
    at_least: bool = False

    @property
    def kept(self) -> bool:
        if self.budget is None:
            return True
        return self.value >= self.budget if self.at_least else self.value <= self.budget

    def cells(self) -> tuple[str, ...]:
        form = {"MB": ".0f", "ms": ".1f", "instructions/s": ",.0f"}.get(self.unit, ".2f")
        verdict = ("kept" if self.kept else "BROKEN") if self.budget is not None else ""
        sign, bound = ">=" if self.at_least else "<=", "" if self.budget is None else f"{self.budget:,g}"
        budget = f"{sign} {bound} {self.unit}" if bound else ""
        return (self.what, f"{self.value:{form}} {self.unit}", budget, verdict, self.note)


class Runner:
    """Runs commands in a neutral folder, as a user's shell would."""

    def __init__(self, folder: Path, environment: dict[str, str] | None = None) -> None:
        dropped = ("PTEXPLORE_", "PYTHON", "GTAGS", "CTAGS")
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(dropped)} | (environment or {})
        self.folder = folder

    def run(self, *command: str, memory: bool = False, ends: Sequence[int] = (0,)) -> Sample:
        """Run one command to its end; one that ends with another code than `ends` ends the bench.

        memory: look at all its processes while it runs; `megabytes` is then the most they held together. That costs
        time: such a run's `seconds` is no figure.
        """
        started = time.perf_counter()
        with subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process:
            watch = Watch(process.pid) if memory else None
            assert process.stdout is not None
            output = process.stdout.read()
            _, status, usage = os.wait4(process.pid, 0)
            seconds = time.perf_counter() - started
            process.returncode = os.waitstatus_to_exitcode(status)
            peak = watch.stop() if watch else usage.ru_maxrss / 1024
        if process.returncode not in ends:
            sys.exit(f"{' '.join(command)} ended with {process.returncode}:\n{output.decode(errors='replace')[-4000:]}")
        return Sample(seconds, peak, output)


class Bench(Runner):
    """Runs commands of one Python under one cache folder."""

    def __init__(self, python: str, cache: Path) -> None:
        super().__init__(cache, {"PTEXPLORE_CACHE": str(cache), "COLUMNS": "100"})
        self.python = python
        self.cache = cache
        cache.mkdir(parents=True, exist_ok=True)
        find = "import importlib.util, sys; sys.exit(importlib.util.find_spec('ptexplore') is None)"
        if subprocess.run([python, "-c", find], cwd=cache, env=self.environment, check=False).returncode:
            self.environment["PYTHONPATH"] = str(ROOT)  # not installed there: run from this checkout

    def run_python(self, *arguments: str) -> Sample:
        """Run the Python itself."""
        return self.run(self.python, *arguments)

    def ptexplore(self, *arguments: str, memory: bool = False) -> Sample:
        """Run one ptexplore command as `python -m ptexplore` does."""
        return self.run(self.python, "-m", "ptexplore", *arguments, memory=memory)


class Watch:
    """Adds up what every process of a session holds, as the kernel shares it out between them (PSS), until stopped."""

    def __init__(self, session: int) -> None:
        self._session = str(session)
        self._peak = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def stop(self) -> float:
        """The most that was held at one look, in MB."""
        self._done.set()
        self._thread.join()
        return self._peak / 1024

    def _look(self) -> None:
        while not self._done.is_set():
            self._peak = max(self._peak, sum(map(held, members(self._session))))
            self._done.wait(EVERY)


def members(session: str) -> Iterator[Path]:
    """The /proc folder of every process of a session."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                # After the name, which may hold anything: state, parent, group, session.
                if (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[3] == session:
                    yield folder


def held(process: Path) -> int:
    """What a process holds in KB: its share of shared pages (or all, where the kernel does not tell); 0 when gone."""
    for name, field in (("smaps_rollup", "Pss:"), ("status", "VmRSS:")):
        with contextlib.suppress(OSError):
            for line in (process / name).read_text(errors="replace").splitlines():
                if line.startswith(field):
                    return int(line.split()[1])
    return 0


def seconds(sample: Sample) -> float:
    """A sample's wall time."""
    return sample.seconds


def median(samples: Sequence[Sample], of: Callable[[Sample], float] = seconds) -> float:
    """The median of one figure of several samples."""
    return statistics.median(of(sample) for sample in samples)
