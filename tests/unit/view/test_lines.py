"""The view `lines` of a program made here: each figure is on the line that it belongs to, and all of them add up."""

from __future__ import annotations

import pytest
from msgspec import structs

from ptexplore.errors import USAGE, PtexploreError
from ptexplore.model.details import OnNoLine
from ptexplore.model.program import (
    CallPath,
    CopiedTensor,
    LocalSets,
    OperatorCalls,
    OperatorKind,
    OperatorRoute,
    Program,
    SourceText,
)
from ptexplore.model.tensors import RecordedTensor
from ptexplore.model.trace import Captured, ResultInfo, TorchInfo, Trace
from ptexplore.saved.program import portable_program
from ptexplore.view.trace.line_figures import LinePlace, figures_of, shown_files, sum_of
from ptexplore.view.trace.page import Options, ScreenRow
from ptexplore.view.trace.program_parts import is_compilation
from ptexplore.view.trace.views import view

MS = 1_000_000
MINE, PACKAGE = "/project/train.py", "/env/lib/python3.11/site-packages/made/model.py"
RELU, RELU_NODE, ADD = 0, 1, 2
PATHS = (
    CallPath("program", "program", 1, 1_100 * MS),
    CallPath("user", "<module>", 1, 1_000 * MS, parent=0, file=MINE, first=1),
    CallPath("module", "", 3, 300 * MS, parent=1, line=30, type="Net", file=MINE, first=10),
    CallPath("user", "Net.forward", 3, 290 * MS, parent=2, file=MINE, first=10),
    CallPath("builtin", "torch.relu", 3, 100 * MS, parent=3, line=12, table="t", method="relu"),
    CallPath("torch", "Tensor.backward", 3, 400 * MS, parent=1, line=32, file="/torch/_tensor.py", first=5),
    CallPath("builtin", "", 3, 390 * MS, parent=5, line=3, table="t", method="run_backward"),
    CallPath("imports", "imports", 20, 50 * MS, parent=1, line=1),
    CallPath("user", "Made.forward", 3, 100 * MS, parent=3, line=13, file=PACKAGE, first=50, package=True),
    CallPath("builtin", "torch.tanh", 3, 90 * MS, parent=8, line=55, table="t", method="tanh"),
    CallPath("user", "Net.forward", 2, 20 * MS, parent=3, line=14, file=MINE, first=10),  # it calls itself
    CallPath("builtin", "torch.relu", 2, 10 * MS, parent=10, line=12, table="t", method="relu"),
)
CALLS = (
    OperatorCalls(4, RELU, 0, 3, 80 * MS, weights={"saved": 1_000}),
    OperatorCalls(6, RELU_NODE, 0, 3, 300 * MS, recorded=0),
    OperatorCalls(3, ADD, 0, 3, 30 * MS, line=11),
    OperatorCalls(3, ADD, 0, 1, 10 * MS),
    OperatorCalls(9, RELU, 0, 3, 60 * MS),
    OperatorCalls(11, RELU, 0, 2, 8 * MS, weights={"saved": 24}),
)
TEXT = ((10, "    def forward(self, x):"), (11, "        x = x + 1"), (30, "    out = model(x)"))


def program() -> Program:
    kinds = (
        OperatorKind("op", "aten::relu", counted=True),
        OperatorKind("node", "ReluBackward0"),
        OperatorKind("op", "aten::add", counted=True),
    )
    routes = (OperatorRoute(RELU, 0), OperatorRoute(RELU_NODE, 0, recorded=0, offset=0), OperatorRoute(ADD, 0))
    made = Program(PATHS, (LocalSets(0, 0),), kinds, routes, CALLS, "", 0, 1_100 * MS, 0)
    return structs.replace(made, sources=(SourceText(MINE, TEXT),))


def trace(made: Program) -> Trace:
    return Trace("--script train.py", (), TorchInfo("2.99.0"), (), Captured(), ResultInfo(), (), (), program=made)


def is_mine(path: CallPath) -> bool:
    return path.kind == "user" and path.file == MINE


def rows_of(made: Program, only: str | None = None) -> tuple[ScreenRow, ...]:
    return view(trace(made), Options(view="lines", only=only)).table


