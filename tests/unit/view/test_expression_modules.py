"""The view `modules` of an expression, from a saved trace and from Traces made here: sums, names, folding, opening."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ptexplore.errors import PtexploreError
from ptexplore.model.observed import SavedObservation
from ptexplore.model.options import TraceOptions
from ptexplore.model.place_reasons import OutsideTorch
from ptexplore.model.places import SourceRef
from ptexplore.model.run import Part
from ptexplore.model.trace import (
    Captured,
    Ending,
    Hop,
    ModuleRef,
    PythonCall,
    ResultInfo,
    Session,
    TorchInfo,
    Trace,
)
from ptexplore.view.trace.expression_parts import expression_run, unit_of
from ptexplore.view.trace.page import Options, ScreenRow
from ptexplore.view.trace.views import suited, to_step, view

PLACE = SourceRef("torch/nn/modules/linear.py", 130, "wheel", "located")


def operator(number: int, **more: object) -> Hop:
    name = "aten::linear"
    return Hop(number, "op", name, "observed", PLACE, op=name, evidence=(number,), **more)  # type: ignore[arg-type]


def module(number: int, name: str, *inside: Hop, type_: str = "Linear", bound: str | None = None) -> Hop:
    forward = Hop(number + 2, "python", "forward", "observed", PLACE, children=inside)
    plumbing = Hop(number + 1, "python", "_call_impl", "observed", PLACE, children=(forward,))
    ref = ModuleRef(type_, name, 0, bound)
    return Hop(number, "python", "_wrapped_call_impl", "observed", PLACE, module=ref, children=(plumbing,))


def a_trace(*hops: Hop, native: bool = True) -> Trace:
    return Trace("m(x)", (), TorchInfo("2.99.0"), (), Captured(native=native), ResultInfo(), (), hops)


def session(sizes: dict[int, list[int]], **parts: int) -> Session:
    """What was seen: the sizes that operators were given, and how many instructions each phase ran."""
    event = {"event": 1, "parent": None, "type": "op", "thread": 0, "phase": "forward", "name": "aten::linear"}
    tensor = {"impl": 1, "device": "cpu", "layout": "strided", "dtype": "float"}
    seen = [
        SavedObservation(n, "ops", "event", {**event, "inputs": [{**tensor, "sizes": size}]}).as_seen()
        for n, size in sizes.items()
    ]
    empty = {name: [] for name in ("functions", "function", "depth", "begin", "end", "tail")}
    empty |= {"registers": {}, "closed": {}}
    seen += [
        SavedObservation(900 + n, "native", "calls", {**empty, "part": part, "instructions": count}).as_seen()
        for n, (part, count) in enumerate(parts.items())
    ]
    return Session(
        expression="m(x)",
        torch=TorchInfo("2.99.0"),
        bound=(),
        options=TraceOptions(),
        captured=Captured(),
        result=ResultInfo(),
        observations=tuple(seen),
    )


def rows_of(trace: Trace, told: Session | None) -> dict[str, ScreenRow]:
    return {row.name: row for row in view(trace, Options(), told).table}


def stepped() -> Trace:
    """Two modules that ran 100 and 200 instructions of operators, 30 of Python's C around the second."""
    closed = Hop(90, "closed", "PyObject_GetAttr", "observed", PLACE, instructions=30)
    inner = (
        module(10, "a", operator(13, instructions=100, weights={"saved": 8}, sequence=1)),
        module(20, "b", closed, operator(23, instructions=200)),
    )
    node = Hop(50, "node", "LinearBackward0", "observed", PLACE, phase="backward", sequence=1, instructions=60)
    return a_trace(module(1, "", *inner, type_="Net", bound="m"), node)


@pytest.mark.words
def test_instructions_of_rows_add_up_to_the_row_that_they_are_in() -> None:
    told = session({13: [2], 23: [3]}, forward=400, backward=100)
    whole = expression_run(stepped(), told).whole
    assert unit_of(stepped(), told) == "instructions"
    assert whole.cost == 500, "all that was stepped"
    (net, backward) = whole.parts
    assert (net.name, net.type, net.cost, net.saved, net.backward) == ("m", "Net", 330, 8, 60)
    assert [(part.name, part.cost, part.operators) for part in net.parts] == [("a", 100, 1), ("b", 230, 1)]
    assert (backward.cost, [(own.name, own.cost) for own in backward.own]) == (100, [("LinearBackward0", 60)])
    rows = view(stepped(), Options(), told).table
    for level in (0, 1):  # what no part of a row did is a row of its own
        below = [row for row in rows if row.level == level + 1]
        above = [row for row in rows if row.level == level]
        assert sum(row.share or 0 for row in below) == pytest.approx(
            sum(row.share or 0 for row in above if row.name.startswith(("m", "backward")))
        )
    assert rows_of(stepped(), told)["the rest: Python"].cells[0] == "70"


