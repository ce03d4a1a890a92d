"""`ptexplore tensor`: the picture, the answers, the documents, and what cannot be drawn."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.harness import InProcess

pytestmark = pytest.mark.e2e

VIEWS = "x = torch.arange(12).view(3, 4); v = x[1:, ::2]; t = x.t()"


def test_the_picture(command: InProcess) -> None:
    lines = [line.rstrip() for line in command("tensor", VIEWS, env={"COLUMNS": "100"}).out.splitlines()]
    assert lines[2] == "storage   96 B, int64, cpu   12 cells of 8 B"
    assert lines[3:7] == [
        "cell  0    1    2    3    4    5    6    7    8    9    10   11",
        "x     0,0  0,1  0,2  0,3  1,0  1,1  1,2  1,3  2,0  2,1  2,2  2,3",
        "v                         0,0  ·    0,1  ·    1,0  ·    1,1",
        "t     0,0  1,0  2,0  3,0  0,1  1,1  2,1  3,1  0,2  1,2  2,2  3,2",
    ]


@pytest.mark.words
def test_the_facts_below_the_picture(command: InProcess) -> None:
    text = re.sub(r"\)  +", ")  ", command("tensor", VIEWS, env={"COLUMNS": "100"}).out)
    assert "x       (3, 4)  (4, 1)  0       contiguous" in text
    assert "t.view(-1)  fails: dimensions 0 and 1 cannot be joined: stride 1 is not 3 × 4" in text
    assert "t.reshape(-1)  copies 96 B: strides (1,)" in text
    assert "v.view(-1)  works: strides (2,)" in text


@pytest.mark.parametrize("width", [80, 160])
def test_no_line_is_wider_than_the_terminal(command: InProcess, width: int) -> None:
    expression = "x = torch.empty(2, 3, 8, 8).to(memory_format=torch.channels_last); x.permute(0, 2, 3, 1)[:, ::2]"
    shown = command("tensor", expression, env={"COLUMNS": str(width)}).out
    assert max(map(len, shown.splitlines())) <= width
    assert "channels_last" in shown


def test_sizes_that_are_asked_for(command: InProcess) -> None:
    document = command("tensor", "x.t()", "--var", "x=torch.ones(3, 4)", "--reshape", "2, -1", "--json").data
    told = {answer["call"]: answer["facts"][0]["code"] for answer in document["answers"]}
    assert told["x.view(2, -1)"] == "view-possible"
    assert told["x.t().view(2, -1)"] == "view-refused"
    assert told["x.t().reshape(2, -1)"] == "would-copy"


def test_the_document_has_what_the_picture_has(command: InProcess) -> None:
    document = command("tensor", VIEWS, "--json").data
    assert [(t["name"], t["sizes"], t["strides"], t["offset"]) for t in document["tensors"]] == [
        ("x", [3, 4], [4, 1], 0), ("v", [2, 2], [4, 2], 4), ("t", [4, 3], [1, 4], 0),
    ]  # fmt: skip
    assert [block["bytes"] for block in document["blocks"]] == [96]


def test_the_statements_see_names_setup_and_contexts(command: InProcess) -> None:
    setup, context = "def f(x): return x[::2]", "torch.device('meta')"
    document = command("tensor", "y = f(a); y += 1; torch.empty(2)", "--setup", setup, "--with", context, "--json").data
    assert [tensor["name"] for tensor in document["tensors"]] == ["a", "y", "torch.empty(2)"]
    assert document["tensors"][2]["device"] == "meta"


def test_an_svg(command: InProcess, tmp_path: Path) -> None:
    file = tmp_path / "x.svg"
    command("tensor", VIEWS, "--svg", str(file))
    assert file.read_text(encoding="utf-8").startswith("<svg")


@pytest.mark.parametrize(
    ("expression", "code", "error"),
    [
        ("3", 2, "int"),
        ("x = ", 2, "invalid syntax"),
        ("", 2, ""),
        ("troch.ones(2)", 2, "troch"),
        ("torch.ones(2).view(3)", 1, "RuntimeError"),
        ("torch.oness(2)", 2, "oness"),
        ("x = torch.ones(2); x.storage().fail", 1, "AttributeError"),
    ],
)
def test_what_cannot_be_drawn(command: InProcess, expression: str, code: int, error: str) -> None:
    assert error in command("tensor", expression).three_parts(code).err


@pytest.mark.parametrize("sizes", ["a", "2 3", "-2", "-1, -1"])
def test_sizes_that_are_none(command: InProcess, sizes: str) -> None:
    assert "is not a list of sizes" in command("tensor", "torch.ones(2)", "--reshape", sizes).three_parts(2).err


def test_a_freed_storage_and_a_huge_tensor(command: InProcess) -> None:
    freed = "x = torch.ones(3); x.untyped_storage().resize_(0)"
    (tensor,) = command("tensor", freed, "--json").data["tensors"]
    assert tensor["facts"][0] | {"text": ""} == {
        "code": "past-storage",
        "arguments": {"needed": 12, "bytes": 0},
        "text": "",
    }
    huge = command("tensor", "x = torch.empty(10**9, device='meta'); x[5:]", env={"COLUMNS": "80"}).out
    assert "more cells" in huge
    assert len(huge.splitlines()) < 60


def test_tensors_beside_each_other_and_what_differs(command: InProcess) -> None:
    given = ("tensor", "x = torch.ones(2, 3).t()", "--against", "x.contiguous()")
    narrow, wide = (command(*given, env={"COLUMNS": width}).out for width in ("80", "160"))
    assert [line.split() for line in narrow.splitlines()[-3:]] == [
        ["x", "x.contiguous()"],
        ["strides", "(1,", "3)", "(2,", "1)"],
        ["contiguous", "in", "no", "format", "contiguous"],
    ]
    assert any("(1, 3)" in line and "│" in line and "(2, 1)" in line for line in wide.splitlines())
    assert max(map(len, wide.splitlines())) <= 160
    document = command(*given, "--json").data
    assert [tensor["strides"] for tensor in document["against"]["tensors"]] == [[2, 1]]


def test_a_tensor_before_and_after(command: InProcess) -> None:
    given = ("tensor", "x = torch.arange(6).view(2, 3)", "--after", "x.transpose_(0, 1); x.add_(1)")
    shown = command(*given, env={"COLUMNS": "80"}).out
    assert "the same tensor" not in shown
    assert [line.split()[-2:] for line in shown.splitlines()[-3:-1]] == [["(3,", "2)"], ["(1,", "3)"]]
    unchanged = command("tensor", "x = torch.ones(2)", "--after", "x.add_(1)").out
    assert unchanged.splitlines()[-1] == "x: the same sizes, strides, offset and dtype"
