"""Names of native frames: short, readable, and still those of the functions; over a whole symbol table too."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from ptexplore.model.trace import walk
from ptexplore.view.trace.native_names import display, plain
from tests.unit.view.conftest import Recorded

ANON = "(anonymous namespace)::"
KERNEL = f"at::native::{ANON}add_kernel(at::TensorIteratorBase&, c10::Scalar const&)"
FLOAT = f"{KERNEL}::{{lambda()#1}}::operator()() const::{{lambda()#7}}::operator()() const::{{lambda(float, float)#1}}"
LOOP = "void c10::function_ref<void (char**, long const*, long, long)>::callback_fn<at::native::AVX2::VectorizedLoop2d<"
CASES = {
    "at::_ops::add_Tensor::call(at::Tensor const&, c10::Scalar const&)": "at::_ops::add_Tensor::call",
    f"torch::autograd::VariableType::{ANON}exp(c10::DispatchKeySet)": "torch::autograd::VariableType::exp",
    KERNEL: "at::native::add_kernel",
    f"{KERNEL}::{{lambda()#1}}::operator()": "at::native::add_kernel::{lambda#1}",
    f"{KERNEL}::{{lambda(long, long)#2}}::operator()(long, long)": "at::native::add_kernel::{lambda(long, long)#2}",
    f"{KERNEL}::{{lambda()#1}}::operator()() const": "at::native::add_kernel::{lambda#1}",
    f"{LOOP}{FLOAT}, int> >(long, char**, long const*, long, long)":
        "callback_fn<at::native::AVX2::VectorizedLoop2d<add_kernel::{lambda(float, float)#1.7.1}>>",
    "std::vector<at::Tensor, std::allocator<at::Tensor> >::~vector()": "std::vector::~vector",
    "at::Tensor at::detail::make_tensor<c10::TensorImpl>(c10::Storage&&)": "at::detail::make_tensor",
    "void at::native::checkAsStridedArgs<long>(c10::ArrayRef<long>)": "at::native::checkAsStridedArgs<long>",
    "operator new(unsigned long)": "operator new",
    "c10::operator<(c10::SymInt const&, int)": "c10::operator<",
    "c10::SymInt::operator c10::SymFloat() const": "c10::SymInt::operator c10::SymFloat",
    "at::native::run(at::Tensor const&) [clone .isra.0]": "at::native::run",
    "assign_version_tag.isra.0": "assign_version_tag",
    "_PyEval_EvalFrameDefault": "_PyEval_EvalFrameDefault",
    "_ZN3c1012function_refE11callback_fnIZN2at17cpu_serial_kernelI13normal_kernelE":
        "…callback_fn<cpu_serial_kernel<normal_kernel>>",
}  # fmt: skip


@pytest.mark.parametrize("symbol", CASES)
def test_a_name_is_short_and_true(symbol: str) -> None:
    assert display(symbol) == CASES[symbol]


def test_rules_see_names_without_templates() -> None:
    assert plain(f"{LOOP}{FLOAT}, int> >(long, char**, long const*, long, long)") == "c10::function_ref::callback_fn"


def check(symbol: str) -> None:
    """What must hold of any name shown."""
    shown = display(symbol)
    assert shown
    assert not re.search(r"\b_Z", shown), symbol
    assert "(anonymous namespace)" not in shown, symbol
    bare = re.sub(r"operator(<<=?|>>=?|<=>|<=?|>=?|->\*?|\(\)|\[\])", "operator", shown)
    for opening, closing in ("()", "<>", "{}", "[]"):
        assert bare.count(opening) == bare.count(closing), (shown, symbol)
    assert len(shown) <= max(160, len(plain(symbol))), shown
    for word in re.findall(r"[A-Za-z_]\w+", shown):
        assert word in symbol or word == "function", (word, shown, symbol)  # nothing that the symbol does not say


def test_every_recorded_function_has_a_good_name(recorded: Mapping[str, Recorded]) -> None:
    symbols = {hop.native.symbol for tree in recorded.values() for hop in walk(tree.hops)}
    assert len(symbols) > 1000
    for symbol in symbols:
        if symbol:
            check(symbol)


def test_a_whole_symbol_table_has_good_names() -> None:
    """A sample of all functions that libtorch_cpu holds, ran they or not."""
    torch = pytest.importorskip("torch")
    from ptexplore.capture.native.symbols import demangle

    library = Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"
    if not library.is_file():
        pytest.skip("no libtorch_cpu.so")
    names = sampled(library, 400)
    assert len(names) > 500
    for mangled in names:
        symbol = demangle(mangled)
        if not symbol.startswith("_Z"):  # of what the demangler does not know only the identifiers are shown
            check(symbol)


def sampled(library: Path, every: int) -> list[str]:
    """Each so many-th function's mangled name out of the symbol table, by the program that lists such tables."""
    try:
        done = subprocess.run(["nm", "--defined-only", str(library)], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no nm that reads it")
    functions = [line.split()[2] for line in done.stdout.splitlines() if " t _Z" in line or " T _Z" in line]
    return functions[::every]
