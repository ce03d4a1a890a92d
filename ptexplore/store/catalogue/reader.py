"""Reads a catalogue, one operator at a time, as frozen records. torch is not needed."""

from __future__ import annotations

import contextlib
import difflib
import json
import sqlite3
from collections.abc import Callable
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ptexplore.errors import MISSING, PtexploreError
from ptexplore.model.operators import (
    Binding,
    Count,
    Derivative,
    DispatchKey,
    Formula,
    Operator,
    PythonKernel,
    PythonName,
    Registration,
    TableEntry,
)
from ptexplore.model.symbols import Symbol
from ptexplore.store.catalogue import CATALOGUE_FORMAT
from ptexplore.store.database import Database, connected

if TYPE_CHECKING:
    from ptexplore.model.codes import Reason
    from ptexplore.store.index.search import LinesText


def nearest(name: str, bases: list[str], overloads: Callable[[str], list[str]], count: int) -> list[str]:
    """Returns full names close to `name`: overloads if the operator exists but its overload does not, else operators.

    `bases` are the names of all operators, without namespace and overload. `overloads(base)` returns the full names for
    a base. A Python prefix ("F.", "nn.functional.") is ignored.
    """
    first, _, overload = name.rsplit("::", 1)[-1].partition(".")
    asked = first if first in bases or not overload else overload.rsplit(".", 1)[-1]
    nearest_names: list[str] = []
    for close in difflib.get_close_matches(asked, bases, count, 0.6):
        names = overloads(close)
        names = [full for full in names if full.startswith("aten::")] or names
        operator = names[0].partition(".")[0]
        if close == first and overload:
            nearest_names += difflib.get_close_matches(f"{operator}.{overload}", names, 3, 0.0)
        else:
            nearest_names.append(operator)
    return nearest_names[:count]


_OPERATOR = """SELECT name, schema, aliases, tags, variants, structured, autogen, y.path, yaml_line, yaml_end,
    cpp_name, c.path, call_line, redispatch_line, core
    FROM operator LEFT JOIN path y ON y.id = yaml_path LEFT JOIN path c ON c.id = call_path"""
_REGISTRATION = """SELECT o.name, r.key, alias, inactive, fallthrough, origin, p.path, macro_line, op_line, confirmed,
    why_not, signature, callee, wrapper, b.path, body_line, body_end, redispatch, guard, target, target_kind,
    target_meta, body_why
    FROM registration r JOIN operator o ON o.id = r.op
    LEFT JOIN path p ON p.id = r.path LEFT JOIN path b ON b.id = r.body_path"""
_DERIVATIVE = """SELECT op, p.path, d.line, d.end_line, source_op, formulas, d.node, a.path, n.line, n.end_line,
    matched, dispatch FROM derivative d JOIN path p ON p.id = d.path
    LEFT JOIN node n ON n.name = d.node LEFT JOIN path a ON a.id = n.path"""
_BINDING = """SELECT tab, name, c_function, p.path, line, end_line, entry_line, ops
    FROM binding b JOIN path p ON p.id = b.path"""
_NAME = "SELECT name, kind, tab, method, p.path, line FROM python_name n LEFT JOIN path p ON p.id = n.path"


class StaleCatalogue(PtexploreError):
    """The database has another version, is incomplete or is damaged, and must be rebuilt."""

    def __init__(self, why: str) -> None:
        super().__init__(
            "the catalogue is damaged", why, "run the same command again: ptexplore rebuilds the catalogue", MISSING
        )


