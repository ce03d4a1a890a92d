"""Of several definitions of one name those that a symbol of the binary can mean; what is unknown rules none out."""

from __future__ import annotations

import pytest

from ptexplore.cpp.conditions import Conditions
from ptexplore.cpp.matching import Wanted, fits, match
from ptexplore.cpp.symbol_names import parse
from ptexplore.model.symbols import Symbol

KNOWN = Conditions({"ON": "1"}, frozenset({"OFF"}))
PATH = "aten/src/ATen/native/Blend.cpp"


def symbol(line: int, *, guards: tuple[str, ...] = (), parameters: tuple[str, ...] | None = (), path: str = PATH,
           static: bool = False, role: str = "definition") -> Symbol:  # fmt: skip
    return Symbol(path, "blend", "at::native::blend", "function", line, line + 3, line, role=role,  # type: ignore[arg-type]
                  parameters=parameters, guards=guards, static=static)  # fmt: skip


def lines(found: list[Symbol], wanted: Wanted | None = None) -> tuple[list[int], int]:
    matched = match(found, wanted or Wanted(), KNOWN)
    return [one.line for one in matched.left], matched.ruled_out


def test_the_arm_that_this_build_takes() -> None:
    assert lines([symbol(1, guards=("ON",)), symbol(9, guards=("!(ON)",))]) == ([1], 1)
    assert lines([symbol(1, guards=("OFF",))]) == ([], 1)


def test_an_arm_that_nothing_decides_stays() -> None:
    assert lines([symbol(1, guards=("ELSE",)), symbol(9, guards=("!(ELSE)",))]) == ([1, 9], 0)


def test_declarations_and_repeats_are_no_definitions() -> None:
    assert lines([symbol(1, role="declaration"), symbol(5), symbol(5)]) == ([5], 0)


def test_internal_linkage_counts_in_its_own_file_alone() -> None:
    other = symbol(4, path="aten/src/ATen/native/Other.cpp", static=True)
    assert lines([symbol(1), other], Wanted(near=PATH)) == ([1], 0)
    assert lines([symbol(1), other], Wanted(near=other.path)) == ([4], 0)


def test_overloads_by_their_types() -> None:
    many = [symbol(1, parameters=("const Tensor &", "int64_t")), symbol(9, parameters=("const Tensor&", "IntArrayRef"))]
    assert lines(many, Wanted(("const at::Tensor &", "at::IntArrayRef"))) == ([9], 0)
    assert lines(many, Wanted(("double",))) == ([1, 9], 0), "types that fit none rule none out"
    assert lines(many) == ([1, 9], 0)


def test_a_macros_line_may_define_several() -> None:
    """As the operators of c10/core/SymInt.cpp: for one line, the types tell which is meant, and the place is one."""
    both = [symbol(1, parameters=("const SymInt&", "int32_t")), symbol(1, parameters=("int32_t", "const SymInt&"))]
    wanted = Wanted(parameters=("const SymInt&", "int"))
    assert match(both, wanted, KNOWN).left == (both[0],)
    assert lines(both, wanted) == ([1], 0)
    assert lines(both) == ([1], 0)


@pytest.mark.parametrize(
    "given, rank",
    [
        ("int, void*, void*", 2),
        ("int, void*", 2),
        ("int", 2),
        ("int, void*, void*, void*", 0),
        ("n::Alias", 1),
        ("n::Alias, void*", 1),
        ("int, bool", 0),
    ],
)
def test_parameters_that_an_if_leaves_out(given: str, rank: int) -> None:
    assert fits(parse(f"n::f({given})"), symbol(1, parameters=("const int", "#if void*", "#if void*"))) == rank


def test_behind_a_star_stays_a_pointer_and_behind_an_ampersand_a_reference() -> None:
    """Whatever a template parameter stands for; a value may be anything, but for the classes of the C++ library."""
    name = parse("n::Box<n::Item, int>::Box(n::Item*)")

    def fit(written: str) -> int:
        return fits(name, Symbol("a.h", "Box", "n::Box::Box", "function", 3, 3, 3, parameters=(written,)))

    assert [fit(written) for written in ("T*", "T", "pointer")] == [1, 1, 1]
    others = ("Box&&", "const Box&", "Box<From>&&", "std::nullptr_t", "std::unique_ptr<T>")
    assert [fit(written) for written in others] == [0] * len(others)


def test_a_function_that_a_template_is_given_by_reference_is_behind_an_ampersand() -> None:
    """As `comparison_op` of aten/src/ATen/native/BinaryOps.cpp, made for the function that fills its result."""
    given = "at::Tensor& (&)(at::Tensor&, at::Tensor const&)"
    made = parse(
        f"at::Tensor at::native::blend<at::Tensor& (at::Tensor&, at::Tensor const&)>(at::Tensor const&, {given})"
    )
    assert fits(made, symbol(1, parameters=("const Tensor&", "OutImpl&"))) > 0
    assert fits(made, symbol(1, parameters=("const Tensor&", "OutImpl*"))) == 0
