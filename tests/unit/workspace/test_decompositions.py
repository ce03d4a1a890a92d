"""The decompositions in the cache: a damaged file, or an older one, is read as if there were none."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import msgpack, structs

from ptexplore.locations import decompositions_file
from ptexplore.model.decompositions import DECOMPOSITIONS_FORMAT, DecompositionFunction, Decompositions, Lowering
from ptexplore.workspace.decompositions import _kept
from tests.unit.conftest import Mini

GOOD = Decompositions(
    format=DECOMPOSITIONS_FORMAT,
    functions=(DecompositionFunction("torch._refs.f", "torch/_refs.py", 1, 2, False),),
    tables={"export": {"aten::f": 0, "aten::g": None}},
    users={"export": 0},
    lowerings={"aten::f": Lowering(0), "aten::g": Lowering(None)},
    refs={"torch.f": 0},
    composite=frozenset({"aten::g"}),
    kept=frozenset(),
    later=(),
    unknown={},
)
DAMAGED = {
    "older": msgpack.encode(structs.replace(GOOD, format=DECOMPOSITIONS_FORMAT - 1)),
    "cut": msgpack.encode(GOOD)[:-9],
    "no text": b"\xff" * 40,
    "a function too many": msgpack.encode(structs.replace(GOOD, tables={"export": {"aten::f": 1}})),
    "a negative number": msgpack.encode(structs.replace(GOOD, lowerings={"aten::f": Lowering(-1)})),
    "another table": msgpack.encode(GOOD).replace(b"export", b"expert"),
}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTEXPLORE_CACHE", str(tmp_path / "cache"))


def write(mini: Mini, content: bytes) -> None:
    file = decompositions_file(mini.runtime.key)
    file.parent.mkdir(parents=True)
    file.write_bytes(content)


def test_what_was_written_is_read(mini: Mini) -> None:
    assert _kept(mini.runtime) is None
    write(mini, msgpack.encode(GOOD))
    assert _kept(mini.runtime) == GOOD


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_file_is_no_file(mini: Mini, damage: str) -> None:
    write(mini, DAMAGED[damage])
    assert _kept(mini.runtime) is None


def test_a_torch_built_here_is_asked_each_time(mini: Mini) -> None:
    from dataclasses import replace

    write(mini, msgpack.encode(GOOD))
    assert _kept(replace(mini.runtime, build="source")) is None
