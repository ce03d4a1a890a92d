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
from collections.abc import Iterator
from contextlib import contextmanager
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


def installed(env: dict[str, str], shell: str) -> str:
    """What `ptexplore --install-completion` puts into the home folder when it is run in `shell`; its file."""
    command = [need(shell), "-c", "ptexplore --install-completion; true"]  # two commands: the shell stays the parent
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert "installed" in done.stdout, done
    places = {"bash": ".bash_completions/ptexplore.sh", "zsh": ".zfunc/_ptexplore"}
    return env["HOME"] + "/" + places.get(shell, ".config/fish/completions/ptexplore.fish")


@contextmanager
def in_terminal(env: dict[str, str], cwd: Path, command: list[str]) -> Iterator[int]:
    """A shell in a terminal of its own."""
    need(command[0])
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(cwd)
        os.execvpe(command[0], command, env | {"TERM": "xterm", "PS1": "READY> ", "COLUMNS": "200", "LINES": "60"})
    try:
        yield terminal
    finally:
        os.close(terminal)
        os.waitpid(child, 0)


@pytest.mark.parametrize(
    "typed, expected",
    [
        ("ptexplore sh", "ptexplore show "),
        ("ptexplore show at::native::us", "ptexplore show at::native::use "),
        ("ptexplore show at::native::Mixer::operator\\(", "ptexplore show at::native::Mixer::operator\\(\\) "),
        ("ptexplore show 'at::native::us", "ptexplore show 'at::native::use' "),
        ('ptexplore show "at::native::us', 'ptexplore show "at::native::use" '),
        ("ptexplore refs Fast", "ptexplore refs FastMixer "),
        ("X=1 ptexplore refs Fast", "X=1 ptexplore refs FastMixer "),
        ("ptexplore refs --tree mini Fast", "ptexplore refs --tree mini FastMixer "),
        ("ptexplore show --tr", "ptexplore show --tree "),
        ("ptexplore show --tree mi", "ptexplore show --tree mini "),
        ("ptexplore find --kind enumer", "ptexplore find --kind enumerator "),
        ("ptexplore show BlendK", "ptexplore show BlendKernel.cpp "),
        ("ptexplore show aten/src/ATen/native/M", "ptexplore show aten/src/ATen/native/Mix.cpp "),
        ("ptexplore notes ch", "ptexplore notes check "),
        ("ptexplore nonsense x", "ptexplore nonsense x"),
        ("ptexplore show $(touch pwned", "ptexplore show $(touch pwned"),
        ("ptexplore trace --load saved-tr", "ptexplore trace --load saved-trace.json "),
    ],
)
def test_bash(mini: Searching, shell_env: dict[str, str], tmp_path: Path, typed: str, expected: str) -> None:
    """A real bash in a terminal: the line as it stands after the tab key."""
    script = installed(shell_env, "bash")
    (tmp_path / "saved-trace.json").write_text("{}", encoding="utf-8")
    with in_terminal(shell_env, tmp_path, ["bash", "--norc", "--noprofile"]) as terminal:
        show = "show-line() { printf 'LINE<%s>\\n' \"$READLINE_LINE\"; }; bind -x '\"\\C-x\": show-line'"
        os.write(terminal, f"source '{script}'; {show}; echo SET''UP\n".encode())
        read_until(terminal, "SETUP\r\n")
        os.write(terminal, typed.encode() + b"\t\x18")
        out = read_until(terminal, ">\r\n", after="LINE<")
    assert re.findall(r"LINE<(.*?)>\r", out)[-1] == expected
    assert [file.name for file in tmp_path.iterdir()] == ["saved-trace.json"]


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
    script = f"source {installed(shell_env, 'fish')}; complete -C $argv[1]"
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
    folder = str(Path(installed(shell_env, "zsh")).parent)
    setup = f"fpath+={folder}; autoload -Uz compinit && compinit -u -d {shell_env['HOME']}/.zcompdump; echo SET''UP"
    with in_terminal(shell_env, tmp_path, ["zsh", "-f"]) as terminal:
        os.write(terminal, f"{setup}\n".encode())
        read_until(terminal, "SETUP\r\n")
        # The widget at the end prints the whole line, so that what the editor drew does not matter.
        os.write(
            terminal, b"show-line() { print -r -- \"LINE<$BUFFER>\"; }; zle -N show-line; bindkey '^X' show-line\n"
        )
        read_until(terminal, "READY> ")
        # typer's script, loaded by its first use, defines its function there and completes from the second use on.
        os.write(terminal, b"ptexplore --ver\t\x18")
        read_until(terminal, ">\r\n", after="LINE<")
        os.write(terminal, b"\x15" + typed.encode() + b"\t\x18")
        out = read_until(terminal, ">\r\n", after="LINE<")
    line = re.findall(r"LINE<(.*?)>\r", out)[-1].rstrip()
    assert line == expected
    assert list(tmp_path.iterdir()) == []


def read_until(terminal: int, mark: str, after: str = "") -> str:
    out, until = "", time.monotonic() + 30
    while time.monotonic() < until:
        ready, _, _ = select.select([terminal], [], [], 0.5)
        if ready:
            out += os.read(terminal, 1 << 16).decode("utf-8", "replace")
        if mark in (out.partition(after)[2] if after else out):
            return out
    raise AssertionError(f"no {mark!r} in {out[-2000:]!r}")


ASKED = {"_PTEXPLORE_COMPLETE": "complete_bash", "COMP_WORDS": "ptexplore\nshow\nat\n::\nnative\n::\nus"}


@pytest.mark.parametrize(
    "asked",
    [
        {"_PTEXPLORE_COMPLETE": "complete_bash"},
        {"_PTEXPLORE_COMPLETE": "complete_bash", "COMP_WORDS": "ptexplore", "COMP_CWORD": "x"},
        {"_PTEXPLORE_COMPLETE": "complete_zsh"},
        {"_PTEXPLORE_COMPLETE": "complete_tcsh"},
        {"_PTEXPLORE_COMPLETE": "nonsense"},
        {"_PTEXPLORE_COMPLETE": "complete_fish", "_TYPER_COMPLETE_ARGS": "ptexplore show '"},
    ],
)
def test_it_never_says_anything_else(mini: Searching, asked: dict[str, str]) -> None:
    assert mini.cli(env=asked).err == ""


def test_without_any_index_there_is_nothing_and_nothing_is_built(mini: Searching, tmp_path: Path) -> None:
    env = ASKED | {"COMP_CWORD": "6"}
    assert mini.cli(env=env).out == "use\n"
    result = mini.cli(env=env | {"PTEXPLORE_CACHE": str(tmp_path / "none")})
    assert (result.out.strip(), result.err) == ("", "")
    assert not list(tmp_path.rglob("*.sqlite"))


def test_what_a_shell_would_expand_is_not_offered(mini: Searching, tmp_path: Path) -> None:
    """typer's script for zsh evaluates what it gets, and a tour's title is another's text."""
    (tmp_path / "notes/tours").mkdir(parents=True)
    tour = '---\nid: danger\ntitle: \\$(touch pwned) `touch pwned` [/b] "x\n---\n'
    (tmp_path / "notes/tours/danger.md").write_text(tour, encoding="utf-8")
    asked = {"_PTEXPLORE_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": "ptexplore tour dan"}
    out = mini.cli(env=asked, cwd=tmp_path).out
    assert "danger" in out
    assert not set("$`\\") & set(out.replace("\\:", ""))
