"""Traced code that abuses its process: it ends as alone, and what ptexplore needs of Python it has."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness import TARGET, InProcess

pytest.importorskip("torch")

PYTHON = TARGET or sys.executable
ABUSES = {
    "a child exits": "if os.fork() == 0: raise SystemExit(7)\n_ = os.wait()",
    "a child falls off its end": "_ = os.fork() or os.fork()\nwhile _ and done() : pass",
    "descriptors are closed": "os.closerange(3, 1000)",
    "all descriptors are closed": "os.closerange(0, 1000)",
    "descriptors are written to": "for n in range(3, 64):\n    try: os.write(n, b'x')\n    except OSError: pass",
    "descriptors are used up": "try:\n    while True: os.dup(0)\nexcept OSError: pass",
    "builtins are replaced": "import builtins; builtins.len = builtins.isinstance = builtins.open = None",
    "functions are replaced": "import json, time; json.dumps = os.write = os.getpid = os.path.realpath = None\n"
    "time.time = time.perf_counter_ns = time.thread_time_ns = None",
    "files are limited": "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4096))",
    "files are limited for good": "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4))",
    "sizes are limited": "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))",
}
DONE = """
def done():
    try:
        os.wait()
    except ChildProcessError:
        return False
    return True
"""


@pytest.mark.parametrize("abuse", ABUSES)
def test_a_script_is_told(command: InProcess, tmp_path: Path, abuse: str) -> None:
    script = tmp_path / "abuses.py"
    script.write_text(f"import os, torch\n{DONE}\nx = torch.ones(3)\n{ABUSES[abuse]}\ny = x.sin().cos()\n")
    alone = subprocess.run([PYTHON, str(script)], capture_output=True, check=False, timeout=240)
    assert alone.returncode in (0, 120), "120: standard output is closed, which Python cannot flush"
    result = command("trace", "--script", str(script), "--json")
    assert result.code == 0, result
    called = [hop["op"] for hop in result.data["hops"] if hop["kind"] == "op"]
    assert [name for name in called if name in ("aten::sin", "aten::cos")] == ["aten::sin", "aten::cos"]


@pytest.mark.parametrize("abuse", ABUSES)
def test_an_expression_is_told(command: InProcess, abuse: str) -> None:
    lines = "\n    ".join(ABUSES[abuse].splitlines())
    setup = f"import os\n{DONE}\ndef f(x):\n    {lines}\n    return x.sin().cos()"
    result = command("trace", "f(a)", "--setup", setup, "--no-native", "--json")
    assert result.code == 0, result
    called = [hop["op"] for hop in result.data["hops"] if hop["kind"] == "op"]
    assert [name for name in called if name in ("aten::sin", "aten::cos")] == ["aten::sin", "aten::cos"]


FORKS = """
import atexit, os, sys, threading, torch

atexit.register(lambda: print("exit function", os.getpid() == first, flush=True))
first = os.getpid()

def child(work):
    number = os.fork()
    if number == 0:
        work()
        return False
    print("status", os.waitpid(number, 0)[1], flush=True)
    return True

def exits(): raise SystemExit(7)
def says(): raise SystemExit("bye")
def fails(): raise ValueError("of the child")
def is_interrupted(): raise KeyboardInterrupt
def becomes(): os.execv("/bin/sh", ["sh", "-c", "echo another program"])
def is_killed(): os.abort()
def forks():
    if os.fork() == 0:
        raise SystemExit(5)
    print("inner", os.wait()[1], flush=True)
    sys.exit(9)
def leaves(): os._exit(4)
def goes_on(): print("computes", torch.ones(2).sum().item(), flush=True)

for work in (exits, says, fails, is_interrupted, becomes, is_killed, forks, leaves, goes_on):
    if not child(work):
        break
else:
    threading.Timer(0.2, lambda: print("a thread is waited for", flush=True)).start()
    print("the end", flush=True)
"""


def test_children_behave_as_alone(command: InProcess, tmp_path: Path) -> None:
    """Their status, what they print, and what Python does at its end."""
    script = tmp_path / "forks.py"
    script.write_text(FORKS)
    alone = subprocess.run(
        [PYTHON, str(script)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True, timeout=240
    )
    result = command("trace", "--script", str(script))
    assert result.code == 0, result
    said = result.err.partition("the script printed:\n")[2]
    assert "".join(said.split()) == "".join(alone.stdout.split()), "but for where lines are broken"


CLASS = """
class Meta(type):
    def __getattribute__(cls, name):
        raise RuntimeError(name)
class C(metaclass=Meta):
    def __add__(self, other):
        return other
def f(c, a):
    return c
"""


@pytest.mark.parametrize(
    ("expression", "kind"), [("C()", "C"), ("C", "Meta"), ("f(C(), a)", "C"), ("C() + a", "torch.Tensor")]
)
def test_a_class_that_cannot_be_asked_is_shown(command: InProcess, expression: str, kind: str) -> None:
    result = command("trace", expression, "--setup", CLASS, "--no-native", "--json")
    assert result.code == 0, result
    assert result.data["result"]["type"] == kind


def test_descriptors_of_the_program_have_their_own_numbers(command: InProcess, tmp_path: Path) -> None:
    script = tmp_path / "numbers.py"
    script.write_text("import os\nprint(sorted(map(int, os.listdir('/proc/self/fd')))[:3], os.dup(0) < 100)\n")
    assert "[0, 1, 2] True" in command("trace", "--script", str(script)).err
    assert os.path.isdir("/proc/self/fd")
