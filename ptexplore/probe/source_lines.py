"""The text of your lines that made calls, from the files of your functions.

A file may have changed since Python read it. So it is compiled again: only a function whose code is equal has text. A
module's code contains all functions of its file. So if the module is equal, code that Dynamo made has text, too.
"""

from __future__ import annotations

import linecache
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import CodeType
from typing import TYPE_CHECKING

from . import unpatched
from .paths import Label, Path
from .taken import os

if TYPE_CHECKING:
    from .messages import SourceTextData

MOST = 5_000  # lines of all files together
WIDEST = 200  # characters of a line
MODULE = "<module>"
LARGEST = 1 << 20  # characters; a longer file is not compiled again


@dataclass(frozen=True)
class _File:
    """A file that was read: its time and size (None: it is in no file), its lines, and its code objects."""

    version: tuple[int, int] | None
    lines: list[str]
    functions: dict[tuple[str, int], list[CodeType]]


_READ: dict[str, _File] = {}  # the files that were read in this process


def source_lines(paths: Iterable[Path], by_syntax: Iterable[tuple[Path, int]]) -> list[SourceTextData]:
    """Return the text of the lines that made calls, and of the first lines of functions.

    `by_syntax`: functions, each with a line that called an operator by syntax.
    """
    wanted: dict[CodeType, set[int]] = {}
    of_dynamo: set[CodeType] = set()
    for label, line in _lines(paths, by_syntax):
        if label.code is not None and line is not None and not label.package:
            wanted.setdefault(label.code, set()).add(line)
            if label.compiled:
                of_dynamo.add(label.code)
    known: dict[str, dict[int, str]] = {}
    left = MOST
    with unpatched.ours():
        same = {code.co_filename for code in wanted if code.co_name == MODULE and _is_same(code)}
        for code, lines in wanted.items():
            if not (code.co_filename in same if code in of_dynamo else _is_same(code)):
                continue
            for line, text in _text(code, lines):
                if left > 0:
                    left -= 1
                    known.setdefault(code.co_filename, {})[line] = text
    return [{"file": file, "lines": sorted(lines.items())} for file, lines in known.items()]


def _lines(paths: Iterable[Path], by_syntax: Iterable[tuple[Path, int]]) -> Iterator[tuple[Label, int | None]]:
    """Yield each line, with the label of the function that it is in."""
    for path in paths:
        yield path.label, path.label.first
        if path.parent is not None:
            yield path.parent.label, path.line
    for path, line in by_syntax:
        yield path.label, line


def _text(code: CodeType, lines: Iterable[int]) -> Iterator[tuple[int, str]]:
    """Yield the text of these lines of a function's file."""
    file = _file(code.co_filename)
    for line in lines:
        if 0 < line <= len(file.lines):
            yield line, file.lines[line - 1].rstrip()[:WIDEST]


def _is_same(code: CodeType) -> bool:
    """Return whether the file of a function still compiles to this function."""
    return code in _file(code.co_filename).functions.get((code.co_name, code.co_firstlineno), ())


def _file(name: str) -> _File:
    """Return a file, which is read once until it changes. It is empty if it cannot be read or compiled."""
    try:
        cell = linecache.cache.get(name)
        if cell is not None and len(cell) == 4 and cell[1] is None:  # text that is in no file: a cell of a notebook
            return _compiled(name, None, list(cell[2]))
        status = os.stat(name)
        version = status.st_mtime_ns, status.st_size
        known = _READ.get(name)
        if known is None or known.version != version:
            with open(name, encoding="utf-8") as opened:  # `tokenize.open` calls functions that a program may replace
                lines = opened.readlines()
            lines[:1] = [line.removeprefix("\ufeff") for line in lines[:1]]
            known = _READ[name] = _compiled(name, version, lines)
        return known
    except (OSError, SyntaxError, ValueError, TypeError, RecursionError):
        return _File(None, [], {})


def _compiled(name: str, version: tuple[int, int] | None, lines: list[str]) -> _File:
    """Return a file with its code objects by name and first line."""
    text = "".join(lines)
    if len(text) > LARGEST:
        return _File(version, [], {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the first compilation, which showed all warnings
        pending = [compile(text, name, "exec", dont_inherit=True)]
    functions: dict[tuple[str, int], list[CodeType]] = {}
    while pending:
        code = pending.pop()
        functions.setdefault((code.co_name, code.co_firstlineno), []).append(code)
        pending += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
    return _File(version, lines, functions)
