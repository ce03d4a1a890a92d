"""Exceptions at every moment of a recording: a signal at a random one, or one raised at each line of start and end.

Each in a fork. Right is: what was raised reaches the program if it is the program's, every hook is as it was before,
what the block ran is kept, and another recording works.
"""

from __future__ import annotations

import importlib
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch

import ptexplore

OURS = os.path.dirname(str(ptexplore.__file__)) + os.sep
PATIENCE = 60.0  # seconds for one fork
FAULTS = (KeyboardInterrupt, MemoryError, OSError, RecursionError)
# Functions that the program itself calls: what is raised before their first `try` reaches it, whatever it is.
DOORS = {"__init__", "__get__", "__enter__", "_leave", "_end", "_try_to_begin", "_give_up", "is_open"}


class Alarm(Exception):
    """What the handler of SIGALRM raises, as programs do that stop what takes too long."""


def raising(number: int, _frame: FrameType | None) -> None:
    """The handler of SIGALRM."""
    raise Alarm(number)


def work() -> None:
    """What is recorded."""
    x = torch.ones(4, requires_grad=True)
    for _ in range(40):
        x = torch.sin(x) + 1
    x.sum().backward()


def hooks() -> tuple[object, ...]:
    """All that a recorder sets."""
    bootstrap: Any = importlib._bootstrap  # type: ignore[attr-defined]
    return (
        sys.getprofile(), threading.getprofile(), bootstrap._find_and_load, sys.getrecursionlimit(),
        signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGALRM), torch._C._autograd._profiler_enabled(),
        threading.enumerate(),
    )  # fmt: skip


def in_fork(check: Callable[[], str]) -> str:
    """What `check` says in a fork; "" if all is well."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reads)
        try:
            text = check()
        except BaseException as error:  # noqa: BLE001
            text = f"{type(error).__name__}: {error}"
        os.write(writes, text.encode()[:4000])
        os._exit(0)
    os.close(writes)
    deadline = time.monotonic() + PATIENCE
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < deadline:
        time.sleep(0.002)
    if ended[0] == 0:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    with os.fdopen(reads, "rb") as pipe:
        text = pipe.read().decode()
    return "stuck" if ended[0] == 0 else text or (f"killed by {ended[1]}" if ended[1] else "")


class Watched:
    """One recording with something raised in it: what came out, and whether the block ran to its end."""

    def __init__(self, budget: int = 0) -> None:
        self.before, self.recording = hooks(), ptexplore.record(native_budget=budget)
        self.ran, self.begun = False, False
        self.raised: BaseException | None = None

    def run(self, before: Callable[[], None] = lambda: None, after: Callable[[], None] = lambda: None) -> None:
        try:
            before()
            with self.recording:
                self.begun = True
                work()
                self.ran = True
            after()
        except BaseException as error:  # noqa: BLE001
            self.raised = error

    def wrong(self) -> str:
        """What is not as it should be now."""
        self.raised = self.raised.with_traceback(None) if self.raised is not None else None
        after = hooks()
        if after != self.before:
            return "hooks left: " + ", ".join(
                str(new) for old, new in zip(self.before, after, strict=True) if old != new
            )
        block = self.recording._block
        is_kept = bool(self.recording._failed) or (block is not None and bool(block.message or block.failed))
        if self.begun and not is_kept:
            return "lost: nothing of it is kept"
        if self.ran and isinstance(self.raised, KeyboardInterrupt | Alarm) and not (block and block.message):
            return f"lost: {block.failed if block else 'no block'}"
        again = ptexplore.record()
        with again:
            torch.ones(2).cos()
        kept = again._block
        return "" if kept is not None and b"aten::cos" in kept.message else "no recording works any more"


def moment(number: int, delay: float, budget: int) -> str:
    """A signal after a time, of SIGINT and SIGALRM in turns."""

    def check() -> str:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGALRM, raising)
        watched, came = Watched(budget), signal.SIGALRM if number % 2 else signal.SIGINT
        reads, writes = os.pipe()
        parent = os.getpid()
        if came == signal.SIGINT and os.fork() == 0:
            os.read(reads, 1)  # not before the fork is made: what is raised in functions at fork is lost
            time.sleep(delay)
            os.kill(parent, signal.SIGINT)
            os._exit(0)

        def start() -> None:
            if came == signal.SIGALRM:
                signal.setitimer(signal.ITIMER_REAL, delay)
            else:
                os.write(writes, b"1")

        def wait() -> None:
            time.sleep(PATIENCE / 4)

        watched.run(start, wait)
        expected = Alarm if came == signal.SIGALRM else KeyboardInterrupt
        return watched.wrong() or ("" if isinstance(watched.raised, expected) else f"swallowed: {watched.raised!r}")

    return in_fork(check)


def moments(count: int, seed: int, budget: int, progress: Callable[[str], None]) -> Counter[str]:
    """What was wrong at that many random moments over start, block and end."""
    chance, wrong = random.Random(seed), Counter[str]()
    with ptexplore.record(native_budget=budget):
        work()
    began = time.perf_counter()
    with ptexplore.record(native_budget=budget):
        work()
    takes = time.perf_counter() - began
    for number in range(count):
        said = moment(number, chance.uniform(0.0001, 1.1) * takes, budget)
        if said:
            wrong[said] += 1
            progress(f"{number}: {said}")
    return wrong


class Lines:
    """Raises at one line of the recorder's own code, counted from 1; or counts them."""

    def __init__(self, wanted: int, fault: type[BaseException]) -> None:
        self.wanted, self.fault, self.count, self.at = wanted, fault, 0, ""
        self.at_door = False

    def __call__(self, frame: FrameType, event: str, _argument: object) -> Any:
        if not frame.f_code.co_filename.startswith(OURS):
            return None
        if event == "line":
            self.count += 1
            if self.count == self.wanted:
                self.at = f"{frame.f_code.co_filename.removeprefix(OURS)}:{frame.f_lineno}"
                self.at_door = frame.f_code.co_name in DOORS
                raise self.fault("injected")
        return self


