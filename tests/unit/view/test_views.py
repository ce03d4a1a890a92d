"""Views that fit a screen, drawn from saved traces and from Traces made here: true shares, places, marks and sizes."""

from __future__ import annotations

import io
import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from ptexplore.errors import USAGE, PtexploreError
from ptexplore.model import details, reasons
from ptexplore.model import details as says
from ptexplore.model.observed import SavedObservation
from ptexplore.model.place_reasons import FunctionUnseen, OutsideTorch
from ptexplore.model.places import SourceRef, TreeInfo
from ptexplore.model.reasons import BackwardFrom, BeganAt, BeganAtReal, BeganAtRealSum, BeganAtSum, Reason, Said
from ptexplore.model.run import WEIGHTS
from ptexplore.model.trace import (
    BindingRef,
    BoundName,
    Captured,
    Dispatch,
    Ending,
    Finding,
    Hop,
    LibraryEntry,
    NativeCall,
    NodeRef,
    OperatorRef,
    PythonCall,
    ResultInfo,
    Session,
    StubKernelRef,
    TorchInfo,
    Trace,
    walk,
)
from ptexplore.model.trace_remarks import CallsWithoutRow
from ptexplore.render.terminal.console import PIPE_WIDTH, address_of, place_text
from ptexplore.render.terminal.screen import bar, print_screen
from ptexplore.resolve.merge import NO_SOURCE
from ptexplore.saved.trace import trace_from_json
from ptexplore.view.opening import permalink_of_place
from ptexplore.view.place_marks import mark_of
from ptexplore.view.trace import native
from ptexplore.view.trace.columns import OF_COST
from ptexplore.view.trace.costs import costs_of
from ptexplore.view.trace.legend import whole_legend
from ptexplore.view.trace.page import Options, ScreenRow, TraceView, in_words, percent
from ptexplore.view.trace.path import MOST, _Steps, keys_of
from ptexplore.view.trace.rows import title
from ptexplore.view.trace.screen import everything
from ptexplore.view.trace.views import available, named, stepped_by, suited, view, view_to_json
from ptexplore.view.words.legend import OF_EXPRESSIONS
from ptexplore.view.words.reasons import sentence
from ptexplore.view.words.saved import trace_to_json
from ptexplore.view.words.weights import ENGLISH, in_expressions

SAVED = Path(__file__).parents[2] / "data" / "saved"
FILES = ("format1-add-native.json.gz", "format1-softmax-backward.json.gz")
WIDTHS = (80, 100, 120, 200)
ADD = "aten/src/ATen/native/Add.cpp"


def saved(name: str) -> tuple[Trace, Session | None]:
    return trace_from_json((SAVED / name).read_bytes(), name)


def drawn(page: TraceView, width: int, *, plain: bool = False, **console: object) -> str:
    out = io.StringIO()
    settings = {"color_system": None, "force_terminal": False} | console
    print_screen(Console(file=out, width=width, markup=False, highlight=False, **settings), page, _no_link, plain=plain)
    return out.getvalue()


def _no_link(_ref: SourceRef) -> None:
    return None


def ref(line: int, precision: str = "located", **more: object) -> SourceRef:
    return SourceRef(ADD, line, "checkout", precision, **more)  # type: ignore[arg-type]


def test_a_name_and_a_place_that_fit_no_line_have_one_each() -> None:
    name = "QuantizedCPU  wrapper_" + "Composite" * 5
    place = SourceRef("build/" + "Composite" * 6 + ".cpp", 12, "checkout", "located")
    rows = (
        ScreenRow("Python", what="evaluates the expression"),
        ScreenRow(name, 1, what="derived: a key", place=place),
    )
    lines = drawn(TraceView("a", (), view="path", table=rows), 100).splitlines()
    at = next(number for number, line in enumerate(lines) if name in line)
    assert "Composite" in lines[at + 1], "no empty line before the place"
    assert lines[at + 2].strip() == "derived: a key"


def test_of_a_function_made_within_others_its_own_name_is_shown() -> None:
    name = f"{'Scheduler.__init__'}.<locals>.{'patch_' * 9}step.<locals>.{'wrap_' * 4}step.<locals>.wrapper()"
    rows = (ScreenRow("Python"), ScreenRow(name, 1, what="Python", place=SourceRef("a.py", 3, "wheel", "located")))
    (shown,) = (line for line in drawn(TraceView("a", (), view="path", table=rows), 80).splitlines() if "wrap" in line)
    assert shown.strip().startswith("└….<locals>.wrap_")
    assert "step.<locals>.wrapper()" in shown
    wide = drawn(TraceView("a", (), view="path", table=rows), 200)
    assert name in wide, "where it fits it is whole"


def a_trace(*hops: Hop) -> Trace:
    trees = (TreeInfo("runtime", "2.99.0", ("wheel",)), TreeInfo("old", "2.98.1", ("atlas",), None, "version-skew"))
    bound = (BoundName("a", "Tensor[3] float32 cpu", "seeded"),)
    return Trace("f(a)", bound, TorchInfo("2.99.0"), trees, Captured(), ResultInfo(), (), hops)


def an_operator(number: int, name: str = "aten::add.Tensor", *inside: Hop, **more: object) -> Hop:
    keys = Dispatch("AutogradCPU, CPU", "", "autograd kernel", ())
    kernel = Hop(
        number + 2, "kernel", "torch::autograd::VariableType::add", "derived", ref(7), op=name, children=inside
    )
    key = Hop(number + 1, "key", "AutogradCPU", "derived", ref(8), op=name, key="AutogradCPU", dispatch=keys,
              children=(kernel,))  # fmt: skip
    return Hop(number, "op", name, "observed", ref(number), op=name, children=(key,), **more)  # type: ignore[arg-type]


# --- what is said is true ---


@pytest.mark.parametrize("name", FILES)
def test_a_share_is_that_of_the_instructions_and_none_stands_where_none_was_counted(name: str) -> None:
    trace, session = saved(name)
    page = view(trace, Options(view="path"), session)
    hops = {hop.id: hop for hop in walk(trace.hops)}
    callers = {child.id: hop for hop in walk(trace.hops) for child in hop.children}
    told = [
        part for o in (session.observations if session else ()) if o.kind == "calls" for part in (o.as_saved().data,)
    ]
    whole = sum(part["instructions"] for part in told)
    counted = sum(hop.instructions or 0 for hop in trace.hops if hop.instructions is not None)
    whole = max(whole, counted) or 1
    around: list[ScreenRow] = []
    for row in page.table:
        while around and around[-1].level >= row.level:
            around.pop()
        if row.hop is None:
            continue
        hop = hops[row.hop]
        if row.share is not None and row.instructions is not None:
            assert row.share == pytest.approx(row.instructions / whole)
            # A loop that was compiled into what only calls it has that one's.
            itself = callers[hop.id] if details.LoopOverElements() in row.details else hop
            counted_itself = itself.instructions if hop.kind != "python" else sum(outermost_counted(hop.children))
            assert row.times > 1 or hop.kind == "key" or row.instructions == counted_itself, row
        assert row.place is None or row.place in (hop.source, hop.declaration, hop.registration, *inner_places(hop)), (
            row
        )
        outer = next((above for above in reversed(around) if above.share is not None), None)
        if outer is not None and row.share is not None:
            assert row.share <= outer.share * 1.0001, (row, outer)
        around.append(row)
    if not told and not counted:
        assert all(row.share is None for row in page.table)


def outermost_counted(hops: tuple[Hop, ...]) -> Iterator[int]:
    for hop in hops:
        yield from [hop.instructions] if hop.instructions is not None else outermost_counted(hop.children)


def inner_places(hop: Hop) -> tuple[SourceRef | None, ...]:
    yaml = hop.operator.yaml if hop.operator is not None else None
    kernels = (part.source for part in walk([hop]) if part.kind == "kernel" and hop.kind == "key")
    return (yaml, *(child.source for child in hop.children), *kernels)


