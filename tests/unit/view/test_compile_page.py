"""The page about torch.compile: kernels that graphs share, names of operators, what a compiled function calls."""

from __future__ import annotations

import pytest

from ptexplore.model.compiled import (
    BreakReason,
    CompiledGraph,
    CompileReport,
    CompileRun,
    FailedCheck,
    GeneratedKernel,
    GraphBreak,
    MetFunction,
    Recompilation,
    ValueForBackward,
)
from ptexplore.model.compiler_log import CodeLine, CompilerLog
from ptexplore.model.options import TraceOptions
from ptexplore.model.trace import TorchInfo
from ptexplore.view.compile_page import CompilePage, FileLabels, compile_page, kept_line, operator_words
from ptexplore.view.words.compiling import check_words

FILE = "/a/train.py"


def page(
    functions: tuple[MetFunction, ...],
    recompilations: tuple[Recompilation, ...] = (),
    kernels: tuple[GeneratedKernel, ...] = (),
    compiled: tuple[CompiledGraph, ...] = (),
) -> CompilePage:
    torch = TorchInfo("2.13.0", torch_dir="/t/torch")
    run = CompileRun(
        expression="f(x)", torch=torch, options=TraceOptions(), wraps=False, bound=(), log=CompilerLog(), cwd="/a"
    )
    return compile_page(CompileReport(run, functions, recompilations, (), kernels, compiled=compiled))


def kernel(compilation: str, name: str = "cpp_fused_sin_0") -> GeneratedKernel:
    return GeneratedKernel(name, compilation, ("sin",), (), calls=("aten.sin.default",))


def test_a_kernel_that_several_graphs_have_is_one_row() -> None:
    shown = page((), (), (kernel("0/0"), kernel("0/1"), kernel("0/2"), kernel("0/2"), kernel("0/0", "cpp_fused_1")))
    (section,) = (section for section in shown.sections if section.heading == "kernel")
    assert [(row.cells, row.name) for row in section.rows] == [
        (("0/0, 0/1",), "cpp_fused_sin_0"), (("0/2",), "cpp_fused_sin_0 ×2"), (("0/0",), "cpp_fused_1"),
    ]  # fmt: skip


def test_an_operator_of_torch_has_its_name_without_namespace() -> None:
    calls = ("aten.sin.default", "prims.convert_element_type.default", "mine.sin.default", "aten.sin.default")
    assert operator_words(GeneratedKernel("k", "0/0", (), (), calls=calls)) == "sin ×2, convert_element_type, mine.sin"


def test_a_value_on_the_first_screen_has_no_strides() -> None:
    names = FileLabels("/a", "", "/t/torch")
    value = ValueForBackward("exp", "f32[4, 8][8, 1]cpu", 128, "aten.exp.default")
    assert "f32[4, 8][8, 1]cpu" in kept_line(value, names).text
    assert kept_line(value, names, is_short=True).text.endswith("f32[4, 8]")


def test_values_that_are_alike_are_one_line_with_all_their_bytes() -> None:
    kept = tuple(ValueForBackward(f"exp_{n}", "f32[4, 8][8, 1]cpu", 128, "aten.exp.default") for n in range(3))
    other = ValueForBackward("sin", "f32[2][1]cpu", 8, "aten.sin.default")
    graph = CompiledGraph("0/0", "f", False, "", kept=(*kept, other), has_partition=True)
    (section,) = (section for section in page((), (), (), (graph,)).sections if section.title == "Kept for backward")
    assert [(line.label.strip(), line.text) for line in section.rows[0].lines] == [
        ("384 B", "exp ×3  f32[4, 8]"), ("8 B", "sin = sin  f32[2]"),
    ]  # fmt: skip


def test_of_many_kernels_only_the_numbers_of_their_lines_are_shown() -> None:
    lines = (CodeLine(FILE, 9, "f", "x.sin()"), CodeLine(FILE, 7, "f", "x.cos()"), CodeLine("/b/m.py", 3, "g", "y"))
    kernels = [GeneratedKernel(f"cpp_{n}", "0/0", ("sin",), lines) for n in range(4)]
    for shown, words in ((kernels[:2], ["x.sin()", "x.cos()", "y"]), (kernels, ["train.py:7, 9  /b/m.py:3"])):
        (section,) = (section for section in page((), (), tuple(shown)).sections if section.heading == "kernel")
        assert [line.text for line in section.rows[0].lines if line.label == "computes"] == words


def test_a_break_in_another_function_names_the_line_that_called_it() -> None:
    stack = (CodeLine(FILE, 9, "<module>"), CodeLine(FILE, 6, "f", "h(x)"), CodeLine(FILE, 2, "h", "print()"))
    reason = BreakReason("kind", operator="torch.utils.checkpoint.checkpoint")
    broken = GraphBreak(stack[-1], reason, stack)
    sections = page((MetFunction("f", FILE, 5, "broken", breaks=(broken,)),)).sections
    (line,) = sections[0].rows[0].lines
    assert line.text.endswith("in h, called from train.py:6")
    (rule,) = (line for line in sections[1].rows[0].lines if "checkpoint" in line.text)
    assert not rule.label


