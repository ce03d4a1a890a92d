"""scripts/facts: each fact is looked up in the source of a release, and in the torch that is installed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parents[3] / "scripts"))

from lib.facts_check import checked, every_fact

from ptexplore.facts import kernels_of_keys
from ptexplore.facts.source import FactSource
from ptexplore.model import details as says

SOURCE = os.environ.get("PTEXPLORE_TEST_SOURCE")


def test_the_installed_torch_has_each() -> None:
    report = checked(Path(torch.__file__).parent)
    assert report.missing == []
    assert report.found > 8 * report.left_out


@pytest.mark.skipif(SOURCE is None, reason="needs the source of PyTorch")
def test_the_source_of_a_release_has_each() -> None:
    assert SOURCE is not None
    report = checked(Path(SOURCE))
    assert (report.release, report.missing) == ("2.6.0", [])


def test_what_a_tree_does_not_have_is_told(tmp_path: Path) -> None:
    (tmp_path / "version.txt").write_text("2.6.0a0\n")
    report = checked(tmp_path)
    assert report.found == 0
    assert len(report.missing) + report.left_out == len(list(every_fact()))
    assert report.left_out > 0, "a fact of a later release"


def test_a_fact_holds_from_one_release_to_another() -> None:
    source = FactSource("a", "b", since="2.7", until="2.13")
    assert [source.holds_for(release) for release in ("2.6.0", "2.7.1", "2.10.0", "2.13.1", "2.14.0")] == [
        False, True, True, True, False,
    ]  # fmt: skip
    assert source.holds_for("2.7.0a0+git")
    assert not source.holds_for("2.14.0+cpu")
    assert source.holds_for("a torch of my own"), "not known: nothing speaks against it"


def test_the_release_chooses_the_row_of_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = (
        kernels_of_keys.KernelOfKey("CPU", "", "", says.OneForAllKeys(), FactSource("a", "b", since="2.13")),
        kernels_of_keys.KernelOfKey("CPU", "", "", says.OneForAnyBackend(), FactSource("a", "c", until="2.12")),
    )
    monkeypatch.setattr(kernels_of_keys, "KERNELS_OF_KEYS", rows)
    done = [kernels_of_keys.kernel_does("CPU", "kernel", frozenset(), version) for version in ("2.13.0+cpu", "2.6.0")]
    assert done == [says.OneForAllKeys(), says.OneForAnyBackend()]
