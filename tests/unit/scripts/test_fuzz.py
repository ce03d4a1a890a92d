"""Some two thousand random cases, a share of each surface: scripts/fuzz has the long run."""

from __future__ import annotations

import random
import warnings
from pathlib import Path
from typing import Any

import pytest

from tests.harness import script_library

CASES = 60  # of one share; a command line costs ten times what a document does
# Whole commands, and what is drawn whole: fewer of them.
COSTLY = {
    "tours as they are walked": 6,
    "search": 30,
    "--load, both formats": 240,
    "--load of a program, its exports": 160,
}


@pytest.fixture(scope="module")
def fuzzing() -> Any:
    return script_library("fuzzing")


SURFACES = (
    "--load, both formats", "--load of a program, its exports", "--times of another run", "tours and notes",
    "--load of `compile`", "--load of `lower`", "--load of `graph`",
    "tours as they are walked", "search", "anchors.lock", "ptexplore.toml", "archives", "error messages",
    "source files", "command lines",
)  # fmt: skip


@pytest.mark.parametrize("name", SURFACES)
def test_every_case_is_answered_or_refused_in_words(
    fuzzing: Any, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PTEXPLORE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PTEXPLORE_DATA", str(tmp_path / "data"))
    case, share = fuzzing.SURFACES[name]
    tally, drawn = fuzzing.Tally(), random.Random(21)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zipfile's, of names that are there twice
        cases = COSTLY.get(name, CASES * share)
        for _ in range(cases):
            fuzzing.run(case, random.Random(drawn.getrandbits(64)), tmp_path, tally)
    assert not tally.faults
    assert tally.cases == cases


def test_no_surface_is_left_out_and_a_fault_is_told(fuzzing: Any, tmp_path: Path) -> None:
    assert set(SURFACES) == set(fuzzing.SURFACES)
    tally = fuzzing.Tally()

    def stumbles(_drawn: object, _folder: object) -> None:
        raise ValueError("planted")

    fuzzing.run(stumbles, random.Random(1), tmp_path, tally)
    assert len(tally.faults) == 1
    assert "planted" in tally.faults[0]