def test_siblings_fold_where_they_ran_the_same_on_the_same_sizes() -> None:
    inner = [module(10 * n, f"layers.{n}", operator(10 * n + 3)) for n in range(1, 5)]
    trace = a_trace(module(1, "", *inner, type_="Net"))
    alike = rows_of(trace, session({10 * n + 3: [2, 2] for n in range(1, 5)}))
    assert alike["layers.1 … layers.4  Linear"].times == 4
    unlike = rows_of(trace, session({13: [2, 2], 23: [2, 2], 33: [2, 3], 43: [2, 2]}))
    assert {name for name in unlike if name.startswith("layers")} == {
        "layers.1 … layers.4  Linear",
        "layers.3  Linear",
    }
    assert unlike["layers.1 … layers.4  Linear"].times == 3
    unknown = rows_of(trace, None)
    assert sum(name.startswith("layers") for name in unknown) == 4, "no sizes are known: nothing is called the same"


def test_what_was_not_measured_has_no_share_and_no_order_by_cost() -> None:
    page = view(a_trace(module(1, "", module(10, "a", operator(13)), type_="Net")), Options())
    assert all(row.share is None for row in page.table)
    assert (page.columns, page.told) == (("ops",), "operators")


@pytest.mark.words
def test_what_was_not_stepped_beside_what_was_has_no_share() -> None:
    """It ran in another thread, or behind a cut."""
    inner = (module(10, "a", operator(13, instructions=100)), module(20, "b", operator(23)), operator(33))
    rows = rows_of(a_trace(module(1, "", *inner, type_="Net", bound="m")), session({}, forward=100))
    shares = {name: row.share for name, row in rows.items() if not name.startswith("m(x)")}
    assert shares == {"m  Net": 1.0, "a  Linear": 1.0, "b  Linear": None, "linear": None}
    rows = rows_of(a_trace(module(1, "", module(10, "a", operator(13)), operator(33), type_="Net")),
                   session({}, forward=100))  # fmt: skip
    assert [rows[name].share for name in ("Net", "a  Linear")] == [None, None]
    assert rows["the rest: Python"].share == 1.0


def test_a_module_is_opened_by_its_name_alone_and_its_costliest_call_is_stepped() -> None:
    one = module(10, "linear", operator(13, time=5), operator(14, time=9))
    trace = a_trace(module(1, "", one, module(20, "linear2", operator(23, time=20)), type_="Net", bound="m"))
    assert suited(trace, Options()) == "modules"
    page = view(trace, Options(opened="linear"))
    assert page.view == "path"
    assert [row.name for row in page.table][:1] == ["linear  Linear.forward()"]
    assert all(not row.name.startswith("linear2") for row in page.table)
    assert to_step(trace, "linear") == "linear#2"
    assert to_step(trace, "m") == "linear#3"
    counted = a_trace(module(10, "linear", operator(13, instructions=7)))
    assert to_step(counted, "linear") is None, "it was stepped already"
    assert to_step(a_trace(one, native=False), "linear") is None, "nothing can be stepped"
    with pytest.raises(PtexploreError, match="nothing"):
        view(trace, Options(opened="nothing"))


def test_times_are_those_of_outermost_operators() -> None:
    nested = Hop(60, "op", "aten::addmm", "observed", PLACE, op="aten::addmm", time=8)
    outer = operator(13, time=10, children=(nested,))
    whole = expression_run(a_trace(module(1, "", module(10, "a", outer), type_="Net")), None).whole
    assert (whole.cost, whole.operators, _leaf(whole).cost) == (10, 1, 10)


def test_a_range_that_is_marked_for_the_profiler_is_no_operators_time() -> None:
    """Of a Function's forward, which is Python: the operators in it alone were timed as operators."""
    marked = Hop(60, "native", "BackwardHookFunction", "observed", PLACE, time=100, children=(operator(13, time=5),))
    whole = expression_run(a_trace(module(1, "", marked, type_="Net")), None).whole
    assert whole.cost == 5
    rows = view(a_trace(marked, operator(23, time=5)), Options(view="operators")).table
    assert sum(row.share or 0 for row in rows) == pytest.approx(1)


