"""What `--native-budget` and `native_budget` take: instructions, by a number or by one with a letter."""

from __future__ import annotations

import importlib

import pytest

from ptexplore.capture.probing import A_FORK, native_budget


@pytest.mark.parametrize(
    ("given", "instructions"),
    [
        ("3M", 3_000_000),
        ("500k", 500_000),
        ("3000000", 3_000_000),
        ("1.5M", 1_500_000),
        (40_000, 40_000),
        (0, 0),
        ("0", 0),
    ],
)
def test_a_number_of_instructions(given: object, instructions: int) -> None:
    assert native_budget(given) == instructions


@pytest.mark.parametrize(
    "given", ["", "-1", "nan", "5 s", "3m", "1e6", 1.5, True, None, 20, "99999999999999G", "٣٠٠٠٠٠"]
)
def test_what_is_none(given: object) -> None:
    """20 were seconds once: not even a fork has so few."""
    assert native_budget(given) is None


def test_a_fork_counts_for_what_the_message_says() -> None:
    assert importlib.import_module("ptexplore.probe.stepping").FORK == A_FORK
