"""Processes that traced code started and left running: finding them, and reporting them in a trace.

A process that left the probe's process group (a daemon) belongs to the user and lives on. One in the group is killed
with the trace.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Protocol

from ptexplore.model import reasons as why
from ptexplore.model.observed import LeftProcess
from ptexplore.model.reasons import Reason
from ptexplore.processes import Descendant

PATIENCE = 1.0  # seconds that a process gets to end after the last run
POLL = 0.02  # seconds between two checks
# Helpers of multiprocessing and of torch's compiler, by parts of their command lines: they end by themselves.
HELPERS = ("multiprocessing.resource_tracker", "multiprocessing.forkserver", "_inductor/compile_worker")
COMMAND = 60  # characters shown of a command line
COMMANDS = 4  # command lines that are shown
NUMBERS = 3  # process ids shown for each command line


class Starter(Protocol):
    """A child process that can list the processes it started."""

    def descendants(self) -> list[Descendant]:
        """Returns the running processes that it started, itself or through others."""
        ...


def left_running(child: Starter, *, ended: bool) -> list[LeftProcess]:
    """Returns the processes that the child's runs left running. If the runs have `ended`, these get a moment to end.

    If not, processes in the child's group are about to be killed as part of the run, and are not reported.
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


def remarks_about(processes: Sequence[LeftProcess], *, is_script: bool) -> Iterator[Reason]:
    """Yields remarks about these processes, separately for living and for killed ones."""
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
    """Returns the processes by command line, as many as are shown, and the number of the others."""
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
