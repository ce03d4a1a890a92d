"""The generated files of one tree, read by the index's own extractors in several processes, into facts."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from ptexplore.catalogue.facts import Facts, GeneratedFile, facts_of
from ptexplore.cpp.macros import MacroTable, collect
from ptexplore.index.build import available, header_state, headers
from ptexplore.index.workers import Task, Whole, in_turn, read_all, read_whole
from ptexplore.source.listing import Listed
from ptexplore.source.progress import Progress
from ptexplore.store.index.read_ahead import PackedFile, ReadAhead, packed

_ATEN = "build/aten/src/ATen"
_AUTOGRAD = "torch/csrc/autograd/generated"
_STEP = "reading the generated C++"
# Besides those that records name: where entry points, nodes, bindings and the kernels of `add` stand.
_ALSO = (
    f"{_ATEN}/Operators_", f"{_ATEN}/CompositeViewCopyKernels.cpp", f"{_ATEN}/UfuncCPU", f"{_AUTOGRAD}/Functions.cpp",
    f"{_AUTOGRAD}/python_",
)  # fmt: skip


def gather(files: Iterable[Listed], named: Iterable[str], progress: Progress) -> tuple[Facts, ReadAhead]:
    """What the generated files among `files` hold: those of `named` paths, which records point into, and the others.

    Their rows come back as well, for the index of the same tree. Raises PtexploreError where a process that reads died.
    """
    progress.step(_STEP, 0.0)
    listed = list(files)
    wanted = set(named)
    tasks = [
        Task(0, file.path, file.file, file.layer, file.state[1] if file.state else 0, None)
        for file in listed
        if file.layer == "generated" and _holds_facts(file.path, wanted)
    ]
    tasks = in_turn(tasks, 1, available())
    macros = cache(lambda: collect(headers(listed)))
    pairs = []
    for number, pair in enumerate(read_all(tasks, macros, available(), read_facts)):
        progress.step(_STEP, 0.8 * number / len(tasks))
        if pair is not None:
            pairs.append(pair)
    total, rows = Facts(), []
    for facts, file in sorted(pairs, key=lambda pair: pair[1].path):
        total.add(facts)
        rows.append(file)
    total.bindings.sort(key=lambda binding: (binding.path, binding.entry_line))
    return total, ReadAhead(header_state(listed), macros().as_text(), rows, len(tasks) + 1)


def _holds_facts(path: str, named: set[str]) -> bool:
    return path in named or (path.endswith(".cpp") and path.startswith(_ALSO))


def read_facts(task: Task, macros: MacroTable) -> tuple[Facts, PackedFile] | None:
    """The facts and the rows of one file; None where it cannot be read."""
    read = read_whole(task, macros)
    if not isinstance(read, Whole):
        return None
    records = read.records
    return facts_of(GeneratedFile(task.path, read.text, records.symbols, records.dialect)), packed(read.rows)
