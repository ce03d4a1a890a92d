"""`trace --first`, formulas and generators: what explains a step, against the binary, derivatives.yaml and torchgen."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import ptexplore
from ptexplore.model.places import Runtime
from ptexplore.source.canonical import generator_of
from tests.harness import THOROUGH, Cli, InProcess

pytestmark = pytest.mark.e2e


def test_the_first_call_is_cold(command: InProcess) -> None:
    """It reads signatures and looks operators up by name, which the code has behind function-local statics."""
    cold = command("trace", "torch.add(a, b)", "--first", "--json")
    names = {hop["name"] for hop in cold.hops}
    assert {"torch::PythonArgParser::PythonArgParser", "at::_ops::create_add_Tensor_typed_handle"} <= names
    assert cold.data["captured"]["cold"] is True
    warm = command("trace", "torch.add(a, b)", "--json")
    assert warm.data["captured"]["cold"] is False
    assert not any("typed_handle" in hop["name"] for hop in warm.hops)
    # both ran the same kernels
    kernels = [[hop["name"] for hop in made.hops if hop["kind"] == "kernel"] for made in (cold, warm)]
    assert kernels[0] == kernels[1]


def test_what_is_said_of_a_cold_call(command: InProcess, tmp_path: Path) -> None:
    saved = tmp_path / "first.json"
    shown = command("trace", "torch.add(a, b)", "--first", "--save", str(saved)).out
    assert "no warm-ups" in shown
    assert "the very first call" in " ".join(shown.split())
    assert "warm-ups, 1 thread (first calls" not in shown
    assert "torch::PythonArgParser::PythonArgParser" in shown
    assert "the very first call" in " ".join(command("trace", "--load", str(saved)).out.split())


@pytest.mark.parametrize("other", [["--once"], ["--no-native"], ["--native-op", "add"]])
def test_first_goes_with_nothing_that_steps_otherwise(cli: Cli, other: list[str]) -> None:
    refused = cli("trace", "torch.add(a, b)", "--first", *other).three_parts(2)
    assert f"--first and {other[0]} do not go together" in refused.err


def test_first_is_of_an_expression(cli: Cli, tmp_path: Path) -> None:
    script = tmp_path / "s.py"
    script.write_text("import torch\n")
    cli("trace", "--script", str(script), "--first").three_parts(2)
    with pytest.raises(ptexplore.errors.PtexploreError, match="do not go together"):
        ptexplore.trace("torch.add(a, b)", first=True, native=False)


@pytest.mark.parametrize("native", [True, False] if THOROUGH else [True])
def test_a_recorded_node_tells_its_formula(command: InProcess, runtime: Runtime, native: bool) -> None:
    """As derivatives.yaml of that torch has it at the line that is named."""
    more = () if native else ("--no-native",)
    made = command("trace", "torch.mul(a, b)", "--grad", "--json", *more)
    (node,) = (hop for hop in made.hops if hop["kind"] == "node")
    text = Path(str(runtime.packaged_dir), "autograd", "derivatives.yaml").read_text().splitlines()
    formulas = node["derivative"]["formulas"]
    assert [formula["inputs"] for formula in formulas if formula["mode"] == "backward"] == ["self", "other"]
    for formula in formulas:
        assert text[formula["line"] - 1].strip() == f"{formula['inputs']}: {formula['text']}"
    shown = " ".join(re.sub(r"[│├└]", " ", command("trace", "torch.mul(a, b)", "--grad", *more).out).split())
    told = "; ".join(f"{formula['inputs']} = {formula['text']}" for formula in formulas[:2])
    assert told[:90] in shown


# A file of each kind, and what only its generator's own text can have put into it.
WRITTEN = (
    ("build/aten/src/ATen/RegisterCPU_0.cpp", "wrapper_"),
    ("build/aten/src/ATen/Operators_0.cpp", "_typed_handle"),
    ("build/aten/src/ATen/UfuncCPU_add.cpp", "_stub"),
    ("build/aten/src/ATen/RegisterFunctionalization_0.cpp", "at::functionalization::impl::isFunctionalTensor"),
    ("build/aten/src/ATen/RegisterBackendSelect.cpp", "computeDispatchKey"),
    ("torch/csrc/autograd/generated/VariableType_0.cpp", "compute_requires_grad"),
    ("torch/csrc/autograd/generated/TraceType_0.cpp", "jit::tracer::"),
    ("torch/csrc/autograd/generated/ADInplaceOrViewType_0.cpp", "as_view("),
    ("torch/csrc/autograd/generated/Functions.h", "release_variables"),
    ("torch/csrc/autograd/generated/python_torch_functions_0.cpp", "ParsedArgs<"),
    ("torch/csrc/autograd/generated/variable_factories.h", "AutoDispatchBelowADInplaceOrView"),
)


@pytest.mark.parametrize(("path", "mark"), WRITTEN)
def test_a_generated_files_generator(warm_cache: Path, runtime: Runtime, path: str, mark: str) -> None:
    generator = str(generator_of(path))
    packaged = generator.replace("tools/autograd/", "torchgen/packaged/autograd/")
    text = (Path(str(runtime.torchgen_dir)).parent / packaged).read_text()
    assert mark in text
    folder = warm_cache / "generated" / runtime.inputs_key
    file = folder / path if (folder / path).exists() else folder / path.replace("_0.", ".")  # 2.6 does not split all
    assert generator_of(str(file.relative_to(folder))) == generator
    assert mark in file.read_text()


def test_a_generator_is_named_once(command: InProcess) -> None:
    shown = command("trace", "torch.add(a, b).add(b)", "--no-native")
    made = command("trace", "torch.add(a, b).add(b)", "--no-native", "--json").data["generators"]
    text = re.sub(r"\s+", "", shown.out)
    for path, generator in made.items():
        assert generator_of(path) == generator
        assert text.count(f"{generator}(") <= 1
    assert text.count("torchgen/dest/register_dispatch_key.py(RegisterC") == 1
    assert text.count("tools/autograd/gen_python_functions.py(python_") == 1