@pytest.mark.words
def test_a_mark_says_how_certain_a_place_is_and_the_legend_what_the_mark_means() -> None:
    assert [mark_of(ref(1, precision)) for precision in ("registered", "located", "consistent")] == ["", "", ""]
    assert (mark_of(ref(1, "version-skew")), mark_of(ref(1, "ambiguous")), mark_of(ref(1, "unknown"))) == (
        "~",
        "?",
        "?",
    )
    skewed = Hop(9, "impl", "at::native::add", "derived", ref(9, "version-skew", tree="old"))
    page = view(a_trace(an_operator(1, "aten::add.Tensor", skewed)), Options(view="path"))
    assert page.legend == (("~", "a line of 2.98.1, found by name (others exact); `ptexplore fetch` gets 2.99.0"),)
    assert "Add.cpp:9 ~" in drawn(page, 100)
    certain = view(a_trace(an_operator(1)), Options(view="path"))
    assert certain.legend == ()
    assert "~" not in drawn(certain, 100)


def test_several_places_are_not_told_as_one() -> None:
    several = SourceRef(None, None, "checkout", "ambiguous", candidates=(ref(1), ref(2)), reason=Said("2 candidates"))
    assert place_text(several, 80) == "2 places possible"
    library = Hop(9, "closed", "sgemm", "observed", ref(9, "ambiguous"), instructions=1)
    assert "Add.cpp:9" not in drawn(view(a_trace(an_operator(1, "aten::mm", library)), Options(view="path")), 100)


@pytest.mark.words
def test_whether_a_node_was_recorded_is_said_only_where_it_is_known() -> None:
    node = Hop(9, "node", "torch::autograd::generated::AddBackward0", "observed", ref(9), node=NodeRef(recorded=True))
    assert "records AddBackward0" in drawn(view(a_trace(an_operator(1, "aten::add.Tensor", node)), Options()), 100)
    told = drawn(view(a_trace(an_operator(1)), Options()), 100)
    assert "records" not in told, "nothing was stepped: neither is known"
    assert "derived: the highest of AutogradCPU, CPU" in told


@pytest.mark.parametrize(
    ("entry", "kernel", "told"),
    [
        ("kernel", "at::functorch::cross_batch_rule", "the operator's batching rule"),
        ("batched kernel", "at::native::cross", "split into other operators"),
        ("kernel", "at::functorch::unsupportedItem", "refuses the operator"),
    ],
)
@pytest.mark.words
def test_a_decomposition_is_no_batching_rule(entry: str, kernel: str, told: str) -> None:
    dispatch = Dispatch("FuncTorchBatched, CPU", "", entry, ())
    ran = Hop(3, "kernel", kernel, "observed", ref(9))
    key = Hop(2, "key", "FuncTorchBatched", "observed", ref(8), key="FuncTorchBatched", dispatch=dispatch)
    called = Hop(1, "op", "aten::cross", "observed", ref(1), children=(replace(key, children=(ran,)),))
    rows = view(a_trace(called), Options(view="path")).table
    assert next(row.what for row in rows if row.name.startswith("FuncTorchBatched")) == f"vmap: {told}"


@pytest.mark.words
def test_a_kernel_that_an_error_left_is_not_said_to_record_nothing() -> None:
    """As x.add_(1) of a leaf: the check is before all that would record."""
    trace = a_trace(an_operator(1, "aten::add_.Tensor", instructions=9))
    whole = {hop.id: hop for hop in walk(trace.hops)}
    stepped = replace(whole[3], instructions=5)
    called = replace(whole[1], children=(replace(whole[2], children=(stepped,)),))
    assert "records nothing" in drawn(view(replace(trace, hops=(called,)), Options(view="path")), 100)
    ending = Ending("expression", "RuntimeError", "no", ref(3), hop=3)
    assert "records" not in drawn(view(replace(trace, hops=(called,), ending=ending), Options(view="path")), 100)


@pytest.mark.parametrize(
    ("kind", "told"),
    [("functional", "sets up the result"), ("out", "computes shapes"), ("inplace", "computes shapes")],
)
@pytest.mark.words
def test_only_a_new_result_is_set_up(kind: str, told: str) -> None:
    """As torch.gt(x, 1): the meta function makes a tensor of 1, whatever the result is; classes as in the binary."""
    made = (f"at::structured_gt_Scalar_out_{kind}::set_output_raw_strided", "at::detail::empty_cpu")
    inside = tuple(Hop(20 + n, "native", name, "observed", ref(9), instructions=5) for n, name in enumerate(made))
    meta = Hop(9, "impl", "at::meta::structured_gt_Scalar::meta", "observed", ref(9), instructions=10, children=inside)
    rows = view(a_trace(an_operator(1, "aten::gt.Scalar", meta, instructions=20)), Options(view="path")).table
    assert next(row.what for row in rows if row.name.endswith("::meta")) == told


@pytest.mark.words
def test_a_range_that_is_marked_is_no_function() -> None:
    """Of record_function, whose range begins in its __enter__ and ends in its __exit__, and of RECORD_FUNCTION."""

    def marked(number: int, kind: str, event: str) -> Hop:
        at = SourceRef(None, None, None, "unknown", reason=NO_SOURCE[event])
        return Hop(number, kind, "mine", "observed", at, why=(reasons.MarksRange(),))  # type: ignore[arg-type]

    ranges = (marked(2, "python", "user"), marked(3, "native", "op"))
    rows = view(a_trace(*ranges, an_operator(5)), Options(view="path")).table
    told = [(row.name, row.what) for row in rows if row.name.startswith("mine")]
    assert told == [("mine", "a range marked for the profiler begins"), ("mine", "a range marked for the profiler")]
    assert [title(hop) for hop in ranges] == ["mine", "mine"]


def test_a_key_that_was_not_seen_says_so_where_its_kernel_was() -> None:
    """As C++'s stack has the kernel where an error was thrown: the foot says of derived ones that they were not."""
    call = an_operator(1)
    (key,) = call.children
    seen = replace(key, children=(replace(key.children[0], status="observed"),))
    for one, told in ((key, "derived"), (seen, "key derived")):
        rows = view(a_trace(replace(call, children=(one,))), Options(view="path")).table
        assert next(row.what for row in rows if row.name.startswith("AutogradCPU")).startswith(told)


@pytest.mark.words
def test_what_no_recorder_saw_the_function_of_is_not_called_python() -> None:
    """As torch.Tensor(2), whose class is C: what is inside of it ran, but no function of Python was seen."""
    made = Hop(2, "python", "Tensor", "observed", SourceRef(None, None, None, "unknown"), children=(an_operator(5),))
    page = view(a_trace(made), Options(view="path"))
    assert next(row.what for row in page.table if row.name == "Tensor()") == "called by Python"
    assert "called by Python" in dict(whole_legend(page))


@pytest.mark.parametrize(
    ("result", "started", "told"),
    [  # of probe/autograd.py: what it calls backward on
        ("Tensor[] float32 cpu", (BeganAt("Tensor[] float32 cpu"),), "the result"),
        ("Tensor[2] float32 cpu", (BeganAtSum("Tensor[2] float32 cpu"),), "the sum of the result"),
        ("Tensor[] complex64 cpu", (BeganAtReal("Tensor[] complex64 cpu"),), "the result's real part"),
        ("Tensor[2] complex64 cpu", (BeganAtRealSum("Tensor[2] complex64 cpu"),), "the sum of the result's real part"),
        ("tuple of Tensor[] float32 cpu, 3", (BeganAt("Tensor[] float32 cpu"),), "a tensor of the result"),
        ("tuple of …", (BeganAt("Tensor[] float32 cpu"), BeganAtSum("Tensor[3] float32 cpu")), "several results"),
    ],
)
@pytest.mark.words
def test_what_backward_is_called_on(result: str, started: tuple[Reason, ...], told: str) -> None:
    node = Hop(1, "node", "ExpBackward0", "observed", ref(3), phase="backward")
    trace = replace(a_trace(an_operator(2), node), result=ResultInfo("torch.Tensor", result, BackwardFrom(started)))
    rows = view(trace, Options(view="path")).table
    assert next(row.what for row in rows if row.name == "backward") == f"Python calls backward on {told}"


def test_a_step_that_nobody_saw_says_so() -> None:
    for status in ("predicted", "inlined", "cut"):
        hop = Hop(9, "impl", "at::native::add_impl", status, ref(9))  # type: ignore[arg-type]
        rows = view(a_trace(an_operator(1, "aten::add.Tensor", hop)), Options()).table
        assert next(row.what for row in rows if row.name == "add_impl") == status


