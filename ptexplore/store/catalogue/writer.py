"""Writes a catalogue to a temporary file and renames the file when it is complete."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from msgspec.json import encode as to_json

from ptexplore.model.codes import Reason
from ptexplore.model.operators import (
    Binding,
    Derivative,
    DispatchKey,
    Operator,
    PythonKernel,
    PythonName,
    Registration,
    TableEntry,
)
from ptexplore.model.symbols import Symbol
from ptexplore.store.catalogue import CATALOGUE_FORMAT
from ptexplore.store.database import DatabaseWriter, schema_of


class CatalogueWriter(DatabaseWriter):
    """A catalogue that is being written."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._begin_aside("PRAGMA page_size = 4096", schema_of(__package__), CATALOGUE_FORMAT)
        self.paths: dict[str, int] = {}
        self.ops: dict[str, int] = {}
        self.entries: dict[tuple[str, bool, str | None, int | None, str], int] = {}
        self.keysets: dict[tuple[str, ...], int] = {}

    def _finish(self) -> None:
        self._insert("entry", [(i, e[0], e[1], self._path(e[2]), e[3], e[4]) for e, i in self.entries.items()])
        self._insert("keyset", [(i, ",".join(keys)) for keys, i in self.keysets.items()])
        self._insert("path", [(i, p) for p, i in self.paths.items()])
        self.meta({"complete": "yes"})

    def _path(self, path: str | None) -> int | None:
        return None if path is None else self.paths.setdefault(path, len(self.paths) + 1)

    def meta(self, facts: Mapping[str, str]) -> None:
        """Writes facts about the catalogue."""
        self._insert("meta", list(facts.items()))

    def operators(self, operators: Iterable[tuple[Operator, str]]) -> None:
        """Writes operators, each with the digest of its dump and table.

        Call this before anything that names an operator.
        """
        rows = []
        for operator, digest in operators:
            number = self.ops[operator.name] = len(self.ops) + 1
            rows.append(
                (
                    number,
                    operator.name,
                    operator.base,
                    operator.schema,
                    json.dumps(operator.aliases),
                    json.dumps(operator.tags),
                    json.dumps(operator.variants),
                    operator.structured,
                    operator.autogen,
                    self._path(operator.yaml_path),
                    operator.yaml_line,
                    operator.yaml_end,
                    operator.cpp_name,
                    self._path(operator.call_path),
                    operator.call_line,
                    operator.redispatch_line,
                    operator.core,
                    digest,
                )
            )
        self._insert("operator", rows)

    def registrations(self, registrations: Iterable[Registration]) -> None:
        """Writes registrations, in the order of the dump."""
        rows = [
            (
                None,
                self.ops[registration.op],
                registration.key,
                registration.alias,
                registration.inactive,
                registration.fallthrough,
                registration.origin,
                self._path(registration.path),
                registration.macro_line,
                registration.op_line,
                registration.confirmed,
                self._encoded(registration.why_not) if registration.why_not is not None else None,
                registration.signature,
                registration.callee,
                registration.wrapper,
                self._path(registration.body_path),
                registration.body_line,
                registration.body_end,
                registration.redispatch,
                registration.guard,
                registration.target,
                registration.target_kind,
                registration.target_meta,
                registration.body_why,
            )
            for registration in registrations
        ]
        self._insert("registration", rows)

    @staticmethod
    @cache
    def _encoded(reason: Reason) -> str:
        """Encodes a reason for storage. It is cached, since thousands of registrations have the same reason."""
        return str(to_json(reason), "utf-8")

    def tables(self, tables: Iterable[tuple[str, Iterable[TableEntry]]]) -> None:
        """Writes dispatch tables: pairs of an operator and its entries."""
        rows = []
        for op, entries in tables:
            for position, row in enumerate(entries):
                entry = (row.reason, row.fallthrough, row.path, row.line, row.raw)
                number = self.entries.setdefault(entry, len(self.entries) + 1)
                keyset = self.keysets.setdefault(row.keys, len(self.keysets) + 1)
                rows.append((self.ops[op], position, keyset, number))
        self._insert("dispatch", rows)

    def derivatives(self, derivatives: Iterable[Derivative]) -> None:
        """Writes derivatives. Several derivatives of one operator keep their order."""
        rows = []
        position: dict[str, int] = {}
        for derivative in derivatives:
            position[derivative.op] = position.get(derivative.op, -1) + 1
            formulas = json.dumps([[f.inputs, f.line, f.text, list(f.calls)] for f in derivative.formulas])
            rows.append(
                (
                    derivative.op,
                    position[derivative.op],
                    self._path(derivative.path),
                    derivative.line,
                    derivative.end_line,
                    derivative.source_op,
                    formulas,
                    derivative.node,
                    derivative.matched,
                    derivative.dispatch,
                )
            )
        self._insert("derivative", rows)

    def nodes(self, nodes: Iterable[tuple[str, str, int, int]]) -> None:
        """Writes (name, path, first line, last line) of the `apply` method of each node class."""
        self._insert("node", [(name, self._path(path), line, end) for name, path, line, end in nodes])

    def bindings(self, bindings: Iterable[Binding]) -> None:
        """Writes rows of PyMethodDef tables."""
        rows: list[tuple[object, ...]] = []
        by_op: list[tuple[object, ...]] = []
        for number, binding in enumerate(bindings, 1):
            place = (self._path(binding.path), binding.line, binding.end_line, binding.entry_line)
            rows.append((number, binding.table, binding.name, binding.c_function, *place, json.dumps(binding.ops)))
            by_op += [(op, number) for op in dict.fromkeys(binding.ops)]
        self._insert("binding", rows)
        self._insert("binding_op", by_op)

    def python_names(self, names: Iterable[PythonName]) -> None:
        """Writes public Python names. If a name is given twice, the first one is kept."""
        unique = {name.name: name for name in reversed(list(names))}
        self._insert(
            "python_name",
            [(n.name, n.kind, n.table, n.method, self._path(n.path), n.line) for n in unique.values()],
        )

    def python_kernels(self, kernels: Iterable[PythonKernel]) -> None:
        """Writes the Python callables that implement operators."""
        rows = [(None, k.op, k.role, k.function, self._path(k.path), k.line, k.end_line, k.key) for k in kernels]
        self._insert("python_kernel", rows)

    def keys(self, keys: Iterable[DispatchKey]) -> None:
        """Writes dispatch keys, in the order of the dispatcher."""
        self._insert("dispatch_key", [(i, k.name, str(k.raw), str(k.after)) for i, k in enumerate(keys)])

    def definitions(self, definitions: Iterable[tuple[str, str, str, int, int]]) -> None:
        """Writes (symbol, kind, path, first line, last line) of functions that generated C++ defines."""
        self._insert("definition", [(None, s, kind, self._path(p), line, e) for s, kind, p, line, e in definitions])

    def symbols(self, symbols: Iterable[Symbol]) -> None:
        """Writes functions of generated C++ that no other record names."""
        self._insert("symbol", [(None, symbol.qualified, json.dumps(symbol)) for symbol in symbols])

    def _insert(self, table: str, rows: Sequence[tuple[object, ...]]) -> None:
        if rows:
            with self._convert_errors():
                self._db.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)
