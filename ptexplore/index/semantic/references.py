"""The work of one process on one unit: it parses the unit and collects every resolved use in the requested files."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import POINTER, byref, c_uint
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ptexplore.index.semantic import clang as c
from ptexplore.index.semantic.arguments import Headers, arguments
from ptexplore.index.semantic.clang import (
    CONTINUE,
    NAMESPACE,
    RECURSE,
    TRANSLATION_UNIT,
    VISITOR,
    Clang,
    Cursor,
    Diagnostic,
    Unit,
    load,
    parsed,
)
from ptexplore.model.symbols import RefKind


class ResolvedUse(NamedTuple):
    """One resolved use: line, last part of the name, kind of use, and the definition used (see `Ref.target`)."""

    line: int
    name: str
    kind: RefKind
    target: str


@dataclass(slots=True)
class FileUses:
    """The uses in one file, from one unit.

    Calls on `open_lines` depend on template parameters, or were not resolved.
    """

    uses: set[ResolvedUse] = field(default_factory=set)
    open_lines: set[int] = field(default_factory=set)


_WORTH = frozenset((c.CALL_EXPR, c.DECL_REF_EXPR, c.MEMBER_REF_EXPR, c.TYPE_REF, c.TEMPLATE_REF, c.OVERLOADED_REF,
                    c.BASE_SPECIFIER, c.MACRO_EXPANSION, c.INCLUSION, *c.FUNCTIONS))  # fmt: skip


def references(unit: Unit, wanted: Callable[[str], bool]) -> dict[str, FileUses]:
    """Returns the uses in every file of the tree that `wanted` accepts, by canonical path."""
    return _Reader(unit, wanted).read()


class _Reader:
    """The visitor and its state: names, requested files, and the callees of the open calls."""

    def __init__(self, unit: Unit, wanted: Callable[[str], bool]) -> None:
        self._unit, self._clang, self._lib = unit, unit.clang, unit.clang.lib
        self._names = UnitNames(unit.clang)
        self._wanted = wanted
        self._files: dict[int, FileUses | None] = {}
        self._found: dict[str, FileUses] = {}
        # declaration -> the number of calls whose callee node comes later
        self._callees: dict[int, int] = {}

    def read(self) -> dict[str, FileUses]:
        top = self._lib.clang_getTranslationUnitCursor(self._unit.handle)
        self._lib.clang_visitChildren(top, VISITOR(self._visit), None)
        return self._found

    def _file(self, file: int) -> FileUses | None:
        if file not in self._files:
            path = self._unit.path(file)
            is_wanted = path is not None and self._wanted(path)
            self._files[file] = self._found.setdefault(path, FileUses()) if is_wanted and path is not None else None
        return self._files[file]

    def _visit(self, cursor: Cursor, _parent: Cursor, _data: object) -> int:
        kind = cursor.kind
        file, line = self._clang.place(self._lib.clang_getCursorLocation(cursor))
        file_uses = self._file(file)
        if file_uses is None:
            # A namespace in another file of the tree may contain an #include of a requested file.
            inside = kind in (c.NAMESPACE, c.LINKAGE_SPEC) and self._unit.path(file) is not None
            return RECURSE if inside or not file else CONTINUE
        if kind in _WORTH:
            self._take(file_uses, cursor, kind, line)
        return RECURSE

    def _take(self, file_uses: FileUses, cursor: Cursor, kind: int, line: int) -> None:
        if kind in c.FUNCTIONS:
            self._overrides(file_uses, cursor, line)
        elif kind == c.INCLUSION:
            self._include(file_uses, cursor, line)
        elif kind == c.MACRO_EXPANSION:
            name = self._clang.text(self._lib.clang_getCursorSpelling(cursor))
            file_uses.uses.add(ResolvedUse(line, name, "macro", name))
        elif kind == c.OVERLOADED_REF:
            self._overloaded(file_uses, cursor, line)
        else:
            self._resolved(file_uses, cursor, kind, line)

    def _resolved(self, file_uses: FileUses, cursor: Cursor, kind: int, line: int) -> None:
        target = self._lib.clang_getCursorReferenced(cursor)
        if 70 <= target.kind <= 73:
            if kind in (c.CALL_EXPR, c.MEMBER_REF_EXPR, c.DECL_REF_EXPR):
                file_uses.open_lines.add(line)
            return
        key = target.data[0] or 0
        if kind == c.CALL_EXPR:
            if target.kind == c.CONSTRUCTOR:
                self._add(file_uses, line, "call", target)
            elif target.kind in c.FUNCTIONS:
                self._callees[key] = self._callees.get(key, 0) + 1
        elif kind in (c.DECL_REF_EXPR, c.MEMBER_REF_EXPR):
            if target.kind in c.FUNCTIONS:
                waiting = self._callees.get(key, 0)
                self._callees[key] = max(waiting - 1, 0)
                self._add(file_uses, line, "call" if waiting else "address", target)
        elif kind == c.BASE_SPECIFIER:
            self._add(file_uses, line, "inherit", target)
        elif target.kind in c.TYPES:
            self._add(file_uses, line, "type", target)

    def _add(self, file_uses: FileUses, line: int, kind: RefKind, target: Cursor) -> None:
        name, qualified = self._names.signed(target) if target.kind in c.FUNCTIONS else self._names.of(target)
        if name:
            file_uses.uses.add(ResolvedUse(line, name, kind, qualified))

    def _overloaded(self, file_uses: FileUses, cursor: Cursor, line: int) -> None:
        """Adds a call in a template.

        The overload depends on the arguments of the template, the qualified name does not.
        """
        lib = self._lib
        several = [lib.clang_getOverloadedDecl(cursor, at) for at in range(lib.clang_getNumOverloadedDecls(cursor))]
        names = {self._names.of(declaration) for declaration in several if not 70 <= declaration.kind <= 73}
        if len(names) == 1:
            ((name, qualified),) = names
            file_uses.uses.add(ResolvedUse(line, name, "call", qualified))
        else:
            file_uses.open_lines.add(line)

    def _overrides(self, file_uses: FileUses, cursor: Cursor, line: int) -> None:
        if cursor.kind not in (c.CXX_METHOD, c.DESTRUCTOR, c.CONVERSION):
            return
        several, count = POINTER(Cursor)(), c_uint()
        self._lib.clang_getOverriddenCursors(cursor, byref(several), byref(count))
        if not count.value:
            return
        name = self._names.of(cursor)[0]
        file_uses.uses.update(
            ResolvedUse(line, name, "override", self._names.signed(several[at])[1]) for at in range(count.value)
        )
        self._lib.clang_disposeOverriddenCursors(several)

    def _include(self, file_uses: FileUses, cursor: Cursor, line: int) -> None:
        file = self._lib.clang_getIncludedFile(cursor)
        path = self._unit.path(file) if file else None
        written = self._clang.text(self._lib.clang_getCursorSpelling(cursor))
        if path is not None:
            file_uses.uses.add(ResolvedUse(line, written.rsplit("/", 1)[-1], "include", path))


_CAPABILITIES = frozenset(("CPU_CAPABILITY", "DEFAULT"))  # names of the namespace: undefined, and in this parse


class UnitNames:
    """The names of one unit's declarations. libclang is asked once for each."""

    def __init__(self, clang: Clang) -> None:
        self._clang = clang
        self._known: dict[int, tuple[str, str]] = {}
        self._signed: dict[int, tuple[str, str]] = {}

    def of(self, cursor: Cursor) -> tuple[str, str]:
        """Returns (last part, qualified name). Anonymous and inline namespaces and CPU_CAPABILITY are omitted."""
        key = cursor.data[0] or 0
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._make(cursor)
        return known

    def signed(self, function: Cursor) -> tuple[str, str]:
        """Does the same as `of`, with the types of the parameters: "at::add(const Tensor &, int)"."""
        key = function.data[0] or 0
        known = self._signed.get(key)
        if known is None:
            name, qualified = self.of(function)
            lib = self._clang.lib
            spelled = self._clang.text(lib.clang_getCursorSpelling(function))
            shown = self._clang.text(lib.clang_getCursorDisplayName(function))
            rest = shown[len(spelled) :] if shown.startswith(spelled) else ""
            known = self._signed[key] = name, qualified + rest[rest.find("(") :] if "(" in rest else qualified
        return known

    def _make(self, cursor: Cursor) -> tuple[str, str]:
        name = self._clang.text(self._clang.lib.clang_getCursorSpelling(cursor))
        # libclang spells a template's constructor with its parameters: "Foo<T>"
        if not name.startswith(("operator", "(")):
            name = name.partition("<")[0]
        outer = self._outer(cursor)
        return name, f"{outer}::{name}" if outer else name

    def _outer(self, cursor: Cursor) -> str:
        """Returns the qualified name of the scope of a declaration; "" at the top."""
        lib = self._clang.lib
        parent = lib.clang_getCursorSemanticParent(cursor)
        if parent.kind == TRANSLATION_UNIT or 70 <= parent.kind <= 73:
            return ""
        name, qualified = self.of(parent)
        if parent.kind == NAMESPACE and (
            not name
            or name.startswith("(")
            or name in _CAPABILITIES
            or lib.clang_Cursor_isInlineNamespace(parent)
            or lib.clang_Cursor_isAnonymous(parent)
        ):
            return self._outer(parent)
        return qualified