@pytest.mark.words
def test_a_kernel_without_a_namespace_of_its_own_is_for_what_its_file_was_compiled_for() -> None:
    """As sum_kernel_impl: one source file, compiled for each capability."""
    symbol = "at::native::(anonymous namespace)::sum_kernel_impl(at::TensorIterator&)"
    for unit, told in (("SumKernel.cpp.AVX2.cpp", "kernel, for AVX2"), ("SumKernel.cpp", "kernel of a stub")):
        kernel = Hop(9, "native", "at::native::sum_kernel_impl", "observed", ref(9), stub_kernel=StubKernelRef(),
                     instructions=100, native=NativeCall(symbol, unit=unit))  # fmt: skip
        rows = view(a_trace(an_operator(1, "aten::sum", kernel, instructions=120)), Options(view="path")).table
        assert next(row.what for row in rows if row.hop == 9) == told


@pytest.mark.words
def test_where_the_engine_ran_no_node_it_does_not_say_that_it_runs_them() -> None:
    node = Hop(3, "node", "torch::autograd::generated::SumBackward0", "observed", ref(3))
    reached = Hop(2, "native", "torch::autograd::Engine::evaluate_function", "observed", ref(2),
                  node=NodeRef(reached="torch::autograd::AccumulateGrad"))  # fmt: skip
    rows = view(a_trace(an_operator(10), node, reached), Options(view="path")).table
    assert rows[-1].what == "AccumulateGrad not run: its gradient is taken"
    failed = replace(reached, node=NodeRef(reached="torch::autograd::AccumulateGrad", failed=True))
    rows = view(a_trace(an_operator(10), node, failed), Options(view="path")).table
    assert rows[-1].what == "AccumulateGrad not run: an error came first, or its gradient is taken"


@pytest.mark.words
def test_a_closed_function_of_python_says_what_is_in_it() -> None:
    hop = Hop(3, "node", "torch::autograd::generated::SumBackward0", "observed", ref(3), children=(an_operator(90),))
    for number in range(200, 100, -1):
        hop = Hop(number, "python", f"level{number}", "observed", ref(number), children=(hop,))
    last = view(a_trace(hop), Options(view="path")).table[-1]
    assert last.what == "Python; 1 outermost operator call and 1 node in it"
    twice = replace(hop.children[0], id=500), hop.children[0]
    last = view(a_trace(replace(hop, children=twice)), Options(view="path")).table[-1]
    assert (last.times, last.what) == (2, "Python; 1 outermost operator call and 1 node in each")


@pytest.mark.words
def test_what_is_not_shown_has_other_names_only_where_none_of_them_is_shown() -> None:
    """Neighbours that are equal are one row, so two names take turns."""
    turns = [an_operator(10 * n, f"aten::op{n % 2}") for n in range(1, 90)]
    different = [an_operator(10 * n, f"aten::op{n}") for n in range(1, 90)]
    for calls, told in ((turns, r"calls of 2 names, any order"), (different, r"calls of \d+ other names, any order")):
        last = view(a_trace(*calls), Options(view="path")).table[-1]
        assert re.fullmatch(told, last.what)


@pytest.mark.words
def test_what_the_calls_of_one_row_called_in_turn_has_no_row() -> None:
    """The row of 61 more calls counts these 61, and not the call that each of them made."""
    calls = [an_operator(10 * n, f"aten::op{n}", an_operator(10 * n + 5, "aten::inner")) for n in range(1, 90)]
    page = view(a_trace(*calls), Options(view="path"))
    (more,) = (int(row.name.split()[1]) for row in page.table if row.name.startswith("… "))
    shown = sum(row.name.startswith("aten::") for row in page.table)
    assert (
        f"{2 * 89 - more - shown} of 178 operator calls have no row here; --view operators lists them" in page.left_out
    )


@pytest.mark.words
def test_a_kernel_is_for_what_its_own_code_asks_of_the_processor() -> None:
    """Of what an operator called inside of it runs nothing follows: that is compiled by itself."""
    stub = StubKernelRef()
    inner = Hop(20, "native", "at::native::AVX2::gt_kernel", "observed", ref(20), stub_kernel=stub, instructions=10)
    calls = an_operator(10, "aten::gt.Scalar", inner, instructions=20)
    loop = Hop(30, "native", "at::native::AVX2::VectorizedLoop2d", "observed", ref(30), instructions=5)
    for inside, told in (((calls,), "kernel of a stub"), ((calls, loop), "kernel, for AVX2")):
        solve = Hop(9, "native", "at::native::lu_solve_kernel", "observed", ref(9), stub_kernel=stub,
                    instructions=100, children=inside)  # fmt: skip
        rows = view(a_trace(an_operator(1, "aten::solve", solve, instructions=120)), Options(view="path")).table
        assert next(row.what for row in rows if row.name == "lu_solve_kernel") == told


@pytest.mark.parametrize("status", ["observed", "predicted"])
@pytest.mark.words
def test_a_closed_call_runs_the_kernels_that_were_seen(status: str) -> None:
    fills = Hop(7, "native", "fill_kernel", status, ref(7), stub_kernel=StubKernelRef())  # type: ignore[arg-type]
    inside = an_operator(5, "aten::fill_.Scalar", replace(fills, instructions=1 if status == "observed" else None))
    kernel = Hop(9, "native", "add_kernel", status, ref(9), stub_kernel=StubKernelRef(), children=(inside,))  # type: ignore[arg-type]
    small = an_operator(1, "aten::add_.Scalar", replace(kernel, instructions=1 if status == "observed" else None))
    dear = [an_operator(10 * n, f"aten::op{n}", instructions=1000) for n in range(2, 60)]  # they fill the screen
    rows = view(a_trace(small, *dear), Options(view="path")).table
    told = next(row.what for row in rows if row.name == "aten::add_.Scalar")
    assert told == ("operator; runs add_kernel, fill_kernel" if status == "observed" else "operator; keys AutogradCPU")


@pytest.mark.words
def test_a_kernel_has_one_name_however_it_is_known_to_be_one() -> None:
    """As cat copies: the call that its text names is told to be a stub's, and a further one by the stub's question."""
    symbol = "at::native::(anonymous namespace)::AVX2::copy_kernel(at::TensorIterator&, bool)"
    kernel = Hop(9, "native", "at::native::AVX2::copy_kernel", "observed", ref(9), instructions=300,
                 native=NativeCall(symbol))  # fmt: skip
    asks = Hop(10, "native", "at::native::DispatchStubImpl::get_call_ptr", "observed", ref(10), instructions=1)
    calls = (replace(kernel, stub_kernel=StubKernelRef()), asks, replace(kernel, id=11))
    small = an_operator(1, "aten::cat", *calls, instructions=700)
    told = {row.hop: row.name for row in view(a_trace(small), Options(view="path")).table}
    assert told.get(11, told[9]) == told[9] == "copy_kernel"
    dear = [an_operator(20 * n, f"aten::op{n}", instructions=200_000) for n in range(2, 60)]  # they fill the screen
    (row,) = [row for row in view(a_trace(small, *dear), Options(view="path")).table if row.name == "aten::cat"]
    assert row.what == "operator; writes a new tensor; runs copy_kernel"


def closed(number: int, query: bool, cost: int) -> Hop:
    told = LibraryEntry("MKL", "SGELSY", "3,3,3", query=query)
    return Hop(number, "closed", "mkl_lapack__sgelsy_", "observed", ref(9), instructions=cost, library=told,
               native=NativeCall("", library="libtorch_cpu.so", third_party="MKL"))  # fmt: skip


@pytest.mark.words
def test_the_solve_in_a_loop_has_a_row_and_the_question_for_its_workspace_has_none() -> None:
    """As of torch.linalg.lstsq: lapackGelsy is called with lwork = -1, and then in the loop over the matrices."""
    body = Hop(31, "native", "at::TensorIteratorBase::loop_2d_from_1d", "inlined", ref(3),
               children=(Hop(32, "native", "at::native::lapackGelsy", "observed", ref(4), instructions=700,
                             native=NativeCall("at::native::lapackGelsy"), children=(closed(33, False, 690),)),),
               native=NativeCall(""))  # fmt: skip
    loop = Hop(30, "native", "c10::function_ref::callback_fn", "observed", ref(2), instructions=800, children=(body,),
               native=NativeCall("c10::function_ref<void ()>::callback_fn<f>"))  # fmt: skip
    call = an_operator(10, "aten::linalg_lstsq", closed(20, True, 4), loop, instructions=1000)
    trace = a_trace(call)
    rows = {row.name: row for row in view(trace, Options(view="path")).table}
    assert [row for row in rows if row.startswith("MKL")] == ["MKL SGELSY"]
    assert rows["MKL SGELSY"].instructions == 690
    assert rows["MKL SGELSY"].what == "3,3,3, as MKL reports"
    assert rows["MKL SGELSY"].level > rows["TensorIteratorBase::loop_2d_from_1d"].level
    (row,) = view(trace, Options(view="operators")).table
    assert row.what.endswith("; MKL: SGELSY 3,3,3"), "one call, not two"
    dear = a_trace(an_operator(10, "aten::linalg_lstsq", closed(20, True, 900), instructions=1000))
    (asked,) = [row for row in view(dear, Options(view="path")).table if row.name == "MKL SGELSY"]
    assert asked.what == "only asks for a workspace's size, as MKL reports"


