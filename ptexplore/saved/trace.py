"""A Trace as JSON: written, and read back as untrusted data. Every value is checked, and nothing in it is executed."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from operator import attrgetter
from typing import Any

from msgspec import structs

from ptexplore.lazy import uncollected
from ptexplore.model.hop_keys import hop_keys
from ptexplore.model.places import SourceRef, TreeInfo
from ptexplore.model.program import Program
from ptexplore.model.reasons import Reason
from ptexplore.model.trace import (
    TRACE_FORMAT,
    Ending,
    Hop,
    HopFacts,
    HopRow,
    SavedTrace,
    Session,
    Trace,
    TraceFacts,
)
from ptexplore.saved.changed import (
    bare_ending,
    captured_with,
    paths_with,
    place_changes,
    program_with,
    result_with,
    session_with,
    with_fields,
    with_places,
)
from ptexplore.saved.document import MAX_DEPTH, NESTS, format_of, from_document, from_json, refused, to_json, unpacked
from ptexplore.saved.older_formats import in_todays_format
from ptexplore.saved.program import flaw_of, portable_program
from ptexplore.saved.session import checked, portable
from ptexplore.source.permalink import permalink

# a trace of this size shows its first screen after 20 seconds with 1.5 GB; no capture records so many
MAX_HOPS = 300_000
DEEPEST = 20_000  # nested hops
_COMMIT = re.compile(r"[0-9a-f]{40}")
_OUTSIDE = re.compile(r"[/~]|(?:.*/)?\.\.(?:/|$)|.*\0", re.DOTALL)


TRACE_FACTS = tuple(known.name for known in fields(TraceFacts))
_POSITIONS = {known.name: number for number, known in enumerate(fields(HopFacts))}
_facts = attrgetter(*_POSITIONS)


@dataclass(frozen=True, slots=True)
class Wording:
    """Functions that add sentences to records for readers of JSON.

    Sentences are written beside codes, and not read back.
    """

    reason: Callable[[Reason], Reason]
    place: Callable[[SourceRef], SourceRef]
    ending: Callable[[Ending], Ending]


def trace_to_json(trace: Trace, wording: Wording, session: Session | None = None) -> str:
    """Returns the Trace as JSON text in ASCII, without the folders of its machine.

    With the session in it, the Trace can be explained, and resolved again.
    """
    facts = {name: getattr(trace, name) for name in TRACE_FACTS} | {"torch": replace(trace.torch, torch_dir="")}
    facts["findings"] = tuple(replace(finding, text=wording.reason(finding.told).text) for finding in trace.findings)
    ending = wording.ending(trace.ending) if trace.ending is not None else None
    facts["ending"] = with_places(ending, wording.place) if ending is not None else None
    facts["captured"] = captured_with(trace.captured, wording.reason)
    facts["result"] = result_with(trace.result, wording.reason)
    if trace.program is not None:
        program = portable_program(trace.program, os.path.dirname(trace.torch.torch_dir.rstrip("/")))
        facts["program"] = paths_with(program_with(program, wording.reason), wording.place)
    hops = tuple(_rows(trace.hops, hop_keys(trace.hops), wording))
    kept = session_with(portable(session), wording.reason) if session is not None else None
    return to_json(SavedTrace(**facts, hops=hops, session=kept))


def _rows(hops: Iterable[Hop], keys: Mapping[int, str], wording: Wording) -> Iterator[HopRow]:
    """Yields the rows of a tree of hops, callers first. `keys` are the stable keys of the whole trace, by id."""
    pending: list[tuple[Hop, int | None]] = [(hop, None) for hop in reversed(tuple(hops))]
    while pending:
        hop, parent = pending.pop()
        yield row_of(hop, parent, keys[hop.id], wording)
        pending += [(child, hop.id) for child in hop.children[::-1]]


def row_of(hop: Hop, parent: int | None, key: str, wording: Wording) -> HopRow:
    """Returns one hop as it is saved, with its sentences. `key` is its stable key."""
    row = HopRow(*(*_facts(hop), parent, key))
    changes = place_changes(row, wording.place) | _reason_changes(row, wording.reason)
    return with_fields(row, changes) if changes else row


def _reason_changes(row: HopRow, change: Callable[[Reason], Reason]) -> dict[str, Any]:
    """Returns the fields of a row that hold reasons, with each reason changed."""
    changes: dict[str, Any] = {"why": tuple(map(change, row.why))} if row.why else {}
    dispatch = row.dispatch
    if dispatch is not None:
        held = {"tls_why": dispatch.tls_why, "redispatch": dispatch.redispatch, "unread_why": dispatch.unread_why}
        made = {name: change(why) for name, why in held.items() if why is not None}
        if made:
            changes["dispatch"] = with_fields(dispatch, made)
    return changes


def trace_from_json(data: bytes, name: str) -> tuple[Trace, Session | None]:
    """Returns the Trace in a file, packed or not, and its session, if it has one. `name` is the file's, for messages.

    Raises PtexploreError: exit code USAGE for anything truncated or hostile, MISSING if a newer ptexplore wrote it.
    """
    with uncollected():
        try:
            return _read(unpacked(data, name), name)
        except RecursionError as error:
            raise refused(name, NESTS) from error


def _read(text: bytes, name: str) -> tuple[Trace, Session | None]:
    written = format_of(text, name)
    if written == TRACE_FORMAT:
        saved = from_json(text, SavedTrace, name)
    else:
        document = from_json(text, dict[str, Any], name)
        saved = from_document(in_todays_format(document, written, name), SavedTrace, name)
    if len(saved.hops) > MAX_HOPS:
        raise refused(name, f"it has {len(saved.hops):,} hops, but the limit is {MAX_HOPS:,}")
    facts = {fact: getattr(saved, fact) for fact in TRACE_FACTS}
    bare = partial(_code_alone, name)
    facts["findings"] = tuple(replace(f, told=bare(f.told), text="") for f in saved.findings)
    facts["captured"], facts["result"] = captured_with(saved.captured, bare), result_with(saved.result, bare)
    links = _Links(saved.trees, name)
    ending = bare_ending(with_places(saved.ending, links.trusted), bare) if saved.ending is not None else None
    trace = Trace(**facts | {"ending": ending}, hops=_tree(saved.hops, links, name))
    if trace.program is not None:
        trace = replace(trace, program=program_with(_checked_program(trace.program, links, name), bare))
    if saved.session is None:
        return trace, None
    return trace, checked(replace(saved.session, program=trace.program), bare, name)


class _Links:
    """Makes places of a saved trace trustworthy: links are computed from tree, path and line, sentences from codes."""

    def __init__(self, trees: Iterable[TreeInfo], name: str) -> None:
        self._name = name
        self._known: dict[SourceRef, SourceRef] = {}  # a cache: many hops share a place
        self._commits = {tree.name: tree.commit for tree in trees if tree.commit and _COMMIT.fullmatch(tree.commit)}

    def trusted(self, ref: SourceRef) -> SourceRef:
        """Returns the place with a computed link, and without the sentence of its reason."""
        if ref not in self._known:
            _check_reference(ref, self._name)
            reason = _code_alone(self._name, ref.reason) if isinstance(ref.reason, Reason) else None
            made = replace(ref, url=self.url(ref), reason=reason)
            self._known[ref] = made if made != ref else ref
        return self._known[ref]

    def url(self, ref: SourceRef) -> str | None:
        """Returns the link of a place. None if the file has no link for it, or does not say which text it is."""
        commit = self._commits.get(ref.tree)
        if ref.url is None or commit is None or ref.path is None or ref.layer == "generated":
            return None
        return permalink(commit, ref.path, ref.line)


def _checked_program(program: Program, links: _Links, name: str) -> Program:
    """Returns the program, if every number in it refers to something before it, and no path leads out of a tree.

    Raises PtexploreError otherwise.
    """
    flaw = flaw_of(program)
    if flaw is not None:
        raise refused(name, flaw)
    return paths_with(program, links.trusted)


def _tree(rows: tuple[HopRow, ...], links: _Links, name: str) -> tuple[Hop, ...]:
    """Nests the hops of a flat table. Raises PtexploreError for a row before its caller's row."""
    depths: dict[int | None, int] = {None: 0}
    for row in rows:
        if row.id in depths or row.parent not in depths:
            raise refused(name, f"hop {str(row.id)[:20]} appears twice, or before the hop that contains it")
        depths[row.id] = depths[row.parent] + 1
        if depths[row.id] > DEEPEST:
            raise refused(name, "it nests too deep")
    inside: dict[int | None, list[Hop]] = {}
    bare = partial(_code_alone, name)
    for row in reversed(rows):
        facts = list(_facts(row))
        for field, value in (place_changes(row, links.trusted) | _reason_changes(row, bare)).items():
            facts[_POSITIONS[field]] = value
        inside.setdefault(row.parent, []).append(Hop(*(*facts, tuple(inside.pop(row.id, ())[::-1]))))
    return tuple(inside.get(None, ())[::-1])


