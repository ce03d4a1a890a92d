"""Whether an operator may be at work in another thread is told by where its functions of Python are."""

from __future__ import annotations

import contextlib
import hashlib
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any

import pytest

from ptexplore.probe import at_work

WAIT = 0.2


def sleep(*_: object) -> bool:
    time.sleep(WAIT)
    return True


class Python:
    """Its operators are Python's own; but `+` leads to a function of another name, as an operator of torch's may."""

    __add__ = sleep

    def __matmul__(self, _: object) -> bool:
        return sleep()


def numbers() -> Iterator[bool]:
    yield sleep()


def by_lock(lock: Any = None) -> None:
    lock = threading.Lock()
    lock.acquire()
    lock.acquire(timeout=WAIT)


def by_with() -> None:
    lock = threading.Lock()
    lock.acquire()
    threading.Timer(WAIT, lock.release).start()
    with lock:
        pass


def by_queue() -> None:
    with contextlib.suppress(queue.Empty):
        queue.SimpleQueue().get(timeout=WAIT)


CASES: dict[str, tuple[Callable[[], object], bool]] = {
    "a builtin that waits": (sleep, False),
    "a lock": (by_lock, False),
    "a lock in with": (by_with, False),
    "a queue": (by_queue, False),
    "a generator": (lambda: list(numbers()), False),
    "a loop over a generator": (lambda: [not each for each in numbers()], False),
    "an operator of Python's": (lambda: Python() @ 1, False),
    "an operator of another name": (lambda: Python() + 1, True),
    "a builtin that does what nobody knows": (lambda: hashlib.pbkdf2_hmac("sha256", b"", b"", 500_000), True),
}


@pytest.mark.parametrize("name", CASES)
def test_where_a_thread_is_tells_whether_an_operator_may_be_at_work(name: str) -> None:
    work, expected = CASES[name]
    waits: list[tuple[CodeType, int] | None] = [None]

    def hook(frame: FrameType, event: str, argument: Any) -> None:
        if event == "c_call":
            waits[0] = (frame.f_code, frame.f_lasti) if at_work.only_waits(argument) else None

    def run() -> None:
        sys.setprofile(hook)
        work()
        sys.setprofile(None)

    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(WAIT / 3)
    assert thread.ident is not None
    assert thread.is_alive()
    seen = at_work.in_other_thread(sys._current_frames()[thread.ident], waits[0], is_seen=True)
    thread.join()
    assert seen is expected


def test_an_operator_is_at_work_in_this_thread_as_long_as_it_calls_python() -> None:
    torch = pytest.importorskip("torch")
    seen: list[bool] = []

    def packed(tensor: Any) -> Any:
        seen.append(at_work.in_this_thread())
        return tensor

    w = torch.ones(2, 2, requires_grad=True)
    assert not at_work.in_this_thread()
    with torch.autograd.graph.saved_tensors_hooks(packed, lambda tensor: tensor):
        w @ w
        list(map(torch.exp, [w]))
    assert seen == [True] * 3
    assert not at_work.in_this_thread()
