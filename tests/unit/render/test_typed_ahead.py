"""A question about what somebody else wrote is answered by what is typed after it, and by nothing that came before."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import threading

import pytest

ASKS = """
import sys
from ptexplore.render.terminal.consent import agreed
print("RAN" if agreed("x.json", [f"line {n}" for n in range(100)], "run this?") else "NOT RUN", flush=True)
"""
WRITES = """
from ptexplore.cli.notes import _agreed
print("RAN" if _agreed("anchors.lock") else "NOT RUN", flush=True)
"""
ENDS = ("RAN\r\n", "NOT RUN\r\n")


def asked(code: str, ahead: str = "", answers: tuple[str, ...] = (), *, keeps_on: bool = False) -> str:
    """What a child in a terminal of 24 lines prints that asks; `answers` are typed where a question stands."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    if len(ahead) < 4000:
        os.write(master, ahead.encode())
    child = subprocess.Popen([sys.executable, "-c", code], stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    stop = threading.Event()

    def paste() -> None:
        """A paste that is longer than the terminal's queue goes on while the questions are put."""
        text = ahead.encode()
        while text and not stop.is_set():
            if select.select([], [master], [], 0.05)[1]:
                text = text[os.write(master, text[:512]) :]
            if keeps_on and not text:
                text = ahead.encode()

    pasting = threading.Thread(target=paste)
    if len(ahead) >= 4000:
        pasting.start()
    said, waiting = "", list(answers)
    try:
        while not said.endswith(ENDS) and select.select([master], [], [], 30)[0]:
            try:
                said += os.read(master, 65536).decode()
            except OSError:
                break
            if said.endswith(("means no ", "[y/N] ")):
                if not waiting and not ahead:
                    break
                os.write(master, waiting.pop(0).encode() if waiting else b"\n")
    finally:
        stop.set()
        child.kill()
        child.wait()
        if pasting.ident is not None:
            pasting.join()
        os.close(master)
    return said


def test_an_answer_after_the_question_counts() -> None:
    said = asked(ASKS, answers=("\n",) * 4 + ("y\n",))
    assert "line 99" in said
    assert said.endswith("\r\nRAN\r\n")
    assert asked(ASKS, answers=("\n", "n\n")).endswith("NOT RUN\r\n")
    assert asked(ASKS, answers=("\n",) * 4 + ("\x04",)).endswith("NOT RUN\r\n")
    assert asked(WRITES, answers=("y\n",)).endswith("\r\nRAN\r\n")


@pytest.mark.parametrize("code", [ASKS, WRITES], ids=["run", "write"])
@pytest.mark.parametrize("ahead", ["y\n" * 20, "y\n" * 10_000], ids=["typed ahead", "a long paste"])
def test_what_came_before_it_does_not(code: str, ahead: str) -> None:
    """Enter is what the questions get here; the y's are all of before."""
    said = asked(code, ahead)
    assert said.endswith("NOT RUN\r\n"), said[-500:]


def test_a_keyboard_that_is_never_quiet_gets_a_no() -> None:
    said = asked(ASKS, "y\n" * 10_000, keeps_on=True)
    assert "the input does not stop" in said
    assert "NOT RUN" in said, "after it the echo of what is typed goes on"
    assert "RAN" not in said


def test_pages_are_of_the_terminal_that_the_question_stands_in() -> None:
    """Where the output goes to a file, too: of 24 rows, five pages and the question."""
    asks = f"import os, sys\nsys.stdout = open(os.devnull, 'w')\n{ASKS.replace('flush=True', 'file=sys.stderr')}"
    asks = asks.replace("import sys\nfrom", "from").replace("import os, sys", "import os, sys, fcntl, struct, termios")
    size = "fcntl.ioctl(2, termios.TIOCSWINSZ, struct.pack('HHHH', 8, 40, 0, 0))\n"
    said = asked(asks.replace("\nfrom", f"\n{size}from", 1), answers=("\n", "n\n"))
    assert "-- 95 more lines" in said
    assert "-- 90 more lines" in said
    assert said.endswith("NOT RUN\r\n")


def test_a_line_is_one_row_whatever_a_name_in_it_holds() -> None:
    """A file's name with line feeds pushed code off the screen before the question, and forged parts of it."""
    name = "zz" + "\\n" * 40 + "the expression:\\n    torch.ones(1)\\n.md"
    asks = ASKS.replace('f"line {n}" for n in range(100)', f'"evil()", "# the lab of {name}", "last"')
    said = asked(asks, answers=("y\n",))
    assert said.endswith("\r\nRAN\r\n")
    rows = said[said.index("evil()") : said.index("[y/N]")].split("\r\n")
    assert len(rows) < 10, "all of it is on one screen"
    assert not any(row.startswith("the expression:") for row in rows)
