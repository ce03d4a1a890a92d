"""Reads the operators of a trace that torch.profiler wrote elsewhere (Chrome's trace events). The file is not trusted.

It is read in pieces, one event at a time, so that a file of several gigabytes needs memory only for its operators.
"""

from __future__ import annotations

import codecs
import gzip
import json
import os
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any, TypeGuard

from ptexplore.errors import USAGE, PtexploreError
from ptexplore.writing import open_users_file

PIECE = 4 << 20  # bytes read at a time
LONGEST = 16 << 20  # characters of one event, and of the text before the first event
MOST = 3_000_000  # greatest number of operators
MOST_EVENTS = 12_000_000  # greatest number of events of all kinds: Python frames and flows, about three for an operator
MAX_RATIO = 250  # ratio of a packed file's text to its size; for such traces it is 10 to 40
FREE = 16 << 20  # bytes that any packed file may unpack to
LATEST = 1e18  # microseconds
SPACE = re.compile(r"[\s,]*")
BEGIN = re.compile(r'"traceEvents"\s*:\s*\[')
WRITES = 'profile.export_chrome_trace("FILE") of torch.profiler writes one'


@dataclass(slots=True)
class TimedOperator:
    """An operator or a node of backward in such a trace. Times are in nanoseconds."""

    name: str
    begin: int
    end: int
    sequence: int | None  # autograd's sequence number; a node has that of the call that recorded it
    inside: list[TimedOperator]

    @property
    def time(self) -> int:
        """Nanoseconds from entry to exit."""
        return self.end - self.begin

    def walk(self) -> Iterator[TimedOperator]:
        """Yields the operator and those inside it, in the order in which they began."""
        pending = [self]
        while pending:
            operator = pending.pop()
            yield operator
            pending += reversed(operator.inside)


@dataclass(frozen=True, slots=True)
class TimedTrace:
    """The content of a file: the outermost operators of each thread, in order, and the number of device events."""

    name: str
    threads: tuple[tuple[TimedOperator, ...], ...]
    device_events: int


def read_chrome_trace(name: str) -> TimedTrace:
    """Returns the operators of a trace that torch.profiler wrote, packed by gzip or not.

    Raises PtexploreError (usage) for a file that cannot be read, is not such a trace, is cut short, or is too large.
    """
    threads: dict[tuple[Any, Any], list[TimedOperator]] = {}
    names: dict[str, str] = {}
    count = device_events = 0
    for number, event in enumerate(_events(name), 1):
        if number > MOST_EVENTS:
            raise _refused(name, f"it has more than {MOST_EVENTS:,} events")
        device_events += event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")
        if event.get("ph") != "X" or event.get("cat") != "cpu_op":
            continue
        count += 1
        if count > MOST:
            raise _refused(name, f"it has more than {MOST:,} operators")
        operator = _operator(name, event)
        operator.name = names.setdefault(operator.name, operator.name)
        threads.setdefault((str(event.get("pid")), str(event.get("tid"))), []).append(operator)
    if not threads:
        raise _refused(name, "it has no operators: was it written with ProfilerActivity.CPU?")
    nested = [_nested(held) for held in threads.values()]
    nested.sort(key=lambda held: held[0].begin)
    return TimedTrace(name, tuple(map(tuple, nested)), device_events)


def _operator(name: str, event: dict[str, Any]) -> TimedOperator:
    given, begin, time = event.get("name"), event.get("ts"), event.get("dur")
    arguments = event.get("args")
    sequence = arguments.get("Sequence number") if isinstance(arguments, dict) else None
    if not isinstance(given, str) or not _is_time(begin) or not _is_time(time) or time < 0:
        raise _refused(name, f"one of its operators has no name or no time: {str(given)[:60]!r}")
    known = sequence if isinstance(sequence, int) and not isinstance(sequence, bool) and sequence >= 0 else None
    first = round(begin * 1000)  # microseconds, with three decimals
    return TimedOperator(given, first, first + round(time * 1000), known, [])


def _is_time(value: object) -> TypeGuard[float]:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return False
    return abs(value) < LATEST  # false for NaN


