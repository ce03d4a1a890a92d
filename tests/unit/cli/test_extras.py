"""A command whose optional package is missing names the extra that has it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ptexplore.errors import MISSING, PtexploreError


def test_lsp_without_pygls(monkeypatch: pytest.MonkeyPatch) -> None:
    from ptexplore.cli.lsp import lsp

    for name in [name for name in sys.modules if name.partition(".")[0] in ("pygls", "lsprotocol")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "ptexplore.surfaces.lsp", raising=False)
    monkeypatch.setitem(sys.modules, "lsprotocol", None)
    monkeypatch.setitem(sys.modules, "pygls", None)
    with pytest.raises(PtexploreError) as raised:
        lsp()
    assert raised.value.exit_code == MISSING
    assert "ptexplore[lsp]" in raised.value.hint


def test_scip_without_protobuf(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from ptexplore.index.scip import write_scip
    from tests import small_source

    indexed = small_source.indexed(small_source.write(tmp_path / "tree"))
    monkeypatch.setitem(sys.modules, "google.protobuf", None)
    target = tmp_path / "index.scip"
    with pytest.raises(PtexploreError) as raised:
        write_scip(indexed.store, indexed.tree, tmp_path / "tree", target)
    assert raised.value.exit_code == MISSING
    assert "ptexplore[scip]" in raised.value.hint
    assert not target.exists()
