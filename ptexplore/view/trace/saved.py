"""A Trail as JSON: saved, and read back as data that nobody vouches for. Every value is checked, nothing in it runs."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache, partial
from operator import attrgetter
from typing import Any, TypeVar, cast, get_args, get_type_hints

from msgspec import structs

from ptexplore.capture.program import flaw_of, portable_program
from ptexplore.capture.session import (
    MAX_DEPTH,
    checked,
    format_of,
    from_document,
    from_json,
    portable,
    refused,
    to_json,
    unpacked,
)
from ptexplore.lazy import uncollected
from ptexplore.model.places import SourceRef, TreeInfo
from ptexplore.model.program import CallPath, Program
from ptexplore.model.reasons import Reason
from ptexplore.model.trace import TRAIL_FORMAT, Ending, Hop, HopFacts, HopRow, SavedTrail, Session, Trail, TrailFacts
from ptexplore.source.permalink import permalink
from ptexplore.view.words.reasons import worded, worded_ending, worded_finding

MAX_HOPS = 300_000  # of which the first screen is there in 20 seconds and 1.5 GB; no capture records so many
DEEPEST = 20_000  # hops within one another
_REASONS_OF_DISPATCH = ("tls_why", "redispatch", "unread_why")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_OUTSIDE = re.compile(r"[/~]|(?:.*/)?\.\.(?:/|$)|.*\0", re.DOTALL)


Checked = TypeVar("Checked", HopRow, Ending)
TRAIL_FACTS = tuple(known.name for known in fields(TrailFacts))
_facts = attrgetter(*(known.name for known in fields(HopFacts)))


def trail_to_json(trail: Trail, session: Session | None = None) -> str:
    """The Trail as JSON text, in ASCII, without the folders of the machine it was made on.

    The session inside it is what lets it be explained and resolved again.
    """
    facts = {name: getattr(trail, name) for name in TRAIL_FACTS} | {"torch": replace(trail.torch, torch_dir="")}
    facts["findings"] = tuple(map(worded_finding, trail.findings))
    facts["ending"] = worded_ending(trail.ending) if trail.ending is not None else None
    if trail.program is not None:
        facts["program"] = portable_program(trail.program, os.path.dirname(trail.torch.torch_dir.rstrip("/")))
    hops = tuple(rows(trail.hops))
    return to_json(SavedTrail(**facts, hops=hops, session=portable(session) if session is not None else None))


def rows(hops: Iterable[Hop]) -> Iterator[HopRow]:
    """The rows of a tree of hops, callers first."""
    pending: list[tuple[Hop, int | None]] = [(hop, None) for hop in reversed(tuple(hops))]
    while pending:
        hop, parent = pending.pop()
        yield _with_words(HopRow(*(*_facts(hop), parent)))
        pending += [(child, hop.id) for child in hop.children[::-1]]


def _with_words(row: HopRow) -> HopRow:
    """The row with the sentence of each reason beside its code, for whoever reads JSON."""
    return _changed(row, worded) if row.why or row.dispatch is not None else row


def _changed(row: HopRow, change: Callable[[Reason], Reason]) -> HopRow:
    """The row with each of its reasons changed."""
    dispatch = row.dispatch
    if dispatch is not None:
        tls, onward, unread = (
            change(why) if why is not None else None
            for why in (dispatch.tls_why, dispatch.redispatch, dispatch.unread_why)
        )
        dispatch = replace(dispatch, tls_why=tls, redispatch=onward, unread_why=unread)
    return replace(row, why=tuple(map(change, row.why)), dispatch=dispatch)


def trail_from_json(data: bytes, name: str) -> tuple[Trail, Session | None]:
    """The Trail that a file holds, packed or not, and its session, if it has one; `name` is the file's, for messages.

    Raises PtexploreError: exit code USAGE for anything truncated or hostile, MISSING where a newer ptexplore wrote it.
    """
    with uncollected():
        return _read(unpacked(data, name), name)


def _read(text: bytes, name: str) -> tuple[Trail, Session | None]:
    written = format_of(text, name)
    if written == TRAIL_FORMAT:
        saved = from_json(text, SavedTrail, name)
    else:
        document = from_json(text, dict[str, Any], name)
        document = _upgraded(document, name) if written == 1 else document
        saved = from_document(_with_codes(document, name), SavedTrail, name)
    if len(saved.hops) > MAX_HOPS:
        raise refused(name, f"it has {len(saved.hops):,} hops, and at most {MAX_HOPS:,} are read")
    facts = {fact: getattr(saved, fact) for fact in TRAIL_FACTS}
    facts["findings"] = tuple(replace(f, told=_code_alone(name, f.told), text="") for f in saved.findings)
    links = _Links(saved.trees)
    ending = _checked(saved.ending, links, name) if saved.ending is not None else None
    if ending is not None:
        ending = replace(ending, why=tuple(_code_alone(name, reason) for reason in ending.why))
        if ending.cause is not None and ending.cause.code:
            ending = replace(ending, cause=replace(ending.cause, why="", remedy="", cases=()))
    trail = Trail(**facts | {"ending": ending}, hops=_tree(saved.hops, links, name))
    if trail.program is not None:
        trail = replace(trail, program=_checked_program(trail.program, links, name))
    session = replace(saved.session, program=trail.program) if saved.session is not None else None
    return trail, checked(session, name) if session is not None else None


class _Links:
    """The permalinks of a saved trace's places, made anew of tree, path and line: none is taken from a file."""

    def __init__(self, trees: Iterable[TreeInfo]) -> None:
        self._commits = {tree.name: tree.commit for tree in trees if tree.commit and _COMMIT.fullmatch(tree.commit)}

    def url(self, ref: SourceRef) -> str | None:
        """Where the place can be read; None where the file has no link for it, or does not say which text that is."""
        commit = self._commits.get(ref.tree)
        if ref.url is None or commit is None or ref.path is None or ref.layer == "generated":
            return None
        return permalink(commit, ref.path, ref.line)


