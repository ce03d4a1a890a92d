"""Where the set of a dispatch was read: in the boundary's own register, else in the table lookup just before it."""

from __future__ import annotations

import pytest

from ptexplore.model.trace import walk
from ptexplore.resolve.native.chain import steps
from tests.unit.resolve.native_calls import KEYS, calls, functor, part

ALL, LOW = 0x71, 0x11  # AutogradCPU over ADInplaceOrView over CPU; CPU alone
LOOKUP = "c10::impl::OperatorEntry::lookup(c10::DispatchKeySet) const"
ODD = functor("n::k", "std::tuple<double, long>")  # how that is returned depends on the library: no register is known
CALL = "at::_ops::x::call(int)"


def walked(text: str) -> list[tuple[str, int, str]]:
    one = part(1, calls(text))
    return [(step.key, step.set, step.register) for step in walk(steps(one.frames[0], KEYS))]


@pytest.mark.parametrize(
    "returned, registers, register",
    [
        ("bool", f"9 {ALL:x} 8", "rsi"),  # the functor, then the set
        ("at::Tensor", f"9 8 {ALL:x}", "rdx"),  # a hidden first argument for what is returned
    ],
)
def test_the_boundarys_own_register(returned: str, registers: str, register: str) -> None:
    assert walked(f"{CALL}\n {functor('n::k', returned)} | {registers}\n") == [("AutogradCPU", ALL, register)]


def test_the_lookup_before_it() -> None:
    text = f"{CALL}\n {LOOKUP} | 9 {ALL:x} 0\n {ODD} | 1 2 3\n"
    assert walked(text) == [("AutogradCPU", ALL, "rsi of the table lookup before it")]


def test_the_nearest_lookup_counts() -> None:
    text = f"{CALL}\n {LOOKUP} | 9 {ALL:x} 0\n {LOOKUP} | 9 {LOW:x} 0\n {ODD} | 1 2 3\n"
    assert walked(text) == [("CPU", LOW, "rsi of the table lookup before it")]


def test_a_lookup_after_it_is_another_dispatchs() -> None:
    assert walked(f"{CALL}\n {ODD} | 1 2 3\n {LOOKUP} | 9 {ALL:x} 0\n") == []


def test_a_lookup_elsewhere_says_nothing() -> None:
    assert walked(f"{CALL}\n helper(int)\n  {LOOKUP} | 9 {ALL:x} 0\n {ODD} | 1 2 3\n") == []


def test_a_set_without_any_key_is_undefined() -> None:
    assert walked(f"{CALL}\n {functor('n::k')} | 9 8 0\n") == [("Undefined", 0, "rdx")]


def test_a_kernel_that_nothing_names_is_the_only_call_of_its_functor() -> None:
    """A kernel known when running alone: the functor's type does not name it."""
    unboxed = "c10::impl::wrap_kernel_functor_unboxed_<c10::impl::detail::WrapFunctionIntoRuntimeFunctor_<long>, "
    boundary = f"{unboxed}at::Tensor (int)>::call(c10::OperatorKernel*, c10::DispatchKeySet, int)"
    one = part(1, calls(f"{CALL}\n {boundary} | 9 8 {LOW:x}\n  n::k(int)\n"))
    (step,) = steps(one.frames[0], KEYS)
    assert step.kernel_frame is one.frames[2]
    two = part(1, calls(f"{CALL}\n {boundary} | 9 8 {LOW:x}\n  n::k(int)\n  n::other(int)\n"))
    assert steps(two.frames[0], KEYS)[0].kernel_frame is None, "two calls: which one it is nothing says"


def test_the_operator_that_a_redispatch_names() -> None:
    text = f"{CALL}\n at::_ops::y_Tensor::redispatch(int)\n  {functor('n::k')} | 9 8 {LOW:x}\n"
    one = part(1, calls(text))
    (step,) = steps(one.frames[0], KEYS)
    assert step.entry == "y_Tensor"
