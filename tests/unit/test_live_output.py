"""What a program prints is shown as it is printed, without the profiler's lines and without frames of ptexplore."""

from __future__ import annotations

import importlib
import os
import pty
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

live_output = importlib.import_module("ptexplore.probe.live_output")
OURS = importlib.import_module("ptexplore.probe.whose").OURS

NOISE = "INFO:2026-01-31 12:00:00 77:77 ActivityProfiler.cpp:47] started\n"
FRAME = f'  File "{OURS}passes.py", line 3, in attempt\n    return function()\n           ^^^^^^^^^^\n'
YOURS = '  File "train.py", line 3, in step\n    loss.backward()\n'


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    yield reader, writer
    os.close(reader)


def shown(pipe: tuple[int, int], pieces: list[str]) -> str:
    reader, writer = pipe
    live = live_output.LiveOutput(writer, "train.py")
    for piece in pieces:
        live.take(piece.encode())
    live.end()
    os.close(writer)
    return os.read(reader, 1 << 16).decode()


@pytest.mark.parametrize("seed", range(200))
def test_pieces_of_any_length_are_shown_like_the_whole(pipe: tuple[int, int], seed: int) -> None:
    repeated = FRAME + "  [Previous line repeated 3 more times]\n"
    lines = [
        NOISE,
        FRAME,
        YOURS,
        repeated,
        "step 1\n",
        "  [Prev: 1]\n",
        "\n",
        "    \n",
        "Traceback (most recent call last):\n",
        "INFO: yours\n",
        FRAME,
        "open",
    ]
    draw = random.Random(seed)
    draw.shuffle(lines)
    text = "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
    cuts = sorted(draw.sample(range(len(text)), 12))
    pieces = [text[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    wanted = text.replace(NOISE, "").replace(repeated, "").replace(FRAME, "")
    assert shown(pipe, pieces) == wanted


def test_a_line_that_is_open_is_shown_at_once(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    live = live_output.LiveOutput(writer, "train.py")
    live.take(b"\r 3 of 10")
    assert os.read(reader, 100) == b"\r 3 of 10"
    live.take(b"\rERR")  # it may become a line of the profiler
    live.take(b"AND")
    assert os.read(reader, 100) == b"\rERRAND"
    live.end()
    os.close(writer)
    assert os.read(reader, 100) == b"\n"


def test_a_reader_that_is_gone_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    live = live_output.LiveOutput(writer, "train.py")
    live.take(b"step 1\n")
    live.end()
    os.close(writer)


def test_a_terminal_says_how_long_a_silent_run_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(live_output.time, "monotonic", lambda: now[0])
    ours, theirs = pty.openpty()
    try:
        live = live_output.LiveOutput(theirs, "train.py")
        live.wait()
        now[0] = 103.0
        live.wait()
        assert os.read(ours, 100) == b"\r\x1b[2Krecording train.py: 3 s"
        live.take(b"epoch")
        assert os.read(ours, 100) == b"\r\x1b[2Kepoch"
        now[0] = 120.0
        live.wait()  # the program's own line is open
        live.end()
        assert os.read(ours, 100) == b"\r\n"
    finally:
        os.close(ours)
        os.close(theirs)


def test_a_file_has_no_line_about_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_output.time, "monotonic", iter((0.0, 50.0, 51.0)).__next__)
    with (tmp_path / "out").open("wb") as file:
        live_output.LiveOutput(file.fileno(), "train.py").wait()
    assert (tmp_path / "out").read_bytes() == b""
    assert sys.platform != "win32"