def _checked_program(program: Program, links: _Links, name: str) -> Program:
    """The program, if every number in it leads to something before it, without what leads out of a tree.

    Raises PtexploreError where one does not.
    """
    flaw = flaw_of(program)
    if flaw is not None:
        raise refused(name, flaw)
    for path in program.paths:
        if path.source is not None:
            _check_reference(path.source, 0, name)
    return structs.replace(program, paths=tuple(_relinked_path(path, links) for path in program.paths))


def _relinked_path(path: CallPath, links: _Links) -> CallPath:
    return structs.replace(path, source=_relinked(path.source, links)) if path.source is not None else path


def _tree(rows: tuple[HopRow, ...], links: _Links, name: str) -> tuple[Hop, ...]:
    """The hops of a flat table, nested. Raises PtexploreError for a row that is not behind the one it is inside of."""
    depths: dict[int | None, int] = {None: 0}
    for row in rows:
        if row.id in depths or row.parent not in depths:
            raise refused(name, f"hop {str(row.id)[:20]} is there twice, or comes before the hop it is inside of")
        depths[row.id] = depths[row.parent] + 1
        if depths[row.id] > DEEPEST:
            raise refused(name, "it nests deeper than any real trace")
    inside: dict[int | None, list[Hop]] = {}
    for row in reversed(rows):
        hop = _checked(row, links, name)
        hop = _changed(hop, partial(_code_alone, name)) if hop.why or hop.dispatch is not None else hop
        inside.setdefault(row.parent, []).append(Hop(*(*_facts(hop), tuple(inside.pop(row.id, ())[::-1]))))
    return tuple(inside.get(None, ())[::-1])


def _code_alone(name: str, reason: Reason, depth: int = 0) -> Reason:
    """The reason without its sentence, and all that it follows from without theirs: sentences are made anew.

    Raises PtexploreError where reasons nest too deep.
    """
    if depth > MAX_DEPTH:
        raise refused(name, "its reasons nest deeper than any real trace")
    changes: dict[str, object] = {"text": ""}
    for known in reason.__struct_fields__:
        held = getattr(reason, known)
        if isinstance(held, Reason):
            changes[known] = _code_alone(name, held, depth + 1)
        elif isinstance(held, tuple) and held and isinstance(held[0], Reason):
            changes[known] = tuple(_code_alone(name, inner, depth + 1) for inner in held)
    return structs.replace(reason, **changes)