def test_a_node_around_that_of_a_write_through_a_view_counts_for_the_call_that_wrote() -> None:
    # What torch 2.6.0 gives for `u[..., -1] = 0`: fill_ has the number of FillBackward3, which CopySlices holds.
    wrote = module(1, "", operator(13, sequence=12, time=5), type_="Net")
    fill = Hop(51, "node", "torch::autograd::generated::FillBackward3::apply", "observed", PLACE, phase="backward",
               sequence=12, time=3)  # fmt: skip
    copied = Hop(50, "node", "torch::autograd::CopySlices::apply", "observed", PLACE, phase="backward", sequence=13,
                 time=40, children=(fill,))  # fmt: skip
    whole = expression_run(a_trace(wrote, copied), None).whole
    assert (whole.backward, whole.parts[0].backward) == (40, 40)
    other = replace(copied, children=(replace(fill, sequence=7),))
    assert expression_run(a_trace(wrote, other), None).whole.backward == 0, "which call made it is not known"


@pytest.mark.words
def test_nodes_that_the_expression_ran_itself_count_for_the_calls_that_recorded_them() -> None:
    # torch.autograd.grad(m(x).sum(), x, create_graph=True): what its nodes call is recorded, and backward runs that.
    again = Hop(43, "op", "aten::mm", "observed", PLACE, op="aten::mm", sequence=20, time=6, weights={"saved": 8})
    node = Hop(42, "node", "AddmmBackward0::apply", "observed", PLACE, sequence=12, time=9, children=(again,))
    grad = Hop(41, "python", "grad", "observed", PLACE, children=(node,))
    late = Hop(50, "node", "MmBackward0::apply", "observed", PLACE, phase="backward", sequence=20, time=4)
    whole = expression_run(
        a_trace(module(1, "", operator(13, sequence=12, time=5), type_="Net"), grad, late), None
    ).whole
    assert [(part.name, part.cost, part.backward, part.operators, part.saved) for part in whole.parts] == [
        ("", 5, 9, 1, 0), ("grad()", 9, 4, 1, 8), ("backward", 4, 0, 0, 0),
    ]  # fmt: skip
    assert whole.saved == whole.parts[1].own[0].saved == 8, "the node's operator recorded what keeps it"
    page = view(a_trace(module(1, "", operator(13, sequence=12, time=5), type_="Net"), grad), Options(view="modules"))
    assert "if the row ran these nodes itself" in dict(page.explained)[("backward",)]
    assert any(told.startswith("operators and nodes by time") for told in page.left_out)
    assert page.told == "operators and nodes, costliest first"


def test_a_node_beside_which_no_python_is_known_has_its_own_name() -> None:
    """As where the pass that sees Python's functions was stopped: what it is the node of did not run once more."""
    inner = Hop(3, "op", "aten::expand", "observed", PLACE, op="aten::expand", evidence=(3,))
    node = Hop(2, "node", "SumBackward0::apply", "observed", PLACE, op="aten::sum", children=(inner,))
    call = Hop(1, "op", "aten::sum", "observed", PLACE, op="aten::sum", evidence=(1,))
    parts = expression_run(a_trace(call, node, native=False), None).whole.parts
    assert [(part.name, part.calls, part.operators) for part in parts] == [("aten::sum", 1, 1), ("SumBackward0", 1, 1)]


def test_what_a_kernel_called_in_a_thread_of_its_own_is_an_operators_call() -> None:
    # The backward of scaled_dot_product_attention makes a tensor in its parallel region, in another thread.
    beside = replace(operator(60, time=3), thread=1, phase="backward")
    trace = a_trace(module(1, "", operator(13, time=5), type_="Net"), beside)
    whole = expression_run(trace, session({})).whole
    assert (whole.operators, whole.cost) == (1, 5)
    # In a thread of Python's nothing else called it: `list(executor.map(lambda t: t * t, [x]))`.
    sets = {"event": 2, "parent": None, "type": "sets", "thread": 1, "phase": "forward",
            "tls_include": 0, "tls_exclude": 0}  # fmt: skip
    told = session({})
    told = replace(told, observations=(*told.observations, SavedObservation(70, "frames", "event", sets).as_seen()))
    whole = expression_run(trace, told).whole
    assert (whole.operators, whole.cost) == (2, 8)


def test_what_was_raised_stands_above_the_modules() -> None:
    trace = a_trace(module(1, "", module(10, "a", operator(13)), type_="Net"))
    raised = Ending("expression", "RuntimeError", "shapes cannot be multiplied", PLACE)
    assert view(trace, Options(view="modules")).ending == ()
    assert "shapes cannot be multiplied" in str(view(replace(trace, ending=raised), Options(view="modules")).ending[0])