# --- what has a row where nothing was counted ---


def bound(number: int, name: str, *inside: Hop, **more: object) -> Hop:
    binding = BindingRef(f"torch.{name}", name)
    return Hop(number, "binding", name, "observed", ref(number), binding=binding, children=inside, **more)  # type: ignore[arg-type]


def test_without_counts_the_calls_that_were_written_are_opened_before_what_they_call() -> None:
    """A helper with many calls in it does not come before the kernel of another call of yours."""
    many = [an_operator(400 + 10 * n, f"aten::helper{n}") for n in range(30)]
    first = bound(1, "contiguous", an_operator(2, "aten::contiguous", an_operator(300, "aten::clone", *many)))
    second = bound(800, "sampler", an_operator(801, "aten::sampler"))
    rows = {row.name: row for row in view(a_trace(first, second), Options(view="path")).table}
    assert {"aten::contiguous", "aten::clone", "aten::sampler"} <= set(rows)
    keys = [row for row in view(a_trace(first, second), Options(view="path")).table if row.name.startswith("Autograd")]
    assert [row.hop for row in keys][:1] == [3]
    assert 802 in [row.hop for row in keys], "the key of the second call of yours, with its kernel"


def test_without_counts_forward_comes_before_what_starts_backward() -> None:
    calls = [bound(100 * n, f"f{n}", an_operator(100 * n + 1, f"aten::f{n}")) for n in range(1, 13)]
    fills = an_operator(1001, "aten::ones_like", an_operator(1010, "aten::fill_"))
    started = replace(bound(1000, "ones_like", fills), phase="backward")
    table = view(a_trace(*calls, started), Options(view="path")).table
    assert [row.name for row in table if row.name.startswith("aten::")] == [f"aten::f{n}" for n in range(1, 13)]


@pytest.mark.words
def test_an_operator_that_another_one_asks_for_a_number_has_no_row() -> None:
    """_nnz and sparse_dim of coalesce: each tells a number of one tensor. What you call yourself has a row."""
    schema = OperatorRef("aten::_nnz(Tensor self) -> int")
    asks = an_operator(100, "aten::_nnz", operator=schema)
    work = an_operator(200, "aten::sort")
    trace = a_trace(bound(1, "coalesce", an_operator(2, "aten::coalesce", asks, work)))
    names = [row.name for row in view(trace, Options(view="path")).table]
    assert "aten::sort" in names
    assert "aten::_nnz" not in names
    assert (
        "1 of 3 operator calls has no row here; --view operators lists them"
        in view(trace, Options(view="path")).left_out
    )
    own = a_trace(bound(1, "_nnz", asks), bound(300, "sort", work))
    assert "aten::_nnz" in [row.name for row in view(own, Options(view="path")).table]


def closed_row(*inside: Hop) -> str:
    """What the row of a key says of what is in it, with as many calls before it as leave no room for that."""
    call = an_operator(5000, "aten::f", *inside)
    for count, more in itertools.product(range(1, 14), range(3)):
        deep = an_operator(3000, "aten::h", *(an_operator(3010 + 10 * n, f"aten::k{n}") for n in range(5)))
        others = [an_operator(20 * n, f"aten::g{n}", replace(deep, id=20 * n + 10)) for n in range(1, count)]
        others += [Hop(900 + n, "op", f"aten::i{n}", "observed", ref(1), op=f"aten::i{n}") for n in range(more)]
        table = view(a_trace(*others, call), Options(view="path")).table
        at = next((number for number, row in enumerate(table) if row.hop == 5001), None)
        if at is not None and (at + 1 == len(table) or table[at + 1].level <= table[at].level):
            return table[at].what.rpartition("; ")[2]
    raise AssertionError("it has a row, and is open, or it has none")


@pytest.mark.words
def test_a_closed_key_says_what_follows_in_it() -> None:
    key = Hop(50, "key", "ADInplaceOrView", "derived", ref(8), key="ADInplaceOrView",
              children=(Hop(51, "kernel", "ADInplaceOrView::f", "derived", ref(8), children=(
                  Hop(52, "key", "CPU", "derived", ref(8), key="CPU", children=(
                      Hop(53, "kernel", "wrapper_CPU_f", "derived", ref(8)),)),)),))  # fmt: skip
    assert closed_row(key) == "then ADInplaceOrView → CPU"
    assert closed_row(an_operator(60, "aten::inner")) == "calls aten::inner"
    assert closed_row(an_operator(60, "aten::inner"), an_operator(70, "aten::other")) == "calls aten::inner, …"
    assert closed_row(Hop(80, "impl", "at::native::f", "derived", ref(8))) == "calls at::native::f"


OPEN = reasons.KeyNotKnown(reasons.ComputedFromOptions(), "AutogradCPU")


@pytest.mark.words
def test_a_call_without_a_key_says_so_and_why() -> None:
    why = reasons.KeyNotKnown(reasons.ArgumentSets(("self",), reasons.MayBeOfDispatchingClass()))
    call = Hop(1, "op", "aten::add.Tensor", "observed", ref(1), op="aten::add.Tensor", why=(why,))
    page = view(a_trace(call), Options(view="path"))
    assert [row.what for row in page.table if row.hop == 1] == ["operator; keys not known"]
    assert f"aten::add.Tensor: {sentence(why)}" in page.left_out
    whole = an_operator(10)
    kernel = replace(whole.children[0].children[0], why=(OPEN,))
    opened = replace(whole, children=(replace(whole.children[0], children=(kernel,)),))
    page = view(a_trace(opened), Options(view="path"))
    assert [row.what.rpartition("; ")[2] for row in page.table if row.hop == 11] == ["next dispatch key not known"]
    assert f"aten::add.Tensor: {sentence(OPEN)}" in page.left_out


def test_of_calls_that_were_not_counted_all_have_rows_or_none() -> None:
    """That the kernel of one of them is predicted makes it no dearer than its neighbours."""
    kernel = Hop(9, "native", "add_kernel", "predicted", ref(9), stub_kernel=StubKernelRef())
    calls = [
        an_operator(10, "aten::linear"),
        an_operator(20, "aten::add_.Tensor", kernel),
        an_operator(30, "aten::chunk"),
    ]
    trace = a_trace(an_operator(50, "aten::gru.input", *calls), an_operator(90, "aten::zeros", instructions=1000))
    names = [row.name for row in view(trace, Options(view="path")).table if row.name.startswith("aten::")]
    assert names == ["aten::gru.input", "aten::linear", "aten::add_.Tensor", "aten::chunk", "aten::zeros"]


@pytest.mark.words
def test_operators_without_a_row_are_counted_with_their_share() -> None:
    """Of 1,000 instructions five calls took 40 each, one of them with a further call inside: no rows."""
    nested = an_operator(400, "aten::as_strided", instructions=30)
    small = [an_operator(100 + 10 * n, f"aten::small{n}", *([nested] * (n == 0)), instructions=40) for n in range(5)]
    big = an_operator(300, "aten::bmm", instructions=500)
    page = view(a_trace(an_operator(10, "aten::einsum", *small, big, instructions=1000)), Options(view="path"))
    operators = [row.name for row in page.table if row.name.startswith("aten::")]
    assert operators == ["aten::einsum", "aten::bmm"]
    assert (
        "6 of 8 operator calls have no row here (20% of all instructions); --view operators lists them" in page.left_out
    )
    assert (("hidden rows",), "most rows under 5% of all instructions are hidden") in page.explained
    whole = view(a_trace(an_operator(10, "aten::einsum", big, instructions=1000)), Options(view="path"))
    assert not [line for line in whole.left_out if "operator calls" in line]


