"""Completion in the shells themselves: names with colons and signs, options, files; nothing is ever evaluated."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.e2e.conftest import Searching

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="session")
def shell_env(mini: Searching, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which `ptexplore` is a command."""
    folder = tmp_path_factory.mktemp("bin")
    command = folder / "ptexplore"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ptexplore "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    home = tmp_path_factory.mktemp("home")
    return mini.cli.environment() | {"PATH": f"{folder}:{os.environ['PATH']}", "HOME": str(home), "TERM": "dumb"}


def need(shell: str) -> str:
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"{shell} is not installed")
    return found


def bash(env: dict[str, str], line: str, cwd: Path) -> list[str]:
    """What bash's own completion function puts into COMPREPLY for a line with the cursor at its end."""
    script = r"""
source <(ptexplore completion bash)
COMP_LINE="$1" COMP_POINT=${#1} COMP_WORDBREAKS=$' \t\n"'"'"'><=;|&(:'
_ptexplore ptexplore
printf '%s\n' "${COMPREPLY[@]}"
"""
    done = subprocess.run(
        [need("bash"), "--norc", "-c", script, "bash", line],
        env=env,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == "", done.stderr
    return done.stdout.split("\n")[:-1]


@pytest.mark.parametrize(
    "line, expected",
    [
        ("ptexplore sh", ["show"]),
        ("ptexplore show at::native::us", ["native::use"[8:]]),
        ("ptexplore show 'at::native::us", ["at::native::use"]),
        ('ptexplore show "at::native::us', ["at::native::use"]),
        ("ptexplore refs Fast", ["FastMixer"]),
        ("X=1 ptexplore refs Fast", ["FastMixer"]),
        ("ptexplore show --tree mini at::native::Mixer::operator", [r"operator\(\)", "operator+="]),
        ("ptexplore show --tr", ["--tree"]),
        ("ptexplore show --tree ", ["mini", "runtime"]),
        ("ptexplore find --kind enumer", ["enumerator"]),
        ("ptexplore completion ", ["bash", "zsh", "fish"]),
        ("ptexplore show BlendK", ["BlendKernel.cpp"]),
        ("ptexplore show aten/src/ATen/native/M", ["aten/src/ATen/native/Mix.cpp"]),
        ("ptexplore nonsense x", []),
        ("ptexplore show $(touch pwned", []),
        ("ptexplore show `touch pwned`", []),
    ],
)
def test_bash(mini: Searching, shell_env: dict[str, str], tmp_path: Path, line: str, expected: list[str]) -> None:
    assert [one for one in bash(shell_env, line, tmp_path) if one] == expected
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "line, expected",
    [
        ("ptexplore sh", ["show"]),
        ("ptexplore show at::native::us", ["at::native::use"]),
        (
            "ptexplore show at::native::Mixer::operator",
            ["at::native::Mixer::operator()", "at::native::Mixer::operator+="],
        ),
        ("ptexplore show --tr", ["--tree"]),
        ("ptexplore show 'at::native::us", ["at::native::use"]),
        ("ptexplore show '$(touch pwned", []),
    ],
)
def test_fish(mini: Searching, shell_env: dict[str, str], tmp_path: Path, line: str, expected: list[str]) -> None:
    script = "ptexplore completion fish | source; complete -C $argv[1]"
    done = subprocess.run(
        [need("fish"), "-N", "-c", script, line],
        env=shell_env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    found = [one.partition("\t")[0] for one in done.stdout.splitlines()]
    assert sorted(one.lstrip("'") for one in found) == sorted(expected), (found, done.stderr)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "typed, expected",
    [
        ("ptexplore show at::native::us", "ptexplore show at::native::use"),
        ("ptexplore show 'at::native::us", "ptexplore show 'at::native::use'"),
        ("ptexplore show Fast", "ptexplore show FastMixer"),
        ("ptexplore show at::native::Mixer::operator\\(", "ptexplore show at::native::Mixer::operator\\(\\)"),
        ("ptexplore show --tre", "ptexplore show --tree"),
    ],
)
def test_zsh(mini: Searching, shell_env: dict[str, str], tmp_path: Path, typed: str, expected: str) -> None:
    """A real zsh in a terminal: the line as it stands after the tab key."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(tmp_path)
        env = shell_env | {"TERM": "xterm", "PS1": "READY> ", "COLUMNS": "200"}
        os.execve(shutil.which("zsh") or "/bin/false", ["zsh", "-f"], env)
    if shutil.which("zsh") is None:
        os.waitpid(child, 0)
        pytest.skip("zsh is not installed")
    dump = shell_env["HOME"] + "/.zcompdump"
    setup = f"autoload -Uz compinit && compinit -u -d {dump}; source <(ptexplore completion zsh); echo SET''UP"
    try:
        os.write(terminal, f"{setup}\n".encode())
        read_until(terminal, "SETUP\r\n")
        # The widget at the end prints the whole line, so that what the editor drew does not matter.
        os.write(
            terminal, b"show-line() { print -r -- \"LINE<$BUFFER>\"; }; zle -N show-line; bindkey '^X' show-line\n"
        )
        read_until(terminal, "READY> ")
        os.write(terminal, typed.encode() + b"\t\x18")
        out = read_until(terminal, ">\r\n", after="LINE<")
    finally:
        os.close(terminal)
        os.waitpid(child, 0)
    line = re.findall(r"LINE<(.*?)>\r", out)[-1].rstrip()
    assert line == expected


def read_until(terminal: int, mark: str, after: str = "") -> str:
    out, until = "", time.monotonic() + 30
    while time.monotonic() < until:
        ready, _, _ = select.select([terminal], [], [], 0.5)
        if ready:
            out += os.read(terminal, 1 << 16).decode("utf-8", "replace")
        if mark in (out.partition(after)[2] if after else out):
            return out
    raise AssertionError(f"no {mark!r} in {out[-2000:]!r}")


@pytest.mark.parametrize("arguments", [(), ("bash",), ("lines",), ("x", "y"), ("lines", "show", "\x00"[:0])])
def test_it_never_says_anything_else(mini: Searching, arguments: tuple[str, ...]) -> None:
    result = mini.cli("__complete", *arguments)
    assert result.err == ""


def test_without_any_index_there_is_nothing_and_nothing_is_built(mini: Searching, tmp_path: Path) -> None:
    empty = tmp_path / "none"
    result = mini.cli("__complete", "lines", "show", "at::native::us", env={"PTEXPLORE_CACHE": str(empty)})
    assert (result.out, result.err) == ("", "")
    assert not list(tmp_path.rglob("*.sqlite"))


def test_files_are_left_to_the_shell(mini: Searching) -> None:
    assert mini.cli("__complete", "lines", "show", "--python", "/us").code == 10


def test_a_shell_that_is_none(mini: Searching) -> None:
    mini.cli("completion", "powershell").three_parts(2)
