"""Exports an index in SCIP, the format in which code hosts and editors exchange indexes (github.com/sourcegraph/scip).

Written are definitions, declarations and operators' YAML entries; and the uses that libclang resolved (`index
--semantic`), if only one definition has the name. Uses that only a name speaks for are left out: SCIP has no word for
them. protobuf encodes the messages. `_FIELDS` lists the fields that are written, with their numbers in scip.proto.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from ptexplore import __version__
from ptexplore.cpp.symbol_names import pasted
from ptexplore.errors import MISSING, USAGE, PtexploreError
from ptexplore.model.symbols import OPERATOR_KINDS, Dialect, Symbol, SymbolKind
from ptexplore.source.tree import SourceTree
from ptexplore.store.index.reader import IndexStore
from ptexplore.writing import write_users_file

# message -> field -> its number, its type ("*" before it: a list)
_FIELDS: Mapping[str, Mapping[str, tuple[int, str]]] = {
    "Index": {"metadata": (1, "Metadata"), "documents": (2, "*Document")},
    "Metadata": {"tool_info": (2, "ToolInfo"), "project_root": (3, "string"), "text_document_encoding": (4, "int32")},
    "ToolInfo": {"name": (1, "string"), "version": (2, "string")},
    "Document": {
        "relative_path": (1, "string"), "occurrences": (2, "*Occurrence"), "symbols": (3, "*SymbolInformation"),
        "language": (4, "string"), "text": (5, "string"), "position_encoding": (6, "int32"),
    },
    "Occurrence": {
        "range": (1, "*int32"), "symbol": (2, "string"), "symbol_roles": (3, "int32"), "enclosing_range": (7, "*int32"),
    },
    "SymbolInformation": {
        "symbol": (1, "string"), "kind": (5, "int32"), "display_name": (6, "string"),
        "signature_documentation": (7, "Document"),
    },
}  # fmt: skip
# Values of enumerations in scip.proto.
_UTF8 = 1  # TextEncoding.UTF8 and PositionEncoding.UTF8CodeUnitOffsetFromLineStart
_DEFINITION, _TEST, _FORWARD = 0x1, 0x20, 0x40  # SymbolRole
_OPERATOR, _METHOD = 34, 26
_KINDS: Mapping[SymbolKind, int] = {
    "function": 17, "class": 7, "struct": 49, "union": 59, "enum": 11, "enumerator": 12, "typedef": 55, "macro": 25,
    "member": 15, "variable": 61, "concept": 86,
}  # fmt: skip
_TYPES = frozenset({"class", "struct", "union", "enum", "typedef", "concept"})
_SIMPLE = re.compile(r"[\w+$-]+", re.ASCII)
_LANGUAGES = {".py": "Python", ".pyi": "Python", ".yaml": "YAML", ".cu": "CUDA", ".cuh": "CUDA", ".c": "C"}
_MARK = b"\n"  # the first byte of every file: the tag of Index.metadata
_HEAD = 200  # bytes at the beginning of a file that name the tool


def write_scip(store: IndexStore, tree: SourceTree, root: Path, target: Path, *, force: bool = False) -> int:
    """Writes the index of the tree at `root` to `target`, all at once. Returns the number of symbols.

    Raises PtexploreError if protobuf is not installed, or if `target` exists and is not such a file, or is one and
    `force` is not set. Raises OSError.
    """
    messages = _messages()
    _check(target, force=force)
    writer = _Writer(store, tree, messages)
    head = messages["Index"](
        metadata=messages["Metadata"](
            tool_info=messages["ToolInfo"](name="ptexplore", version=__version__),
            project_root=root.resolve().as_uri(), text_document_encoding=_UTF8,
        )
    )  # fmt: skip
    # Encoded indexes that follow each other are one index with the documents of all.
    parts = [head, *(messages["Index"](documents=[document]) for document in writer.documents())]
    write_users_file(target, b"".join(part.SerializeToString(deterministic=True) for part in parts))
    return writer.symbols


def _messages() -> Mapping[str, Any]:
    """Returns the classes of the messages, by name."""
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    except ModuleNotFoundError as error:
        why = "the package protobuf, which encodes the format, is not installed"
        raise PtexploreError("the index cannot be exported", why, 'pip install "ptexplore[scip]"', MISSING) from error
    file = descriptor_pb2.FileDescriptorProto(name="ptexplore/scip.proto", package="scip", syntax="proto3")
    field_type = descriptor_pb2.FieldDescriptorProto
    plain = {"string": field_type.TYPE_STRING, "int32": field_type.TYPE_INT32}
    for name, fields in _FIELDS.items():
        message = file.message_type.add(name=name)
        for field, (number, of) in fields.items():
            kind = of.removeprefix("*")
            label = field_type.LABEL_REPEATED if of[0] == "*" else field_type.LABEL_OPTIONAL
            added = message.field.add(name=field, number=number, label=label)
            added.type = plain.get(kind, field_type.TYPE_MESSAGE)
            if kind not in plain:
                added.type_name = f".scip.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"scip.{name}")) for name in _FIELDS}


def _check(target: Path, *, force: bool) -> None:
    if not target.parent.is_dir():
        why = f"the folder {target.parent} does not exist"
        raise PtexploreError("the index cannot be exported", why, "choose another FILE", USAGE)
    if not os.path.lexists(target):
        return
    head = b""
    if target.is_file():
        with target.open("rb") as file:
            head = file.read(_HEAD)
    if not (head.startswith(_MARK) and b"ptexplore" in head):
        why = f"{target} exists and is not an index that ptexplore exported"
        raise PtexploreError("the file is not overwritten", why, "choose another FILE", USAGE)
    if not force:
        raise PtexploreError("the file is not overwritten", f"{target} exists", "--force overwrites it", USAGE)


class _Writer:
    """Makes the documents of a tree."""

    def __init__(self, store: IndexStore, tree: SourceTree, messages: Mapping[str, Any]) -> None:
        self._store, self._tree, self._messages = store, tree, messages
        self._types: set[str] = set()
        self._variants: defaultdict[str, set[tuple[str, ...] | None]] = defaultdict(set)
        self._kinds: dict[str, Symbol] = {}
        for symbol in store.every_symbol():
            if symbol.kind in _TYPES:
                self._types.add(symbol.qualified)
            if symbol.kind != "namespace" and symbol.name and not symbol.static:
                self._variants[symbol.qualified].add(symbol.parameters)
                self._kinds.setdefault(symbol.qualified, symbol)
        version = (tree.info.version or "unknown").replace(" ", "  ")
        self._scheme = f"ptexplore . pytorch {version} "
        self.symbols = 0

    def documents(self) -> Iterator[Any]:
        """Yields a document for each file with something to say."""
        rows = defaultdict[str, list[Dialect]](list)
        for row in self._store.every_dialect(OPERATOR_KINDS):
            if row.kind == "yaml-function":
                rows[row.path].append(row)
        paths = set(rows)
        for path, symbols in groupby(self._store.every_symbol(), key=lambda symbol: symbol.path):
            yield from self._document(path, list(symbols), rows.get(path, ()))
            paths.discard(path)
        for path in sorted(paths):
            yield from self._document(path, [], rows[path])

    def _document(self, path: str, symbols: Iterable[Symbol], rows: Iterable[Dialect]) -> Iterator[Any]:
        text = self._tree.glance(path)
        lines = text.text.split("\n") if text is not None else []
        infos: dict[str, Any] = {}
        occurrences: list[Any] = []
        for symbol in symbols:
            if symbol.kind == "namespace" or not symbol.name or not 0 < symbol.line <= len(lines):
                continue
            name = self._name(symbol)
            roles = _DEFINITION if symbol.role == "definition" else _FORWARD
            lines_of_all = (symbol.begin, symbol.end_line) if symbol.role == "definition" else None
            occurrences.append(self._occurrence(lines, symbol.line, symbol.name, name, roles, lines_of_all))
            kind = _METHOD if symbol.kind == "function" and self._container(symbol) in self._types else None
            signature = f"{symbol.qualified}{symbol.signature}"
            infos.setdefault(name, self._information(name, kind or _KINDS.get(symbol.kind, 0), symbol.name, signature))
        for row in rows:
            if 0 < row.line <= len(lines):
                namespace, _, name = row.name.rpartition("::")
                operator = f"{self._scheme}{_plain(namespace)}/{_plain(name)}."
                last = row.end_line if row.end_line <= len(lines) else row.line
                occurrences.append(self._occurrence(lines, row.line, name, operator, _DEFINITION, (row.line, last)))
                infos.setdefault(operator, self._information(operator, _OPERATOR, name, row.text))
        occurrences += self._uses(path, lines)
        self.symbols += len(infos)
        if occurrences:
            yield self._messages["Document"](
                relative_path=path, language=_LANGUAGES.get(Path(path).suffix, "CPP"), occurrences=occurrences,
                symbols=list(infos.values()), position_encoding=_UTF8,
            )  # fmt: skip

    def _uses(self, path: str, lines: list[str]) -> Iterator[Any]:
        """Yields the uses that libclang resolved to a name with one definition."""
        for use in self._store.refs_in(path):
            if use.target is None or use.extractor != "libclang" or not 0 < use.line <= len(lines):
                continue
            qualified = pasted(use.target)
            symbol = self._kinds.get(qualified)
            if symbol is not None and len(self._variants[qualified]) == 1:
                yield self._occurrence(lines, use.line, use.name, self._name(symbol), 0, None)

    def _occurrence(
        self, lines: list[str], line: int, word: str, name: str, roles: int, around: tuple[int, int] | None
    ) -> Any:
        text = lines[line - 1]
        begin, end = _columns(text, word, is_declared=bool(roles), is_function=name.endswith(")."))
        first, last = (len(text[:at].encode("utf-8", "replace")) for at in (begin, end))
        whole = []
        if around is not None and around[0] <= line <= around[1] <= len(lines):
            width = len(lines[around[1] - 1].encode("utf-8", "replace"))
            whole = [around[0] - 1, 0, around[1] - 1, width] if around[0] != around[1] else [line - 1, 0, width]
        return self._messages["Occurrence"](
            range=[line - 1, first, last], symbol=name, symbol_roles=roles, enclosing_range=whole
        )

    def _information(self, name: str, kind: int, display: str, signature: str) -> Any:
        written = self._messages["Document"](language="CPP", text=signature, position_encoding=_UTF8)
        return self._messages["SymbolInformation"](
            symbol=name, kind=kind, display_name=display, signature_documentation=written
        )

    def _container(self, symbol: Symbol) -> str:
        return symbol.qualified.removesuffix(symbol.name).rstrip(":.")

    def _name(self, symbol: Symbol) -> str:
        """Returns a symbol's name in SCIP. A symbol that only its own file sees is local to its document."""
        if symbol.static and not symbol.path.endswith((".h", ".hpp", ".cuh")):
            digest = hashlib.sha256(f"{symbol.qualified}{symbol.parameters}".encode()).hexdigest()[:12]
            return f"local {digest}"
        parts = _containers(self._container(symbol))
        before = ""
        seen = ""
        for part, separator in parts:
            seen = f"{seen}{part}"
            before += f"{_plain(part)}{'#' if seen in self._types else '/'}"
            seen += separator
        return f"{self._scheme}{before}{self._last(symbol)}"

    def _last(self, symbol: Symbol) -> str:
        name = _plain(symbol.name)
        if symbol.kind == "macro":
            return f"{name}!"
        if symbol.kind in _TYPES:
            return f"{name}#"
        if symbol.kind != "function":
            return f"{name}."
        several = len(self._variants[symbol.qualified]) > 1
        which = hashlib.sha256(repr(symbol.parameters).encode()).hexdigest()[:8] if several else ""
        return f"{name}({which})."


