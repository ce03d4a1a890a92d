"""native_functions.yaml and derivatives.yaml by line: operators, the kernel of each dispatch key, derivative entries.

Both files have a simple style (a list of mappings, two spaces for each level). Text in another style gives no row. The
formats are described in aten/src/ATen/native/README.md and at the top of derivatives.yaml.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ptexplore.index.dialect.piece import one_line
from ptexplore.model.symbols import Dialect, DialectKind, Ref

_ENTRY = re.compile(r"- (?:func|name):\s*(.*)")
_FIELD = re.compile(r"( *)([\w, .()-]+?)\s*:(?:\s+(.*))?$")
_KERNEL = re.compile(r"(?:\w+::)*\w+")
_CALL = re.compile(r"(?<![\w.:])((?:\w+::)*[A-Za-z_]\w*)(?:<[\w:, ]*>)?\s*\(")
_OUT = re.compile(r"\*, .*\([a-z]!\).*\) ?->")  # a mutable keyword-only argument
_KEYWORDS = frozenset(["if", "for", "while", "return", "sizeof", "decltype", "switch"])
_NO_FORMULA = frozenset(["output_differentiability", "output_differentiability_conditions", "dispatch"])


@dataclass(frozen=True, slots=True)
class _Entry:
    """One item of the list: its first line (1-based), and its lines without comments.

    Blank lines at the end are left out. `name` is the operator's full name, `schema` its schema as written.
    """

    line: int
    lines: tuple[str, ...]
    name: str
    schema: str

    @property
    def end(self) -> int:
        return self.line + len(self.lines) - 1


def yaml_rows(path: str, text: str) -> tuple[list[Dialect], list[Ref]]:
    """Returns the rows and references of one file. Both are empty if the file is neither of the two."""
    rows: list[Dialect] = []
    refs: list[Ref] = []
    if path.endswith("native_functions.yaml"):
        for entry in _entries(text, "- func:"):
            rows.append(_row(path, (entry.line, entry.end), "yaml-function", entry.name, entry.schema))
            _function(path, entry, rows, refs)
    elif path.endswith("derivatives.yaml"):
        for entry in _entries(text, "- name:"):
            rows.append(_row(path, (entry.line, entry.end), "yaml-derivative", entry.name, entry.schema))
            refs += _called(path, entry)
    return rows, refs


def _entries(text: str, opening: str) -> Iterator[_Entry]:
    """Yields the items that begin with `opening`. A line without indent ends an item, unless it is a comment."""
    begin, kept = 0, list[str]()
    for number, line in enumerate(text.split("\n"), 1):
        content = without_comment(line)
        if content[:1] not in ("", " "):
            yield from _entry(begin, kept)
            begin, kept = number, [content] if content.startswith(opening) else []
        elif kept:
            kept.append(content)
    yield from _entry(begin, kept)


def _entry(line: int, lines: list[str]) -> Iterator[_Entry]:
    """Yields the item of these lines. Nothing if there are no lines, or if they name no operator."""
    while lines and not lines[-1]:
        lines.pop()
    signature = _signature(lines) if lines else None
    if signature is not None:
        yield _Entry(line, tuple(lines), *signature)


def without_comment(line: str) -> str:
    """Removes the comment and the white space at the end of a line. A `#` inside quotes begins no comment."""
    at = line.find("#")
    while at >= 0:
        before = line[:at]
        if (not before or before[-1].isspace()) and not _quoted(before):
            return before.rstrip()
        at = line.find("#", at + 1)
    return line.rstrip()


def _quoted(before: str) -> bool:
    """Whether a quoted value is still open. A value is quoted if its first character is a quote."""
    value = before.partition(": ")[2].lstrip()
    return value[:1] in ('"', "'") and value.count(value[0]) % 2 == 1


def _signature(lines: list[str]) -> tuple[str, str] | None:
    """Returns the operator's full name and its schema as written."""
    first = _ENTRY.match(lines[0])
    parts = [first[1] if first else ""]
    for line in lines[1:]:  # a long schema may continue on lines with a deeper indent than any field
        if _FIELD.match(line) and not parts[-1].endswith(",") and parts[0].count("(") == parts[0].count(")"):
            break
        if " ".join(parts).count("(") <= " ".join(parts).count(")"):
            break
        parts.append(line.strip())
    schema = " ".join(parts).strip().strip("\"'")
    name = schema.partition("(")[0].strip()
    return (name if "::" in name else f"aten::{name}", schema) if name else None


def _row(path: str, lines: tuple[int, int], kind: DialectKind, name: str, written: str, **more: str) -> Dialect:
    return Dialect(path, *lines, kind, name, text=one_line(written), **more)  # type: ignore[arg-type]


def _function(path: str, entry: _Entry, rows: list[Dialect], refs: list[Ref]) -> None:
    """Adds one operator of native_functions.yaml.

    Without kernels of its own, its C++ function has the operator's name.
    """
    plain, dispatching = True, False
    for number, line in enumerate(entry.lines[1:], entry.line + 1):
        field = _FIELD.match(line)
        if field is None:
            continue
        depth, key, value = len(field[1]), field[2], (field[3] or "").strip("\"'")
        if depth == 2:
            dispatching = key == "dispatch"
            plain = plain and key not in ("dispatch", "structured_delegate")
        elif dispatching and depth == 4 and _KERNEL.fullmatch(value):
            refs.append(Ref(path, number, value.rpartition("::")[2], value, "yaml", extractor="yaml"))
            rows.extend(
                _row(
                    path,
                    (number, number),
                    "yaml-dispatch",
                    entry.name,
                    line,
                    context=dispatch_key.strip(),
                    target=value,
                )
                for dispatch_key in key.split(",")
            )
    if plain:
        base = entry.name.rpartition("::")[2].partition(".")[0]
        function = base + "_out" if _OUT.search(entry.schema) else base
        refs.append(Ref(path, entry.line, function, function, "yaml", extractor="yaml"))


def _called(path: str, entry: _Entry) -> Iterator[Ref]:
    """Yields the functions that the formulas of one entry of derivatives.yaml call, without methods."""
    formula = False
    for number, line in enumerate(entry.lines[1:], entry.line + 1):
        field = _FIELD.match(line)
        formula_text = line
        if field is not None and len(field[1]) in (2, 4, 6):
            formula = field[2] not in _NO_FORMULA
            formula_text = field[3] or ""
        if formula:
            for call in _CALL.finditer(formula_text):
                called = call[1]
                if called not in _KEYWORDS:
                    yield Ref(path, number, called.rpartition("::")[2], called, "yaml", extractor="yaml")
