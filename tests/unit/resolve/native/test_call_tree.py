"""The calls of one stepped part as a tree: who called whom, what a call cost, and whose code it is."""

from __future__ import annotations

from typing import Any

import pytest

from ptexplore.resolve.native.call_tree import NativeFrame, SteppedPart
from tests.unit.resolve.native_calls import calls, part

TEXT = """
outer(int)
 ~@libc.so.6 memcpy
 inner(int) | 1 2 ff
  deepest(int)
second(int)
"""


@pytest.fixture
def stepped() -> SteppedPart:
    return part(7, calls(TEXT))


def named(found: SteppedPart, name: str) -> NativeFrame:
    return next(one for one in found.frames if one.function.shown == name)


def test_frames_nest_by_their_depth(stepped: SteppedPart) -> None:
    assert [one.function.shown for one in stepped.frames if one.parent is None] == ["outer", "second"]
    outer = named(stepped, "outer")
    assert [one.function.shown for one in outer.children] == ["memcpy", "inner"]
    assert [one.function.shown for one in outer.descendants()] == ["memcpy", "inner", "deepest"], "callers first"
    assert named(stepped, "deepest").parent is named(stepped, "inner")
    assert stepped.calls.observation == 7


def test_what_is_inside_a_call(stepped: SteppedPart) -> None:
    outer, deepest, second = (named(stepped, name) for name in ("outer", "deepest", "second"))
    assert outer.holds(deepest)
    assert outer.holds(outer), "a call holds itself"
    assert not outer.holds(second)
    assert not deepest.holds(outer)
    assert [one.last for one in stepped.frames] == [3, 1, 3, 3, 4]


def test_instructions_with_and_without_the_calls_inside(stepped: SteppedPart) -> None:
    """`calls` gives each call ten instructions for itself before the next begins."""
    outer = named(stepped, "outer")
    assert outer.instructions == 40
    assert outer.own == 40 - 10 - 20
    assert named(stepped, "deepest").own == 10


def test_registers_and_tail_calls_are_those_of_their_frame(stepped: SteppedPart) -> None:
    assert named(stepped, "inner").registers == (1, 2, 0xFF)
    assert named(stepped, "outer").registers is None
    assert [one.tail for one in stepped.frames] == [False, True, False, False, False]


def of(library: str, name: str = "f(int)", **more: Any) -> Any:
    data = calls(f"@{library} {name}\n") | more
    return part(1, data).frames[0].function


@pytest.mark.parametrize(
    "library, closed",
    [
        ("libc.so.6", True),
        ("libmkl_core.so", True),
        ("libtorch_cpu.so", False),
        ("libtorch_python.so", False),
        ("libc10.so", False),
        ("libpython3.11.so.1.0", True),
    ],
)
def test_torchs_own_libraries_are_open(library: str, closed: bool) -> None:
    assert of(library).closed is closed


def test_a_library_that_the_probe_did_not_list_is_open() -> None:
    """An extension's own: its source may be at hand."""
    assert not of("libmini.so", closed={}).closed


@pytest.mark.parametrize(
    "library, interpreter",
    [
        ("libpython3.11.so.1.0", True),
        ("python3.11", True),
        ("_functools.cpython-311-x86_64-linux-gnu.so", True),
        ("libc.so.6", False),
    ],
)
def test_what_is_the_interpreters(library: str, interpreter: bool) -> None:
    assert of(library).is_interpreter is interpreter


def test_a_function_without_a_name_is_named_by_its_library() -> None:
    data = calls("@libmkl.so x\n")
    data["functions"] = [
        ["libmkl.so", "function", "", ""],
    ]
    assert part(1, data).frames[0].function.shown == "a function of libmkl.so"


BOXED = "c10::BoxedKernel::make_boxed_function<&(f(c10::OperatorHandle const&))>"
UNBOXED = "c10::impl::wrap_kernel_functor_unboxed_<c10::F, at::Tensor ()>::call(c10::OperatorKernel*)"
NODE = "torch::autograd::MulBackward0::apply(std::vector<at::Tensor>&&)"
ASKED = "at::getStepCallbacksUnlessEmpty(at::RecordScope)"


@pytest.mark.parametrize("boundary, name", [(BOXED, "c10::Dispatcher::callBoxed"), (UNBOXED, "c10::Dispatcher::call")])
def test_an_operator_call_without_a_frame_is_where_a_kernel_asks_for_listeners(boundary: str, name: str) -> None:
    text = f"kernel(int)\n before(int)\n {ASKED}\n keys(int)\n {boundary}\n  inner(int)\n after(int)\n"
    stepped = part(1, calls(text))
    (call,) = (frame for frame in stepped.frames if frame.function.inlined)
    assert (call.function.shown, call.function.landmark.kind) == (name, "boxed-call")
    assert call.parent is named(stepped, "kernel")
    assert [frame.function.shown for frame in named(stepped, "kernel").children] == ["before", name, "after"]
    assert [frame.function.demangled for frame in call.children] == [ASKED, "keys(int)", boundary]
    assert [frame.number for frame in stepped.frames] == list(range(8))
    assert (call.number, call.last, named(stepped, "kernel").last) == (2, 6, 7)
    assert call.holds(named(stepped, "inner"))
    assert not call.holds(named(stepped, "after"))


@pytest.mark.parametrize(
    "text",
    [
        f"at::_ops::add_Tensor::call(at::Tensor const&)\n {ASKED}\n {UNBOXED}\n",
        f"c10::Dispatcher::callBoxed(c10::OperatorHandle const&) const\n {ASKED}\n {BOXED}\n",
        f"at::_ops::add_Tensor::call(int)\n int c10::Dispatcher::call<int>(int) const\n  {ASKED}\n  {UNBOXED}\n",
        f"torch::autograd::call_function(int)\n {ASKED}\n {NODE}\n {UNBOXED}\n",
        f"kernel(int)\n {BOXED}\n",
        f"kernel(int)\n {ASKED}\n at::_ops::add_Tensor::call(int)\n",
    ],
    ids=["entry", "boxed", "outlined", "node", "redispatch", "another call"],
)
def test_a_call_with_a_frame_and_one_that_is_sent_on_are_no_such_call(text: str) -> None:
    assert not [frame for frame in part(1, calls(text)).frames if frame.function.inlined]
