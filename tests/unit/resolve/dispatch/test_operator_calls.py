"""Which overload an operator event is: as recorded, else the one that takes its inputs, else none is named."""

from __future__ import annotations

from typing import Any

import pytest

from ptexplore.model import reasons
from ptexplore.model.place_reasons import (
    NoOpsFunction,
    NoOverloadKnown,
    OverloadName,
    OverloadsFit,
    OverloadsTake,
    RegisteredLater,
)
from ptexplore.model.trace import Hop
from ptexplore.resolve.claims import Claim
from ptexplore.resolve.dispatch.operator_calls import BOXED_CALL, name
from ptexplore.resolve.merge import build
from tests.unit.conftest import ATEN
from tests.unit.resolve.making import Event, Rows, Small, bits, builtin, op, operator, place, session, tensor

CALLS = f"{ATEN}/Operators_0.cpp"
YAML = "aten/src/ATen/native/native_functions.yaml"
PAIR = "aten::blend.Pair(Tensor self, Tensor other) -> Tensor"
SCALAR = "aten::blend.Scalar(Tensor self, Scalar other) -> Tensor"
OUT = "aten::blend.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)"
ALIKE = "aten::blend.Alike(Tensor self, Tensor? other) -> Tensor"
PLAIN = "aten::mirror(Tensor(a) self) -> Tensor(a)"
FOREIGN = "mini::blend(Tensor self, Tensor other) -> Tensor"


def named(small: Small, event: Event, *schemas: str, more: Any = (), **operators: Any) -> Claim:
    context = small.context(
        session([event], more=more), Rows(operators=[operator(one, **operators) for one in schemas])
    )
    (found,) = name(context, build(context, ()))
    return found


BOTH, ONE = [tensor(1), tensor(2)], [tensor(1), 2.5]


@pytest.mark.parametrize(
    "event, schemas, expected",
    [
        (op("aten::blend", inputs=BOTH), (PAIR, SCALAR), "aten::blend.Pair"),
        (op("aten::blend", inputs=ONE), (PAIR, SCALAR), "aten::blend.Scalar"),
        (op("aten::mirror", inputs=[tensor(1)]), (PLAIN,), "aten::mirror"),
        (op("aten::blend", inputs=[*BOTH, tensor(3)]), (PAIR, OUT), "aten::blend.out"),
        # Two take the inputs: neither is named.
        (op("aten::blend", inputs=BOTH), (PAIR, ALIKE), None),
        # None takes them, and none of that name is known.
        (op("aten::blend", inputs=[]), (PAIR, SCALAR), None),
        (op("aten::twist", inputs=[]), (PAIR,), None),
        # Another namespace's operator is another operator.
        (op("aten::blend", inputs=BOTH), (PAIR, FOREIGN), "aten::blend.Pair"),
        (op("mini::blend", inputs=BOTH), (PAIR, FOREIGN), "mini::blend"),
        # What the profiler recorded counts, whatever the inputs are; "" is the overload without a name.
        (op("aten::blend", inputs=BOTH, overload="Scalar"), (PAIR, SCALAR), "aten::blend.Scalar"),
        (op("aten::mirror", inputs=[], overload=""), (PLAIN,), "aten::mirror"),
    ],
)
def test_the_overload(small: Small, event: Event, schemas: tuple[str, ...], expected: str | None) -> None:
    hop = named(small, event, *schemas).hop
    assert hop.op == expected
    assert hop.name == (expected or event.data["name"])


def test_why_one_is_named(small: Small) -> None:
    inferred = named(small, op("aten::blend", inputs=BOTH), PAIR, SCALAR).hop
    assert inferred.why == (reasons.TakesInputs("aten::blend", 1),)
    recorded = named(small, op("aten::blend", inputs=BOTH, overload="Pair"), PAIR, SCALAR).hop
    assert recorded.why == (reasons.OverloadRecorded(),)


def test_the_candidates_of_an_overload_that_cannot_be_told(small: Small) -> None:
    event = op("aten::blend", inputs=BOTH)
    source = named(small, event, PAIR, ALIKE, SCALAR, call_path=CALLS, call_line=8).hop.source
    assert source.precision == "ambiguous"
    assert len(source.candidates) == 2, "those that take the inputs; Scalar does not"
    assert source.reason == OverloadsTake((OverloadName("aten::blend.Pair"), OverloadName("aten::blend.Alike")))


def test_a_name_that_nobody_knows_is_unknown(small: Small) -> None:
    source = named(small, op("aten::twist")).hop.source
    assert (source.precision, source.candidates) == ("unknown", ())
    assert source.reason == NoOverloadKnown()


def test_the_source_is_the_entry_point_that_c_plus_plus_calls(small: Small) -> None:
    line = small.line(CALLS, "blend_Pair::call(")
    more = {"call_path": CALLS, "call_line": line, "cpp_name": "blend_Pair", "yaml_path": YAML, "yaml_line": 2}
    hop = named(small, op("aten::blend", inputs=BOTH), PAIR, **more).hop
    assert place(hop.source) == (CALLS, line, "located")
    assert hop.operator is not None
    assert (hop.operator.schema, hop.operator.entry) == (PAIR, "at::_ops::blend_Pair::call")
    assert hop.operator.yaml is not None
    assert place(hop.operator.yaml) == (YAML, 2, "located")


def test_an_operator_without_an_entry_point_says_so(small: Small) -> None:
    source = named(small, op("mini::blend", inputs=BOTH), FOREIGN).hop.source
    assert (source.precision, source.path) == ("unknown", None)
    assert source.reason == NoOpsFunction()


def test_an_operator_that_the_traced_code_registered(small: Small) -> None:
    table = {"op": "mini::new", "schema": "mini::new(Tensor self) -> Tensor", "dump": "", "table": ""}
    event = op("mini::new", inputs=[tensor(1)])
    hop = named(small, event, more=[("dispatch", "table", table)]).hop
    assert hop.op == "mini::new"
    assert hop.source.reason == RegisteredLater("mini::new")
    assert hop.why == (reasons.OnlyOverload("mini::new"),)


def test_an_event_whose_inputs_no_overload_takes_was_called_boxed(small: Small) -> None:
    """What the end of the stack fits is its overload, and it did not come through the unboxed entry point."""
    hop = named(small, op("aten::mirror", inputs=[tensor(1), 4, tensor(2)]), PLAIN).hop
    assert hop.op == "aten::mirror"
    assert hop.operator is not None
    assert hop.operator.entry == BOXED_CALL
    assert hop.why == (reasons.FitsStack("aten::mirror"), reasons.BoxedStack(3, 1))


def test_inside_a_transform_a_whole_stack_is_not_taken_for_the_out_overload(small: Small) -> None:
    """A layer's fallback calls the operator that it was called for, with what it unwrapped on top of its stack."""
    out = "aten::mirror.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"
    inner = op("aten::mirror", inputs=[tensor(1), tensor(2)])
    outer = op("aten::mirror", inner, inputs=[tensor(1)])

    def of(keys: int) -> Hop:
        around = builtin("torch", "mirror", outer, tls_include=keys)
        return named(small, around, PLAIN, out).children[0].children[0].hop

    assert of(0).op == "aten::mirror.out"
    inside = of(bits("FuncTorchDynamicLayerFrontMode"))
    assert inside.op is None
    fitting = (OverloadName("aten::mirror.out"), OverloadName("aten::mirror", boxed=True))
    assert inside.source.reason == OverloadsFit(fitting)
