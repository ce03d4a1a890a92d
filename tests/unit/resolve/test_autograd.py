"""Forward and backward joined: the node a forward call recorded, and each node that ran with its formula and its line.

The sequence number is the link (aten/src/ATen/SequenceNumber.h): the profiler's forward event has it, and the node that
the call makes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ptexplore.model import reasons
from ptexplore.model.operators import Derivative, Formula
from ptexplore.model.place_reasons import NoGeneratedApply
from ptexplore.model.trace import NodeRef
from ptexplore.resolve.autograd import ACCUMULATE, link
from ptexplore.resolve.claims import Claim, rewrite
from ptexplore.resolve.derivatives import mode
from ptexplore.resolve.merge import build
from ptexplore.resolve.trace import resolve
from tests.unit.conftest import ATEN, AUTOGRAD
from tests.unit.resolve.making import (
    CPU_TENSOR,
    Rows,
    Small,
    builtin,
    call,
    claim,
    entry,
    event,
    formulas_of,
    number_of,
    op,
    operator,
    place,
    registration,
    session,
    shape,
    tensor,
    walk,
)

OP, NODE = "aten::blend.Pair", "BlendBackward0"
SCHEMA = "aten::blend.Pair(Tensor self, Tensor other) -> Tensor result"
YAML, FUNCTIONS = "tools/autograd/derivatives.yaml", f"{AUTOGRAD}/Functions.cpp"
MANUAL_H, MANUAL = "torch/csrc/autograd/FunctionsManual.h", "torch/csrc/autograd/FunctionsManual.cpp"
FORMULAS = (
    Formula("self", 3, "grad"),
    Formula("other", 4, "undo_blend(grad)", ("undo_blend",)),
    Formula("result", 5, "only_forward(self_t)", ("undo_blend", "only_forward")),  # a forward-mode formula
)


def derivative(op: str = OP, line: int = 2, **more: Any) -> Derivative:
    """blend's entry in the small tree's derivatives.yaml."""
    given = {"formulas": FORMULAS[:2], "node": NODE, "matched": "exact", **more}
    return Derivative(op, YAML, line, 4, op, apply_path=None, apply_line=None, apply_end=None, **given)


def rows(small: Small, *derivatives: Derivative) -> Rows:
    at = small.line(FUNCTIONS, "BlendBackward0::apply(")
    return Rows(
        operators=[operator(SCHEMA), operator("aten::mirror(Tensor self) -> Tensor")],
        derivatives=derivatives or [derivative()],
        nodes=[(NODE, FUNCTIONS, at, at + 2)],
    )


def forward(sequence: int, op: str = OP, evidence: tuple[int, ...] = (1,), key: str = "AutogradCPU") -> Claim:
    """An operator call with its autograd kernel, as the passes before leave it."""
    kernel = claim("kernel", "VariableType::blend", op=op, key=key, evidence=evidence)
    above = claim("key", key, kernel, op=op, key=key, evidence=evidence)
    return claim("op", op, above, op=op, evidence=evidence, event={"sequence": sequence})


def node(name: str = NODE, sequence: int = 7, *inside: Claim, kind: str = "node") -> Claim:
    """A node that the engine ran."""
    event = {"type": kind, "name": name, "sequence": sequence}
    return claim("node", name, *inside, event=event, phase="backward", evidence=(2,))


def linked(small: Small, *claims: Claim, graph: Any = (), catalogue: Rows | None = None) -> list[Claim]:
    context = small.context(session(graph=graph), catalogue or rows(small), small.source())
    return walk(link(context, claims))


def recorded(sequence: int, name: str = NODE) -> dict[str, Any]:
    return {"id": 1, "name": name, "next": [], "sequence": sequence}


# --- the forward call's record ---


def test_an_autograd_kernel_holds_the_node_that_it_recorded(small: Small) -> None:
    found = [one for one in linked(small, forward(7), graph=[recorded(7)]) if one.hop.kind == "node"]
    (one,) = found
    assert (one.hop.name, one.hop.status, one.hop.phase, one.hop.op) == (NODE, "observed", "forward", OP)
    assert place(one.hop.source) == (YAML, 2, "located")
    assert one.hop.evidence == (1,), "the graph's observation, the first of that session"
    kernel = linked(small, forward(7), graph=[recorded(7)])[2]
    assert shape((kernel,)) == f"VariableType::blend({NODE})"


def test_a_call_that_was_added_for_backward_holds_the_node_that_it_recorded(small: Small) -> None:
    """As the sum of a result that is no scalar: it runs in the half of the run that is backward's."""
    added = rewrite((forward(7),), lambda one: one.but(replace(one.hop, phase="backward")))
    (one,) = [one for one in linked(small, *added, graph=[recorded(7)]) if one.hop.kind == "node"]
    assert (one.hop.name, one.hop.phase, one.hop.node) == (NODE, "backward", NodeRef(recorded=True))


