"""Macros expand as the preprocessor expands them: by hand, and beside `cpp -P` on those that PyTorch itself writes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ptexplore.cpp.expand import Expander, TooLongError, tokens
from ptexplore.cpp.macros import Define, FileMacros, collect, defines
from ptexplore.cpp.text import Text
from tests.harness import THOROUGH

needs_cpp = pytest.mark.skipif(shutil.which("cpp") is None, reason="needs the GNU preprocessor")


def expanded(macros: str, code: str) -> str:
    """What `code` behind the directives `macros` becomes."""
    in_force = FileMacros(Text("x.cpp", macros))
    return Expander(in_force.definition).text(Text("x.cpp", code).code, 7, len(macros))


def preprocessed(text: str) -> str:
    """What the GNU preprocessor makes of a text."""
    done = subprocess.run(
        ["cpp", "-P", "-undef", "-x", "c++", "-std=gnu++20", "-w", "-nostdinc", "-"],
        check=False, input=text, capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    return done.stdout


def spelled(code: str) -> list[str]:
    """The tokens of a text without its blanks; two `>` that close template arguments may stand side by side."""
    return [token for token in tokens(code.replace(">>", "> >")) if token != " "]


# Directives, code, and what it becomes: as the standard's own examples, or by its rules. The space between tokens is
# the preprocessor's own affair.
CASES = [
    ("#define F(x) <x>", "F(1) F (2) F", "<1> <2> F"),
    ("#define F(x, y) x-y", "F((1,2),3)", "(1,2)-3"),
    ("#define F(x, y) x-y", "F(a[1,2])", "a[1-2]"),
    ("#define F(x) [x]", "F(\n1\n)", "[1]"),
    ("#define F(x) [x]\n#define G F", "G(1)", "[1]"),
    ("#define O (1)\n#define F(x) [x]", "F O", "F (1)"),
    ("#define F(x) \\\n  a(x); \\\n  b(x)", "F(1)", "a(1); b(1)"),
    ("#define F(x) x // no\n#define G(x) /* x */ x", "F(1) G(2)", "1 2"),
    ("#define F ab\\\ncd", "F", "abcd"),
    # none twice
    ("#define F F G\n#define G F", "F", "F F"),
    ("#define F(x) F(x+1) G\n#define G F(2)", "F(1)", "F(1+1) F(2)"),
    ("#define f(x) x", "f(f)(1) f(f(2))", "f(1) 2"),
    ("#define f(a) a*g\n#define g(a) f(a)", "f(2)(9)", "2*9*g"),
    ("#define E()  e\n#define D(f) f()", "E() D(E)", "e e"),
    ("#define f(a) f(x * (a))\n#define x 2\n#define z z[0]", "f(f(z))", "f(2 * (f(2 * (z[0]))))"),
    # strings
    ("#define S(x) #x", 'S(a "b\\n")', '"a \\"b\\\\n\\""'),
    ("#define S(x) # x", "S(  a  \\  +b )", '"a \\ +b"'),
    ("#define S(x) #x", "S('\"' '\\0' L\"x\")", "\"'\\\"' '\\\\0' L\\\"x\\\"\""),
    ("#define F(x, y) #x #y", 'F( a  b , ")" )', '"a b" "\\")\\""'),
    ("#define S(...) #__VA_ARGS__", "S(a,b) S( a , b ) S()", '"a,b" "a , b" ""'),
    ("#define S(x) #x\n#define T(x) S(x)\n#define A b", "S(A) T(A)", '"A" "b"'),
    ("#define H #x", "H", "#x"),
    ('#define A "x  y"', "A", '"x  y"'),
    ("#define L l", "L L'x' L\"x\" uL", "l L'x' L\"x\" uL"),
    # pasting
    ("#define C(a, b) a##b\n#define AB hit", "C(A,B)", "hit"),
    ("#define C(a, b) a##b\n#define A x", "C(A,B)", "AB"),
    ("#define C_(a, b) a##b\n#define C(a, b) C_(a, b)\n#define A x", "C(A,B)", "xB"),
    ("#define C(a, b, c) a##b ## c", "C(x,,y) C(,,y) C(x,,) C(,,)", "xy y x"),
    ("#define C(b) foo b##x", "C() C(y)", "foo x foo yx"),
    ("#define C(a) - ## a", "C(>) C(-)", "-> --"),
    ("#define C(a) <a ## _t>", "C(int) C(8)", "<int_t> <8_t>"),
    ("#define H # ## #\n#define S(a) # a\n#define B(a) S(a)\n#define J(c, d) B(c H d)", "J(x, y)", '"x ## y"'),
    ("#define t(x,y,z) x ## y ## z", "t(1,2,3) t(,4,5) t(6,,7) t(8,9,) t(10,,) t(,11,) t(,,12)",
     "123 45 67 89 10 11 12"),
    ("#define N(x) L ## #x", "N(a)", 'L"a"'),
    # variadic
    ("#define V(...) f(__VA_ARGS__)", "V(1,2,3) V()", "f(1,2,3) f()"),
    ("#define V(a...) f(a)", "V(1,2)", "f(1,2)"),
    ("#define V(a, ...) f(a, ##__VA_ARGS__)", "V(1,2,3) V(1,2) V(1) V(1,) V()", "f(1,2,3) f(1,2) f(1) f(1,) f()"),
    ("#define V(...) f(a, ## __VA_ARGS__)", "V() V(1)", "f(a) f(a,1)"),
    ("#define V(a, b...) f(a , ## b)", "V(1) V(1,2)", "f(1) f(1 ,2)"),
    ("#define V(a, ...) f(a, __VA_ARGS__)", "V(1)", "f(1, )"),
    ("#define N_(a, b, c, n, ...) n\n#define N(...) N_(__VA_ARGS__, 3, 2, 1)", "N(x) N(x,y) N(x,y,z)", "1 2 3"),
    # __VA_OPT__
    ("#define V(a, ...) f(a __VA_OPT__(,) __VA_ARGS__)", "V(1) V(1,2)", "f(1) f(1, 2)"),
    ("#define E\n#define V(...) f(0 __VA_OPT__(,) __VA_ARGS__)", "V(E) V(1)", "f(0) f(0, 1)"),
    ("#define V(a, ...) x ## __VA_OPT__(a) ## y", "V(1) V(1,2)", "xy x1y"),
    ("#define V(...) __VA_OPT__(a ## b __VA_ARGS__ (x))", "V(1)", "ab 1 (x)"),
    ("#define V(a, ...) #__VA_OPT__( a  a )", "V(1) V(1,2)", '"" "1 1"'),
    # not as many arguments as parameters: an error to a compiler
    ("#define F() z", "F() F( )", "z z"),
    ("#define F(x) [x]", "F()", "[]"),
    # the definition in force
    ("#define F(x) [x]\n#undef F", "F(1)", "F(1)"),
    ("#define F(x) [x]\n#undef F\n#define F(y) <y>", "F(1)", "<1>"),
    ("#ifdef _WIN32\n#define F windows\n#else\n#define F linux\n#endif", "F", "linux"),
    ("#define F f\n#ifdef _WIN32\n#undef F\n#endif", "F", "f"),
    ('const char* x = R"(\n#define F no\n)";', "F", "F"),
    # tokens that would fuse
    ("#define M -1\n#define E\n#define F(x) x\n#define P +", "-M x M y E()b F(x)y F(1)2 P+ P= F(\"a\")\"b\" /E/ F(:):",
     '- -1 x -1 y ()b x y 1 2 + + + = "a" "b" / / : :'),
    # lists
    ("#define L(_) _(a) _(b)\n#define K(x) k_##x;", "L(K)", "k_a; k_b;"),
    ("#define L(_, ...) _(a, __VA_ARGS__) _(b, ##__VA_ARGS__)\n#define K(x, ...) k_##x(__VA_ARGS__);", "L(K, 1, 2)",
     "k_a(1, 2); k_b(1, 2);"),
]  # fmt: skip


@pytest.mark.parametrize(("macros", "code", "result"), CASES)
def test_an_expansion(macros: str, code: str, result: str) -> None:
    assert spelled(expanded(macros + "\n", code)) == spelled(result)


@needs_cpp
@pytest.mark.parametrize(("macros", "code", "result"), CASES)
def test_the_preprocessor_agrees(macros: str, code: str, result: str) -> None:
    """The expectations above are what GCC says too."""
    if 'R"' in macros:
        code = f"\n{code}"
    assert spelled(preprocessed(f"{macros}\n{code}\n"))[-len(spelled(result)) :] == spelled(result)


def test_a_text_keeps_its_tokens_apart() -> None:
    assert expanded("#define M -1\n#define F(x) x\n", "-M F(x)y") == "- -1 x y"


@pytest.mark.parametrize(
    ("macros", "code"),
    [
        ("#define F(x) [x]", "F(1,2)"),
        ("#define F(x, y) [x]", "F(1)"),
        ("#define F() z", "F(1)"),
        ("#define F(a, b, ...) z", "F(1)"),
        ("#define F(x) [x]", "F(1"),
    ],
)
def test_what_a_compiler_rejects_stays_as_written(macros: str, code: str) -> None:
    assert expanded(macros + "\n", code) == code


def test_counters_count_on_and_lines_are_those_of_the_invocation() -> None:
    macros = "#define C_(a, b) a##b\n#define C(a, b) C_(a, b)\n#define U(x) C(x, __COUNTER__)\n"
    expander = Expander(FileMacros(Text("x.cpp", macros)).definition)
    assert expander.text("U(a) U(b)", 7, len(macros)) == "a0 b1"
    assert expander.text("U(c) C(l, __LINE__)", 8, len(macros)) == "c2 l8"
    assert expander.invocation(Define("U", ("x",), "C(x, __COUNTER__)", 0), "d", 9, len(macros)) == "d3"


def test_of_declarations_only_the_heads_are_expanded() -> None:
    macros = "#define X boom\n#define F(n) void n() { X; }\n"
    expander = Expander(FileMacros(Text("x.cpp", macros)).definition, declarations=True)
    assert expander.text("F(a) void b() { X; }", 3, len(macros)) == "void a() {} void b() {}"


def test_only_what_is_needed_is_expanded() -> None:
    macros = "#define A B\n#define B c\n"
    expander = Expander(FileMacros(Text("x.cpp", macros)).definition)
    assert expander.text("A", 3, len(macros), lambda define: define.name == "A") == "B"


def test_growth_without_end_is_stopped() -> None:
    macros = "#define A0 x x x x\n" + "".join(f"#define A{n} A{n - 1} A{n - 1}\n" for n in range(1, 40))
    with pytest.raises(TooLongError):
        expanded(macros, "A39")


SOURCE = os.environ.get("PTEXPLORE_TEST_SOURCE")
WORD = re.compile(r"[A-Za-z_]\w*")
GOOGLE_TEST = "#define TEST(suite, name) void suite##_##name##_Test::TestBody()"  # as macros.py says it
LONGEST = 2_000  # characters of an invocation: one with a kernel's whole body is no other case


def cpp_files(root: Path) -> Iterator[Text]:
    """The C++ files of a source tree."""
    for folder in ("aten", "c10", "torch/csrc"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".cpp", ".cu", ".cuh", ".hpp", ".inl", ".inc", ".cc", ".mm") and path.is_file():
                text = path.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n")
                yield Text(path.relative_to(root).as_posix(), text)


def invocations(text: Text, macros: FileMacros) -> Iterator[tuple[str, int]]:
    """The first use of each macro that a file names outside of directives: as written, and where it stands."""
    directives = [(one.start, one.end) for one in text.directives]
    names = macros.table.by_name.keys() | macros.own.keys()
    seen: set[str] = set()
    at = 0
    for match in WORD.finditer(text.bare):
        name, start = match[0], match.start()
        while at < len(directives) and directives[at][1] <= start:
            at += 1
        define = macros.definition(name, start) if name in names and name not in seen else None
        if define is None or (at < len(directives) and directives[at][0] <= start):
            continue
        opening = match.end() + len(text.bare[match.end() :]) - len(text.bare[match.end() :].lstrip())
        bracketed = text.bare[opening : opening + 1] == "("
        end = text.brackets.closing(opening) + 1 if bracketed and define.parameters is not None else match.end()
        if start < end < start + LONGEST and not re.search(r"^\s*#", text.bare[start:end], re.MULTILINE):
            seen.add(name)
            yield text.code[start:end], start


def written(files: list[Text]) -> dict[Define, str]:
    """The line that makes each definition, as it stands in its file."""
    return {
        define: text.raw[directive.start : directive.end]
        for text in files
        for define, directive in zip(defines(text), (d for d in text.directives if d.word == "define"), strict=True)
    }


@needs_cpp
@pytest.mark.skipif(SOURCE is None, reason="needs a source tree")
def test_the_macros_of_pytorch_expand_as_the_preprocessor_expands_them() -> None:
    """Every macro a file uses, in its first use there: the tokens are those of `cpp -P`.

    Of every twelfth file; of all where thoroughness was asked for.
    """
    every = list(cpp_files(Path(str(SOURCE))))
    table = collect((text.path, text.raw) for text in every)
    lines = written(every)
    files = every if THOROUGH else every[::12]
    now: dict[str, Define | None] = {}  # what the preprocessor has each name for
    given = ["#undef __FILE__\n#undef __LINE__\n#define __LINE__ 7\n"]
    mine: list[tuple[str, str, list[str]]] = []
    counter = 0

    def define(name: str, wanted: Define | None) -> None:
        if now.get(name) != wanted:
            given.append(f"#undef {name}\n" + (f"{lines.get(wanted, GOOGLE_TEST)}\n" if wanted else ""))
            now[name] = wanted

    for name in [*table.by_name, "TEST"]:
        define(name, table.get(name)[0])
    for text in files:
        macros = FileMacros(text, table)
        for code, start in invocations(text, macros):
            expander = Expander(macros.definition)
            expander.counter = counter
            try:
                made = spelled(expander.text(code, 7, start))
            except TooLongError:  # a dispatch over all types within another
                continue
            if "_Pragma" in made or made[:1] == ["AT_NUM_ARGS_AUX"]:  # printed as a directive; Python, within an #if 0
                continue
            counter = expander.counter
            for name in macros.own:
                define(name, macros.definition(name, start))
            given.append(f"ptx_{len(mine)}_\n{code}\n")
            mine.append((text.path, code, made))
        for name in macros.own:
            define(name, next(iter(table.get(name)), None))
    theirs = spelled(preprocessed("".join(given)))
    at = 0
    different = []
    for number, (path, code, made) in enumerate(mine):
        end = theirs.index(f"ptx_{number + 1}_", at) if number + 1 < len(mine) else len(theirs)
        if theirs[at + 1 : end] != made:
            different.append((path, code, made, theirs[at + 1 : end]))
        at = end
    assert len(mine) > (8_000 if THOROUGH else 500)
    assert not different, different[:3]
