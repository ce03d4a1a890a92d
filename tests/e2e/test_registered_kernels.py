"""Kernels that your own code registers: each has its name and its place in your file, as your file has them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.harness import TARGET, InProcess, Result, torch_version

pytestmark = pytest.mark.e2e
EXTENSION = """#include <ATen/core/Tensor.h>
#include <ATen/ops/add.h>
#include <ATen/ops/neg.h>
#include <torch/library.h>
namespace {
at::Tensor refuses(const at::Tensor& a) {
  TORCH_CHECK(a.dim() == 1, "refuses: expected 1-D");
  return a;
}
at::Tensor twice(const at::Tensor& a) { return at::add(a, a); }
at::Tensor thrice(const at::Tensor& a) { return at::add(a, a, 2); }
at::Tensor below(const at::Tensor& a) {
  at::AutoDispatchBelowADInplaceOrView guard;  // as every factory of torch:: has
  return at::neg(a);
}
}
TORCH_LIBRARY(built, m) {
  m.def("twice(Tensor a) -> Tensor", &twice);
  m.def("thrice(Tensor a) -> Tensor");
  m.def("refuses(Tensor a) -> Tensor");
  m.def("below(Tensor a) -> Tensor");
  m.def("throws(Tensor a) -> Tensor");
  m.def("nameless(Tensor a) -> Tensor", [](const at::Tensor& a) { return at::add(a, a); });
}
TORCH_LIBRARY_IMPL(built, CPU, m) {
  m.impl("thrice", &thrice);
  m.impl("below", &below);
  m.impl("refuses", TORCH_FN(refuses));
  m.impl("throws", [](const at::Tensor& a) -> at::Tensor { throw std::out_of_range("beyond"); });
}
"""
ASKED = """import json, torch, torch.utils.cpp_extension as extension
print(json.dumps([torch.__path__[0], torch._C._GLIBCXX_USE_CXX11_ABI, *extension.include_paths()]))
"""
MODULE = """import torch


@torch.library.custom_op("mine::doubled", mutates_args=())
def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@doubled.register_kernel("cpu")
def doubled_on_cpu(x):
    return x + x


doubled.register_autograd(lambda ctx, grad: grad * 2)


@torch.library.custom_op("mine::tripled", mutates_args=())
def tripled(x: torch.Tensor) -> torch.Tensor:
    return x * 3


library = torch.library.Library("mine", "FRAGMENT")
library.define("quadrupled(Tensor x) -> Tensor")


def quadrupled(x):
    return x * 4


library.impl("quadrupled", quadrupled, "CPU")
"""


def kernels(made: Result, op: str) -> dict[str, dict[str, Any]]:
    """By dispatch key the kernel of an operator."""
    return {hop["key"]: hop for hop in made.hops if hop["kind"] == "kernel" and hop["op"] == op}


def line_of(text: str, begin: str) -> int:
    return next(n for n, line in enumerate(text.splitlines(), 1) if line.lstrip().startswith(begin))


def place(hop: dict[str, Any]) -> tuple[str, str | None, int | None]:
    return hop["name"], hop["source"]["path"], hop["source"]["line"]


@pytest.fixture(scope="module")
def extension(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of operators in C++ that was compiled with -g."""
    if shutil.which("g++") is None:
        pytest.skip("no compiler")
    told = subprocess.run([TARGET or sys.executable, "-c", ASKED], capture_output=True, text=True, check=True).stdout
    torch, abi, *includes = json.loads(told)
    folder = tmp_path_factory.mktemp("extension")
    (folder / "main.cpp").write_text(EXTENSION)
    flags = ["-std=c++20", "-g", "-O1", "-fPIC", "-shared", f"-D_GLIBCXX_USE_CXX11_ABI={int(abi)}"]
    libraries = [f"-L{torch}/lib", "-lc10", "-ltorch_cpu", "-o", "built.so"]
    headers = [f"-I{path}" for path in includes]
    subprocess.run(["g++", *flags, *headers, str(folder / "main.cpp"), *libraries], cwd=folder, check=True)
    return folder