def test_a_binding_that_no_frame_is_named_by_counts_what_ran_in_it() -> None:
    """Of 1,000 instructions a getter of C took 30, with its operator: they are its row's, not the caller's own."""
    getter = Hop(21, "native", "GetterBase::getter", "observed", ref(9), children=(an_operator(30, instructions=20),))
    binding = Hop(20, "binding", "torch.Tensor.imag", "derived", ref(8), children=(replace(getter, instructions=30),))
    page = view(a_trace(an_operator(90, "aten::isclose", instructions=970), binding), Options(view="path"))
    row = next(row for row in page.table if row.name == "torch.Tensor.imag")
    assert row.share == pytest.approx(0.03)
    assert sum(row.own or 0 for row in page.table) == pytest.approx(1)


@pytest.mark.words
def test_an_operator_that_an_open_binding_called_has_no_row_of_that() -> None:
    """Closed, the binding's row names it; open, it shows the function between them, which is closed."""
    inner = an_operator(40, "aten::mul.Tensor")
    yours = Hop(30, "python", "scale", "observed", ref(9), children=(inner,), python=PythonCall(None, "scale"))
    binding = Hop(20, "binding", "torch._C._FunctionBase.apply", "observed", ref(8), children=(yours,))
    trace = a_trace(binding)
    maker = _Steps(trace, Options(view="path"), None, (), costs_of(trace, None, single=False))
    (python,) = maker.phases()
    (called,) = python.children
    assert maker.without_rows([python]) == ()
    called.is_open = True
    (told,) = maker.without_rows([python])
    assert told == CallsWithoutRow(left=1, calls=1, share=None)


def test_a_function_of_yours_that_the_expression_comes_to_by_python_s_own_has_a_row() -> None:
    """`x.sum() + len(ema)`: what no recorder saw the function of is shown with yours in it, though neither computes."""
    at = ref(4, precision="unknown", reason=OutsideTorch("/mine.py"))
    yours = Hop(30, "python", "EMA.__len__", "observed", replace(at, layer=None, path=None), children=())
    nothing = SourceRef(None, None, None, "unknown", reason=FunctionUnseen())
    called = Hop(20, "python", "len", "observed", nothing, children=(yours,))
    trace = a_trace(an_operator(50, "aten::sum"), called)
    names = [row.name for row in view(trace, Options(view="path")).table]
    assert names.index("len()") + 1 == names.index("EMA.__len__()")
    helper = replace(called, id=60, children=(replace(yours, id=61, source=ref(5)),))
    without = view(a_trace(an_operator(50, "aten::sum"), helper), Options(view="path")).table
    assert "len()" not in [row.name for row in without]


def test_rows_that_stand_for_several_calls_leave_none_of_them_out() -> None:
    """Equal neighbours are one row, and a row "… more" names how many it is for."""
    equal = view(a_trace(*(replace(an_operator(10), id=100 + n) for n in range(8))), Options(view="path"))
    many = view(a_trace(*(an_operator(10 * n, f"aten::op{n}") for n in range(1, 90))), Options(view="path"))
    assert (equal.left_out, many.left_out) == ((), ())
    assert [row.times for row in equal.table if row.name.startswith("aten::")] == [8]


def a_helper(number: int, name: str, instructions: int) -> Hop:
    inside = Hop(number + 1, "native", "PyObject_Call", "observed", ref(1), instructions=instructions)
    return Hop(number, "python", name, "observed", ref(number), children=(inside,))


@pytest.mark.words
def test_python_that_calls_no_operator_has_a_row_if_it_costs_a_visible_share() -> None:
    """One row for all helpers of a function, where the costliest stands; what is small has none."""
    calls = [an_operator(number, instructions=400) for number in (10, 20)]
    tiny = a_helper(30, "tiny", 1)
    alone = view(a_trace(*calls, a_helper(40, "check", 100), an_operator(50, instructions=1)), Options(view="path"))
    row = next(row for row in alone.table if row.name == "check()")
    assert (row.what, row.instructions, row.own) == ("Python; no operator seen in it", 100, row.share)
    several = view(
        a_trace(tiny, calls[0], a_helper(40, "check", 100), a_helper(60, "tiny", 1), calls[1]), Options(view="path")
    )
    names = [row.name for row in several.table if row.level == 1]
    assert names == ["aten::add.Tensor", "check() and 2 more", "aten::add.Tensor"]
    row = next(row for row in several.table if row.name == "check() and 2 more")
    assert (row.what, row.instructions, row.place) == ("Python, any order; no operator seen in them", 102, ref(40))
    assert sum(row.own or 0 for row in several.table) == pytest.approx(1)
    assert {"no operator seen in them", "any order"} <= dict(whole_legend(several)).keys()
    none = view(a_trace(*calls, tiny), Options(view="path"))
    assert not [row for row in none.table if "tiny" in row.name]


@pytest.mark.words
def test_a_call_of_another_thread_says_so() -> None:
    away = replace(an_operator(20, "aten::empty.memory_format"), thread=1)
    rows = view(a_trace(an_operator(1), away), Options(view="path")).table
    told = {row.name: row.what for row in rows}
    assert told["aten::empty.memory_format"] == "operator, in another thread, order unknown"
    assert told["aten::add.Tensor"] == "operator"


def test_keys_after_which_more_are_not_known_end_openly() -> None:
    """As aten::_neg_view below ADInplaceOrView, where the tensor may carry Negative."""
    whole = an_operator(1)
    kernel = replace(whole.children[0].children[0], why=(OPEN,))
    cut = replace(whole, children=(replace(whole.children[0], children=(kernel,)),))
    assert (keys_of(whole), keys_of(cut)) == (("AutogradCPU",), ("AutogradCPU", "?"))
    assert keys_of(replace(cut, children=())) == ()


@pytest.mark.words
def test_of_keys_that_end_openly_in_a_closed_row_the_reason_is_told() -> None:
    """Whether the row is the call's own, or the binding's that names the call."""
    whole = an_operator(2)
    kernel = replace(whole.children[0].children[0], why=(OPEN,))
    call = replace(whole, children=(replace(whole.children[0], children=(kernel,)),))
    binding = Hop(1, "binding", "f", "observed", ref(1), children=(call,), binding=BindingRef("torch.f"))
    dear = [an_operator(10 * n, f"aten::op{n}", instructions=1000) for n in range(2, 60)]
    for told in (binding, call):
        page = view(a_trace(replace(told, instructions=5000), *dear), Options(view="path"))
        assert any(row.what.endswith("AutogradCPU → ?") for row in page.table)
        assert f"aten::add.Tensor: {sentence(OPEN)}" in page.left_out


@pytest.mark.words
def test_of_what_a_node_is_predicted_to_call_the_first_is_named_and_that_there_is_more() -> None:
    """As AddBackward0, whose formulas call handle_r_to_c twice and maybe_multiply once."""
    names = ("handle_r_to_c", "maybe_multiply")
    called = tuple(Hop(n, "impl", f"at::details::{name}", "predicted", ref(n)) for n, name in enumerate(names, 3))
    node = Hop(2, "node", "AddBackward0", "observed", ref(2), children=called, phase="backward")
    others = [an_operator(10 * n, f"aten::op{n}") for n in range(2, 60)]
    both, alone = (
        view(a_trace(*others, replace(node, children=called[:count])), Options(view="path")) for count in (2, 1)
    )
    told = [next(row.what for row in page.table if row.name == "AddBackward0") for page in (both, alone)]
    assert told == ["node; predicted: calls details::handle_r_to_c, …", "node; predicted: calls details::handle_r_to_c"]
    assert "predicted" in dict(whole_legend(both))


@pytest.mark.words
def test_a_binding_of_whose_call_no_key_is_known_names_none() -> None:
    call = Hop(2, "op", "aten::matmul", "observed", ref(2), op="aten::matmul")
    binding = Hop(1, "binding", "THPVariable_matmul", "observed", ref(1), children=(call,),
                  binding=BindingRef("torch.Tensor.matmul"), instructions=5000)  # fmt: skip
    dear = [an_operator(10 * n, f"aten::op{n}", instructions=1000) for n in range(2, 60)]
    rows = view(a_trace(binding, *dear), Options(view="path")).table
    assert next(row.what for row in rows if row.name == "torch.Tensor.matmul") == "binding"