def test_each_line_has_what_was_called_from_it_and_its_own_time_is_outside_of_other_lines() -> None:
    lines = figures_of(program(), is_mine)
    whole = {place.line: figures.whole.cost // MS for place, figures in lines.figures.items() if not place.function}
    own = {place.line: figures.own.cost // MS for place, figures in lines.figures.items() if not place.function}
    # The module of line 30 ran lines 11 to 14. Line 12 ran inside of line 14, too.
    assert whole == {30: 300, 12: 110, 11: 30, 13: 100, 14: 20, 32: 400}
    assert own == {30: 10, 12: 110, 11: 30, 13: 100, 14: 0, 32: 400}
    functions = {place.function: figures.own.cost // MS for place, figures in lines.figures.items() if place.function}
    assert functions == {"<module>": 250, "Net.forward": 50}
    by_syntax = {place.function for place, figures in lines.figures.items() if figures.by_syntax}
    assert by_syntax == {"Net.forward"}, "of one call of add the line is not known"
    assert lines.main == 950 * MS


def test_backward_bytes_and_operators_are_of_the_lines_that_made_them() -> None:
    figures = figures_of(program(), is_mine).figures
    relu, outer, backward = (figures[LinePlace(MINE, line)] for line in (12, 30, 32))
    assert (relu.own.saved, relu.own.backward, relu.own.operators, relu.own.calls) == (1_024, 300 * MS, 5, 5)
    assert (outer.whole.saved, outer.whole.backward, outer.whole.operators) == (1_024, 300 * MS, 12)
    assert (outer.own.operators, outer.own.calls) == (0, 3)
    assert backward.runs_nodes
    assert not relu.runs_nodes


def test_figures_of_a_file_and_the_rest_add_up_to_the_run() -> None:
    rows = rows_of(program())
    file, rest = rows[0], rows[-1]
    assert (file.name, file.heading) == ("train.py", True)
    assert [file.cells[1], rest.cells[1]] == ["950 ms", "100 ms"]
    lines = [row for row in rows if not row.heading and row is not rest]
    assert sum(int(row.cells[1].split()[0]) for row in lines if row.cells[1]) == 950
    assert {row.place.line for row in lines if row.place is not None} == {1, 10, 11, 12, 13, 14, 30, 32}


def test_a_line_has_its_text_or_the_name_of_its_function() -> None:
    names = [row.name.strip() for row in rows_of(program())]
    assert "11          x = x + 1" in names
    assert "12  in Net.forward" in names
    (function,) = [row for row in rows_of(program()) if "def forward" in row.name]
    assert function.details == (OnNoLine(syntax=True),)


def test_lines_of_a_package_are_shown_if_they_are_asked_for_or_if_there_are_no_others() -> None:
    assert not any("made" in row.name for row in rows_of(program()))
    asked = rows_of(program(), only="made/model")
    assert [row.name for row in asked if row.heading] == ["made/model.py"]
    assert any(row.name.strip().startswith("55") for row in asked)
    asked = rows_of(program(), only="made.FORWARD")
    assert [row.name for row in asked if row.heading] == ["made/model.py"]
    moved = tuple(structs.replace(path, file=PACKAGE, package=True) if path.file == MINE else path for path in PATHS)
    headings = [row.name for row in rows_of(structs.replace(program(), paths=moved)) if row.heading]
    assert headings == ["made/model.py"]
    with pytest.raises(PtexploreError, match="has other in its name") as wrong:
        rows_of(program(), only="other")
    assert wrong.value.exit_code == USAGE


def test_a_saved_program_keeps_lines_and_text_without_folders() -> None:
    saved = portable_program(program(), "/env/lib/python3.11/site-packages")
    assert saved.sources[0].file == "train.py"
    assert [row.name for row in rows_of(saved)] == [row.name for row in rows_of(program())]
    assert list(shown_files((PACKAGE, MINE, "made/model.py")).values()) == [
        "made/model.py",
        "train.py",
        "made/model.py",
    ]


def test_two_files_with_one_name_stay_apart() -> None:
    """Also in a saved program, which has no folders: lines of one file must not count for the other."""
    other = "/project/data/train.py"
    paths = (*PATHS, CallPath("user", "load", 1, 20 * MS, parent=1, line=33, file=other, first=28),
             CallPath("builtin", "torch.relu", 1, 10 * MS, parent=12, line=30, table="t", method="relu"))  # fmt: skip
    made = structs.replace(program(), paths=paths)
    for shown in (made, portable_program(made, "/env/lib/python3.11/site-packages")):
        rows = rows_of(shown)
        assert [row.name for row in rows if row.heading] == ["project/train.py", "data/train.py"]
        first, second = (row for row in rows if row.name.lstrip().startswith("30"))
        assert (first.name, first.cells[0]) == ("   30      out = model(x)", "300 ms")
        assert (second.name, second.cells[0]) == ("   30  in load", "10 ms")


@pytest.mark.words
def test_lines_that_cost_little_are_folded() -> None:
    many = tuple(
        CallPath("builtin", "torch.relu", 1, 1_000, parent=1, line=100 + number, table="t", method="relu")
        for number in range(50)
    )
    rows = rows_of(structs.replace(program(), paths=(*PATHS, *many)))
    folded = [row.name.strip() for row in rows if row.name.strip().startswith("…")]
    assert folded == ["… 50 lines"]


def test_an_expression_has_no_lines_and_open_names_no_line() -> None:
    expression = Trace("a + b", (), TorchInfo("2.99.0"), (), Captured(), ResultInfo(), (), ())
    for given, options in (
        (expression, Options(view="lines")),
        (trace(program()), Options(view="lines", opened="Net")),
    ):
        with pytest.raises(PtexploreError) as wrong:
            view(given, options)
        assert wrong.value.exit_code == USAGE
        assert wrong.value.hint


def test_a_line_whose_time_is_a_bound_says_so_and_the_files_still_are_the_whole_run() -> None:
    """Of most of the time in `Made.forward`, which line 13 calls, it is not known whether it is recording."""
    paths = list(PATHS)
    paths[8] = structs.replace(paths[8], time=200 * MS, recording=110 * MS, error=95 * MS)
    paths[9] = structs.replace(paths[9], recording=60 * MS, error=1 * MS)  # more than the 30 ms of its own
    made = structs.replace(program(), paths=tuple(paths))
    lines = figures_of(made, lambda path: path.file == MINE)
    line = lines.figures[LinePlace(MINE, 13)]
    assert line.of_whole.is_bound
    assert line.whole.cost == (200 - 170 + 96) * MS, "all but what is sure to be recording"
    rows = {row.name.split()[0]: row for row in view(trace(made), Options(view="lines")).table if row.name.split()}
    assert rows["13"].cells[0].startswith("≤")
    assert not rows["12"].cells[0].startswith("≤")
    assert sum_of(figures.of_own for figures in lines.figures.values()).known.cost == (950 - 170) * MS
    assert lines.main == (950 - 170) * MS


def test_a_line_that_lets_torch_compile_is_a_bound() -> None:
    """Python 3.11 is slower while it calls a profile function, and nothing that runs inside is recorded."""
    file = "/env/lib/python3.11/site-packages/torch/_dynamo/convert_frame.py"
    compiling = CallPath("torch", "_compile", 1, 80 * MS, parent=1, line=31, file=file, first=5)
    made = structs.replace(program(), paths=(*PATHS, compiling))
    assert is_compilation(compiling)
    assert figures_of(made, is_mine).figures[LinePlace(MINE, 31)].of_whole.is_bound
    assert not figures_of(made, is_mine).figures[LinePlace(MINE, 30)].of_whole.is_bound


@pytest.mark.words
def test_a_line_names_its_reads_of_values_and_its_copies() -> None:
    """Also the methods that a package calls for the line, and `tolist`, which calls no operator on the CPU."""
    made = program()
    kinds = (*made.kinds, OperatorKind("op", "aten::item", counted=False), OperatorKind("op", "aten::contiguous"))
    routes = (*made.routes, OperatorRoute(3, 0), OperatorRoute(4, 0, table="t", method="contiguous"))
    tensor = RecordedTensor(dtype="float32", sizes=(2, 3))
    paths = (
        *PATHS,
        CallPath("builtin", "torch.Tensor.tolist", 7, 1_000, parent=3, line=12, table="t", method="tolist"),
    )
    calls = (
        *CALLS,
        OperatorCalls(9, 3, 0, 4, 1_000),
        OperatorCalls(4, 4, 0, 6, 1_000, copies=(CopiedTensor(tensor, tensor, 6),)),
    )
    changed = structs.replace(made, kinds=kinds, routes=routes, paths=paths, calls=calls)
    rows = {row.name.split()[0]: row.what for row in rows_of(changed) if row.name.split()}
    assert rows["13"] == "reads: item ×4"
    assert rows["12"] == "reads: tolist ×7; copies: contiguous ×6 144 B"
    assert rows["14"] == "", "line 12 has its own calls"
