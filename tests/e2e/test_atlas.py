"""The atlas through the command: a name whose text is nowhere here is still given its file and line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import here
from tests.harness import Cli, Here

pytestmark = pytest.mark.e2e
COMMIT = "2236df1770800ffea5697b11b0bb0d910b2e59e1"


@pytest.fixture(scope="session")
def own_source(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """A cache that holds an extension's own source and nothing of PyTorch's."""
    base = tmp_path_factory.mktemp("atlas")
    for name in ("backend", "cwd"):
        (base / name).mkdir()
    text = "namespace mine {\nint mul_kernel_of_mine(int x) {\n  return x;\n}\n}\n"
    (base / "backend" / "kernels.cpp").write_text(text, encoding="utf-8")
    cli = Cli(base / "cache", base / "cwd")
    assert cli("fetch", "--name", "backend", "--from", str(base / "backend")).code == 0
    assert cli("index", "--checkout", "backend").code == 0
    return cli


@pytest.fixture
def backend(own_source: Cli, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    """The command with that cache, without a process of its own."""
    return here(own_source, monkeypatch, capsys)


def found(cli: Cli, query: str) -> list[dict[str, Any]]:
    data = cli("find", query, "--tree", "backend", "--json").data
    return [one for group in data["groups"] for one in group["results"] if one["source"]["layer"] == "atlas"]


@pytest.mark.parametrize("query", ["mul_kernel", "at::native::mul_kernel", "native::mul_kernel"])
def test_find_names_the_line_of_a_kernel_that_no_text_here_has(backend: Cli, source_tree: Path, query: str) -> None:
    one = next(one for one in found(backend, query) if one["name"] == "at::native::mul_kernel")
    source = one["source"]
    line = (source_tree / source["path"]).read_text(encoding="utf-8").splitlines()[source["line"] - 1]
    assert "void mul_kernel(" in line
    assert source["precision"] == "version-skew"  # no torch was asked: which one runs is not known
    assert source["url"] == f"https://github.com/pytorch/pytorch/blob/{COMMIT}/{source['path']}#L{source['line']}"


def test_what_is_called_so_comes_before_what_only_begins_so_wherever_its_text_is(backend: Cli) -> None:
    data = backend("find", "mul_kernel", "--tree", "backend", "--json").data
    results = [one for group in data["groups"] for one in group["results"]]
    names = [one["name"].rpartition("::")[2] for one in results]
    assert names[0] == "mul_kernel"
    assert "mul_kernel_of_mine" in names
    mine = backend("find", "mul_kernel_of", "--tree", "backend", "--json").data["groups"][0]["results"]
    assert [one["source"]["layer"] for one in mine] == ["checkout"]


def test_what_the_atlas_does_not_know_is_not_found(backend: Cli) -> None:
    backend("find", "mul_kernel_that_nobody_wrote", "--tree", "backend", "--json").three_parts(1)


def test_show_says_where_it_stands_and_that_there_is_no_text(backend: Cli) -> None:
    error = backend("show", "at::native::mul_kernel", "--tree", "backend").three_parts(1, 3).err
    assert "aten/src/ATen/native/cpu/BinaryOpsKernel.cpp:" in error
    assert "atlas 2.6.0" in error
    assert "ptexplore fetch" in error