# --- it fits ---


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("width", [*WIDTHS, PIPE_WIDTH])
def test_it_fits_a_screen_of_any_width(name: str, width: int) -> None:
    trace, session = saved(name)
    for options in (Options(), Options(view="operators")):
        lines = drawn(view(trace, options, session), width).splitlines()
        assert max(len(line) for line in lines if "ptexplore " not in line) <= (100 if width == PIPE_WIDTH else width)
        if width >= 100:
            assert len(lines) <= 60


def test_what_rows_did_themselves_adds_up_to_all_of_it_and_kernels_are_told() -> None:
    trace, session = saved("format1-add-native.json.gz")
    page = view(trace, Options(view="path"), session)
    assert sum(row.own or 0 for row in page.table) == pytest.approx(1)
    for row in page.table:
        assert row.own is None or 0 <= row.own <= (row.share or 0)
    chosen = [pair[1] for hop in walk(trace.hops) for pair in pairwise(hop.children)
              if pair[0].name == "at::native::DispatchStubImpl::get_call_ptr"]  # fmt: skip
    chosen = [hop.children[0] if hop.kind == "stub" and hop.children else hop for hop in chosen]
    assert chosen, "the trace has calls of dispatch stubs"
    told = "\n".join(f"{row.name} {row.what}" for row in page.table)
    for kernel in chosen:
        assert kernel.name.rpartition("::")[2] in told, kernel.name


@pytest.mark.words
def test_hundreds_of_calls_fit_and_what_is_not_shown_is_counted() -> None:
    calls = [an_operator(10 * n, f"aten::op{n}") for n in range(1, 300)]
    trace = a_trace(*calls)
    assert suited(trace, Options()) == "modules"
    lines = drawn(view(trace, Options(view="path")), 100).splitlines()
    assert len(lines) <= 60
    more = next(line for line in lines if "… " in line and " more" in line)
    shown = sum("aten::op" in line for line in lines)
    assert int(re.search(r"… (\d+) more", more)[1]) + shown == 299  # type: ignore[index]
    operators = drawn(view(trace, Options(view="operators")), 100).splitlines()
    assert len(operators) <= 60
    assert re.search(r"… \d+ more", "\n".join(operators))
    parts = drawn(view(trace, Options()), 100).splitlines()
    assert len(parts) <= 60
    left_out = next(int(line.split()[0]) for line in parts if "not shown" in line)
    assert sum("aten::op" in line for line in parts) + left_out == 299


def test_work_below_many_functions_of_python_is_reached() -> None:
    """Each of them weighs more than what each did, and the room for those is filled before the last is open."""
    kernel = StubKernelRef("AVX2")
    loop = Hop(99, "native", "add_kernel", "observed", ref(9), stub_kernel=kernel, instructions=1000)
    hop = an_operator(90, "aten::add.Tensor", loop)
    for number in range(60, 0, -1):
        hop = Hop(number, "python", f"level{number}", "observed", ref(number), children=(hop,))
    names = [row.name for row in view(a_trace(hop), Options(view="path")).table]
    assert names[-1] == f"level{MOST - 1}()"


@pytest.mark.parametrize("cost", [None, 3])
def test_a_call_has_a_row_where_what_is_around_it_costs_too_little_for_one(cost: int | None) -> None:
    """As the function that TorchScript's interpreter runs, where another call alone was stepped."""
    dear = an_operator(1, "aten::detach", instructions=1000)
    small = Hop(20, "native", "forward", "observed", ref(20), children=(an_operator(30, "aten::linear"),))
    around = Hop(10, "python", "_call_impl", "observed", ref(10), children=(replace(small, instructions=cost), dear))
    names = [row.name for row in view(a_trace(around), Options(view="path")).table]
    assert "forward" not in names
    assert names.index("aten::linear") < names.index("aten::detach")


def test_equal_calls_are_one_row_with_their_number_and_the_sum_of_their_shares() -> None:
    calls = [
        Hop(n, "op", "aten::add.Tensor", "observed", ref(1), op="aten::add.Tensor", instructions=100)
        for n in range(1, 4)
    ]
    rows = view(a_trace(*calls), Options(view="path")).table
    (row,) = [row for row in rows if row.name == "aten::add.Tensor"]
    assert (row.times, row.instructions, row.share, row.opens) == (3, 300, 1.0, "add.Tensor#1")


@pytest.mark.words
def test_without_a_terminal_there_is_no_colour_and_no_link_and_plain_has_no_bar() -> None:
    trace, session = saved(FILES[0])
    page = view(trace, Options(), session)
    assert "\x1b" not in drawn(page, 100)
    assert "\x1b[" in drawn(page, 100, color_system="standard", force_terminal=True)
    plain = drawn(page, 100, plain=True)
    assert not set(plain) & set("█▉▊▋▌▍▎▏│└├")
    order = [row.name for row in page.table]
    assert [name for name in order if f": {name}" in plain] == order
    assert re.search(r"level 1: Python; evaluates the expression; 100% of the instructions", plain)


# --- choosing, opening, asking ---


def test_the_view_that_was_asked_for_or_what_there_is_instead() -> None:
    trace = a_trace(an_operator(1))
    assert [view(trace, Options(view=name)).view for name in available(trace)] == [
        "path",
        "modules",
        "operators",
        "copies",
        "tree",
    ]
    assert view(trace, Options(full=True)).view == "tree"
    assert view(trace, Options(opened="add.Tensor#1")).view == "tree"
    for options, message in (
        (Options(view="path", full=True), "--view path takes no such option"),
        (Options(opened="add.Tensor#2"), "there is no call 2 of add.Tensor"),
    ):
        with pytest.raises(PtexploreError, match=message) as wrong:
            view(trace, options)
        assert wrong.value.exit_code == USAGE
        assert wrong.value.why
        assert wrong.value.hint
    with pytest.raises(PtexploreError, match="there is no view pth") as wrong:
        named("pth")
    assert wrong.value.hint == "--view path"


def test_a_call_is_opened_by_its_number_in_the_order_of_entry() -> None:
    inner = an_operator(20, "aten::add.Tensor")
    trace = a_trace(an_operator(1, "aten::mul.Tensor", inner), an_operator(30, "aten::add.Tensor"))
    for name, number in (("add.Tensor#1", 20), ("add#2", 30), ("aten::mul.Tensor#1", 1)):
        page = view(trace, Options(opened=name))
        rows = list(page.rows)
        while rows and rows[0].hop != number and not rows[0].lines:
            rows = list(rows[0].children)
        assert number in {row.hop for row in _all(page.rows)}
        assert stepped_by(trace, number) == f"{name.removeprefix('aten::').replace('add#', 'add.Tensor#')}"
    assert stepped_by(trace, 22) == "add.Tensor#1", "inside of a call it is that call"


@pytest.mark.parametrize("name", FILES)
def test_each_row_is_opened_by_the_name_that_it_has(name: str) -> None:
    """The rows' own words are asked for, brackets, keys and all: what is opened is the row's step, or is in it."""
    trace, session = saved(name)
    hops = {hop.id: hop for hop in walk(trace.hops)}
    views = [view(trace, Options(view=known), session) for known in ("path", "operators", "tree")]
    rows = {(row.name, row.hop) for page in views for row in page.table if row.hop is not None}
    rows |= {(row.title, row.hop) for row in itertools.islice(walk(views[-1].rows), 12)}
    assert len(rows) > 15
    for title_of_row, number in rows:
        _, matching = native.opened(trace, title_of_row)
        inside = {hop.id for hop in walk([hops[number]])}
        around = {hop.id for match in matching for hop in walk([hops[match]])}
        assert number in around or inside & matching, title_of_row


def test_what_is_opened_may_have_any_name_of_its_row() -> None:
    python = Hop(1, "python", "backward", "observed", ref(1), python=PythonCall(3, "Tensor.backward"))
    bound = Hop(2, "binding", "torch::autograd::THPVariable_sum", "observed", ref(2),
                binding=BindingRef("torch.Tensor.sum"))  # fmt: skip
    library = Hop(3, "closed", "mkl_blas_sgemm", "observed", ref(3), library=LibraryEntry("MKL", "SGEMM", ""))
    trace = a_trace(replace(python, children=(bound,)), an_operator(10), library)
    for wanted, number in (
        ("Tensor.backward", 1),
        ("Tensor.backward()", 1),
        ("backward() ×3", 1),
        ("torch.Tensor.sum", 2),
        ("torch.Tensor.sum → torch::autograd::THPVariable_sum", 2),
        ("MKL SGEMM", 3),
        ("aten::add.Tensor", 10),
        ("AutogradCPU  VariableType::add", 11),
        ("aten::add.Tensor → AutogradCPU → torch::autograd::VariableType::add", 10),
    ):
        assert native.opened(trace, wanted)[1] == {number}, wanted
    for wanted, near in (("Tensor.backwards", "Tensor.backward()"), ("Tensor.summ", "torch.Tensor.sum"), ("q", None)):
        with pytest.raises(PtexploreError, match="no function with") as wrong:
            native.opened(trace, wanted)
        assert (near or "--view tree --full") in (wrong.value.hint or "")
        if near is not None:
            assert native.opened(trace, near)


