"""One graph, break, kernel or function of a run of torch.compile, with its code: `compile --open NAME`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from ptexplore.errors import USAGE, PtexploreError
from ptexplore.model.compiled import CompiledGraph, CompileReport, GeneratedKernel
from ptexplore.view.compile_page import (
    BreakCauses,
    CompilePage,
    FileLabels,
    PageLine,
    PageRow,
    PageSection,
    causes_of,
    compile_page,
    graph_label,
    kept_line,
    kernel_row,
    labels_of,
)
from ptexplore.view.words.compiling import break_title, operator_rule

_BREAK = re.compile(r"^\[?(?P<number>\d{1,4})\]?$")
_GRAPH = re.compile(r"^(?P<compilation>!?\d+(?:/\d+)+)(?P<backward> backward)?$")
_ENDS = "'''"  # begins the last line of a kernel's source text in generated code
MOST_NAMES = 8
MOST_LINES = 400  # of a graph or of generated code


def opened_page(report: CompileReport, name: str) -> CompilePage:
    """Returns the page of one graph ("0/1", "0/1 backward"), break ("[2]", "GB0170", "train.py:16") or kernel.

    A function's name opens its graphs. Raises PtexploreError (USAGE) if nothing has this name.
    """
    names, page = labels_of(report), compile_page(report)
    sections = tuple(
        section for find in (_breaks, _graphs, _kernels, _functions) for section in find(report, name.strip(), names)
    )
    if not sections:
        known = ", ".join(list(dict.fromkeys(_known(report, names)))[:MOST_NAMES])
        why = f"this run has: {known}" if known else "this run has no graph, break or kernel"
        raise PtexploreError(f"nothing in this run has the name {name[:80]}", why, "ptexplore compile --last", USAGE)
    return replace(page, facts=(), findings=(), sections=sections, next_step="")


def _known(report: CompileReport, names: FileLabels) -> Iterator[str]:
    yield from (f"[{number}]" for number, _ in enumerate(causes_of(report, names), 1))
    yield from (graph_label(graph.compilation, is_backward=graph.is_backward) for graph in report.compiled)
    yield from (kernel.name for kernel in report.kernels)


def _breaks(report: CompileReport, name: str, names: FileLabels) -> Iterator[PageSection]:
    number = _BREAK.match(name)
    causes: BreakCauses = causes_of(report, names)
    for position, (key, cause) in enumerate(causes.items(), 1):
        reason = cause.reason
        is_named = number is not None and int(number["number"]) == position
        if not (is_named or name == reason.number or name in cause.places):
            continue
        lines = [PageLine(reason.situation)] if reason.situation else []
        lines += [PageLine(reason.explanation)] if reason.explanation else []
        lines += [PageLine(operator_rule(reason.operator))] if reason.operator else []
        lines += [PageLine(hint, label="hint:") for hint in reason.hints]
        lines += [PageLine(reason.context, label="context:")] if reason.context else []
        lines += [PageLine(reason.link, label="page:")] if reason.link else []
        for function in report.functions:
            for broken in function.breaks:
                if (broken.reason.kind, broken.reason.explanation) != key:
                    continue
                lines.append(PageLine(function.name, label="breaks"))
                lines += [PageLine(frame.text, 1, names.place(frame)) for frame in broken.stack]
                if broken.gave_up is not None:
                    lines.append(PageLine(broken.gave_up.function, 1, names.place(broken.gave_up), "gave up in"))
        title = break_title(reason.kind, reason.number)
        yield PageSection(("",), "broken because", (PageRow((f"[{position}]",), title, lines=tuple(lines)),))


def _graphs(report: CompileReport, name: str, names: FileLabels) -> Iterator[PageSection]:
    asked = _GRAPH.match(name)
    if asked is None:
        return
    for graph in report.compiled:
        if graph.compilation == asked["compilation"] and (graph.is_backward or not asked["backward"]):
            yield from (*_graph(graph, names), *_kernels_of(report, graph, names))


def _functions(report: CompileReport, name: str, names: FileLabels) -> Iterator[PageSection]:
    if any(True for find in (_breaks, _graphs, _kernels) for _ in find(report, name, names)):
        return
    for graph in report.compiled:
        if name and name in graph.function:
            yield from (*_graph(graph, names), *_kernels_of(report, graph, names))


def _graph(graph: CompiledGraph, names: FileLabels) -> Iterator[PageSection]:
    label = graph_label(graph.compilation, is_backward=graph.is_backward)
    kept = [kept_line(value, names) for value in graph.kept]
    again = [kept_line(value, names) for value in graph.again]
    row = PageRow((label,), graph.function, lines=())
    after = ("only the first part of it is kept",) if graph.is_cut else ()
    yield PageSection(("graph",), "function", (row,), after, tuple(graph.text.strip("\n").split("\n")[:MOST_LINES]))
    if graph.has_partition:
        rows = []
        if kept:
            rows.append(PageRow(("",), "kept by forward for backward", lines=tuple(kept)))
        if again:
            rows.append(PageRow(("",), "computed again by backward", lines=tuple(again)))
        if rows:
            yield PageSection(("",), "values", tuple(rows))


def _kernels_of(report: CompileReport, graph: CompiledGraph, names: FileLabels) -> Iterator[PageSection]:
    own = [k for k in report.kernels if (k.compilation, k.is_backward) == (graph.compilation, graph.is_backward)]
    if own:
        yield PageSection(("",), "kernels, in the order of their calls", tuple(kernel_row(k, names) for k in own))


def _kernels(report: CompileReport, name: str, names: FileLabels) -> Iterator[PageSection]:
    if not name:
        return
    exact = [kernel for kernel in report.kernels if kernel.name == name]
    for kernel in exact or [kernel for kernel in report.kernels if name in kernel.name]:
        code = next((graph.code for graph in report.compiled if graph.file and graph.file == kernel.file), "")
        yield PageSection(
            ("graph",),
            "kernel",
            (kernel_row(kernel, names),),
            code=tuple(_code_of(kernel, code)),
            files=(kernel.file,) if kernel.file else (),
            is_code=True,
        )


def graph_sections(report: CompileReport, graph: CompiledGraph) -> Iterator[PageSection]:
    """Yields the parts of one graph: its operators, its values for backward, and each kernel with its code."""
    names = labels_of(report)
    yield from _graph(graph, names)
    for kernel in report.kernels:
        if (kernel.compilation, kernel.is_backward) == (graph.compilation, graph.is_backward):
            row = kernel_row(kernel, names)
            yield PageSection(("graph",), "kernel", (row,), code=tuple(_code_of(kernel, graph.code)), is_code=True)


def _code_of(kernel: GeneratedKernel, code: str) -> Iterator[str]:
    """Yields the lines that define a kernel in generated code, from its name to the end of its source text."""
    is_inside = False
    for line in code.split("\n"):
        is_inside = is_inside or line.startswith(f"{kernel.name} = ")
        if is_inside:
            yield line
            if line.startswith(_ENDS):
                return
