"""Runs each unit in a process of its own. If a parse crashes, hangs or costs too much, only that unit is lost."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Generic, TypeVar

from ptexplore.index.budgets import MEMORY, limit_memory, limit_processor
from ptexplore.processes import end_with_parent, starting_workers

Task = TypeVar("Task")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one task: seconds of wall time and of processor time, bytes of address space."""

    seconds: float
    processor: float
    memory: int = MEMORY


@dataclass(frozen=True, slots=True)
class TaskOutcome(Generic[Task, Result]):
    """The outcome of one task: its result, or the reason why it failed."""

    task: Task
    result: Result | None
    failed: str | None
    seconds: float


@dataclass(slots=True)
class _Running(Generic[Task]):
    task: Task
    process: BaseProcess
    started: float


def run(
    work: Callable[[Task], Result], tasks: Sequence[Task], jobs: int, limits: Limits
) -> Generator[TaskOutcome[Task, Result], None, None]:
    """Runs `work` on every task, `jobs` at once, each in a process of its own. Yields outcomes as they arrive.

    `work` is a function at module level. A task that exceeds a limit is killed. Closing the iterator kills all tasks.
    """
    context = multiprocessing.get_context("spawn")  # fork would copy locks that a progress bar's thread holds
    waiting = list(reversed(tasks))
    running: dict[Connection, _Running[Task]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                task = waiting.pop()
                ours, theirs = context.Pipe(duplex=False)
                process = context.Process(target=_child, args=(work, task, limits, theirs), daemon=True)
                with starting_workers():
                    process.start()
                theirs.close()
                running[ours] = _Running(task, process, time.monotonic())
            soonest = min(child.started for child in running.values()) + limits.seconds
            ready = wait(list(running), max(soonest - time.monotonic(), 0))
            for pipe, child in list(running.items()):
                late = time.monotonic() - child.started > limits.seconds
                if pipe in ready or late:
                    del running[pipe]
                    yield _outcome(pipe, child, limits, done=pipe in ready)
    finally:
        for child in running.values():
            child.process.kill()
            child.process.join()


def _outcome(pipe: Any, child: _Running[Task], limits: Limits, *, done: bool) -> TaskOutcome[Task, Any]:
    result, failed = None, f"took longer than {limits.seconds:.0f} s"
    if done:
        try:
            result, failed = pipe.recv()
        except (EOFError, OSError):
            child.process.join(5)
            failed = _end(child.process.exitcode, limits)
    child.process.kill()
    child.process.join()
    pipe.close()
    return TaskOutcome(child.task, result, failed, time.monotonic() - child.started)


def _end(code: int | None, limits: Limits) -> str:
    """Returns the reason why a process ended without an answer."""
    if hasattr(signal, "SIGPROF") and code == -signal.SIGPROF:
        return f"took more than {limits.processor:.0f} s of processor time"
    return f"libclang died (exit {code}); its memory limit is {limits.memory / (1 << 30):.1f} GiB"


def _child(work: Callable[[Any], Any], task: Any, limits: Limits, pipe: Connection) -> None:
    end_with_parent()
    limit_processor(limits.processor)
    with contextlib.suppress(ImportError, ValueError, OSError):  # some systems cannot limit memory
        import resource

        limit_memory(limits.memory)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        answer: tuple[Any, str | None] = (work(task), None)
    except MemoryError:
        answer = (None, f"needs more than {limits.memory / (1 << 30):.1f} GiB")
    except (ValueError, OSError) as error:
        answer = (None, str(error))
    with contextlib.suppress(BrokenPipeError):  # the parent is gone
        pipe.send(answer)
        pipe.close()
