"""What a symbol's linkage says of where a function is defined: its file, whether it is inline, its specialisation."""

from __future__ import annotations

import pytest

from ptexplore.cpp.symbol_names import parse
from ptexplore.resolve.native import lambdas
from ptexplore.resolve.native.linkage import Linkage, compiled_from
from ptexplore.resolve.native.sites import Sites, third_party
from tests.unit.conftest import ATEN
from tests.unit.resolve.making import Rows, Small, place
from tests.unit.resolve.native_calls import calls, part

HAND = "aten/src/ATen/native/Blend.cpp"
TENSOR = "at::Tensor const&"


@pytest.mark.parametrize(
    ("text", "mangled", "unit"),
    [
        ("n::(anonymous namespace)::own(int)", "_ZN1n12_GLOBAL__N_13ownEi", "a.cpp"),
        ("n::still(int)", "_ZN1nL5stillEi", "a.cpp"),
        ("n::made_local(int)", "_ZN1n10made_localEi", ""),  # a version script did that: below the wrong row
        ("int n::weak<int>(int)", "_ZN1n4weakIiEEiT_", ""),
    ],
)
def test_the_file_of_what_never_was_visible(text: str, mangled: str, unit: str) -> None:
    assert Linkage(mangled, "a.cpp").own_unit(parse(text)) == unit


@pytest.mark.parametrize(
    ("path", "unit", "expected"),
    [
        ("aten/src/ATen/native/Blend.cpp", "Blend.cpp", True),
        ("aten/src/ATen/native/cpu/FoldKernel.cpp", "FoldKernel.cpp.AVX2.cpp", True),
        ("aten/src/ATen/native/cpu/FoldKernel.cpp", "FoldKernel.cpp.DEFAULT.cpp", True),
        ("aten/src/ATen/native/Unfold.cpp", "Fold.cpp", False),
        ("aten/src/ATen/native/Loops.h", "Fold.cpp", True),  # any file may include it
    ],
)
def test_what_a_file_was_compiled_from(path: str, unit: str, expected: bool) -> None:
    assert compiled_from(path, unit) is expected


def units(small: Small, text: str, unit: str, rows: Rows | None = None) -> tuple[str | None, int | None, str]:
    data = calls(f"{text}\n", units={"0": unit})
    (frame,) = part(1, data).frames
    return place(Sites(small.lookup(rows, small.source())).of(frame))


def test_of_generated_namesakes_the_one_in_the_symbols_file(small: Small) -> None:
    rows = Rows(definitions=[("at::create_out", f"{ATEN}/RegisterCPU_0.cpp", 12, 14),
                             ("at::create_out", f"{ATEN}/RegisterCUDA_0.cpp", 30, 32)])  # fmt: skip
    name = "at::(anonymous namespace)::create_out(long)"
    assert units(small, name, "RegisterCPU_0.cpp", rows) == (f"{ATEN}/RegisterCPU_0.cpp", 12, "located")
    visible = units(small, "at::create_out(long)", "RegisterCPU_0.cpp", rows)
    assert visible[2] == "ambiguous", "its name is not internal: the row above it may be another object's"


def test_a_definition_in_another_file_is_not_the_functions(small: Small) -> None:
    name = f"at::native::(anonymous namespace)::boxed_rule({TENSOR})"
    assert units(small, name, "Blend.cpp") == (HAND, small.line(HAND, "Tensor boxed_rule("), "located")
    assert units(small, name, "Other.cpp") == (None, None, "unknown")


def test_the_file_tells_the_library_of_a_name_that_says_nothing() -> None:
    assert third_party(parse("mm_init")) is None
    assert third_party(parse("mm_init"), "mkl_memory.c") == "MKL"


ENGINE = """namespace n {
C10_DEFINE_TLS_static(std::shared_ptr<Task>, tls_task);
void f() {
  auto inside = [] { return 1; };
}
static thread_local int depth = 0;
extern thread_local int other;
}
"""


def test_lambdas_outside_of_functions() -> None:
    """The macro makes one, without parameters; the compiler of 2.13 names its variable, that of 2.6 none."""
    for variable in ("tls_task", None):
        assert lambdas.outside(ENGINE, [(3, 5)], variable, 0) == lambdas.LambdaOffsets((2,), True)
    assert lambdas.outside(ENGINE, [(3, 5)], None, 1) == lambdas.LambdaOffsets((), True)
    two = ENGINE + "C10_DEFINE_TLS_static(int, tls_other);\n"
    assert lambdas.outside(two, [(3, 5)], None, 0).offsets == (2, 9)
    assert lambdas.outside(two, [(3, 5)], "tls_other", 0) == lambdas.LambdaOffsets((9,), True)
    unknown = lambdas.outside(ENGINE + "MAKES_SOMETHING(x);\n", [(3, 5)], None, 0)
    assert (unknown.offsets, unknown.sure) == ((2,), False), "of other macros nothing is known"


def test_thread_local_variables_of_namespaces() -> None:
    assert list(lambdas.thread_locals(ENGINE)) == [6]
