"""The keys of an operator call, read from the register that each boundary's function type says."""

from __future__ import annotations

import pytest

from ptexplore.cpp.symbol_names import parse
from ptexplore.model.trace import walk
from ptexplore.resolve.native.call_tree import landmark
from ptexplore.resolve.native.chain import steps
from tests.unit.resolve.native_calls import KEYS, calls, functor, part

ALL, LOW = 0x71, 0x11  # AutogradCPU over ADInplaceOrView over CPU; CPU alone
FALLBACK = (
    "void c10::BoxedKernel::make_boxed_function<&ns::fallback>(c10::OperatorKernel*, c10::OperatorHandle const&, "
    "c10::DispatchKeySet, std::vector<c10::IValue, std::allocator<c10::IValue> >*)"
)
BOXING = (
    "c10::impl::BoxedKernelWrapper<at::Tensor (at::Tensor const&), void>::call(c10::BoxedKernel const&, "
    "c10::OperatorHandle const&, c10::DispatchKeySet, at::Tensor const&)"
)


@pytest.mark.parametrize(
    "returned, register",
    [
        ("at::Tensor", 2),
        ("std::tuple<at::Tensor, at::Tensor>", 2),
        ("std::vector<at::Tensor, std::allocator<at::Tensor> >", 2),
        ("c10::Scalar", 2),
        ("at::Tensor&", 1),
        ("at::Tensor const&", 1),
        ("void", 1),
        ("bool", 1),
        ("long", 1),
        ("c10::ScalarType", 1),
        ("std::tuple<double, long>", None),  # how that is returned depends on the library that was built with
    ],
)
def test_where_the_set_is(returned: str, register: int | None) -> None:
    seen = landmark(parse(functor("n::k", returned)))
    assert (seen.kind, seen.register) == ("boundary", register)
    assert seen.kernel is not None
    assert seen.kernel.qualified == "n::k"


def test_boxed_boundaries() -> None:
    seen = landmark(parse(FALLBACK))
    assert (seen.kind, seen.register, seen.operator) == ("boundary", 2, 1)
    assert seen.kernel is not None
    assert seen.kernel.qualified == "ns::fallback"
    assert (landmark(parse(BOXING)).register, landmark(parse(BOXING)).operator) == (None, 2)
    by_reference = BOXING.replace("at::Tensor (", "at::Tensor& (")
    assert (landmark(parse(by_reference)).register, landmark(parse(by_reference)).operator) == (2, 1)


# The kernel of a functor that was boxed: OperatorKernel*, OperatorHandle const&, DispatchKeySet, the stack.
FUNCTOR = (
    "c10::impl::make_boxed_from_unboxed_functor<c10::impl::detail::WrapFunctionIntoFunctor_<"
    "c10::CompileTimeFunctionPointer<int (int), &n::k>, int (int)>, false>::call(c10::OperatorKernel*, "
    "c10::OperatorHandle const&, c10::DispatchKeySet, std::vector<c10::IValue>*)"
)
FROM_FUNCTOR = "c10::BoxedKernel::makeFromFunctor<n::F>(int)::{lambda(int)#1}::_FUN(int)"


@pytest.mark.parametrize("text, kernel", [(FUNCTOR, "n::k"), (FROM_FUNCTOR, None)])
def test_the_set_of_a_boxed_call_is_its_third_argument(text: str, kernel: str | None) -> None:
    seen = landmark(parse(text))
    assert (seen.kind, seen.register, seen.operator) == ("boundary", 2, 1)
    assert (seen.kernel.qualified if seen.kernel is not None else None) == kernel


def test_names_that_only_look_like_it() -> None:
    for text in ("at::_ops::add::calls(int)", "x::wrap_kernel_functor_unboxed_::call()", "a::apply(int)"):
        assert landmark(parse(text)).kind == "other"
    others = (
        "torch::dynamo::LocalState::apply(c10::DispatchKeySet) const",
        "torch::nn::Module::apply(int)",
        "f::apply",
    )
    assert {landmark(parse(text)).kind for text in others} == {"other"}, "only Node's own apply takes gradients"
    full = "std::vector<at::Tensor, std::allocator<at::Tensor> >&&"
    assert landmark(parse(f"(anonymous namespace)::Mine::apply({full})")).name == "Mine"
    assert (
        landmark(parse("torch::autograd::generated::AddBackward0::apply(std::vector<at::Tensor>&&)")).name
        == "AddBackward0"
    )
    assert landmark(parse("at::_ops::add__Tensor::call(at::Tensor&)")).name == "add__Tensor"


def walked(text: str) -> list[tuple[str, int, str | None]]:
    one = part(1, calls(text))
    return [
        (step.key, step.set, step.kernel_frame.function.name.plain if step.kernel_frame else None)
        for step in walk(steps(one.frames[0], KEYS))
    ]


def test_a_redispatch_nests() -> None:
    text = f"""
at::_ops::x::call(at::Tensor const&)
 {functor("ad::x")} | 9 8 {ALL:x}
  ad::x(at::Tensor const&)
   at::_ops::x::redispatch(c10::DispatchKeySet, at::Tensor const&) | 9 {LOW:x} 8
    {functor("cpu::x")} | 9 8 {LOW:x}
   at::_ops::y::call(at::Tensor const&)
    {functor("cpu::y")} | 9 8 {LOW:x}
"""
    assert walked(text) == [("AutogradCPU", ALL, "ad::x"), ("CPU", LOW, None)], "y's dispatch is y's own"


def test_boxing_passes_on_the_set_of_the_lookup_before_it() -> None:
    text = f"""
at::_ops::x::call(at::Tensor const&)
 c10::impl::OperatorEntry::lookup(c10::DispatchKeySet) const | 9 {ALL:x} 0
 {BOXING} | 9 8 7
  {FALLBACK} | 0 7 {ALL:x}
   ns::fallback(int)
"""
    assert walked(text) == [("AutogradCPU", ALL, "ns::fallback")], "two frames, one dispatch"


def test_a_set_that_nothing_shows_makes_no_key() -> None:
    odd = functor("n::k", "std::tuple<double, long>")
    assert walked(f"at::_ops::x::call(int)\n {odd} | 1 2 3\n") == []
