"""A Trail as JSON: saved, and read back as data that nobody vouches for. Every value is checked, nothing in it runs."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from functools import partial
from operator import attrgetter
from typing import Any, TypeVar

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
from ptexplore.model.hop_keys import hop_keys
from ptexplore.model.observed import reasons_of
from ptexplore.model.places import SourceRef, TreeInfo
from ptexplore.model.program import Program
from ptexplore.model.reasons import Reason
from ptexplore.model.trace import (
    TRAIL_FORMAT,
    Ending,
    Hop,
    HopFacts,
    HopRow,
    SavedTrail,
    Session,
    Trail,
    TrailFacts,
)
from ptexplore.source.permalink import permalink
from ptexplore.view.words.places import worded_place
from ptexplore.view.words.reasons import worded, worded_ending, worded_finding
from ptexplore.view.words.records import (
    bare_ending,
    captured_with,
    parts_of,
    paths_with,
    program_with,
    result_with,
    session_with,
    with_places,
)

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
    facts["ending"] = with_places(worded_ending(trail.ending), worded_place) if trail.ending is not None else None
    facts["captured"] = captured_with(trail.captured, worded)
    facts["result"] = result_with(trail.result, worded)
    if trail.program is not None:
        program = portable_program(trail.program, os.path.dirname(trail.torch.torch_dir.rstrip("/")))
        facts["program"] = paths_with(program_with(program, worded), worded_place)
    hops = tuple(rows(trail.hops, hop_keys(trail.hops)))
    kept = session_with(portable(session), worded) if session is not None else None
    return to_json(SavedTrail(**facts, hops=hops, session=kept))


def rows(hops: Iterable[Hop], keys: Mapping[int, str]) -> Iterator[HopRow]:
    """The rows of a tree of hops, callers first; `keys` are the stable keys of all of the trace, by id."""
    pending: list[tuple[Hop, int | None]] = [(hop, None) for hop in reversed(tuple(hops))]
    while pending:
        hop, parent = pending.pop()
        yield _with_words(HopRow(*(*_facts(hop), parent, keys[hop.id])))
        pending += [(child, hop.id) for child in hop.children[::-1]]


def _with_words(row: HopRow) -> HopRow:
    """The row with the sentence of each reason beside its code, for whoever reads JSON."""
    row = _changed(row, worded) if row.why or row.dispatch is not None else row
    return with_places(row, worded_place)


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
        document = _with_codes(document, name) if written < 3 else document
        document = _with_told(document, name) if written < 4 else document
        saved = from_document(_with_place_codes(document, name), SavedTrail, name)
    if len(saved.hops) > MAX_HOPS:
        raise refused(name, f"it has {len(saved.hops):,} hops, and at most {MAX_HOPS:,} are read")
    facts = {fact: getattr(saved, fact) for fact in TRAIL_FACTS}
    bare = partial(_code_alone, name)
    facts["findings"] = tuple(replace(f, told=bare(f.told), text="") for f in saved.findings)
    facts["captured"], facts["result"] = captured_with(saved.captured, bare), result_with(saved.result, bare)
    links = _Links(saved.trees, name)
    ending = _checked(saved.ending, links, name) if saved.ending is not None else None
    if ending is not None:
        ending = bare_ending(ending, bare)
    trail = Trail(**facts | {"ending": ending}, hops=_tree(saved.hops, links, name))
    if trail.program is not None:
        trail = replace(trail, program=program_with(_checked_program(trail.program, links, name), bare))
    if saved.session is None:
        return trail, None
    session = checked(replace(saved.session, program=trail.program), name)
    return trail, session_with(session, bare)


class _Links:
    """A saved trace's places as they are trusted: links are made anew of tree, path and line, sentences of codes."""

    def __init__(self, trees: Iterable[TreeInfo], name: str) -> None:
        self._name = name
        self._known: dict[SourceRef, SourceRef] = {}  # most places are those of many hops
        self._commits = {tree.name: tree.commit for tree in trees if tree.commit and _COMMIT.fullmatch(tree.commit)}

    def trusted(self, ref: SourceRef) -> SourceRef:
        """The place with its link made anew, and without the sentence of its reason."""
        if ref not in self._known:
            reason = _code_alone(self._name, ref.reason) if isinstance(ref.reason, Reason) else None
            made = replace(ref, url=self.url(ref), reason=reason)
            self._known[ref] = made if made != ref else ref
        return self._known[ref]

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
    return paths_with(program, links.trusted)


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
    """The record with its places as they are trusted. Raises PtexploreError for a path that leads out of a tree."""
    for ref, depth in _references(row, 0):
        _check_reference(ref, depth, name)
    return with_places(row, links.trusted)


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
    for part in parts_of(record.__class__) if depth <= MAX_DEPTH else ():
        held = getattr(record, part)
        if held:
            for inner in held if isinstance(held, tuple) else (held,):
                yield from _references(inner, depth + 1)


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


