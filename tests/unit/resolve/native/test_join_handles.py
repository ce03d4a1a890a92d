"""Boxed calls: which operator one is, by the handle that the first boundary below it was given."""

from __future__ import annotations

from ptexplore.resolve.native.join import Matchable, frame_mark, handle_below, handles
from tests.unit.resolve.native_calls import calls, part

ADD, MUL = "at::_ops::add_T::call(int)", "at::_ops::mul_T::call(int)"
BOXED = "c10::Dispatcher::callBoxed(int) const"
FALLBACK = (
    "void c10::BoxedKernel::make_boxed_function<&ns::fallback>(c10::OperatorKernel*, c10::OperatorHandle const&, "
    "c10::DispatchKeySet, std::vector<c10::IValue, std::allocator<c10::IValue> >*)"
)  # rdi the functor, rsi the operator's handle, rdx the set


def named(cpp_name: str) -> str:
    return f"aten::{cpp_name.partition('_')[0]}"


def test_a_handle_is_learned_from_a_call_by_name() -> None:
    frames = part(
        1, calls(f"{ADD}\n {FALLBACK} | 1 aa 3\n{BOXED}\n {FALLBACK} | 1 aa 3\n{BOXED}\n {FALLBACK} | 1 bb 3")
    ).frames
    assert handles(frames, named) == {0xAA: "aten::add"}
    marks = [frame_mark(one, named, (), {0xAA: "aten::add"}) for one in frames if one.parent is None]
    assert marks == [Matchable("op", "aten::add"), Matchable("op", "aten::add"), Matchable("op", "?")]


def test_a_handle_below_another_call_is_that_calls() -> None:
    """add itself went without a boxed kernel; the operator that it called did not."""
    frames = part(1, calls(f"{ADD}\n kernel(int)\n  {MUL}\n   {FALLBACK} | 1 bb 3\n {FALLBACK} | 1 aa 3")).frames
    assert handle_below(frames[0]) is None
    assert handles(frames, named) == {0xBB: "aten::mul"}
    inner = part(1, calls(f"{BOXED}\n {BOXED}\n  {FALLBACK} | 1 bb 3")).frames
    assert handle_below(inner[0]) is None
    assert handle_below(inner[1]) == 0xBB


def test_a_boundary_without_registers_tells_no_handle() -> None:
    frames = part(1, calls(f"{BOXED}\n {FALLBACK}\n")).frames
    assert handle_below(frames[0]) is None


def test_a_binding_and_a_node_are_known_by_their_names() -> None:
    frames = part(
        1, calls("torch::autograd::THPVariable_add(int)\n"
                 "torch::autograd::generated::AddBackward0::apply(std::vector<at::Tensor>&&)\n"
                 "torch::autograd::PyNode::apply(std::vector<at::Tensor>&&)\nother(int)")
    ).frames  # fmt: skip
    bindings = {
        Matchable("binding", "THPVariable_add"),
        Matchable("builtin", "other"),
        Matchable("node", "AddBackward0"),
    }
    marks = [frame_mark(one, named, bindings, {}) for one in frames]
    assert marks == [
        Matchable("binding", "THPVariable_add"),
        Matchable("node", "AddBackward0"),
        Matchable("node", "?"),
        None,
    ]
    assert frame_mark(frames[0], named, (), {}) is None, "only a binding that some claim names"


def test_an_entry_of_an_operator_that_nobody_knows_keeps_its_own_name() -> None:
    (frame,) = part(1, calls(f"{ADD}\n")).frames
    assert frame_mark(frame, lambda _: None, (), {}) == Matchable("op", "add_T")
