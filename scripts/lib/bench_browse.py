"""What `browse` costs, in a terminal of its own: first screens, opening a file, a key, a search, memory."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median as middle
from types import TracebackType

from lib.measure import Bench, Row, held

FIRST = "aten/src/ATen/native/BinaryOps.cpp"
TALL = "torch/_torch_docs.py"  # 14,046 lines in 2.6.0
SIZE = (40, 140)  # rows, columns
MANY = 100  # files whose memory is looked at
SEARCHING, READING = "One kind only", "Go to"  # at the foot of the palette, and of the reading screen
EMPTY = {  # what a new user types, and a text of the first screen that is worth reading
    "browse aten": "Start here",
    "tour start": "Two tensors, and where their numbers are",
    "tour": "Ten minutes with one torch.add",
    "show aten": "Start here",
}
KEYS = "j" * 40 + "k" * 10 + "w" * 30 + "\x04" * 10 + "\x15" * 10
WORDS = ("add_kernel", "TensorIter", "native_functions", "dispatch")
_CODES = re.compile(r"\x1b(?:\[[0-9;?<=>]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_].*?\x1b\\|.)", re.DOTALL)
_QUIET = 0.15  # seconds without a byte after which a screen is as it will be


class Screen:
    """A command of ptexplore in a pseudo terminal; times are from what is typed to what is drawn."""

    def __init__(self, bench: Bench, *arguments: str) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", *SIZE, 0, 0))
        self.started = time.perf_counter()
        self._child = subprocess.Popen(
            [bench.python, "-m", "ptexplore", *arguments],
            cwd=bench.folder, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
            env=bench.environment | {"TERM": "xterm-256color", "PTEXPLORE_DATA": str(bench.cache / "data")},
        )  # fmt: skip
        os.close(slave)

    def __enter__(self) -> Screen:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._child.pid, signal.SIGKILL)
        self._child.wait()
        os.close(self._master)

    def _read(self, seconds: float) -> str:
        if not select.select([self._master], [], [], max(seconds, 0))[0]:
            return ""
        try:
            return os.read(self._master, 1 << 16).decode("utf-8", "replace")
        except OSError:
            return ""

    def until(self, wanted: str, seconds: float = 60) -> float:
        """The moment at which `wanted` was drawn; ends the bench where that does not come."""
        end, text = time.perf_counter() + seconds, ""
        while wanted not in _CODES.sub("", text):
            more = self._read(end - time.perf_counter())
            if not more:
                sys.exit(f"the terminal never showed {wanted!r}:\n{_CODES.sub('', text)[-2000:]}")
            text += more
        return time.perf_counter()

    def quiet(self) -> float:
        """The moment of the last byte, once there come no more."""
        last = time.perf_counter()
        while self._read(_QUIET):
            last = time.perf_counter()
        return last

    def type(self, text: str) -> float:
        """Type something; when that was."""
        at = time.perf_counter()
        os.write(self._master, text.encode())
        return at

    @property
    def megabytes(self) -> float:
        """What the process holds now."""
        return held(Path(f"/proc/{self._child.pid}")) / 1024


def browse_rows(bench: Bench, source: Path, runs: int, progress: Callable[[str], None]) -> list[Row]:
    """The rows of `browse`, on an index that is built: the source beside the installed torch."""
    bench.ptexplore("fetch", "--from", str(source))
    bench.ptexplore("index")
    first = (source / FIRST).read_text(encoding="utf-8").split("\n")
    line = next(n for n, text in enumerate(first, 1) if n > 380 and text.startswith("DEFINE_DISPATCH("))
    paint, opened, keys, search = [], [], [], []
    with Screen(
        bench, "browse", f"{FIRST}:{line}"
    ) as screen:  # what a first run compiles and keeps is there afterwards
        screen.until(first[line - 1].strip())
        screen.quiet()
    for number in range(runs):
        progress(f"browse {number + 1} of {runs}")
        with Screen(bench, "browse", f"{FIRST}:{line}") as screen:
            paint.append(screen.until(first[line - 1].strip()) - screen.started)
            screen.quiet()
            keys += [_pressed(screen, key) for key in KEYS]
            search += [_pressed(screen, key, wait=True) for word in WORDS for key in _typed(screen, word)]
            opened.append(_opened(screen, source))
    return [
        *_first_screens(bench, runs, progress),
        Row("browse FILE:LINE, first paint", middle(paint), "s", 0.6),
        Row("browse, open a file of 14,046 lines", middle(opened) * 1000, "ms", 150, TALL),
        Row("browse, a key to its paint, p95", _p95(keys) * 1000, "ms", 50, f"{len(keys)} keys"),
        Row("browse, a letter to its search results, p95", _p95(search) * 1000, "ms", 100, f"{len(search)} letters"),
        Row(f"browse, memory after {MANY} files", _memory(bench, source, progress), "MB", 200),
    ]


def _first_screens(bench: Bench, runs: int, progress: Callable[[str], None]) -> list[Row]:
    """The first screens of commands on empty caches. The first round is dropped: it compiles ptexplore's modules."""
    times: dict[str, list[float]] = {command: [] for command in EMPTY}
    for number in range(runs + 1):
        progress(f"first screens {number} of {runs}")
        for place, (command, wanted) in enumerate(EMPTY.items()):
            empty = Bench(bench.python, bench.cache / f"empty-{number}-{place}")
            with Screen(empty, *command.split()) as screen:
                times[command].append(screen.until(wanted) - screen.started)
    return [Row(f"{command}, empty cache: first screen", middle(of[1:]), "s", 1.5) for command, of in times.items()]


def _p95(found: Sequence[float]) -> float:
    return sorted(found)[max(0, int(len(found) * 0.95) - 1)]


def _pressed(screen: Screen, key: str, *, wait: bool = False) -> float:
    """From a key to what it draws: the first of it, or with `wait` the last."""
    at = screen.type(key)
    if wait:
        return screen.quiet() - at
    while not screen._read(1):
        return 1.0
    drawn = time.perf_counter()
    while screen._read(0.02):
        pass
    return drawn - at


def _typed(screen: Screen, word: str) -> str:
    """Open an empty palette for a word's letters, which are typed one by one by whoever asked."""
    screen.type("\x1b")
    screen.quiet()
    screen.type("\x10")
    screen.quiet()
    return word


def _opened(screen: Screen, source: Path) -> float:
    """From Enter on a tall file in the palette to its first lines."""
    text = (source / TALL).read_text(encoding="utf-8").split("\n")
    shown = next(line.strip() for line in text if len(line) > 20)
    _typed(screen, TALL)
    for letter in TALL:
        screen.type(letter)
        screen.quiet()
    time.sleep(0.5)
    screen.quiet()
    at = screen.type("\r")
    return screen.until(shown[:40]) - at


def _memory(bench: Bench, source: Path, progress: Callable[[str], None]) -> float:
    """What is held after a hundred files were opened one after the other, by `:` of the palette's paths."""
    files = sorted((source / "aten/src/ATen/native").glob("*.cpp"))[:MANY]
    with Screen(bench, "browse", f"{FIRST}:1") as screen:
        screen.until(FIRST)
        screen.quiet()
        for number, file in enumerate(files):
            progress(f"browse, memory: file {number + 1} of {len(files)}")
            screen.type("\x10")
            screen.until(SEARCHING)
            screen.type(str(file.relative_to(source)))
            time.sleep(0.3)
            screen.quiet()
            screen.type("\r")
            screen.until(READING)
            screen.quiet()
        time.sleep(3)  # a reader who rests: what was closed is collected
        return screen.megabytes
