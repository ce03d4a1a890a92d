"""Every definition that libclang sees in a unit's own files: an extractor independent of tree-sitter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ptexplore.index.semantic import clang as kinds
from ptexplore.index.semantic.clang import (
    CONTINUE,
    FUNCTION_TEMPLATE,
    FUNCTIONS,
    NOT_AVAILABLE,
    RECURSE,
    VISITOR,
    Cursor,
    Unit,
)
from ptexplore.index.semantic.references import UnitNames

_TYPES = {
    kinds.STRUCT: "type", kinds.UNION: "type", kinds.CLASS: "type", kinds.ENUM: "type", kinds.CLASS_TEMPLATE: "type",
    kinds.PARTIAL_SPECIALISATION: "type",
}  # fmt: skip
_OTHERS = {
    **_TYPES, kinds.TYPEDEF: "type", kinds.ALIAS: "type", kinds.ENUMERATOR: "enumerator", kinds.FIELD: "value",
    kinds.VARIABLE: "value",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Definition:
    """One definition. `line` is that of the name: of what a macro made, where its argument names it, else the
    macro's use, which begins at `use`. `bodiless`: `= default` or `= delete`. `kind`: "function"; "type" (classes,
    enumerations, typedefs), "enumerator", "value" (members, variables of namespaces).
    """

    path: str
    qualified: str
    line: int
    use: int
    end_line: int
    template: bool
    bodiless: bool
    kind: str = "function"


def definitions(unit: Unit, wanted: Callable[[str], bool]) -> list[Definition]:
    """All whose name lies in a file of the tree that `wanted` accepts: functions, those of templates and local classes
    included; types, enumerators, members and variables outside of functions.
    """
    clang, lib = unit.clang, unit.clang.lib
    reader = _Reader(unit)
    found: list[Definition] = []

    def visit(cursor: Cursor, _parent: Cursor, _data: object) -> int:
        location = lib.clang_getCursorLocation(cursor)
        file, line = clang.place(location)
        path = unit.path(file)
        if path is None:
            return CONTINUE if file else RECURSE
        if (cursor.kind not in FUNCTIONS and cursor.kind not in _OTHERS) or not wanted(path):
            return RECURSE
        kind, qualified, bodiless = reader.read(cursor)
        if kind is not None:
            _, use = clang.place(location, expanded=True)
            _, end = clang.place(lib.clang_getRangeEnd(lib.clang_getCursorExtent(cursor)))
            template = cursor.kind == FUNCTION_TEMPLATE
            found.append(Definition(path, qualified, line, use, end, template, bodiless, kind))
        return RECURSE

    lib.clang_visitChildren(lib.clang_getTranslationUnitCursor(unit.handle), VISITOR(visit), None)
    return found


class _Reader:
    """Says of a cursor what it defines."""

    def __init__(self, unit: Unit) -> None:
        self._lib = unit.clang.lib
        self._names = UnitNames(unit.clang)

    def read(self, cursor: Cursor) -> tuple[str | None, str, bool]:
        """(kind, qualified name, whether it is `= default` or `= delete`); kind None where it defines nothing here."""
        lib = self._lib
        if cursor.kind in FUNCTIONS:
            deleted = lib.clang_getCursorAvailability(cursor) == NOT_AVAILABLE
            bodiless = bool(lib.clang_CXXMethod_isDefaulted(cursor) or deleted)
            defines = bodiless or lib.clang_isCursorDefinition(cursor)
            return ("function" if defines else None), self._names.of(cursor)[1] if defines else "", bodiless
        kind, parent = _OTHERS[cursor.kind], lib.clang_getCursorSemanticParent(cursor)
        name, qualified = self._names.of(cursor)
        unnamed = not name or name.startswith("(") or (cursor.kind in _TYPES and lib.clang_Cursor_isAnonymous(cursor))
        member = parent.kind in _TYPES and cursor.kind == kinds.VARIABLE  # static: declared in the class
        defined = member or cursor.kind in (kinds.TYPEDEF, kinds.ALIAS) or lib.clang_isCursorDefinition(cursor)
        if unnamed or not defined or self._is_local(parent):
            return None, "", False
        if kind == "enumerator" and not lib.clang_EnumDecl_isScoped(parent):  # its name is one of what is around it
            around = self._names.of(parent)[1].rpartition("::")[0]
            qualified = f"{around}::{name}" if around else name
        return kind, qualified, False

    def _is_local(self, cursor: Cursor) -> bool:
        while cursor.kind in _TYPES:
            cursor = self._lib.clang_getCursorSemanticParent(cursor)
        return cursor.kind in FUNCTIONS
