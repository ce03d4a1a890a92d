"""What an operator copies, and why: from operator calls as the profiler records them.

The expected answers follow from torch's kernels of reshape, contiguous and clone, read by hand.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ptexplore.model.codes import Reason
from ptexplore.model.details import HasStrides
from ptexplore.model.reasons import BitSet, CannotJoin, DimensionPair, FormatWanted, KeptStrides, NotDense, NotJoined
from ptexplore.model.tensors import RecordedTensor
from ptexplore.model.trace import Hop
from ptexplore.resolve.claims import Claim
from ptexplore.resolve.copies import conclude, why_copied
from ptexplore.view.trace.memory_layouts import of_arguments, of_copy
from tests.unit.resolve.making import call, claim, user_call, with_schema

SCHEMAS = {
    "copy_": "aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)",
    "clone": "aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
    "contiguous": "aten::contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) -> Tensor(a)",
    "reshape": "aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)",
    "conv": "aten::conv(Tensor input, Tensor weight, Tensor? bias) -> Tensor",
    "resolve_conj": "aten::resolve_conj(Tensor(a) self) -> Tensor(a)",
    "t": "aten::t(Tensor(a) self) -> Tensor(a)",
}
CONTIGUOUS, PRESERVE, CHANNELS_LAST = 0, 1, 2


def given(sizes: tuple[int, ...], strides: tuple[int, ...], impl: int = 1, memory: int = 0) -> dict[str, Any]:
    return {"impl": impl, "dtype": "float32", "sizes": sizes, "strides": strides, "memory": memory}


def op(name: str, *inputs: Any, inside: tuple[Claim, ...] = ()) -> Claim:
    event = {"type": "op", "name": f"aten::{name}", "inputs": list(inputs)}
    return with_schema(claim("op", f"aten::{name}", *inside, event=event), SCHEMAS[name])


def concluded(top: Claim) -> dict[str, Hop]:
    """The hops of the operators by name."""
    (made,) = conclude(None, (top,))  # type: ignore[arg-type]
    return {inner.hop.name.removeprefix("aten::"): inner.hop for inner in made.walk()}


def whys(hop: Hop) -> list[Reason]:
    return list(hop.why)


def copying(read: dict[str, Any], made: tuple[int, ...], form: int | None = None) -> Claim:
    """A clone, with the copy in it."""
    return op("clone", read, form, inside=(op("copy_", given(read["sizes"], made, 9), read, False),))


def test_a_reshape_says_which_dimensions_cannot_be_joined() -> None:
    read = given((4, 3), (1, 4))
    hops = concluded(op("reshape", read, None, inside=(copying(read, (3, 1), CONTIGUOUS),)))
    for name in ("reshape", "clone", "copy_"):
        copy = hops[name].copy
        assert copy is not None
        assert (copy.bytes, copy.source.strides, copy.result.strides, copy.argument) == (48, (1, 4), (3, 1), "")
        assert whys(hops[name]) == [NotJoined(0, 1, 1, 3, 4)]


def test_the_sizes_that_your_call_asked_for_choose_the_dimensions() -> None:
    read = given((2, 16, 64), (1024, 1, 16))
    top = op("reshape", read, None, inside=(copying(read, (1024, 64, 1), CONTIGUOUS),))
    both = CannotJoin((DimensionPair(1, 2, 1, 64, 16), DimensionPair(0, 1, 1024, 16, 1)))
    assert whys(concluded(top)["reshape"]) == [both]
    asked = call(1, callable={"kind": "method", "method": "reshape"}, integers=[32, 64])
    yours = claim("binding", "reshape", top, event={"type": "builtin", "table": "Tensor", "method": "reshape",
                                                    "tls_include": 0, "tls_exclude": 0})  # fmt: skip
    hops = concluded(replace(yours, call=user_call(1, asked)))
    assert whys(hops["clone"]) == [NotJoined(0, 1, 1024, 16, 1)]


def test_the_argument_that_an_operator_copies_has_its_name() -> None:
    weight = given((8, 3, 3, 3), (27, 9, 3, 1), 2)
    image = given((2, 3, 8, 8), (192, 1, 24, 3), 1)
    inner = op("contiguous", weight, CHANNELS_LAST, inside=(copying(weight, (27, 1, 9, 3), CHANNELS_LAST),))
    hops = concluded(op("conv", image, weight, None, inside=(inner,)))
    copy = hops["contiguous"].copy
    assert copy is not None
    assert (copy.argument, copy.is_view, copy.bytes) == ("weight", False, 864)
    assert whys(hops["contiguous"]) == [FormatWanted("channels_last", "aten::conv")]
    assert hops["conv"].copy is None
    assert [tensor.name for tensor in hops["conv"].tensors] == ["input", "weight"]


def test_a_view_of_one_argument_is_told_apart_from_the_argument() -> None:
    whole, part = given((4, 4), (4, 1), 1, memory=64), given((2, 4), (1, 4), 7, memory=64)
    inner = op("contiguous", part, CONTIGUOUS, inside=(copying(part, (4, 1), CONTIGUOUS),))
    copy = concluded(op("conv", whole, given((3,), (1,), 3, memory=128), None, inside=(inner,)))["copy_"].copy
    assert copy is not None
    assert (copy.argument, copy.is_view) == ("input", True)
    several = concluded(op("conv", whole, given((3,), (1,), 3, memory=64), None, inside=(inner,)))["copy_"].copy
    assert several is not None
    assert (several.argument, several.is_view) == ("", False)


def test_a_bit_for_lazy_arithmetic_is_why_it_is_copied() -> None:
    """resolve_conj returns its argument unless the bit is set (aten/src/ATen/native/UnaryOps.cpp)."""
    read = given((3,), (1,), 7)
    resolved = op("resolve_conj", read, inside=(copying(read, (1,)),))
    assert whys(concluded(op("resolve_conj", read, inside=(copying(read, (1,)),)))["clone"]) == [BitSet("conjugate")]
    hops = concluded(op("conv", read, given((3,), (1,), 2), None, inside=(resolved,)))
    assert whys(hops["copy_"]) == [BitSet("conjugate", "aten::conv")]


def test_two_copies_are_not_one() -> None:
    read = given((4, 3), (1, 4))
    one = copying(read, (3, 1), CONTIGUOUS)
    hops = concluded(op("reshape", read, None, inside=(one, copying(read, (3, 1), CONTIGUOUS))))
    assert hops["reshape"].copy is None
    assert hops["clone"].copy is not None


def recorded(sizes: tuple[int, ...], strides: tuple[int, ...]) -> RecordedTensor:
    return RecordedTensor(dtype="float32", sizes=sizes, strides=strides)


@pytest.mark.parametrize(
    ("sizes", "strides", "made", "why"),
    [
        ((3, 5), (10, 1), (5, 1), NotDense()),
        ((6, 5), (1, 6), (1, 6), KeptStrides()),
        ((3, 5), (5, 1), (5, 1), None),
        ((3, 4), (1, 0), (4, 1), NotDense()),
    ],
)
def test_a_clone_keeps_the_strides_of_a_dense_tensor(
    sizes: tuple[int, ...], strides: tuple[int, ...], made: tuple[int, ...], why: Reason | None
) -> None:
    for form in (None, PRESERVE):
        assert why_copied(("aten::clone",), form, recorded(sizes, strides), recorded(sizes, made)) == why


def test_no_reason_where_none_is_known() -> None:
    plain = recorded((3, 5), (5, 1))
    assert why_copied(("aten::contiguous",), CONTIGUOUS, recorded((3, 5), (1, 3)), plain) is None  # as its name says
    assert why_copied(("aten::_to_copy",), CHANNELS_LAST, plain, plain, "aten::conv") == FormatWanted(
        "channels_last", "aten::conv"
    )
    assert why_copied((), None, plain, plain) is None
    assert why_copied(("aten::clone",), None, RecordedTensor(), plain) is None


def test_a_row_names_an_argument_that_is_not_contiguous() -> None:
    hops = concluded(op("conv", given((1, 2, 3, 4), (24, 1, 8, 2)), given((2, 3), (1, 2)), None))
    (told,) = of_arguments(hops["conv"])
    assert isinstance(told, HasStrides)
    assert (told.argument, told.sizes, told.strides, told.format, told.more) == (
        "input", "(1, 2, 3, 4)", "(24, 1, 8, 2)", "channels_last", 1,
    )  # fmt: skip
    assert of_copy(hops["conv"]) == ()
    assert of_arguments(concluded(op("conv", given((2, 3), (3, 1)), given((3,), (1,)), None))["conv"]) == ()
    assert of_arguments(concluded(op("t", given((2, 3), (1, 2))))["t"]) == ()  # it only makes a view