def test_a_kernel_of_an_extension_is_the_function_of_its_file(extension: Path, command: InProcess) -> None:
    library = extension / "built.so"
    setup = ("--setup", f"torch.ops.load_library('{library}')")
    made = command("trace", "(torch.ops.built.twice(a), torch.ops.built.thrice(a))", *setup, "--json")
    if not made.data["captured"]["native"]:
        pytest.skip("no native pass here")
    file = str(extension / "main.cpp")
    (twice,) = kernels(made, "built::twice").values()  # it calls operators: no autograd kernel comes before it
    assert place(twice) == ("twice", file, line_of(EXTENSION, "at::Tensor twice"))
    assert (twice["status"], twice["native"]["library"]) == ("observed", "built.so")
    assert place(kernels(made, "built::thrice")["CPU"]) == ("thrice", file, line_of(EXTENSION, "at::Tensor thrice"))
    assert not any("no known name" in hop["name"] for hop in made.hops)
    fallback = next(hop for hop in made.hops if hop["kind"] == "kernel" and hop["name"].endswith("autograd_fallback"))
    assert any("basicAutogradNotImplementedFallbackImpl" in str(hop["native"]) for hop in fallback["children"]), (
        "the first calls the second"
    )
    nameless = command("trace", "torch.ops.built.nameless(a)", *setup, "--json")
    (made_of,) = kernels(nameless, "built::nameless").values()
    assert made_of["name"].startswith("TORCH_LIBRARY_init_built::{lambda#1}")


def test_no_key_is_predicted_of_what_a_kernel_of_an_extension_calls(extension: Path, command: InProcess) -> None:
    """Its C++ may hold any guard: stepped, this one's call goes to CPU at once."""
    asked = (
        "trace",
        "torch.ops.built.below(a)",
        "--grad",
        "--setup",
        f"torch.ops.load_library('{extension / 'built.so'}')",
    )
    for native in ((), ("--no-native",)):
        made = command(*asked, *native, "--json")
        (called,) = (hop for hop in made.hops if hop["kind"] == "op" and hop["name"] == "aten::neg")
        keys = [hop["key"] for hop in called["children"] if hop["kind"] == "key"]
        assert keys == (["CPU"] if made.data["captured"]["native"] else [])


@pytest.mark.words
@pytest.mark.parametrize("native", [(), ("--no-native",)], ids=["stepped", "not stepped"])
def test_the_kernel_of_an_extension_that_threw_is_the_step_that_was_left(
    extension: Path, command: InProcess, native: tuple[str, ...]
) -> None:
    """The line is that of TORCH_CHECK in the text; autograd's fallback called the kernel, and was left after it."""
    setup = ("--setup", f"torch.ops.load_library('{extension / 'built.so'}')")
    made = json.loads(command("trace", "torch.ops.built.refuses(a)", *setup, *native, "--json").out)
    ending = made["ending"]
    assert (ending["source"]["path"], ending["source"]["line"]) == (
        str(extension / "main.cpp"), line_of(EXTENSION, "TORCH_CHECK"),
    )  # fmt: skip
    (left,) = (hop for hop in made["hops"] if hop["id"] == ending["hop"])
    assert left["name"].endswith("refuses")
    if not native and made["captured"]["native"]:
        assert (left["kind"], left["op"]) == ("kernel", "built::refuses")
    shown = command("trace", "torch.ops.built.refuses(a)", *setup, *native, "--view", "path", env={"COLUMNS": "200"})
    lines = shown.out.splitlines()
    # The words may stand on a line of their own below the row.
    named = [number for number, line in enumerate(lines) if "RuntimeError" in line]
    assert any("refuses " in " ".join(lines[max(number - 2, 0) : number + 1]) for number in named), shown.out
    thrown = json.loads(command("trace", "torch.ops.built.throws(a)", *setup, *native, "--json").out)
    assert thrown["ending"]["how"] == "by throwing std::out_of_range"
    assert "{lambda#1}" in next(hop["name"] for hop in thrown["hops"] if hop["id"] == thrown["ending"]["hop"])