def _all(rows):  # type: ignore[no-untyped-def]
    for row in rows:
        yield row
        yield from _all(row.children)


def test_next_commands_repeat_what_was_typed_and_are_two_and_the_legend() -> None:
    command = ("ptexplore", "trace", "f(a)", "--var", "a=torch.ones(3)", "--python", "/x/bin/python")
    for name in ("path", "operators"):
        steps = view(a_trace(an_operator(1)), Options(view=name, command=command)).next_steps  # type: ignore[arg-type]
        assert steps[-1].command.endswith(" --explain legend")
        assert 0 < len(steps[:-1]) <= 2
        for step in steps:
            assert step.command.startswith("ptexplore trace 'f(a)' --var 'a=torch.ones(3)' --python /x/bin/python -")
            assert step.shows


@pytest.mark.words
@pytest.mark.parametrize("name", ["path", "operators"])
@pytest.mark.parametrize("file", FILES)
def test_all_that_is_offered_is_listed(name: str, file: str) -> None:
    trace, session = saved(file)
    (offered,) = (
        step
        for step in view(trace, Options(view=name), session).next_steps
        if step.shows.startswith("all ")  # type: ignore[arg-type]
    )
    assert offered.command.endswith("--view tree --full")
    told = re.match(r"all ([\d,]+) (function calls|steps)$", offered.shows)
    assert told, offered.shows
    rows = json.loads(view_to_json(view(trace, Options(view="tree", full=True), session)))["view"]["rows"]
    listed, around = 0, list[tuple[int, int]]()  # of the rows that a row is in: level, how often they ran
    for row in rows:
        while around and around[-1][0] >= row["level"]:
            around.pop()
        times = (around[-1][1] if around else 1) * row["times"]
        around.append((row["level"], times))
        listed += times * (told[2] == "steps" or row["instructions"] is not None)
    in_the_file = json.loads(trace_to_json(trace, session))
    assert listed == sum(told[2] == "steps" or hop["instructions"] is not None for hop in in_the_file["hops"])
    assert listed == int(told[1].replace(",", ""))


@pytest.mark.words
@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"part": "operator", "op": "aten::add.Tensor"}, "all 2 function calls in add.Tensor"),
        (
            {"part": "operator", "op": "add", "cut": {"code": "log-full"}},
            "all 2 function calls in add until the cut",
        ),
        ({"part": "forward", "cut": {"code": "log-full"}}, "all 2 function calls until the cut"),
        ({"part": "forward"}, "all 2 function calls"),
        (None, "all 2 function calls"),
    ],
)
def test_how_much_is_offered_is_said_with_what_it_is_of(more: dict[str, Any] | None, told: str) -> None:
    trace = a_trace(an_operator(1, instructions=9), an_operator(9), an_operator(19, instructions=9))
    _, session = saved(FILES[0])
    assert session is not None
    seen = next(observation for observation in session.observations if observation.kind == "calls")
    part = (
        SavedObservation(1, "native", "calls", seen.as_saved().data | {"cut": None} | more).as_seen() if more else None
    )
    session = replace(session, observations=(part,) if part is not None else ())
    assert everything(trace, Options(), session).shows == told


@pytest.mark.words
def test_steps_are_counted_where_nothing_was_stepped() -> None:
    trace = a_trace(an_operator(1))
    assert everything(trace, Options(), None).shows == f"all {sum(1 for _ in walk(trace.hops))} steps"


def test_the_legend_explains_every_sign_and_word_of_the_view() -> None:
    trace, session = saved(FILES[0])
    for name in ("path", "operators", "tree"):
        page = view(trace, Options(view=name), session)  # type: ignore[arg-type]
        told = dict(whole_legend(page))
        assert all(told.values())
        assert {status for row in page.table for status in (row.status,)} <= told.keys()
        assert ("~" in told) == bool(page.table)
        assert ("+n" in told) == bool(page.rows)


def test_the_legends_of_parts_explain_every_column() -> None:
    assert ENGLISH.keys() == WEIGHTS.keys()
    assert {heading for heading, _words in OF_COST.values()} <= (OF_EXPRESSIONS | in_expressions()).keys()


@pytest.mark.words
def test_verbose_adds_key_sets_numbers_and_words_of_precision() -> None:
    trace, session = saved(FILES[0])
    brief, verbose = (drawn(view(trace, Options(verbose=v), session), 120) for v in (False, True))
    for part in ("thread-local include", "located", "registered", "[3]"):
        assert part in verbose
        assert part not in brief


def test_a_view_as_json_has_its_rows() -> None:
    trace, session = saved(FILES[0])
    page = view(trace, Options(), session)
    document = json.loads(view_to_json(page))
    assert document["format"] == 2
    assert [row["name"] for row in document["view"]["table"]] == [row.name for row in page.table]
    assert document["view"]["next_steps"][0].keys() == {"command", "shows", "in_python"}


def test_operators_are_summed_by_the_way_they_went() -> None:
    bound = Hop(5, "binding", "torch::autograd::THPVariable_add", "observed", ref(5), binding=BindingRef("torch.add"),
                children=(an_operator(6, instructions=70), an_operator(10, instructions=50)))  # fmt: skip
    page = view(a_trace(bound, an_operator(20, "aten::mul.Tensor")), Options(view="operators"))
    assert [(row.name, row.cells, row.instructions) for row in page.table] == [
        ("aten::add.Tensor", ("2", "120"), 120),
        ("aten::mul.Tensor", ("1", ""), None),
    ]
    assert page.table[0].what == "derived: AutogradCPU → VariableType::add"


def test_calls_inside_one_another_cost_what_the_outer_one_did() -> None:
    """As under function transforms, where an operator calls itself once a level: its row is no more than the whole."""
    deepest = an_operator(20, "aten::mul.Tensor", time=70_000)
    other = an_operator(30, "aten::exp", an_operator(40, "aten::mul.Tensor", deepest, time=80_000), time=90_000)
    outer = an_operator(10, "aten::mul.Tensor", other, time=100_000)
    page = view(a_trace(outer, an_operator(50, "aten::mul.Tensor", time=20_000)), Options(view="operators"))
    assert [(row.name, row.cells, row.share) for row in page.table] == [
        ("aten::mul.Tensor", ("4", "120 us"), 1.0),
        ("aten::exp", ("1", "90 us"), 0.75),
    ]
    stepped = an_operator(10, "aten::mul", an_operator(20, "aten::mul", instructions=60), instructions=100)
    (row,) = view(a_trace(stepped), Options(view="operators")).table
    assert (row.cells, row.instructions) == (("2", "100"), 100)
    inner = an_operator(20, "aten::mul", instructions=60)
    (row,) = view(a_trace(an_operator(10, "aten::mul", inner)), Options(view="operators")).table
    assert row.instructions == 60, "nobody counted the outer one's"


@pytest.mark.words
def test_the_calls_that_ran_something_else_in_a_library_are_counted() -> None:
    def call(number: int, *sizes: int) -> Hop:
        ran = (LibraryEntry("MKL", "SGEMM", f"m={size}") for size in sizes)
        inside = (Hop(number + 3 + n, "closed", "sgemm", "observed", ref(9), library=e) for n, e in enumerate(ran))
        return an_operator(number, "aten::mm", *inside)

    def told(*calls: Hop) -> str:
        (row,) = view(a_trace(*calls), Options(view="operators")).table
        return row.what.partition("; ")[2]

    assert told(call(10, 1), call(20, 2), call(30, 2), call(40)) == "MKL: SGEMM m=1, 2 calls ran something else"
    assert told(call(10, 1), call(20, 1), call(30, 1, 1)) == "MKL: SGEMM m=1, 1 call ran something else"
    assert told(call(10, 1, 2)) == "MKL: SGEMM m=1 +1"


