"""The dispatch stubs that the body of a hand-written function calls, and the kernels of a stub for a device.

Source: aten/src/ATen/native/DispatchStub.h. Files below native/cpu are compiled once for each CPU capability (DEFAULT,
AVX2, AVX512, …): the text has one definition, the binary several.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ptexplore.cpp.branches import condition_around
from ptexplore.cpp.symbol_names import CAPABILITIES
from ptexplore.cpp.text import Text
from ptexplore.lazy import remembered
from ptexplore.model.places import SourceRef, place_reasons
from ptexplore.model.symbols import Dialect, Symbol
from ptexplore.resolve.places.lookup import Lookup
from ptexplore.resolve.places.precision import in_runtime, several, unknown
from ptexplore.resolve.places.sources import Source

DEEPEST = 3  # functions in one file that are followed from a body to a stub
_NAME = re.compile(r"(?<![\w.>])((?:\w+::)*)([A-Za-z_]\w*)\b(\s*(?:<[\w:, ]*>)?\s*\()?")
_LOOP = re.compile(r"\b(cpu_kernel(?:_vec|_multiple_outputs)?\w*|binary_kernel_reduce\w*|gpu_kernel\w*)\s*\(")
_NOT_NAMES = frozenset(["if", "for", "while", "return", "auto", "const", "int", "bool", "else", "true", "false"])


@dataclass(frozen=True, slots=True)
class Called:
    """A stub that a body calls: its name, the line of the call, and the functions of the file in between.

    `condition` is the line of the innermost condition around the call, in the function that contains the call.
    """

    stub: str
    line: int
    path: str
    through: tuple[str, ...] = ()
    condition: int | None = None


@dataclass(frozen=True, slots=True)
class Kernel:
    """A registration by a REGISTER macro: the function, its definition, and the macro with its place."""

    name: str
    source: SourceRef
    registration: SourceRef
    macro: str
    loops: tuple[tuple[str, int], ...] = ()  # the loops over elements that its body starts, with their lines


@dataclass(frozen=True, slots=True)
class Stub:
    """A dispatch stub with its definition, and the kernels that are registered for a device."""

    name: str
    source: SourceRef
    kernels: tuple[Kernel, ...]
    per_capability: bool


@dataclass(frozen=True)
class Stubs:
    """The stubs of all trees. Answers are cached, since many hops ask for the same stub."""

    lookup: Lookup

    @remembered
    def called(self, body: SourceRef) -> tuple[Called, ...]:
        """Returns the stubs that a function's body calls, directly or through functions of the same file, in order."""
        if body.path is None or body.line is None or body.end_line is None:
            return ()
        calls: dict[str, Called] = {}
        for called in self._walk(body, (), {body.line}):
            calls.setdefault(called.stub, called)
        return tuple(calls.values())

    def _walk(self, body: SourceRef, through: tuple[str, ...], seen: set[int]) -> Iterator[Called]:
        source = self.lookup.source(body.tree)
        text = Text(str(body.path), "\n".join(self.lookup.lines(body)))
        opening = text.bare.find("{")  # -1: a macro makes the function, from its arguments
        further: list[Symbol] = []
        asked = set()
        for match in _NAME.finditer(text.bare, max(opening, 0)):
            written = match[1] + match[2]
            if match[2] in _NOT_NAMES or written in asked:
                continue
            asked.add(written)
            stub = self._meant(written, body, source)
            if stub is not None:
                condition = condition_around(text.bare, match.start())
                first = (body.line or 0) - 1
                yield Called(
                    stub,
                    first + text.line(match.start(2)),
                    str(body.path),
                    through,
                    first + text.line(condition) if condition is not None else None,
                )
            elif source is not None and match[3] and len(through) < DEEPEST:
                further += self._same_file(source, str(body.path), written)
        for symbol in further:
            if symbol.line not in seen and source is not None:
                seen.add(symbol.line)
                ref = source.ref(symbol.path, symbol.line, symbol.end_line)
                yield from self._walk(ref, (*through, symbol.name), seen)

    def _same_file(self, source: Source, path: str, written: str) -> list[Symbol]:
        """Returns the function with this name in the same file, if exactly one is compiled in this build."""
        functions = [s for s in source.outline(path) if s.kind == "function" and s.role == "definition"]
        functions = [s for s in functions if f"::{s.qualified}".endswith(f"::{written}")]
        functions = [s for s in functions if source.conditions.holds(s.guards, path) is not False]
        return functions if len(functions) == 1 else []

    def _meant(self, written: str, body: SourceRef, source: Source | None) -> str | None:
        """Returns the qualified name of the stub that a call in `body` means, or None."""
        name = written.rsplit("::", 1)[-1]
        rows = source.stub_rows(name) if source is not None else []  # called for every word of every body
        if not rows or source is None:
            return f"at::native::{name}" if self._generated_rows(name) else None
        stubs = {source.qualified(row) for row in rows}
        if len(stubs) == 1:
            return next(iter(stubs))
        return next((m for m in source.meanings(written, str(body.path), body.line or 0) if m in stubs), None)

    @remembered
    def stub(self, name: str, device: str) -> Stub | None:
        """Returns the stub with the kernels for `device` ("CPU", "CUDA"); None if no source defines it."""
        last = name.rsplit("::", 1)[-1]
        rows = self._generated_rows(last)
        if any(row.kind == "stub-define" for row in rows):
            return self._made(name, device, rows, None)
        for source in self.lookup.sources:
            rows = source.names.dialect(last, ("stub-define", "stub-register"))
            rows = [row for row in rows if source.conditions.holds(row.guards, row.path) is not False]
            if sum(row.kind == "stub-define" for row in rows) > 1:
                rows = [row for row in rows if source.qualified(row) == name]
            if any(row.kind == "stub-define" for row in rows):
                return self._made(name, device, rows, source)
        return None

    @remembered
    def _generated_rows(self, name: str) -> list[Dialect]:
        """Returns the rows of a stub that generated C++ defines, read from the text of the file."""
        from ptexplore.index.dialect.cpp import dialect

        paths = {path for path, _, _ in self.lookup.store.definitions(f"at::native::{name}")}
        for path in tuple(paths):  # torchgen puts a stub and its kernels into separate files
            paths |= {path.replace("/UfuncCPU_", "/UfuncCPUKernel_")}
            paths |= {path.replace("/UfuncCPU_", "/UfuncCUDA_").replace(".cpp", ".cu")}
        texts = [Text(path, "\n".join(self.lookup.tree.lines(path))) for path in sorted(paths)]
        return [row for text in texts if "_DISPATCH" in text.raw for row in dialect(text) if row.name == name]

    def _made(self, name: str, device: str, rows: list[Dialect], source: Source | None) -> Stub:
        defined = [self._ref(row, source) for row in rows if row.kind == "stub-define"]
        mine = [row for row in rows if row.kind == "stub-register" and row.target and _for(row.context, device)]
        kernels: dict[str, Kernel] = {}
        for row in mine:
            kernel = self._kernel(row, source)
            kernels.setdefault(f"{kernel.name} {kernel.source.path}:{kernel.source.line}", kernel)
        return Stub(
            name,
            several(defined, lambda count: place_reasons.DefinedTimes(name, count)),
            tuple(kernels.values()),
            any("/native/cpu/" in row.path or source is None for row in mine) and device == "CPU",
        )

    def _ref(self, row: Dialect, source: Source | None) -> SourceRef:
        if source is None:
            return in_runtime(self.lookup.tree, row.path, row.line, row.end_line)
        return source.ref(row.path, row.line, row.end_line)

    def _kernel(self, row: Dialect, source: Source | None) -> Kernel:
        name = str(row.target)
        ref = (
            source.refs(source.scoped(name, row.path, row.line), name)
            if source is not None
            else self._generated_function(name, row.path)
        )
        return Kernel(
            f"at::native::{name.removeprefix('at::native::')}",
            ref,
            self._ref(row, source),
            row.macro,
            tuple(self._loops(ref)),
        )

    def _generated_function(self, name: str, path: str) -> SourceRef:
        rows = [row for row in self.lookup.store.definitions(f"at::native::{name}") if row[0] == path]
        if not rows:
            return unknown(place_reasons.FileDefinesNone(name, path))
        places = [in_runtime(self.lookup.tree, *row) for row in rows]
        return several(places, lambda count: place_reasons.DefinedTimes(name, count))

    def _loops(self, body: SourceRef) -> Iterator[tuple[str, int]]:
        """Yields the loops over elements that a kernel's body starts."""
        text = Text(str(body.path), "\n".join(self.lookup.lines(body)))
        for match in _LOOP.finditer(text.bare):
            yield match[1], (body.line or 0) + text.line(match.start()) - 1


def _for(context: str | None, device: str) -> bool:
    """Whether the device or architecture in a REGISTER macro belongs to `device`."""
    return context == device or (device == "CPU" and context in CAPABILITIES)
