"""Where a native function's source stands: by name, linkage and types in the small tree; else why it is not known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from ptexplore.cpp.symbol_names import parse
from ptexplore.model.codes import Reason, within
from ptexplore.model.operators import Binding
from ptexplore.model.place_reasons import (
    CalledByLibrary,
    Joined,
    LambdaInside,
    LambdaOfUnknown,
    LambdaOutside,
    LambdaUnread,
    MadeByCompiler,
    NoDefinition,
    NotDemangled,
    NotIndexed,
    NotInWheel,
    NotNamed,
    NotPyTorchs,
    OfLibrary,
    OtherParameters,
    OtherVersion,
    SeveralLambdas,
    StandardLibrary,
)
from ptexplore.model.places import SourceRef
from ptexplore.resolve.native.sites import Member, Sites, special_member
from ptexplore.source.tree import checkout_tree
from tests.unit.conftest import ATEN, AUTOGRAD
from tests.unit.resolve.making import Rows, Small, operator, place
from tests.unit.resolve.native_calls import calls, part

HAND, KERNELS = "aten/src/ATen/native/Blend.cpp", "aten/src/ATen/native/cpu/FoldKernel.cpp"
CPU = f"{ATEN}/RegisterCPU_0.cpp"
CUDA = "aten/src/ATen/native/cuda/FoldKernel.cu"
FUNCTIONS, METHODS = f"{AUTOGRAD}/python_torch_functions_0.cpp", f"{AUTOGRAD}/python_variable_methods.cpp"
TENSOR = "at::Tensor const&"


def of(
    small: Small, text: str, nth: int = 0, rows: Rows | None = None, mangled: str | None = None, word: str = "matches"
) -> SourceRef:
    """The source of the nth call of a tree of calls."""
    data = calls(text)
    if mangled is not None:
        data["functions"][nth][2] = mangled
    sites = Sites(small.lookup(rows, small.source(word)))
    return [sites.of(frame) for frame in part(1, data).frames][nth]


@pytest.mark.parametrize(
    "function, text",
    [
        (f"at::native::weave({TENSOR}, {TENSOR})", "Tensor weave("),
        # Overloads are told by the very types of what ran.
        (f"at::native::blend_many({TENSOR}, long)", "Tensor blend_many("),
        ("at::native::blend_many(at::Tensor&)", "Tensor& blend_many("),
        (f"at::native::structured_blend_cpu::impl({TENSOR}, {TENSOR}, {TENSOR})", "TORCH_IMPL_FUNC(blend_cpu)"),
        # In an anonymous namespace in the binary and in the text.
        (f"at::native::(anonymous namespace)::boxed_rule({TENSOR})", "Tensor boxed_rule("),
    ],
)
def test_a_function_of_the_tree(small: Small, function: str, text: str) -> None:
    assert place(of(small, function)) == (HAND, small.line(HAND, text), "located")


def test_the_namespace_of_a_cpu_capability_is_not_in_the_source(small: Small) -> None:
    """Files below native/cpu are compiled once for each."""
    name = "at::native::AVX2::(anonymous namespace)::fold_kernel(at::TensorIteratorBase&)"
    assert place(of(small, name)) == (KERNELS, small.line(KERNELS, "void fold_kernel("), "located")


def test_a_tree_of_another_version_is_said(small: Small) -> None:
    found = of(small, f"at::native::weave({TENSOR}, {TENSOR})", word="version-skew")
    assert place(found) == (HAND, small.line(HAND, "Tensor weave("), "version-skew")


def test_other_types_are_another_function(small: Small) -> None:
    found = of(small, f"at::native::weave({TENSOR}, long)")
    assert place(found) == (None, None, "unknown")
    assert found.reason == OtherParameters("at::native::weave", "tree")
    skewed = of(small, f"at::native::weave({TENSOR}, long)", word="version-skew")
    assert skewed.precision == "version-skew", "they may have been other types in that version"


def test_a_static_function_is_not_one_with_external_linkage(small: Small) -> None:
    """The mangled name of a static function has an L before its last part."""
    text = f"at::native::spin_all({TENSOR})"
    assert of(small, text, mangled="_ZN2at6nativeL8spin_allERKNS_6TensorE").line == small.line(HAND, "Tensor spin_all(")
    assert of(small, text, mangled="_ZN2at6native8spin_allERKNS_6TensorE").precision == "unknown"


def test_the_arm_that_this_build_compiles(small: Small) -> None:
    found = of(small, f"at::native::either({TENSOR})", mangled="_ZN2at6nativeL6eitherERKNS_6TensorE")
    assert place(found) == (HAND, small.line(HAND, "Tensor either(", 2), "located")


@pytest.mark.parametrize(
    "places, expected",
    [
        ([(CPU, 12, 14)], (CPU, 12, "located")),
        ([(CPU, 12, 14), (CPU, 30, 32)], (CPU, None, "ambiguous")),  # both are listed
    ],
)
def test_generated_definitions(
    small: Small, places: Sequence[tuple[str, int, int]], expected: tuple[str, int | None, str]
) -> None:
    rows = Rows(definitions=[("at::wrapper_CPU__twice", *one) for one in places])
    found = of(small, f"at::(anonymous namespace)::wrapper_CPU__twice({TENSOR})", rows=rows)
    assert place(found) == expected
    assert len(found.candidates) == (0 if len(places) == 1 else len(places))


def test_of_generated_namesakes_the_one_whose_file_names_the_template_that_called_it(small: Small) -> None:
    """A template that was made for one of two namesakes calls it: only that one's file has the template's name."""
    python = f"{AUTOGRAD}/python_torch_functions_1.cpp"
    rows = Rows(definitions=[("n::apply", CPU, 12, 14), ("n::apply", python, 30, 32)])
    only_one = f"void n::own<int>({TENSOR})\n n::apply({TENSOR})"
    assert of(small, only_one, 1, rows).precision == "ambiguous", "neither file names it"
    named = f"void n::wrapper_CPU_blend_Pair<int>({TENSOR})\n n::apply({TENSOR})"
    assert place(of(small, named, 1, rows)) == (CPU, 12, "located")
    both = f"void n::size<int>({TENSOR})\n n::apply({TENSOR})"
    in_both = [path for path in (CPU, python) if "size" in "".join(small.tree.lines(path))]
    assert len(in_both) == 2
    assert of(small, both, 1, rows).precision == "ambiguous", "both files name it"
    plain = f"n::wrapper_CPU_blend_Pair({TENSOR})\n n::apply({TENSOR})"
    assert of(small, plain, 1, rows).precision == "ambiguous", "the caller is no template"


def test_a_file_for_a_device_is_not_the_cpus(small: Small) -> None:
    """The libraries that are stepped hold none of it; what stands there alone is all there is."""
    both, alone = (of(small, f"at::native::{name}({TENSOR})") for name in ("on_either", "only_on_a_device"))
    assert place(both) == (HAND, small.line(HAND, "Tensor on_either("), "located")
    assert place(alone) == (CUDA, small.line(CUDA, "Tensor only_on_a_device("), "located")


@pytest.mark.parametrize(
    "function, tables, expected",
    [
        ("THPVariable_mirror(_object*, _object*)", [METHODS], (METHODS, "located")),
        ("THPVariable_mirror(_object*, _object*, _object*)", [METHODS], (None, "unknown")),  # of other parameters
        # A function of torch and a method of Tensor, of one name and with as many parameters each.
        ("THPVariable_blend(_object*, _object*, _object*)", [FUNCTIONS, METHODS], (None, "ambiguous")),
    ],
)
def test_the_generated_functions_behind_pythons_names(
    small: Small, function: str, tables: Sequence[str], expected: tuple[str | None, str]
) -> None:
    name = function.partition("(")[0]
    rows = []
    for path in tables:
        (line,) = [number for number, text in enumerate(small.tree.lines(path), 1)
                   if f"{name}(PyObject" in text and not text.endswith(";")]  # fmt: skip
        rows.append(Binding("t", "x", name, path, line, line + 3, line))
    found = of(small, f"torch::autograd::{function}", rows=Rows(bindings=rows))
    assert (found.path, found.precision) == expected
    assert len(found.candidates) == (2 if expected[1] == "ambiguous" else 0)


# --- what has no source ---


@pytest.mark.parametrize(
    "text, reason",
    [
        ("@libc.so.6 memcpy", NotPyTorchs("libc.so.6")),
        ("std::vector<int>::push_back(int)", StandardLibrary()),
        ("operator new(unsigned long)", StandardLibrary()),
        ("_ZNSt14_Function_base13_Base_managerIUlPvE0_E10_M_managerE", StandardLibrary()),
        ("_ZN3c1012function_refIFvvEE11callback_fnIZN2at1fEvEUlvE_EEvl", NotDemangled()),
        ("guard variable for n::f()::x", MadeByCompiler()),
        ("dgemm_", OfLibrary("BLAS or LAPACK")),
        ("at::native::gone(int)", Joined((NoDefinition("at::native::gone", "tree"), NotIndexed()))),
        ("{lambda()#1}::operator()() const", LambdaOutside()),
    ],
)
def test_why_there_is_none(small: Small, text: str, reason: Reason) -> None:
    found = of(small, text)
    assert place(found) == (None, None, "unknown")
    assert found.reason == reason


def test_what_a_librarys_code_calls_in_c_is_its_own(small: Small) -> None:
    """Its static functions have no name that tells; C++'s functions that it calls, and what calls it, are not its."""
    data = calls("at::f()\n DftiCommit\n  commit\n   @libc.so.6 once\n    planner\n   std::swap()\n  helper\n planner")
    for function in data["functions"]:
        if function[3] in ("DftiCommit", "commit", "planner", "helper"):
            function[2] = function[3]  # as C mangles names
    sites = Sites(small.lookup(None, small.source()))
    frames = part(1, data).frames
    assert [frame.function.demangled for frame in frames][-1] == "planner"
    told = [sites.library(frame) for frame in frames]
    assert told == [None, "MKL", "MKL", None, "MKL", None, "MKL", None]
    assert of(small, "DftiCommit\n commit", 1, mangled="commit").reason == CalledByLibrary("MKL")