def test_the_remedy_of_a_recompilation_is_shown_once() -> None:
    checks = [(FailedCheck(f"0/{n}", f"n == {n}", "value", "n", None, "1", "2", hint="do this"),) for n in range(3)]
    again = tuple(Recompilation(f"0/{n + 1}", "f", FILE, 1, check) for n, check in enumerate(checks))
    (section,) = (s for s in page((MetFunction("f", FILE, 1, "whole"),), again).sections if s.columns == ("times",))
    assert [line.text for line in section.rows[0].lines if line.label == "hint:"] == ["do this"]


def test_only_a_second_backward_says_that_its_reason_is_unknown() -> None:
    backward = MetFunction("b", FILE, 1, "whole", is_backward=True)
    (section,) = page((backward, backward, backward)).sections
    assert [len(row.lines) for row in section.rows] == [0, 1, 0]


@pytest.mark.parametrize(
    "check, words",
    [
        (FailedCheck("0/0", "", "state", "grad_mode num_threads"), "grad_mode, num_threads"),
        (FailedCheck("0/0", "", "value", "G['SCALE']", None, "1", "3"), "global SCALE was 1, now 3"),
        (
            FailedCheck("0/0", "", "value", "keys", None, "{'a'}", new_class="Keys"),
            "keys was {'a'}, now it is an object, of class Keys",
        ),
        (FailedCheck("0/0", "", "length", "len(G['seen'])", None, "1", "3"), "len(global seen) was 1, now 3"),
    ],
)
@pytest.mark.words
def test_a_failed_guard_is_named_in_words(check: FailedCheck, words: str) -> None:
    assert check_words(check).endswith(words)


@pytest.mark.words
def test_the_value_that_is_new_comes_before_a_value_that_was_compiled_for() -> None:
    """A list grows, and the gradient is in turns needed and not needed: the list is the reason."""

    def gradient(version: str, old: str, new: str) -> FailedCheck:
        return FailedCheck(version, "", "requires_grad", "x", None, old, new)

    def length(version: str, old: str, new: str) -> FailedCheck:
        return FailedCheck(version, "", "length", "len(self.seen)", None, old, new)

    checks = [
        (gradient("0/0", "False", "True"),),
        (gradient("0/1", "True", "False"), length("0/0", "1", "2")),
        (gradient("0/2", "False", "True"), length("0/1", "1", "2"), gradient("0/0", "False", "True")),
        (gradient("0/3", "True", "False"), length("0/2", "2", "3")),
    ]
    again = tuple(Recompilation(f"0/{n}", "f", FILE, 1, each) for n, each in enumerate(checks, 1))
    (section,) = (s for s in page((MetFunction("f", FILE, 1, "whole"),), again).sections if s.columns == ("times",))
    named = [(row.cells[0], row.name.split(" was ")[0]) for row in section.rows]
    assert named[0] == ("1", "requires_grad of x")
    assert ("3", "len(self.seen)") in named
    row = next(row for row in section.rows if row.name.startswith("len"))
    assert any("requires_grad of x" in line.text for line in row.lines)


def test_a_recompilation_without_a_reason_has_a_row() -> None:
    again = (Recompilation("0/1", "f", FILE, 1, ()), Recompilation("0/2", "f", FILE, 1, ()))
    (section,) = (s for s in page((MetFunction("f", FILE, 1, "whole"),), again).sections if s.columns == ("times",))
    assert [(row.cells, row.name) for row in section.rows] == [(("2",), "torch does not say why")]


def test_a_break_in_a_method_of_the_same_name_is_in_another_function() -> None:
    stack = (CodeLine(FILE, 30, "forward", "b(x)"), CodeLine(FILE, 15, "forward", "if y.max() > 1:"))
    broken = GraphBreak(stack[-1], BreakReason("kind"), stack)
    sections = page((MetFunction("Net.forward", FILE, 26, "skipped", breaks=(broken,)),)).sections
    assert sections[0].rows[0].lines[0].text.endswith("in forward, called from train.py:30")


def test_hints_that_two_reasons_share_are_written_once() -> None:
    at = CodeLine(FILE, 7, "f")
    reasons = (BreakReason("a", hints=("do this",)), BreakReason("b", hints=("do this",)), BreakReason("c"))
    breaks = tuple(GraphBreak(at, reason, (at,)) for reason in reasons)
    (_, because) = page((MetFunction("f", FILE, 5, "broken", breaks=breaks),)).sections
    shown = [[line.text for line in row.lines if line.label.startswith("hint")] for row in because.rows]
    assert shown == [["do this"], ["the same as of [1]"], []]
