"""Finds C++ functions, registrations and Python bindings in source: first in the runtime tree, then in other sources.

The declaration of a function in a header of the wheel tells its overloads apart.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ptexplore.catalogue import declarations
from ptexplore.cpp.matching import Wanted
from ptexplore.index.dialect.confirm import confirm, same_key
from ptexplore.lazy import remembered
from ptexplore.model.operators import DumpRecord, Registration, TableEntry
from ptexplore.model.places import SourceRef, TreeInfo, place_reasons
from ptexplore.model.symbols import Dialect
from ptexplore.resolve.places.precision import in_runtime, recorded, several, unknown
from ptexplore.resolve.places.relation import record_of
from ptexplore.resolve.places.sources import GeneratedNames, Source
from ptexplore.source.canonical import is_template
from ptexplore.source.tree import SourceTree
from ptexplore.store.catalogue.reader import Store

if TYPE_CHECKING:
    from ptexplore.model.codes import Reason
    from ptexplore.model.place_reasons import PlaceReason

PLUMBING = "_generated_plumbing"
_PLUMBING_HEAD = re.compile(rf".* (\w+{PLUMBING})\(.*\{{[ \t]*")
PLUMBING_HEADER = "build/aten/src/ATen/VmapGeneratedPlumbing.h"
ANY = "_::*"  # the name of a fallback for all operators in the dialect
Caller = tuple[str, int]  # path and line of a function that calls the wanted one


@dataclass(frozen=True, slots=True)
class Registered:
    """A hand-written registration in a tree: the line in the record, the m.impl there, and its function."""

    record: SourceRef
    entry: SourceRef  # the operator's m.impl or m.def
    name: str | None  # the function as written
    expression: str | None  # the registered expression, as written
    body: SourceRef | None


@dataclass(frozen=True)
class Lookup:
    """Everything that can say where code is. `sources` are searched in order, after the runtime tree.

    `installed` are the sources for the text of the runtime tree: the catalogue's knowledge of generated C++, then the
    index if it is built, which knows the definitions in headers. The catalogue comes first, so an index never changes
    an answer of the catalogue.
    """

    tree: SourceTree
    store: Store
    sources: tuple[Source, ...] = ()
    installed: tuple[Source, ...] = ()

    @property
    def infos(self) -> tuple[TreeInfo, ...]:
        """The trees in search order."""
        return (self.tree.info, *(source.tree.info for source in self.sources))

    @property
    def is_indexed(self) -> bool:
        """Whether the index of the installed text is searched."""
        return any(not isinstance(source.names, GeneratedNames) for source in self.installed)

    @property
    def no_text(self) -> Reason:
        """The reason why hand-written C++ has no place: the function's name is not known, or no source has it."""
        return place_reasons.NotInWheel(tuple(source.tree.info.label for source in self.sources))

    def source(self, name: str) -> Source | None:
        """Returns the source with this name; None for the runtime tree."""
        return next((source for source in self.sources if source.tree.info.name == name), None)

    def tree_of(self, ref: SourceRef) -> SourceTree:
        """Returns the tree of a reference."""
        source = self.source(ref.tree)
        return source.tree if source is not None else self.tree

    def lines(self, ref: SourceRef) -> list[str]:
        """Returns the lines that a reference spans, from `ref.line` on; empty if there is no text."""
        if ref.path is None or ref.line is None:
            return []
        return self.tree_of(ref).lines(ref.path)[ref.line - 1 : ref.end_line or ref.line]

    def place_of(self, ref: SourceRef) -> tuple[str, int] | None:
        """Returns the file on this machine and the line of a reference."""
        return self.tree_of(ref).place_of(ref.path, ref.line or 1) if ref.path is not None else None

    @remembered
    def function(self, symbol: str, parameters: tuple[str, ...] | None = None) -> SourceRef:
        """Returns the definition of a qualified name.

        Generated C++ is searched first, then the sources in order. `parameters` are the types of the wanted overload,
        if they are known.
        """
        generated = self.store.definition(symbol)
        if generated is not None:
            return in_runtime(self.tree, *generated)
        missing = []
        for source in self.sources:
            matched = source.find(symbol, Wanted(parameters))
            ref = source.refs(matched, symbol)
            if matched.left:
                return ref
            missing.append(ref)
        return missing[0] if missing else unknown(self.no_text)

    @remembered
    def declaration(self, symbol: str, caller: Caller | None = None) -> SourceRef | None:
        """Returns the declaration of a C++ function in a header; None if no known header declares it.

        `caller`, a wrapper that calls the function, tells overloads apart. If several overloads are left, the result is
        "ambiguous".
        """
        qualified, declared = declarations.find(self.tree, symbol, caller)
        places = [in_runtime(self.tree, header.path, header.line, header.end_line) for header in declared]
        return several(places, lambda count: place_reasons.DeclaredTimes(qualified, count)) if places else None

    def definition(self, symbol: str, caller: Caller | None = None) -> SourceRef:
        """Returns the definition of a C++ function.

        The parameters of its declaration tell overloads apart, or those of `caller`.
        """
        return self.function(symbol, self.parameters(symbol, caller) if self.sources else None)

    def parameters(self, symbol: str, caller: Caller | None) -> tuple[str, ...] | None:
        """Returns a function's parameter types, or None.

        They come from its only declaration, else from the wrapper that calls it.
        """
        declared = self.declaration(symbol, caller)
        if declared is not None and declared.path is not None and declared.line is not None:
            return declarations.parameters(self.tree, declared.path, declared.line)
        return declarations.parameters(self.tree, *caller) if caller is not None else None

    # --- registrations ---

    def registered(self, registration: Registration) -> Registered | None:
        """Returns macro, m.impl and function of a hand-written registration; None if no source has it."""
        if registration.origin != "handwritten" or registration.path is None or registration.macro_line is None:
            return None
        return self._registered_by(record_of(registration))

    def entry(self, entry: TableEntry, key: str, registration: Registration | None) -> SourceRef:
        """Returns the line that a table's entry names, with its precision: whether the text of a tree confirms it."""
        if entry.path is None:
            return unknown(place_reasons.EntryNamesNoFile(entry.raw.strip()))
        if registration is not None and registration.confirmed:
            return recorded(self.tree, entry.path, entry.line, True, None)
        registered = self.registered(registration) if registration is not None else self.fallback(entry, key)
        if registered is not None:
            return registered.record
        return recorded(self.tree, entry.path, entry.line, False, self._unconfirmed(entry, registration))

    def fallback(self, entry: TableEntry, key: str) -> Registered | None:
        """Returns the m.fallback of a key, or another registration behind an entry.

        For entries that none of the operator's own records explains.
        """
        if entry.path is None or entry.line is None:
            return None
        record = DumpRecord(ANY, key, False, False, entry.fallthrough, entry.path, entry.line, None, entry.raw)
        return self._registered_by(record)

    @remembered  # most entries of all operators come from a few hundred fallbacks
    def _registered_by(self, record: DumpRecord) -> Registered | None:
        return self._confirmed(record) or self._skewed(record)

    def _unconfirmed(self, entry: TableEntry, registration: Registration | None) -> Reason:
        if entry.path is not None and entry.path.endswith(".py"):
            return place_reasons.FromPython()
        for source in self.sources:
            if source.related and entry.path is not None and source.tree.exists(entry.path):
                op, key = (registration.op, registration.key) if registration else (ANY, None)
                record = DumpRecord(op, key, False, False, entry.fallthrough, entry.path, entry.line, None, entry.raw)
                reason = self._row(source, record)[1]
                return place_reasons.ComparedWith(source.tree.info.name, reason or place_reasons.NothingConfirms())
        return self.no_text if registration is None or registration.why_not is None else registration.why_not

    def _confirmed(self, record: DumpRecord) -> Registered | None:
        """Returns the registration from a related tree: the macro is at the record's line, with the operator inside."""
        for source in self.sources:
            row = self._row(source, record)[0] if source.related else None
            if row is not None and record.file is not None and record.line is not None:
                ref = source.ref(record.file, record.line, confirmed=source.checkout is not None)
                return self._registered(source, row, ref)
        return None

    def _row(self, source: Source, record: DumpRecord) -> tuple[Dialect | None, PlaceReason | None]:
        rows = source.rows_of(str(record.file))
        row, why = confirm(record, rows)
        if row is None and rows and source.checkout is not None:
            return confirm(record, rows, source.text(str(record.file)))
        return row, why

    def _skewed(self, record: DumpRecord) -> Registered | None:
        """Returns the registration from a tree of another version: the only one in the file for operator and key."""
        for source in self.sources:
            rows = source.rows_of(str(record.file)) if not source.related else []
            kinds = ("def",) if record.key is None else ("impl", "def")
            rows = [r for r in rows if r.kind in kinds and r.name == record.op and r.block is not None]
            rows = [r for r in rows if record.key is None or same_key(r.context, record.key)]
            if len(rows) == 1 and rows[0].block is not None:
                ref = source.ref(rows[0].path, rows[0].block, reason=place_reasons.RecordNamesLine(record.line))
                return self._registered(source, rows[0], ref)
        return None

    def _registered(self, source: Source, row: Dialect, record: SourceRef) -> Registered:
        name, body = None, None
        if row.target and row.target.endswith(PLUMBING):
            name, body = f"at::functorch::{row.target}", self._plumbing(row.target)
        elif row.target:
            matched = source.scoped(row.target, row.path, row.line)
            names = {symbol.qualified for symbol in matched.left}
            name = names.pop() if len(names) == 1 else row.target
            body = source.refs(matched, row.target)
        return Registered(record, source.ref(row.path, row.line, row.end_line), name, row.text or None, body)

    def _plumbing(self, name: str) -> SourceRef:
        """Returns the function template that torchgen writes around a batching rule. Its header is in the wheel."""
        lines, heads = self.tree.lines(PLUMBING_HEADER), self._plumbing_heads().get(name, [])
        if len(heads) != 1:
            return unknown(place_reasons.HeaderHolds(name, PLUMBING_HEADER, len(heads)))
        end = next(
            (number for number, line in enumerate(lines[heads[0] :], heads[0] + 1) if line.startswith("}")), None
        )
        return in_runtime(self.tree, PLUMBING_HEADER, heads[0], end)

    @remembered
    def _plumbing_heads(self) -> dict[str, list[int]]:
        """Returns the first lines of the functions in that header, by name."""
        heads: defaultdict[str, list[int]] = defaultdict(list)
        for number, line in enumerate(self.tree.lines(PLUMBING_HEADER), 1):
            match = _PLUMBING_HEAD.fullmatch(line) if PLUMBING in line else None
            if match is not None:
                heads[match[1]].append(number)
        return dict(heads)

    # --- bindings ---

    def method(self, name: str, tables: Collection[str]) -> tuple[str, SourceRef, SourceRef] | None:
        """Returns the C function of a Python name in hand-written PyMethodDef tables, its row and its definition.

        Returns None if no row of these tables names it, or several.
        """
        for source in self.sources:
            rows = [r for r in source.names.dialect(name, ["method"]) if r.target and r.context in tables]
            rows = [r for r in rows if not is_template(r.path)]
            rows = [r for r in rows if source.conditions.holds(r.guards, r.path) is not False]
            if len(rows) == 1:
                name, entry = str(rows[0].target), source.ref(rows[0].path, rows[0].line, rows[0].end_line)
                return name, entry, source.refs(source.scoped(name, rows[0].path, rows[0].line), name)
        return None
