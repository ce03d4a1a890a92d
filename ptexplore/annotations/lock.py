"""anchors.lock: where each anchor was on its baseline, and a hash of what stood there; never a line of its text."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from ptexplore.annotations.records import Problem, Where

LOCK = "anchors.lock"
FORMAT = 1
_LARGEST = 8 * 1024 * 1024  # bytes
_TEXTS = ("stop", "asked", "baseline", "path", "symbol", "kind", "hash", "overload", "near")
_COUNTS = ("line", "end", "at", "at_end", "size", "count")


@dataclass(frozen=True, slots=True)
class LockEntry:
    """One anchor on its baseline.

    `asked` is a hash of the anchor as it was written then. `line` to `end` is the symbol (its name's line, its last),
    `at` to `at_end` what the anchor means inside it. `hash` is of the symbol's tokens, `overload` of its parameter
    types, `near` of the `size` tokens on the lines `at` to `at_end` (empty where those tokens stand in the symbol more
    than once). `count` is how often the anchor's token does.
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


def read_lock(file: Path, shown: str) -> tuple[dict[str, LockEntry], list[Problem]]:
    """The entries by stop, and the lines that are none."""
    entries: dict[str, LockEntry] = {}
    problems: list[Problem] = []
    try:
        with file.open("rb") as stream:
            data = stream.read(_LARGEST + 1)
    except FileNotFoundError:
        return {}, []
    except OSError as error:
        return {}, [Problem(Where(shown, 1), f"it cannot be read: {error.strerror or error}")]
    if len(data) > _LARGEST:
        return {}, [Problem(Where(shown, 1), f"it is larger than {_LARGEST:,} bytes")]
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
        if not line.strip():
            continue
        found = _line(line, number)
        if isinstance(found, str):
            problems.append(Problem(Where(shown, number), found))
            if number == 1:
                return {}, problems
        elif found is not None and found.stop in entries:
            problems.append(Problem(Where(shown, number), f"{found.stop!r} is here twice"))
        elif found is not None:
            entries[found.stop] = found
    return entries, problems


def _line(line: str, number: int) -> LockEntry | str | None:
    """An entry, None for the head, or what is wrong."""
    try:
        data: Any = json.loads(line)
    except (ValueError, RecursionError):
        return "this is no line of JSON: `ptexplore notes pin` writes the file anew"
    if number == 1:
        return None if isinstance(data, dict) and data.get("format") == FORMAT else f"its format is not {FORMAT}"
    known = {one.name for one in fields(LockEntry)}
    right = isinstance(data, dict) and data.keys() <= known
    right = right and all(isinstance(data.get(name, ""), str) for name in _TEXTS)
    right = right and all(type(data.get(name, 0)) is int and 0 <= data.get(name, 0) < 1 << 31 for name in _COUNTS)
    try:
        return LockEntry(**data) if right else "this is no entry of a lock"
    except TypeError:
        return "this is no whole entry of a lock"


def lock_text(entries: Iterable[LockEntry]) -> str:
    """The file's text: a head, then one line a stop, in order; what is empty is left out."""
    rows = [json.dumps({"format": FORMAT})]
    for entry in sorted(entries, key=lambda one: one.stop):
        filled = {key: value for key, value in asdict(entry).items() if value not in ("", 0)}
        rows += [json.dumps(filled, ensure_ascii=False)]
    return "\n".join(rows) + "\n"
