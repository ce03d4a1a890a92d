"""libclang through ctypes: the functions that are needed, the search for its library, and one parsed translation unit.

libclang's own Python layer makes a list of objects at every node; a C callback for each node is several times faster.
The structures and cursor kinds are defined in clang-c/Index.h, LLVM 18.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ctypes import POINTER, Structure, byref, c_char_p, c_int, c_uint, c_void_p
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ptexplore.errors import MISSING, PtexploreError

# Kinds of cursors.
FUNCTION, CXX_METHOD, NAMESPACE, LINKAGE_SPEC = 8, 21, 22, 23
STRUCT, UNION, CLASS, ENUM, FIELD, ENUMERATOR, VARIABLE, TYPEDEF = 2, 3, 4, 5, 6, 7, 9, 20
CLASS_TEMPLATE, PARTIAL_SPECIALISATION, ALIAS = 31, 32, 36
CONSTRUCTOR, DESTRUCTOR, CONVERSION, FUNCTION_TEMPLATE = 24, 25, 26, 30
TYPE_REF, BASE_SPECIFIER, TEMPLATE_REF, OVERLOADED_REF = 43, 44, 45, 49
DECL_REF_EXPR, MEMBER_REF_EXPR, CALL_EXPR = 101, 102, 103
TRANSLATION_UNIT, MACRO_EXPANSION, INCLUSION = 350, 502, 503
FUNCTIONS = frozenset((FUNCTION, CXX_METHOD, CONSTRUCTOR, DESTRUCTOR, CONVERSION, FUNCTION_TEMPLATE))
TYPES = frozenset((2, 3, 4, 5, 20, 31, 32, 36, 601))  # struct, union, class, enum, typedef, templates, aliases
NOT_AVAILABLE = 2  # the availability of a deleted function
CONTINUE, RECURSE = 1, 2  # results of a visitor

# Options of a parse.
DETAILED_PREPROCESSING, KEEP_GOING = 0x01, 0x200
WARNING, ERROR = 2, 3  # severities of a diagnostic
CRASHED = 2  # the error code of a crash while parsing


class Cursor(Structure):
    """CXCursor. For a declaration, `data[0]` is the address of the declaration, which identifies it in its unit."""

    _fields_ = (("kind", c_int), ("xdata", c_int), ("data", c_void_p * 3))


class Location(Structure):
    """CXSourceLocation."""

    _fields_ = (("ptr_data", c_void_p * 2), ("int_data", c_uint))


class Range(Structure):
    """CXSourceRange."""

    _fields_ = (("ptr_data", c_void_p * 2), ("begin", c_uint), ("end", c_uint))


class String(Structure):
    """CXString."""

    _fields_ = (("data", c_void_p), ("flags", c_uint))


class RangeList(Structure):
    """CXSourceRangeList."""

    _fields_ = (("count", c_uint), ("ranges", POINTER(Range)))


VISITOR = ctypes.CFUNCTYPE(c_int, Cursor, Cursor, c_void_p)
INCLUDED = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_uint, c_void_p)
_UINTS = [POINTER(c_void_p), *[POINTER(c_uint)] * 3]
_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "clang_createIndex": (c_void_p, [c_int, c_int]),
    "clang_disposeIndex": (None, [c_void_p]),
    "clang_parseTranslationUnit2": (
        c_int,
        [c_void_p, c_char_p, POINTER(c_char_p), c_int, c_void_p, c_uint, c_uint, POINTER(c_void_p)],
    ),
    "clang_disposeTranslationUnit": (None, [c_void_p]),
    "clang_getTranslationUnitCursor": (Cursor, [c_void_p]),
    "clang_visitChildren": (c_uint, [Cursor, VISITOR, c_void_p]),
    "clang_getCursorLocation": (Location, [Cursor]),
    "clang_getFileLocation": (None, [Location, *_UINTS]),
    "clang_getExpansionLocation": (None, [Location, *_UINTS]),
    "clang_getCursorExtent": (Range, [Cursor]),
    "clang_getRangeStart": (Location, [Range]),
    "clang_getRangeEnd": (Location, [Range]),
    "clang_getCursorSpelling": (String, [Cursor]),
    "clang_getCursorDisplayName": (String, [Cursor]),
    "clang_getCursorReferenced": (Cursor, [Cursor]),
    "clang_getCursorSemanticParent": (Cursor, [Cursor]),
    "clang_isCursorDefinition": (c_uint, [Cursor]),
    "clang_Cursor_isInlineNamespace": (c_uint, [Cursor]),
    "clang_Cursor_isAnonymous": (c_uint, [Cursor]),
    "clang_EnumDecl_isScoped": (c_uint, [Cursor]),
    "clang_getCursorAvailability": (c_int, [Cursor]),
    "clang_CXXMethod_isDefaulted": (c_uint, [Cursor]),
    "clang_getOverriddenCursors": (None, [Cursor, POINTER(POINTER(Cursor)), POINTER(c_uint)]),
    "clang_disposeOverriddenCursors": (None, [POINTER(Cursor)]),
    "clang_getNumOverloadedDecls": (c_uint, [Cursor]),
    "clang_getOverloadedDecl": (Cursor, [Cursor, c_uint]),
    "clang_getIncludedFile": (c_void_p, [Cursor]),
    "clang_getFileName": (String, [c_void_p]),
    "clang_getInclusions": (None, [c_void_p, INCLUDED, c_void_p]),
    "clang_getAllSkippedRanges": (POINTER(RangeList), [c_void_p]),
    "clang_disposeSourceRangeList": (None, [POINTER(RangeList)]),
    "clang_getNumDiagnostics": (c_uint, [c_void_p]),
    "clang_getDiagnostic": (c_void_p, [c_void_p, c_uint]),
    "clang_disposeDiagnostic": (None, [c_void_p]),
    "clang_getDiagnosticSeverity": (c_int, [c_void_p]),
    "clang_getDiagnosticSpelling": (String, [c_void_p]),
    "clang_getDiagnosticLocation": (Location, [c_void_p]),
    "clang_getCString": (c_char_p, [String]),
    "clang_disposeString": (None, [String]),
}


@dataclass(frozen=True)
class Clang:
    """The loaded library and the folder of its builtin headers."""

    lib: Any
    resources: str

    def text(self, string: String) -> str:
        """Returns the text of a CXString and frees the string."""
        raw: bytes = self.lib.clang_getCString(string) or b""
        self.lib.clang_disposeString(string)
        return raw.decode("utf-8", "replace")

    def place(self, location: Location, *, expanded: bool = False) -> tuple[int, int]:
        """Returns (file handle, 1-based line) of a location. The handle is 0 if the location is in no file.

        For code that a macro made: the place of the macro's argument, or else of its use. With `expanded`, always of
        its use.
        """
        file, line = c_void_p(), c_uint()
        call = self.lib.clang_getExpansionLocation if expanded else self.lib.clang_getFileLocation
        call(location, byref(file), byref(line), None, None)
        return file.value or 0, line.value


def headers() -> Path | None:
    """Returns the folder of libclang's builtin headers, from another package. None if that is not installed."""
    return _inside("clang_tidy", "data/lib/clang", ("18",))