def count_lines() -> list[str]:
    """The place of each line that start and end run, in order."""
    places: list[str] = []

    class Noted(Lines):
        def __call__(self, frame: FrameType, event: str, argument: object) -> Any:
            traced = super().__call__(frame, event, argument)
            if traced is not None and event == "line":
                places.append(f"{frame.f_code.co_filename.removeprefix(OURS)}:{frame.f_lineno}")
            return self if traced is not None else None

    watched = Watched()
    sys.settrace(Noted(0, KeyboardInterrupt))
    watched.run()
    sys.settrace(None)
    return places


def line(number: int, fault: type[BaseException]) -> str:
    """Raise `fault` at that line."""

    def check() -> str:
        lines, watched = Lines(number, fault), Watched()
        sys.settrace(lines)
        watched.run()
        sys.settrace(None)
        if not lines.at:
            return ""
        said = watched.wrong()
        is_programs = not issubclass(fault, Exception)
        if not said and is_programs and not isinstance(watched.raised, fault):
            said = f"swallowed: {watched.raised!r}"
        if not said and not is_programs and not lines.at_door and watched.raised is not None:
            said = f"raised into the program: {watched.raised!r}"
        if not said and not is_programs and not lines.at_door and not watched.ran:
            said = "the block did not run"
        return f"{lines.at}: {said}" if said else ""

    return in_fork(check)


def lines(each: int, progress: Callable[[str], None]) -> tuple[int, Counter[str]]:
    """How many faults were raised, and what was wrong: the first `each` times that each line runs; 0: each time."""
    for _ in range(2):
        with ptexplore.record():
            work()
    met, chosen = Counter[str](), []
    for number, place in enumerate(count_lines(), 1):
        met[place] += 1
        if not each or met[place] <= each:
            chosen.append(number)
    wrong = Counter[str]()
    for fault in FAULTS:
        for number in chosen:
            said = line(number, fault)
            if said:
                wrong[f"{fault.__name__} at {said}"] += 1
                progress(f"{fault.__name__} at {said}")
    return len(chosen) * len(FAULTS), wrong
