"""The user's own calls at the top of the tree: which claim is which call, by the operators that ran inside it."""

from __future__ import annotations

from typing import Any

import pytest

from ptexplore.model import reasons
from ptexplore.resolve.claims import Claim
from ptexplore.resolve.merge import attach, build
from tests.unit.resolve.making import Event, Small, builtin, call, event, frame, number_of, op, session, shape

FILE = "/site/torch/_refs.py"
ADD = {"kind": "slot", "table": "Tensor", "method": "__add__", "qualname": "Tensor.__add__"}
OTHER = {"kind": "other", "qualname": "sum"}


def attached(
    small: Small, base: list[Event], dispatch: list[Event], *calls: dict[str, Any], frames: bool = False
) -> tuple[Claim, ...]:
    given = {"frames": base} if frames else {"ops": base}
    seen = session(**given, dispatch=dispatch, calls=calls)
    context = small.context(seen)
    return attach(context, build(context, ()))


def numbered(claims: tuple[Claim, ...]) -> list[int | None]:
    """The number of the user's call that each top claim was given."""
    return [one.call.call if one.call else None for one in claims]


A, B = op("aten::a"), op("aten::b")


def test_an_operator_that_operator_syntax_led_to_is_wrapped_in_its_slot(small: Small) -> None:
    """`a + b`: Python calls the type's slot without any event of its own."""
    inside = call(1, callable=ADD, source="a + b", syntax="operator")
    (binding,) = attached(small, [A], [event("call", A, call=1)], inside)
    assert shape((binding,)) == "Tensor.__add__(aten::a)"
    assert (binding.hop.kind, binding.hop.status) == ("binding", "derived")
    assert binding.hop.why == (reasons.OperatorSyntax("a + b", "operator", "__add__"),)
    assert (binding.event.table, binding.event.method) == (ADD["table"], ADD["method"]), (
        "the next pass finds its table row"
    )


def test_a_slot_that_is_called_by_its_name(small: Small) -> None:
    """`a.__add__(b)`: a slot as well, but no operator's syntax."""
    (binding,) = attached(small, [A], [event("call", A, call=1)], call(1, callable=ADD, source="a.__add__(b)"))
    assert shape((binding,)) == "Tensor.__add__(aten::a)"
    assert binding.hop.why == (reasons.SlotByName("a.__add__(b)", "__add__"),)


def test_a_builtin_that_was_recorded_is_the_call_itself(small: Small) -> None:
    torch_a = builtin("torch", "a", A)
    seen = session(frames=[torch_a], dispatch=[event("call", A, call=1)], calls=[call(1, callable={"method": "a"})])
    context = small.context(seen)
    (claim,) = attach(context, build(context, ()))
    assert (claim.hop.name, numbered((claim,))) == ("torch.a", [1])
    read = number_of(seen, "dispatch", "call")
    assert claim.hop.evidence == (number_of(seen, "frames", "event"), read)
    assert claim.call is not None
    assert claim.call.observation == read


def test_calls_are_told_by_the_operators_that_ran_inside(small: Small) -> None:
    base = [builtin("torch", "a", A), builtin("torch", "a", B)]
    dispatch = [event("call", A, call=7), event("call", B, call=8)]
    claims = attached(small, base, dispatch, call(7), call(8), frames=True)
    assert numbered(claims) == [7, 8]


def test_two_top_operators_of_one_call_are_inside_it(small: Small) -> None:
    claims = attached(small, [A, B], [event("call", A, B, call=1)], call(1, callable=ADD))
    assert shape(claims) == "Tensor.__add__(aten::a aten::b)"


def test_an_operator_outside_of_every_call_stays_at_the_top(small: Small) -> None:
    claims = attached(small, [A, B], [A, event("call", B, call=1)], call(1, callable=ADD))
    assert shape(claims) == "aten::a Tensor.__add__(aten::b)"


def test_a_call_of_something_that_is_not_torchs(small: Small) -> None:
    """Python's own sum() calls operators in turn: it is a Python hop, and no binding of torch's."""
    (claim,) = attached(small, [A], [event("call", A, call=1)], call(1, callable=OTHER))
    assert (claim.hop.kind, claim.hop.name, claim.hop.status) == ("python", "sum", "observed")
    assert shape((claim,)) == "sum(aten::a)"


def test_a_dispatch_pass_that_ran_other_operators_says_nothing(small: Small) -> None:
    claims = attached(small, [A], [event("call", B, call=1)], call(1, callable=ADD))
    assert (shape(claims), numbered(claims)) == ("aten::a", [None])


