"""A hash is kept only while nothing about a file says that it changed."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pytest

from ptexplore.source.runtime import describe
from ptexplore.source.runtime.describe import hashes


def sha1(text: bytes) -> str:
    return hashlib.sha1(text, usedforsecurity=False).hexdigest()


def test_a_change_is_seen_even_of_the_same_size_and_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(describe, "_SETTLED", 0.05)
    file, kept = tmp_path / "a.yaml", tmp_path / "runtimes" / "x.json"
    file.write_bytes(b"one")
    times = (file.stat().st_atime_ns, file.stat().st_mtime_ns)
    assert hashes([str(file)], kept) == [sha1(b"one")]
    assert not kept.exists()  # too new: it could change again within the same tick of the clock
    time.sleep(0.1)
    assert hashes([str(file)], kept) == [sha1(b"one")]
    assert kept.exists()
    monkeypatch.setattr(Path, "read_bytes", _only(kept))
    assert hashes([str(file)], kept) == [sha1(b"one")]  # without reading it
    monkeypatch.undo()
    file.write_bytes(b"two")
    os.utime(file, ns=times)
    assert hashes([str(file)], kept) == [sha1(b"two")]


@pytest.mark.parametrize("damage", [b"", b"[]", b'{"stamp": 1}'])
def test_what_is_kept_may_be_damaged(tmp_path: Path, damage: bytes) -> None:
    file, kept = tmp_path / "a.py", tmp_path / "x.json"
    file.write_bytes(b"one")
    kept.write_bytes(damage)
    assert hashes([str(file)], kept) == [sha1(b"one")]


def _only(kept: Path) -> object:
    def read(file: Path) -> bytes:
        assert file == kept
        with file.open("rb") as stream:
            return stream.read()

    return read
