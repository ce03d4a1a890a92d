"""The instructions by which a clock is read are not counted: how many there are depends on the time."""

from __future__ import annotations

import importlib
import struct
import time

import pytest

from ptexplore.capture.native.record import build, without_clock
from ptexplore.capture.native.symbols import Symbols

stepper = importlib.import_module("ptexplore.probe.stepper")
native = importlib.import_module("ptexplore.probe.native")
MAPS = "1000-2000 r-xp 00000000 08:01 1 /nowhere/liba.so\n5000-6000 r-xp 00000000 00:00 0 [vdso]\n"
TURN = 24  # instructions by which a second try to read the clock is longer


def rows(tries: int) -> tuple[bytes, int]:
    """The log of a function of 100 instructions that reads the clock after 10, which takes some tries."""
    count = 10
    log = [(0x1000, 0x100, 0x1F00, 0x108, 0), (0x5000, 0xF8, 0x1100, 0x100, count)]
    for _ in range(tries):
        count += TURN
        log.append((0x5010, 0xF8, 0x5040, 0xF8, count))
    count += 6
    log += [(0x1105, 0x100, 0x5060, 0xF8, count), (0x1F05, 0x108, 0x1200, 0x100, count + 90)]
    return b"".join(struct.pack("<8Q", *row, 0, 0, 0) for row in log), count + 95


@pytest.mark.parametrize("tries", [0, 1, 5])
def test_what_reads_the_clock_is_not_counted(tries: int) -> None:
    symbols = Symbols(MAPS)
    counted, instructions = without_clock(*rows(tries), symbols.clock)
    root = build(counted, instructions, symbols)
    (function,) = root.calls
    (clock,) = function.calls
    assert (instructions, function.inclusive, function.own, clock.inclusive) == (105, 100, 100, 0)
    assert clock.place.library == "[vdso]"


def test_without_such_code_all_is_counted() -> None:
    data, instructions = rows(3)
    assert without_clock(data, instructions, Symbols(MAPS.partition("\n")[0]).clock) == (data, instructions)
    assert without_clock(b"", 7, (0, 0)) == (b"", 7)


@pytest.mark.skipif(stepper.why_not() is not None, reason=str(stepper.why_not()))
def test_time_is_read_in_the_same_number_of_instructions() -> None:
    """`time.monotonic`, stepped often: with the clock's own instructions the counts would differ by and by."""
    stepping, symbols = stepper.Stepper(rows=1 << 14), Symbols(native.maps())
    if symbols.clock == (0, 0):
        pytest.skip("the kernel gives no code to read the clock by")
    counts = []
    for _ in range(200):
        _, steps = stepping.step(time.monotonic)
        counts.append(without_clock(steps.rows, steps.instructions, symbols.clock)[1])
    assert len(set(counts[5:])) == 1
