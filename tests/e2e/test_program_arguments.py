"""A program with arguments, a module, standard input, and its output while it runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness import TARGET, Cli, InProcess

TORCH = ("--python", TARGET) if TARGET else ()
QUICK = ("--native-budget", "0", "--view", "modules")
SCRIPT = """\
import sys
import torch

print("arguments:", sys.argv[1:], "input:", sys.stdin.read().split())
torch.ones(2).add(1)
"""


@pytest.fixture
def package(cli: Cli) -> Path:
    """A package `small` with a module `train` in the current folder."""
    folder = cli.cwd / "small"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "other.py").write_text("WIDTH = 3\n")
    (folder / "train.py").write_text(
        "import sys\nimport torch\nfrom . import other\n\n"
        "def work(width):\n    return torch.ones(width).mul(2)\n\n"
        "work(other.WIDTH)\nprint(__name__, __spec__.name, sys.argv[1:], sys.argv[0] == __file__, sys.path[0])\n"
    )
    return folder


def plain(folder: Path, *words: str) -> str:
    """What plain Python prints."""
    command = [sys.executable, *words]
    return subprocess.run(
        command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
    ).stdout


def test_a_script_gets_the_words_behind_the_dashes(cli: Cli) -> None:
    (cli.cwd / "train.py").write_text(SCRIPT)
    words = ("--epochs", "2", "--open", "a b")
    result = cli("trace", "--script", "train.py", "--save", "kept.json", *QUICK, *TORCH, "--", *words, target=None)
    assert result.code == 0, result.err
    assert plain(cli.cwd, "train.py", *words) == result.err
    assert result.out.splitlines()[0].startswith("train.py --epochs 2 --open 'a b'")
    data = cli("trace", "--load", "kept.json", "--json", target=None).data
    assert data["expression"] == "--script train.py -- --epochs 2 --open 'a b'"


def test_a_module_runs_as_python_runs_it(cli: Cli, package: Path) -> None:
    result = cli("trace", "-m", "small.train", "--save", "kept.json", *QUICK, *TORCH, "--", "--deep", target=None)
    assert result.code == 0, result.err
    assert plain(cli.cwd, "-m", "small.train", "--deep") == result.err
    assert result.out.splitlines()[0].startswith("small.train --deep")
    operators = cli("trace", "--load", "kept.json", "--view", "operators", target=None).out
    assert re.search(r"mul\.Tensor .*\n.*; train\.py:6\n", operators), operators
    assert "/small/train.py:1\n" in result.out


def test_a_module_that_is_not_there(command: InProcess) -> None:
    result = command("trace", "-m", "small.nothing", *QUICK)
    assert result.code == 1
    assert "No module named" in result.out + result.err


@pytest.mark.parametrize("is_pipe", [True, False])
def test_standard_input_reaches_the_script(cli: Cli, is_pipe: bool) -> None:
    (cli.cwd / "train.py").write_text(SCRIPT)
    (cli.cwd / "input").write_text("one two")
    arguments = ["-m", "ptexplore", "trace", "--script", "train.py", *QUICK, *TORCH, "--twice", "--", "x"]
    with (cli.cwd / "input").open() as file:
        ran = subprocess.run(
            [cli.python, *arguments], env=cli.environment(), cwd=cli.cwd, capture_output=True, text=True, check=False,
            **({"input": "one two"} if is_pipe else {"stdin": file}),
        )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.count("arguments: ['x'] input: ['one', 'two']") == 1  # the second run is not shown
    assert "the same output" in " ".join(ran.stdout.split()), ran.stdout


def test_output_is_shown_while_the_script_runs(cli: Cli) -> None:
    """The script waits for a file that is only made after its first line was seen."""
    (cli.cwd / "train.py").write_text(
        "import os, time, torch\nprint('first', flush=True)\n"
        "while not os.path.exists('go'):\n    time.sleep(0.01)\nprint('second')\n"
    )
    with subprocess.Popen(
        [cli.python, "-m", "ptexplore", "trace", "--script", "train.py", *QUICK, *TORCH, "--save", "t.trace"],
        env=cli.environment(), cwd=cli.cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as running:  # fmt: skip
        assert running.stderr is not None
        assert running.stdout is not None
        assert running.stderr.readline() == b"first\n"
        (cli.cwd / "go").write_text("")
        assert running.stderr.read() == b"second\n"
        assert b"first" not in running.stdout.read()
    assert "first" not in cli("trace", "--load", "t.trace").err
    assert "first\n  second" in cli("trace", "--load", "t.trace", "--output").err


@pytest.mark.parametrize(
    "arguments",
    [
        ("torch.add(a, b)", "--script", "train.py"),
        ("-m", "small.train", "--script", "train.py"),
        ("torch.add(a, b)", "--", "x"),
    ],
)
def test_a_trace_is_of_one_thing(command: InProcess, arguments: tuple[str, ...]) -> None:
    command("trace", *arguments).three_parts(2)
