"""Where an operator stands among the steps of its caller that nothing saw."""

from __future__ import annotations

from ptexplore.resolve.claims import Claim
from ptexplore.resolve.order import in_order
from tests.unit.resolve.making import claim


def called(name: str) -> Claim:
    return claim("op", name, event={"type": "op", "name": name, "event": 7})


def shape(claims: tuple[Claim, ...]) -> list[object]:
    """Names, those of unknown order marked, each with what is inside."""
    return [(f"{c.hop.name}{' ?' if c.hop.unknown_order else ''}", shape(c.children)) for c in claims]


def test_the_one_function_that_a_kernel_calls_holds_what_ran_in_the_kernel() -> None:
    function = claim("impl", "at::native::linear", status="derived")
    kernel = claim("kernel", "wrapper", function, called("aten::t"), called("aten::addmm"), claim("key", "CPU"))
    inside = [("aten::t", []), ("aten::addmm", [])]
    assert shape(in_order((kernel,))) == [("wrapper", [("at::native::linear", inside), ("CPU", [])])]


def test_behind_the_next_key_the_order_is_unknown_where_nothing_saw_it() -> None:
    """As in VariableType::cumsum of a dual tensor: its own calls are not told from those of the kernel below."""
    for status, unknown in (("derived", True), ("observed", False)):
        (kernel,) = in_order((claim("kernel", "VariableType", claim("key", "CPU", status=status), called("aten::to")),))
        assert [child.hop.unknown_order for child in kernel.children] == [False, unknown]


def test_what_an_errors_stack_tells_of_ran_last_and_may_hold_what_is_before_it() -> None:
    left = claim("native", "at::native::index_put_kernel", status="observed")
    function = claim("impl", "at::native::_index_put_impl_", left, status="derived")
    told = shape(in_order((claim("kernel", "wrapper", function, called("aten::reshape")),)))
    assert told == [("wrapper", [(function.hop.name, [("aten::reshape ?", []), (left.hop.name, [])])])]


def test_beside_several_functions_and_behind_a_stub_the_order_is_unknown() -> None:
    both = [claim("impl", f"at::{name}", status="derived")
            for name in ("meta::structured_mm::meta", "native::structured_mm_out::impl")]  # fmt: skip
    (kernel,) = in_order((claim("kernel", "wrapper", *both, called("aten::to.dtype")),))
    assert [child.hop.unknown_order for child in kernel.children] == [False, False, True]
    alone = claim("kernel", "wrapper", both[1], called("aten::copy_"))
    assert [child.hop.unknown_order for child in in_order((alone,))[0].children] == [False, True]
    function = claim(
        "impl", "at::native::sum", claim("stub", "at::native::sum_stub", status="predicted"), status="derived"
    )
    told = shape(in_order((claim("kernel", "wrapper", function, called("aten::fill_")),)))
    assert told == [("wrapper", [("at::native::sum", [("at::native::sum_stub", []), ("aten::fill_ ?", [])])])]


def test_a_launch_beside_what_was_stepped_has_no_place_among_it() -> None:
    """A library with a runtime of its own launched it: from inside of what stands before it, mostly."""
    stepped = claim("impl", "at::native::cudnn_batch_norm", instructions=71_101)
    moved = claim("launch", "Memset (Device)", event={"type": "launch", "name": "Memset (Device)", "event": 7})
    (kernel,) = in_order((claim("kernel", "wrapper", stepped, moved, instructions=72_000),))
    assert [child.hop.unknown_order for child in kernel.children] == [False, True]
    (alone,) = in_order((claim("kernel", "wrapper", moved, instructions=72_000),))
    assert not alone.children[0].hop.unknown_order