@pytest.mark.parametrize(
    "claims, graph",
    [
        ((forward(7),), [recorded(8)]),  # another call's number
        ((forward(7),), [recorded(7, "MirrorBackward0")]),  # a node that this operator does not make
        ((forward(7, "aten::mirror"),), [recorded(7)]),  # an operator without that derivative
        ((forward(7, key="CPU"),), [recorded(7)]),  # only autograd's kernel records
        ((forward(-1),), [recorded(-1)]),  # no number was given
        ((forward(7),), []),
    ],
)
def test_a_kernel_that_recorded_nothing_holds_no_node(small: Small, claims: Any, graph: Any) -> None:
    assert not [one for one in linked(small, *claims, graph=graph) if one.hop.kind == "node"]


def test_a_call_that_recorded_nothing_leaves_the_number_to_the_next(small: Small) -> None:
    """As a sum of what needs no gradient before one of what does: both have the number that the node gets."""
    linked_claims = linked(small, forward(7, evidence=(1,)), forward(7, evidence=(2,)), graph=[recorded(7)])
    kernels = [item for item in linked_claims if item.hop.kind == "kernel"]
    assert [shape((kernel,)) for kernel in kernels] == ["VariableType::blend", f"VariableType::blend({NODE})"]


def test_of_the_calls_of_one_number_the_one_that_makes_the_node(small: Small) -> None:
    """A composite and the operator inside share the number of the call that recorded."""
    inner = forward(7, evidence=(5,))
    outer = claim("op", "aten::mirror", inner, op="aten::mirror", evidence=(4,), event={"sequence": 7})
    found = linked(small, outer, graph=[recorded(7)])
    kernels = [one for one in found if one.hop.kind == "kernel"]
    assert [(one.hop.op, [child.hop.kind for child in one.children]) for one in kernels] == [(OP, ["node"])]


# --- the nodes that ran ---


def test_a_node_that_ran_is_at_its_apply(small: Small) -> None:
    hop = linked(small, forward(7), node())[-2].hop
    assert hop.name == f"torch::autograd::generated::{NODE}::apply"
    assert place(hop.source) == (FUNCTIONS, small.line(FUNCTIONS, "BlendBackward0::apply("), "located")
    assert hop.op == OP
    assert reasons.MadeByCall(OP) in hop.why


def test_its_formulas_have_their_own_lines(small: Small) -> None:
    one = linked(small, forward(7), node(), catalogue=rows(small, derivative(formulas=FORMULAS)))[3]
    assert formulas_of(one) == [("self", 3, "backward"), ("other", 4, "backward"), ("result", 5, "forward")]


def test_a_function_that_a_formula_calls_is_predicted_in_backward(small: Small) -> None:
    """It runs only where that input needs a gradient, which nobody saw."""
    *_, impl = linked(small, forward(7), node())
    assert impl.hop.name == "torch::autograd::generated::details::undo_blend"
    assert (impl.hop.status, impl.hop.phase, impl.hop.op, impl.hop.evidence) == ("predicted", "backward", OP, (2,))
    assert place(impl.hop.source) == (MANUAL, small.line(MANUAL, "Tensor undo_blend("), "located")
    assert impl.hop.declaration is not None
    assert impl.hop.declaration.path == MANUAL_H
    assert impl.hop.why == (reasons.FormulaCalls(f"{YAML}:4"),)


