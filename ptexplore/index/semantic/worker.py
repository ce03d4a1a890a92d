"""What one process does with one unit: parse it, give back its diagnostics and the uses in the files of interest."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ptexplore.index.semantic.arguments import Headers, arguments
from ptexplore.index.semantic.clang import load
from ptexplore.index.semantic.references import FileUses, references
from ptexplore.index.semantic.unit import Diagnostic, parsed

SHOWN = 20  # diagnostics of one unit that are kept word for word; all are counted


@dataclass(frozen=True, slots=True)
class Work:
    """One unit to parse, and the files (canonical) whose uses are wanted from it."""

    headers: Headers
    path: str
    wanted: frozenset[str]


@dataclass(frozen=True, slots=True)
class UnitResult:
    """What a unit gave. `erring` are the files of interest in which libclang met an error."""

    errors: int
    warnings: int
    messages: tuple[Diagnostic, ...]
    erring: frozenset[str]
    uses: dict[str, FileUses]
    skipped: dict[str, list[tuple[int, int]]]


def work(task: Work) -> UnitResult:
    """Parse and read one unit. Raises ValueError where libclang makes nothing of it."""
    clang = load()
    file = str(Path(task.headers.root, task.path))
    with parsed(clang, task.headers.root, file, arguments(task.headers, task.path)) as unit:
        said = unit.diagnostics()
        errors = [one for one in said if one.severity == "error"]
        messages = (*errors, *(one for one in said if one.severity == "warning"))
        uses = references(unit, task.wanted.__contains__)
        skipped = {path: ranges for path, ranges in unit.skipped().items() if path in task.wanted}
        erring = frozenset(one.path for one in errors)
        return UnitResult(len(errors), len(said) - len(errors), messages[:SHOWN], erring, uses, skipped)
