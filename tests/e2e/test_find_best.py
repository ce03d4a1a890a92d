"""`ptexplore find`: what comes first of all sorts, folders and plain words among them; and how it was searched."""

from __future__ import annotations

import pytest

from tests.e2e.conftest import Searching

pytestmark = pytest.mark.e2e


def test_folders_and_the_best_of_all_sorts(mini: Searching) -> None:
    data = mini("find", "native/cpu", "--json").data
    assert (data["best"][0]["kind"], data["best"][0]["name"]) == ("folder", "aten/src/ATen/native/cpu")
    assert data["best"][0] in [one for group in data["groups"] for one in group["results"]]
    shown = mini("find", "native/cpu").out
    assert shown.index("aten/src/ATen/native/cpu  folder") < shown.index("BlendKernel.cpp")
    assert "ptexplore show aten/src/ATen/native/cpu" in shown


def test_the_output_says_how_it_searched(mini: Searching) -> None:
    """Which words were left out, that no note has all of them, and how lines were looked through."""
    asked = mini("find", "where", "does", "autograd", "start").out
    assert "left out in notes: where, does" in asked
    assert "autograd" in asked.splitlines()[1]
    some = mini("find", "storage", "elephants").out
    assert "no note has all the words storag, elephant: the notes below have some of them" in some
    assert "storage" in some.splitlines()[1]
    assert "lines of text that contain the query literally" in mini("find", "--text", "compute(a)").out


def test_a_namespace_is_one_result(mini: Searching) -> None:
    groups = mini("find", "native", "--kind", "namespace", "--json").data["groups"]
    assert [one["name"] for group in groups for one in group["results"]].count("at::native") == 1