def test_without_the_dispatch_pass_all_stays_as_it_is(small: Small) -> None:
    assert shape(attached(small, [A, B], [])) == "aten::a aten::b"


@pytest.mark.parametrize(
    "target, line",
    [
        ({"kind": "attribute", "table": "Tensor", "method": "shape", "qualname": "Tensor.shape"}, "Tensor.shape"),
        ({"kind": "method", "table": "Tensor", "method": "size", "qualname": "Tensor.size"}, "Tensor.size"),
        ({"kind": "attribute", "table": None, "method": "real", "qualname": "int.real"}, ""),  # an int's
        ({"kind": "other", "table": None, "method": None, "qualname": "len"}, ""),
        ({"kind": "python", "table": "torch", "qualname": "helper"}, ""),
    ],
)
def test_a_call_that_ran_no_operator_is_a_line_where_it_is_torchs(
    small: Small, target: dict[str, Any], line: str
) -> None:
    before = attached(small, [A], [event("call", call=1), event("call", A, call=2)],
                      call(1, callable=target), call(2, callable=ADD))  # fmt: skip
    assert shape(before) == f"{line} Tensor.__add__(aten::a)".strip()
    after = attached(small, [A], [event("call", A, call=1), event("call", call=2)],
                     call(1, callable=ADD), call(2, callable=target))  # fmt: skip
    assert shape(after) == f"Tensor.__add__(aten::a) {line}".strip()


def test_a_python_function_is_the_frame_at_its_line(small: Small) -> None:
    """Neither ran an operator: file and first line tell them apart."""
    base = [frame("g", file=FILE, line=9), frame("f", file=FILE, line=3)]
    g, f = ({"kind": "python", "qualname": name, "file": FILE, "line": line} for name, line in (("g", 9), ("f", 3)))
    dispatch = [event("call", call=1), event("call", call=2)]
    assert numbered(attached(small, base, dispatch, call(1, callable=g), call(2, callable=f), frames=True)) == [1, 2]
    assert numbered(attached(small, base[1:], dispatch, call(1, callable=g), call(2, callable=f), frames=True)) == [2]


LIST, F = (1, 0, 10), (1, 12, 16)  # where list(…) and f(x) are written


def of_f(*inside: Event, at: tuple[int, int, int] = LIST) -> Event:
    return frame("f", *inside, file=FILE, line=3, at=[at])


def test_what_runs_no_operator_stays_inside_of_the_call_of_c_that_led_to_it(small: Small) -> None:
    """`list(map(f, [None, x, None, x, None])), f(None)`: C called f each time but the last."""
    base = [of_f(), of_f(A), of_f(), of_f(B), of_f(), of_f(at=F)]
    target = {"kind": "python", "qualname": "f", "file": FILE, "line": 3}
    calls = (call(1, callable={**OTHER, "kind": "class"}, line=1, col=0, end_col=10),
             call(2, callable=target, line=1, col=12, end_col=16))  # fmt: skip
    claims = attached(small, base, [event("call", A, B, call=1), event("call", call=2)], *calls, frames=True)
    assert shape(claims) == "sum(f f(aten::a) f f(aten::b) f) f"
    assert numbered(claims) == [1, 2]


def test_what_stands_between_operators_of_a_call_is_inside_of_it(small: Small) -> None:
    """Where Python told no columns, the order tells as much: the expression's calls follow each other."""
    base = [frame("f", *inside, file=FILE, line=3) for inside in ((A,), (), (B,), ())]
    claims = attached(small, base, [event("call", A, B, call=1)], call(1, callable=OTHER), frames=True)
    assert shape(claims) == "sum(f(aten::a) f f(aten::b)) f"


def test_a_call_of_c_that_runs_no_operator_at_all(small: Small) -> None:
    claims = attached(small, [of_f()], [event("call", call=1)], call(1, callable=OTHER, line=1, col=0, end_col=10),
                      frames=True)  # fmt: skip
    assert shape(claims) == "sum(f)"


def test_where_a_loop_calls_the_same_part_twice_nobody_can_tell_where_the_first_ends(small: Small) -> None:
    base, calls = [of_f(A), of_f(), of_f(B)], [call(n, callable=OTHER, line=1, col=0, end_col=10) for n in (1, 2)]
    claims = attached(small, base, [event("call", A, call=1), event("call", B, call=2)], *calls, frames=True)
    assert shape(claims) == "sum(f(aten::a)) sum(f f(aten::b))"
    assert [[reasons.WhichCall() in f.hop.why for f in claim.children] for claim in claims] == [[False], [True, False]]