def _checked(row: Checked, links: _Links, name: str) -> Checked:
    """The record with links made anew. Raises PtexploreError for a path that leads out of a tree."""
    spoilt = False
    for ref, depth in _references(row, 0):
        _check_reference(ref, depth, name)
        spoilt = spoilt or (ref.url is not None and ref.url != links.url(ref))
    return cast("Checked", _relinked(row, links)) if spoilt else row


def _check_reference(ref: SourceRef, depth: int, name: str) -> None:
    if depth > MAX_DEPTH:
        raise refused(name, "its references nest deeper than any real trace")
    # A file of the user's own is in no tree, and is named as Python has it: no text of it is read.
    of_yours = ref.layer is None and ref.precision == "located" and "\0" not in (ref.path or "")
    if ref.path is not None and _OUTSIDE.match(ref.path) and not of_yours:
        raise refused(name, f"the path {ref.path[:60]!r} leads out of a tree")


def _references(record: Any, depth: int) -> Iterator[tuple[SourceRef, int]]:
    """Every reference in a record, and how deep it is inside; no further than the limit."""
    if isinstance(record, SourceRef):
        yield record, depth
    for part in _parts(record.__class__) if depth <= MAX_DEPTH else ():
        held = getattr(record, part)
        if held is not None:
            for inner in held if isinstance(held, tuple) else (held,):
                yield from _references(inner, depth + 1)


def _relinked(record: Any, links: _Links) -> Any:
    changes: dict[str, Any] = {"url": links.url(record)} if isinstance(record, SourceRef) else {}
    for part in _parts(record.__class__):
        held = getattr(record, part)
        if held is not None:
            changes[part] = (
                tuple(_relinked(inner, links) for inner in held) if isinstance(held, tuple) else _relinked(held, links)
            )
    return replace(record, **changes)


@cache
def _parts(kind: Hashable) -> tuple[str, ...]:
    """The fields of a record that hold records, so that a reference in a new field is checked too."""
    return tuple(name for name, hint in get_type_hints(kind).items() if _holds_record(hint))


def _holds_record(hint: Any) -> bool:
    return is_dataclass(hint) or any(map(_holds_record, get_args(hint)))


# How format 2 said what later stages ask for.
_ON_STACK_IN_FORMAT_2 = "C++'s stack held it when the error was thrown"
_NOT_KNOWN_IN_FORMAT_2 = re.compile(
    r"which key this call goes to(?: after (?P<after>\w+))? is not known: (?P<why>.*)", re.S
)
_TREE_ENDS_IN_FORMAT_2 = re.compile(r"the native tree(?: of (?P<op>\S+))? ends early: (?P<why>.*)", re.DOTALL)
_STEPPED_IN_FORMAT_2 = re.compile(
    r"(?P<kinds>[\d,]+) of (?P<all_kinds>[\d,]+) kinds of operator calls and nodes were stepped, (?P<rest>.*)",
    re.DOTALL,
)
_NO_DISPATCH: Mapping[str, Any] = {"set": "", "raw": "", "entry": "", "skipped": []}
_FORMAT_1_PLACES = ("yaml", "table_row", "assigned", "op_entry", "called_at")
_FORMAT_1_NAMES = {"self": "own", "of": "third_party"}
# The record of each group of keys; the first key is always there where the record is, but for a kernel's.
_FORMAT_1_RECORDS = {
    "operator": ("schema", "yaml", "entry"),
    "binding": ("python", "table_row", "assigned"),
    "python": ("called_from_line",),
    "stub": ("device", "called_at", "through"),
    "native": ("symbol", "mangled", "library", "own", "tail", "third_party"),
}
_FORMAT_1_OPTIONAL_RECORDS = {
    "kernel": ("registered_op_line", "registers", "op_entry"),
    "stub_kernel": ("cpu_capability", "loops"),
    "node": ("recorded", "derivatives"),
}


