"""Show all that would run of what somebody else wrote, page by page, and ask for a yes.

Only what is typed after a question stands on the screen answers it. What was typed ahead, or pasted, is thrown away.
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
_GOES_ON = "     : "  # before the rest of a line, where others have their number
_QUIET = 0.2  # seconds without a key, before a question is put: what is pasted comes in pieces
_PATIENCE = 5.0  # seconds: of a keyboard that is not quiet by then no answer is taken


def show_code(lines: Iterable[str]) -> None:
    """All of it, on stderr, without asking anything."""
    for line in lines:
        print(clean(line), file=sys.stderr)


def can_ask() -> bool:
    """Whether somebody reads the screen and can answer."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def agreed(origin: str, lines: Sequence[str], question: str) -> bool:
    """Whether the user said yes after all lines were on the screen. Anything but y or yes is no."""
    print(f"{clean(origin)} holds code that you did not type. With your rights would run:\n", file=sys.stderr)
    width, height = _size()
    rows = [row for line in map(clean, lines) for row in _folded(line, max(width, 20))]
    room = max(height - 3, _LEAST)
    for first in range(0, len(rows), room):
        print("\n".join(rows[first : first + room]), file=sys.stderr)
        left = len(rows) - first - room
        if left > 0 and answer(f"-- {left} more lines: Enter shows them, n is no ") not in ("", "y", "yes"):
            return False
    return answer(f"\n{question} [y/N] ") in ("y", "yes")


def _size() -> tuple[int, int]:
    """Columns and rows of the terminal in which the question stands; the output may go elsewhere."""
    try:
        width, height = os.get_terminal_size(sys.stderr.fileno())
    except OSError:
        width, height = 0, 0
    return (width, height) if width and height else shutil.get_terminal_size()


def _folded(line: str, width: int) -> list[str]:
    """A line as rows of the screen: what is longer goes on below, where no number of a line can stand."""
    rows, rest = [line[:width]], line[width:]
    room = width - len(_GOES_ON)
    while rest:
        rows.append(f"{_GOES_ON}{rest[:room]}")
        rest = rest[room:]
    return rows


def answer(question: str) -> str | None:
    """What is typed after the question stands there, in small letters; None where nothing of that kind came."""
    if not _forget_typed_ahead():
        print("input goes on coming: no answer is taken from it", file=sys.stderr)
        return None
    print(question, end="", file=sys.stderr, flush=True)
    return _line().strip().lower()


def _forget_typed_ahead() -> bool:
    """Throw away what was typed before the question, until nothing comes; False where it does not end."""
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
    """One line, read from the descriptor itself: a buffer of Python's may hold what came before the question."""
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