def _code_alone(name: str, reason: Reason, depth: int = 0) -> Reason:
    """Returns the reason without its sentence, also in the reasons inside: sentences are computed anew.

    Raises PtexploreError if reasons nest too deep.
    """
    if depth > MAX_DEPTH:
        raise refused(name, "its reasons nest too deep")
    changes: dict[str, object] = {"text": ""} if reason.text else {}
    for known in reason.__struct_fields__:
        held = getattr(reason, known)
        if isinstance(held, Reason):
            changes[known] = _code_alone(name, held, depth + 1)
        elif isinstance(held, tuple) and held and isinstance(held[0], Reason):
            changes[known] = tuple(_code_alone(name, inner, depth + 1) for inner in held)
    return structs.replace(reason, **changes) if changes else reason


def _check_reference(ref: SourceRef, name: str) -> None:
    """Raises PtexploreError for a path that leads out of a tree, and for candidates that nest too deep."""
    inner = [ref]
    for _ in range(MAX_DEPTH):
        inner = [candidate for known in inner for candidate in known.candidates]
    if inner:
        raise refused(name, "its references nest too deep")
    # A file of the user's own is in no tree and has its name from Python: its text is not read.
    of_yours = ref.layer is None and ref.precision == "located" and "\0" not in (ref.path or "")
    if ref.path is not None and _OUTSIDE.match(ref.path) and not of_yours:
        raise refused(name, f"the path {ref.path[:60]!r} leads out of a tree")
