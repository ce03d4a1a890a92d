"""Fixtures of the tests of what runs beside torch."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.stepping import Forks, forks


@pytest.fixture(scope="session")
def child() -> Iterator[Forks]:
    """Runs code in forks of one process that has imported torch."""
    with forks() as given:
        yield given