@pytest.mark.parametrize(
    "function, member",
    [
        ("n::Box::~Box()", ("~Box", ())),
        ("n::Box<int>::~Box()", ("~Box", ())),
        ("n::Box::Box()", ("Box", ())),
        ("n::Box<int>::Box(n::Box<int> const&)", ("Box", ("const Box&",))),
        ("n::Box::operator=(n::Box&&)", ("operator=", ("Box&&",))),
        ("n::Box::Box(int)", None),
        ("n::Box::operator=(int)", None),
        ("n::Box::open()", None),
        ("Box", None),
    ],
)
def test_which_members_a_compiler_makes(function: str, member: Member | None) -> None:
    assert special_member(parse(function)) == member


def test_a_function_that_its_library_does_not_name(small: Small) -> None:
    assert of(small, "n::f(int)", mangled="").reason == NotNamed("libtorch_cpu.so")


def test_with_the_wheel_alone_it_says_that_the_text_is_missing(small: Small) -> None:
    assert Sites(small.lookup()).named(parse("at::native::weave(int)")).reason == NotInWheel()


# --- functions of the same code ---


@pytest.mark.parametrize(
    "function, jumper, is_folded",
    [
        # Their texts name neither: GCC makes a jump of a function that is the same code as another one.
        (f"at::native::weave_twice({TENSOR}, {TENSOR})", f"at::native::weave({TENSOR}, {TENSOR})", True),
        # The function that jumps calls the other one, and nothing else.
        (f"at::native::through_two({TENSOR})", f"at::native::fold_far({TENSOR})", False),
        (f"at::native::weave_twice({TENSOR}, {TENSOR})", f"at::native::on_either({TENSOR})", False),
        (f"at::native::weave_twice({TENSOR}, {TENSOR})", "_GLOBAL__sub_I_Blend.cpp", False),
    ],
)
def test_what_only_jumps_to_a_function_may_be_the_same_code(
    small: Small, function: str, jumper: str, is_folded: bool
) -> None:
    data = calls(f"{jumper}\n ~{function}") | {"jumpers": {"1": [jumper]}}
    sites = Sites(small.lookup(None, small.source("matches")))
    outer, inner = part(1, data).frames
    found = [sites.of(frame) for frame in (outer, inner)][1]
    assert sites.alike(inner.function) == ((jumper,) if is_folded else ())
    assert sites.alike(outer.function) == ()
    assert (found.precision == "ambiguous") is is_folded
    if is_folded:
        lines = [small.line(HAND, "Tensor weave_twice("), small.line(HAND, "Tensor weave(")]
        assert [one.line for one in found.candidates] == lines


