"""Converts records of an index to rows of its tables, and back. Workers make the rows; the writer only inserts them."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from operator import attrgetter, sub
from typing import Any, get_args

from ptexplore.model.symbols import (
    DIALECT_KINDS,
    Dialect,
    DialectKind,
    Extractor,
    FileRecords,
    Ref,
    RefKind,
    RefLines,
    Symbol,
    SymbolKind,
)
from ptexplore.source.canonical import is_test_file

FORMAT = 1  # version of the tables: store/index/schema.sql
# version of the content. Raise it if an extractor makes other rows than before: then every index is rebuilt.
RECIPE = 14

SYMBOL_KINDS: tuple[SymbolKind, ...] = get_args(SymbolKind)
REF_KINDS: tuple[RefKind, ...] = get_args(RefKind)
EXTRACTORS: tuple[Extractor, ...] = get_args(Extractor)

DECLARATION, TEMPLATE, STATIC, NO_SCOPE, TEST, VIRTUAL = 1, 2, 4, 8, 16, 32
ROWS = 20  # a row's id is (id of the file << ROWS) + number
MOST = 1 << ROWS  # the greatest number of rows of one kind in a file

# The columns for a reader, in the order in which `symbol`, `refs` and `dialect` unpack them.
SYMBOL = """SELECT f.path, s.name, c.text, o.text, s.kind, s.line, s.begin, s.end_line, s.flags, s.extractor,
    s.signature, s.parameters, g.text, s.macro FROM symbol s JOIN file f ON f.id = s.id >> 20
    LEFT JOIN text c ON c.id = s.container LEFT JOIN text o ON o.id = s.scope LEFT JOIN text g ON g.id = s.guards"""
REF = """SELECT f.path, r.name, r.kind, r.text, t.text, r.extractor, r.lines
    FROM ref r JOIN file f ON f.id = r.id >> 20 LEFT JOIN text t ON t.id = r.target"""
DIALECT = """SELECT f.path, d.kind, d.name, d.context, d.target, d.line, d.end_line, d.block, d.macro, d.text, g.text
    FROM dialect d JOIN file f ON f.id = d.id >> 20 LEFT JOIN text g ON g.id = d.guards"""

Row = tuple[Any, ...]
_SYMBOL_CODE = {kind: number for number, kind in enumerate(SYMBOL_KINDS)}
_REF_CODE = {kind: number for number, kind in enumerate(REF_KINDS)}
_DIALECT_KINDS: tuple[DialectKind, ...] = tuple(DIALECT_KINDS)
_DIALECT_CODE = {kind: number for number, kind in enumerate(_DIALECT_KINDS)}
_KIND = attrgetter("kind")
_EXTRACTOR_CODE = {kind: number for number, kind in enumerate(EXTRACTORS)}


def text_id(text: str) -> int:
    """Returns the id of a string in the table `text`."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big") >> 1


def span(file: int) -> tuple[int, int]:
    """Returns the first and the last id that a row of a file can have."""
    return file << ROWS, ((file + 1) << ROWS) - 1


def ref_codes(kinds: Sequence[str]) -> list[int]:
    """Returns the numbers of reference kinds. Unknown kinds are ignored."""
    return [_REF_CODE[kind] for kind in kinds if kind in _REF_CODE]


def dialect_codes(kinds: Sequence[str]) -> list[int]:
    """Returns the numbers of dialect kinds. Unknown kinds are ignored."""
    return [_DIALECT_CODE[kind] for kind in kinds if kind in _DIALECT_CODE]


@dataclass(slots=True)
class Rows:
    """The rows of one file, ready to insert: plain tuples, which are cheap to send from a worker."""

    file: Row
    symbols: list[Row]
    refs: list[Row]
    dialect: list[Row]
    texts: dict[int, str]
    words: str


@dataclass(frozen=True, slots=True)
class ReadFile:
    """Facts about a file beside its records: its reserved id, layer, hash, size, mtime and number of lines."""

    file: int
    layer: str
    sha: str
    size: int
    stamp: int
    lines: int


class Texts(dict[str, int]):
    """A dict from each string that rows refer to -> its id. Each string is hashed once."""

    def __missing__(self, text: str) -> int:
        number = self[text] = text_id(text)
        return number


def pack(read: ReadFile, records: FileRecords, words: str) -> Rows:
    """Makes the rows of one file."""
    texts = Texts()
    base = read.file << ROWS
    test = TEST if is_test_file(records.path) else 0
    symbols = [_symbol(base + n, symbol, texts, test) for n, symbol in enumerate(records.symbols[:MOST])]
    refs = pack_refs(base, records.refs, texts)
    dialect = [_dialect(base + n, row, texts) for n, row in enumerate(records.dialect[:MOST])]
    tally = _tally("symbol", records.symbols) | _ref_tally(records.refs) | _tally("dialect", records.dialect)
    problems = json.dumps(records.problems) if records.problems else None
    extractor = "yaml" if records.language == "yaml" else "tree-sitter"
    file = (read.file, records.path, records.language, read.layer, extractor, read.sha, read.size, read.stamp,
            read.lines, json.dumps(tally), problems)  # fmt: skip
    return Rows(file, symbols, refs, dialect, {number: text for text, number in texts.items()}, words)


