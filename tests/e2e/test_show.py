"""`ptexplore show`: the source itself, whole and with its own line numbers; nothing chosen silently."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ
from typing import Any

import pytest

from tests.e2e.conftest import Searching
from tests.harness import CONTROL

pytestmark = pytest.mark.e2e

MIX = "aten/src/ATen/native/Mix.cpp"


def page(mini: Searching, *arguments: str) -> dict[str, Any]:
    data = mini("show", *arguments, "--json").data
    assert data["format"] == 1
    (one,) = data["pages"]
    assert isinstance(one, dict)
    return one


def true_lines(mini: Searching, one: dict[str, Any]) -> list[str]:
    """The lines of a page, checked against the file."""
    first, lines = one["first"], one["lines"]
    assert lines == mini.lines(one["source"]["path"])[first - 1 : first - 1 + len(lines)]
    return list(lines)


@pytest.mark.parametrize(
    "target, first, last",
    [
        ("at::native::use", "int use(Mixer& m) {", "int use(Mixer& m) {"),
        ("native::use", "int use(Mixer& m) {", "int use(Mixer& m) {"),
        ("Mixer", "struct Mixer {", "};"),
        ("Mixer::turn", "  virtual int turn(", "  virtual int turn("),
        ("other::mix", "int mix(int a) { return a; }", "int mix(int a) { return a; }"),
        ("torch.nn.blend.Blend.forward", "    def forward(self, x):", "        return inner(x)"),
        ("Mixer::operator()", "  bool operator()(int a)", "  bool operator()(int a)"),
    ],
)
def test_the_whole_definition(mini_here: Searching, target: str, first: str, last: str) -> None:
    lines = true_lines(mini_here, page(mini_here, target))
    assert lines[0].startswith(first)
    assert lines[-1].startswith(last)


def test_a_template_with_its_head(mini_here: Searching) -> None:
    one = page(mini_here, f"{MIX}:6")
    lines = true_lines(mini_here, one)
    assert lines[0].startswith("template <typename T")
    assert lines[-1] == "}"
    assert one["inside"] == "at::native::mix"
    assert one["mark"] == 6


def test_what_a_macro_made_and_where_it_holds(mini_here: Searching) -> None:
    assert "MAKE_KERNEL" in " ".join(page(mini_here, "shade_kernel")["facts"])
    data = mini_here("show", "choose", "--all", "--json").data
    facts = [" ".join(one["facts"]) for one in data["pages"]]
    assert "defined(USE_CUDA)" in facts[0]
    assert "!(defined(USE_CUDA))" in facts[1]


def test_several_are_listed_and_none_is_chosen(mini_here: Searching) -> None:
    data = mini_here("show", "mix", "--json").data
    assert data["pages"] == []
    names = [one["name"] for one in data["candidates"]]
    assert names.count("at::native::mix") == 2
    assert "other::mix" in names
    text = mini_here("show", "mix").out
    assert "names 3 things" in text
    assert "ptexplore show aten/src/ATen/native/Mix.cpp:" in text
    everything = mini_here("show", "mix", "--all").out
    assert everything.count("Mix.cpp:") >= 3
    assert "return a + b;" in everything


def test_the_next_command_shows_that_candidate(mini_here: Searching) -> None:
    target = re.search(r"next: ptexplore show (\S+)", mini_here("show", "mix").out)
    assert target
    assert page(mini_here, target[1])["inside"] == "at::native::mix"


@pytest.mark.parametrize("target", [MIX, "Mix.cpp", "native/Mix.cpp", "./" + MIX])
def test_files(mini_here: Searching, target: str) -> None:
    one = page(mini_here, target)
    assert one["source"]["path"] == MIX
    assert [*true_lines(mini_here, one), ""] == mini_here.lines(MIX)


def test_a_file_by_its_place_on_this_machine(mini_here: Searching) -> None:
    assert page(mini_here, str(mini_here.root / MIX))["source"]["path"] == MIX


@pytest.mark.parametrize(
    "target, first, count, mark",
    [("Mix.cpp:2-5", 2, 4, None), ("Mix.cpp:16", 16, 1, 16), ("Mix.cpp:16:5", 16, 1, 16),
     ("long.cpp:200", 188, 25, 200), ("Mix.cpp:30-9999", 30, None, None)],
)  # fmt: skip
def test_lines(mini_here: Searching, target: str, first: int, count: int | None, mark: int | None) -> None:
    one = page(mini_here, target)
    lines = true_lines(mini_here, one)
    assert (one["first"], one["mark"]) == (first, mark)
    assert count in (None, len(lines))


def test_numbers_stand_beside_their_lines(mini_here: Searching) -> None:
    shown = mini_here("show", "Mix.cpp:4-9").out
    for number, line in enumerate(mini_here.lines(MIX)[3:9], 4):
        assert re.search(rf"^ +{number}  {re.escape(line)}$", shown, re.MULTILINE), (number, shown)


def test_an_operator(mini_here: Searching) -> None:
    one = page(mini_here, "aten::blend")
    assert one["kind"] == "operator"
    assert one["lines"][0].startswith("- func: blend")


@pytest.mark.parametrize("target", ["Mix.cpp:9999", "Mix.cpp:9-3", "empty.cpp:1"])
def test_lines_that_are_not_there(mini_here: Searching, target: str) -> None:
    mini_here("show", target).three_parts(1, 2)


@pytest.mark.parametrize(
    "target, near", [("at::native::usee", "at::native::use"), ("Mixerr", "Mixer"), ("Mix.cp", "Mix.cpp")]
)
def test_what_is_not_there_gets_the_nearest(mini_here: Searching, target: str, near: str) -> None:
    assert near in mini_here("show", target).three_parts(1).err


@pytest.mark.parametrize(
    "target", ["zzz", "../../../etc/passwd", "/etc/passwd", "/etc/passwd:1", "a\nb", "::", ":", "x" * 5000, "\x1b[2J",
               "é:3", "file:", ":5", "Mix.cpp:0", "Mix.cpp:99999999999999999999"]
)  # fmt: skip
def test_odd_targets(mini_here: Searching, target: str) -> None:
    mini_here("show", "--", target).three_parts(1, 2)


def test_odd_files(mini_here: Searching) -> None:
    assert "int latin_one()" in mini_here("show", "latin_one").out
    assert mini_here("show", "empty.cpp").code == 0
    assert mini_here("show", "oneline.cpp").code == 0
    hostile = mini_here("show", "hostile.cpp")
    assert not CONTROL.search(hostile.out)
    assert "[bold]markup[/bold]" in hostile.out
    assert "\u202e" not in hostile.out


def test_a_file_that_changed_says_so(make_searching: Callable[[], Searching]) -> None:
    own = make_searching()
    file = own.root / MIX
    file.write_text("// one line more\n" + file.read_text(encoding="utf-8"), encoding="utf-8")
    assert "changed after it was indexed" in own("show", "at::native::use").out
    assert "changed after they were indexed" in own("refs", "at::native::use").out + own("refs", "turn").out
    (own.root / "torch/csrc/latin.cpp").unlink()
    own("show", "latin_one").three_parts(1)


def test_a_link_out_of_the_tree_is_not_followed(make_searching: Callable[[], Searching], tmp_path: Path) -> None:
    own = make_searching()
    secret = tmp_path / "secret.cpp"
    secret.write_text("int secret() { return 1; }\n", encoding="utf-8")
    file = own.root / "torch/csrc/blend.cpp"
    file.unlink()
    file.symlink_to(secret)
    own("show", "torch/csrc/blend.cpp").three_parts(1)


# --- terminal, pager, editor ---


def in_terminal(mini: Searching, *arguments: str, env: dict[str, str] | None = None, keys: bytes = b"") -> str:
    """What the command writes to a terminal of 100 columns and 30 lines; `keys` are typed once it writes nothing."""
    child, own = pty.fork()
    if child == 0:
        os.chdir(mini.cli.cwd)
        environment = mini.cli.environment() | {"TERM": "xterm-256color"} | (env or {})
        environment.pop("COLUMNS", None)
        os.execve(sys.executable, [sys.executable, "-m", "ptexplore", *arguments], environment)
    ioctl(own, TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    out, until = b"", time.monotonic() + 30
    while time.monotonic() < until:
        ready, _, _ = select.select([own], [], [], 3.0)
        try:
            part = os.read(own, 1 << 16) if ready else b""
        except OSError:  # the terminal is closed: the command ended
            break
        if ready and not part:
            break
        if not ready and keys:
            os.write(own, keys)
            keys = b""
        out += part
    os.waitpid(child, 0)
    os.close(own)
    return out.decode("utf-8")


SHOW = ("show", "--tree", "mini")


def test_colours_in_a_terminal(mini: Searching) -> None:
    out = in_terminal(mini, *SHOW, "Mix.cpp:1-9", "--no-pager")
    assert "\x1b[" in out
    assert re.sub(r"\x1b\[[0-9;]*m|\x1b\]8;[^\x1b]*\x1b\\", "", out).count("\x1b") == 0
    none = in_terminal(mini, *SHOW, "Mix.cpp:1-9", env={"NO_COLOR": "1"})
    assert "\x1b[3" not in none


def test_inside_a_comment_the_colour_is_that_of_the_comment(mini: Searching) -> None:
    out = in_terminal(mini, *SHOW, "comment.cpp:3-4", "--no-pager")
    assert "\x1b[90m   int inside_comment;\x1b[0m" in out


def test_long_text_goes_through_the_pager(mini: Searching, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    pager = tmp_path / "my pager"
    pager.write_text(f"#!/bin/sh\ncat > '{seen}'\necho paged $1\n", encoding="utf-8")
    pager.chmod(0o755)
    out = in_terminal(mini, *SHOW, "long_function", env={"PAGER": f"'{pager}' -x"})
    assert "paged -x" in out
    assert "line 399" in seen.read_text(encoding="utf-8")
    seen.unlink()
    in_terminal(mini, *SHOW, "other::mix", env={"PAGER": f"'{pager}'"})
    in_terminal(mini, *SHOW, "long_function", "--no-pager", env={"PAGER": f"'{pager}'"})
    assert not seen.exists()


def test_a_pager_that_is_left_early_or_missing_is_no_trouble(mini: Searching) -> None:
    out = in_terminal(mini, *SHOW, "long_function", env={"PAGER": "head -n 3"})
    assert "Traceback" not in out
    assert "error" not in out
    assert "line 399" in in_terminal(mini, *SHOW, "long_function", env={"PAGER": "no-such-pager"})


def test_the_editor_opens_at_the_line(mini: Searching, tmp_path: Path) -> None:
    editor = tmp_path / "vim"
    editor.write_text('#!/bin/sh\nfor word; do echo "<$word>"; done\n', encoding="utf-8")
    editor.chmod(0o755)
    env = {"EDITOR": str(editor)}
    line = page(mini, "at::native::use")["source"]["line"]
    assert mini("show", "at::native::use", "--open", env=env).out == f"<+{line}>\n<{mini.root / MIX}>\n"
    assert mini("show", "Mix.cpp:7", "--open", env=env).out.startswith("<+7>")
    mini("show", "mix", "--open", env=env).three_parts(2)
    mini("show", "at::native::use", "--open", env={"EDITOR": "", "VISUAL": ""}).three_parts(2)
    mini("show", "at::native::use", "--open", env={"EDITOR": "/no/such/editor"}).three_parts(1)
    mini("show", "at::native::use", "--open", env={"EDITOR": "false"}).three_parts(1)


def test_a_reader_that_goes_away(mini: Searching) -> None:
    command = f"{sys.executable} -m ptexplore show --tree mini long.cpp | head -n 1"
    done = subprocess.run(
        command, shell=True, env=mini.cli.environment(), cwd=mini.cli.cwd, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert json.dumps(done.stdout)


def test_a_folder_is_shown_with_what_was_written_and_what_is_inside(mini_here):
    """A short name, a path, JSON; what is no folder is looked up as before."""
    out = mini_here("show", "aten").out
    assert out.startswith("aten/src/ATen  ")
    assert "\nFolders\n" in out
    assert "native" in out
    data = mini_here("show", "torch/nn", "--json").data
    assert data["folder"] == "torch/nn"
    on_disk = [p for p in (mini_here.root / "torch/nn").rglob("*.py") if p.is_file()]
    assert data["total"] == len(on_disk)
    assert {file["path"] for file in data["files"]} == {
        str(p.relative_to(mini_here.root)) for p in on_disk if p.parent.name == "nn"
    }
    assert mini_here("show", "torch/nothing").code != 0