def _columns(text: str, word: str, *, is_declared: bool, is_function: bool) -> tuple[int, int]:
    """Returns the columns of a name on its line; of its whole code if the name is there several times or not at all.

    A line that declares a name has it once as the declared name: before the brackets of a function, else first.
    """
    words = list(re.finditer(rf"(?<!\w){re.escape(word)}(?!\w)", text))
    if is_declared and len(words) > 1:
        called = [each for each in words if text[each.end() :].lstrip().startswith("(")] if is_function else []
        words = (called or words)[:1]
    return words[0].span() if len(words) == 1 else (len(text) - len(text.lstrip()), len(text.rstrip()))


def _containers(container: str) -> Iterator[tuple[str, str]]:
    """Yields the parts of a container, each with its separator: "::" of C++, "." of Python, outside of brackets."""
    depth = begin = at = 0
    separator = "::" if "::" in container or "." not in container else "."
    while at < len(container):
        depth += (container[at] in "<(") - (container[at] in ">)")
        if not depth and container.startswith(separator, at):
            yield container[begin:at], separator
            begin = at = at + len(separator)
        else:
            at += 1
    if begin < len(container):
        yield container[begin:], separator


def _plain(name: str) -> str:
    """Returns a name as an identifier of SCIP: in backticks, unless it is simple."""
    return name if _SIMPLE.fullmatch(name) else f"`{name.replace('`', '``')}`"