def test_without_a_text_what_came_by_a_jump_may_be_the_same_code(small: Small) -> None:
    """What only jumps may call it as well: a call that came otherwise is a call of the function that it names."""
    jumper, function = f"at::native::nobodys({TENSOR})", f"at::native::nobodys_own({TENSOR})"
    data = calls(f"{jumper}\n ~{function}\n{function}") | {"jumpers": {"1": [jumper]}, "units": {"1": "Blend.cpp"}}
    sites = Sites(small.lookup(None, small.source("matches")))
    _, jumped, called = part(1, data).frames
    assert jumped.function is called.function
    assert (sites.alike(jumped.function, jumped.jumper), sites.alike(called.function, called.jumper)) == ((jumper,), ())


# --- lambdas and entry points ---


def test_a_lambda_is_in_the_function_around_it_where_one_only_can_be(small: Small) -> None:
    around = "at::native::(anonymous namespace)::fold_kernel(at::TensorIteratorBase&)"
    vector = f"{around}::{{lambda(Vec)#1}}::operator()(Vec) const"
    # Three lambdas with one parameter stand there; the text does not tell their types.
    found = of(small, vector)
    assert place(found) == (KERNELS, None, "ambiguous")
    lines = [small.line(KERNELS, "cpu_kernel(iter"), small.line(KERNELS, "[](float a) { return a; },"),
             small.line(KERNELS, "[](Vec a)")]  # fmt: skip
    assert [one.line for one in found.candidates] == lines
    assert isinstance(found.reason, LambdaInside)
    assert (found.reason.name, found.reason.because) == ("at::native::fold_kernel", SeveralLambdas(3))


