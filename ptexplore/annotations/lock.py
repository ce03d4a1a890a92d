"""anchors.lock: the place of each anchor on its baseline, and a hash of the text there. It contains no text itself."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from ptexplore.annotations.files import read_bytes
from ptexplore.annotations.records import Problem, Where, unread
from ptexplore.safe_text import clean_document

LOCK = "anchors.lock"
FORMAT = 1
_LARGEST = 8 * 1024 * 1024  # bytes


@dataclass(frozen=True, slots=True)
class LockEntry:
    """One anchor on its baseline.

    `asked` is a hash of the anchor as it was written then. `line` to `end` is the symbol (from its name's line to its
    last line); `at` to `at_end` is the target inside it. `hash` is a hash of the symbol's tokens, `overload` a hash of
    its parameter types. `near` is the hash of the `size` tokens on the lines `at` to `at_end`; it is empty if those
    tokens occur in the symbol more than once. `count` is how often the anchor's token occurs.
    """

    stop: str
    asked: str
    baseline: str
    path: str
    symbol: str
    kind: str
    line: int
    end: int
    hash: str
    overload: str = ""
    at: int = 0
    at_end: int = 0
    near: str = ""
    size: int = 0
    count: int = 0


_KINDS = {field.name: {"str": str, "int": int}[str(field.type)] for field in fields(LockEntry)}


def read_lock(file: Path, shown: str) -> tuple[dict[str, LockEntry], list[Problem]]:
    """Returns the entries by stop, and a problem for each line that is not an entry."""
    try:
        data = read_bytes(file, _LARGEST)
    except FileNotFoundError:
        return {}, []
    except OSError as error:
        return {}, [unread(shown, error)]
    if len(data) > _LARGEST:
        return {}, [Problem(Where(shown, 1), f"it has more than {_LARGEST:,} bytes")]
    entries: dict[str, LockEntry] = {}
    problems: list[Problem] = []
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
        try:
            if number == 1:
                _check_head(line)
            elif line.strip():
                entry = _entry(line)
                if entries.setdefault(entry.stop, entry) is not entry:
                    raise ValueError(f"{entry.stop!r} appears twice")
        except ValueError as error:
            problems.append(Problem(Where(shown, number), str(error)))
            if number == 1:
                break
    return entries, problems


def _check_head(line: str) -> None:
    """Raises ValueError if this is not the first line of such a file."""
    head = _json(line)
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise ValueError(f"its format is not {FORMAT}")


def _entry(line: str) -> LockEntry:
    """Returns the entry of a line. Raises ValueError with the reason if it is not one."""
    values = _json(line)
    if not isinstance(values, dict) or not all(_fits(name, value) for name, value in values.items()):
        raise ValueError("this is not an entry of a lock")
    try:
        return LockEntry(**values)
    except TypeError:
        raise ValueError("this entry of a lock is incomplete") from None


def _fits(name: str, value: object) -> bool:
    is_small = not isinstance(value, int) or 0 <= value < 1 << 31
    return type(value) is _KINDS.get(name) and is_small


def _json(line: str) -> Any:
    try:
        return clean_document(json.loads(line))
    except (ValueError, RecursionError):
        raise ValueError("this line is not JSON: `ptexplore notes pin` writes the file again") from None


def lock_text(entries: Iterable[LockEntry]) -> str:
    """Returns the file's text: a head, then one line per stop, sorted. Empty values are omitted."""
    rows = [json.dumps({"format": FORMAT})]
    for entry in sorted(entries, key=lambda entry: entry.stop):
        filled = {key: value for key, value in asdict(entry).items() if value not in ("", 0)}
        rows.append(json.dumps(filled, ensure_ascii=False))
    return "\n".join(rows) + "\n"
