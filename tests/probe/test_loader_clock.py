"""The DataLoader on a clock gives each batch to the worker that a loader with real processes gives it to."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from torch.utils.data import DataLoader, get_worker_info  # noqa: E402

from ptexplore.probe.loader_clock import loaded  # noqa: E402


def worker_of(_samples: list[int]) -> int:
    return get_worker_info().id


def test_the_workers_are_those_of_real_processes() -> None:
    loader = DataLoader(
        range(7), batch_size=1, num_workers=2, prefetch_factor=1, collate_fn=worker_of, multiprocessing_context="fork"
    )
    assert [worker for _, worker, _ in loaded(2, 1, [5, 1, 1, 4, 1, 1, 2], 1)] == list(loader)


def test_a_slow_batch_stops_what_is_behind_it() -> None:
    # Worker 1 has finished its batches at 2 and gets no other one before batch 0 is handed out at 9.
    assert loaded(2, 2, [9, 1, 1, 1, 1, 1], 0) == [[0, 0, 9], [1, 1, 9], [2, 0, 10], [3, 1, 10], [4, 0, 11], [5, 1, 11]]


def test_a_step_hides_what_is_built_meanwhile() -> None:
    assert loaded(2, 1, [3, 3, 3, 3], 10) == [[0, 0, 3], [1, 1, 13], [2, 0, 23], [3, 1, 33]]
