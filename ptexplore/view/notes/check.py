"""The answer of `notes check`: what happened to each anchor, by outcome; results of labs; problems in the files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ptexplore.annotations.anchors import BESIDE, OUTCOMES, Outcome, ResolvedAnchor, count
from ptexplore.annotations.records import Problem, Stop, Tour
from ptexplore.model.places import TreeInfo
from ptexplore.view.line import Tone
from ptexplore.view.notes.folder import PagesCheck
from ptexplore.view.notes.labs import LabResult

MEANING: dict[Outcome, str] = {
    "exact": "same place, same text",
    "moved": "same text at another place",
    "changed": "found, with other text",
    "ambiguous": "several definitions have this name",
    "lost": "nothing has this name",
    "unpinned": "found, without a fingerprint to compare: ptexplore notes pin",
    "absent": "this tree has no files of this kind",
}
WORDS: dict[Outcome, str] = {"absent": "not in this tree", "unpinned": "not pinned"}
# The style of each word, for every renderer.
TONES: dict[Outcome, Tone] = {"exact": "good", "moved": "fair", "changed": "doubt", "ambiguous": "bad", "lost": "bad",
                              "unpinned": "doubt", "absent": "doubt"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Checked:
    """One anchor with its stop."""

    tour: Tour
    stop: Stop
    resolved: ResolvedAnchor


@dataclass(frozen=True, slots=True)
class CheckView:
    """Everything that `notes check` found on one tree. `labs` is None if no lab was asked for.

    `pages` is the check of the folders' pages.
    """

    tree: TreeInfo
    anchors: tuple[Checked, ...]
    problems: tuple[Problem, ...]
    labs: tuple[LabResult, ...] | None = None
    folders: tuple[str, ...] = field(default=())
    pages: PagesCheck | None = None  # None if single tours or stops were asked for

    @property
    def summary(self) -> dict[str, int]:
        return count([checked.resolved for checked in self.anchors])

    @property
    def groups(self) -> list[tuple[Outcome, list[Checked]]]:
        """The anchors by outcome; those that need a person come last."""
        order: Sequence[Outcome] = (OUTCOMES[0], *BESIDE[::-1], *OUTCOMES[1:])
        by = {outcome: [c for c in self.anchors if c.resolved.outcome == outcome] for outcome in order}
        return [(outcome, anchors) for outcome, anchors in by.items() if anchors]

    @property
    def broken(self) -> bool:
        """Whether an anchor is lost or ambiguous."""
        return bool(self.summary["lost"] + self.summary["ambiguous"])

    @property
    def failed(self) -> bool:
        """Whether a file has problems, or a lab failed."""
        return bool(self.problems) or any(lab.outcome == "failed" for lab in self.labs or ())


def where_to(resolved: ResolvedAnchor) -> str:
    """Returns where an anchor is now, in words, and its place in the baseline if that differs."""
    if not resolved.placed:
        return resolved.why
    place = f"{resolved.path}:{resolved.line}"
    if resolved.line not in (resolved.end_line, resolved.symbol):
        place += f"-{resolved.end_line}"
    was = resolved.was
    if was is not None and resolved.outcome in ("moved", "changed"):
        before = was.at or was.line
        if was.path != resolved.path:
            place += f"  (was {was.path}:{before})"
        elif before != resolved.line:
            place += f"  (was line {before})"
    return f"{place}  {resolved.why}" if resolved.why else place
