"""A run of torch.compile as a page of the site: the sections of its page, the lines it names, and each graph's code."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from msgspec import Struct

from ptexplore.model.compiled import CompileReport
from ptexplore.model.compiler_log import CodeLine
from ptexplore.view.compile_opened import graph_sections
from ptexplore.view.compile_page import (
    CompilePage,
    FileLabels,
    PageLine,
    PagePlace,
    PageRow,
    PageSection,
    causes_of,
    compile_page,
    graph_label,
    labels_of,
)
from ptexplore.view.words.compiling import amount, outcome_words

MOST_KERNELS = 3  # kernels that a line names; the others are counted
_FOLDERS = re.compile(r"(?<![\w.~])/(?:[^\s/:\"'<>]+/)+(?=[\w.-]+\.\w)")  # the folders before a file's name


class NamedLine(Struct, frozen=True):
    """A line of your code that the run names. `text` is empty if the log does not have it."""

    line: int
    text: str
    remarks: tuple[str, ...]  # what torch.compile did there
    is_next: bool  # whether it follows the line before it in the list


class NamedFile(Struct, frozen=True):
    """A file of your code, with the lines that the run names."""

    name: str
    file: str
    lines: tuple[NamedLine, ...]


class GraphOnPage(Struct, frozen=True):
    """A graph: its name, its function, and its sections: its operators, values, kernels with their code."""

    name: str
    function: str
    sections: tuple[PageSection, ...]


class CompiledOnPage(Struct, frozen=True):
    """Everything that the page of one run shows. It names no folder of the machine that made the run."""

    page: CompilePage
    files: tuple[NamedFile, ...]
    graphs: tuple[GraphOnPage, ...]

    def anchor(self, place: PagePlace) -> str | None:
        """Returns the fragment of a place among the named lines: "f1-L12". None if it is not one of these."""
        for number, file in enumerate(self.files, 1):
            if file.file == place.file and any(line.line == place.line for line in file.lines):
                return f"f{number}-L{place.line}"
        return None


def compiled_on_page(report: CompileReport) -> CompiledOnPage:
    """Returns the page of a run, with all its graphs."""
    names = labels_of(report)
    graphs = tuple(
        GraphOnPage(
            graph_label(graph.compilation, is_backward=graph.is_backward),
            graph.function,
            tuple(without_folders(section, report.run.cwd) for section in graph_sections(report, graph)),
        )
        for graph in report.compiled
    )
    page = compile_page(report)
    sections = tuple(without_folders(section, report.run.cwd) for section in page.sections)
    return CompiledOnPage(replace(page, sections=sections), tuple(_files(report, names)), graphs)


def without_folders(section: PageSection, cwd: str) -> PageSection:
    """Returns a section that names no folder of the machine that made the run. `cwd` is the run's own folder.

    The file of a place stays as it is: it is not shown.
    """

    def short(text: str) -> str:
        return _FOLDERS.sub("", text.replace(f"{cwd.rstrip(os.sep)}{os.sep}", "") if cwd.strip(os.sep) else text)

    def place(known: PagePlace | None) -> PagePlace | None:
        return replace(known, name=short(known.name)) if known is not None else None

    def line(shown: PageLine) -> PageLine:
        return replace(shown, text=short(shown.text), place=place(shown.place))

    rows = tuple(
        PageRow(row.cells, short(row.name), place(row.place), short(row.text), tuple(map(line, row.lines)))
        for row in section.rows
    )
    return replace(section, rows=rows, code=tuple(map(short, section.code)), files=())


def _files(report: CompileReport, names: FileLabels) -> Iterator[NamedFile]:
    """Yields the files of your code, the file with the most lines first."""
    texts: dict[tuple[str, int], str] = {}
    remarks: defaultdict[tuple[str, int], list[str]] = defaultdict(list)
    for line, remark in _remarks(report, names):
        if not line.file or line.file.startswith("<") or names.is_torchs(line):
            continue
        at = (line.file, line.line)
        texts[at] = texts.get(at) or line.text
        if remark and remark not in remarks[at]:
            remarks[at].append(remark)
    by_file: defaultdict[str, list[int]] = defaultdict(list)
    for file, number in sorted(texts):
        by_file[file].append(number)
    for file, numbers in sorted(by_file.items(), key=lambda each: (-len(each[1]), each[0])):
        name = _FOLDERS.sub("", names.place(CodeLine(file, 1, "")).name.rpartition(":")[0])
        lines = tuple(
            NamedLine(number, texts[file, number], tuple(remarks[file, number]), number - 1 in numbers)
            for number in numbers
        )
        yield NamedFile(name, file, lines)


def _remarks(report: CompileReport, names: FileLabels) -> Iterator[tuple[CodeLine, str]]:
    """Yields each line that the run names, with what torch.compile did there."""
    keys = list(causes_of(report, names))
    for function in report.functions:
        if not function.is_backward and not function.is_call:
            begins = CodeLine(function.file, function.line, function.name)
            yield begins, f"{function.name} begins: {outcome_words(function)}"
        for broken in function.breaks:
            yield from ((frame, "") for frame in broken.stack)
            if broken.at is not None:
                number = keys.index((broken.reason.kind, broken.reason.explanation)) + 1
                yield broken.at, f"a graph ends [{number}]"
        if function.failed_at is not None:
            yield function.failed_at, ""
    for recompilation in report.recompilations:
        for check in recompilation.checks:
            yield from ((frame, "") for frame in check.stack)
            if check.at is not None:
                yield check.at, ""
    for guards in report.guards:
        if guards.at is not None:
            yield guards.at, amount(sum(count for _kind, count in guards.kinds), "guard")
    yield from _kernel_remarks(report)


def _kernel_remarks(report: CompileReport) -> Iterator[tuple[CodeLine, str]]:
    """Yields each line that a kernel computes, with the name of the kernel and its graphs."""
    graphs: defaultdict[tuple[CodeLine, str], list[str]] = defaultdict(list)
    for kernel in report.kernels:
        for line in kernel.lines:
            graphs[line, kernel.name].append(graph_label(kernel.compilation, is_backward=kernel.is_backward))
    by_line: defaultdict[CodeLine, list[str]] = defaultdict(list)
    for (line, name), labels in graphs.items():
        by_line[line].append(f"{name} of {', '.join(dict.fromkeys(labels))}")
    for line, names in by_line.items():
        yield from ((line, name) for name in names[:MOST_KERNELS])
        if len(names) > MOST_KERNELS:
            yield line, f"{amount(len(names) - MOST_KERNELS, 'more kernel')}, under Graphs and code"


def sections_in_use(pages: Sequence[PageSection]) -> list[tuple[str, PageSection]]:
    """Returns the sections that have a title, each with the fragment of its heading."""
    return [("-".join(section.title.lower().replace(",", "").split()), section) for section in pages if section.title]
