"""Types as text: those of parameter lists, one spelling for each, and aliases as PyTorch itself declares them."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from ptexplore.cpp.types import ALIASES, concrete_types, parameter_types, plain_type, plain_types, unqualified_types

SOURCE = os.environ.get("PTEXPLORE_TEST_SOURCE")


@pytest.mark.parametrize(
    ("listed", "types"),
    [
        ("()", ()),
        ("(void)", ()),
        ("(const at::Tensor & self, int64_t dim = -1)", ("const at::Tensor&", "int64_t")),
        ("(at::OptionalIntArrayRef dim={}, bool keepdim=false)", ("at::OptionalIntArrayRef", "bool")),
        ("(std::map<int, long> m, void (*f)(int x))", ("std::map<int, long>", "void(*)(int x)")),
        ("(const ::std::optional<at::Tensor> & other)", ("const ::std::optional<at::Tensor>&",)),
        ("(char data[4], unsigned int n, T&&... rest)", ("char[4]", "unsigned int", "T&&...")),
    ],
)
def test_the_types_of_a_parameter_list(listed: str, types: tuple[str, ...]) -> None:
    assert parameter_types(listed) == types


@pytest.mark.parametrize(
    "one, other",
    [
        ("const at::Tensor & ", "const Tensor&"),
        ("::std::optional<at::Generator>", "std::optional<Generator>"),
        ("c10::ArrayRef<int64_t>", "at::IntArrayRef"),
        ("Tensor const &", "const Tensor&"),
        ("const int64_t", "int64_t"),
        ("at::TensorList", "ArrayRef<at::Tensor>"),
        ("class Foo *", "Foo*"),
    ],
)
def test_two_spellings_of_one_type(one: str, other: str) -> None:
    assert plain_types([one]) == plain_types([other])


@pytest.mark.parametrize(
    "one, other", [("const Tensor&", "Tensor&"), ("int64_t", "int"), ("Tensor*", "Tensor&"), ("SymInt", "int64_t")]
)
def test_types_that_differ_stay_different(one: str, other: str) -> None:
    assert plain_types([one]) != plain_types([other])


@pytest.mark.parametrize(
    "source, binary",
    [
        ("at::SymIntArrayRef", "c10::ArrayRef<c10::SymInt>"),
        ("IntArrayRef", "c10::ArrayRef<long>"),
        ("const ::c10::Scalar &", "c10::Scalar const&"),
        ("at::OptionalSymIntArrayRef", "c10::OptionalArrayRef<c10::SymInt>"),
        (
            "const c10::optional<c10::string_view>&",
            "c10::optional<std::basic_string_view<char, std::char_traits<char> > > const&",
        ),
        ("std::vector<const char*>", "std::vector<char const*, std::allocator<char const*> >"),
    ],
)
def test_the_spelling_of_the_binary(source: str, binary: str) -> None:
    """Types as `nm -C` prints them of libtorch_cpu.so."""
    assert plain_type(source) == plain_type(binary)


def test_a_wrapper_takes_symbolic_integers_for_a_kernel_of_plain_ones() -> None:
    assert concrete_types(["c10::SymIntArrayRef", "c10::SymInt"]) == concrete_types(["at::IntArrayRef", "int64_t"])
    assert plain_types(["c10::SymIntArrayRef"]) != plain_types(["at::IntArrayRef"])


def test_a_signature_as_notes_keep_it() -> None:
    assert unqualified_types("(c10::optional<at::Tensor>, ::c10::Scalar)") == "(optional<Tensor>,Scalar)"


@pytest.mark.skipif(SOURCE is None, reason="needs a source tree")
def test_aliases_stand_for_what_the_source_declares() -> None:
    """Each alias of the table that PyTorch declares with `using` is declared as the table has it, at least once.

    Two are function types whose parameters have names, one is the result of a template's own choice.
    """
    declared: dict[str, set[str]] = {}
    for folder in ("aten/src/ATen", "c10", "torch/csrc"):
        for path in Path(str(SOURCE), folder).rglob("*.h"):
            for match in re.finditer(r"\busing (\w+) =\s*([^;]+);", path.read_text(errors="replace")):
                if match[1] in ALIASES:
                    written = match[2].replace("kDimVectorStaticSize", "5u")
                    declared.setdefault(match[1], set()).add(plain_type(written))
    different = {name: found for name, found in declared.items() if plain_type(name) not in found}
    assert {"SymIntArrayRef", "IntArrayRef", "TensorList", "Variable", "OptionalSymIntArrayRef"} <= declared.keys()
    assert different.keys() <= {"loop_t", "loop2d_t", "MaterializedITensorListRef"}


@pytest.mark.parametrize(
    "listed, types",
    [
        ("(int a\n#ifdef WIDE\n , void *w\n#endif\n)", ("int", "#if void*")),
        ("(int a,\n#if WIDE\n bool b, char c,\n#endif\n float d)", ("int", "#if bool", "#if char", "float")),
        ("(int a,\n#if WIDE\n long b\n#else\n short b\n#endif\n)", ("int", "#if long", "#if short")),
        ("(int a\n#if A\n , long b\n# if B\n , short c\n# endif\n#endif\n)", ("int", "#if long", "#if short")),
    ],
)
def test_a_parameter_that_an_if_may_leave_out(listed: str, types: tuple[str, ...]) -> None:
    assert parameter_types(listed) == types