def _inside(package: str, folder: str, names: tuple[str, ...]) -> Path | None:
    spec = find_spec(package)
    for root in (spec.submodule_search_locations or ()) if spec else ():
        for name in names:
            path = Path(root) / folder / name
            if path.exists():
                return path
    return None


@cache
def load() -> Clang:
    """Returns libclang, ready to use.

    Raises PtexploreError if it does not load, or if it or its headers are missing.
    """
    library = _inside("clang", "native", ("libclang.so", "libclang.dylib"))
    if library is None:
        hint = "pip install --force-reinstall 'libclang>=18.1,<19'"
        raise PtexploreError("libclang is missing", "the installation of ptexplore lacks it", hint, MISSING)
    include = headers()
    if include is None:
        why = "the package clang-tidy 18.1 (113 MB) has them"
        raise PtexploreError(
            "libclang's builtin headers are missing", why, "pip install 'ptexplore[semantic]'", MISSING
        )
    try:
        lib = ctypes.CDLL(str(library))
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(lib, name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError) as error:
        hint = "pip install --force-reinstall 'ptexplore[semantic]'"
        raise PtexploreError("libclang cannot be loaded", str(error), hint, MISSING) from error
    return Clang(lib, str(include))


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A message of libclang: "error" (also a fatal one) or "warning". `path` is canonical for a file of the tree."""

    severity: str
    path: str
    line: int
    text: str


class Unit:
    """A parsed unit, made by `parsed` and valid until the context ends."""

    def __init__(self, clang: Clang, handle: c_void_p, root: str) -> None:
        self.clang = clang
        self.handle = handle
        self._root = root.rstrip("/") + "/"
        self._paths: dict[int, str | None] = {}

    def path(self, file: int) -> str | None:
        """Returns the canonical path of a file handle, or None if the file is outside the tree."""
        if file not in self._paths:
            name = self._name(file)
            self._paths[file] = name.removeprefix(self._root) if name.startswith(self._root) else None
        return self._paths[file]

    def _name(self, file: int) -> str:
        return os.path.normpath(self.clang.text(self.clang.lib.clang_getFileName(file))) if file else ""

    def files(self) -> set[str]:
        """Returns the files of the tree that the unit includes."""
        paths: set[str] = set()

        def note(file: int, _stack: object, _depth: int, _data: object) -> None:
            path = self.path(file)
            if path is not None:
                paths.add(path)

        self.clang.lib.clang_getInclusions(self.handle, INCLUDED(note), None)
        return paths

    def diagnostics(self) -> list[Diagnostic]:
        """Returns warnings and errors, in order."""
        lib, diagnostics = self.clang.lib, []
        for at in range(lib.clang_getNumDiagnostics(self.handle)):
            diagnostic = c_void_p(lib.clang_getDiagnostic(self.handle, at))
            severity = lib.clang_getDiagnosticSeverity(diagnostic)
            if severity >= WARNING:
                file, line = self.clang.place(lib.clang_getDiagnosticLocation(diagnostic))
                text = self.clang.text(lib.clang_getDiagnosticSpelling(diagnostic))
                path = self.path(file) or self._name(file)
                diagnostics.append(Diagnostic("error" if severity >= ERROR else "warning", path, line, text))
            lib.clang_disposeDiagnostic(diagnostic)
        return diagnostics

    def skipped(self) -> dict[str, list[tuple[int, int]]]:
        """Returns the ranges (first line, last line) that the preprocessor skipped, for each file of the tree."""
        lib = self.clang.lib
        ranges: dict[str, list[tuple[int, int]]] = {}
        skipped = lib.clang_getAllSkippedRanges(self.handle)
        for at in range(skipped.contents.count):
            extent = skipped.contents.ranges[at]
            file, first = self.clang.place(lib.clang_getRangeStart(extent))
            _, last = self.clang.place(lib.clang_getRangeEnd(extent))
            path = self.path(file)
            if path is not None:
                ranges.setdefault(path, []).append((first, last))
        lib.clang_disposeSourceRangeList(skipped)
        return ranges


@contextmanager
def parsed(clang: Clang, root: str, file: str, arguments: Sequence[str]) -> Iterator[Unit]:
    """Parses `file` and yields the unit, with its macro uses and includes.

    Raises ValueError if libclang cannot parse it at all.
    """
    lib = clang.lib
    words = [word.encode() for word in ("-resource-dir", clang.resources, *arguments)]
    index, handle = c_void_p(lib.clang_createIndex(0, 0)), c_void_p()
    options = KEEP_GOING | DETAILED_PREPROCESSING
    try:
        values = (c_char_p * len(words))(*words)
        failed = lib.clang_parseTranslationUnit2(
            index, file.encode(), values, len(words), None, 0, options, byref(handle)
        )
        if failed or not handle.value:
            # libclang catches a crash, also one for lack of memory, and returns it as an error code.
            why = "it crashed or ran out of memory" if failed == CRASHED else f"code {failed}"
            raise ValueError(f"libclang cannot parse it: {why}")
        yield Unit(clang, handle, root)
    finally:
        if handle.value:
            lib.clang_disposeTranslationUnit(handle)
        lib.clang_disposeIndex(index)