SHOWN = 20  # the number of a unit's diagnostics that are kept as text; all are counted


@dataclass(frozen=True, slots=True)
class Work:
    """One unit to parse, and the canonical paths of the files whose uses are requested."""

    headers: Headers
    path: str
    wanted: frozenset[str]


@dataclass(frozen=True, slots=True)
class UnitResult:
    """The result of a unit. `erring` are the requested files in which libclang reported an error."""

    errors: int
    warnings: int
    messages: tuple[Diagnostic, ...]
    erring: frozenset[str]
    uses: dict[str, FileUses]
    skipped: dict[str, list[tuple[int, int]]]


def work(task: Work) -> UnitResult:
    """Parses and reads one unit. Raises ValueError if libclang cannot parse it."""
    clang = load()
    file = str(Path(task.headers.root, task.path))
    with parsed(clang, task.headers.root, file, arguments(task.headers, task.path)) as unit:
        diagnostics = unit.diagnostics()
        errors = [diagnostic for diagnostic in diagnostics if diagnostic.severity == "error"]
        messages = (*errors, *(diagnostic for diagnostic in diagnostics if diagnostic.severity == "warning"))
        uses = references(unit, task.wanted.__contains__)
        skipped = {path: ranges for path, ranges in unit.skipped().items() if path in task.wanted}
        erring = frozenset(diagnostic.path for diagnostic in errors)
        return UnitResult(len(errors), len(diagnostics) - len(errors), messages[:SHOWN], erring, uses, skipped)
