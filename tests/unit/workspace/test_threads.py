"""One workspace asked by several threads, and for long."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ptexplore.workspace.workspace import Workspace
from tests.unit.workspace.conftest import MIX_PATH, Told

THREADS = 8


@pytest.fixture
def workspace(source: Path, open_one: Callable[..., Workspace]) -> Workspace:
    """A workspace over the small tree, which has no index yet."""
    return open_one()


def asked_at_once(ask: Callable[[], object]) -> list[object]:
    """What each of the threads is answered; all of them ask at one moment."""
    begin = threading.Barrier(THREADS)

    def run(_number: int) -> object:
        begin.wait()
        return ask()

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(run, range(THREADS)))


def test_threads_that_ask_at_once_open_a_tree_once(workspace: Workspace, told: Told) -> None:
    answers = asked_at_once(lambda: workspace.trees)
    assert all(answer is answers[0] for answer in answers)
    assert len(told.titles) == 1, "the index was built once"


def test_threads_are_answered_as_one_is(workspace: Workspace) -> None:
    questions: list[Callable[[Workspace], object]] = [
        lambda asked: asked.find("mix"),
        lambda asked: asked.refs("mix"),
        lambda asked: asked.callers("at::native::mix"),
        lambda asked: asked.show(f"{MIX_PATH}:2").pages,
        lambda asked: asked.find("stir"),
    ]
    with workspace.apart() as alone:
        expected = [ask(alone) for ask in questions]
    answers = asked_at_once(lambda: [[ask(workspace) for ask in questions] for _ in range(5)])
    assert all(answer == [expected] * 5 for answer in answers)


def test_two_workspaces_do_not_wait_for_each_other(workspace: Workspace) -> None:
    with workspace.guard, workspace.apart() as other, ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: len(other.trees)).result(timeout=60) == 1


def test_what_no_answer_needs_is_closed(workspace: Workspace) -> None:
    assert workspace.trees
    for _ in range(20):
        workspace.open_trees()
    gc.collect()
    assert len(workspace._opened) == 1, "those that the searches read"
