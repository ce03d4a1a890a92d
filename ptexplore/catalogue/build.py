"""The probe's catalogue message + the runtime tree -> the catalogue: every record parsed, verified and written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from ptexplore.catalogue.dump import Unparsed, origin, parse_dump, parse_table
from ptexplore.catalogue.facts import Facts
from ptexplore.catalogue.gather import gather
from ptexplore.catalogue.operators import Model
from ptexplore.catalogue.python_names import NO_CALLABLE, kernel_for, makes_library, python_kernels, python_names
from ptexplore.catalogue.registrations import HANDWRITTEN, NO_FILE, Kernels, missing, registrations_of
from ptexplore.errors import PtexploreError, cache_errors
from ptexplore.model.operators import DispatchKey, DumpRecord, PythonKernel, RecordOrigin, Registration, TableEntry
from ptexplore.model.places import Runtime
from ptexplore.source.canonical import InstalledFolders, recorded_path
from ptexplore.source.listing import runtime_files
from ptexplore.source.progress import Progress, Silent
from ptexplore.source.tree import SourceTree, folders
from ptexplore.store.catalogue.writer import CatalogueWriter
from ptexplore.store.index.read_ahead import ReadAhead, keep


def build_catalogue(
    runtime: Runtime,
    tree: SourceTree,
    raw: dict[str, Any],
    store_path: Path,
    progress: Progress | None = None,
    read_ahead: Path | None = None,
) -> None:
    """Write the catalogue of `runtime` to `store_path`, from the probe's message `raw` and the text of `tree`.

    The rows of the generated files that are read for it are kept at `read_ahead`, for the index of the same tree.

    Raises PtexploreError where the dispatcher says something in no known form or the file cannot be written.
    Nothing appears at `store_path` unless all of it was written.
    """
    try:
        with cache_errors("the catalogue cannot be written", store_path):
            ahead = _build(runtime, tree, raw, store_path, progress or Silent())
            if read_ahead is not None:
                keep(read_ahead, ahead)
    except Unparsed as error:
        raise PtexploreError(
            "the dispatcher's records cannot be read",
            f"torch {runtime.version} writes a line in a form that is not known: {error}",
            "please report it, with that line",
        ) from error


def _build(runtime: Runtime, tree: SourceTree, raw: dict[str, Any], store_path: Path, watcher: Progress) -> ReadAhead:
    watcher.step("reading the dispatcher's records", 0.0)
    recorded = _Recorded(folders(runtime))
    records = [record for operator in raw["operators"] for record in parse_dump(operator["name"], operator["dump"])]
    by_file: dict[str, list[DumpRecord]] = {}
    for record in records:
        if recorded.origin(record) == "generated":
            by_file.setdefault(str(recorded.path(record.file)), []).append(record)
    names = frozenset(operator["name"] for operator in raw["operators"])
    operators = raw["operators"]
    with ThreadPoolExecutor(1) as pool:  # what needs no generated file, while other processes read these
        model_read = pool.submit(Model.of, tree)
        kernels_read = pool.submit(python_kernels, raw, recorded.folders, tree)
        names_read = pool.submit(python_names, raw, recorded.folders, tree)
        tables = pool.submit(_tables, operators, recorded)
        facts, ahead = gather(runtime_files(runtime, tree.aids.parent if tree.aids else None), by_file, watcher)
    model, kernels = model_read.result(), kernels_read.result()
    bindings = [replace(binding, ops=tuple(op for op in binding.ops if op in names)) for binding in facts.bindings]
    registered = _generated(by_file, facts, Kernels.of(model.data))
    watcher.step("writing the catalogue", 0.8)
    with CatalogueWriter(store_path) as writer:
        writer.operators((model.operator(operator, facts.entry_points), operator["digest"]) for operator in operators)
        writer.registrations(_registrations(records, recorded, registered, kernels, tree))
        writer.tables(tables.result())
        writer.derivatives(model.derivatives(facts.nodes))
        writer.nodes((name, *place) for name, place in sorted(facts.nodes.items()))
        writer.bindings(bindings)
        writer.definitions(definition for definition in facts.definitions if definition[0] not in model.shared_kernels)
        writer.python_names(names_read.result())
        writer.python_kernels(kernels)
        writer.keys(DispatchKey(key["name"], key["raw"], key["after"]) for key in raw["keys"])
        writer.meta(
            {
                "version": runtime.version,
                "git_version": runtime.git_version,
                "torch_dir": runtime.torch_dir,
                "runtime_key": runtime.key,
                "num_backends": str(raw.get("num_backends") or 0),
            }
        )
    watcher.step("writing the catalogue", 1.0)
    return ahead


def _tables(operators: Sequence[Mapping[str, Any]], recorded: _Recorded) -> list[tuple[str, list[TableEntry]]]:
    """The dispatch table of every operator."""
    return [
        (operator["name"], parse_table(operator["name"], operator["table"], recorded.path)) for operator in operators
    ]


def _generated(
    records: Mapping[str, list[DumpRecord]], facts: Facts, kernels: Kernels
) -> dict[str, list[Registration]]:
    """The registrations of every generated file that a record names, in the order of its records."""
    return {
        path: registrations_of(path, of_file, facts.blocks[path], facts.functions[path], kernels)
        if path in facts.blocks
        else [missing(record, path) for record in of_file]
        for path, of_file in records.items()
    }


class _Recorded:
    """Paths as the binary recorded them -> canonical paths, each worked out once."""

    def __init__(self, where: InstalledFolders) -> None:
        self.folders = where
        self._canonical = cache(partial(recorded_path, folders=where))

    def path(self, file: str | None) -> str | None:
        """The canonical path of a recorded file; None where it names none of PyTorch's."""
        return None if file is None else self._canonical(file)

    def origin(self, record: DumpRecord) -> RecordOrigin:
        """Where a record comes from."""
        return origin(record.file, self.path(record.file))


def _registrations(
    records: list[DumpRecord],
    recorded: _Recorded,
    generated: dict[str, list[Registration]],
    kernels: list[PythonKernel],
    tree: SourceTree,
) -> Iterator[Registration]:
    """Every record as a registration, in the order of the dump."""
    queues = {path: iter(registrations) for path, registrations in generated.items()}
    by_op: dict[str, list[PythonKernel]] = {}
    for kernel in kernels:
        by_op.setdefault(kernel.op, []).append(kernel)
    for record in records:
        where = recorded.origin(record)
        path = recorded.path(record.file)
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
            why_not={"handwritten": HANDWRITTEN, "nofile": NO_FILE}.get(where, NO_CALLABLE),
            signature=record.signature,
        )
        yield _python(plain, by_op.get(record.op, []), tree) if where == "python" else plain


def _python(registration: Registration, kernels: list[PythonKernel], tree: SourceTree) -> Registration:
    """A record made from Python gets the callable that Python's own tables name for it, when exactly one fits."""
    kernel, why_not = kernel_for(registration, kernels)
    if not makes_library(tree, registration):
        why_not = f"line {registration.macro_line} of {registration.path} makes no torch.library.Library"
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
