"""Read a saved trace back: data nobody vouches for, so every field is checked and nothing in it runs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, get_args

from ptexplore.capture.session import session_from_document
from ptexplore.errors import MISSING, USAGE, PtexploreError
from ptexplore.model import FORMAT, Finding, Hop, HopKind, Layer, Precision, Session, SourceRef, Status, Trail, TreeInfo

MAX_HOPS = 2_000_000
MAX_DEPTH = 400


class _Reader:
    """Builds a Trail from data nobody vouches for: every field is checked, nothing is executed."""

    def __init__(self) -> None:
        self.hops = 0

    def trail(self, data: Mapping[str, Any]) -> Trail:
        version = data.get("format")
        if not isinstance(version, int) or isinstance(version, bool):
            raise _Bad("it has no format number")
        if version > FORMAT:
            raise _Newer(version)
        return Trail(
            expression=_text(data, "expression"),
            bound={str(k): str(v) for k, v in _dict(data, "bound").items()},
            torch=dict(_dict(data, "torch")),
            trees=tuple(self.tree(t) for t in _list(data, "trees")),
            captured=dict(_dict(data, "captured")),
            result=dict(_dict(data, "result")),
            findings=tuple(self.finding(f) for f in _list(data, "findings")),
            hops=tuple(self.hop(h, 0) for h in _list(data, "hops")),
        )

    def tree(self, data: Any) -> TreeInfo:
        layers = tuple(_choice(name, get_args(Layer)) for name in _list(_object(data), "layers"))
        relation = _choice(data.get("relation", "runtime"), ("runtime", "matches", "consistent", "version-skew"))
        return TreeInfo(_text(data, "name"), _text(data, "version"), layers, data.get("commit"), relation)

    def finding(self, data: Any) -> Finding:
        hop = _object(data).get("hop")
        return Finding(_text(data, "kind"), _text(data, "text"), hop if isinstance(hop, int) else None)

    def hop(self, data: Any, depth: int) -> Hop:
        self.hops += 1
        if self.hops > MAX_HOPS or depth > MAX_DEPTH:
            raise _Bad("it nests deeper or is longer than any real trace")
        data = _object(data)
        dispatch, derivative = data.get("dispatch"), data.get("derivative")
        return Hop(
            id=_number(data, "id"),
            kind=_choice(data.get("kind"), get_args(HopKind)),
            name=_text(data, "name"),
            status=_choice(data.get("status"), get_args(Status)),
            source=self.source(data.get("source"), depth),
            phase=_choice(data.get("phase", "forward"), ("forward", "backward")),
            thread=_number(data, "thread"),
            op=_optional_text(data, "op"),
            key=_optional_text(data, "key"),
            dispatch=_dispatch(dispatch) if dispatch is not None else None,
            registration=self.source(data["registration"], depth) if data.get("registration") else None,
            declaration=self.source(data["declaration"], depth) if data.get("declaration") else None,
            derivative=_derivative(derivative) if derivative is not None else None,
            detail=_detail(data.get("detail", {})),
            why=tuple(str(w) for w in _list(data, "why")),
            evidence=tuple(e for e in _list(data, "evidence") if isinstance(e, int)),
            notes=tuple(str(n) for n in _list(data, "notes")),
            calls=_number(data, "calls"),
            instructions=_number(data, "instructions") if data.get("instructions") is not None else None,
            children=tuple(self.hop(c, depth + 1) for c in _list(data, "children")),
        )

    def source(self, data: Any, depth: int) -> SourceRef:
        if depth > MAX_DEPTH:
            raise _Bad("its references nest deeper than any real trace")
        data = _object(data)
        url = _optional_text(data, "url")
        return SourceRef(
            path=_path(data),
            line=data["line"] if isinstance(data.get("line"), int) else None,
            layer=_choice(data["layer"], get_args(Layer)) if data.get("layer") else None,
            precision=_choice(data.get("precision"), get_args(Precision)),
            end_line=data["end_line"] if isinstance(data.get("end_line"), int) else None,
            tree=str(data.get("tree", "runtime")),
            url=url if url and url.startswith("https://") else None,
            reason=_optional_text(data, "reason"),
            candidates=tuple(self.source(c, depth + 1) for c in _list(data, "candidates")),
        )


class _Bad(Exception):
    """The document is not one of ours; the text says where."""


class _Newer(Exception):
    """A format number above ours."""


def trail_from_document(data: Any, name: str) -> tuple[Trail, Session | None]:
    """Read a saved document back. Raises PtexploreError (usage) on anything truncated, hostile or newer."""
    try:
        trail = _Reader().trail(_object(data))
    except _Newer as newer:
        raise PtexploreError(
            f"{name} is of format {newer}, and this ptexplore knows formats up to {FORMAT}",
            "it was saved by a newer ptexplore",
            "pip install --upgrade ptexplore",
            MISSING,
        ) from newer
    except (_Bad, RecursionError) as bad:
        raise _unreadable(name, str(bad) or "it nests too deeply") from bad
    session = session_from_document(data["session"], name) if data.get("session") is not None else None
    return trail, session


def _unreadable(name: str, why: str) -> PtexploreError:
    hint = 'ptexplore trace "torch.add(a, b)" --save FILE writes one'
    return PtexploreError(f"{name} is no saved trace", why, hint, USAGE)


def _object(data: Any) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise _Bad("an object was expected where there is none")
    return data


def _dict(data: Mapping[str, Any], name: str) -> dict[str, Any]:
    return _object(data.get(name, {}))


def _list(data: Mapping[str, Any], name: str) -> list[Any]:
    value = data.get(name, [])
    if not isinstance(value, list):
        raise _Bad(f"`{name}` is not a list")
    return value


def _text(data: Mapping[str, Any], name: str) -> str:
    value = data.get(name)
    if not isinstance(value, str):
        raise _Bad(f"`{name}` is not a text")
    return value


def _optional_text(data: Mapping[str, Any], name: str) -> str | None:
    return None if data.get(name) is None else _text(data, name)


def _derivative(data: Any) -> dict[str, Any]:
    """A derivative with the fields that renderers read, each of its kind."""
    derivative = dict(_object(data))
    _place(derivative)
    for formula in _list(derivative, "formulas"):
        _text(_object(formula), "inputs")
        _number(formula, "line")
    return derivative


def _place(data: Mapping[str, Any]) -> None:
    """A further place of a hop: inside a tree, and as precise as one of our words says."""
    _text(data, "path")
    _path(data)
    _number(data, "line")
    _choice(data.get("precision", "unknown"), get_args(Precision))
    _choice(data.get("layer"), (None, *get_args(Layer)))


def _dispatch(data: Any) -> dict[str, Any]:
    """A key's reasoning: texts, the arguments' sets by name, the keys passed over."""
    dispatch = dict(_object(data))
    if dispatch.get("arguments") is not None and not all(
        isinstance(v, str) for v in _dict(dispatch, "arguments").values()
    ):
        raise _Bad("an argument's key set is not a text")
    if not all(isinstance(name, str) for name in _list(dispatch, "skipped")):
        raise _Bad("`skipped` holds something that is not a key")
    for name in ("set", "entry", "redispatch", "tls_include", "tls_exclude", "tls_why", "raw"):
        _optional_text(dispatch, name)
    return dispatch


def _detail(data: Any) -> dict[str, Any]:
    """What else is known of a hop; places in it are places, the other values are shown as they are."""
    detail = dict(_object(data))
    for name in ("yaml", "table_row", "assigned", "op_entry", "called_at"):
        if detail.get(name) is not None:
            _place(_object(detail[name]))
    for one in _list(detail, "loops"):
        _place(_object(one))
    for name in ("python", "entry", "symbol", "library"):
        _optional_text(detail, name)
    _number(detail, "self")
    return detail


def _number(data: Mapping[str, Any], name: str) -> int:
    value = data.get(name, 0)
    if not isinstance(value, int) or isinstance(value, bool):
        raise _Bad(f"`{name}` is not a number")
    return value


def _choice(value: Any, allowed: tuple[Any, ...]) -> Any:
    if value not in allowed:
        raise _Bad(f"{str(value)[:40]!r} is none of {', '.join(map(str, allowed))}")
    return value


def _path(data: Mapping[str, Any]) -> str | None:
    """A canonical path: relative, without a way up, so that it can never name a file outside a tree."""
    path = _optional_text(data, "path")
    if path is not None and (path.startswith(("/", "~")) or re.search(r"(^|/)\.\.(/|$)", path) or "\0" in path):
        raise _Bad(f"the path {path[:60]!r} leads out of a tree")
    return path
