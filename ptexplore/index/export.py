"""Exports an index as a tags file for editors: Universal Ctags' format 2 with extended fields (ctags(1), tags(5))."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ptexplore import __version__
from ptexplore.errors import USAGE, PtexploreError
from ptexplore.model.symbols import DIALECT_KINDS, Dialect, Symbol, SymbolKind
from ptexplore.store.index.reader import IndexStore
from ptexplore.writing import write_users_file

_HEAD = (
    ("FILE_ENCODING", "utf-8", ""),
    ("FILE_FORMAT", "2", "extended format"),
    ("FILE_SORTED", "1", "0=unsorted, 1=sorted, 2=foldcase"),
    ("OUTPUT_EXCMD", "number", "number, pattern, mixed, or combineV2"),
    ("OUTPUT_MODE", "u-ctags", "u-ctags or e-ctags"),
    ("PROGRAM_NAME", "ptexplore", ""),
    ("PROGRAM_VERSION", __version__, ""),
)
_MARK = b"!_TAG_"
# PyTorch's macros make names that no other tool sees; these rows add them.
_MADE = {kind: traits.tag for kind, traits in DIALECT_KINDS.items() if traits.tag}
_CLASSES = frozenset({"class", "struct", "union", "enum"})
_ESCAPES = str.maketrans(
    {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
    | {chr(code): f"\\x{code:02x}" for code in range(32) if chr(code) not in "\t\n\r"}
)


def write_tags(store: IndexStore, root: Path, target: Path, *, force: bool = False) -> int:
    """Writes the tags of the tree at `root` to `target`, all at once. Returns the number of tags.

    Paths are relative if `target` is directly in `root`; else absolute, so that an editor finds the files from
    anywhere. Raises PtexploreError(USAGE) if `target` exists and is not a tags file, or is a tags file and `force` is
    not set. Raises OSError.
    """
    _check(target, force=force)
    prefix = "" if target.parent.resolve() == root.resolve() else f"{root.resolve()}/"
    lines = sorted({line.encode("utf-8", "replace") for line in _lines(store, prefix)})
    head = [f"!_TAG_{name}\t{value}\t/{note}/".encode() for name, value, note in _HEAD]
    head.append(f"!_TAG_PROC_CWD\t{_escaped(str(root.resolve()))}/\t//".encode())
    write_users_file(target, b"\n".join([*sorted(head), *lines, b""]))
    return len(lines)


def _check(target: Path, *, force: bool) -> None:
    if not target.parent.is_dir():
        raise PtexploreError(
            "the tags cannot be written", f"the folder {target.parent} does not exist", "choose another FILE", USAGE
        )
    if not os.path.lexists(target):
        return
    if not target.is_file():
        raise PtexploreError("the tags cannot be written", f"{target} is not a file", "choose another FILE", USAGE)
    with target.open("rb") as file:
        is_tags = file.read(len(_MARK)) == _MARK
    if not is_tags:
        why = f"{target} exists and is not a tags file"
        raise PtexploreError("the file is not overwritten", why, "choose another FILE", USAGE)
    if not force:
        raise PtexploreError("the tags file is not overwritten", f"{target} exists", "--force overwrites it", USAGE)


def _lines(store: IndexStore, prefix: str) -> Iterator[str]:
    kinds: dict[str, SymbolKind] = {}
    symbols = [symbol for symbol in store.every_symbol() if symbol.name]  # an enum may have no name
    for symbol in symbols:
        if symbol.kind in _CLASSES:
            kinds.setdefault(symbol.qualified, symbol.kind)
    for symbol in symbols:
        yield _symbol(symbol, prefix, kinds)
    named = {(symbol.path, symbol.line, symbol.name) for symbol in symbols}
    for row in store.every_dialect(list(_MADE)):
        if (row.path, row.line, row.name) not in named:
            yield _made(row, prefix)


def _symbol(symbol: Symbol, prefix: str, kinds: dict[str, SymbolKind]) -> str:
    python = symbol.path.endswith((".py", ".pyi"))
    kind: str = symbol.kind
    if kind == "namespace" and python:
        kind = "module"
    elif symbol.role == "declaration":
        kind = "prototype" if kind == "function" else "externvar" if kind == "variable" else kind
    fields = [f"kind:{kind}", f"line:{symbol.line}", f"language:{'Python' if python else 'C++'}"]
    container = symbol.qualified.removesuffix(symbol.name).removesuffix("." if python else "::")
    if container and container != symbol.qualified:
        fields.append(f"{kinds.get(container, 'module' if python else 'namespace')}:{_escaped(container)}")
    if symbol.signature:
        fields.append(f"signature:{_escaped(symbol.signature)}")
    if symbol.macro:
        fields.append(f"macro:{_escaped(symbol.macro)}")
    if symbol.role == "definition":
        fields.append(f"end:{symbol.end_line}")
    return _tag(symbol.name, prefix + symbol.path, symbol.line, fields)


def _made(row: Dialect, prefix: str) -> str:
    language = "YAML" if DIALECT_KINDS[row.kind].group == "YAML" else "C++"
    fields = [f"kind:{_MADE[row.kind]}", f"line:{row.line}", f"language:{language}"]
    if row.macro:
        fields.append(f"macro:{_escaped(row.macro)}")
    fields.append(f"end:{row.end_line}")
    return _tag(row.name, prefix + row.path, row.line, fields)


def _tag(name: str, path: str, line: int, fields: list[str]) -> str:
    return "\t".join((_escaped(name), _escaped(path), f'{line};"', *fields))


def _escaped(text: str) -> str:
    return text.translate(_ESCAPES)