def _nested(operators: list[TimedOperator]) -> list[TimedOperator]:
    """Nests the operators of one thread: one that begins before another has ended is inside it."""
    operators.sort(key=lambda operator: (operator.begin, -operator.end))
    outermost: list[TimedOperator] = []
    around: list[TimedOperator] = []
    for operator in operators:
        while around and around[-1].end <= operator.begin:
            around.pop()
        (around[-1].inside if around else outermost).append(operator)
        around.append(operator)
    return outermost


def _events(name: str) -> Iterator[dict[str, Any]]:
    """Yields each event of the file's list, unchanged."""
    decoder = json.JSONDecoder()
    try:
        with _opened(name) as file:
            text = _Text(file, name)
            text.find_list(name)
            while (begin := text.next_value(name)) is not None:
                try:
                    event, text.at = decoder.raw_decode(text.held, begin)
                except json.JSONDecodeError as error:
                    if len(text.held) - begin > LONGEST:
                        raise _refused(name, f"one of its events is longer than {LONGEST:,} characters") from error
                    if not text.read_on():
                        raise _refused(name, "it is cut off, or not JSON") from error
                    continue
                if not isinstance(event, dict):
                    raise _refused(name, "its list has something other than events")
                yield event
    except (OSError, EOFError, zlib.error) as error:
        why = getattr(error, "strerror", None) or str(error) or "the system refused it"
        raise PtexploreError(f"{name} cannot be read", why, WRITES, USAGE) from error
    except (UnicodeDecodeError, RecursionError, ValueError) as error:
        raise _refused(name, f"it is not JSON: {str(error)[:100]}") from error


def _packed(file: IO[bytes]) -> IO[bytes]:
    """Returns the content of a packed file. Closing it closes the file."""
    packed = gzip.GzipFile(fileobj=file, mode="rb")
    packed.myfileobj = file  # type: ignore[assignment] # the file that it closes, as `gzip.open` sets it
    return packed  # type: ignore[return-value]


def _opened(name: str) -> IO[bytes]:
    file = open_users_file(name)
    packed = file.read(2) == b"\x1f\x8b"
    file.seek(0)
    return _packed(file) if packed else file


class _Text:
    """The text of a file, of which a part is in memory. `at` is the position of the next value in that part."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file, self._name = file, name
        self._most = max(FREE, os.fstat(file.fileno()).st_size * MAX_RATIO)
        self._count = 0  # number of bytes read so far
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self.held = ""
        self.at = 0

    def read_on(self) -> bool:
        """Reads more, and drops the text before `at`. Returns False at the end of the file."""
        piece = self._file.read(PIECE)
        self._count += len(piece)
        if self._count > self._most:
            raise _refused(self._name, f"it unpacks to more than {MAX_RATIO} times its size, unlike any trace")
        self.held = self.held[self.at :] + self._decode(piece, not piece)
        self.at = 0
        return bool(piece)

    def find_list(self, name: str) -> None:
        """Moves to the first event: in a list, or in the list under `traceEvents` of an object."""
        while self.at == len(self.held) and self.read_on():
            start = SPACE.match(self.held)
            self.at = start.end() if start else 0
        if self.held[self.at : self.at + 1] == "[":
            self.at += 1
            return
        if self.held[self.at : self.at + 1] != "{":
            raise _refused(name, "it is neither a JSON object nor a list")
        while (begin := BEGIN.search(self.held)) is None:
            if len(self.held) > LONGEST or not self.read_on():
                raise _refused(name, "it has no list called traceEvents")
        self.at = begin.end()

    def next_value(self, name: str) -> int | None:
        """Returns the position of the next value, or None at the end of the list."""
        while True:
            space = SPACE.match(self.held, self.at)
            self.at = space.end() if space else self.at  # drops blanks
            if self.at < len(self.held):
                return None if self.held[self.at] == "]" else self.at
            if not self.read_on():
                raise _refused(name, "it is cut off: its list of events has no end")


def _refused(name: str, why: str) -> PtexploreError:
    return PtexploreError(f"{name} is not a trace of torch.profiler", why, WRITES, USAGE)
