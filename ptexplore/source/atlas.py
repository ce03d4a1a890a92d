"""The atlas: names, paths and lines of one PyTorch release, shipped with ptexplore. It contains no source text.

A symbol is stored without its signature as written. A dialect row is stored without `text`; its `context` is stored
only if it is a name (a key, an architecture, a table), not a C++ type. So an atlas has names, places and types only.
"""

from __future__ import annotations

import json
import re
import zlib
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from ptexplore.errors import MISSING, PtexploreError
from ptexplore.lazy import remembered
from ptexplore.model.symbols import DIALECT_KINDS, Dialect, DialectKind, Symbol

# The kinds of symbols in an atlas, definitions only. Namespaces are in a file's outline, but cannot be looked up.
SYMBOLS = ("function", "class", "struct", "union", "enum", "namespace")
DIALECT: tuple[DialectKind, ...] = tuple(kind for kind, traits in DIALECT_KINDS.items() if traits.atlas)
_TEMPLATE, _STATIC, _MACRO = 1, 2, 4
_OPERATOR = re.compile(r"(?:^|::)(operator(?:\W.*|\s.*)?)$", re.DOTALL)


def last_part(qualified: str) -> str:
    """Returns the last part of a qualified name: "add" of "at::native::add", "operator<<" of "c10::operator<<"."""
    operator = _OPERATOR.search(qualified)
    if operator:
        return operator[1]
    depth = 0
    for at in range(len(qualified) - 1, 0, -1):
        depth += {">": 1, ")": 1, "<": -1, "(": -1}.get(qualified[at], 0)
        if depth <= 0 and qualified[at - 1 : at + 1] == "::":
            return qualified[at + 1 :]
    return qualified


def key(qualified: str) -> str:
    """Returns the key of a qualified name: its last part comes first, so that equal last parts are neighbours."""
    last = last_part(qualified)
    return f"{last}\t{qualified[: len(qualified) - len(last)]}"


def _row_of_symbol(row: Symbol) -> list[Any]:
    if last_part(row.qualified) != row.name:
        raise ValueError(f"{row.path}:{row.line}: {row.qualified!r} does not end in its last part {row.name!r}")
    prefix = row.qualified[: len(row.qualified) - len(row.name)]
    flags = _TEMPLATE * row.template | _STATIC * row.static | _MACRO * (row.extractor == "macro")
    return _trim([
        row.name, prefix, SYMBOLS.index(row.kind), row.line, row.end_line - row.line, row.line - row.begin,
        0 if row.parameters is None else row.parameters, flags,
        0 if row.scope == prefix[:-2] else row.scope, row.guards or 0, row.macro or 0,
    ])  # fmt: skip


def _symbol_of_row(path: str, row: list[Any]) -> Symbol:
    """Converts a row to the definition in a file. The signature is ""."""
    name, prefix, kind, line, span, lead, types, flags, scope, guards, macro = row + [0] * (11 - len(row))
    return Symbol(
        path, name, prefix + name, SYMBOLS[kind],  # type: ignore[arg-type]
        line, line + span, line - lead, scope=prefix[:-2] if scope == 0 else scope,
        parameters=None if types == 0 else tuple(types), guards=tuple(guards or ()), macro=macro or None,
        template=bool(flags & _TEMPLATE), static=bool(flags & _STATIC),
        extractor="macro" if flags & _MACRO else "tree-sitter",
    )  # fmt: skip


def _row_of_dialect(row: Dialect) -> list[Any]:
    context = None if DIALECT_KINDS[row.kind].atlas == "untyped" else row.context
    return _trim([
        DIALECT.index(row.kind), row.name, row.line, row.end_line - row.line,
        0 if row.block is None else row.line - row.block + 1,
        row.macro or 0, row.target or 0, context or 0, row.guards or 0,
    ])  # fmt: skip


def _dialect_of_row(path: str, row: list[Any]) -> Dialect:
    """Converts a row to the dialect row of a file. The text is ""."""
    kind, name, line, span, block, macro, target, context, guards = row + [0] * (9 - len(row))
    return Dialect(
        path, line, line + span, DIALECT[kind], name,
        context=context or None, target=target or None, block=line - block + 1 if block else None,
        macro=macro or "", guards=tuple(guards or ()),
    )  # fmt: skip