def test_without_stepping_it_is_called_by_the_line_that_registers_it(extension: Path, command: InProcess) -> None:
    setup = ("--setup", f"torch.ops.load_library('{extension / 'built.so'}')")
    made = command("trace", "torch.ops.built.thrice(a)", *setup, "--no-native", "--json")
    line = line_of(EXTENSION, "TORCH_LIBRARY_IMPL")
    kernel = kernels(made, "built::thrice")["CPU"]
    assert kernel["name"] == f"a kernel registered at main.cpp:{line}"
    assert kernel["source"]["reason"]["code"] == "registered-unread"
    assert kernel["source"]["reason"]["place"] == f"{extension / 'main.cpp'}:{line}"


@pytest.mark.parametrize("native", [(), ("--no-native",)], ids=["stepped", "not stepped"])
def test_a_kernel_that_python_registered_is_the_function_of_your_file(
    native: tuple[str, ...], tmp_path: Path, compiler_command: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text(MODULE)
    file = str(tmp_path / "mine.py")
    setup = ("--setup", f"import sys; sys.path.insert(0, '{tmp_path}'); import mine")
    made = compiler_command("trace", "(mine.doubled(a), mine.tripled(a))", *setup, "--grad", *native, "--json")
    doubled, tripled = kernels(made, "mine::doubled"), kernels(made, "mine::tripled")
    assert place(doubled["CPU"]) == ("doubled_on_cpu", file, line_of(MODULE, "def doubled_on_cpu"))
    assert place(tripled["CPU"]) == ("tripled", file, line_of(MODULE, "def tripled"))
    above = doubled["AutogradCPU"]
    assert above["name"].endswith("autograd_impl")
    assert above["source"]["path"] == "torch/_library/autograd.py", "the function that register_autograd made"
    if native:
        return
    made = compiler_command("trace", "torch.ops.mine.quadrupled(a)", *setup, "--json")
    if made.data["captured"]["native"]:
        kernel = kernels(made, "mine::quadrupled")["CPU"]
        assert place(kernel) == ("quadrupled", file, line_of(MODULE, "def quadrupled"))


OWN = """@torch.library.custom_op("mine::cubed", mutates_args=())
def op(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(x.detach().numpy() ** 3)
op.register_autograd(lambda ctx, g: g)
"""


@pytest.mark.parametrize("native", [(), ("--no-native",)], ids=["stepped", "not stepped"])
def test_a_function_of_yours_that_an_operator_calls_has_a_row(
    native: tuple[str, ...], compiler_command: InProcess
) -> None:
    made = compiler_command(
        "trace", "op(x)", "--setup", OWN, "--grad", *native, "--view", "path", env={"COLUMNS": "200"}
    )
    assert "└op() " in made.out
    assert "is_out()" not in made.out, "torch's own helper, in which no operator ran"


def test_python_s_function_that_was_seen_is_the_kernel(compiler_command: InProcess) -> None:
    text = "lib = torch.library.Library('typed', 'FRAGMENT')\nlib.define('five(Tensor x) -> Tensor')\n"
    text += "def five(x):\n    return x * 5\nlib.impl('five', five, 'CPU')"
    made = compiler_command("trace", "torch.ops.typed.five(a)", "--setup", text, "--no-native", "--json")
    kernel = kernels(made, "typed::five")["CPU"]
    assert (kernel["name"], kernel["status"]) == ("five", "observed")
    assert kernel["source"]["line"] == 3


def test_what_only_has_an_apply_is_no_node(compiler_command: InProcess) -> None:
    """The guards of a compiled function apply the thread's sets: torch::dynamo::LocalState::apply."""
    given = ("--setup", "f = torch.compile(lambda x: x * 2, backend='eager'); f(torch.ones(3, 3))")
    made = compiler_command("trace", "f(a)", *given, "--json")
    if torch_version().startswith("2.6."):
        pytest.skip("the guards of this torch call none")
    assert "LocalState::apply" in str(made.data), "else this says nothing"
    assert [hop["name"] for hop in made.hops if hop["kind"] == "node" and "LocalState" in hop["name"]] == []