@pytest.mark.parametrize("raises, order", [(True, ["op", "impl"]), (False, ["impl", "op"])])
def test_what_raises_in_a_formulas_place_stands_behind_what_ran(
    small: Small, monkeypatch: pytest.MonkeyPatch, raises: bool, order: list[str]
) -> None:
    """As not_implemented, where another input of the operator has a formula: that ran before it."""
    monkeypatch.setattr("ptexplore.resolve.autograd.RAISES", ("undo_blend",) if raises else ())
    ran = replace(node(), children=(claim("op", "aten::exp", phase="backward"),))
    made = next(one for one in linked(small, forward(7), ran) if one.hop.name.endswith(f"{NODE}::apply"))
    assert [child.hop.kind for child in made.children] == order


def test_a_forward_mode_formula_calls_nothing_in_backward(small: Small) -> None:
    only_forward = rows(small, derivative(formulas=(FORMULAS[0], FORMULAS[2])))
    found = linked(small, forward(7), node(), catalogue=only_forward)
    assert [one.hop.kind for one in found if one.hop.phase == "backward"] == ["node"]


def test_what_no_header_declares_is_no_function_of_a_formula(small: Small) -> None:
    """A method or an operator: the profiler's own events show it."""
    called = derivative(formulas=(Formula("self", 3, "grad.mirror()", ("mirror",)),))
    found = linked(small, forward(7), node(), catalogue=rows(small, called))
    assert [one.hop.kind for one in found if one.hop.phase == "backward"] == ["node"]


def test_a_node_that_several_entries_make_has_no_formula(small: Small) -> None:
    """Nothing tells which of them made it where no forward call has its number."""
    both = rows(small, derivative(), derivative("aten::mirror", line=9))
    found = linked(small, node(sequence=99), catalogue=both)
    (one,) = found
    assert one.hop.op is None
    assert formulas_of(one) == []
    assert one.hop.why == (reasons.EntriesMakeNode(2),)
    assert one.hop.node is not None
    assert [place(ref) for ref in one.hop.node.derivatives] == [(YAML, 2, "located"), (YAML, 9, "located")]


def test_one_entry_that_several_operators_share_is_that_entry(small: Small) -> None:
    """blend and blend_ have the same lines of derivatives.yaml."""
    shared = rows(small, derivative(), derivative("aten::blend_.Pair"))
    one = linked(small, node(sequence=99), catalogue=shared)[0]
    assert formulas_of(one) == [("self", 3, "backward"), ("other", 4, "backward")]


def test_the_forward_call_decides_between_entries(small: Small) -> None:
    both = rows(small, derivative(), derivative("aten::mirror", line=9))
    one = linked(small, forward(7), node(), catalogue=both)[3]
    assert one.hop.op == OP


def test_a_node_of_hand_written_c_plus_plus(small: Small) -> None:
    hop = linked(small, node("HandNode"))[0].hop
    assert hop.name == "HandNode::apply"
    assert place(hop.source) == (MANUAL, small.line(MANUAL, "HandNode::apply("), "located")
    hop = linked(small, node("NobodysNode"))[0].hop
    assert hop.source.precision == "unknown"
    assert hop.source.reason == NoGeneratedApply("NobodysNode")


def test_leaves_accumulate_their_gradient(small: Small) -> None:
    hop = linked(small, node(ACCUMULATE))[0].hop
    assert reasons.AccumulatesGradient() in hop.why
    assert hop.name == ACCUMULATE


def test_what_runs_inside_a_node_stays_inside(small: Small) -> None:
    inside = claim("op", "aten::mirror", op="aten::mirror", phase="backward")
    one = linked(small, forward(7), node(NODE, 7, inside))[3]
    assert [child.hop.kind for child in one.children] == ["impl", "op"]


@pytest.mark.parametrize(
    "inputs, which",
    [("self", "backward"), ("self, other", "backward"), ("result", "forward"), ("self_t", "forward"),
     ("self, result", "forward")],
)  # fmt: skip
def test_a_formula_is_of_backward_where_it_is_named_after_inputs(inputs: str, which: str) -> None:
    """The head comment of tools/autograd/derivatives.yaml."""
    assert mode(SCHEMA, Formula(inputs, 1, "")) == which


# --- all passes together ---


