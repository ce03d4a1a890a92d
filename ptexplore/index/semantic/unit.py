"""One translation unit, parsed: its files under canonical paths, its diagnostics, what the preprocessor skipped."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ctypes import byref, c_char_p, c_void_p
from dataclasses import dataclass

from ptexplore.index.semantic.clang import (
    DETAILED_PREPROCESSING,
    ERROR,
    INCLUDED,
    KEEP_GOING,
    WARNING,
    Clang,
    Unsaved,
)


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """What libclang had to say: "error" (fatal ones too) or "warning"; `path` as canonical where it is the tree's."""

    severity: str
    path: str
    line: int
    text: str


class Unit:
    """A parsed unit; made by `parsed`, valid until its context ends."""

    def __init__(self, clang: Clang, handle: c_void_p, root: str) -> None:
        self.clang = clang
        self.handle = handle
        self._root = root.rstrip("/") + "/"
        self._paths: dict[int, str | None] = {}

    def path(self, file: int) -> str | None:
        """The canonical path of a file handle; None outside the tree."""
        if file not in self._paths:
            self._paths[file] = self._canonical(file)
        return self._paths[file]

    def _name(self, file: int) -> str:
        return os.path.normpath(self.clang.text(self.clang.lib.clang_getFileName(file))) if file else ""

    def _canonical(self, file: int) -> str | None:
        name = self._name(file)
        return name.removeprefix(self._root) if name.startswith(self._root) else None

    def files(self) -> set[str]:
        """The tree's files that the unit read."""
        found: set[str] = set()

        def note(file: int, _stack: object, _depth: int, _data: object) -> None:
            path = self.path(file)
            if path is not None:
                found.add(path)

        self.clang.lib.clang_getInclusions(self.handle, INCLUDED(note), None)
        return found

    def diagnostics(self) -> list[Diagnostic]:
        """Warnings and errors, in order."""
        lib, found = self.clang.lib, []
        for at in range(lib.clang_getNumDiagnostics(self.handle)):
            one = c_void_p(lib.clang_getDiagnostic(self.handle, at))
            severity = lib.clang_getDiagnosticSeverity(one)
            if severity >= WARNING:
                file, line = self.clang.place(lib.clang_getDiagnosticLocation(one))
                text = self.clang.text(lib.clang_getDiagnosticSpelling(one))
                path = self.path(file) or self._name(file)
                found.append(Diagnostic("error" if severity >= ERROR else "warning", path, line, text))
            lib.clang_disposeDiagnostic(one)
        return found

    def skipped(self) -> dict[str, list[tuple[int, int]]]:
        """Of every file of the tree in the unit: the (first, last) lines that the preprocessor left out."""
        lib = self.clang.lib
        ranges: dict[str, list[tuple[int, int]]] = {}
        found = lib.clang_getAllSkippedRanges(self.handle)
        for at in range(found.contents.count):
            one = found.contents.ranges[at]
            file, first = self.clang.place(lib.clang_getRangeStart(one))
            _, last = self.clang.place(lib.clang_getRangeEnd(one))
            path = self.path(file)
            if path is not None:
                ranges.setdefault(path, []).append((first, last))
        lib.clang_disposeSourceRangeList(found)
        return ranges


@contextmanager
def parsed(
    clang: Clang, root: str, file: str, arguments: Sequence[str], text: str | None = None, *, macros: bool = True
) -> Iterator[Unit]:
    """Parse `file` (its `text` instead of what lies there, where given) and give the unit.

    `macros`: keep macro uses and includes too. Raises ValueError where libclang makes nothing of it at all.
    """
    lib = clang.lib
    words = [one.encode() for one in ("-resource-dir", clang.resources, *arguments)]
    unsaved = None if text is None else byref(_unsaved(file, text))
    index, handle = c_void_p(lib.clang_createIndex(0, 0)), c_void_p()
    options = KEEP_GOING | (DETAILED_PREPROCESSING if macros else 0)
    try:
        values = (c_char_p * len(words))(*words)
        failed = lib.clang_parseTranslationUnit2(
            index, file.encode(), values, len(words), unsaved, 0 if text is None else 1, options, byref(handle)
        )
        if failed or not handle.value:
            raise ValueError(f"libclang cannot parse it (code {failed})")
        yield Unit(clang, handle, root)
    finally:
        if handle.value:
            lib.clang_disposeTranslationUnit(handle)
        lib.clang_disposeIndex(index)


def _unsaved(file: str, text: str) -> Unsaved:
    raw = text.encode()
    return Unsaved(file.encode(), raw, len(raw))