@pytest.mark.words
def test_operators_stand_by_time_where_not_all_was_stepped_and_what_is_left_out_is_not_called_cheap() -> None:
    stepped = an_operator(1, "aten::zero_", instructions=500, time=3)
    trace = a_trace(stepped, *(an_operator(10 * n, f"aten::f{n}", time=100 * n) for n in range(1, 26)))
    page = view(trace, Options(view="operators"))
    assert [row.name for row in page.table[:2]] == ["aten::f25", "aten::f24"]
    assert page.columns == ("calls", "time", "instr")
    assert page.table[-1].what == "calls of 4 other operators, each no more expensive than those above"
    unknown = a_trace(*(an_operator(10 * n, f"aten::f{n}") for n in range(1, 26)))
    page = view(unknown, Options(view="operators"))
    assert page.table[-1].what == "calls of 3 other operators, each called no more often than those above"


@pytest.mark.words
def test_a_node_is_of_the_calls_that_recorded_it() -> None:
    node = Hop(30, "node", "MulBackward0", "observed", ref(3), node=NodeRef(recorded=True))
    page = view(a_trace(an_operator(1, "aten::mul.Tensor", node), an_operator(11, "aten::mul.Tensor"),
                        an_operator(21, "aten::exp", node)), Options(view="operators"))  # fmt: skip
    assert [row.what.partition("; ")[2] for row in page.table] == [
        "records MulBackward0 (seen in 1 of 2 calls)",
        "records MulBackward0",
    ]


# --- small parts ---


def test_a_share_is_never_rounded_to_nothing_or_to_all() -> None:
    assert [percent(share) for share in (None, 0.0, 0.001, 0.5, 0.999, 1.0)] == ["", "0%", "<1%", "50%", "99%", "100%"]
    assert [len(bar(share)) for share in (0.0, 0.5, 1.0)] == [0, 3, 6]


def test_a_link_is_a_file_or_what_the_project_says() -> None:
    assert address_of("/a b/c.cpp", 3, None) == "file:///a%20b/c.cpp#L3"
    assert address_of("/a b/c.cpp", 3, "vscode://file{path}:{line}") == "vscode://file/a%20b/c.cpp:3"


def test_a_permalink_of_a_place_that_is_known_by_version_alone_says_so() -> None:
    url, remark = permalink_of_place(ref(9, "version-skew", tree="old"), a_trace(), ())
    assert url is not None
    assert url.endswith(f"/v2.98.1/{ADD}#L9")
    assert "tag v2.98.1" in remark
    assert permalink_of_place(None, a_trace(), ())[0] is None


@pytest.mark.words
def test_what_was_found_several_times_is_said_once_with_how_often() -> None:
    same = Finding("prediction-differs", reasons.Said("aten::fill_.Scalar: some"))
    other = Finding("cut", reasons.Said("other"))
    page = view(replace(a_trace(an_operator(5)), findings=(same, other, same)), Options(view="path"))
    assert page.findings == ("prediction-differs: aten::fill_.Scalar: some (2 times)", "cut: other")


def test_the_number_of_a_loops_row_is_that_of_the_function_that_it_names() -> None:
    """And not of what only calls it: what `--explain` says of the number is of the row's own place."""
    trace, session = saved("format1-add-native.json.gz")
    page = view(trace, Options(view="path"), session)
    loops = [row for row in page.table if details.LoopOverElements() in row.details]
    assert loops
    hops = {hop.id: hop for hop in walk(trace.hops)}
    for row in loops:
        assert row.hop is not None
        assert row.place == hops[row.hop].source
        assert hops[row.hop].name != "c10::function_ref::callback_fn"


@pytest.mark.parametrize(("inside", "own"), [(100, True), (400, True), (600, False)])
def test_a_function_that_keeps_much_says_that_it_is_its_own_code(inside: int, own: bool) -> None:
    """What runs in functions without a row is not its own."""

    def native(number: int, name: str, instructions: int, *children: Hop) -> Hop:
        call = NativeCall(f"{name}()")
        return Hop(number, "native", name, "observed", ref(number), native=call, instructions=instructions,
                   children=children)  # fmt: skip

    helpers = [native(20 + number, f"h{number}", inside // 100) for number in range(100)]
    operator = an_operator(1, "aten::add.Tensor", native(10, "at::native::f", 1000, *helpers), instructions=1050)
    page = view(a_trace(operator), Options(view="path"))
    (row,) = [row for row in page.table if row.hop == 10]
    assert row.own == pytest.approx(1000 / 1050)
    assert (details.OwnCode() in row.details) is own


# --- torch.compile ---


def test_compiling_is_one_row_and_the_compiled_call_follows() -> None:
    """However many operators it calls, and `--open compiling` goes in."""
    traced = tuple(an_operator(100 + 10 * number) for number in range(30))
    converts = SourceRef("torch/_dynamo/convert_frame.py", 12, "wheel", "located")
    compiles = Hop(10, "python", "__call__", "observed", converts, children=(
        Hop(11, "python", "_compile", "observed", converts, children=traced),
    ))  # fmt: skip
    trace = a_trace(compiles, an_operator(500, "aten::mm"))
    options = Options()
    assert suited(trace, options) == "path"
    rows = view(trace, options).table
    assert [row.name for row in rows][:3] == ["Python", "compiling", "aten::mm"]
    assert (rows[1].opens, details.HoldsOperators(operators=30) in rows[1].details) == ("compiling", True)
    opened = view(trace, Options(opened="compiling"))
    assert {row.title for row in opened.rows[0].children} >= {"_compile"} or "_compile" in str(opened.rows)
    parts = view(trace, Options(view="modules")).table
    assert [row.name for row in parts][1:2] == ["compiling"]


# --- a narrow terminal ---


def lines_of_source(columns: int) -> list[str]:
    rows = (
        ScreenRow("train.py", cells=("", "1.94 s", "1.10 s", "83", "357", "3.0 MB"), heading=True),
        ScreenRow(
            "   26          loss = F.cross_entropy(net(x), y)",
            cells=("700 ms", "72 ms", "1.10 s", "10", "40", "3.0 MB"),
            details=(says.CopiesData(calls=(says.CalledTimes("clone", 6, "54.5 kB"),)),),
        ),
    )
    view = TraceView(
        "a", (), view="lines", table=in_words(rows), name="line", told="", places_in_names=True,
        columns=("time", "self", "backward", "calls", "ops", "saved"),
    )  # fmt: skip
    return drawn(view, columns).splitlines()


def test_in_a_narrow_terminal_your_lines_and_what_is_said_of_them_can_be_read() -> None:
    wide, narrow = lines_of_source(140), lines_of_source(80)
    heading = next(line for line in wide if "time" in line)
    assert heading.split() == ["time", "self", "backward", "calls", "ops", "saved", "line"]
    assert any("net(x), y)  copies: clone ×6 54.5 kB" in line for line in wide)
    assert "wider terminal" not in " ".join(wide)
    heading = next(line for line in narrow if "time" in line)
    assert heading.split() == ["time", "self", "backward", "saved", "line"]
    assert any("loss = F.cross_entropy" in line for line in narrow)
    assert "copies: clone ×6 54.5 kB" in [line.strip() for line in narrow], "whole, on a line of its own"
    assert "calls and ops: shown in a wider terminal" in narrow
    row = next(line for line in narrow if "F.cross" in line)
    assert row.split()[:6] == ["700", "ms", "72", "ms", "1.10", "s"]
    assert max(map(len, narrow)) <= 80


def test_in_a_narrow_terminal_the_name_of_a_file_can_be_known() -> None:
    place = SourceRef("aten/src/ATen/native/BinaryOps.cpp", 151, "checkout", "version-skew", tree="old")
    for name in range(8, 50):
        row = ScreenRow("f" * name, 1, share=0.3, own=0.2, what="sets up the result", place=place)
        shown = drawn(TraceView("a", (), view="path", table=(ScreenRow("Python", share=1.0), row)), 80)
        cut = re.search(r"…?[\w/]*\.cpp:151 ~", shown)
        assert cut is not None
        assert len(cut[0].removeprefix("…").rpartition("/")[2]) >= len("BinaryOps.cpp:151 ~") * 3 // 4 - 1, shown
        assert "sets up the result" in shown
