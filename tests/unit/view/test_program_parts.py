"""The parts of a program made here: what recording took is taken off, rows stand in the order of the calls."""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path

import pytest
from msgspec import structs

from ptexplore.model.places import SourceRef
from ptexplore.model.program import CallPath, LocalSets, OperatorCalls, OperatorKind, OperatorRoute, Program
from ptexplore.model.run import OwnOperators, Part, Run
from ptexplore.model.trace import Captured, ResultInfo, TorchInfo, Trace
from ptexplore.saved.trace import trace_from_json
from ptexplore.view.trace.columns import columns_of
from ptexplore.view.trace.page import Options, ScreenRow, TraceView
from ptexplore.view.trace.part_rows import Shown, fitting
from ptexplore.view.trace.program_parts import kernels, run_of, time_of_recording
from ptexplore.view.trace.views import view
from tests.hanging import ends

SAVED = Path(__file__).parents[2] / "data" / "saved"

PLACE = SourceRef("net.py", 7, None, "located")
LINEAR, RELU = 0, 1


def program() -> Program:
    """A module calls `a`, relu and `b`; recording took some of each, of `b` more than it has without its operator."""
    paths = (
        CallPath("program", "program", 1, 10_000),
        CallPath("module", "net", 1, 9_000, recording=1_000, parent=0, type="Net", source=PLACE),
        CallPath("module", "net.a", 1, 3_000, recording=500, parent=1, type="Linear", line=1),
        CallPath("module", "net.b", 1, 2_000, recording=1_900, parent=1, type="Head", line=2),
        CallPath("thread", "torch's own threads", 1, 0, parent=0),
        CallPath("user", "compiled", 1, 400, recording=100, parent=0, source=PLACE, file="net.py"),
    )
    calls = (
        OperatorCalls(2, LINEAR, 0, 1, 2_000),
        OperatorCalls(1, RELU, 0, 2, 1_000, weights={"saved": 8}),
        OperatorCalls(3, LINEAR, 0, 1, 600),
        OperatorCalls(4, RELU, 0, 1, 300),
        OperatorCalls(5, RELU, 0, 9, 5_000, python=4_700),  # each calls Python, which calls the next one
    )
    kinds = (OperatorKind("op", "aten::linear"), OperatorKind("op", "aten::relu"))
    routes = (OperatorRoute(LINEAR, 0), OperatorRoute(RELU, 0))
    return Program(paths, (LocalSets(0, 0),), kinds, routes, calls, "", 0, 10_000, 3_400)


def test_what_recording_took_is_in_no_row_and_no_row_has_less_than_what_is_inside_it() -> None:
    whole = run_of(program(), "net.py").whole
    times = {part.name: part.cost for part in whole.walk()}
    assert times["net.a"] == 2_500
    assert times["net.b"] == 600, "its operator's own time: what recording took is sampled"
    assert times["compiled"] == 300, "what its operators called in Python counts once"
    assert times["net"] == 9_000 - 3_400
    assert times["net.py"] == 10_000 - 3_500
    assert times["torch's own threads"] == 300


@pytest.mark.words
def test_rows_stand_in_the_order_of_the_first_calls_operators_among_them() -> None:
    trace = Trace("--script net.py", (), TorchInfo("2.99.0"), (), Captured(), ResultInfo(), (), (), program=program())
    rows = of_parts(view(trace, Options(view="modules")))
    names = [row.name.partition("  ")[0] for row in rows]
    inside = ["net", "a", "relu", "b", "the rest: Python", "compiled", "torch's own threads", "the rest: Python"]
    assert names == ["net.py", *inside]
    ops = {row.name.partition("  ")[0]: row.cells[3] for row in rows}
    assert (ops["net"], ops["relu"], ops["torch's own threads"]) == ("4", "2", "1")


