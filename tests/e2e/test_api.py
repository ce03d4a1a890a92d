"""The public API on a real torch: its examples run, its Trace is the command's, and mypy checks a user's script."""

from __future__ import annotations

import doctest
import importlib
import json
import subprocess
from pathlib import Path

import pytest

from tests.harness import REPOSITORY, TARGET, Cli

pytestmark = pytest.mark.e2e


def run(cli: Cli, *arguments: str, cwd: Path | None = None) -> str:
    done = subprocess.run(
        [cli.python, *arguments],
        env=cli.environment() | {"PYTHONPATH": str(REPOSITORY)},
        cwd=cwd or cli.cwd,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "module",
    [
        "api.trace", "api.compiled", "api.graph", "api.questions", "api.recording", "api.tensor", "errors",
        "view.trace.counts",
    ],
)  # fmt: skip
@pytest.mark.skipif(TARGET is not None, reason="the examples are about the torch of the Python that runs them")
@pytest.mark.usefixtures("command")
def test_the_examples_run(module: str) -> None:
    results = doctest.testmod(importlib.import_module(f"ptexplore.{module}"))
    assert results.attempted
    assert not results.failed


def test_the_trace_is_the_commands(cli: Cli, tmp_path: Path) -> None:
    """The command and the API give one Trace: the same text, the same document, the same saved file."""
    code = (
        "import ptexplore, sys\n"
        "trace = ptexplore.trace('torch.add(a, b)', grad=True, native=False)\n"
        "trace.save('x.trace')\n"
        "open('x.json', 'w').write(trace.to_json())\n"
        "open('x.txt', 'w').write(trace.text(view='tree'))\n"
        "assert 'torch' not in sys.modules\n"
    )
    run(cli, "-c", code, cwd=tmp_path)
    loaded = cli("trace", "--load", str(tmp_path / "x.trace"), "--json", target=None)
    assert json.loads(loaded.out) == json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))
    shown = cli("trace", "--load", str(tmp_path / "x.trace"), env={"COLUMNS": "160"}, target=None).out
    tree = [line for line in shown.splitlines() if "cpp:" in line]
    assert tree
    assert tree == [line for line in (tmp_path / "x.txt").read_text(encoding="utf-8").splitlines() if "cpp:" in line]


SCRIPT = """\
import ptexplore

trace: ptexplore.Trace = ptexplore.trace("torch.add(a, b)", grad=True)
names: list[str] = [hop.name for hop in trace.find("add_kernel")]
text: str = trace.to_json() + str(trace) + trace.svg()
recording = ptexplore.record()
@recording
def double(number: int) -> int: return 2 * number
four: int = double(2)
with recording as entered:
    same: ptexplore.Recording = entered
traced: ptexplore.Trace = ptexplore.trace(lambda: double(2))
with ptexplore.Workspace(python="/other/bin/python") as workspace:
    schema: str = workspace.op("add.Tensor").operator.schema
"""


def test_mypy_checks_a_users_script(cli: Cli, tmp_path: Path) -> None:
    script = tmp_path / "user.py"
    script.write_text(SCRIPT, encoding="utf-8")
    command = ["-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(script)]
    run(cli, *command, cwd=tmp_path)
    script.write_text(SCRIPT.replace("grad=True", 'grad="yes"'), encoding="utf-8")
    done = subprocess.run([cli.python, *command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert 'Argument "grad" to "trace" has incompatible type "str"' in done.stdout
