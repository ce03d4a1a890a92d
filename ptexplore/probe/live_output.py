"""Shows the output of a program while it runs: without the profiler's own lines and without frames of ptexplore."""

from __future__ import annotations

import re
from contextlib import suppress

from .taken import os, time
from .whose import OURS

# Lines of the profiler itself (kineto's logger). Such a line may begin on a line that the user's code left open:
# "ERROR:2026-01-31 12:00:00 77:77 Name.cpp:47] text".
NOISE = re.compile(
    rb"(?:USDT|VERBOSE|INFO|WARNING|ERROR|STAGE):\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \d+:\d+ [\w.]+:\d+\] .*(?:\n|\Z)"
)
# A frame of ptexplore, with its source lines, in a traceback or stack that Python printed in the user's code.
FRAME = re.compile(
    rb'^([ \t]*)File "%s[^"\n]*", line \d+, in .*(?:\n|\Z)(?:\1[ \t]+\S.*(?:\n|\Z))*'
    rb"(?:\1\[Previous line repeated .*(?:\n|\Z))?" % re.escape(os.fsencode(OURS)),
    re.MULTILINE,
)
LEVELS = (b"USDT:", b"VERBOSE:", b"INFO:", b"WARNING:", b"ERROR:", b"STAGE:")  # the beginnings of the profiler's lines.
OF_STACKS = (b'File "', b"[Previous line ")  # the beginnings of a stack's lines.
SILENT = 2.0  # seconds without output, until the time is shown.
CLEAR = b"\r\x1b[2K"  # begins the line of a terminal anew


def of_child(printed: bytes) -> bytes:
    """Returns the part of a child's output that its own code printed."""
    return FRAME.sub(b"", NOISE.sub(b"", printed))


def _decided(line: bytes) -> int:
    """Returns how many bytes of a line, whose end has not come yet, are certainly the program's own."""
    words = line.lstrip(b" \t")
    if any(words.startswith(begin) or begin.startswith(words) for begin in OF_STACKS):
        return 0
    begins = (line.find(level) for level in LEVELS)
    held = min((begin for begin in begins if begin >= 0), default=len(line))
    ends = (size for level in LEVELS for size in range(1, len(level)) if line.endswith(level[:size]))
    return min(held, len(line) - max(ends, default=0))


class LiveOutput:
    """Passes the output of one run on, piece by piece. On a terminal, a line says how long a silent run has taken.

    The line is only shown where the program has not left a line open.
    """

    def __init__(self, descriptor: int, title: str) -> None:
        self.descriptor, self.title = descriptor, title
        self.is_terminal = os.isatty(descriptor)
        self._begin = self._last = time.monotonic()
        self._pending = b""  # the last lines, which may be a part of something that is left out
        self._is_open = self._is_timed = False  # whether the program's last line, or the line with the time, is there

    def take(self, piece: bytes) -> None:
        """Show a piece of the output. The end waits if it may be the beginning of a line that is left out."""
        text = self._pending + piece
        lines = text.rfind(b"\n") + 1
        end = lines + _decided(text[lines:])
        for frame in FRAME.finditer(text):
            if frame.end() >= lines:  # further lines of the frame may come
                end = min(end, frame.start())
        self._pending = text[end:]
        self._show(of_child(text[:end]))

    def wait(self) -> None:
        """Show how long the run has taken, if it has printed nothing for a while."""
        now = time.monotonic()
        if self._pending and now - self._last >= SILENT:  # a question, for example, whose answer is awaited
            pending, self._pending = self._pending, b""
            self._show(of_child(pending))
        if self.is_terminal and not self._is_open and now - self._last >= SILENT:
            self._is_timed = True
            self._write(b"%srecording %s: %d s" % (CLEAR, os.fsencode(self.title), now - self._begin))

    def end(self) -> None:
        """Show the rest, and end the last line."""
        self._show(of_child(self._pending))
        self._pending = b""
        self._clear()
        if self._is_open:
            self._write(b"\n")
            self._is_open = False

    def _show(self, text: bytes) -> None:
        if text:
            self._clear()
            self._write(text)
            self._last, self._is_open = time.monotonic(), not text.endswith(b"\n")

    def _clear(self) -> None:
        if self._is_timed:
            self._is_timed = False
            self._write(CLEAR)

    def _write(self, text: bytes) -> None:
        """Write all of the text, however much the descriptor takes at a time. A reader that is gone is no error."""
        view = memoryview(text)
        with suppress(OSError):
            while view:
                view = view[os.write(self.descriptor, view) :]
