"""The readable native tree as a user sees it: short, nothing that decides the result missing, all of it to be had."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.conftest import BACKWARD, save_whole
from tests.harness import InProcess, Result, made_once, nested

pytestmark = pytest.mark.e2e

ROW = re.compile(r"^ *(?P<count>[\d,]*) +[│ ]*[├└] (?P<text>\S.*)$", re.MULTILINE)
WIDE = {"COLUMNS": "120"}


@pytest.fixture
def saved(command: InProcess, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[InProcess, str]]:
    """Three traces, each captured once: torch.add with grad, a convolution, a backward."""
    found = {}
    for name, arguments in {
        "add": ("torch.add(a, b)", "--grad"),
        "conv2d": ("F.conv2d(x, w)", "--grad", "--var", "x=torch.randn(1, 3, 8, 8)",
                   "--var", "w=torch.randn(4, 3, 3, 3)"),
        "backward": BACKWARD,
    }.items():  # fmt: skip
        file = made_once(tmp_path_factory, f"{name}.json", partial(save_whole, command, arguments))
        found[name] = (command, str(file))
    return found


def shown(
    saved: dict[str, tuple[InProcess, str]], name: str, *options: str, env: dict[str, str] | None = None
) -> Result:
    command, file = saved[name]
    result = command("trace", "--load", file, *options, env=env or WIDE)
    assert result.code == 0, result
    return result


def tree(result: Result) -> list[str]:
    """The lines of the tree alone."""
    lines = result.out.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith((" instr", "  instr", "   instr")))
    return lines[start + 1 : lines.index("", start)]


@pytest.mark.parametrize(("name", "most"), [("add", 40), ("conv2d", 76)])
def test_it_is_read_at_a_glance(saved: dict[str, tuple[InProcess, str]], name: str, most: int) -> None:
    for columns in ("120", "200"):
        lines = tree(shown(saved, name, env={"COLUMNS": columns}))
        assert len(lines) <= most, "\n".join(lines)


def test_a_backward_is_read_at_a_glance(saved: dict[str, tuple[InProcess, str]]) -> None:
    for columns in ("120", "200"):
        lines = tree(shown(saved, "backward", env={"COLUMNS": columns}))
        start = next(number for number, line in enumerate(lines) if "run_backward" in line)
        assert len(lines[start:]) <= 68, "\n".join(lines[start:])


LANDMARKS = {
    "add": ("THPVariable_add", "at::_ops::add_Tensor::call", "VariableType::add_Tensor", "add_Tensor::redispatch",
            "wrapper_CPU_add_Tensor", "structured_add_Tensor::meta", "TensorIteratorBase::build",
            "structured_ufunc_add_CPU::impl", "add_kernel", "VectorizedLoop2d"),
    "conv2d": ("THPVariable_conv2d", "aten::conv2d", "aten::convolution", "_select_conv_backend", "gemm"),
    "backward": ("Engine::execute", "evaluate_function", "SumBackward0", "aten::expand", "AccumulateGrad"),
}  # fmt: skip


@pytest.mark.parametrize("name", LANDMARKS)
def test_landmarks_are_there_in_order_with_counts(saved: dict[str, tuple[InProcess, str]], name: str) -> None:
    text = shown(saved, name).out
    rows = [(found["text"], found["count"]) for found in ROW.finditer(text)]
    at = -1
    for one in LANDMARKS[name]:
        at = next((number for number, (title, _) in enumerate(rows) if number >= max(at, 0) and one in title), None)  # type: ignore[assignment]
        assert at is not None, (one, text)
    assert sum(bool(count) for _, count in rows) > len(rows) / 2


def test_every_operator_call_and_kernel_is_shown(saved: dict[str, tuple[InProcess, str]]) -> None:
    """Whatever the profiler counted as an operator, but what an allocation has inside, is a row of its own."""
    for name, (_, file) in saved.items():
        text = shown(saved, name, env={"COLUMNS": "400"}).out
        hops = nested(json.loads(Path(file).read_text())["hops"])
        for hop in operators([hop for hop in hops if hop["parent"] is None]):
            assert hop in text, (name, hop)


def operators(hops: list[dict]) -> list[str]:  # type: ignore[type-arg]
    found = []
    for hop in hops:
        if hop["kind"] == "op":
            found.append(hop["name"])
        if not (hop["kind"] == "op" and hop["name"].startswith(("aten::empty.", "aten::empty_"))):
            found += operators(hop["children"])
    return found


def test_what_is_left_out_is_said_and_to_be_had(saved: dict[str, tuple[InProcess, str]]) -> None:
    brief = shown(saved, "add").out
    said = re.search(r"(\d+) of (\d+) native frames are not shown \(\+n: inside a row\)", brief)
    assert said, brief
    assert re.search(r"^next: .*^ +ptexplore trace --load \S+ --full$", brief, re.DOTALL | re.MULTILINE), brief
    full = shown(saved, "add", "--full", env={"COLUMNS": "400"}).out
    assert "native frames are not shown" not in full
    counted = [found for found in ROW.finditer(full) if found["count"]]
    times = [re.search(r" ×(\d+)  ", found["text"]) for found in counted]
    assert len(counted) <= int(said[2]) <= sum(int(found[1]) if found else 1 for found in times) * 4
    assert "OperatorEntry::lookup" in full
    assert "OperatorEntry::lookup" not in brief


def test_one_subtree_is_opened_whole(saved: dict[str, tuple[InProcess, str]]) -> None:
    opened = shown(saved, "add", "--open", "collect_next_edges").out
    assert "MakeNextFunctionList::operator()" in opened or "AccumulateGrad::AccumulateGrad" in opened  # inlined in 2.6
    assert "at::_ops::add_Tensor::call" in opened  # what leads to it
    assert "structured_add_Tensor" not in opened
    folded = shown(saved, "add").out
    assert "MakeNextFunctionList" not in folded


def test_native_of_nothing_is_a_clear_error(saved: dict[str, tuple[InProcess, str]]) -> None:
    command, file = saved["add"]
    error = command("trace", "--load", file, "--open", "collect_next_edge_s").three_parts(2)
    assert "collect_next_edges" in error.err
    command("trace", "a + b", "--no-native", "--native", "add_kernl").three_parts(2)


def test_a_frame_is_explained_with_its_rule(saved: dict[str, tuple[InProcess, str]]) -> None:
    row = re.search(r"collect_next_edges  \[(\d+)\]", shown(saved, "add").out)
    assert row
    text = shown(saved, "add", "--explain", row[1]).out
    assert re.search(r"instructions +[\d,]+ from entry to exit, [\d,]+ of its own", text), text
    assert re.search(r"in the tree +one row .*\(records\s+the\s+graph", text, re.DOTALL), text
    assert re.search(r"native/calls: .*\"functions\": \"\d+ entries\"", text, re.DOTALL), text


def test_facts_tell_how_it_was_recorded(saved: dict[str, tuple[InProcess, str]]) -> None:
    text = shown(saved, "add", env={"COLUMNS": "400"}).out
    assert re.search(r"stepping: [\d,]+ instructions stepped; \d warm-ups, 1 thread \(first calls", text), text
    assert re.search(r"libraries that ran and are not opened, in instructions: .*libc \d", text), text
    back = shown(saved, "backward", env={"COLUMNS": "400"}).out
    assert re.search(r"stepping: [\d,]+ instructions stepped, [\d,]+ of backward; ", back), back
    off = saved["add"][0]("trace", "a + b", "--no-native")
    assert re.search(r"not stepped: \S+", off.out), off


def test_only_what_was_not_seen_is_marked(saved: dict[str, tuple[InProcess, str]]) -> None:
    rows = [found["text"] for found in ROW.finditer(shown(saved, "add").out)]
    assert not any(" observed" in row for row in rows)


@pytest.mark.parametrize("columns", ["60", "100", "120"])
def test_no_line_is_wider_than_the_terminal(saved: dict[str, tuple[InProcess, str]], columns: str) -> None:
    for options in ((), ("--full",), ("--open", "build")):
        if options and columns == "60":
            continue  # 25 levels of guides alone are that wide
        out = shown(saved, "add", *options, env={"COLUMNS": columns}).out
        assert not [line for line in out.splitlines() if len(line) > int(columns)]


def test_no_name_is_mangled(saved: dict[str, tuple[InProcess, str]]) -> None:
    for name in saved:
        assert not re.search(r"\b_Z\w", shown(saved, name, "--full", env={"COLUMNS": "400"}).out)


def test_counts_survive_saving(saved: dict[str, tuple[InProcess, str]]) -> None:
    command, file = saved["add"]
    loaded = command("trace", "--load", file, "--json").data["hops"]
    assert loaded == json.loads(Path(file).read_text())["hops"]
