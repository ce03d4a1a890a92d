"""Read the generated files and gather what they hold: registrations, entry points, nodes, bindings."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from ptexplore.index.bindings import bindings_of
from ptexplore.index.definitions import Place, applies, entry_points, named
from ptexplore.index.registrations import Kernels, missing, registrations_of
from ptexplore.index.scan import ScannedFile
from ptexplore.model import Binding, DumpRecord, Registration
from ptexplore.source.progress import Progress
from ptexplore.source.tree import SourceTree

_ATEN = "build/aten/src/ATen"
_AUTOGRAD = "torch/csrc/autograd/generated"
_SHARDS = 40  # more than any release has of one file
_STEP = "checking every record against the generated C++"
_MODULES = ("nn", "linalg", "fft", "special", "sparse", "nested")


@dataclass
class Facts:
    """What the generated files hold; also what one of them does."""

    registrations: dict[str, list[Registration]] = field(default_factory=dict)
    entry_points: dict[str, dict[str, tuple[str, int]]] = field(default_factory=dict)
    nodes: dict[str, tuple[str, int, int]] = field(default_factory=dict)
    bindings: list[Binding] = field(default_factory=list)
    definitions: list[Place] = field(default_factory=list)

    def add(self, other: Facts) -> None:
        """Take over what another file holds."""
        self.registrations.update(other.registrations)
        for name, places in other.entry_points.items():
            self.entry_points.setdefault(name, {}).update(places)
        self.nodes.update(other.nodes)
        self.bindings += other.bindings
        self.definitions += other.definitions


@dataclass(frozen=True, slots=True)
class _Task:
    path: str
    file: str
    records: tuple[DumpRecord, ...]


def gather(
    tree: SourceTree,
    records: dict[str, list[DumpRecord]],
    kernels: Kernels,
    operators: frozenset[str],
    progress: Progress,
) -> Facts:
    """Everything the generated files of `tree` hold; `records` are the dump's, by the file they name.

    Records of a file that is not there come back as unconfirmed registrations.
    """
    paths = dict.fromkeys([*records, *other_files(tree)])
    tasks = []
    total = Facts()
    for path in paths:
        found = tree.file_of(path)
        if found is None:
            total.registrations[path] = [missing(record, path) for record in records.get(path, ())]
        else:
            tasks.append(_Task(path, found, tuple(records.get(path, ()))))
    tree.forget()
    for number, task in enumerate(tasks):
        total.add(read_file(task, kernels, operators))
        progress.step(_STEP, 0.1 + 0.7 * number / len(tasks))
    total.bindings.sort(key=lambda binding: (binding.path, binding.entry_line))
    return total


def other_files(tree: SourceTree) -> list[str]:
    """The generated files that hold something other than registrations."""
    shards = [f"{_ATEN}/Operators_{number}.cpp" for number in range(_SHARDS)]
    shards += [f"{_AUTOGRAD}/python_torch_functions_{number}.cpp" for number in range(_SHARDS)]
    single = [f"{_ATEN}/CompositeViewCopyKernels.cpp", f"{_ATEN}/UfuncCPU_add.cpp", f"{_ATEN}/UfuncCPUKernel_add.cpp"]
    single += [f"{_AUTOGRAD}/Functions.cpp", f"{_AUTOGRAD}/python_variable_methods.cpp"]
    single += [f"{_AUTOGRAD}/python_{module}_functions.cpp" for module in _MODULES]
    return [path for path in [*shards, *single] if tree.file_of(path) is not None]


def read_file(task: _Task, kernels: Kernels, operators: frozenset[str]) -> Facts:
    """What one generated file holds."""
    with open(task.file, encoding="utf-8", errors="replace") as handle:
        scanned = ScannedFile(task.path, handle.read())
    facts = Facts()
    name = os.path.basename(task.path)
    if task.records:
        facts.registrations[task.path] = registrations_of(scanned, task.records, kernels)
    if name.startswith("Operators_"):
        for cpp_name, method, line in entry_points(scanned):
            facts.entry_points.setdefault(cpp_name, {})[method] = (task.path, line)
    elif name == "Functions.cpp":
        facts.nodes.update({node: (path, line, end) for node, path, line, end in applies(scanned)})
    elif name.startswith("python_"):
        facts.bindings += bindings_of(scanned, operators)
    elif name.startswith(("Ufunc", "CompositeViewCopy")):
        facts.definitions += named(scanned)
    return facts
