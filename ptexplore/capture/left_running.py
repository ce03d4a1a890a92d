"""Processes that traced code started and left running: which they are, and how a trace says so.

What left the probe's process group (a daemon) is its user's, and lives on; what is in the group ends with the trace.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Protocol

from ptexplore.model.observed import LeftProcess
from ptexplore.processes import Descendant

PATIENCE = 1.0  # seconds that a process may need to end behind the last run
POLL = 0.02  # seconds between two looks
# Helpers of multiprocessing's and torch's compiler, by what their command lines hold: they end by themselves.
HELPERS = ("multiprocessing.resource_tracker", "multiprocessing.forkserver", "_inductor/compile_worker")
COMMAND = 60  # characters shown of a command line
COMMANDS = 4  # command lines that are shown
NUMBERS = 3  # processes that are numbered of each
FORK = "a fork of the run's own process"


class Starter(Protocol):
    """A child of ours that can say what it started."""

    def descendants(self) -> list[Descendant]:
        """What it started, itself or through others, and what still runs."""
        ...


def left_running(child: Starter, *, ended: bool) -> list[LeftProcess]:
    """What the child's runs left running. If they have `ended`, each process is given a moment to end as well.

    If not, what is in the child's group is about to be ended as a part of the run, and is not told.
    """
    last = time.monotonic() + (PATIENCE if ended else 0.0)
    while (left := _left(child, ended=ended)) and time.monotonic() < last:
        time.sleep(POLL)
    return left


def _left(child: Starter, *, ended: bool) -> list[LeftProcess]:
    return [
        LeftProcess(pid=process.pid, command=process.command, ended=process.in_group)
        for process in child.descendants()
        if not process.in_group or (ended and not any(helper in process.command for helper in HELPERS))
    ]


def sentences(processes: Sequence[LeftProcess], *, is_script: bool) -> Iterator[str]:
    """What a reader must know of them, one sentence for those that live on and one for those that do not."""
    what = "script" if is_script else "expression"
    alive = [process for process in processes if not process.ended]
    if alive:
        still_run = "1 process still runs" if len(alive) == 1 else f"{len(alive):,} processes still run"
        text = f"{still_run} that the {what} started: {_listed(alive)}; left alone"
        often = len(alive) > 1 and not is_script
        yield text + (". A trace runs its expression several times, with --once a single time" if often else "")
    ended = [process for process in processes if process.ended]
    if ended:
        still_ran = "1 process" if len(ended) == 1 else f"{len(ended):,} processes"
        yield f"{still_ran} that the {what} started still ran at its end, and ended with the trace: {_listed(ended)}"


def _listed(processes: Sequence[LeftProcess]) -> str:
    numbers: dict[str, list[int]] = {}
    for process in processes:
        numbers.setdefault(process.command, []).append(process.pid)
    shown = [f"{_short(command)} ({_numbered(pids)})" for command, pids in list(numbers.items())[:COMMANDS]]
    return ", ".join(shown) + (f" and {len(numbers) - COMMANDS:,} others" if len(numbers) > COMMANDS else "")


def _short(command: str) -> str:
    return (command or FORK) if len(command) <= COMMAND else f"{command[: COMMAND - 1]}…"


def _numbered(pids: Sequence[int]) -> str:
    listed = ", ".join(str(pid) for pid in pids[:NUMBERS])
    return f"process{'es' if len(pids) > 1 else ''} {listed}{', …' if len(pids) > NUMBERS else ''}"
