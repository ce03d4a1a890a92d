"""What find, show and refs found, as JSON documents (format 1)."""

from __future__ import annotations

from typing import Any

from ptexplore.view.documents import FORMAT, mark_to_json, source_to_json, tree_to_json
from ptexplore.view.search.find import FindView, SearchHit
from ptexplore.view.search.refs import NameUse, RefsView
from ptexplore.view.search.show import Page, ShowView
from ptexplore.view.search.targets import Candidate


def find_to_document(view: FindView) -> dict[str, Any]:
    """Groups of results; each place with its tree and precision. `more` is null where nobody counted."""
    return {
        "format": FORMAT,
        "query": view.query,
        "trees": [tree_to_json(tree) for tree in view.trees],
        "groups": [
            {"name": group.name, "more": group.more, "results": [_found(one) for one in group.found]}
            for group in view.groups
        ],
        "remarks": list(view.remarks),
    }


def _found(one: SearchHit) -> dict[str, Any]:
    return {
        "kind": one.kind,
        "name": one.name,
        "role": one.role,
        "detail": one.detail,
        "macro": one.macro,
        "guards": list(one.guards),
        "source": source_to_json(one.spot.ref),
        "also": [source_to_json(other.ref) for other in one.others],
    }


def show_to_document(view: ShowView) -> dict[str, Any]:
    """The pages with their lines; `candidates` is everything that the target may name."""
    return {
        "format": FORMAT,
        "target": view.target,
        "trees": [tree_to_json(tree) for tree in view.trees],
        "candidates": [_candidate(one) for one in view.candidates],
        "pages": [_page(page) for page in view.pages],
    }


def _candidate(one: Candidate) -> dict[str, Any]:
    symbol = one.symbol
    return {
        "kind": one.kind,
        "name": one.name,
        "detail": one.detail,
        "role": symbol.role if symbol is not None else None,
        "macro": symbol.macro if symbol is not None else None,
        "guards": list(symbol.guards) if symbol is not None else [],
        "source": source_to_json(one.spot.ref),
        "also": [source_to_json(other.ref) for other in one.also],
    }


def _page(page: Page) -> dict[str, Any]:
    out = _candidate(page.candidate) | {
        "source": source_to_json(page.spot.ref),
        "first": page.first,
        "mark": page.mark,
        "lines": list(page.lines),
        "language": page.language,
        "file": page.file,
        "file_line": page.file_line,
        "inside": page.inside.qualified if page.inside is not None else None,
        "facts": list(page.facts),
    }
    out["notes"] = [mark_to_json(mark) for mark in page.marks]
    if page.kernels:
        out["kernels"] = [
            {"keys": list(k.keys), "name": k.name, "depth": k.depth, "source": source_to_json(k.ref)}
            for k in page.kernels
        ]
    return out


def refs_to_document(view: RefsView) -> dict[str, Any]:
    """Groups of uses with their totals; `how` is "resolved", "name-matched" or the row's own macro."""
    return {
        "format": FORMAT,
        "symbol": view.asked,
        "trees": [tree_to_json(tree) for tree in view.trees],
        "defined": [
            {"name": name, "kind": kind, "source": source_to_json(spot.ref)} for name, kind, spot in view.defined
        ],
        "defined_more": view.more,
        "groups": [
            {"name": group.name, "total": group.total, "uses": [_use(use) for use in group.found]}
            for group in view.groups
        ],
        "remarks": list(view.remarks),
    }


def _use(use: NameUse) -> dict[str, Any]:
    return {
        "source": source_to_json(use.spot.ref),
        "text": use.text,
        "inside": use.inside,
        "how": use.how,
        "written": use.written,
        "detail": use.detail,
    }
