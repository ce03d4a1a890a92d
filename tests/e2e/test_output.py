"""What people and pipes get: width, colour, links, help, exit codes; and that reading commands never import torch."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import time

import pytest

from tests.harness import TARGET, Cli, InProcess

pytestmark = pytest.mark.e2e

LINK = re.compile(r"\x1b\]8;[^\x1b\x07]*(?:\x1b\\|\x07)")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.mark.parametrize("columns", [60, 100, 200])
def test_no_line_is_wider_than_the_terminal(command: InProcess, columns: int) -> None:
    for arguments in (("trace", "torch.add(a, b)", "--grad"), ("op", "add.Tensor"), ("doctor",)):
        result = command(*arguments, env={"COLUMNS": str(columns)})
        assert result.code == 0, result
        # A path that stands alone is never broken: it is there to be copied.
        wide = [line for line in result.out.splitlines() if len(line) > columns and " " in line.strip(" \\")]
        assert not wide, (arguments, wide)


def test_a_pipe_gets_plain_text_with_landmarks_file_and_line(cli: Cli) -> None:
    result = cli("trace", "torch.add(a, b)")
    assert "\x1b" not in result.out
    assert "\x1b" not in result.err
    text = result.out
    assert re.search(r"VariableType_\d+\.cpp:\d+", text), text
    assert re.search(r"RegisterCPU\w*\.cpp:\d+", text), text
    assert "ptexplore" in text.splitlines()[-1] or "ptexplore" in "\n".join(text.splitlines()[-4:]), text


def in_terminal(cli: Cli, *arguments: str, env: dict[str, str] | None = None) -> str:
    """What the command writes to a real terminal of 100 columns."""
    parent, child = pty.openpty()
    environment = cli.environment() | {"TERM": "xterm-256color"} | (env or {})
    command = [cli.python, "-m", "ptexplore", *arguments]
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=child, stderr=subprocess.PIPE, env=environment, cwd=cli.cwd
    )
    os.close(child)
    collected = b""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if not select.select([parent], [], [], 1)[0]:
            continue
        try:
            block = os.read(parent, 65536)
        except OSError:  # EIO: the other side is closed
            break
        if not block:
            break
        collected += block
    process.communicate(timeout=30)
    os.close(parent)
    assert process.returncode == 0, collected
    return collected.decode()


def test_a_terminal_gets_colour_and_links(cli: Cli) -> None:
    text = in_terminal(cli, "trace", "torch.add(a, b)", "--no-native")
    assert COLOUR.search(text)
    assert LINK.search(text)


def test_no_color_is_respected(cli: Cli, command: InProcess) -> None:
    saved = str(cli.cwd / "saved.json")
    assert command("trace", "torch.add(a, b)", "--save", saved).code == 0
    text = in_terminal(cli, "trace", "--load", saved, env={"NO_COLOR": "1"})
    colours = [c for c in COLOUR.findall(text) if re.search(r"[34][0-9]", c)]
    assert not colours


def test_a_closed_pipe_is_no_error(cli: Cli) -> None:
    python = f"--python {TARGET}" if TARGET else ""
    trace = f"{cli.python} -m ptexplore trace 'torch.add(a, b)' --no-native --full --json {python}"
    command = f"{trace} | head -c 1 >&2; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command], env=cli.environment(), cwd=cli.cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done
    assert done.stderr == "{"


READING = [("--help",), ("--version",), ("trace", "--help"), ("op", "--help"), ("doctor", "--help")]


@pytest.mark.parametrize("arguments", [*READING, ("op", "add"), ("op", "add", "--json")], ids=" ".join)
def test_torch_is_not_imported(cli: Cli, arguments: tuple[str, ...]) -> None:
    """The variable makes every Python of this run, children too, list what it imports."""
    result = cli(*arguments, env={"PYTHONPROFILEIMPORTTIME": "1"})
    assert result.code == 0, result
    imported = {line.rsplit("|", 1)[-1].strip() for line in result.err.splitlines() if line.startswith("import time:")}
    assert "typer" in imported
    heavy = {"torch", "torchgen", "numpy", "textual", "jinja2", "clang", "msgspec", "pydantic"}
    if arguments[0] == "op":  # why a place of it is not exact is a record of msgspec's
        heavy.remove("msgspec")
    assert not heavy & {name.split(".")[0] for name in imported}
    if arguments in READING:
        assert not {"rich", "sqlite3", "yaml"} & {name.split(".")[0] for name in imported}
        rooms = {name for name in imported if name.startswith(("ptexplore.workspace", "ptexplore.model."))}
        assert rooms <= {"ptexplore.model.options"}, "the table of a command's options, which holds nothing else"
    else:  # a card is no trace, and what is as it was is not read again
        trace = {"ptexplore.model.trace", "ptexplore.resolve.claims", "ptexplore.model.observed", "ptexplore.capture"}
        making = {"ptexplore.index.build", "ptexplore.index.workers", "ptexplore.source.fetch.fetch"}
        assert not (trace | making) & imported


def test_version(cli: Cli) -> None:
    assert re.fullmatch(r"ptexplore \d+\.\d+\.\d+\S*\n", cli("--version").out)


@pytest.mark.parametrize(
    "arguments",
    [
        ("nonsense",),
        ("trace",),
        ("trace", "a", "--nonsense"),
        ("op",),
        ("trace", "a", "--timeout", "soon"),
        ("doctor", "x"),
    ],
    ids=" ".join,
)
def test_wrong_usage_is_exit_2(cli: Cli, arguments: tuple[str, ...]) -> None:
    result = cli(*arguments, target=None)
    assert result.code == 2, result
    assert "error: " in result.err
    assert "Traceback" not in result.err
    assert result.out == ""


def test_json_is_one_document_with_a_format(command: InProcess) -> None:
    formats = {("trace", "a + b"): 6, ("op", "add.Tensor"): 1, ("op", "add"): 1, ("doctor",): 1}
    for arguments, number in formats.items():
        result = command(*arguments, "--json")
        assert result.code == 0, result
        assert json.loads(result.out)["format"] == number
        assert "\x1b" not in result.out
