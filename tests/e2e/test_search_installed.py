"""find, show and refs on PyTorch itself: the 2.6.0 source beside the installed torch; every line read is true."""

from __future__ import annotations

import os
import re
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
    """The same without a process of its own."""
    return here(sourced, monkeypatch, capsys)


@pytest.fixture
def cli(cli: Cli, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    """The same without a process of its own."""
    return here(cli, monkeypatch, capsys)


def line_at(cli: Cli, ref: dict[str, Any]) -> str:
    """The line that a reference names; what newer wheels put above their headers is not the repository's."""
    if ref["tree"] != "runtime":
        return cli.line_of(ref)
    lines = cli.text_of(ref["path"]).split("\n")
    wrapped = lines[0].startswith("#if !defined(TORCH_STABLE_ONLY)")
    return lines[ref["line"] - (0 if wrapped else 1)]


def groups(cli: Cli, *arguments: str, key: str) -> dict[str, list[dict[str, Any]]]:
    return {group["name"]: group[key] for group in cli(*arguments, "--json").data["groups"]}


@pytest.mark.parametrize(
    "query, name, path",
    [
        ("add_relu_impl", "at::native::add_relu_impl", "aten/src/ATen/native/BinaryOps.cpp"),
        ("TensIterB", "at::TensorIteratorBase", "aten/src/ATen/TensorIterator.h"),
        ("at::native::add_kernel", "at::native::add_kernel", "build/aten/src/ATen/UfuncCPUKernel_add.cpp"),
        ("structured_ufunc_add_CPU", "at::native::structured_ufunc_add_CPU", "build/aten/src/ATen/UfuncCPU_add.cpp"),
        ("torch.nn.functional.relu", "torch.nn.functional.relu", "torch/nn/functional.py"),
    ],
)
def test_find(sourced: Cli, query: str, name: str, path: str) -> None:
    found = groups(sourced, "find", query, "--limit", "5", key="results")["symbols"]
    one = next(r for r in found if (r["name"], r["source"]["path"]) == (name, path))
    assert name.replace(".", "::").rsplit("::", 1)[-1] in line_at(sourced, one["source"])


def test_names_lead_to_lines_that_hold_them(sourced: Cli) -> None:
    seen = 0
    for query in ("softmax", "conv2d", "layer_norm", "DispatchKeySet", "TensorImpl", "AccumulateGrad"):
        for one in groups(sourced, "find", query, "--limit", "60", key="results")["symbols"]:
            last = one["name"].replace(".", "::").rsplit("::", 1)[-1]
            for ref in (one["source"], *one["also"]):
                if one["macro"] is None and one["kind"] != "namespace" and ref["tree"] != "atlas":
                    assert last in line_at(sourced, ref), one
                    seen += 1
    assert seen > 150


def test_show_of_an_installed_header_has_the_repositorys_lines(sourced: Cli) -> None:
    """Newer wheels wrap headers: what is opened lies lower than the line that is named."""
    (page,) = sourced("show", "c10/core/Device.h:30", "--tree", "runtime", "--json").data["pages"]
    with open(page["file"], encoding="utf-8") as handle:
        installed = handle.read().split("\n")
    assert installed[page["file_line"] - 1] == page["lines"][30 - page["first"]]
    assert page["source"]["layer"] == "wheel"


def test_show_of_a_generated_file_and_of_an_operator(sourced: Cli) -> None:
    (page,) = sourced("show", "VariableType_2.cpp", "--json").data["pages"]
    assert page["source"]["layer"] == "generated"
    assert "\n".join(page["lines"]) == sourced.text_of(page["source"]["path"]).rstrip("\n")
    (page,) = sourced("show", "add.Tensor", "--json").data["pages"]
    assert page["lines"][0].startswith("- func: add.Tensor(")
    kernels = {kernel["name"]: kernel["source"] for kernel in page["kernels"]}
    place = next(source for name, source in kernels.items() if "structured_ufunc_add_CPU::impl" in name)
    assert "add" in line_at(sourced, place)


def test_refs(sourced: Cli) -> None:
    found = groups(sourced, "refs", "add_stub", "--limit", "0", key="uses")
    assert {"DECLARE_DISPATCH", "REGISTER_DISPATCH"} <= {use["how"] for use in found["stubs"]}
    assert any(use["inside"] == "at::native::structured_sub_out::impl" for use in found["calls"])
    seen = 0
    for name in ("add_stub", "at::native::resize_output", "aten::add.Tensor", "TensorIteratorBase"):
        for group in groups(sourced, "refs", name, "--limit", "40", key="uses").values():
            for use in group:
                line = line_at(sourced, use["source"]).strip()
                assert use["text"] == line or len(line) > 400, use
                seen += 1
    assert seen > 100


@pytest.mark.parametrize(
    ("query", "group", "name"),
    [
        ("TensorImpl.h", "file", "c10/core/TensorImpl.h"),
        ("functional.py", "file", "torch/functional.py"),
        ("add.Tensor", "operator", "aten::add.Tensor"),
        ("aten::add.out", "operator", "aten::add.out"),
    ],
)
def test_what_is_named_whole_comes_first(cli: Cli, query: str, group: str, name: str) -> None:
    """A file's name and an operator's overload are names of one sort: what is only like them comes later."""
    first = cli("find", query, "--json").data["groups"][0]
    assert first["sort"] == group
    assert name in [hit["name"] for hit in first["results"][:3]]


@pytest.mark.parametrize(
    ("base", "first"), [("add", "aten::add.Tensor"), ("mul", "aten::mul.Tensor"), ("mm", "aten::mm")]
)
def test_the_operator_that_a_reader_means_comes_first(cli: Cli, base: str, first: str) -> None:
    """Of one name: ATen's before those of other libraries, what returns its result before what writes it."""
    (group,) = cli("find", base, "--kind", "operator", "--json").data["groups"]
    assert group["results"][0]["name"] == first


@pytest.mark.parametrize(
    ("query", "function"),
    [
        ("repeat_interleave", "repeat_interleave_cpu"),
        ("source code of torch.mode", "mode"),
        ("torch._C._nn.nll_loss", "nll_loss_symint"),
        ("dropout implementation", "dropout"),
        ("_execution_engine.run_backward", "THPEngine_run_backward"),
        ("autograd engine evaluate function", "evaluate_function"),
        ("ddp bucket all reduce", "all_reduce_bucket"),
    ],
)
def test_without_a_checkout_the_best_results_have_the_hand_written_function(
    cli: Cli, source_tree: Path, query: str, function: str
) -> None:
    """The wheel has no such file: the line is checked in the source of the release that the place names."""
    data = cli("find", query, "--json").data
    hits = [hit for hit in data["best"] if hit["name"].rpartition("::")[2] == function and hit["kind"] == "function"]
    place = next(hit["source"] for hit in hits if hit["source"]["path"].endswith(".cpp"))
    assert re.search(rf"\b{function}\(", upstream(source_tree, place)), place
    everything = [hit["name"] for group in data["groups"] for hit in group["results"]]
    assert {hit["name"] for hit in data["best"]} <= set(everything)


def test_a_stop_in_a_file_that_is_not_here_has_a_place(cli: Cli, source_tree: Path) -> None:
    hits = cli("find", "CUDA out of memory error", "--json").data["best"]
    place = next(hit["source"] for hit in hits if hit["name"] == "memory#oom")
    assert "release_cached_blocks" in upstream(source_tree, place)


def upstream(source: Path, place: dict[str, Any]) -> str:
    """The line of a place, and the next one, in the source of the atlas's release."""
    assert place["precision"] == "version-skew"
    lines = (source / place["path"]).read_text(encoding="utf-8").split("\n")
    return "\n".join(lines[place["line"] - 1 : place["line"] + 1])
