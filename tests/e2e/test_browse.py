"""The real program in a real terminal: it opens, reads, and leaves the terminal as it was, however it ends."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import time

import pytest

from tests.harness import TARGET
from tests.terminal import Terminal, plain

HEADER = "aten/src/ATen/native/Blend.h"
LEFT = "\x1b[?1049l"  # the screen that was there before is back
SHOWN = "\x1b[?25h"  # and its cursor

pytestmark = pytest.mark.e2e


def browse(searching, *arguments: str, columns: int = 80, rows: int = 24, **env: str) -> Terminal:
    return Terminal(searching.cli, "browse", "--tree", "mini", *arguments, columns=columns, rows=rows, **env)


def both(one: str, other: str) -> str:
    """What fits once both stand there, whichever was drawn first."""
    return rf"(?s)\A(?=.*?{one})(?=.*?{other})"


def end(terminal: Terminal) -> tuple[int, str, str]:
    """The exit code, everything that came, and what stands there after the screen was given back."""
    terminal.raw, seen = "", terminal.raw
    del seen
    closing = time.monotonic() + 60
    while terminal._read(closing - time.monotonic()):
        pass
    raw = terminal.raw
    code = terminal.child.wait(10)
    assert termios.tcgetattr(terminal.master) == terminal.settings, "as stty -a had it before"
    os.close(terminal.master)
    assert LEFT in raw
    assert SHOWN in raw
    return code, raw, plain(raw.rpartition(LEFT)[2])


def test_reading_at_80_by_24_and_quitting(mini):
    terminal = browse(mini, f"{HEADER}:4")
    terminal.until("BlendIterator")
    terminal.until("version-skew|runtime|mini 2.99")
    terminal.type("?")
    terminal.until("the definition of the name under")
    terminal.type("\x1b")
    time.sleep(0.3)
    terminal.type("q")
    code, _raw, after = end(terminal)
    assert (code, after.strip()) == (0, "")


def test_without_an_editor_the_screen_stays(mini):
    terminal = browse(mini, f"{HEADER}:4", columns=120, EDITOR="", VISUAL="")
    terminal.until("BlendIterator")
    terminal.type("o")
    terminal.until("neither VISUAL nor EDITOR is set")
    terminal.type("q")
    code, _raw, after = end(terminal)
    assert (code, after.strip()) == (0, "")


def test_a_terminal_of_20_columns_and_no_colour(mini):
    terminal = browse(mini, f"{HEADER}:4", columns=20, rows=8, NO_COLOR="1")
    terminal.until("20 columns: widen")
    terminal.type("q")
    code, raw, after = end(terminal)
    assert (code, after.strip()) == (0, "")
    del raw


def test_a_crash_gives_the_terminal_back_and_one_error(make_searching):
    searching = make_searching()
    terminal = browse(searching, f"{HEADER}:4")
    terminal.until("BlendIterator")
    (index,) = (searching.cli.cache / "index").glob("checkout-mini.sqlite")
    with index.open("r+b") as handle:  # what a full disk or a bad one leaves behind
        handle.seek(24)  # the count of changes: what was read before counts no more
        handle.write(os.urandom(4))
        handle.seek(4096)
        handle.write(os.urandom(index.stat().st_size - 4096))
    for key in (":", "7\r", "\r"):
        terminal.type(key)
    code, _raw, after = end(terminal)
    assert code == 3, after
    said = after.strip(":7\r\n ")  # it may end before all keys are typed: the terminal then shows what comes later
    assert said.startswith("error: the index cannot be used")
    assert said.endswith("try:   ptexplore index")
    assert "Traceback" not in after


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_browser_that_is_told_to_end_gives_the_terminal_back(mini, name):
    terminal = browse(mini, f"{HEADER}:4")
    terminal.until("BlendIterator")
    os.kill(terminal.child.pid, getattr(signal, name))
    code, _raw, after = end(terminal)
    assert "Traceback" not in after
    assert code == 128 + getattr(signal, name)


def test_a_terminal_that_is_gone_without_a_word(mini):
    """Not the controlling terminal, so that no signal tells of its end."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    command = [mini.cli.python, "-m", "ptexplore", "browse", "--tree", "mini", f"{HEADER}:4"]
    child = subprocess.Popen(
        command, env=mini.cli.environment() | {"TERM": "xterm"}, cwd=mini.cli.cwd, stdin=slave, stdout=slave,
        stderr=slave, start_new_session=True,
    )  # fmt: skip
    os.close(slave)
    seen = b""
    while b"BlendIterator" not in seen:
        seen += os.read(master, 65536)
    os.close(master)
    assert child.wait(10) == 129


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(("aten",), 2), (("--load", "x.json", "aten"), 2), (("",), 2)],
)
def test_no_terminal_and_wrong_arguments(mini, arguments, code):
    mini("browse", *arguments).three_parts(code)