def test_a_whole_trace_of_forward_and_backward(small: Small) -> None:
    """blend(a, b).backward(): the kernel that recorded the node, the node that ran, the function of its formula."""
    two = [tensor(7), tensor(7)]
    ran = op("aten::blend", inputs=two, sequence=7, overload="Pair")
    back = event("node", name=NODE, sequence=7, phase="backward")
    seen = session(
        [ran, back], dispatch=[event("call", ran, call=1), back], calls=[call(1, {7: CPU_TENSOR})], graph=[recorded(7)]
    )
    variable = (f"{AUTOGRAD}/VariableType_0.cpp", small.line(f"{AUTOGRAD}/VariableType_0.cpp", "TORCH_LIBRARY_IMPL"))
    cpu = (f"{ATEN}/RegisterCPU_0.cpp", small.line(f"{ATEN}/RegisterCPU_0.cpp", "TORCH_LIBRARY_IMPL"))
    made = rows(small)
    catalogue = Rows(
        operators=made.operators,
        derivatives=made.derivatives,
        nodes=made.nodes,
        registrations=[
            registration(OP, "Autograd", variable, wrapper="torch::autograd::VariableType::blend_Pair",
                         redispatch="ks & c10::after_autograd_keyset", guard="at::AutoDispatchBelowADInplaceOrView"),
            registration(OP, "CPU", cpu, wrapper="at::wrapper_CPU_blend_Pair"),
        ],
        tables={
            OP: [
                entry("AutogradCPU", at=variable, reason="autograd kernel"),
                entry("CPU", at=cpu),
                entry("ADInplaceOrView", "AutocastCPU", "BackendSelect", fallthrough=True, reason="backend fallback"),
            ]
        },
    )  # fmt: skip
    trace = resolve(seen, small.lookup(catalogue, small.source()))
    assert shape_of(trace.hops) == (
        "torch.blend(a, b)(aten::blend.Pair(AutogradCPU(torch::autograd::VariableType::blend_Pair"
        "(BlendBackward0 CPU(at::wrapper_CPU_blend_Pair))))) "
        "torch::autograd::generated::BlendBackward0::apply(torch::autograd::generated::details::undo_blend)"
    )
    (operator_call,) = trace.hops[0].children
    assert operator_call.evidence == (number_of(seen, "ops", "event"),)
    kernel = operator_call.children[0].children[0]
    assert kernel.registration is not None
    assert place(kernel.registration) == (*variable, "registered")


def shape_of(hops: Any) -> str:
    return " ".join(one.name + (f"({shape_of(one.children)})" if one.children else "") for one in hops)


def test_a_node_that_the_engine_reached_and_did_not_run_is_no_node(small: Small) -> None:
    """The profiler's range is opened before the engine asks whether the node is needed: the event of apply tells."""
    (reached,) = linked(small, claim("native", NODE, event={"type": "engine", "name": NODE}, phase="backward"))
    assert (reached.hop.kind, reached.hop.name) == ("native", "torch::autograd::Engine::evaluate_function")
    assert reached.hop.node is not None
    assert reached.hop.node.reached == NODE


@pytest.mark.parametrize(
    ("raised", "further", "failed"), [(False, False, False), (True, False, True), (True, True, False)]
)
def test_an_error_of_a_hook_keeps_the_engine_from_a_node(
    small: Small, raised: bool, further: bool, failed: bool
) -> None:
    """What it reached last was left, if an exception left the call of the engine."""
    engines = [event("engine", name=NODE)] + ([event("engine", name=NODE)] if further else [])
    around = builtin("torch._C._EngineBase", "run_backward", *engines, raised=raised)
    context = small.context(session(frames=[around]), rows(small), small.source())
    (reached, *_) = [one for one in walk(link(context, build(context, ()))) if one.event.type == "engine"]
    assert reached.hop.node is not None
    assert reached.hop.node.failed == failed


def test_the_engine_had_ended_when_an_input_was_seen_to_be_in_no_graph(small: Small) -> None:
    """THPEngine_run_backward looks at the gradients after Engine::execute has returned."""
    around = builtin("torch._C._EngineBase", "run_backward", event("engine", name=NODE), raised=True)
    unused = {"index": 0, "count": 1, "tensor": "Tensor[3]", "situation": "elsewhere"}
    raised = {"stage": "expression", "exception": "RuntimeError", "message": "…", "unused": unused}
    context = small.context(session(frames=[around], more=[("ops", "raised", raised)]), rows(small), small.source())
    (reached,) = [one for one in walk(link(context, build(context, ()))) if one.event.type == "engine"]
    assert reached.hop.node == NodeRef(reached=NODE, failed=False)
