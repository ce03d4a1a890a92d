"""A torch that runs from the tree it was built in: generated C++ and hand-written source are found there, and exact."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from ptexplore.source.runtime import generated
from ptexplore.source.runtime.describe import find_runtime
from tests import built_tree
from tests.harness import GENERATED, KNOWN, TARGET, Cli, torch_version

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.skipif(not torch_version().startswith("2.6.0"), reason="needs torch 2.6.0, whose source is at hand"),
]


class Built(NamedTuple):
    """The tree, the Python that has an editable install of it, and the command with a new cache."""

    root: Path
    python: str
    cli: Cli


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, source_tree: Path, warm_cache: Path) -> Built:
    assert TARGET is not None
    folder = tmp_path_factory.mktemp("built")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PTEXPLORE_CACHE", str(warm_cache))
        runtime = find_runtime(TARGET)
        made = generated.ensure(runtime)
    packages = Path(runtime.torch_dir).parent
    root = folder / "pytorch"
    built_tree.lay_out(root, source_tree, packages, made)
    python = built_tree.install(folder / "environment", root, TARGET, packages)
    (folder / "cwd").mkdir()
    return Built(root, python, Cli(folder / "cache", folder / "cwd"))


def test_doctor_says_where_it_was_built(built: Built) -> None:
    result = built.cli("doctor", target=built.python)
    assert result.code == 0, result
    shown = " ".join(result.out.split())  # a long path breaks the line
    assert f"built in {built.root}: generated C++ from its build folder" in shown
    assert "compared with the text in the build folder" in result.out
    assert "matches: torch 2.6.0" in result.out, result
    report = built.cli("doctor", "--json", target=built.python).data
    assert (report["torch"]["build"], report["torch"]["built_in"]) == ("source", str(built.root))
    made = report["registrations"]["generated"]
    assert made["confirmed"] == made["total"] == GENERATED["2.6.0+cu124"]
    assert [tree["relation"] for tree in report["trees"] if tree["name"] == "pytorch"] == ["matches"]
    assert not list((built.cli.cache / "generated").glob("*/build")), "no C++ was generated"
    assert report["caches"][1]["name"] == "torchgen's model"


def test_a_trace_is_exact_in_it(built: Built) -> None:
    result = built.cli("trace", "torch.add(a, b)", "--grad", "--no-native", "--json", target=built.python)
    for hop in result.hops:
        if hop["kind"] in ("op", "key", "kernel", "stub", "native"):
            assert hop["source"]["precision"] in KNOWN, hop
    by_hand = next(hop for hop in result.hops if hop["name"] == "at::meta::structured_add_Tensor::meta")
    assert (by_hand["source"]["tree"], by_hand["source"]["layer"]) == ("pytorch", "checkout")
    autograd = next(hop for hop in result.hops if hop["key"] == "AutogradCPU" and hop["kind"] == "kernel")
    assert autograd["source"]["layer"] == "generated"
    lines = (built.root / autograd["source"]["path"]).read_text(encoding="utf-8").splitlines()
    assert "add_Tensor(" in lines[autograd["source"]["line"] - 1]


def test_op_reads_it(built: Built) -> None:
    card = built.cli("op", "add.Tensor", target=built.python)
    assert "native_functions.yaml" in card.out
    assert "/generated/VariableType_2.cpp:" in card.out
    assert "native/BinaryOps.cpp:" in card.out, card  # a narrow table drops the beginning of a path
    assert "~" not in card.out, "all lines are of the running version"


def test_a_file_that_changed_since_makes_lines_inexact(built: Built) -> None:
    file = built.root / "aten/src/ATen/native/Activation.cpp"
    text = file.read_text(encoding="utf-8")
    file.unlink()  # it is a link to the source that other tests read
    file.write_text(f"// edited\n{text}", encoding="utf-8")
    result = built.cli("doctor", target=built.python)
    assert "version-skew" in result.out, result
    assert "1 C++ file changed since: aten/src/ATen/native/Activation.cpp" in " ".join(result.out.split()), result
    shutil.copy2(_source(file, built.root), file)
    os.utime(file, ns=(0, 0))
    assert "matches: torch 2.6.0" in built.cli("doctor", target=built.python).out


def _source(file: Path, root: Path) -> Path:
    return Path(os.environ["PTEXPLORE_TEST_SOURCE"]) / file.relative_to(root)
