"""Format 1 of saved traces: hops nested in one another, and what is known of each in objects of any keys.

Everything here turns plain JSON data of format 1 into that of format 2. What the values are is checked after that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ptexplore.capture.session import refused
from ptexplore.model.trace import TRAIL_FORMAT

_NO_DISPATCH: Mapping[str, Any] = {"set": "", "raw": "", "entry": "", "skipped": []}
_PLACES = ("yaml", "table_row", "assigned", "op_entry", "called_at")
_RENAMED = {"self": "own", "of": "third_party"}
# The record of each group of keys; the first key is always there where the record is, but for a kernel's.
_RECORDS = {
    "operator": ("schema", "yaml", "entry"),
    "binding": ("python", "table_row", "assigned"),
    "python": ("called_from_line",),
    "stub": ("device", "called_at", "through"),
    "native": ("symbol", "mangled", "library", "own", "tail", "third_party"),
}
_ALL_OPTIONAL = {
    "kernel": ("registered_op_line", "registers", "op_entry"),
    "stub_kernel": ("cpu_capability", "loops"),
    "node": ("recorded", "derivatives"),
}


def upgraded(document: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A Trail of format 1 as one of format 2. Raises PtexploreError (USAGE) where its hops are no tree."""
    try:
        bound = [{"name": key, "description": text} for key, text in document["bound"].items()]
        return {**document, "format": TRAIL_FORMAT, "bound": bound, "hops": _rows(document["hops"])}
    except (KeyError, TypeError, AttributeError) as error:
        raise refused(name, f"a value is missing or of the wrong kind: {str(error)[:100]}") from error


def _rows(hops: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The hops as a flat table, callers first."""
    rows = []
    pending = [(hop, None) for hop in reversed(hops)]
    while pending:
        hop, parent = pending.pop()
        rows.append(_row(hop) | {"parent": parent})
        pending += [(child, hop["id"]) for child in reversed(hop.get("children", []))]
    return rows


def _row(hop: Mapping[str, Any]) -> dict[str, Any]:
    row = {key: value for key, value in hop.items() if key not in ("children", "detail")}
    if hop.get("dispatch") is not None:
        row["dispatch"] = {**_NO_DISPATCH, **hop["dispatch"]}
    if hop.get("derivative") is not None:
        row["derivative"] = {**hop["derivative"], "source": _place(hop["derivative"])}
    detail = {_RENAMED.get(key, key): value for key, value in hop.get("detail", {}).items()}
    detail |= {key: _place(detail[key]) for key in _PLACES if detail.get(key) is not None}
    detail |= {"loops": [{"call": loop["call"], "source": _place(loop)} for loop in detail.get("loops", [])]}
    detail |= {"derivatives": [_place(place) for place in detail.get("derivatives", [])]}
    for record, keys in _RECORDS.items():
        row[record] = {key: detail[key] for key in keys if key in detail} if keys[0] in detail else None
    for record, keys in _ALL_OPTIONAL.items():
        row[record] = {key: detail[key] for key in keys if detail.get(key)} or None
    return row


def _place(place: Mapping[str, Any]) -> dict[str, Any]:
    return {"layer": None, "precision": "unknown", **place}
