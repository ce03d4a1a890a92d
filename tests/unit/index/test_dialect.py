"""PyTorch's macro dialect becomes rows: what registers what, under which key, at which line, made by which macro."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptexplore.cpp.macros import MacroTable, collect
from ptexplore.cpp.text import Text
from ptexplore.index.dialect.cpp import dialect
from ptexplore.model.symbols import Dialect, DialectKind
from tests.hanging import ends

FOLDER = Path(__file__).parents[2] / "data" / "minitorch" / "dialect"


@pytest.fixture(scope="module")
def macros() -> MacroTable:
    return collect([("lists.h", (FOLDER / "lists.h").read_text())])


def rows_of(name: str, macros: MacroTable | None) -> list[Dialect]:
    return dialect(Text(name, (FOLDER / name).read_text()), macros)


@pytest.fixture(scope="module")
def kernels(macros: MacroTable) -> list[Dialect]:
    return rows_of("kernels.cpp", macros)


def short(rows: list[Dialect], *kinds: DialectKind) -> list[tuple[int, str, str | None, str | None]]:
    return [(one.line, one.name, one.context, one.target) for one in rows if one.kind in kinds]


def test_stubs_with_device_and_kernel(kernels: list[Dialect]) -> None:
    assert short(kernels, "stub-define") == [
        (5, "blend_stub", None, None),
        (6, "mirror_stub", None, None),
        (21, "spin_stub", None, None),
    ]
    assert short(kernels, "stub-register") == [
        (9, "blend_stub", "CPU", "blend_kernel"),
        (10, "mirror_stub", "DEFAULT", "mirror_kernel"),
        (11, "mirror_stub", "AVX2", "mirror_kernel_avx2"),
        (14, "fold_stub", "CPU", None),
        (15, "fold_stub", "CUDA", None),
        (21, "spin_stub", "CPU", "spin_kernel"),
    ]


@pytest.mark.parametrize(("name", "device"), [("a.cpp", "CPU"), ("a.cu", "CUDA"), ("a.mm", "MPS")])
def test_what_a_plain_register_is_for_depends_on_the_file(name: str, device: str) -> None:
    (row,) = dialect(Text(name, "REGISTER_DISPATCH(x_stub, &x_kernel)\n"))
    assert (row.context, row.target) == (device, "x_kernel")


def test_a_declaration_keeps_its_function_type() -> None:
    (row,) = dialect(Text("a.h", "DECLARE_DISPATCH(void (*)(int, float), x_stub)\n"))
    assert (row.kind, row.name, row.context) == ("stub-declare", "x_stub", "void (*)(int, float)")


def test_structured_kernels(kernels: list[Dialect]) -> None:
    assert [(*one[:2], one[3]) for one in short(kernels, "structured-meta", "structured-impl")] == [
        (23, "blend", "at::meta::structured_blend::meta"),
        (24, "turn_Tensor", "at::meta::structured_turn_Tensor::meta"),
        (25, "pool", "at::meta::structured_pool::meta"),
        (27, "blend_out", "at::native::structured_blend_out::impl"),
        (31, "turn_out", "at::native::structured_turn_out::impl"),
    ]


def test_blocks_know_namespace_key_and_extent(kernels: list[Dialect]) -> None:
    found = [(one.line, one.end_line, one.name, one.context) for one in kernels if one.kind == "library"]
    assert found == [
        (33, 42, "mini", None),
        (44, 59, "mini", "CPU"),
        (61, 67, "mini", "Autocast"),
        (69, 71, "mini", "Conjugate"),
        (73, 75, "_", "Conjugate"),
        (85, 85, "mini", "CPU"),
        (85, 85, "mini", "CUDA"),
        (86, 88, "mini", "CPU"),
        (86, 88, "mini", "CUDA"),
    ]


def test_a_schema_with_a_kernel_says_what_it_is_registered_under(kernels: list[Dialect]) -> None:
    assert short([one for one in kernels if one.block == 33], "def", "impl") == [
        (35, "mini::blend", None, None),
        (36, "mini::blend.out", None, None),
        (39, "mini::whole", "CompositeImplicitAutograd", "whole_kernel"),
        (40, "mini::keyed", "CPU", "keyed_kernel"),
        (41, "mini::blend", "CompositeImplicitAutograd", None),
    ]


def test_kernels_through_casts_boxing_and_macros_of_the_block(kernels: list[Dialect]) -> None:
    assert short([one for one in kernels if one.block == 44], "impl") == [
        (45, "mini::blend", "CPU", "native::blend"),
        (46, "mini::blend.out", "CPU", "native::blend_out"),
        (50, "mini::fold", "CPU", "boxed_fold"),
        (52, "mini::fold", "CPU", "fold"),
        (55, "mini::turn", "CPU", "turn_kernel"),
        (55, "mini::spin", "CPU", "spin_kernel"),
        (58, "mini::turn_", "CPU", "turn_kernel_"),
    ]
    guards = {one.line: one.guards for one in kernels if one.name == "mini::fold" and one.block == 44}
    assert guards == {50: ("defined(WITH_FOLD)",), 52: ("!(defined(WITH_FOLD))",)}


def test_lists_of_headers_register_at_the_line_that_invokes_them(kernels: list[Dialect]) -> None:
    assert [(one.line, one.name, one.macro) for one in kernels if one.block == 61] == [
        (65, "mini::blend", "FORALL_WRAPPED"),
        (65, "mini::blend.out", "FORALL_WRAPPED"),
        (65, "mini::mirror", "FORALL_WRAPPED"),
        (66, "mini::spin", "WRAP"),
    ]
    assert [(one.line, one.name, one.macro) for one in kernels if one.block == 69] == [
        (70, "mini::mirror", "VIEW_LIST"),
        (70, "mini::fold", "VIEW_LIST"),
    ]


def test_without_the_headers_their_lists_give_nothing_wrong() -> None:
    names = {one.name for one in rows_of("kernels.cpp", None) if one.block == 61}
    assert names == set()


def test_a_fallback_is_for_every_operator(kernels: list[Dialect]) -> None:
    assert short([one for one in kernels if one.block == 73], "impl") == [
        (74, "_::*", "Conjugate", "conjugate_fallback")
    ]


def test_a_macro_that_opens_blocks_gives_its_own_line(kernels: list[Dialect]) -> None:
    found = [(one.line, one.end_line, one.block, one.name, one.context) for one in kernels if one.block in (85, 86)]
    assert found == [
        (85, 85, 85, "mini::send", "CPU"),
        (85, 85, 85, "mini::send", "CUDA"),
        (86, 88, 86, "mini::receive", "CPU"),
        (86, 88, 86, "mini::receive", "CUDA"),
    ]
    assert {one.macro for one in kernels if one.line in (85, 86)} == {"REGISTER_EVERYWHERE"}


def test_a_wrapper_that_a_header_defines() -> None:
    header = "#define REGISTER_INNER(op) TORCH_LIBRARY_IMPL(ext, CPU, m) { m.impl(#op, op); }\n"
    header += "#define REGISTER_MINE(op) REGISTER_INNER(op) /* an extension's own */\n"
    rows = dialect(Text("x.cpp", "\nREGISTER_MINE(spin)\n"), collect([("ext.h", header)]))
    assert [(one.line, one.kind, one.name, one.macro) for one in rows] == [
        (2, "library", "ext", "REGISTER_MINE"),
        (2, "impl", "ext::spin", "REGISTER_MINE"),
    ]


def test_older_ways_to_register(kernels: list[Dialect]) -> None:
    found = [(one.line, one.name, one.context, one.target, one.macro) for one in kernels if one.line in range(90, 100)]
    assert found == [
        (91, "mini::old", "CPU", "old_kernel", "RegisterOperators.op"),
        (92, "mini::older", None, "older_kernel", "RegisterOperators.op"),
        (95, "mini::listed", None, None, "Operator"),
    ]


def test_flags(kernels: list[Dialect]) -> None:
    assert short(kernels, "flag") == [(101, "mini_verbose", "bool", None), (102, "mini_limit", "int64_t", None)]


def test_bindings(macros: MacroTable) -> None:
    rows = rows_of("bindings.cpp", macros)
    assert short(rows, "method") == [
        (2, "blend", "mini_methods", "mini_blend"),
        (3, "mirror", "mini_methods", "mini_mirror"),
    ]
    assert short(rows, "pybind") == [
        (10, "level", "m", "mini::level"),
        (12, "lambda", "m", None),
        (16, "size", "cls", "Box::size"),
        (18, "folded", "cls", "Box::folded"),
        (21, "make", "cls", "Box::make"),
        (23, "open", "cls", "Box::open"),
        (23, "close", "cls", "Box::close"),
    ]


def test_list_macros_of_a_header() -> None:
    found = [(one.kind, one.line, one.end_line, one.name) for one in rows_of("lists.h", None)]
    assert found == [("list", 14, 17, "FORALL_WRAPPED"), ("list", 19, 21, "VIEW_LIST")]


@pytest.mark.parametrize(
    "code",
    [
        "// TORCH_LIBRARY(a, m) { m.def(\"x\"); }\n",
        "const char* s = \"TORCH_LIBRARY(a, m) { }\";\n",
        "auto s = R\"(\n#define LIST(_) _(a) _(b)\nDEFINE_DISPATCH(x_stub);\n)\";\n",
        "#define LATER(x) TORCH_IMPL_FUNC(x)\n#define AGAIN DEFINE_DISPATCH(y_stub)\n",
        "TORCH_LIBRARY(a, m);\nvoid f(TORCH_LIBRARY_IMPL);\nDEFINE_DISPATCH(;\n",
        "TORCH_LIBRARY(a, m) { m.def(name); for (auto n : names) { m.impl(n, f); } }\n",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_registration_makes_no_row(code: str) -> None:
    assert [one for one in dialect(Text("x.cpp", code)) if one.kind != "library"] == []


@pytest.mark.parametrize(
    "code",
    [
        "TORCH_LIBRARY(a, m) { " * 20_000,
        "TORCH_LIBRARY(a, m) { m.impl(\"x\", " + "(" * 500_000,
        "TORCH_LIBRARY(a, m) { " + "m.impl(\"x\", f<" * 20_000,
        "py::class_<A>(m)" + ".def(\"x\", f)" * 20_000,
        "py::x" + ".def(\"x\", g" * 8_000 + ")" * 8_000,
        "#define A0(x) x x\n"
        + "".join(f"#define A{n}(x) A{n - 1}(x) A{n - 1}(x)\n" for n in range(1, 40))
        + "TORCH_LIBRARY(a, m) {\n A39(m.impl(\"x\", f);)\n}\n",
        "#define R(x) R(R(x)) DEFINE_DISPATCH(x##_stub);\n" + "R(" * 3_000 + "a" + ")" * 3_000 + "\n",
        "#define M(a, ...) DEFINE_DISPATCH(a##__VA_ARGS__##_stub) #a #__VA_ARGS__\nM()\nM(,)\nM(a,,b)\n",
        "TORCH_LIBRARY_IMPL(a)\n{ m.impl(\"x\", f); }\nDECLARE_DISPATCH()\nREGISTER_ARCH_DISPATCH(a_stub)\n",
        "\x00\x01TORCH_LIBRARY(\udc80, m) { m.def(\"\udc80\"); }\r\nPyMethodDef x[] = {{\"a\"}, {}, {,}};",
    ],
)  # fmt: skip
def test_hostile_text_ends_soon(code: str) -> None:
    with ends():
        dialect(Text("x.cpp", code))


def test_a_file_without_dialect_is_searched_for_words_alone() -> None:
    text = Text("x.cpp", "int f(int x) { return x + 1; }\n" * 30_000)
    assert dialect(text) == []
    assert set(vars(text)) == {"path", "raw", "words"}, "neither comments nor lines nor directives were looked for"