_WRONG = (KeyError, TypeError, AttributeError, ValueError, RecursionError)  # what a wrong value of an old format gives
_LONGEST_COMMAND = 10_000  # characters: an older ptexplore wrote no longer one, and it is taken apart by characters


def _upgraded(document: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A Trail of format 1 as one of format 2. Raises PtexploreError (USAGE) where its hops are no tree."""
    try:
        bound = [{"name": key, "description": text} for key, text in document["bound"].items()]
        return {**document, "format": TRAIL_FORMAT, "bound": bound, "hops": _rows_of_format_1(document["hops"])}
    except _WRONG as error:
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
        ending = document.get("ending")
        return {
            **document,
            "hops": [_row_of_format_2(hop) for hop in document["hops"]],
            "findings": [{**finding, "told": _told_of(finding["text"])} for finding in document["findings"]],
            "ending": {**ending, "why": list(map(_reason_of, ending.get("why", ())))} if ending is not None else None,
        }
    except _WRONG as error:
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


# The codes that later stages ask for, by the sentences of format 3, and where format 3 had sentences as arguments.
_ASKED_FOR = {"the budget was spent": {"code": "budget-spent"}}
_HAD_SENTENCES = ("kinds-left", "tree-ends", "frames-unordered")
_HOW = {"--var": "variable", "--setup": "setup"}  # how format 3 said how a name was bound
# How format 3 said what backward began at, behind the tensor in words.
_BEGAN = {
    ", its real part, summed": "began-at-real-sum",
    ", summed": "began-at-sum",
    ", its real part": "began-at-real",
    "": "began-at",
}


def _with_told(document: dict[str, Any], name: str) -> dict[str, Any]:
    """A Trail of format 3, whose recorders speak in sentences, as one of format 4."""
    try:
        session, program = document.get("session"), document.get("program")
        findings = [{**finding, "told": _without_sentences(finding["told"])} for finding in document["findings"]]
        return {
            **document,
            **_facts_of_format_3(document),
            "format": TRAIL_FORMAT,
            "findings": findings,
            "hops": [_hop_of_format_3(hop) for hop in document["hops"]],
            "ending": _with_files(document.get("ending")),
            "program": _program_of_format_3(program) if program is not None else None,
            "session": _session_of_format_3(session) if session is not None else None,
        }
    except _WRONG as error:
        raise refused(name, f"a value is missing or of the wrong kind: {str(error)[:100]}") from error


# How format 3 said of a place that it is outside of torch, and of a step that it is no call of a function.
_OUTSIDE_TORCH, _MARKED = "outside torch: ", "a range marked for the profiler"


def _hop_of_format_3(hop: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = _with_files(hop)
    is_range = str((hop.get("source") or {}).get("reason") or "").startswith(_MARKED)
    if is_range and hop.get("native") is None and hop.get("kind") in ("python", "native"):
        made["why"] = [*made.get("why", ()), {"code": "marks-range"}]
    return made


def _with_files(held: Any) -> Any:
    """What format 3 held, its places outside of torch with the file that the reason named."""

    def named(reason: str) -> dict[str, str]:
        return {"outside": reason.removeprefix(_OUTSIDE_TORCH)} if reason.startswith(_OUTSIDE_TORCH) else {}

    return _with_places(held, named)


def _with_places(held: Any, change: Callable[[str], Mapping[str, Any]], depth: int = 0) -> Any:
    """What an older format held; of each place whose reason is a sentence with what `change` makes of that."""
    if depth > MAX_DEPTH:
        return held
    if isinstance(held, list):
        return [_with_places(part, change, depth + 1) for part in held]
    if not isinstance(held, dict):
        return held
    made = {name: _with_places(part, change, depth + 1) for name, part in held.items()}
    reason = held.get("reason")
    return {**made, **change(reason)} if "precision" in held and isinstance(reason, str) else made


def _with_place_codes(document: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A Trail of format 4, whose places have sentences as their reasons, as one of format 5.

    Views ask a reason for a file outside of torch alone.
    """

    def coded(reason: str) -> dict[str, Any]:
        is_outside = reason.startswith(_OUTSIDE_TORCH)
        outside = {"code": "outside-torch", "file": reason.removeprefix(_OUTSIDE_TORCH)}
        return {"reason": outside if is_outside else {"code": "said", "sentence": reason}}

    try:
        held = {part: _with_places(document[part], coded) for part in ("hops", "ending", "program") if part in document}
    except _WRONG as error:
        raise refused(name, f"a value is missing or of the wrong kind: {str(error)[:100]}") from error
    return {**document, **held, "format": TRAIL_FORMAT}


def _as_reason(text: str | None) -> dict[str, Any] | None:
    return _ASKED_FOR.get(text) or {"code": "said", "sentence": text} if text is not None else None


def _without_sentences(told: Mapping[str, Any]) -> dict[str, Any]:
    """What a finding of format 3 tells, with reasons in place of the sentences that are its arguments."""
    made = dict(told)
    if made.get("code") in _HAD_SENTENCES:
        made["because"] = _as_reason(made.pop("why"))
    if made.get("left"):
        made["left"] = list(map(_without_sentences, made["left"]))
    if made.get("command"):
        command = made.pop("command")
        if len(command) > _LONGEST_COMMAND:
            raise ValueError(f"a command has more than {_LONGEST_COMMAND:,} characters")
        words = shlex.split(command)
        script, op = (words[words.index(option) + 1] for option in ("--script", "--native-op"))
        made["then"] = {"verb": "step-operator", "script": script, "op": op}
    return made


def _facts_of_format_3(record: Mapping[str, Any]) -> dict[str, Any]:
    """What a Trail, or a session, of format 3 says of its names, its passes and its result."""
    captured, result = record["captured"], record["result"]
    first, began = captured.get("first"), result.get("backward")
    return {
        "captured": {
            **captured,
            "reason": _as_reason(captured.get("reason")),
            "first": {**first, "why": _as_reason(first["why"])} if first is not None else None,
        },
        "result": {**result, "backward": _backward_of_format_3(began) if began is not None else None},
        "bound": [{**bound, "how": _HOW.get(bound.get("how", ""), bound.get("how", ""))} for bound in record["bound"]],
    }


def _backward_of_format_3(text: str) -> dict[str, Any]:
    """What backward ran from: `from Tensor[3] float32 cpu, summed and Tensor[2] float32 cpu and more`."""
    tensors = text.removeprefix("from ").removesuffix(" and more").split(" and ")
    starts = []
    for tensor in tensors:
        end = next(end for end in _BEGAN if tensor.endswith(end))
        starts.append({"code": _BEGAN[end], "tensor": tensor.removesuffix(end)})
    return {"code": "backward-from", "starts": starts, "more": int(text.endswith(" and more"))}


def _program_of_format_3(program: Mapping[str, Any]) -> dict[str, Any]:
    stepping = program.get("stepping")
    routes = [{**route, "unstepped": _as_reason(route.get("unstepped"))} for route in program["routes"]]
    return {
        **program,
        "routes": routes,
        "cuts": list(map(_as_reason, program.get("cuts", ()))),
        "stepping": {**stepping, "reason": _as_reason(stepping.get("reason"))} if stepping is not None else None,
    }


def _session_of_format_3(session: Mapping[str, Any]) -> dict[str, Any]:
    observations = [{**seen, "data": _data_of_format_3(seen)} for seen in session["observations"]]
    return {**session, **_facts_of_format_3(session), "format": TRAIL_FORMAT, "observations": observations}


def _data_of_format_3(seen: Mapping[str, Any]) -> dict[str, Any]:
    keys, data = reasons_of(seen["kind"]), seen["data"]
    reasons = {key: _as_reason(data.get("text" if key == "told" else key)) for key in keys}
    return {**data, **{key: reason for key, reason in reasons.items() if reason is not None}} if keys else data


def _place(place: Mapping[str, Any]) -> dict[str, Any]:
    return {"layer": None, "precision": "unknown", **place}