@pytest.mark.words
def test_what_no_operators_node_kept_is_in_the_sum_and_said_to_be_in_no_row() -> None:
    trace = a_trace(module(1, "", module(10, "a", operator(13, sequence=2, weights={"saved": 80})), type_="Net"))
    kept = [
        SavedObservation(950 + n, "ops", "kept", {"sequence": n, "bytes": size}).as_seen()
        for n, size in ((2, 80), (3, 16))
    ]
    seen = session({}, forward=9)
    page = view(trace, Options(view="modules"), replace(seen, observations=(*seen.observations, *kept)))
    assert any("96 B saved for backward" in fact for fact in page.facts)
    assert any(told.startswith("saved: 16 B in no row") for told in page.left_out)
    more = SavedObservation(960, "ops", "uncounted", {"packed": 2, "unread": 0, "silent": 1}).as_seen()
    page = view(trace, Options(view="modules"), replace(seen, observations=(*seen.observations, *kept, more)))
    assert any("at least 96 B saved for backward" in fact for fact in page.facts)
    assert any(told.startswith("saved: without 2 saved tensors that a hook packed") for told in page.left_out)
    assert any(
        told.startswith("saved: without the memory of nodes that do not report it (1,") for told in page.left_out
    )


@pytest.mark.words
def test_what_is_kept_outside_of_a_module_that_is_opened_is_no_nodes_of_no_operator() -> None:
    inside = (operator(13, sequence=2, weights={"saved": 80}), operator(14, sequence=3, weights={"saved": 16}))
    trace = a_trace(*(module(10 * n, name, one) for n, (name, one) in enumerate(zip("ab", inside, strict=True), 1)))
    kept = [
        SavedObservation(950 + n, "ops", "kept", {"sequence": n, "bytes": size}).as_seen()
        for n, size in ((2, 80), (3, 16))
    ]
    seen = replace(session({}), observations=tuple(kept))
    page = view(trace, Options(view="modules", opened="a"), seen)
    assert any("96 B saved for backward" in fact for fact in page.facts)
    assert not [told for told in page.left_out if " in no row; " in told]


def test_each_call_of_a_function_counts_that_ran_an_operator_once() -> None:
    ran, idle = (Hop(number, "python", "__next__", "observed", PLACE, children=inside)
                 for number, inside in ((10, (operator(13, time=5),)), (20, ())))  # fmt: skip
    whole = expression_run(a_trace(ran, idle), None).whole
    assert [(part.name, part.calls) for part in whole.parts] == [("__next__()", 2)]


def _leaf(part: Part) -> Part:
    return _leaf(part.parts[-1]) if part.parts else part


# --- what functions of yours, and those that a decorator made, stand for ---

YOURS = SourceRef(None, 1, None, "unknown", reason=OutsideTorch("yours.py"))


def function(number: int, name: str, *inside: Hop, yours: bool = False, qualname: str | None = None) -> Hop:
    source = YOURS if yours else SourceRef("torch/optim/adam.py", number, "wheel", "located")
    call = PythonCall(None, qualname or name)
    return Hop(number, "python", name, "observed", source, python=call, children=inside)


def named_operator(number: int, name: str) -> Hop:
    return Hop(number, "op", f"aten::{name}", "observed", PLACE, op=f"aten::{name}", evidence=(number,))


def an_optimizer(*inside: Hop) -> Hop:
    """As Python calls Optimizer.step: torch puts wrappers around it, which have their own names."""
    step = function(30, "step", *inside, qualname="Adam.step")
    used = function(20, "_use_grad", step, qualname="_use_grad_for_differentiable.<locals>._use_grad")
    return function(
        10, "wrapper", function(15, "helper"), used, qualname="Optimizer.profile_hook_step.<locals>.wrapper"
    )


def levels(trace: Trace) -> list[tuple[int, str]]:
    return [(row.level, row.name) for row in view(trace, Options(view="modules")).table]


def test_what_a_decorator_made_has_the_name_of_what_it_calls() -> None:
    trace = a_trace(an_optimizer(named_operator(40, "_foreach_add_")))
    (part,) = expression_run(trace, None).whole.parts
    assert (part.name, part.source) == ("Adam.step()", SourceRef("torch/optim/adam.py", 30, "wheel", "located"))
    called = [function(10 * n, name, named_operator(10 * n + 1, name)) for n, name in enumerate("fg", 2)]
    two = function(10, "wrapper", *called, qualname="twice.<locals>.wrapper")
    assert [part.name for part in expression_run(a_trace(two), None).whole.parts] == ["twice.<locals>.wrapper()"]
    none = function(10, "wrapper", named_operator(21, "f"), qualname="once.<locals>.wrapper")
    assert [part.name for part in expression_run(a_trace(none), None).whole.parts] == ["once.<locals>.wrapper()"]


