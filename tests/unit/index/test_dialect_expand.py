"""Macros expand as the preprocessor expands them; every expectation was printed by a C preprocessor first."""

from __future__ import annotations

import pytest

from ptexplore.index.cpp.text import Text
from ptexplore.index.dialect.expand import LocalMacros, TooLong, expand
from ptexplore.index.dialect.kernels import kernel_name


def expanded(defines: str, code: str) -> str:
    local = LocalMacros(Text("x.cpp", defines))
    return "".join(expand(code, lambda name: local.get(name, len(defines))).split())


@pytest.mark.parametrize(
    ("defines", "code", "result"),
    [
        ("#define F(x) <x>", "F(1) F (2) F", "<1><2>F"),
        ("#define F(x, y) x-y", "F((1,2),3)", "(1,2)-3"),
        ("#define S(x) #x", 'S(a "b\\n")', '"a\\"b\\\\n\\""'),
        ("#define C(a, b) a##b\n#define AB hit", "C(A,B)", "hit"),
        ("#define C(a, b) a##b\n#define A x", "C(A,B)", "AB"),
        ("#define C_(a, b) a##b\n#define C(a, b) C_(a, b)\n#define A x", "C(A,B)", "xB"),
        ("#define F(x) F(x+1) G\n#define G F(2)", "F(1)", "F(1+1)F(2)"),
        ("#define V(...) f(__VA_ARGS__)", "V(1,2,3)", "f(1,2,3)"),
        ("#define V(a, ...) f(a, ##__VA_ARGS__)", "V(1,2)", "f(1,2)"),
        ("#define N_(a, b, c, n, ...) n\n#define N(...) N_(__VA_ARGS__, 3, 2, 1)", "N(x) N(x,y) N(x,y,z)", "123"),
        ("#define L(_) _(a) _(b)\n#define K(x) k_##x;", "L(K)", "k_a;k_b;"),
        ("#define E()  e\n#define D(f) f()", "E() D(E)", "ee"),
        ("#define F(x) [x]\n#define G F", "G(1)", "[1]"),
        ("#define O (1)\n#define F(x) [x]", "F O", "F(1)"),
        ("#define F(x) [x]\n#undef F", "F(1)", "F(1)"),
        ("#define F(x) [x]\n#undef F\n#define F(y) <y>", "F(1)", "<1>"),
        ("#define F(x) \\\n  a(x); \\\n  b(x)", "F(1)", "a(1);b(1)"),
        ("#define F(x) x // no\n#define G(x) /* x */ x", "F(1) G(2)", "12"),
        ("#define F(x, y) #x #y", 'F( a  b , ")" )', '"ab""\\")\\""'),
    ],
)
def test_expansion(defines: str, code: str, result: str) -> None:
    assert expanded(defines + "\n", code) == result


def test_growth_without_end_is_stopped() -> None:
    defines = "#define A0 x x x x\n" + "".join(f"#define A{n} A{n - 1} A{n - 1}\n" for n in range(1, 40))
    with pytest.raises(TooLong):
        expanded(defines, "A39")


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("&f", "f"),
        ("nullptr", None),
        ("", None),
        ("[](int x) { return f(x); }", None),
        ("TORCH_FN(at::native::f)", "at::native::f"),
        ("::at::native::f", "at::native::f"),
        ("&CPU_CAPABILITY::f_kernel", "f_kernel"),
        ("static_cast<int (*)(a<b, c>)>(&f<int, g<2>>)", "f"),
        ("(PyCFunction)(void (*)(void))f", "f"),
        ("reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f))", "f"),
        ("torch::dispatch(c10::DispatchKey::CPU, TORCH_FN((f<true, 1>)))", "f"),
        ("torch::CppFunction::makeFromBoxedFunction<&f<1>>()", "f"),
        ("torch::CppFunction::makeFallthrough()", None),
        ("torch::CppFunction(f).debug(1)", "f"),
        ("Outer<int>::Inner<float>::run", "Outer::Inner::run"),
        ("factory(1)", None),
        ("a < b ? f : g", None),
        ("f<(1 > 2)>", "f"),
    ],
)
def test_the_kernel_an_expression_registers(expression: str, name: str | None) -> None:
    assert kernel_name(expression) == name
