"""The hand-checked table: where each stop's place really is in other versions, and how a rule's answer compares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ptexplore.annotations.anchors import ResolvedAnchor

Verdict = Literal["right", "symbol", "misplaced", "unplaced", "rightly unplaced"]
_IN_WORDS: dict[Verdict, str] = {
    "right": "right", "symbol": "whole symbol", "misplaced": "wrong place",
    "unplaced": "not found although present", "rightly unplaced": "not found because absent",
}  # fmt: skip
GONE = "gone"  # nothing there is what the stop is about
NONE = "-"  # the tree holds no such files: nobody can say


@dataclass(frozen=True)
class Truth:
    """By stop and release: "path:line", `gone`, or `-`."""

    cells: dict[tuple[str, str], str] = field(default_factory=dict)

    def of(self, stop: str, release: str) -> str | None:
        """The cell; None where nobody checked."""
        return self.cells.get((stop, release))


def read_truth(file: Path) -> Truth:
    """The table of `file`: a head with the releases, a row a stop, tabs between."""
    head, *rows = [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
    return Truth({(row[0], release): cell for row in rows for release, cell in zip(head[1:], row[1:], strict=True)})


def ours(found: ResolvedAnchor, cell: str) -> Verdict:
    """How our answer compares. `symbol`: the whole symbol is named, for want of anything surer, and holds the place."""
    if not found.placed:
        return "rightly unplaced" if cell in (GONE, NONE) else "unplaced"
    path, _, line = cell.rpartition(":")
    if cell in (GONE, NONE) or path != found.path:
        return "misplaced"
    if found.why:
        return "symbol" if found.begin <= int(line) <= found.symbol_end else "misplaced"
    return "right" if int(line) == found.line else "misplaced"


def theirs(path: str, line: int | None, cell: str) -> Verdict:
    """How a rule of CodeTour's compares, which stays in the file `path`."""
    if line is None:
        return "rightly unplaced" if cell in (GONE, NONE) else "unplaced"
    return "right" if cell == f"{path}:{line}" else "misplaced"


def tally(verdicts: Sequence[Verdict]) -> str:
    """Verdicts with their numbers, misplaced always among them."""
    found = Counter(verdicts)
    order: tuple[Verdict, ...] = ("right", "symbol", "misplaced", "unplaced", "rightly unplaced")
    return ", ".join(f"{found[one]} {_IN_WORDS[one]}" for one in order if found[one] or one == "misplaced")