def test_a_function_of_yours_has_parts_as_the_expression_has_also_where_torch_calls_it() -> None:
    """opt.step(closure): the closure has its row, with the calls in it; what the optimizer calls itself has none."""
    closure = function(50, "closure", named_operator(51, "mul"), named_operator(52, "sum"), yours=True)
    mine = function(5, "train", an_optimizer(closure, named_operator(60, "add_")), yours=True)
    assert levels(a_trace(mine)) == [
        (0, "m(x)"), (1, "train()"), (2, "Adam.step()"), (3, "closure()"), (4, "aten::mul"), (4, "aten::sum"),
        (3, "add_"),
    ]  # fmt: skip
    (train,) = expression_run(a_trace(mine), None).whole.parts
    assert [(part.name, part.operators) for part in train.walk()] == [
        ("train()", 3), ("Adam.step()", 3), ("closure()", 2), ("aten::mul", 1), ("aten::sum", 1),
    ]  # fmt: skip


def test_a_function_of_yours_that_calls_itself_is_one_part() -> None:
    inner = function(3, "f", named_operator(4, "mul"), yours=True)
    deep = function(1, "f", named_operator(2, "add"), inner, yours=True)
    (part,) = expression_run(a_trace(deep), None).whole.parts
    assert (part.name, part.calls, part.operators) == ("f()", 1, 2)
    assert [below.name for below in part.parts] == ["aten::add", "aten::mul"]


def test_what_a_module_calls_has_no_row_of_its_own() -> None:
    helper = function(50, "helper", named_operator(51, "mul"), yours=True)
    (net,) = expression_run(a_trace(module(1, "", helper, type_="Net")), None).whole.parts
    assert [own.name for own in net.own] == ["mul"]
    assert not net.parts


def test_a_short_table_lists_the_operators_of_a_call() -> None:
    names = ("zeros_like", "_foreach_add_", "_foreach_mul_", "_foreach_sqrt", "_foreach_addcdiv_")
    few = an_optimizer(*(named_operator(100 + n, name) for n, name in enumerate(names)))
    assert levels(a_trace(few)) == [(0, "m(x)"), (1, "Adam.step()"), *((2, name) for name in names)]
    many = an_optimizer(*(named_operator(100 + n, f"f{n}") for n in range(40)))
    page = view(a_trace(many), Options(view="modules"))
    assert [row.name for row in page.table] == ["m(x)", "Adam.step()"]
    assert page.table[1].what == "f0, f1, f2, …"


@pytest.mark.words
def test_without_costs_what_is_deepest_is_left_out_first() -> None:
    """There is no least cost then below which parts could be left out."""
    calls = [function(100 * n, f"f{n}", *(named_operator(100 * n + k, f"g{k}") for k in range(1, 5)), yours=True)
             for n in range(1, 21)]  # fmt: skip
    page = view(a_trace(*calls), Options(view="modules"))
    assert [row.name for row in page.table] == ["m(x)", *(f"f{n}()" for n in range(1, 21))]
    assert page.table[1].what == "aten::g1, aten::g2, aten::g3, …"
    assert "80 more parts, the innermost, are not shown" in page.left_out


def test_a_hook_of_a_module_has_a_row_in_it_and_its_forward_has_none() -> None:
    """What calls forward calls hooks as well: a hook's operators are not the module's own."""
    calls = SourceRef("torch/nn/modules/module.py", 1782, "wheel", "located")
    yours = SourceRef(None, 4, None, "unknown", reason=OutsideTorch("<--setup>"))
    forward = Hop(13, "python", "forward", "observed", yours, children=(operator(14),))
    pow_ = replace(operator(16), name="aten::pow", op="aten::pow")
    hook = Hop(15, "python", "keep", "observed", yours, children=(pow_,), python=PythonCall(None, "keep"))
    plumbing = Hop(12, "python", "inner", "observed", calls, children=(forward, hook))
    called = Hop(
        11, "python", "_call_impl", "observed", calls, module=ModuleRef("Own", "", 0, "m"), children=(plumbing,)
    )
    page = view(a_trace(called, native=False), Options(view="modules"))
    rows = [(row.level, row.name, row.cells[:1]) for row in page.table]
    assert rows == [
        (0, "m(x)", ("2",)),
        (1, "m  Own", ("2",)),
        (2, "linear", ("1",)),
        (2, "keep()", ("1",)),
        (3, "aten::pow", ("1",)),
    ]