def _symbol(number: int, record: Symbol, texts: Texts, test: int) -> Row:
    name, qualified = record.name, record.qualified
    if qualified == name:
        container, plain = None, ""
    else:
        # A qualified name that does not end with the name is stored whole, with a line end as the mark.
        before = qualified[: -len(name)] if name and qualified.endswith(name) else ""
        if not before.endswith(("::", ".")):
            before = f"{qualified}\n"
        container, plain = texts[before], before.removesuffix("::")
    flags = test | (DECLARATION if record.role == "declaration" else 0)
    flags |= (TEMPLATE if record.template else 0) | (STATIC if record.static else 0)
    flags |= VIRTUAL if record.virtual else 0
    scope = None
    if not record.scope:
        flags |= NO_SCOPE
    elif record.scope != plain:
        scope = texts[record.scope]
    parameters = None if record.parameters is None else "\n".join(record.parameters) if record.parameters else "\n"
    guards = texts[json.dumps(record.guards)] if record.guards else None
    return (number, name, container, scope, _SYMBOL_CODE[record.kind], record.line, record.line - record.begin,
            record.end_line - record.line, flags, _EXTRACTOR_CODE[record.extractor], record.signature or None,
            parameters, guards, record.macro)  # fmt: skip


def pack_refs(base: int, refs: RefLines, texts: dict[str, int]) -> list[Row]:
    """Makes the rows of one file's references. Strings that rows refer to by id are added to `texts`."""
    rows = []
    for number, ((name, text, kind, target, extractor), lines) in enumerate(refs.items(), base):
        where = lines[0] if len(lines) == 1 else pack_lines(lines)
        rows.append((number, name, _REF_CODE[kind], None if text == name else text,
                     None if target is None else texts[target], _EXTRACTOR_CODE[extractor], where))  # fmt: skip
    return rows[:MOST]


def tally_with_refs(tally: str, refs: RefLines) -> str:
    """Returns the tally of a file with the counts of references replaced."""
    kept = {key: count for key, count in json.loads(tally).items() if not key.startswith("ref ")}
    return json.dumps(kept | _ref_tally(refs))


def _ref_tally(refs: RefLines) -> dict[str, int]:
    tally: defaultdict[str, int] = defaultdict(int)
    for (_, _, kind, _, _), lines in refs.items():
        tally[f"ref {kind}"] += len(lines)
    return tally


def _tally(table: str, records: Iterable[Symbol | Dialect]) -> dict[str, int]:
    return {f"{table} {kind}": count for kind, count in Counter(map(_KIND, records)).items()}


def _dialect(number: int, record: Dialect, texts: Texts) -> Row:
    last = None if record.target is None else last_part(record.target)
    guards = texts[json.dumps(record.guards)] if record.guards else None
    return (number, _DIALECT_CODE[record.kind], record.name, record.context, record.target, last, record.line,
            record.end_line, record.block, record.macro, record.text, guards)  # fmt: skip


def last_part(qualified: str) -> str:
    """Returns the last part of a qualified name of C++ or Python."""
    return qualified.rsplit("::", 1)[-1].rsplit(".", 1)[-1]


def pack_lines(lines: list[int]) -> bytes:
    """Packs line numbers: sorted, as deltas, seven bits in each byte."""
    lines = sorted(lines)
    deltas = list(map(sub, lines, [0, *lines[:-1]]))
    if max(deltas) < 128:
        return bytes(deltas)
    out = bytearray()
    for delta in deltas:
        while delta > 127:
            out.append(delta & 127 | 128)
            delta >>= 7  # noqa: PLW2901 (the remaining bits)
        out.append(delta)
    return bytes(out)


def unpack_lines(packed: int | bytes) -> list[int]:
    """Unpacks the line numbers of `pack_lines`. A single line is stored as a plain number."""
    if isinstance(packed, int):
        return [packed]
    lines, line, delta, shift = [], 0, 0, 0
    for byte in packed:
        delta |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            line += delta
            lines.append(line)
            delta = shift = 0
    return lines


def symbol(row: Row) -> Symbol:
    """Converts a row of SYMBOL back to its record."""
    (path, name, container, scope, kind, line, before, after, flags, extractor, signature, parameters, guards,
     macro) = row  # fmt: skip
    container = container or ""
    if scope is None:
        scope = "" if flags & NO_SCOPE else container.removesuffix("::")
    return Symbol(
        path,
        name,
        container[:-1] if container.endswith("\n") else container + name,
        SYMBOL_KINDS[kind],
        line,
        line + after,
        line - before,
        "declaration" if flags & DECLARATION else "definition",
        scope,
        signature or "",
        None if parameters is None else tuple(parameters.split("\n")) if parameters != "\n" else (),
        tuple(json.loads(guards)) if guards else (),
        macro,
        bool(flags & TEMPLATE),
        bool(flags & STATIC),
        EXTRACTORS[extractor],
        bool(flags & VIRTUAL),
    )


def refs(rows: Iterable[Row]) -> list[Ref]:
    """Converts rows of REF to records, one for each line."""
    return [
        Ref(path, line, name, name if text is None else text, REF_KINDS[kind], target, EXTRACTORS[extractor])
        for path, name, kind, text, target, extractor, lines in rows
        for line in unpack_lines(lines)
    ]


def dialect(row: Row) -> Dialect:
    """Converts a row of DIALECT back to its record."""
    path, kind, name, context, target, line, end_line, block, macro, text, guards = row
    conditions = tuple(json.loads(guards)) if guards else ()
    return Dialect(path, line, end_line, _DIALECT_KINDS[kind], name, context, target, block, macro, text, conditions)
