"""Unpacking writes what an archive holds into one folder, or refuses it whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptexplore.errors import PtexploreError
from ptexplore.source.fetch import archive
from tests.archives import EVIL, tar_of, zip_of
from tests.upstream import FILES, snapshot

UNPACKED = {name: case for name, case in EVIL.items() if name != "no-pytorch"}


def unpack(tmp_path: Path, name: str, raw: bytes) -> Path:
    folder = tmp_path / "around" / "folder"
    folder.mkdir(parents=True)
    (tmp_path / name).write_bytes(raw)
    with (tmp_path / name).open("rb") as stream:
        archive.unpack(stream, name, folder)
    return folder


@pytest.mark.parametrize("case", UNPACKED)
def test_refused(tmp_path: Path, case: str) -> None:
    name, make, says = UNPACKED[case]
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "precious").write_text("precious", encoding="utf-8")
    before = snapshot(tmp_path / "outside")
    with pytest.raises(PtexploreError) as refused:
        unpack(tmp_path, name, make())
    assert says in f"{refused.value.message} {refused.value.why}", refused.value.why
    assert refused.value.hint
    assert snapshot(tmp_path / "outside") == before
    assert [entry.name for entry in (tmp_path / "around").iterdir()] == ["folder"]
    assert not Path("/tmp/absolute").exists()


@pytest.mark.parametrize("name", ["x.tar.gz", "x.tar.xz", "x.zip"])
def test_unpacked(tmp_path: Path, name: str) -> None:
    folder = unpack(tmp_path, name, zip_of("y") if name == "x.zip" else tar_of(name[-2:]))
    for path, text in FILES.items():
        assert (folder / "small" / path).read_bytes().decode() == text


@pytest.mark.parametrize("limit", ["MEMBERS", "BYTES"])
def test_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    monkeypatch.setattr(archive, limit, 5)
    with pytest.raises(PtexploreError):
        unpack(tmp_path, "x.tar.gz", tar_of("gz"))


def test_the_share_that_is_told_rises_to_the_end(tmp_path: Path) -> None:
    (tmp_path / "x.tar.gz").write_bytes(tar_of("gz"))
    (tmp_path / "folder").mkdir()
    told: list[float] = []
    with (tmp_path / "x.tar.gz").open("rb") as stream:
        assert len(archive.sha256_of(stream, told.append)) == 64
        assert told[-1] == 1.0
        told.clear()
        archive.unpack(stream, "x.tar.gz", tmp_path / "folder", told.append)
    assert told == sorted(told)
    assert told[-1] == 1.0
