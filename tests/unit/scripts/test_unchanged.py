"""What scripts/unchanged concludes from the digests of one sample."""

from __future__ import annotations

from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import pytest

FILE = Path(__file__).resolve().parents[3] / "scripts/unchanged"
RECORDERS = ("plain", "ops", "frames", "dispatch", "once", "program")


@pytest.fixture(scope="module")
def unchanged() -> Any:
    loader = SourceFileLoader("unchanged", str(FILE))
    spec = spec_from_loader("unchanged", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def row(again: dict[str, Any] | None = None, **other: str | None) -> dict[str, Any]:
    """The first and only sample of an operator: `x` under each recorder but those that are given."""
    return {"digests": {name: [other.get(name, "x")] for name in RECORDERS}, "again": {"0": again} if again else {}}


def again(*plain: str, fills: tuple[str, str] = ("x", "x"), changed: str = "", **other: list[str]) -> dict[str, Any]:
    """Further runs: without a recorder, with those that differed, and of both in memory full of one of two bytes."""
    filled = {"plain": list(fills), **{name: [changed or fills[0], fills[1]] for name in other}}
    return {"plain": list(plain), **other, "filled": filled}


@pytest.mark.parametrize(
    ("sample", "expected"),
    [
        (row(), "equal"),
        (row(**dict.fromkeys(RECORDERS)), "not compared"),
        (row(**dict.fromkeys(RECORDERS, "raises ValueError: no")), "raises alike"),
        (row(again("x", "y", ops=["y"]), ops="y"), "differs from run to run"),
        (row(again("x", ops=["y"], fills=("p", "q")), ops="y"), "shows memory that nobody wrote"),
        (row(again("x", ops=["y"], fills=("p", "q"), changed="r"), ops="y"), "changed by ops"),
        (row(again("x", ops=["x"]), ops="y"), "differed once"),
        (row(again("x", ops=["y"], once=["x", "z"]), ops="y", once="z"), "changed by once, ops"),
    ],
)
def test_a_verdict(unchanged: Any, sample: dict[str, Any], expected: str) -> None:
    assert unchanged.verdict(sample, 0) == expected
