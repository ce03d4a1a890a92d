"""Figure 2 of scripts/accuracy: every function definition that libclang sees in fixed units, against the index."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from lib.accuracy_units import RESERVE, UNITS
from lib.clang_definitions import Definition, definitions

from ptexplore.index.semantic.arguments import Headers, arguments
from ptexplore.index.semantic.clang import load, parsed
from ptexplore.index.semantic.pool import Limits, run

LIMITS = Limits(seconds=240, processor=240)  # for one unit


@dataclass
class Truth:
    """What libclang saw in all units: definitions by path, and lines skipped in every unit that read the file."""

    units: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    definitions: dict[str, set[Definition]] = field(default_factory=lambda: defaultdict(set))
    active: dict[str, list[list[tuple[int, int]]]] = field(default_factory=lambda: defaultdict(list))

    def skipped(self, path: str, line: int) -> bool:
        """Whether no unit read that line."""
        return all(any(first <= line <= last for first, last in ranges) for ranges in self.active[path])


@dataclass(frozen=True)
class Seen:
    """One unit: its errors, definitions, the files it read with the lines skipped in each."""

    errors: list[str]
    definitions: list[Definition]
    skipped: dict[str, list[tuple[int, int]]]
    files: list[str]


def look(headers: Headers, path: str) -> Seen:
    """Parse one unit; runs in a process of its own."""
    clang = load()
    file = str(Path(headers.root, path))
    with parsed(clang, headers.root, file, arguments(headers, path)) as unit:
        errors = [f"{one.path}:{one.line}: {one.text}" for one in unit.diagnostics() if one.severity == "error"]
        found = list(set(definitions(unit, lambda _: True)))
        skipped = unit.skipped()
        return Seen(errors, found, skipped, sorted(unit.files()))


def gather(headers: Headers, jobs: int, units: Sequence[str] = UNITS) -> Truth:
    """Parse every unit; one with errors, or that failed, is named in `refused` and replaced from RESERVE."""
    truth = Truth()
    waiting, spare = list(units), list(RESERVE)
    while waiting:
        refused = 0
        for outcome in run(partial(look, headers), waiting, jobs, LIMITS):
            seen = outcome.result
            why = outcome.failed or (seen and seen.errors and f"{len(seen.errors)} errors, first {seen.errors[0]}")
            if why or seen is None:
                truth.refused[outcome.task] = why or "no result"
                refused += 1
                continue
            truth.units.append(outcome.task)
            for one in seen.definitions:
                truth.definitions[one.path].add(one)
            for path in seen.files:
                truth.active[path].append(seen.skipped.get(path, []))
        waiting, spare = spare[:refused], spare[refused:]
    truth.units.sort()
    return truth
