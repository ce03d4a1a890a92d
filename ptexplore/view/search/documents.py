"""What `find` and `refs` found, as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ptexplore.lookup.find import FindView
from ptexplore.lookup.refs import GROUPS, NameUse, OverriddenAt, RefsView, UseGroup
from ptexplore.lookup.trees import Candidate
from ptexplore.view.documents import FORMAT, source_to_json, tree_to_json
from ptexplore.view.words.headings import heading
from ptexplore.view.words.remarks import remark_in_words


def find_to_document(view: FindView) -> dict[str, Any]:
    """Groups of results; each place with its tree and precision. `more` is null where nobody counted."""
    return {
        "format": FORMAT,
        "query": view.query,
        "trees": [tree_to_json(tree) for tree in view.trees],
        "groups": [
            {"name": heading(group), "more": group.more, "results": [_hit_to_json(hit) for hit in group.hits]}
            for group in view.groups
        ],
        "best": [_hit_to_json(hit) for hit in view.best],
        "remarks": list(map(remark_in_words, view.remarks)),
    }


def _hit_to_json(hit: Candidate) -> dict[str, Any]:
    symbol = hit.symbol
    return {
        "kind": hit.kind,
        "name": hit.name,
        "role": symbol.role if symbol is not None else "definition",
        "detail": hit.detail,
        "macro": symbol.macro if symbol is not None else None,
        "guards": list(hit.guards),
        "source": source_to_json(hit.spot.ref),
        "also": [source_to_json(other.ref) for other in hit.also],
    }


def refs_to_document(view: RefsView) -> dict[str, Any]:
    """Lines by what their use is, with totals; `how` is "resolved", "name-matched" or the row's own macro."""
    return {
        "format": FORMAT,
        "symbol": view.asked,
        "trees": [tree_to_json(tree) for tree in view.trees],
        "defined": [
            {"name": name, "kind": kind, "source": source_to_json(spot.ref)} for name, kind, spot in view.defined
        ],
        "defined_more": view.more,
        "lines": view.lines,
        "certain": view.certain,
        "otherwise": view.otherwise,
        "untold": view.untold,
        "definitions": view.definitions,
        "overridden": view.overridden,
        "may_override": view.may_override,
        "overrides": [_overridden_to_json(overridden) for overridden in view.overrides],
        "groups": [_group_to_json(name, view.groups) for name in GROUPS if any(g.name == name for g in view.groups)],
        "remarks": list(map(remark_in_words, view.remarks)),
    }


def _overridden_to_json(overridden: OverriddenAt) -> dict[str, Any]:
    return {
        "name": overridden.name,
        "functions": [
            {"name": name, "source": source_to_json(spot.ref), "certain": sure}
            for name, spot, sure in overridden.functions
        ],
        "all_bases_known": overridden.all_known,
    }


def _group_to_json(name: str, groups: Sequence[UseGroup]) -> dict[str, Any]:
    """The lines of one sort, those that are certain first."""
    some = [group for group in groups if group.name == name]
    return {
        "name": name,
        "total": sum(group.total for group in some),
        "certain": sum(group.total for group in some if group.certain),
        "uses": [_use_to_json(use) for group in some for use in group.uses],
    }


def _use_to_json(use: NameUse) -> dict[str, Any]:
    return {
        "source": source_to_json(use.spot.ref),
        "text": use.text,
        "inside": use.inside,
        "how": use.how,
        "written": use.written,
        "detail": use.detail,
        "certain": use.certain,
    }
