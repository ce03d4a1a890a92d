"""What scripts/drift prints: outcomes by tree, CodeTour's rules on the same stops, and the hand-checked verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lib.drift_peer import Peer
from lib.drift_truth import Truth, Verdict, ours, tally, theirs

from ptexplore.annotations.anchors import BESIDE, OUTCOMES, ResolvedAnchor

_TEXT = (".h", ".hpp", ".cuh", ".py", ".pyi", ".yaml", ".yml")  # what a wheel holds


@dataclass(frozen=True)
class Placed:
    """One stop on one tree: our answer and CodeTour's."""

    found: ResolvedAnchor
    peer: Peer


@dataclass(frozen=True)
class Run:
    """Every stop on one tree, in `seconds`."""

    release: str
    what: str
    rows: Sequence[Placed]
    seconds: float
    truth: Truth | None

    @property
    def counts(self) -> Counter[str]:
        return Counter(one.found.outcome for one in self.rows)

    @property
    def resolved(self) -> tuple[int, int]:
        """How many are exact, moved or changed, of those that the tree can hold."""
        counts = self.counts
        held = len(self.rows) - counts["absent"]
        return sum(counts[one] for one in ("exact", "moved", "changed")), held

    def verdicts(self, answer: Callable[[Placed, str], Verdict]) -> list[Verdict]:
        """The verdict on each stop that somebody checked."""
        cells = [(one, self.truth.of(one.found.stop, self.release)) for one in self.rows] if self.truth else []
        return [answer(one, cell) for one, cell in cells if cell is not None]

    @property
    def misplaced(self) -> int:
        return Counter(self.verdicts(_ours))["misplaced"]

    def peer(self, rule: Callable[[Peer], int | None]) -> tuple[int, int, int]:
        """Of the stops that we place to the line: at that line, at another, at none, by a rule of CodeTour's."""
        same = other = none = 0
        for one in self.rows:
            if one.found.placed and not one.found.why:
                line = rule(one.peer)
                is_same = one.found.was is not None and one.found.path == one.found.was.path and line == one.found.line
                same += is_same
                none += line is None
                other += not is_same and line is not None
        return same, other, none


def _ours(one: Placed, cell: str) -> Verdict:
    return ours(one.found, cell)


def _by_line(one: Placed, cell: str) -> Verdict:
    return theirs(one.found.was.path if one.found.was else "", one.peer.line, cell)


def _by_pattern(one: Placed, cell: str) -> Verdict:
    return theirs(one.found.was.path if one.found.was else "", one.peer.pattern, cell)


def text(runs: Sequence[Run]) -> str:
    """For a terminal."""
    lines = []
    for run in runs:
        hit, held = run.resolved
        share = f"{100 * hit / held:.1f}%" if held else "none"
        lines += ["", f"{run.release} ({run.what}): {len(run.rows)} stops in {run.seconds:.2f} s"]
        lines.append("  " + ", ".join(f"{run.counts[one]} {one}" for one in (*OUTCOMES, *BESIDE) if run.counts[one]))
        lines.append(f"  exact, moved or changed: {hit} of the {held} that this tree can hold ({share})")
        for name, rule in (("line", _line), ("pattern", _pattern)):
            same, other, none = run.peer(rule)
            lines.append(f"  CodeTour's {name}: {same} at the same line, {other} at another, {none} at none")
        for name, answer in (("ours", _ours), ("CodeTour's line", _by_line), ("CodeTour's pattern", _by_pattern)):
            verdicts = run.verdicts(answer)
            if verdicts:
                lines.append(f"  hand-checked, {name}: {tally(verdicts)} (of {len(verdicts)})")
    return "\n".join(lines[1:])


def _line(peer: Peer) -> int | None:
    return peer.line


def _pattern(peer: Peer) -> int | None:
    return peer.pattern


def markdown(runs: Sequence[Run]) -> str:
    """For docs/accuracy.md."""
    lines = [
        "| onto | stops | exact | moved | changed | ambiguous | lost | not in this tree | seconds |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for run in runs:
        counts = " | ".join(str(run.counts[one]) for one in (*OUTCOMES, "absent"))
        lines.append(f"| {run.what} | {len(run.rows)} | {counts} | {run.seconds:.2f} |")
    lines += ["", "| onto | CodeTour's rule | at the line where we are | at another line | at none (line 2000) |",
              "|---|---|---|---|---|"]  # fmt: skip
    for run in runs:
        for name, rule in (("`line`", _line), ("`pattern`", _pattern)):
            same, other, none = run.peer(rule)
            lines.append(f"| {run.what} | {name} | {same} | {other} | {none} |")
    if any(run.verdicts(_ours) for run in runs):
        lines += [
            "",
            "| onto | hand-checked stops | ours | CodeTour's `line` | CodeTour's `pattern` |",
            "|---|---|---|---|---|",
        ]
        for run in runs:
            answers = [tally(run.verdicts(answer)) for answer in (_ours, _by_line, _by_pattern)]
            lines.append(f"| {run.what} | {len(run.verdicts(_ours))} | {' | '.join(answers)} |")
    return "\n".join(lines)


def listing(runs: Sequence[Run]) -> str:
    """Every stop on every tree."""
    lines = []
    for run in runs:
        for one in run.rows:
            found, cell = one.found, run.truth.of(one.found.stop, run.release) if run.truth else None
            verdict = f"  {ours(found, cell)}" if cell is not None else ""
            place = f"{found.path}:{found.line}" if found.placed else "nowhere"
            why = f"  {found.why}" if found.why else ""
            lines.append(f"{run.release}\t{found.stop}\t{found.outcome}\t{place}{verdict}{why}")
    return "\n".join(lines)


def troubles(runs: Sequence[Run], least: float) -> list[str]:
    """What must not be: anything misplaced; too few resolved on the baseline, or of what a wheel holds on the wheel."""
    found = [f"{run.release}: {run.misplaced} stops are misplaced" for run in runs if run.misplaced]
    for run in runs[:2]:
        rows = [one for one in run.rows if run is runs[0] or one.found.anchor.path.endswith(_TEXT)]
        hit = sum(one.found.outcome in ("exact", "moved", "changed") for one in rows)
        if 100 * hit < least * len(rows):
            found.append(f"{run.release}: {hit} of {len(rows)} stops resolve, and {least:g}% must")
    return found
