"""`ptexplore refs NAME --callers` on PyTorch's own source: each row beside the text of its line."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import here
from tests.harness import Cli, Here

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.skipif("PTEXPLORE_TEST_PYTHON" in os.environ, reason="looks at the torch that runs the tests"),
]


@pytest.fixture
def sourced(sourced: Cli, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    return here(sourced, monkeypatch, capsys)


def walked(callers: list[dict[str, Any]], called: str, level: int = 1) -> Iterator[tuple[str, dict[str, Any], int]]:
    """Each caller with the name of what it calls."""
    for caller in callers:
        yield called, caller, level
        yield from walked(caller["callers"], caller["name"], level + 1)


@pytest.mark.parametrize(
    ("name", "way"),
    [
        # read by hand in 2.6.0
        (
            "at::TensorIteratorBase::compute_types",
            ["at::TensorIteratorBase::build", "at::TensorIteratorBase::build_binary_float_op",
             "at::TensorIterator::binary_float_op"],
        ),
        (
            "torch::autograd::Engine::evaluate_function",
            ["torch::autograd::Engine::thread_main", "torch::autograd::Engine::execute_with_graph_task",
             "torch::autograd::Engine::execute"],
        ),
    ],
)  # fmt: skip
def test_every_row_is_a_call_in_the_function_that_it_names(
    sourced: Here, source_tree: Path, name: str, way: list[str]
) -> None:
    data = sourced("refs", name, "--callers", "--tree", source_tree.name, "--json").data
    [function] = data["functions"]
    rows = list(walked(function["callers"], function["name"]))
    assert 5 < len(rows) < 60
    assert max(level for _called, _caller, level in rows) == data["depth"] == 3
    for called, caller, _level in rows:
        place = caller["call"]
        text = (source_tree / place["path"]).read_text(encoding="utf-8", errors="replace").split("\n")
        last = called.rpartition("::")[2]
        assert re.search(rf"\b{re.escape(last)}\b", text[place["line"] - 1]), (called, place)
        for defined in caller["defined"]:
            assert defined["path"] == place["path"]
            assert defined["line"] <= place["line"] <= defined["end_line"], caller["name"]
    callers: list[dict[str, Any]] = function["callers"]
    for step in way:
        [caller] = [each for each in callers if each["name"] == step]
        assert caller["certain"], step
        callers = caller["callers"]


def test_it_is_refused_with_what_it_cannot_mean(sourced: Here, source_tree: Path) -> None:
    tree = ("--tree", source_tree.name)
    assert "is a class" in sourced("refs", "c10::Dispatcher", "--callers", *tree).three_parts(1).err
    sourced("refs", "at::add", "--depth", "2", *tree).three_parts(2)
    sourced("refs", "at::add", "--callers", "--kind", "calls", *tree).three_parts(2)
    text = sourced("refs", "at::TensorIteratorBase::compute_types", "--callers", *tree).out
    assert re.search(r"^    at::TensorIteratorBase::build_binary_float_op  \S+TensorIterator.cpp:\d+", text, re.M)
