"""Streams and signals of a command: characters that stdout lacks, closed streams, signals that end the command."""

from __future__ import annotations

import codecs
import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass

ERRORS = "ptexplore-plain"  # name of the error handler for characters that a stream's encoding lacks
_PLAIN = str.maketrans(
    dict.fromkeys(range(0x2500, 0x2580), "+")  # corners and crossings of lines
    | dict.fromkeys(range(0x2580, 0x25A0), "#")  # bars
    | {ord(letter): "-" for letter in "─━—–"}
    | {ord(letter): "|" for letter in "│┃║"}
    | {ord(letter): "'" for letter in "‘’"}
    | {ord(letter): '"' for letter in "“”«»"}
    | str.maketrans({"═": "=", "…": ".", "·": ".", "•": "*", "→": ">", "←": "<", "↑": "^", "↓": "v", "▸": ">", "▶": ">",
       "▾": "v",
       "▼": "v", "✓": "v", "✗": "x", "×": "x", "\ufffd": "?", "\xa0": " "})
)  # fmt: skip


def _plain(error: UnicodeError) -> tuple[str, int]:
    """Returns a replacement for text that a stream cannot encode: lines and signs in ASCII, all else by its number."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(_PLAIN)
    return text.encode("ascii", "backslashreplace").decode(), error.end


def prepare() -> None:
    """Opens missing streams, and makes every text printable in the encoding of each stream.

    A stream that the caller closed becomes a null device. Otherwise the next opened file would get its number, and
    output would go there.
    """
    codecs.register_error(ERRORS, _plain)
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(_null(number), mode, encoding="utf-8", closefd=False))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=ERRORS)


def _null(number: int) -> int:
    """Opens a null device at the descriptor `number`, if the caller closed that; else at another one."""
    try:
        os.fstat(number)
    except OSError:
        descriptor = os.open(os.devnull, os.O_RDWR)
        if descriptor != number:
            os.dup2(descriptor, number)
            os.close(descriptor)
        return number
    return os.open(os.devnull, os.O_RDWR)


def flush_output() -> bool:
    """Flushes stdout. Returns False if that fails; then the rest of the output is dropped."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        give_up_output()
        return False
    return True


def give_up_output() -> None:
    """Sends the rest of stdout to nowhere: otherwise Python would report the error again when it exits."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


@dataclass
class Signals:
    """Which signal ended the command."""

    number: int = int(signal.SIGINT)

    @property
    def is_interrupt(self) -> bool:
        return self.number == signal.SIGINT


@contextlib.contextmanager
def ended_by_signals() -> Iterator[Signals]:
    """In this block, SIGTERM and SIGHUP act like Ctrl-C: children are ended, temporary files are deleted."""
    signals = Signals()

    def end(number: int, _frame: object) -> None:
        signals.number = number
        raise KeyboardInterrupt

    before: list[signal.Signals] = []
    for name in (signal.SIGTERM, signal.SIGHUP):
        with contextlib.suppress(ValueError):  # not in the main thread
            if signal.getsignal(name) is signal.SIG_DFL:  # not under nohup
                signal.signal(name, end)
                before.append(name)
    try:
        yield signals
    finally:
        for name in before:
            signal.signal(name, signal.SIG_DFL)
