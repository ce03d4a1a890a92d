"""Reads the generated files of one tree into facts, with the index's extractors, in several processes.

Reading overlaps with generation: the files of one generator are read while the next one still writes. A file that was
read for another environment with the same generators is not read again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ptexplore.catalogue.facts import MEMBERS, RECIPE, Facts, GeneratedFile, facts_of
from ptexplore.cpp.macros import Define, MacroTable, by_header, table_of
from ptexplore.index.build import available, header_state, headers, stamp_of
from ptexplore.index.workers import Task, Wave, Whole, numbered, read_all, read_whole, worth_starting
from ptexplore.model.places import Runtime
from ptexplore.source.listing import Listed, generated_files, installed_files, layered
from ptexplore.source.progress import Progress
from ptexplore.source.runtime.generated import Making
from ptexplore.store.index.read_ahead import PackedFile, ReadAhead, packed

_ATEN = "build/aten/src/ATen"
_AUTOGRAD = "torch/csrc/autograd/generated"
_STEP = "reading the generated C++"
_WORD = re.compile(r"[A-Za-z_]\w*")
# Further files, beside those that records name: entry points, nodes, bindings and the kernels of `add`.
_ALSO = (
    f"{_ATEN}/Operators_", f"{_ATEN}/CompositeViewCopyKernels.cpp", f"{_ATEN}/UfuncCPU", f"{_ATEN}/UfuncCUDA",
    f"{_AUTOGRAD}/Functions.cpp", f"{_AUTOGRAD}/python_",
)  # fmt: skip


@dataclass(frozen=True)
class Gathered:
    """Facts from the generated files, and the files' rows for the index of the same tree."""

    facts: Facts
    rows: ReadAhead


def gather(
    runtime: Runtime,
    making: Making,
    named: Callable[[], Iterable[str]],
    progress: Progress,
    before: ReadAhead | None = None,
) -> Gathered:
    """Returns the facts of the generated files of `runtime`: the `named` paths, which records point to, and the others.

    `named` is called when the first files exist. `before` are files of the same generators that were read before, maybe
    for another environment: a file with the same content and the same macros is not read again. Raises PtexploreError
    if a reading process died, and the errors of `making`.
    """
    plan = _Plan(runtime, making, named, before)
    jobs = available()
    if making.is_whole:
        jobs = worth_starting(plan.tasks_in(("",)), jobs)
    pairs = {}
    for number, pair in enumerate(read_all(plan.waves(), jobs, read_facts)):
        progress.step(_STEP, 0.8 * number / len(plan.tasks))
        if pair is not None:
            pairs[pair[1].path] = pair
    for task in plan.to_read_again():
        pair = read_facts(task, plan.macros)
        if pair is not None:
            pairs[pair[1].path] = pair
    pairs |= plan.known
    total, rows = Facts(), []
    for _, (facts, file) in sorted(pairs.items()):
        total.add(facts)
        rows.append(file)
    total.bindings.sort(key=lambda binding: (binding.path, binding.entry_line))
    listed = layered(generated_files(making.folder), plan.installed)
    return Gathered(total, ReadAhead(header_state(listed), plan.macros.as_text(), rows, plan.next_file))