def _upgraded(document: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A Trail of format 1 as one of format 2. Raises PtexploreError (USAGE) where its hops are no tree."""
    try:
        bound = [{"name": key, "description": text} for key, text in document["bound"].items()]
        return {**document, "format": TRAIL_FORMAT, "bound": bound, "hops": _rows_of_format_1(document["hops"])}
    except (KeyError, TypeError, AttributeError) as error:
        raise refused(name, f"a value is missing or of the wrong kind: {str(error)[:100]}") from error


def _rows_of_format_1(hops: list[dict[str, Any]]) -> list[dict[str, Any]]:
    rows = []
    pending = [(hop, None) for hop in reversed(hops)]
    while pending:
        hop, parent = pending.pop()
        rows.append(_row_of_format_1(hop) | {"parent": parent})
        pending += [(child, hop["id"]) for child in reversed(hop.get("children", []))]
    return rows


def _row_of_format_1(hop: Mapping[str, Any]) -> dict[str, Any]:
    row = {key: value for key, value in hop.items() if key not in ("children", "detail")}
    if hop.get("dispatch") is not None:
        row["dispatch"] = {**_NO_DISPATCH, **hop["dispatch"]}
    if hop.get("derivative") is not None:
        row["derivative"] = {**hop["derivative"], "source": _place(hop["derivative"])}
    detail = {_FORMAT_1_NAMES.get(key, key): value for key, value in hop.get("detail", {}).items()}
    detail |= {key: _place(detail[key]) for key in _FORMAT_1_PLACES if detail.get(key) is not None}
    detail |= {"loops": [{"call": loop["call"], "source": _place(loop)} for loop in detail.get("loops", [])]}
    detail |= {"derivatives": [_place(place) for place in detail.get("derivatives", [])]}
    for record, keys in _FORMAT_1_RECORDS.items():
        row[record] = {key: detail[key] for key in keys if key in detail} if keys[0] in detail else None
    for record, keys in _FORMAT_1_OPTIONAL_RECORDS.items():
        row[record] = {key: detail[key] for key in keys if detail.get(key)} or None
    return row


def _with_codes(document: dict[str, Any], name: str) -> dict[str, Any]:
    """A Trail of format 2, whose reasons are sentences, as one of format 3."""
    try:
        session, ending = document.get("session"), document.get("ending")
        return {
            **document,
            "format": TRAIL_FORMAT,
            "hops": [_row_of_format_2(hop) for hop in document["hops"]],
            "findings": [{**finding, "told": _told_of(finding["text"])} for finding in document["findings"]],
            "ending": {**ending, "why": list(map(_reason_of, ending.get("why", ())))} if ending is not None else None,
            "session": {**session, "format": TRAIL_FORMAT} if session is not None else None,
        }
    except (KeyError, TypeError, AttributeError) as error:
        raise refused(name, f"a value is missing or of the wrong kind: {str(error)[:100]}") from error


def _row_of_format_2(hop: Mapping[str, Any]) -> dict[str, Any]:
    row = {**hop, "why": list(map(_reason_of, hop.get("why", ())))}
    if hop.get("dispatch") is not None:
        whys = {key: _reason_of(hop["dispatch"][key]) for key in _REASONS_OF_DISPATCH if hop["dispatch"].get(key)}
        row["dispatch"] = {**hop["dispatch"], **dict.fromkeys(_REASONS_OF_DISPATCH), **whys}
    return row


def _told_of(text: str) -> dict[str, Any]:
    """What a finding of format 2 tells, as a reason of format 3."""
    ends, stepped = _TREE_ENDS_IN_FORMAT_2.fullmatch(text), _STEPPED_IN_FORMAT_2.fullmatch(text)
    if ends is not None:
        return {"code": "tree-ends", "why": ends["why"], "op": ends["op"] or ""}
    if stepped is not None:
        counts = {name: int(stepped[name].replace(",", "")) for name in ("kinds", "all_kinds")}
        return {"code": "kinds-stepped", **counts, "of_each": {"code": "said", "sentence": stepped["rest"]}}
    return {"code": "said", "sentence": text}


def _reason_of(text: str) -> dict[str, Any]:
    """A sentence of format 2 as a reason of format 3: those that later stages ask for have their codes."""
    if text == _ON_STACK_IN_FORMAT_2:
        return {"code": "on-stack"}
    not_known = _NOT_KNOWN_IN_FORMAT_2.fullmatch(text)
    if not_known is None:
        return {"code": "said", "sentence": text}
    because = {"code": "said", "sentence": not_known["why"]}
    return {"code": "key-not-known", "because": because, "after": not_known["after"] or ""}


def _place(place: Mapping[str, Any]) -> dict[str, Any]:
    return {"layer": None, "precision": "unknown", **place}
