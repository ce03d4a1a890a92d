"""Show all that would run of what somebody else wrote, page by page, and ask for a yes."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

from ptexplore.safe_text import clean, clean_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_LEAST = 5  # lines of a page


def show_code(lines: Iterable[str]) -> None:
    """All of it, on stderr, without asking anything."""
    for line in lines:
        print(clean_lines(line), file=sys.stderr)


def can_ask() -> bool:
    """Whether somebody reads the screen and can answer."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def agreed(origin: str, lines: Sequence[str], question: str) -> bool:
    """Whether the user said yes after all lines were on the screen. Anything but y or yes is no."""
    print(f"{clean(origin)} holds code that you did not type. With your rights would run:\n", file=sys.stderr)
    width, height = shutil.get_terminal_size()
    rows = [row for line in map(clean_lines, lines) for row in _folded(line, max(width, 20))]
    room = max(height - 3, _LEAST)
    for first in range(0, len(rows), room):
        print("\n".join(rows[first : first + room]), file=sys.stderr)
        left = len(rows) - first - room
        if left > 0 and _answer(f"-- {left} more lines: Enter shows them, n is no ") not in ("", "y", "yes"):
            return False
    return _answer(f"\n{question} [y/N] ") in ("y", "yes")


def _folded(line: str, width: int) -> list[str]:
    """A line as rows of the screen: what is longer goes on below, set in."""
    rows, rest = [line[:width]], line[width:]
    while rest:
        rows.append(f"    {rest[: width - 4]}")
        rest = rest[width - 4 :]
    return rows


def _answer(question: str) -> str:
    print(question, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower()