class _Plan:
    """The plan of what to read, and when."""

    def __init__(
        self, runtime: Runtime, making: Making, named: Callable[[], Iterable[str]], before: ReadAhead | None = None
    ) -> None:
        self.making, self.named, self._before = making, named, before
        self.known: dict[str, tuple[Facts, PackedFile]] = {}  # files that were read before, by path
        self.next_file = 1 if before is None else before.next_file
        self.installed = installed_files(runtime)
        self.tasks: list[Task] = []
        self.macros = MacroTable({})  # the macros of the headers that exist by now
        self._read: list[Wave] = []

    def waves(self) -> Iterator[Wave]:
        """Yields the files of each part when it is complete."""
        yield Wave((), None)  # starts the processes
        defined = by_header(headers(self.installed))
        for part in self.making.parts:
            self.macros = self._macros(defined, part)
            wanted = self.tasks_in(part)
            self.known |= self._read_before(wanted)
            tasks = numbered([task for task in wanted if task.path not in self.known], self.next_file)
            self.next_file += len(tasks)
            self.tasks += tasks
            self._read.append(Wave(tasks, self.macros))
            yield self._read[-1]

    def to_read_again(self) -> list[Task]:
        """Returns the files that name a macro whose meaning was changed by a header of a later part."""
        return [
            task
            for wave in self._read
            if wave.macros is not None and (changed := self.macros.changed_since(wave.macros))
            for task in wave.tasks
            if _names_any(Path(task.where), changed)
        ]

    def tasks_in(self, part: Iterable[str]) -> list[Task]:
        """Returns the files to read in the folders `part`."""
        wanted = set(self.named())
        return [
            Task(0, file.path, file.file, file.layer, file.state[1] if file.state else 0, None)
            for file in [*self._made(part), *self._shipped(part)]
            if _holds_facts(file.path, wanted)
        ]

    def _read_before(self, tasks: Iterable[Task]) -> dict[str, tuple[Facts, PackedFile]]:
        """Returns the facts and rows of the files among `tasks` that were read before, with the same macros."""
        if self._before is None or self._before.macros != self.macros.as_text():
            return {}
        before = {file.path: file for file in self._before.files}
        known = {}
        for task in tasks:
            file = before.get(task.path)
            if file is not None and stamp_of(task.where, file.sha) is not None:
                facts = _unpacked(file.facts)
                if facts is not None:
                    known[task.path] = facts, file
        return known

    def _made(self, part: Iterable[str]) -> list[Listed]:
        return [file for file in generated_files(self.making.folder) if file.path.startswith(tuple(part))]

    def _shipped(self, part: Iterable[str]) -> list[Listed]:
        """Returns the generated files of a part that the wheel itself contains."""
        made = {file.path for file in self._made(part)}
        shipped = [file for file in self.installed if file.path in MEMBERS and file.path not in made]
        return [file for file in shipped if file.path.startswith(tuple(part))]

    def _macros(self, defined: dict[str, list[Define]], part: Iterable[str]) -> MacroTable:
        """Returns the macros of all headers that exist now. In `defined`, headers of `part` replace installed ones."""
        made = self._made(part)
        for file in made:
            defined.pop(file.path, None)
        defined |= by_header(headers(made))
        return table_of(definitions for _, definitions in sorted(defined.items()))


def _names_any(file: Path, names: set[str]) -> bool:
    """Whether a file contains any of `names` as a word."""
    return not names.isdisjoint(_WORD.findall(file.read_text(encoding="utf-8", errors="replace")))


def _holds_facts(path: str, named: set[str]) -> bool:
    return path in named or path in MEMBERS or (path.endswith((".cpp", ".cu")) and path.startswith(_ALSO))


def read_facts(task: Task, macros: MacroTable) -> tuple[Facts, PackedFile] | None:
    """Returns the facts and the rows of one file, or None if it cannot be read."""
    read = read_whole(task, macros)
    if not isinstance(read, Whole):
        return None
    records = read.records
    facts = facts_of(GeneratedFile(task.path, read.text, records.symbols, records.dialect))
    return facts, packed(read.rows, _packed(facts))


def _packed(facts: Facts) -> bytes:
    import msgspec

    return msgspec.msgpack.encode((RECIPE, facts))


def _unpacked(packed_facts: bytes) -> Facts | None:
    """Returns the facts of one file. None if they are damaged or of another version of ptexplore."""
    import msgspec

    try:
        recipe, raw = msgspec.msgpack.decode(packed_facts, type=tuple[int, msgspec.Raw])
        return msgspec.msgpack.decode(raw, type=Facts) if recipe == RECIPE else None
    except msgspec.DecodeError:
        return None