def _trim(row: list[Any]) -> list[Any]:
    while row and row[-1] == 0:
        row.pop()
    return row


MAGIC = b"PTXATLAS"
FORMAT = 1
BLOCK = 24 * 1024  # characters of JSON in one block: reading it takes about 0.3 ms
HEAD = len(MAGIC) + 5


class Damaged(Exception):
    """The bytes are not a packed atlas of this format, or are damaged; the message says which."""


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def _squeeze(value: str) -> bytes:
    return zlib.compress(value.encode("ascii"), 9)


def _blocks(entries: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields (first key, JSON) of each block."""
    first, parts, size = "", list[str](), 0
    for key in sorted(entries):
        part = f"{_dump(key)}:{_dump(entries[key])}"
        if parts and size + len(part) > BLOCK:
            yield first, "{" + ",".join(parts) + "}"
            parts, size = [], 0
        first = key if not parts else first
        parts.append(part)
        size += len(part)
    if parts:
        yield first, "{" + ",".join(parts) + "}"


def _pack(meta: Mapping[str, Any], tables: Mapping[str, Any], sections: Mapping[str, Mapping[str, Any]]) -> bytes:
    """Packs the file's bytes. Values are plain JSON; `meta`, `tables` and `sections` keep their order."""
    blobs = [_squeeze(_dump(tables))]
    at = len(blobs[0])
    head: dict[str, Any] = {"meta": meta, "tables": [0, at], "sections": {}}
    for name, entries in sections.items():
        keys, extents = [], []
        for first, text in _blocks(entries):
            blobs.append(_squeeze(text))
            keys.append(first)
            extents.append([at, len(blobs[-1])])
            at += len(blobs[-1])
        head["sections"][name] = {"keys": keys, "blocks": extents}
    packed = _squeeze(_dump(head))
    return b"".join([MAGIC, bytes([FORMAT]), len(packed).to_bytes(4, "big"), packed, *blobs])


@dataclass
class AtlasSection:
    """One sorted map of a packed file. A block is read when a key in it is needed, and then kept."""

    file: AtlasFile
    keys: list[str]  # the first key of each block
    extents: list[list[int]]

    @remembered
    def _block(self, number: int) -> dict[str, Any]:
        return self.file.blob(self.extents[number])

    def get(self, key: str) -> Any:
        """Returns the value of `key`, or None."""
        number = bisect_right(self.keys, key) - 1
        return self._block(number).get(key) if number >= 0 else None

    def starting(self, prefix: str) -> Iterator[str]:
        """Yields every key that begins with `prefix`, in order."""
        for number in range(max(bisect_right(self.keys, prefix) - 1, 0), len(self.keys)):
            keys = list(self._block(number))
            for key in keys[bisect_left(keys, prefix) :]:
                if not key.startswith(prefix):
                    return
                yield key


class AtlasFile:
    """The bytes of a packed file, opened for look-ups."""

    def __init__(self, data: bytes) -> None:
        """Reads the head of `data`. Raises Damaged."""
        if data[: len(MAGIC)] != MAGIC or len(data) < HEAD:
            raise Damaged("it does not begin like an atlas")
        if data[len(MAGIC)] != FORMAT:
            raise Damaged(f"it has format {data[len(MAGIC)]}, but this version reads {FORMAT}")
        self._data = data
        self._start = HEAD + int.from_bytes(data[len(MAGIC) + 1 : HEAD], "big")
        head = _expand(data[HEAD : self._start])
        try:
            self.meta: dict[str, Any] = head["meta"]
            self._tables: list[int] = head["tables"]
            self._sections = {n: AtlasSection(self, s["keys"], s["blocks"]) for n, s in head["sections"].items()}
        except (KeyError, TypeError, AttributeError) as error:
            raise Damaged("its header is incomplete") from error

    def section(self, name: str) -> AtlasSection:
        """Returns one of the sorted maps. Raises Damaged if the file has none of that name."""
        if name not in self._sections:
            raise Damaged(f"it has no part {name!r}")
        return self._sections[name]

    def tables(self) -> dict[str, Any]:
        """Returns the lists that rows refer to. Raises Damaged."""
        return self.blob(self._tables)

    def blob(self, extent: list[int]) -> dict[str, Any]:
        """Returns one compressed JSON object. Raises Damaged."""
        start = self._start + extent[0]
        return _expand(self._data[start : start + extent[1]])


def _expand(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(zlib.decompress(data))
    except (zlib.error, ValueError) as error:
        raise Damaged(f"a part of it cannot be read ({error})") from error
    if not isinstance(value, dict):
        raise Damaged("a part of it is not a table")
    return value


SHIPPED = Path(__file__).resolve().parent.parent / "data" / "atlas.bin"


class Atlas:
    """An open atlas. Every method raises PtexploreError (MISSING) if the file turns out to be damaged.

    Records have only the fields that an atlas stores: a Symbol's `signature` and a Dialect's `text` are "", and a
    `context` that is a C++ type is None.
    """

    def __init__(self, path: Path, file: AtlasFile) -> None:
        self.path = path
        self._file = file

    @staticmethod
    def open(path: Path = SHIPPED) -> Atlas:
        """Opens the shipped atlas, or the one at `path`.

        Raises PtexploreError (MISSING) if it is missing or damaged.
        """
        try:
            return Atlas(path, AtlasFile(path.read_bytes()))
        except OSError as error:
            raise _broken(path, f"it cannot be read ({error.strerror or error})") from error
        except Damaged as error:
            raise _broken(path, str(error)) from error

    @property
    def release(self) -> str:
        """The release that the atlas describes: "2.6.0"."""
        return str(self._file.meta.get("release", ""))

    @property
    def commit(self) -> str:
        """The commit of that release. The atlas fits exactly if `torch.version.git_version` is the same."""
        return str(self._file.meta.get("commit", ""))

    @property
    def counts(self) -> dict[str, int]:
        """The number of rows of each kind."""
        return dict(self._file.meta.get("counts", {}))

    def definitions(self, qualified: str) -> list[Symbol]:
        """Returns every definition of exactly this qualified name ("at::native::mul_kernel"), by path and line."""
        return self._symbols([key(qualified)])

    def symbols_named(self, name: str) -> list[Symbol]:
        """Returns every definition whose last part is `name`."""
        with self._explain_damage():
            return self._symbols(list(self._file.section("symbols").starting(f"{name}\t")))

    def symbols_ending(self, suffix: str) -> list[Symbol]:
        """Returns every definition whose qualified name is `suffix`, or ends with "::" and `suffix`."""
        rows = self.symbols_named(last_part(suffix))
        return [row for row in rows if row.qualified == suffix or row.qualified.endswith(f"::{suffix}")]

    def names(self, prefix: str, limit: int) -> list[str]:
        """Returns at most `limit` last parts of names that begin with `prefix`, in order."""
        with self._explain_damage():
            lasts = (key.partition("\t")[0] for key in self._file.section("symbols").starting(prefix))
            return list(islice((last for last, _ in groupby(lasts)), limit))

    def every_name(self) -> list[str]:
        """Returns the last part of each name, once, sorted."""
        with self._explain_damage():
            lasts = (key.partition("\t")[0] for key in self._file.section("symbols").starting(""))
            return sorted({last for last, _ in groupby(lasts)})

    def outline(self, path: str) -> list[Symbol]:
        """Returns the definitions of one file and the namespaces around them, sorted by line."""
        return [_symbol_of_row(path, row) for row in self._get("outline", path) or []]

    def dialect(self, name: str, kinds: Sequence[str] | None = None) -> list[Dialect]:
        """Returns dialect rows by name: a stub's declaration, definition and registrations, or an operator's lines."""
        rows = self._pointed("dialect-names", name)
        return [row for row in rows if kinds is None or row.kind in kinds]

    def dialect_targeting(self, target_last: str) -> list[Dialect]:
        """Returns the rows whose target has this last part: for "add_kernel", its registrations and bindings."""
        return self._pointed("dialect-targets", target_last)

    def dialect_in(self, path: str, line: int | None = None) -> list[Dialect]:
        """Returns the rows of a file.

        `line` selects the row on this line, or the rows of the block that begins there.
        """
        rows = [_dialect_of_row(path, row) for row in self._get("dialect", path) or []]
        return [row for row in rows if line is None or line in (row.line, row.block)]

    def lines(self, path: str) -> int | None:
        """Returns the number of lines of `path` in that release. None if the atlas does not know the file."""
        return self._files.get(path)

    def _symbols(self, keys: Iterable[str]) -> list[Symbol]:
        places = (place for key in keys for place in self._places("symbols", key))
        with self._explain_damage():
            return [_symbol_of_row(path, self._get("outline", path)[row]) for path, row in places]

    def _pointed(self, section: str, name: str) -> list[Dialect]:
        places = self._places(section, name)
        with self._explain_damage():
            return [_dialect_of_row(path, self._get("dialect", path)[row]) for path, row in places]

    def _places(self, section: str, name: str) -> list[tuple[str, int]]:
        """Returns (path, number of the row in that file) of everything with this key."""
        flat = self._get(section, name) or []
        with self._explain_damage():
            return [(self._paths[path], row) for path, row in zip(flat[::2], flat[1::2], strict=True)]

    def _get(self, section: str, key: str) -> Any:
        with self._explain_damage():
            return self._file.section(section).get(key)

    @cached_property
    def _files(self) -> dict[str, int]:
        """Every path and its number of lines, in order."""
        with self._explain_damage():
            return dict(self._file.tables()["files"])

    @cached_property
    def _paths(self) -> list[str]:
        return list(self._files)

    @contextmanager
    def _explain_damage(self) -> Iterator[None]:
        """Converts damage that is found while reading to the error for users."""
        try:
            yield
        except (Damaged, KeyError, TypeError, ValueError, IndexError) as error:
            raise _broken(self.path, str(error)) from error


def _broken(path: Path, why: str) -> PtexploreError:
    hint = "pip install --force-reinstall --no-deps ptexplore"
    return PtexploreError(f"the atlas {path.name} cannot be used", why, hint, MISSING)


def kept(symbols: Iterable[Symbol], dialect: Iterable[Dialect]) -> tuple[list[Symbol], list[Dialect]]:
    """Selects the part of an index that an atlas stores, in its order: named definitions, and rows except YAML."""
    definitions = {row for row in symbols if row.role == "definition" and row.kind in SYMBOLS and row.name}
    rows = {row for row in dialect if row.kind in DIALECT}
    return (
        sorted(definitions, key=lambda row: (row.path, row.line, repr(row))),
        sorted(rows, key=lambda row: (row.path, row.line, repr(row))),
    )


def _sections(files: Sequence[str], symbols: Sequence[Symbol], rows: Sequence[Dialect]) -> dict[str, dict[str, Any]]:
    """Returns the sorted maps of an atlas. A place is the number of a file and the number of a row in it.

    "outline" and "dialect" hold the rows by path. "symbols" (by `key`), "dialect-names" and "dialect-targets" hold
    places.
    """
    numbers = {path: number for number, path in enumerate(files)}
    sections = ("outline", "symbols", "dialect", "dialect-names", "dialect-targets")
    maps: dict[str, dict[str, list[Any]]] = {section: defaultdict(list) for section in sections}
    for symbol in symbols:
        outline = maps["outline"][symbol.path]
        if symbol.kind != "namespace":
            maps["symbols"][key(symbol.qualified)] += numbers[symbol.path], len(outline)
        outline.append(_row_of_symbol(symbol))
    for row in rows:
        dialect = maps["dialect"][row.path]
        place = numbers[row.path], len(dialect)
        maps["dialect-names"][row.name] += place
        if row.target:
            maps["dialect-targets"][last_part(row.target)] += place
        dialect.append(_row_of_dialect(row))
    return maps


def write(
    release: str, commit: str, files: dict[str, int], symbols: Iterable[Symbol], dialect: Iterable[Dialect]
) -> bytes:
    """Returns the bytes of an atlas. The same rows in any order give the same bytes.

    `files` has every path and its number of lines. `kept` selects the rows.
    """
    definitions, rows = kept(symbols, dialect)
    counts: dict[str, int] = {"files": len(files), "symbols": len(definitions)}
    counts |= {kind: sum(row.kind == kind for row in rows) for kind in DIALECT}
    sections = _sections(sorted(files), definitions, rows)
    return _pack({"release": release, "commit": commit, "counts": counts}, {"files": sorted(files.items())}, sections)
