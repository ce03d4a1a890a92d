"""Builds the catalogue from the probe's catalogue message and the runtime tree: parses, verifies and writes records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from ptexplore.catalogue.dump import Unparsed, origin, parse_dump, parse_table
from ptexplore.catalogue.facts import Facts
from ptexplore.catalogue.operators import Model
from ptexplore.catalogue.python_names import kernel_for, makes_library, python_kernels, python_names
from ptexplore.catalogue.registrations import Kernels, missing, registrations_of
from ptexplore.errors import PtexploreError, cache_errors
from ptexplore.model.dispatcher import DispatcherDump
from ptexplore.model.operators import DumpRecord, PythonKernel, RecordOrigin, Registration
from ptexplore.model.places import Runtime, place_reasons
from ptexplore.source.canonical import recorded_path
from ptexplore.source.progress import Progress, Silent
from ptexplore.source.tree import SourceTree, folders
from ptexplore.store.catalogue.writer import CatalogueWriter


class DispatcherRecords:
    """The parsed catalogue message `raw` of the probe: the records of every operator, and its dispatch table.

    It needs no generated file, so it can be parsed while these are made. Raises PtexploreError if the dispatcher
    reports something in an unknown form.
    """

    def __init__(self, runtime: Runtime, raw: DispatcherDump) -> None:
        self.raw = raw
        self.folders = folders(runtime)
        self._canonical = cache(partial(recorded_path, folders=self.folders))
        try:
            self.records = [record for operator in raw.operators for record in parse_dump(operator.name, operator.dump)]
            self.tables = [
                (operator.name, parse_table(operator.name, operator.table, self.path)) for operator in raw.operators
            ]
        except Unparsed as error:
            raise PtexploreError(
                "the dispatcher's records cannot be read",
                f"torch {runtime.version} prints a line in an unknown form: {error}",
                "please report this line",
            ) from error
        self.generated: dict[str, list[DumpRecord]] = {}  # by file
        for record in self.records:
            if self.origin(record) == "generated":
                self.generated.setdefault(str(self.path(record.file)), []).append(record)

    def path(self, file: str | None) -> str | None:
        """Returns the canonical path of a recorded file, or None if it does not belong to PyTorch."""
        return None if file is None else self._canonical(file)

    def origin(self, record: DumpRecord) -> RecordOrigin:
        """Returns the origin of a record."""
        return origin(record.file, self.path(record.file))


def build_catalogue(
    runtime: Runtime,
    tree: SourceTree,
    dispatcher: DispatcherRecords,
    facts: Facts,
    store_path: Path,
    progress: Progress | None = None,
) -> None:
    """Writes the catalogue of `runtime` to `store_path`, from its dispatcher and its generated files.

    Raises PtexploreError if the file cannot be written. Nothing appears at `store_path` unless everything was written.
    """
    with cache_errors("the catalogue cannot be written", store_path):
        _build(runtime, tree, dispatcher, facts, store_path, progress or Silent())


def _build(
    runtime: Runtime, tree: SourceTree, dispatcher: DispatcherRecords, facts: Facts, store_path: Path, watcher: Progress
) -> None:
    raw = dispatcher.raw
    watcher.step("writing the catalogue", 0.8)
    model = Model.of(tree)
    kernels = python_kernels(raw.python_kernels, dispatcher.folders, tree)
    names = frozenset(operator.name for operator in raw.operators)
    bindings = [replace(binding, ops=tuple(op for op in binding.ops if op in names)) for binding in facts.bindings]
    registered = _generated(dispatcher.generated, facts, Kernels.of(model.torchgen))
    with CatalogueWriter(store_path) as writer:
        writer.operators((model.operator(operator, facts.entry_points), operator.digest) for operator in raw.operators)
        writer.registrations(_registrations(dispatcher, registered, kernels, tree))
        writer.tables(dispatcher.tables)
        writer.derivatives(model.derivatives(facts.nodes))
        writer.nodes((name, *place) for name, place in sorted(facts.nodes.items()))
        writer.bindings(bindings)
        writer.definitions(definition for definition in facts.definitions if definition[0] not in model.shared_kernels)
        writer.symbols(facts.symbols)
        writer.python_names(python_names(raw.python_names, dispatcher.folders, tree))
        writer.python_kernels(kernels)
        writer.keys(raw.keys)
        writer.meta(
            {
                "version": runtime.version,
                "git_version": runtime.git_version,
                "torch_dir": runtime.torch_dir,
                "runtime_key": runtime.key,
                "num_backends": str(raw.num_backends),
            }
        )
    watcher.step("writing the catalogue", 1.0)


def _generated(
    records: Mapping[str, list[DumpRecord]], facts: Facts, kernels: Kernels
) -> dict[str, list[Registration]]:
    """Returns the registrations of every generated file that a record names, in the order of its records."""
    return {
        path: registrations_of(path, of_file, facts.blocks[path], facts.functions[path], kernels)
        if path in facts.blocks
        else [missing(record, path) for record in of_file]
        for path, of_file in records.items()
    }


def _registrations(
    dispatcher: DispatcherRecords,
    generated: dict[str, list[Registration]],
    kernels: list[PythonKernel],
    tree: SourceTree,
) -> Iterator[Registration]:
    """Yields every record as a registration, in the order of the dump."""
    queues = {path: iter(registrations) for path, registrations in generated.items()}
    by_op: dict[str, list[PythonKernel]] = {}
    for kernel in kernels:
        by_op.setdefault(kernel.op, []).append(kernel)
    handwritten, without_file = place_reasons.RecordHandWritten(), place_reasons.RecordWithoutFile()
    for record in dispatcher.records:
        where = dispatcher.origin(record)
        path = dispatcher.path(record.file)
        if where == "generated":
            yield next(queues[str(path)])
            continue
        plain = Registration(
            op=record.op,
            key=record.key,
            alias=record.alias,
            inactive=record.inactive,
            fallthrough=record.fallthrough,
            origin=where,
            path=path,
            macro_line=record.line if path else None,
            op_line=None,
            confirmed=False,
            why_not=handwritten if where == "handwritten" else without_file,
            signature=record.signature,
        )
        yield _python(plain, by_op.get(record.op, []), tree) if where == "python" else plain


def _python(registration: Registration, kernels: list[PythonKernel], tree: SourceTree) -> Registration:
    """Completes a record made from Python: adds the callable that Python's own tables name, if exactly one fits."""
    kernel, why_not = kernel_for(registration, kernels)
    if not makes_library(tree, registration):
        why_not = place_reasons.NoLibraryMade(str(registration.path), registration.macro_line)
    if kernel is None:
        return replace(registration, why_not=why_not)
    return replace(
        registration,
        wrapper=kernel.function,
        body_path=kernel.path,
        body_line=kernel.line,
        body_end=kernel.end_line,
        confirmed=why_not is None,
        why_not=why_not,
    )
