"""The streams and signals of one command: what stdout cannot say, who closed it, who ends us."""

from __future__ import annotations

import codecs
import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass

ERRORS = "ptexplore-plain"  # the name of what is done with characters that a stream's encoding lacks
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
    """What stands for text that a stream cannot say: its lines and signs in ASCII, all else by its number."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(_PLAIN)
    return text.encode("ascii", "backslashreplace").decode(), error.end


def prepare() -> None:
    """See that there are streams to print on, and that any text can be printed on them whatever their encoding.

    A stream that the caller closed is a null device: else the next file that is opened would take its place, and what
    is printed would go there.
    """
    codecs.register_error(ERRORS, _plain)
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(_null(number), mode, encoding="utf-8", closefd=False))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=ERRORS)


def _null(number: int) -> int:
    """A null device in place of the descriptor `number`, which the caller closed; another one where it did not."""
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
    """Write what is left for stdout; False where it cannot be, and nothing more is tried."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        give_up_output()
        return False
    return True


def give_up_output() -> None:
    """Have what is left for stdout go nowhere: Python would complain of it once more at its end."""
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
    """In this block SIGTERM and SIGHUP end what runs as Ctrl-C does: children are ended, files aside taken away."""
    signals = Signals()

    def end(number: int, _frame: object) -> None:
        signals.number = number
        raise KeyboardInterrupt

    before: list[signal.Signals] = []
    for name in (signal.SIGTERM, signal.SIGHUP):
        with contextlib.suppress(ValueError):  # in another thread than the first
            if signal.getsignal(name) is signal.SIG_DFL:  # not under nohup
                signal.signal(name, end)
                before.append(name)
    try:
        yield signals
    finally:
        for name in before:
            signal.signal(name, signal.SIG_DFL)