def test_of_a_lambda_whose_text_is_not_read_the_place_of_the_function_around_it_is_told(
    small: Small, tmp_path: Path
) -> None:
    """As where names alone are known of a release (the atlas): as certain as that place is, and no more."""
    (tmp_path / KERNELS).parent.mkdir(parents=True)
    empty = checkout_tree(replace(small.checkout, root=str(tmp_path)))
    source = replace(small.source("version-skew"), tree=empty)
    around = "at::native::(anonymous namespace)::fold_kernel(at::TensorIteratorBase&)"
    data = calls(f"{around}::{{lambda(Vec)#1}}::operator()(Vec) const")
    found = Sites(small.lookup(None, source)).of(part(1, data).frames[0])
    assert place(found) == (KERNELS, small.line(KERNELS, "fold_kernel("), "version-skew")
    assert [type(reason) for reason in within(found.reason)] == [Joined, OtherVersion, LambdaUnread]
    matching = checkout_tree(replace(small.checkout, root=str(tmp_path)), "matches")
    exact = replace(small.source("matches"), tree=matching)
    assert Sites(small.lookup(None, exact)).of(part(1, data).frames[0]).precision == "unknown"


def test_a_lambda_whose_function_is_not_known(small: Small) -> None:
    found = of(small, "at::native::gone(int)::{lambda()#1}::operator()() const")
    assert found.reason == LambdaOfUnknown("at::native::gone")


def test_an_operators_entry_points(small: Small) -> None:
    path = f"{ATEN}/Operators_0.cpp"
    call, again = small.line(path, "blend_Pair::call("), small.line(path, "blend_Pair::redispatch(")
    blend = operator("aten::blend.Pair() -> ()", call_path=path, call_line=call, redispatch_line=again)
    sites = Sites(small.lookup())
    for kind, line in (("entry", call), ("redispatch", again)):
        found = sites.entry(blend, kind)
        assert found is not None
        assert place(found) == (path, line, "located")
    assert sites.entry(operator("mini::x() -> ()"), "entry") is None
