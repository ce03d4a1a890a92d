"""Overloads that the inputs do not tell apart, told by what the text of their composite kernels calls."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ptexplore.model import reasons
from ptexplore.model.operators import DispatchKey
from ptexplore.resolve.dispatch.operator_calls import by_calls, name
from ptexplore.resolve.keyset import KeySets
from ptexplore.resolve.merge import build
from tests.unit.conftest import ATEN
from tests.unit.resolve.making import (
    KEYS,
    Event,
    Rows,
    Small,
    bits,
    entry,
    frame,
    op,
    operator,
    registration,
    session,
    tensor,
)

FILE = f"{ATEN}/RegisterCompositeImplicitAutograd_0.cpp"
# Both take (Tensor, Tensor). Their kernels, in the small tree: weave calls blend and mirror on its only way,
# weave_plainly calls blend alone, weave_maybe has a choice of both, weave_twice of fold or nothing.
KERNELS = {
    "aten::weave.a": "weave",
    "aten::weave.b": "weave_plainly",
    "aten::weave.c": "weave_maybe",
    "aten::weave.d": "weave_twice",
}
LINES = {name: (FILE, 10 * number) for number, name in enumerate(KERNELS, 1)}


def rows(*names: str, reason: str = "math kernel") -> Rows:
    known = [operator(f"{one}(Tensor self, Tensor other) -> Tensor") for one in names]
    known += [operator("aten::blend(Tensor self) -> Tensor"), operator("aten::mirror(Tensor self) -> Tensor")]
    return Rows(
        operators=known,
        registrations=[
            registration(one, "CompositeImplicitAutograd", LINES[one], alias=True, target=f"at::native::{KERNELS[one]}")
            for one in names
        ],
        tables={one: [entry("CPU", at=LINES[one], reason=reason)] for one in names},
    )


def told(small: Small, names: tuple[str, ...], ran: tuple[str, ...], word: str = "matches", **more: Any) -> list[str]:
    """The candidates that are left, by the operators that ran inside."""
    seen = session([op("aten::weave", *(op(f"aten::{one}") for one in ran))])
    context = small.context(seen, rows(*names, **more), small.source(word))
    (claim,) = build(context, ())
    candidates = [one for one in map(context.store.operator, names) if one is not None]
    return [one.name for one in by_calls(context, claim, candidates)]


A, B, C, D = KERNELS


@pytest.mark.parametrize(
    "names, ran, left",
    [
        # a calls mirror on its only way through, which did not run: it was b.
        ((A, B), ("blend",), [B]),
        # Both can have called these: neither is ruled out, and both name one that ran.
        ((A, B), ("blend", "mirror"), [A, B]),
        # c may have gone either way: what did not run rules it out no more than it does b.
        ((B, C), ("blend",), [B, C]),
        # b names nothing that ran and must have called blend; c may call mirror.
        ((B, C), ("mirror",), [C]),
        # Nothing ran inside: a and b would have called blend.
        ((A, C), (), [C]),
        # Neither must have called anything: the one whose text names what ran is meant.
        ((C, D), ("mirror",), [C]),
        ((C, D), ("fold",), [D]),
        ((C, D), ("mirror", "fold"), [C, D]),
        ((C, D), (), [C, D]),
    ],
)
def test_what_ran_inside_tells(small: Small, names: tuple[str, ...], ran: tuple[str, ...], left: list[str]) -> None:
    assert told(small, names, ran) == left


@pytest.mark.parametrize("word", ["consistent", "version-skew"])
def test_the_text_of_another_tree_tells_nothing(small: Small, word: str) -> None:
    assert told(small, (A, B), ("blend",), word) == [A, B]


def test_a_kernel_that_is_no_composite_tells_nothing(small: Small) -> None:
    """A backend's kernel need not call operators at all: what it names rules nothing out."""
    assert told(small, (A, B), ("blend",), reason="kernel") == [A, B]


def test_operators_inside_python_frames_count_and_those_inside_operators_do_not(small: Small) -> None:
    inner = op("aten::other", op("aten::mirror"))
    seen = session([op("aten::weave", op("aten::blend"), inner)])
    context = small.context(seen, rows(A, B), small.source())
    (claim,) = build(context, ())
    candidates = [one for one in map(context.store.operator, (A, B)) if one is not None]
    assert [one.name for one in by_calls(context, claim, candidates)] == [B]


POSITIONS, NAMES = (
    "aten::heap.dim(Tensor self, int[1]? dim) -> Tensor",
    "aten::heap.names(Tensor self, str[1] dim) -> Tensor",
)
GIVEN: Any = [tensor(1), None]


NAMED = DispatchKey("Named", 1 << 58, 0)  # torch 2.13 has no such key
WITH_NAMES = KeySets({**KEYS.keys, NAMED.name: NAMED}, KEYS.backends)


@pytest.mark.parametrize(
    "raw, inside, named",
    [
        (0, [], "aten::heap.dim"),
        (NAMED.raw, [], None),
        # An empty list of names, which only torch.ops can give: its kernel calls the operator anew by positions.
        (0, [op("aten::heap", inputs=GIVEN)], None),
        # That of another overload is no such call.
        (0, [op("aten::heap", inputs=[tensor(1), None, tensor(2)])], "aten::heap.dim"),
    ],
)
def test_where_no_tensor_has_names_no_overload_takes_names(
    small: Small, raw: int, inside: list[Event], named: str | None
) -> None:
    """The profiler of 2.6 tells a list of names from no list of numbers."""
    held = {"tensors": [{"impl": 7, "raw": bits("CPU") | raw}]}
    seen = session([op("aten::heap", *inside, inputs=GIVEN)], more=[("dispatch", "held", held)])
    context = small.context(seen, Rows(operators=[operator(POSITIONS), operator(NAMES)]))
    context = replace(context, keys=WITH_NAMES)
    (claim,) = name(context, build(context, ()))
    assert claim.hop.op == named


def test_torch_ops_can_give_an_empty_list_of_names(small: Small) -> None:
    called = frame("__call__", op("aten::heap", inputs=GIVEN), file="/site/torch/_ops.py", line=1)
    context = small.context(session(frames=[called]), Rows(operators=[operator(POSITIONS), operator(NAMES)]))
    (python,) = name(context, build(context, ()))
    assert [claim.hop.op for claim in python.walk() if claim.hop.kind == "op"] == [None]


def test_the_pass_names_what_the_text_told(small: Small) -> None:
    seen = session([op("aten::weave", op("aten::blend", inputs=[{}]), inputs=[{"impl": 1}, {"impl": 2}])])
    context = small.context(seen, rows(A, B), small.source())
    (claim,) = name(context, build(context, ()))
    assert claim.hop.op == B
    assert claim.hop.why == (reasons.WouldCallOthers((A,)),)
    (without,) = name(small.context(seen, rows(A, B)), build(context, ()))
    assert without.hop.op is None, "the wheel alone has no text of the kernels"
