"""scripts/lib/accuracy_*: what counts as found, what is left out of a count, and that a miss lowers the figure."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ptexplore.model.symbols import Symbol
from ptexplore.store.index.reader import IndexStore

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def _scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)


def lib(name: str) -> ModuleType:
    return importlib.import_module(f"lib.accuracy_{name}")


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("at::native::AVX2::(anonymous namespace)::add_kernel", "at::native::add_kernel"),
        ("at::native::CPU_CAPABILITY::add_kernel", "at::native::add_kernel"),
        ("c10::Half::operator float", "c10::Half::operator T"),
        ("c10::View::operator::std::string_view", "c10::View::operator T"),
        ("c10::operator ==", "c10::operator=="),
        ("c10::Box::operator new", "c10::Box::operator new"),
        ("at::TORCH_LIBRARY_IMPL_init_aten_CPU_7", "at::TORCH_LIBRARY_IMPL_init_aten_CPU"),
        ("at::AVX2Thing::DEFAULTS", "at::AVX2Thing::DEFAULTS"),
    ],
)
def test_names_are_compared_without_what_tools_spell_their_own_way(name: str, same: str) -> None:
    assert lib("names").plain(name) == same


@pytest.mark.parametrize(
    ("demangled", "name"),
    [
        ("at::native::(anonymous namespace)::add(at::Tensor const&)", "at::native::(anonymous namespace)::add"),
        ("c10::Box::operator()(int) const", "c10::Box::operator()"),
        ("c10::operator<<(std::ostream&, c10::Device const&)", "c10::operator<<"),
        ("c10::impl::Guard::operator->() const", "c10::impl::Guard::operator->"),
        ("c10::Half::operator float() const", "c10::Half::operator float"),
        ("c10::str[abi:cxx11](int)", "c10::str"),
        ("at::Tensor c10::Op<int (int)>::call(int) const", ""),
        ("c10::Box<int>::get() const", ""),
        ("bool c10::operator< <int>(int, int)", ""),
        ("at::add(int)::{lambda(int)#1}::operator()(int) const", ""),
    ],
)
def test_templates_and_lambdas_of_the_binary_do_not_count(demangled: str, name: str) -> None:
    found, why = lib("binary").qualified_name(demangled)
    assert found == name
    assert bool(why) == (not name)


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a compiler for a library to read")
def test_names_are_read_from_the_symbol_table(tmp_path: Path) -> None:
    source = "namespace at { static int hidden(int a) { return a; } int shown(int a) { return hidden(a); } }"
    source += "namespace other { int left_out() { return 1; } } template <class T> T twice(T t) { return t; }"
    library = tmp_path / "lib.so"
    build = ("g++", "-O0", "-shared", "-fPIC", "-x", "c++", "-", "-o", str(library))
    subprocess.run(build, input=source, text=True, check=True)
    assert lib("binary").names_of([library]).wanted == {"at::hidden", "at::shown"}
    with pytest.raises(ValueError, match="no 64-bit"):
        list(lib("binary").mangled(Path(__file__)))


class Index:
    """The one question that the comparison asks of an index, answered from a list."""

    def __init__(self, *rows: Symbol) -> None:
        self.rows = rows

    def outline(self, path: str) -> list[Symbol]:
        return [one for one in self.rows if one.path == path]


def row(qualified: str, line: int, **more: Any) -> Symbol:
    return Symbol("a.cpp", qualified.rsplit("::", 1)[-1], qualified, "function", line, line, line, **more)


def seen(qualified: str, line: int, *, use: int | None = None, end: int | None = None, bodiless: bool = False) -> Any:
    made = importlib.import_module("lib.clang_definitions").Definition
    return made("a.cpp", qualified, line, use or line, end or line, False, bodiless)


def compared(definitions: list[Any], rows: list[Symbol], skipped: tuple[tuple[int, int], ...] = ()) -> Any:
    truth = lib("truth").Truth()
    truth.definitions["a.cpp"] = set(definitions)
    truth.active["a.cpp"] = [list(skipped)]
    index: IndexStore = Index(*rows)  # type: ignore[assignment]
    return lib("definitions").compare(truth, index)


def test_what_only_a_macro_of_the_installed_headers_makes_does_not_count() -> None:
    truth = lib("truth").Truth()
    names = ("a::made", "a::elsewhere", "a::written", "a::gone")
    truth.definitions["a.cpp"] = {replace(seen(name, 5), kind="enumerator") for name in names}
    truth.active["a.cpp"] = [[]]
    own = Index(
        row("a::made", 5, macro="LIST")._replace(kind="enumerator"),
        row("a::elsewhere", 9, macro="LIST")._replace(kind="enumerator"),
        row("a::written", 5)._replace(kind="enumerator"),
    )
    result = lib("definitions").compare(truth, Index(), "enumerator", own)
    assert {one.qualified for one in result.missed} == {"a::elsewhere", "a::written", "a::gone"}


def test_one_line_off_is_a_miss_and_a_false_row() -> None:
    result = compared([seen("at::add", 5)], [row("at::add", 6)])
    assert (result.found, len(result.missed), result.borne_out, len(result.extra)) == (0, 1, 0, 1)
    result = compared([seen("at::add", 5)], [row("at::add", 5)])
    assert (result.found, len(result.missed), result.borne_out, len(result.extra)) == (1, 0, 1, 0)


def test_only_what_a_macro_made_may_lie_anywhere_in_its_use() -> None:
    definition = seen("at::f::impl", 3, use=3, end=9)
    assert compared([definition], [row("at::f::impl", 4, macro="TORCH_IMPL_FUNC")]).found == 1
    assert compared([definition], [row("at::f::impl", 4)]).found == 0
    assert compared([definition], [row("at::f::impl", 10, macro="TORCH_IMPL_FUNC")]).found == 0


def test_a_declaration_is_no_definition() -> None:
    result = compared([seen("at::add", 5)], [row("at::add", 5, role="declaration")])
    assert (result.found, len(result.missed)) == (0, 1)


def test_skipped_lines_and_defaulted_members_count_neither_way() -> None:
    result = compared([seen("at::X::X", 2, bodiless=True)], [row("at::X::X", 2), row("at::cuda_only", 8)], ((7, 9),))
    assert (result.found, result.missed, result.extra) == (0, [], [])


def test_a_share_is_never_rounded_up_and_nothing_measured_is_not_good() -> None:
    report = lib("report")
    assert report.share(99_999, 100_000) == "99.99% (99,999 of 100,000)"
    assert not report.Figure("x", 0, 0, 99.0, "nothing").good
    assert report.Figure("x", 99, 100, 99.0, "all").good
    assert not report.Figure("x", 98, 100, 99.0, "all").good


def test_the_kernel_of_a_registration_is_its_last_argument() -> None:
    kernel = lib("registrations")._kernel
    assert kernel("&add_kernel") == "add_kernel"
    assert kernel("DEFAULT, &add_kernel") == "add_kernel"
    assert kernel("static_cast<void (*)(int, float)>(&add_kernel)") == "add_kernel"
    assert kernel("&(at::native::templated<int, float>)") == "at::native::templated<int,float>"


@pytest.mark.parametrize(
    ("entry", "pairs"),
    [
        ({"func": "add(Tensor a) -> Tensor"}, [("CompositeImplicitAutograd", "add", False)]),
        (
            {"func": "add.out(Tensor a, *, Tensor(a!) out) -> Tensor(a!)"},
            [("CompositeImplicitAutograd", "add_out", False)],
        ),
        (
            {"func": "flat.using_out_dim(Tensor a, str out_dim) -> Tensor"},
            [("CompositeImplicitAutograd", "flat", False)],
        ),
        ({"func": "add(Tensor a) -> Tensor", "structured_delegate": "add.out"}, []),
        (
            {
                "func": "add.out(Tensor a) -> Tensor",
                "structured": True,
                "dispatch": {"CPU, CUDA": "k", "MkldnnCPU": "m"},
            },
            [("CPU", "k", True), ("CUDA", "k", True), ("MkldnnCPU", "m", False)],
        ),
    ],
)
def test_kernels_of_an_entry(entry: dict[str, Any], pairs: list[tuple[str, str, bool]]) -> None:
    assert list(lib("registrations")._kernels(entry)) == pairs


def test_without_the_matched_torch_it_says_what_to_do(tmp_path: Path) -> None:
    command = (sys.executable, "-B", str(ROOT / "scripts/accuracy"), "--python", str(tmp_path / "none"))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 3, done
    assert done.stderr.startswith("error: ")
    assert "try:" in done.stderr