class Store(Database):
    """An open catalogue. Every method raises StaleCatalogue if the file turns out to be damaged."""

    @cached_property
    def _asked(self) -> dict[str, list[Registration]]:
        """A cache: the registrations of each operator. A trace asks for them once per key of each call."""
        return {}

    @staticmethod
    def open(path: Path) -> Store:
        """Opens `path` for reading. Raises FileNotFoundError, and StaleCatalogue if the file cannot be used."""
        if not path.is_file():
            raise FileNotFoundError(path)
        try:
            # immutable: a catalogue is never changed in place, and in a read-only cache SQLite cannot make a lock file
            db = connected(path, "unchanging", __package__)
            version = db.execute("PRAGMA user_version").fetchone()[0]
            pages, size = (db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
            if version != CATALOGUE_FORMAT or pages * size != path.stat().st_size:
                raise StaleCatalogue(f"{path}: version {version}, {path.stat().st_size} bytes")
            if db.execute("SELECT value FROM meta WHERE key = 'complete'").fetchone() is None:
                raise StaleCatalogue(f"{path}: incomplete")
        except sqlite3.Error as error:
            raise StaleCatalogue(f"{path}: {error}") from error
        return Store(path, db)

    def damaged(self, error: sqlite3.Error) -> StaleCatalogue:
        """Deletes the file, so that the next command rebuilds it, and returns the error to raise.

        `open` cannot detect every kind of damage.
        """
        with contextlib.suppress(OSError):
            self.path.unlink()
        return StaleCatalogue(f"{self.path}: {error}")

    # --- operators ---

    def operator(self, name: str) -> Operator | None:
        """Returns the operator with a full name such as "aten::add.Tensor", or None."""
        rows = self.rows(f"{_OPERATOR} WHERE name = ?", name)
        return _operator(rows[0]) if rows else None

    def operators(self) -> list[Operator]:
        """Returns all operators, sorted by name."""
        return [_operator(row) for row in self.rows(f"{_OPERATOR} ORDER BY name")]

    def operators_named(self, base: str) -> list[Operator]:
        """Returns every overload, of any namespace, whose name without the overload is `base`."""
        return [_operator(row) for row in self.rows(f"{_OPERATOR} WHERE base = ? ORDER BY operator.id", base)]

    def all_names(self) -> list[str]:
        """Returns the full names of all operators."""
        return [row[0] for row in self.rows("SELECT name FROM operator ORDER BY name")]

    @cached_property
    def names_by_base(self) -> dict[str, list[str]]:
        """The full names of the operators of each base: "add" -> "aten::add.Tensor", "aten::add.out", ….

        It is cached, since a search uses it after every key press.
        """
        families: dict[str, list[str]] = {}
        for base, name in self.rows("SELECT base, name FROM operator ORDER BY name"):
            families.setdefault(base, []).append(name)
        return families

    @cached_property
    def bases_text(self) -> LinesText:
        """The bases of all operators, as a search looks for words in them."""
        from ptexplore.store.index.search import LinesText

        return LinesText("\n" + "\n".join(sorted(self.names_by_base)) + "\n")

    def digests(self) -> dict[str, str]:
        """Returns a dict: operator -> digest of its dump and its dispatch table when the catalogue was built."""
        return dict(self.rows("SELECT name, digest FROM operator"))

    def suggest(self, name: str, count: int = 5) -> list[str]:
        """Returns the names closest to `name`: overloads if it has one ("add.Tenzor"), else operators ("aten::add")."""
        bases = [row[0] for row in self.rows("SELECT DISTINCT base FROM operator")]
        return nearest(name, bases, lambda base: [operator.name for operator in self.operators_named(base)], count)

    # --- registrations and tables ---

    def registrations(self, op: str) -> list[Registration]:
        """Returns the registrations of `op` in the order of the dump. The schema's own (key None) comes first."""
        known = self._asked.get(op)
        if known is None:
            known = [_registration(row) for row in self.rows(f"{_REGISTRATION} WHERE o.name = ? ORDER BY r.id", op)]
            self._asked[op] = known
        return known

    def registered_under(self, key: str) -> list[str]:
        """Returns the full names of the operators that have a kernel of their own for a dispatch key."""
        rows = self.rows(
            """SELECT DISTINCT o.name FROM registration r JOIN operator o ON o.id = r.op
            WHERE r.key = ? AND NOT r.alias AND NOT r.fallthrough AND NOT r.inactive ORDER BY o.name""",
            key,
        )
        return [row[0] for row in rows]

    def registered_for(self, function: str) -> list[Registration]:
        """Returns the registrations whose kernel is this C++ function, or only calls it, sorted by operator.

        `function` is a qualified name.
        """
        where = "WHERE r.wrapper = ?1 OR r.target IN (?1, ?2) OR r.target_meta IN (?1, ?2) ORDER BY o.name, r.id"
        # a structured kernel is recorded by its class
        structured = function.removesuffix("::impl").removesuffix("::meta")
        return [_registration(row) for row in self.rows(f"{_REGISTRATION} {where}", function, structured)]

    def operators_with(self, kernel: str) -> list[str]:
        """Returns the full names of the operators that a generated function is registered for, sorted.

        `kernel` is a qualified name.
        """
        rows = self.rows(
            """SELECT DISTINCT o.name FROM registration r JOIN operator o ON o.id = r.op
            WHERE r.wrapper = ? AND r.origin = 'generated' ORDER BY o.name""",
            kernel,
        )
        return [row[0] for row in rows]

    def table(self, op: str) -> list[TableEntry]:
        """Returns the dispatch table of `op`. A key without kernel appears in no entry."""
        rows = self.rows(
            """SELECT k.keys, e.reason, e.fallthrough, p.path, e.line, e.raw FROM dispatch d
            JOIN operator o ON o.id = d.op JOIN keyset k ON k.id = d.keyset JOIN entry e ON e.id = d.entry
            LEFT JOIN path p ON p.id = e.path WHERE o.name = ? ORDER BY d.position""",
            op,
        )
        return [TableEntry(tuple(r[0].split(",")), r[1], bool(r[2]), r[3], r[4], r[5]) for r in rows]

    def table_keys(self) -> list[str]:
        """Returns the dispatch keys that operators' tables have, in the order of the dispatcher."""
        held = {key for (keys,) in self.rows("SELECT keys FROM keyset") for key in keys.split(",")}
        return [key for key in self.keys() if key in held]

    def entries_under(self, key: str) -> dict[str, TableEntry]:
        """Returns the entry of the dispatch table for one key, by operator. An operator without kernel is left out."""
        rows = self.rows(
            """SELECT o.name, k.keys, e.reason, e.fallthrough, p.path, e.line, e.raw FROM dispatch d
            JOIN operator o ON o.id = d.op JOIN keyset k ON k.id = d.keyset JOIN entry e ON e.id = d.entry
            LEFT JOIN path p ON p.id = e.path WHERE instr(',' || k.keys || ',', ?)""",
            f",{key},",
        )
        return {r[0]: TableEntry(tuple(r[1].split(",")), r[2], bool(r[3]), r[4], r[5], r[6]) for r in rows}

    def own_keys(self) -> dict[str, tuple[str, ...]]:
        """Returns the keys for which each operator has a kernel of its own, by operator."""
        rows = self.rows(
            """SELECT o.name, group_concat(k.keys) FROM dispatch d JOIN operator o ON o.id = d.op
            JOIN keyset k ON k.id = d.keyset JOIN entry e ON e.id = d.entry
            WHERE e.reason = 'kernel' AND NOT e.fallthrough GROUP BY o.name"""
        )
        return {name: tuple(keys.split(",")) for name, keys in rows}

    def fallback(self, path: str, line: int) -> list[TableEntry]:
        """Returns the entries of the backend fallback at `path`:`line`, each with all keys that use it."""
        rows = self.rows(
            """SELECT DISTINCT k.keys, e.reason, e.fallthrough, p.path, e.line, e.raw FROM entry e
            JOIN path p ON p.id = e.path JOIN dispatch d ON d.entry = e.id JOIN keyset k ON k.id = d.keyset
            WHERE p.path = ? AND e.line = ? AND e.reason = 'backend fallback'""",
            path,
            line,
        )
        merged: dict[tuple[Any, ...], dict[str, None]] = {}
        for keys, *rest in rows:
            merged.setdefault(tuple(rest), {}).update(dict.fromkeys(keys.split(",")))
        return [TableEntry(tuple(keys), r[0], bool(r[1]), *r[2:]) for r, keys in merged.items()]

    def counts(self) -> dict[str, Count]:
        """Counts confirmed and all registrations by origin: generated, handwritten, python, nofile."""
        counts = {origin: Count(0, 0) for origin in ("generated", "handwritten", "python", "nofile")}
        for origin, confirmed, total in self.rows(
            "SELECT origin, sum(confirmed), count(*) FROM registration GROUP BY origin"
        ):
            counts[origin] = Count(confirmed, total)
        return counts

    def unconfirmed(self, limit: int = 20, origin: str | None = None) -> list[Registration]:
        """Returns registrations that are not confirmed, generated ones first. `origin` selects one origin."""
        query = f"{_REGISTRATION} WHERE NOT confirmed AND coalesce(?, origin) = origin"
        order = "ORDER BY origin != 'generated', origin, r.id LIMIT ?"
        return [_registration(row) for row in self.rows(f"{query} {order}", origin, limit)]

    def unconfirmed_reasons(self) -> list[tuple[Reason, int]]:
        """Returns each reason why registrations are not confirmed, with the number of registrations."""
        rows = self.rows("SELECT why_not, count(*) FROM registration WHERE NOT confirmed GROUP BY why_not")
        return [(_reason(encoded), count) for encoded, count in rows]

    # --- derivatives ---

    def derivative(self, op: str) -> Derivative | None:
        """Returns the derivative of `op`. If its entry has several, returns the default one."""
        derivatives = self.derivatives(op)
        default = next((derivative for derivative in derivatives if derivative.dispatch == "Default"), None)
        return default or next(iter(derivatives), None)

    def derivatives(self, op: str) -> list[Derivative]:
        """Returns every derivative of `op`: an entry may have one per autograd key."""
        return [_derivative(row) for row in self.rows(f"{_DERIVATIVE} WHERE op = ? ORDER BY position", op)]

    def derivative_of_node(self, node: str) -> list[Derivative]:
        """Returns every derivative that makes a node of class `node` (a name without namespace)."""
        return [_derivative(row) for row in self.rows(f"{_DERIVATIVE} WHERE d.node = ? ORDER BY op, position", node)]

    def node(self, name: str) -> tuple[str, int, int] | None:
        """Returns path, first line and last line of `apply` in the generated node class `name`."""
        rows = self.rows("SELECT p.path, line, end_line FROM node JOIN path p ON p.id = node.path WHERE name = ?", name)
        return rows[0] if rows else None

    # --- Python ---

    def binding(self, table: str, method: str) -> Binding | None:
        """Returns the row of `method` in `table`, a PyMethodDef table.

        Returns None if there is no such row, or several.
        """
        rows = self.rows(f"{_BINDING} WHERE name = ? AND tab = ?", method, table)
        return _binding(rows[0]) if len(rows) == 1 else None

    def bindings_of(self, c_function: str) -> list[Binding]:
        """Returns the rows that name a C function such as "THPVariable_add".

        Several files may each have a function of this name.
        """
        return [_binding(row) for row in self.rows(f"{_BINDING} WHERE c_function = ? ORDER BY b.id", c_function)]

    def bindings_for(self, op: str) -> list[Binding]:
        """Returns the rows whose C function dispatches to `op`."""
        query = f"{_BINDING} JOIN binding_op o ON o.binding = b.id WHERE o.op = ? ORDER BY b.id"
        return [_binding(row) for row in self.rows(query, op)]

    def python_name(self, name: str) -> PythonName | None:
        """Returns the public name `name`, for example "torch.nn.functional.conv2d"."""
        rows = self.rows(f"{_NAME} WHERE name = ?", name)
        return PythonName(*rows[0]) if rows else None

    def python_names_for(self, table: str, method: str) -> list[PythonName]:
        """Returns the public names of the builtin `method` of `table`."""
        query = f"{_NAME} WHERE method = ? AND tab = ? ORDER BY length(name), name"
        return [PythonName(*row) for row in self.rows(query, method, table)]

    def python_kernels(self, op: str) -> list[PythonKernel]:
        """Returns the Python callables that decompose `op`, implement it, or are its meta function."""
        rows = self.rows(
            """SELECT op, role, function, p.path, line, end_line, key FROM python_kernel k
            LEFT JOIN path p ON p.id = k.path WHERE op = ? ORDER BY k.id""",
            op,
        )
        return [PythonKernel(*row) for row in rows]

    # --- the rest ---

    def keys(self) -> dict[str, DispatchKey]:
        """Returns every dispatch key by name, in the order of the dispatcher."""
        rows = self.rows("SELECT name, raw, after FROM dispatch_key ORDER BY position")
        return {name: DispatchKey(name, int(raw), int(after)) for name, raw, after in rows}

    def definition(self, symbol: str) -> tuple[str, int, int] | None:
        """Returns path, first line and last line of a definition in generated C++. None unless there is exactly one."""
        definitions = self.definitions(symbol)
        return definitions[0] if len(definitions) == 1 else None

    def definitions(self, symbol: str) -> list[tuple[str, int, int]]:
        """Returns path, first and last line of every definition of `symbol` (a qualified name) in generated C++."""
        rows = self.rows(
            """SELECT p.path, line, end_line FROM definition d JOIN path p ON p.id = d.path
            WHERE symbol = ? ORDER BY d.id""",
            symbol,
        )
        return [(path, line, end) for path, line, end in rows]

    def symbols(self, qualified: str) -> list[Symbol]:
        """Returns the functions of this name in generated C++ that no other record names."""
        rows = self.rows("SELECT record FROM symbol WHERE qualified = ? ORDER BY id", qualified)
        return [_symbol(json.loads(record)) for (record,) in rows]


def _symbol(values: list[Any]) -> Symbol:
    symbol = Symbol(*values)
    parameters = tuple(symbol.parameters) if symbol.parameters is not None else None
    return symbol._replace(parameters=parameters, guards=tuple(symbol.guards))


def _operator(row: tuple[Any, ...]) -> Operator:
    values = list(row)
    for position in (2, 3, 4):  # aliases, tags, variants
        values[position] = tuple(json.loads(values[position]))
    for position in (6, -1):  # autogen, core
        values[position] = bool(values[position])
    return Operator(*values)


def _registration(row: tuple[Any, ...]) -> Registration:
    op, key, alias, inactive, fallthrough, origin, path, macro_line, op_line, confirmed, encoded, *rest = row
    flags = (bool(alias), bool(inactive), bool(fallthrough))
    why_not = _reason(encoded) if encoded is not None else None
    return Registration(op, key, *flags, origin, path, macro_line, op_line, bool(confirmed), why_not, *rest)


@cache  # thousands of registrations have the same reason
def _reason(encoded: str) -> Reason:
    """Decodes a stored reason. The codes are imported only here, since most searches decode none."""
    from msgspec import MsgspecError
    from msgspec.json import decode

    from ptexplore.model.codes import decoded
    from ptexplore.model.place_reasons import AnyKeptReason

    try:
        reason: Reason = decode(encoded, type=AnyKeptReason, dec_hook=decoded)
    except MsgspecError as error:
        raise ValueError(str(error)) from error
    return reason


def _derivative(row: tuple[Any, ...]) -> Derivative:
    op, path, line, end_line, source_op, formulas, *rest = row
    parsed = tuple(Formula(i, number, text, tuple(calls)) for i, number, text, calls in json.loads(formulas))
    return Derivative(op, path, line, end_line, source_op, parsed, *rest)


def _binding(row: tuple[Any, ...]) -> Binding:
    table, name, c_function, path, line, end_line, entry_line, ops = row
    return Binding(table, name, c_function, path, line, end_line, entry_line, tuple(json.loads(ops)))
