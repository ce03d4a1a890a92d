"""`notes check`: what became of every anchor, by outcome, with the labs' results and what was wrong in the files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ptexplore.annotations.anchors import BESIDE, OUTCOMES, Outcome, ResolvedAnchor, count

if TYPE_CHECKING:
    from ptexplore.annotations.records import Problem, Stop, Tour
    from ptexplore.model.places import TreeInfo
    from ptexplore.view.line import Tone
    from ptexplore.view.notes.labs import LabResult

MEANING: dict[Outcome, str] = {
    "exact": "same place, same text",
    "moved": "same text, another place",
    "changed": "there, with other text",
    "ambiguous": "several things bear that name",
    "lost": "nothing bears that name",
    "unpinned": "there, with no fingerprint to compare: ptexplore notes pin",
    "absent": "this tree holds no such files",
}
WORDS: dict[Outcome, str] = {"absent": "not in this tree", "unpinned": "not pinned"}
# How the word looks, for every renderer.
TONES: dict[Outcome, Tone] = {"exact": "good", "moved": "fair", "changed": "doubt", "ambiguous": "bad", "lost": "bad",
                              "unpinned": "doubt", "absent": "doubt"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Checked:
    """One anchor with the stop it belongs to."""

    tour: Tour
    stop: Stop
    resolved: ResolvedAnchor


@dataclass(frozen=True, slots=True)
class CheckView:
    """Everything that `notes check` found on one tree. `labs` is None where none was asked to run."""

    tree: TreeInfo
    anchors: tuple[Checked, ...]
    problems: tuple[Problem, ...]
    labs: tuple[LabResult, ...] | None = None
    folders: tuple[str, ...] = field(default=())

    @property
    def summary(self) -> dict[str, int]:
        return count([one.resolved for one in self.anchors])

    @property
    def groups(self) -> list[tuple[Outcome, list[Checked]]]:
        """The anchors by outcome, those that need a person last."""
        order: Sequence[Outcome] = (OUTCOMES[0], *BESIDE[::-1], *OUTCOMES[1:])
        by = {outcome: [one for one in self.anchors if one.resolved.outcome == outcome] for outcome in order}
        return [(outcome, found) for outcome, found in by.items() if found]

    @property
    def broken(self) -> bool:
        """Whether an anchor is lost or ambiguous."""
        return bool(self.summary["lost"] + self.summary["ambiguous"])

    @property
    def failed(self) -> bool:
        """Whether a file could not be read as it should, or a lab failed."""
        return bool(self.problems) or any(one.outcome == "failed" for one in self.labs or ())


def where_to(one: ResolvedAnchor) -> str:
    """Where an anchor went, in words: the place, and the baseline's where that is another."""
    if not one.placed:
        return one.why
    lines = f"{one.line}" if one.line == one.end_line or one.line == one.symbol else f"{one.line}-{one.end_line}"
    place = f"{one.path}:{lines}"
    was = one.was
    if was is not None and one.outcome in ("moved", "changed"):
        before = was.at or was.line
        if was.path != one.path:
            place += f"  (was {was.path}:{before})"
        elif before != one.line:
            place += f"  (was line {before})"
    return f"{place}  {one.why}" if one.why else place


def check_document(view: CheckView) -> dict[str, Any]:
    """`notes check --json`, format 1."""
    document: dict[str, Any] = {
        "format": 1,
        "summary": view.summary,
        "anchors": [_anchor(one) for one in view.anchors],
        "problems": [{"file": p.where.file, "line": p.where.line, "text": p.text} for p in view.problems],
        "tree": {"name": view.tree.name, "version": view.tree.version, "commit": view.tree.commit},
        "folders": list(view.folders),
    }
    if view.labs is not None:
        document["labs"] = [
            {"lab": one.name, "file": one.where.file, "line": one.where.line, "outcome": one.outcome, "why": one.why,
             "seconds": round(one.seconds, 2)}
            for one in view.labs
        ]  # fmt: skip
    return document


def _anchor(one: Checked) -> dict[str, Any]:
    found = one.resolved
    was = found.was
    return {
        "stop": found.stop,
        "title": one.stop.title,
        "outcome": found.outcome,
        "file": one.stop.anchor.where.file,
        "file_line": one.stop.anchor.where.line,
        "asked": {"path": found.anchor.path, "symbol": found.anchor.symbol},
        "path": found.path or None,
        "line": found.line or None,
        "end_line": found.end_line or None,
        "symbol": {"name": found.name, "begin": found.begin, "line": found.symbol, "end_line": found.symbol_end}
        if found.placed
        else None,
        "was": {"path": was.path, "line": was.at or was.line, "end_line": was.at_end or was.end, "in": was.baseline}
        if was is not None
        else None,
        "why": found.why or None,
        "candidates": [{"path": path, "line": line} for path, line in found.candidates],
    }
