"""Every function definition that libclang sees in a unit's own files: an extractor independent of tree-sitter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ptexplore.index.semantic.clang import (
    CONTINUE,
    FUNCTION_TEMPLATE,
    FUNCTIONS,
    NOT_AVAILABLE,
    RECURSE,
    VISITOR,
    Cursor,
)
from ptexplore.index.semantic.names import Names
from ptexplore.index.semantic.unit import Unit


@dataclass(frozen=True, slots=True)
class Definition:
    """One function definition. `line` is that of the name: of what a macro made, where its argument names it, else the
    macro's use, which begins at `use`. `bodiless`: `= default` or `= delete`.
    """

    path: str
    qualified: str
    line: int
    use: int
    end_line: int
    template: bool
    bodiless: bool


def definitions(unit: Unit, wanted: Callable[[str], bool]) -> list[Definition]:
    """All whose name lies in a file of the tree that `wanted` accepts, templates and local classes included."""
    clang, lib, names = unit.clang, unit.clang.lib, Names(unit.clang)
    found: list[Definition] = []

    def visit(cursor: Cursor, _parent: Cursor, _data: object) -> int:
        location = lib.clang_getCursorLocation(cursor)
        file, line = clang.place(location)
        path = unit.path(file)
        if path is None:
            return CONTINUE if file else RECURSE
        if cursor.kind not in FUNCTIONS or not wanted(path):
            return RECURSE
        bodiless = lib.clang_CXXMethod_isDefaulted(cursor) or lib.clang_getCursorAvailability(cursor) == NOT_AVAILABLE
        if bodiless or lib.clang_isCursorDefinition(cursor):
            qualified = names.of(cursor)[1]
            _, use = clang.place(location, expanded=True)
            _, end = clang.place(lib.clang_getRangeEnd(lib.clang_getCursorExtent(cursor)))
            template = cursor.kind == FUNCTION_TEMPLATE
            found.append(Definition(path, qualified, line, use, end, template, bool(bodiless)))
        return RECURSE

    lib.clang_visitChildren(lib.clang_getTranslationUnitCursor(unit.handle), VISITOR(visit), None)
    return found
