"""Processes that traced code started and left running: which they are, and how a trace says so.

What left the probe's process group (a daemon) is its user's, and lives on; what is in the group ends with the trace.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Protocol

from ptexplore.model import reasons as why
from ptexplore.model.observed import LeftProcess
from ptexplore.model.reasons import Reason
from ptexplore.processes import Descendant

PATIENCE = 1.0  # seconds that a process may need to end behind the last run
POLL = 0.02  # seconds between two looks
# Helpers of multiprocessing's and torch's compiler, by what their command lines hold: they end by themselves.
HELPERS = ("multiprocessing.resource_tracker", "multiprocessing.forkserver", "_inductor/compile_worker")
COMMAND = 60  # characters shown of a command line
COMMANDS = 4  # command lines that are shown
NUMBERS = 3  # processes that are numbered of each


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


def told_of(processes: Sequence[LeftProcess], *, is_script: bool) -> Iterator[Reason]:
    """What a reader must know of them: of those that live on, and of those that do not."""
    given: Reason = why.GivenScript() if is_script else why.GivenExpression()
    alive = [process for process in processes if not process.ended]
    if len(alive) == 1:
        yield why.LeftAlone(given, *_listed(alive)[:1])
    elif alive:
        often = None if is_script else why.RunsSeveralTimes()
        yield why.SeveralLeftAlone(len(alive), given, *_listed(alive), often=often)
    ended = [process for process in processes if process.ended]
    if len(ended) == 1:
        yield why.EndedWithTrace(given, *_listed(ended)[:1])
    elif ended:
        yield why.SeveralEndedWithTrace(len(ended), given, *_listed(ended))


def _listed(processes: Sequence[LeftProcess]) -> tuple[tuple[Reason, ...], int]:
    """The processes by command line, as many as are shown, and how many others there are."""
    numbers: dict[str, list[int]] = {}
    for process in processes:
        numbers.setdefault(process.command, []).append(process.pid)
    shown = tuple(_numbered(_short(command), pids) for command, pids in list(numbers.items())[:COMMANDS])
    return shown, max(len(numbers) - COMMANDS, 0)


def _short(command: str) -> Reason:
    if not command:
        return why.ForkOfRun()
    return why.Said(command if len(command) <= COMMAND else f"{command[: COMMAND - 1]}…")


def _numbered(command: Reason, pids: Sequence[int]) -> Reason:
    if len(pids) == 1:
        return why.ProcessOf(command, str(pids[0]))
    return why.ProcessesOf(command, tuple(map(str, pids[:NUMBERS])), why.AndMore() if len(pids) > NUMBERS else None)
