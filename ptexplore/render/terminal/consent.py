"""Shows all code of somebody else that would run, page by page, and asks for a yes.

Only text that you type after a question is on the screen answers it. Text that was typed or pasted before is thrown
away.
"""

from __future__ import annotations

import os
import select
import shutil
import sys
import time
from typing import TYPE_CHECKING

from ptexplore.safe_text import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_LEAST = 5  # lines of a page
_GOES_ON = "     : "  # before the rest of a line, where other lines have their number
_QUIET = 0.2  # seconds without a key before a question is asked; pasted text comes in pieces
_PATIENCE = 5.0  # seconds; if the keyboard is not quiet by then, no answer is taken


def show_code(lines: Iterable[str]) -> None:
    """Print all lines on stderr, without a question."""
    for line in lines:
        print(clean(line), file=sys.stderr)


def can_ask() -> bool:
    """Whether somebody reads the screen and can answer."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def agreed(origin: str, lines: Sequence[str], question: str) -> bool:
    """Whether the user said yes after all lines were on the screen. Every answer but y or yes means no."""
    print(f"{clean(origin)} has code that you did not type. It would run with your rights:\n", file=sys.stderr)
    width, height = _size()
    rows = [row for line in map(clean, lines) for row in _folded(line, max(width, 20))]
    room = max(height - 3, _LEAST)
    for first in range(0, len(rows), room):
        print("\n".join(rows[first : first + room]), file=sys.stderr)
        left = len(rows) - first - room
        if left > 0 and answer(f"-- {left} more lines: Enter shows them, n means no ") not in ("", "y", "yes"):
            return False
    return answer(f"\n{question} [y/N] ") in ("y", "yes")


def _size() -> tuple[int, int]:
    """Returns columns and rows of the terminal with the question; the output may go elsewhere."""
    try:
        width, height = os.get_terminal_size(sys.stderr.fileno())
    except OSError:
        width, height = 0, 0
    return (width, height) if width and height else shutil.get_terminal_size()


def _folded(line: str, width: int) -> list[str]:
    """Returns a line as rows of the screen. The rest of a long line has an indent where others have their number."""
    rows, rest = [line[:width]], line[width:]
    room = width - len(_GOES_ON)
    while rest:
        rows.append(f"{_GOES_ON}{rest[:room]}")
        rest = rest[room:]
    return rows


def answer(question: str) -> str | None:
    """Ask, and return the text typed after the question, in small letters. None if the input did not become quiet."""
    if not _forget_typed_ahead():
        print("the input does not stop, so ptexplore takes no answer from it", file=sys.stderr)
        return None
    print(question, end="", file=sys.stderr, flush=True)
    return _line().strip().lower()


def _forget_typed_ahead() -> bool:
    """Throw away text that was typed before the question, until no more comes. Returns False if it does not end."""
    import termios

    terminal, end = sys.stdin.fileno(), time.monotonic() + _PATIENCE
    try:
        termios.tcflush(terminal, termios.TCIFLUSH)
        while select.select([terminal], [], [], _QUIET)[0]:
            if time.monotonic() > end:
                return False
            os.read(terminal, 4096)
    except OSError:  # the terminal is gone
        return False
    return True


def _line() -> str:
    """Read one line from the descriptor itself: Python's buffer may hold text from before the question."""
    line = b""
    while not line.endswith(b"\n"):
        try:
            more = os.read(sys.stdin.fileno(), 1)
        except OSError:
            return ""
        if not more:
            return ""  # Ctrl-D
        line += more
    return line.decode("utf-8", "replace")
