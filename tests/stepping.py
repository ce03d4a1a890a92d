"""Run pieces of code in forks of one process that has imported torch: each may die of what it does."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 100  # seconds for one piece


@dataclass
class Forks:
    """The process that forks."""

    process: subprocess.Popen[str]

    def __call__(self, code: str) -> str:
        """Run code in a fork, with `torch` and the stepper as `S` at hand; what it printed, stripped."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(code) + "\n")
        self.process.stdin.flush()
        status, said = json.loads(self.process.stdout.readline())
        assert status == 0, (status, said[-2000:])
        return str(said).strip()


@contextlib.contextmanager
def forks(python: str = sys.executable) -> Iterator[Forks]:
    """Start it, with the torch of `python`, and end it."""
    with subprocess.Popen(
        [python, __file__], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield Forks(process)


def _serve() -> None:
    import gc
    import importlib

    import torch

    sys.path.insert(0, str(ROOT))
    names = {"torch": torch, "S": importlib.import_module("ptexplore.probe.stepper")}
    torch.set_num_threads(1)
    gc.freeze()  # forks need not look through it
    for line in sys.stdin:
        reader, writer = os.pipe()
        process = os.fork()
        if process == 0:
            _child(json.loads(line), names, writer)
        os.close(writer)
        with open(reader, encoding="utf-8", errors="replace") as out:
            said = out.read()
        print(json.dumps([os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), said]), flush=True)


def _child(code: str, names: dict[str, object], writer: int) -> None:
    import signal

    signal.alarm(PATIENCE)
    for descriptor in (1, 2):
        os.dup2(writer, descriptor)
    os.close(writer)
    status = 1
    try:
        exec(code, {"__name__": "__main__", **names})
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    _serve()