def test_unknown_targets_are_said_before_the_screen_is_taken(mini, tmp_path):
    (tmp_path / "no.json").write_text(json.dumps({"format": 1}))
    for arguments, told in ((("nothing_is_called_so",), "nothing is named nothing_is_called_so"),
                            (("--load", str(tmp_path / "no.json")), "not a saved trace"),
                            (("--notes", "nowhere", "blending"), "of notes nowhere does not exist")):  # fmt: skip
        terminal = browse(mini, *arguments)
        code, text = terminal.end()
        assert code in (1, 2, 3), text
        assert told in text
        assert "why:" in text
        assert "Traceback" not in text


@pytest.mark.slow
def test_reading_the_real_tree(sourced):
    (name,) = (one["name"] for one in sourced("fetch", "--list", "--json").data["checkouts"])
    target = ("--python", TARGET) if TARGET else ()
    data = str(sourced.cwd.parent / "data")
    arguments = ("browse", "--tree", name, *target, "aten")
    terminal = Terminal(sourced, *arguments, columns=120, rows=40, PTEXPLORE_DATA=data)
    terminal.until("native")
    terminal.type("s")
    terminal.until("type a name")
    terminal.type("@Dispatcher::call")
    terminal.until(r"Dispatcher\.h:\d+")
    time.sleep(1)  # the last letter is answered
    terminal.type("\r")
    terminal.until("aten/src/ATen/core/dispatch/Dispatcher.h  ›  c10::Dispatcher::call")
    terminal.until(rf"{name} · " if TARGET else "the installed torch is ")  # a precision only where it is doubtful
    terminal.type("r")
    terminal.until("uses of c10::Dispatcher::call")
    terminal.until("calls[a-z ]*: [1-9]")
    terminal.type("\r")
    terminal.until(r"/(?!Dispatcher\.h)\w+\.\w+  ›  ")  # the use: the file of the list is drawn anew before
    terminal.type("\x0f")
    terminal.until("aten/src/ATen/core/dispatch/Dispatcher.h  ›  c10::Dispatcher::call")
    terminal.type("s")
    terminal.until("type a name")
    terminal.type("?dispatcher#yaml-entry")
    terminal.until("One YAML entry")
    time.sleep(1)
    terminal.type("\r")
    terminal.until("1/20  One YAML entry")
    terminal.type(">" * 10)
    terminal.until(both("11/20  One call", "aten/src/ATen/core/dispatch/Dispatcher.h  ›  c10::Dispatcher::call"))
    _run_the_lab_of_dispatcher_call(terminal, name)
    fcntl.ioctl(terminal.master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))  # and the kernel tells it
    terminal.type(">" * 10)
    terminal.until("that was the last stop")
    terminal.type("q")
    code, _raw, after = end(terminal)
    assert (code, after.strip()) == (0, "")


def _run_the_lab_of_dispatcher_call(terminal: Terminal, tree: str) -> None:
    """In place, with the real torch; then its Trace, and back from what one of the hops opens."""
    terminal.type("L")
    terminal.until("Which of these comes next")
    terminal.type("\r")
    terminal.until(both("add: passed; T shows the trace", r"passed \(\d+\.\d s\)"), seconds=240)
    terminal.type("T")
    terminal.until(r"▼ torch\.add\(a, b\)")
    terminal.type("vvvv")  # from the path by the modules, the operators and the copies to the tree
    above = terminal.until(r"aten/src/ATen/native/BinaryOps\.cpp:\d+  (?:version-skew|consistent|located)")
    assert "at::meta::structured_add_Tensor::meta" in above
    rows = re.findall("[├└]", above.rpartition("▼ torch.add(a, b)")[2])  # each hangs on one of these
    terminal.type("j" * len(rows))
    terminal.until(rf"aten/src/ATen/native/BinaryOps\.cpp:\d+  {re.escape(tree)} ")  # the row under the cursor, whole
    terminal.type("\r")
    opened = "aten/src/ATen/native/BinaryOps.cpp  ›  at::meta::structured_add_Tensor::meta"
    terminal.until(both(opened, r"TORCH_META_FUNC2 ?\(add, Tensor\)"))
    terminal.type("=")
    terminal.until("aten/src/ATen/core/dispatch/Dispatcher.h  ›  c10::Dispatcher::call")
