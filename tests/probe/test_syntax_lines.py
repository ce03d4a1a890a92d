"""The line of an operator by syntax: certain if all ways through a function's instructions give the same one."""

from __future__ import annotations

import dis
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from ptexplore.probe.paths import Label, Path
from ptexplore.probe.syntax_lines import SyntaxLines, _Code


def a_function(x: Any, first: Any, second: Any, times: int, y: Any) -> Any:
    x = x + first(x)
    x = x + second(x)
    for t in range(times):
        h = first(x[t] @ y + x @ y)
        x = x + (h - y[t]).sum()
    if x > 0:
        x = -x
    return x


def with_a_call_that_nobody_reports(x: Any, first: Any, unknown: Any) -> Any:
    h = first(x)
    h = unknown(h)
    return h + x


def with_harmless_calls(x: Any, first: Any, found: list[Any]) -> Any:
    h = first(x)
    found.append(h)
    print(len(found))
    return h + x


def with_a_handler(x: Any, first: Any) -> Any:
    try:
        h = first(x)
        h = h + 1
    except RuntimeError:
        h = x + 2
    return h


ADD, SELECT, MATMUL = "aten::add", "aten::select", "aten::matmul"


class Recorded:
    """A function with paths for those of its calls that are reported, in the order of its text."""

    def __init__(self, function: Callable[..., Any], *reported: int) -> None:
        code = function.__code__
        self.first = code.co_firstlineno
        root = Path(0, None, Label("program", "program"), None)
        label = Label("user", code.co_name, code.co_filename, code.co_firstlineno, code=code)
        self.path = Path(1, root, label, None)
        offsets = [each.offset for each in dis.get_instructions(code) if each.opname != "CACHE"]
        calls = [number for number, each in enumerate(_Code(code).instructions) if each.is_call]
        self.calls: list[Path] = []
        for number, call in enumerate(calls[place] for place in reported):
            called = Label("module", f"called {number}")
            inner = Path(2 + number, self.path, called, None)
            self.path.children[called, offsets[call]] = inner
            self.calls.append(inner)

    def lines(self, before: int | None, after: int | None, *names: str) -> Sequence[int | None]:
        given = SyntaxLines().lines(
            self.path,
            self.calls[before] if before is not None else None,
            self.calls[after] if after is not None else None,
            names,
        )
        return [line - self.first if line is not None else None for line in given]


def test_between_two_calls_only_some_instructions_can_run() -> None:
    # The calls are first, second, range, first, sum. range is none that is reported.
    recorded = Recorded(a_function, 0, 1, 3, 4)
    first, second, in_loop, sum_ = range(4)
    of_loop = (SELECT, MATMUL, MATMUL, ADD)
    assert recorded.lines(first, second, ADD) == [1]
    assert recorded.lines(second, in_loop, ADD, *of_loop) == [2, 4, 4, 4, 4]
    assert recorded.lines(in_loop, sum_, SELECT, "aten::sub") == [5, 5]
    assert recorded.lines(sum_, in_loop, ADD, *of_loop) == [5, 4, 4, 4, 4], "once more through the loop"
    assert recorded.lines(sum_, None, ADD, "aten::gt", "aten::is_nonzero", "aten::neg") == [5, 6, 6, 7]


def test_a_line_that_is_not_certain_is_none() -> None:
    recorded = Recorded(a_function, 0, 1, 3, 4)
    assert recorded.lines(0, 1, ADD, ADD) == [None, None], "only one addition is between them"
    assert recorded.lines(3, 2, ADD) == [None], "either `x + …` of tensors, or the other addition"
    assert recorded.lines(None, 2, ADD, SELECT, MATMUL, MATMUL, ADD) == [None, 4, 4, 4, 4]
    assert recorded.lines(0, 1, "aten::exp") == [None], "no instruction calls it"
    assert recorded.lines(0, 1, "mine::add") == [None]
    recorded.path.calls_others = True
    assert recorded.lines(0, 1, ADD) == [None], "a function that is not recorded may have called it"


def test_a_call_that_is_not_reported_may_call_any_operator() -> None:
    assert Recorded(with_a_call_that_nobody_reports, 0).lines(0, None, ADD) == [None]
    assert Recorded(with_harmless_calls, 0).lines(0, None, ADD) == [4]


def test_an_exception_may_lead_elsewhere() -> None:
    assert Recorded(with_a_handler, 0).lines(0, None, ADD) == [None]


@pytest.mark.parametrize("count", [100, 5_000])
def test_the_order_of_very_many_operators_is_not_used(count: int) -> None:
    recorded = Recorded(a_function, 0, 1, 3, 4)
    names = (MATMUL, ADD) * count
    assert recorded.lines(3, 2, *names) == [4, None] * count
