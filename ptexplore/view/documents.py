"""What the JSON documents of cards, search, tours and health share: the format number, trees, references, stops."""

from __future__ import annotations

from typing import Any

from ptexplore.annotations.marks import Mark
from ptexplore.model.places import SourceRef, TreeInfo
from ptexplore.view.why_there import why_there

FORMAT = 1  # within a format keys are only added


def tree_to_json(tree: TreeInfo) -> dict[str, Any]:
    """A tree's name, version, layers, and how it relates to the running torch."""
    out = {"name": tree.name, "version": tree.version, "layers": list(tree.layers), "relation": tree.relation}
    return out | ({"commit": tree.commit} if tree.commit else {})


def source_to_json(ref: SourceRef | None) -> dict[str, Any] | None:
    """A reference with every field a reader may count on; `reason`, in words, only where there is one."""
    if ref is None:
        return None
    out: dict[str, Any] = {
        "tree": ref.tree,
        "path": ref.path,
        "line": ref.line,
        "end_line": ref.end_line,
        "layer": ref.layer,
        "precision": ref.precision,
        "url": ref.url,
        "candidates": [source_to_json(c) for c in ref.candidates],
    }
    return out | ({"reason": why_there(ref.reason)} if ref.reason is not None else {})


def mark_to_json(mark: Mark) -> dict[str, Any]:
    """A stop of a tour or note, with its place where it has one here."""
    return {
        "stop": mark.stop,
        "title": mark.title,
        "outcome": mark.outcome,
        "path": mark.path or None,
        "line": mark.line or None,
        "end_line": mark.end_line or None,
    }
