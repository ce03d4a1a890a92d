"""Code that calls itself thousands of levels deep: every view, saving, loading and each export is there, in order."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from rich.console import Console

from ptexplore.model.nesting import folded, outermost, with_levels, without
from ptexplore.model.place_reasons import OutsideTorch
from ptexplore.model.places import SourceRef
from ptexplore.model.trace import Captured, Hop, PythonCall, ResultInfo, TorchInfo, Trace, walk
from ptexplore.render.stacks import FORMATS, exported
from ptexplore.render.terminal.trace import print_trace
from ptexplore.saved.trace import trace_from_json
from ptexplore.view.trace.explain import explain
from ptexplore.view.trace.expression_parts import expression_run
from ptexplore.view.trace.page import Options, TraceRow, ViewName
from ptexplore.view.trace.recursion import levels_folded
from ptexplore.view.trace.stacks import stacks_of
from ptexplore.view.trace.views import view, view_to_json
from ptexplore.view.words.saved import trace_to_json

LEVELS = 5000
COUNT = 6  # columns of the instructions of a row
PLACE = SourceRef(None, None, None, "unknown", reason=OutsideTorch("<--setup>"))
Make = Callable[[int, tuple[Hop, ...]], Hop]


def function(number: int, name: str, children: tuple[Hop, ...]) -> Hop:
    return Hop(number, "python", name, "observed", PLACE, python=PythonCall(None, name), children=children)


def operator(number: int, name: str = "aten::add.Tensor", children: tuple[Hop, ...] = ()) -> Hop:
    return Hop(number, "op", name, "observed", PLACE, op=name, instructions=100, time=10, children=children)


def trace(*hops: Hop) -> Trace:
    torch = TorchInfo("2.6.0", "0" * 40, "cpu", "")
    return Trace(
        expression="f(n)", bound=(), torch=torch, trees=(), captured=Captured(), result=ResultInfo(""), findings=(),
        hops=hops,
    )  # fmt: skip


def nested(levels: int, make: Make) -> Hop:
    """A chain of so many hops, numbered from the outermost on, around one operator."""
    hop = operator(levels + 1)
    for number in range(levels, 0, -1):
        hop = make(number, (hop,))
    return hop


def one_function(number: int, inside: tuple[Hop, ...]) -> Hop:
    return function(number, "f", inside)


def other_functions(number: int, inside: tuple[Hop, ...]) -> Hop:
    return function(number, f"f{number}", inside)


def operators(number: int, inside: tuple[Hop, ...]) -> Hop:
    return operator(number, f"aten::op{number}", inside)


def frames(number: int, inside: tuple[Hop, ...]) -> Hop:
    return Hop(number, "native", f"at::native::f{number}", "observed", PLACE, instructions=1000, children=inside)


def bindings(number: int, inside: tuple[Hop, ...]) -> Hop:
    return Hop(number, "binding", f"torch::b{number}", "observed", PLACE, children=inside)


def nodes(number: int, inside: tuple[Hop, ...]) -> Hop:
    return Hop(number, "node", f"Node{number}", "observed", PLACE, sequence=number, children=inside)


SHAPES = (one_function, other_functions, operators, frames, bindings, nodes)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
@pytest.mark.parametrize("name", ["path", "modules", "operators", "tree"])
def test_every_view(shape: Make, name: ViewName) -> None:
    deep = trace(nested(LEVELS, shape))
    page = view(deep, Options(view=name))
    assert page.rows if name == "tree" else page.table
    assert json.loads(view_to_json(page))["view"]["title"] == "f(n)"
    if name != "tree":  # whose drawing the next test looks at
        print_trace(Console(file=io.StringIO(), width=120), page, lambda ref: None)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_all_of_it(shape: Make) -> None:
    """With --full each hop is a row, in order, and its JSON says how deep it is."""
    page = view(trace(nested(LEVELS, shape)), Options(view="tree", full=True))
    assert [row.hop for row in walk(page.rows)] == list(range(1, LEVELS + 2))
    rows = json.loads(view_to_json(page))["view"]["rows"]
    assert [row["level"] for row in rows] == list(range(LEVELS + 1))


def test_a_deep_tree_is_drawn() -> None:
    page = view(trace(nested(LEVELS, frames)), Options(view="tree", full=True))
    console = Console(file=io.StringIO(), width=120)
    print_trace(console, page, lambda ref: None)
    printed = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert sum(f"[{number}]" in line for line in printed for number in (LEVELS, LEVELS + 1)) == 2
    assert max(map(len, printed)) <= 120  # guides do not grow with each level


@pytest.mark.parametrize("width", [40, 80, 120, 300])
def test_half_of_a_line_is_left_for_what_is_deep(width: int) -> None:
    """Each row has its name beside its guides, and behind the last guides its level."""
    page = view(trace(nested(300, other_functions)), Options(view="tree", full=True))
    console = Console(file=io.StringIO(), width=width)
    print_trace(console, page, lambda ref: None)
    printed = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    for number in range(1, 301):
        row = next(line for line in printed if f" f{number}()" in line)[COUNT:]
        assert row.index(f"f{number}()") <= max(width // 2, 12) + 2
        level = re.match(r"⋯(\d+) ", row)
        assert level is None or int(level[1]) == number - 1
        assert level is not None or row.index("└") == (number - 1) * 2


def test_saved_and_loaded() -> None:
    deep = trace(nested(LEVELS, other_functions))
    loaded, _ = trace_from_json(trace_to_json(deep).encode(), "x.json")
    assert [(hop.id, hop.name) for hop in walk(loaded.hops)] == [(hop.id, hop.name) for hop in walk(deep.hops)]
    assert json.loads(explain_json(loaded, LEVELS))


def explain_json(deep: Trace, number: int) -> str:
    return json.dumps(list(explain(deep, None, number).why) or ["-"])


@pytest.mark.parametrize("form", FORMATS)
def test_exports(form: str) -> None:
    weighed = stacks_of(trace(nested(LEVELS, frames)), None)
    assert exported(weighed, form)


def test_cut_and_searched() -> None:
    deep = trace(nested(LEVELS, other_functions))
    [row] = view(deep, Options(view="tree", depth=3)).rows
    assert [len(r.children) for r in walk([row])] == [1, 1, 0]
    assert [*walk([row])][-1].hidden == LEVELS + 1 - 3
    found = view(deep, Options(view="tree", only=f"f{LEVELS}()")).rows
    assert [r.title for r in walk(found)][-2:] == [f"f{LEVELS}()", "aten::add.Tensor"]


# --- a function that calls itself: one row ---


def levels_of(rows: tuple[TraceRow, ...]) -> list[str]:
    return [row.title for row in walk(rows)]


def test_levels_are_one_row_on_the_first_screen() -> None:
    deep = trace(nested(251, one_function))
    assert [(row.level, row.name) for row in view(deep, Options(view="path")).table] == [
        (0, "Python"), (1, "f() ×251"), (2, "aten::add.Tensor"),
    ]  # fmt: skip
    assert levels_of(view(deep, Options(view="tree")).rows) == ["f() ×251", "aten::add.Tensor"]


def test_what_each_level_called_is_listed_in_its_order() -> None:
    """Each level calls `mul`, the next level, then `sub`: as the calls began and ended."""
    number = iter(range(1, 10**6))

    def level(left: int) -> Hop:
        inside: list[Hop] = []
        for n in range(left):  # innermost first
            held = inside
            inside = [function(next(number), "f", (operator(next(number), f"aten::mul{n}"), *held,
                                                   operator(next(number), f"aten::sub{n}")))]  # fmt: skip
        return inside[0]

    [hop], levels = levels_folded([level(6)])
    assert levels == {hop.id: 6}
    called = [child.name for child in hop.children]
    assert called == [*(f"aten::mul{n}" for n in reversed(range(6))), *(f"aten::sub{n}" for n in range(6))]


def test_functions_that_call_each_other_in_turn() -> None:
    def turn(number: int, inside: tuple[Hop, ...]) -> Hop:
        return function(number, "even" if number % 2 else "odd", inside)

    rows = view(trace(nested(100, turn)), Options(view="tree")).rows
    assert levels_of(rows) == ["even() ×50", "odd() ×50", "aten::add.Tensor"]
    rows = view(trace(nested(101, turn)), Options(view="tree")).rows
    assert levels_of(rows) == ["even() ×50", "odd() ×50", "even()", "aten::add.Tensor"]


def test_few_levels_other_functions_and_two_calls_of_itself_stay() -> None:
    assert levels_folded([nested(3, one_function)])[1] == {}
    assert levels_folded([nested(50, other_functions)])[1] == {}
    tree = operator(0)
    for number in range(1, 8):
        tree = function(number, "f", (tree, replace(tree, id=100 + number)))
    assert all(count == 1 or tree for count in levels_folded([tree])[1].values())


def test_levels_count_in_no_figure_twice() -> None:
    part = expression_run(trace(nested(300, one_function)), None).whole
    assert part.operators == 1


# --- the ways to walk ---


def plain(hop: Hop) -> Iterator[int]:
    yield hop.id
    for child in hop.children:
        yield from plain(child)


def test_walking_is_what_recursion_would_do() -> None:
    tree = function(1, "a", (operator(2), function(3, "b", (operator(4, children=(operator(5),)), operator(6)))))
    assert [hop.id for hop in walk([tree])] == list(plain(tree))
    assert folded([tree], lambda hop, inside: [hop.id, *inside]) == ([1, [2], [3, [4, [5]], [6]]],)
    assert [hop.id for hop in outermost([tree], lambda hop: hop.kind == "op")] == [2, 4, 6]
    assert [hop.id for hop in without([tree], lambda hop: hop.id == 3)] == [1, 2]
    levels = with_levels([tree], lambda hop, level: level == 0 or hop.kind == "python")
    assert [(hop.id, level) for hop, level in levels] == [(1, 0), (2, 1), (3, 1), (4, 2), (6, 2)]
    asked: list[int] = []
    folded([tree], lambda hop, _: asked.append(hop.id))
    assert asked == [2, 5, 4, 6, 3, 1]  # what is inside comes first, in order


def test_the_work_of_a_view_grows_with_the_levels_alone() -> None:
    """Twice as deep is twice the work, counted in calls of Python functions."""

    def calls(levels: int, name: ViewName, shape: Make) -> int:
        deep = trace(nested(levels, shape))
        count = 0

        def counted(frame: object, event: str, argument: object) -> None:
            nonlocal count
            count += event == "call"

        sys.setprofile(counted)
        try:
            view(deep, Options(view=name))
        finally:
            sys.setprofile(None)
        return count

    for shape in SHAPES:
        for name in ("path", "modules", "operators", "tree"):
            calls(10, name, shape)  # caches, and imports inside functions
            small, large = calls(300, name, shape), calls(1200, name, shape)
            assert large < 5 * small, (shape.__name__, name, small, large)
