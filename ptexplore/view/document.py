"""Trails as JSON documents (format 1): what `--json` prints and `--save` keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ptexplore.capture.session import session_to_document
from ptexplore.model import Hop, Session, SourceRef, Trail, TreeInfo

if TYPE_CHECKING:
    from ptexplore.annotations.marks import Mark


def trail_to_document(trail: Trail, session: Session | None = None) -> dict[str, Any]:
    """The Trail as plain JSON data; with the session inside it, so that it can be explained and resolved again."""
    document: dict[str, Any] = {
        "format": trail.format,
        "expression": trail.expression,
        "bound": trail.bound,
        "torch": {k: v for k, v in trail.torch.items() if k != "torch_dir"},
        "trees": [tree_to_json(t) for t in trail.trees],
        "captured": trail.captured,
        "result": trail.result,
        "findings": [{"kind": f.kind, "hop": f.hop, "text": f.text} for f in trail.findings],
        "hops": [hop_to_json(h) for h in trail.hops],
    }
    if session is not None:
        document["session"] = session_to_document(session)
    return document


def tree_to_json(tree: TreeInfo) -> dict[str, Any]:
    """A tree's name, version, layers, and how it relates to the running torch."""
    out = {"name": tree.name, "version": tree.version, "layers": list(tree.layers), "relation": tree.relation}
    return out | ({"commit": tree.commit} if tree.commit else {})


def source_to_json(ref: SourceRef | None) -> dict[str, Any] | None:
    """A reference with every field a reader may count on; `reason` only where there is one."""
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
    return out | ({"reason": ref.reason} if ref.reason else {})


def hop_to_json(hop: Hop) -> dict[str, Any]:
    """One hop with every field of format 1, its children inside it."""
    return {
        "id": hop.id,
        "kind": hop.kind,
        "name": hop.name,
        "phase": hop.phase,
        "thread": hop.thread,
        "op": hop.op,
        "key": hop.key,
        "status": hop.status,
        "dispatch": hop.dispatch,
        "source": source_to_json(hop.source),
        "registration": source_to_json(hop.registration),
        "declaration": source_to_json(hop.declaration),
        "derivative": hop.derivative,
        "detail": hop.detail,
        "why": list(hop.why),
        "evidence": list(hop.evidence),
        "notes": list(hop.notes),
        "calls": hop.calls,
        "instructions": hop.instructions,
        "children": [hop_to_json(c) for c in hop.children],
    }


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