def test_a_time_with_a_large_error_is_shown_as_a_bound() -> None:
    known = program()
    paths = tuple(structs.replace(path, error=path.recording // 2) for path in known.paths)
    unsure = structs.replace(known, paths=paths)
    parts = {part.name: part for part in run_of(unsure, "net.py").whole.walk()}
    assert [name for name, part in parts.items() if part.at_most] == ["net.b"]
    assert parts["net.b"].cost == 2_000 - (1_900 - 950), "only the sure part of recording is taken off"
    assert parts["net"].cost == 9_000 - 3_400
    trace = Trace("--script net.py", (), TorchInfo("2.99.0"), (), Captured(), ResultInfo(), (), (), program=unsure)
    rows = {row.name.partition("  ")[0]: row for row in of_parts(view(trace, Options(view="modules")))}
    assert (rows["b"].cells[0], rows["b"].share) == ("≤1.1 us", None)
    assert not rows["a"].cells[0].startswith("≤")
    assert rows["a"].share is not None


def test_an_estimate_that_is_longer_than_the_time_leaves_a_bound_and_no_share_beside_it() -> None:
    """Recording is estimated to have taken 6 s of a `load` of 5 s: its own time is at most the error of that."""
    paths = (
        CallPath("program", "program", 1, 6_000),
        CallPath("user", "load", 1, 5_000, recording=6_000, error=2_100, parent=0, source=PLACE, file="net.py"),
        CallPath("user", "compute", 1, 900, parent=0, source=PLACE, file="net.py"),
    )
    calls = (OperatorCalls(2, 0, 0, 1, 800),)
    made = Program(
        paths, (LocalSets(0, 0),), (OperatorKind("op", "aten::relu"),), (OperatorRoute(0, 0),), calls, "", 0, 6_000,
        6_000,
    )  # fmt: skip
    assert time_of_recording(5_000, 6_000, 2_100) == (5_000, 3_250, True)
    assert time_of_recording(5_000, 1_000, 350) == (1_000, 650, False)
    whole = run_of(made, "net.py").whole
    parts = {part.name: part for part in whole.walk()}
    assert (parts["load"].cost, parts["load"].at_most) == (1_750, True)
    assert whole.at_most, "most of its time is a bound"
    trace = Trace("--script net.py", (), TorchInfo("2.99.0"), (), Captured(), ResultInfo(), (), (), program=made)
    shown = view(trace, Options(view="modules"))
    rows = {row.name.partition("  ")[0]: row for row in of_parts(shown)}
    assert rows["load"].cells[0].startswith("≤")
    assert not rows["compute"].cells[0].startswith("≤")
    assert all(row.share is None for row in rows.values()), "900 of what?"
    assert all(row.share is None for row in view(trace, Options(view="operators")).table)


@pytest.mark.words
def test_a_script_of_straight_code_has_the_rest_of_it_in_a_row() -> None:
    """Beside its imports it has no part: what has no row of its own, and Python, are the rest, so that rows add up."""
    paths = (
        CallPath("program", "program", 1, 1_000_000),
        CallPath("imports", "imports", 1, 200_000, parent=0),
    )
    names = ("mul", "relu", "randn", "norm")
    kinds = tuple(OperatorKind("op", f"aten::{name}") for name in names)
    routes = tuple(OperatorRoute(number, 0) for number in range(len(names)))
    times = (350_000, 300_000, 3_000, 2_000)
    calls = tuple(OperatorCalls(0, number, 0, number + 1, time) for number, time in enumerate(times))
    whole = Program(paths, (LocalSets(0, 0),), kinds, routes, calls, "", 0, 1_000_000, 0)
    trace = Trace("--script s.py", (), TorchInfo("2.99.0"), (), Captured(), ResultInfo(), (), (), program=whole)
    imports, root, *inside = of_parts(view(trace, Options(view="modules")))
    assert (imports.name, root.name) == ("imports  1 module", "s.py")
    assert [row.name for row in inside] == ["mul", "relu", "the rest: Python, randn, norm"]
    assert sum(row.share or 0 for row in inside) == pytest.approx(root.share)
    assert sum(int(row.cells[2]) for row in inside) == int(root.cells[3]) == sum(range(1, 5))


@pytest.mark.words
def test_nodes_of_backward_that_lose_their_rows_are_among_the_rest() -> None:
    costs = enumerate((600, 300, 1, 1, 1, 1))
    own = tuple(OwnOperators(name=f"n{n}", calls=1, cost=cost, routes=(n,)) for n, cost in costs)
    part = Part(kind="backward", name="backward", calls=1, cost=1_000, own=own)
    run = Run(part, "nanoseconds")
    rows, _ = fitting(Shown(run, columns_of(run), part), 5)
    assert [row.name for row in rows] == [
        "backward",
        "n0",
        "n1",
        "4 more kinds of nodes and operators",
        "the rest: the engine, Python",
    ]
    assert sum(row.share or 0 for row in rows[1:]) == pytest.approx(rows[0].share)


@pytest.mark.words
def test_operators_that_call_each_other_by_way_of_python_take_no_longer_than_the_run() -> None:
    trace = Trace("--script net.py", (), TorchInfo("2.99.0"), (), Captured(), ResultInfo(), (), (), program=program())
    page = view(trace, Options(view="operators"))
    (relu,) = (row for row in page.table if row.name == "relu")
    assert relu.cells[0] == "1.6 us", "1000 and 300, and of nine calls in one another the 300 in which no Python ran"
    assert sum(row.share or 0 for row in page.table) < 1
    assert "but not Python" in page.facts[0]
    assert "an operator's without the Python" in dict(view(trace, Options(view="modules")).explained)["share", "time"]


@pytest.mark.words
def test_what_a_device_was_given_counts_where_it_was_launched_and_is_no_operator() -> None:
    """A kernel of relu's, and a graph's that no operator launched; what it took on the device is no part of a time."""
    kinds = (
        OperatorKind("op", "aten::relu", inside=((1, None),)),
        OperatorKind("launch", "void at::native::vectorized<4>(int)", through="cudaLaunchKernel"),
        OperatorKind("launch", "sm80_gemm", through="cudaGraphLaunch"),
    )
    paths = (
        CallPath("program", "program", 1, 10_000),
        CallPath("module", "net", 1, 9_000, parent=0, type="Net", source=PLACE),
        CallPath("user", "replay", 1, 1_000, parent=0, source=PLACE, file="net.py"),
    )
    routes = (OperatorRoute(0, 0), OperatorRoute(2, 0))
    calls = (OperatorCalls(1, 0, 0, 2, 3_000, device=(700,)), OperatorCalls(2, 1, 0, 5, 400, device=(50,)))
    made = Program(paths, (LocalSets(0, 0),), kinds, routes, calls, "", 0, 10_000, 0)
    whole = run_of(made, "net.py").whole
    assert {part.name: part.device for part in whole.walk()} == {"net.py": 750, "net": 700, "replay": 50}
    assert whole.operators == 2
    assert kernels(made) == [("void at::native::vectorized<4>(int)", 2, 700), ("sm80_gemm", 5, 50)]
    trace = Trace("--script net.py", (), TorchInfo("2.99.0"), (), Captured(), ResultInfo(), (), (), program=made)
    shown = view(trace, Options(view="operators"))
    assert [(row.name, row.cells[-1]) for row in shown.table] == [("relu", "0.7 us"), ("sm80_gemm", "0.1 us")]
    assert "launched by no operator" in shown.table[1].what
    assert any(line.startswith("on the device: 0.8 us in 7 launches of 2 kinds: vectorized") for line in shown.left_out)


def test_modules_within_one_another_cost_what_their_number_does() -> None:
    saved, _ = trace_from_json((SAVED / "format2-program.json.gz").read_bytes(), "x")
    program = saved.program
    assert program is not None
    number = len(program.paths)
    path = CallPath("module", "m", 1, 1, recording=1, parent=0)
    deep = [structs.replace(path, name=f"m{n}", parent=number + n - 1 if n else 0) for n in range(15_000)]
    with ends(10):
        root = run_of(structs.replace(program, paths=(*program.paths, *deep)), "x.py").whole
    assert root.kind == "program"


def test_a_module_made_in_a_forward_has_the_name_of_its_class() -> None:
    paths = (
        CallPath("program", "program", 1, 10_000),
        CallPath("module", "", 1, 9_000, parent=0, type="Net", source=PLACE, file="net.py", first=7),
        CallPath("module", "?", 1, 3_000, parent=1, type="CrossEntropyLoss", source=PLACE, line=9),
    )
    calls = (OperatorCalls(2, LINEAR, 0, 1, 2_000),)
    names = [row.name for row in shown(paths, calls).table]
    assert names[:3] == ["net.py", "Net", "CrossEntropyLoss"]


def test_the_wrapper_of_a_decorated_forward_has_no_row_of_its_own() -> None:
    """Another function of yours that the wrapper called has one."""
    paths = (
        CallPath("program", "program", 1, 10_000),
        CallPath("module", "", 1, 9_000, parent=0, type="Net", source=PLACE, file="net.py", first=7),
        CallPath("user", "deco.<locals>.inner", 1, 8_000, parent=1, source=PLACE, file="net.py", first=2),
        CallPath("user", "log", 1, 1_000, parent=2, source=PLACE, file="net.py", first=1),
        CallPath("user", "Net.forward", 1, 5_000, parent=2, source=PLACE, file="net.py", first=7),
        CallPath("user", "helper", 1, 3_000, parent=4, source=PLACE, file="net.py", first=20),
        CallPath("user", "Net.forward", 1, 1_000, parent=5, source=PLACE, file="net.py", first=7),
    )
    calls = (OperatorCalls(4, LINEAR, 0, 1, 1_500), OperatorCalls(6, LINEAR, 0, 1, 500))
    rows = shown(paths, calls).table
    names = [(row.level, row.name) for row in rows]
    assert names[:5] == [(0, "net.py"), (1, "Net"), (2, "log"), (2, "linear"), (2, "helper")]


@pytest.mark.words
def test_a_step_is_apart_from_the_closure_that_it_called() -> None:
    paths = (
        CallPath("program", "program", 1, 10_000),
        CallPath("torch", "LBFGS.step", 1, 9_000, parent=0, type="LBFGS", file="torch/optim/lbfgs.py", first=300),
        CallPath("user", "closure", 3, 6_000, parent=1, source=PLACE, file="net.py", first=7),
    )
    calls = (OperatorCalls(2, LINEAR, 0, 3, 5_000), OperatorCalls(1, RELU, 0, 4, 2_000))
    rows = {row.name: row for row in shown(paths, calls).table}
    assert [rows[name].cells[0] for name in ("LBFGS.step", "closure")] == ["9.0 us", "6.0 us"]
    (own,) = [row for name, row in rows.items() if name.startswith("the step itself")]
    assert own.cells[0] == "3.0 us"


@pytest.mark.words
def test_functions_of_training_loops_have_rows() -> None:
    files = {
        "clip_grad_norm_": ("torch/nn/utils/clip_grad.py", None),
        "GradScaler.update": ("torch/amp/grad_scaler.py", "GradScaler"),
        "StepLR.step": ("torch/optim/lr_scheduler.py", "StepLR"),
        "Net.zero_grad": ("torch/nn/modules/module.py", "Net"),
    }
    paths = [CallPath("program", "program", 1, 10_000)]
    for name, (file, kind) in files.items():
        paths.append(CallPath("torch", name, 1, 1_000, parent=0, type=kind, file=file, first=1))
    paths.append(CallPath("torch", "Module.train", 1, 1_000, parent=0, file="torch/nn/modules/module.py", first=1))
    names = [row.name for row in of_parts(shown(tuple(paths), ()))]
    assert names == ["net.py", *files, "the rest: Python"]


def of_parts(page: TraceView) -> tuple[ScreenRow, ...]:
    """The rows without the findings below them."""
    return tuple(takewhile(lambda row: not row.heading, page.table))


def shown(
    paths: tuple[CallPath, ...],
    calls: tuple[OperatorCalls, ...],
    profiling: int = 0,
    python: str = "",
    **options: object,
) -> TraceView:
    kinds = (OperatorKind("op", "aten::linear"), OperatorKind("op", "aten::relu"), OperatorKind("op", "aten::item"))
    routes = (*(OperatorRoute(number, 0) for number in range(3)), OperatorRoute(2, 0, table="Tensor", method="item"))
    made = Program(paths, (LocalSets(0, 0),), kinds, routes, calls, "", 0, paths[0].time, 0, profiling=profiling)
    trace = Trace(
        "--script net.py", (), TorchInfo("2.99.0", python=python), (), Captured(), ResultInfo(), (), (), program=made
    )
    return view(trace, Options(view="modules", **options))  # type: ignore[arg-type]


@pytest.mark.words
def test_findings_are_what_costs_a_hundredth_of_the_run_each_with_your_line() -> None:
    paths = (
        CallPath("program", "program", 1, 100_000),
        CallPath("user", "train", 1, 90_000, parent=0, source=PLACE, file="net.py", first=7),
        CallPath("builtin", "Tensor.item", 9, 0, parent=1, line=12, table="Tensor", method="item"),
        CallPath("builtin", "Tensor.item", 9, 0, parent=1, line=13, table="Tensor", method="item"),
        CallPath("torch", "_BaseDataLoaderIter.__next__", 4, 20_000, parent=1, file="torch/utils/data/dataloader.py"),
    )
    calls = (OperatorCalls(2, 3, 0, 9, 2_000), OperatorCalls(3, 3, 0, 9, 900), OperatorCalls(1, LINEAR, 0, 982, 47_100))
    rows = shown(paths, calls).table
    (at,) = [number for number, row in enumerate(rows) if row.heading]
    assert [(row.name, row.cells[0], row.what) for row in rows[at + 1 :]] == [
        ("outside operators: 0.0 us a call", "30 us", ""),
        ("loading data", "20 us", ""),
        ("item reads values", "2.0 us", "net.py:12"),
    ]
    assert shown(paths, calls, opened="train").table[-1].level == 1, "they are about the whole run"
    assert not any(row.heading for row in shown(paths, calls, opened="train").table)


@pytest.mark.parametrize(
    ("python", "is_slower"), [("3.10.13", True), ("3.11.7", True), ("3.12.1", False), ("3.14.0", False), ("", False)]
)
def test_time_of_python_is_a_bound_where_python_runs_slower_while_it_is_recorded(python: str, is_slower: bool) -> None:
    paths = (CallPath("program", "program", 1, 100_000), CallPath("user", "train", 1, 90_000, parent=0, file="net.py"))
    calls = (OperatorCalls(1, LINEAR, 0, 1_000, 40_000),)
    page = shown(paths, calls, python=python)
    (finding,) = [row for row in page.table if row.name.startswith("outside operators")]
    assert (finding.cells[0], finding.share) == (("≤60 us", None) if is_slower else ("60 us", 0.6))
    assert len(page.facts) - len(shown(paths, calls).facts) == is_slower


def test_a_run_of_operators_says_nothing_of_a_slower_python() -> None:
    ran = (CallPath("program", "program", 1, 100_000),), (OperatorCalls(0, LINEAR, 0, 9, 95_000),)
    assert len(shown(*ran, python="3.11.7").facts) == len(shown(*ran).facts)


def test_a_finding_is_without_what_the_profiler_added_or_a_bound_without_a_share() -> None:
    """The profiler added 5 us to ten calls, and this is known to 35%. So nothing is left of the calls of line 14."""
    paths = (
        CallPath("program", "program", 1, 100_000),
        CallPath("user", "train", 1, 90_000, parent=0, source=PLACE, file="net.py", first=7),
        *(
            CallPath("builtin", "Tensor.item", 10, 0, parent=1, line=line, table="Tensor", method="item")
            for line in (12, 13, 14)
        ),
    )
    times = (20_000, 8_000, 6_000)
    calls = tuple(OperatorCalls(2 + number, 3, 0, 10, time) for number, time in enumerate(times))
    rows = shown(paths, calls, profiling=500).table
    (at,) = [number for number, row in enumerate(rows) if row.heading]
    assert [(row.cells[0], row.what, row.share and round(row.share, 4)) for row in rows[at + 1 :]] == [
        ("15 us", "net.py:12", round(15_000 / (100_000 - 30 * 500), 4)),
        ("≤4.8 us", "net.py:13", None),
    ]


@pytest.mark.words
def test_opening_a_name_shows_the_costliest_part_and_names_the_others() -> None:
    paths = (
        CallPath("program", "program", 1, 10_000),
        CallPath("user", "quick", 1, 1_000, parent=0, source=PLACE, file="net.py", first=1),
        CallPath("module", "", 1, 900, parent=1, type="Net", source=PLACE),
        CallPath("module", "first", 1, 500, parent=2, type="Block", source=PLACE),
        CallPath("user", "train", 1, 8_000, parent=0, source=PLACE, file="net.py", first=9),
        CallPath("module", "", 1, 7_000, parent=4, type="Net", source=PLACE),
        CallPath("module", "first", 1, 6_000, parent=5, type="Block", source=PLACE),
    )
    calls = (OperatorCalls(3, LINEAR, 0, 1, 300), OperatorCalls(6, LINEAR, 0, 1, 4_500))
    page = shown(paths, calls, opened="first")
    assert [(row.name, row.share) for row in page.table][:2] == [("first  Block", 1.0), ("linear", 0.75)]
    assert "first in train: 6.0 us of 10 us; shares are of these 6.0 us" in page.facts
    assert "the costliest with this name; others: first in quick 0.5 us" in page.facts


def test_a_name_that_only_one_part_has_needs_no_word_on_others() -> None:
    paths = (
        CallPath("program", "program", 1, 10_000),
        CallPath("user", "train", 1, 8_000, parent=0, source=PLACE, file="net.py", first=9),
    )
    page = shown(paths, (OperatorCalls(1, LINEAR, 0, 1, 300),), opened="train")
    assert not any("others" in fact for fact in page.facts)


def pass_over(blocks: int, at: int, outer: int, time: int) -> tuple[list[CallPath], list[OperatorCalls]]:
    """A network of blocks A, B, C, each with an operator, that the path `outer` calls."""
    paths = [CallPath("module", "", 1, time, parent=outer, type="Net", source=PLACE)]
    calls = []
    for number in range(blocks):
        for kind, route in (("A", LINEAR), ("B", RELU), ("C", LINEAR)):
            name = f"{'abc'['ABC'.index(kind)]}{number}"
            paths.append(CallPath("module", name, 1, time // 20, parent=at, type=kind, source=PLACE))
            calls.append(OperatorCalls(at + len(paths) - 1, route, 0, 1, time // 30))
    return paths, calls


def test_rounds_of_a_pattern_are_one_row_for_each_of_its_modules() -> None:
    paths, calls = pass_over(3, 1, 0, 9_000)
    rows = shown((CallPath("program", "program", 1, 10_000), *paths), tuple(calls)).table
    assert [(row.name, row.times) for row in rows if row.level == 2][:3] == [
        ("a0 … a2  A", 3),
        ("b0 … b2  B", 3),
        ("c0 … c2  C", 3),
    ]


@pytest.mark.words
def test_a_second_pass_over_the_same_modules_refers_to_the_first() -> None:
    users = [CallPath("program", "program", 1, 20_000)]
    users.append(CallPath("user", "evaluate", 1, 5_000, parent=0, source=PLACE, file="net.py", first=1))
    users.append(CallPath("user", "train", 1, 9_500, parent=0, source=PLACE, file="net.py", first=9))
    short, short_calls = pass_over(2, 3, 1, 4_000)
    long, long_calls = pass_over(2, 3 + len(short), 2, 9_000)
    page = shown((*users, *short, *long), (*short_calls, *long_calls))
    names = [(row.level, row.name, row.what) for row in page.table]
    assert (2, "Net", "modules as in train") in names
    assert sum(name == "a0, a1  A" for _, name, _ in names) == 1
    assert not any("not shown" in line for line in page.left_out)
