"""Converts a Trace of an older format to the present one, one format at a time."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from ptexplore.model.observed import reasons_of
from ptexplore.model.trace import TRACE_FORMAT
from ptexplore.saved.document import MAX_DEPTH, refused

# Sentences of format 2 whose codes later stages need.
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
# The keys of each record. The first key is always present if the record is, except for a kernel's.
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
_REASONS_OF_DISPATCH = ("tls_why", "redispatch", "unread_why")
# errors that a wrong value of an old format causes
_WRONG = (KeyError, TypeError, AttributeError, ValueError, RecursionError)
# characters: older versions of ptexplore wrote no longer command, and splitting takes a step per character
_LONGEST_COMMAND = 10_000


def in_todays_format(document: dict[str, Any], written: int, name: str) -> dict[str, Any]:
    """Converts a Trace of the older format `written` to the present one. `name` is the file's, for messages.

    Raises PtexploreError (USAGE) if a value is missing or has the wrong type.
    """
    document = _upgraded(document, name) if written == 1 else document
    document = _with_codes(document, name) if written < 3 else document
    document = _with_recorded_reasons(document, name) if written < 4 else document
    document = _with_place_codes(document, name) if written < 5 else document
    return _with_weights(document, name)


def _upgraded(document: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Converts a Trace of format 1 to format 2. Raises PtexploreError (USAGE) if its hops are not a tree."""
    try:
        bound = [{"name": key, "description": text} for key, text in document["bound"].items()]
        return {**document, "format": TRACE_FORMAT, "bound": bound, "hops": _rows_of_format_1(document["hops"])}
    except _WRONG as error:
        raise refused(name, f"a value is missing or has the wrong type: {str(error)[:100]}") from error


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
    """Converts a Trace of format 2, whose reasons are sentences, to format 3."""
    try:
        ending = document.get("ending")
        return {
            **document,
            "hops": [_row_of_format_2(hop) for hop in document["hops"]],
            "findings": [{**finding, "told": _reason_of_finding(finding["text"])} for finding in document["findings"]],
            "ending": {**ending, "why": list(map(_reason_of, ending.get("why", ())))} if ending is not None else None,
        }
    except _WRONG as error:
        raise refused(name, f"a value is missing or has the wrong type: {str(error)[:100]}") from error


def _row_of_format_2(hop: Mapping[str, Any]) -> dict[str, Any]:
    row = {**hop, "why": list(map(_reason_of, hop.get("why", ())))}
    if hop.get("dispatch") is not None:
        whys = {key: _reason_of(hop["dispatch"][key]) for key in _REASONS_OF_DISPATCH if hop["dispatch"].get(key)}
        row["dispatch"] = {**hop["dispatch"], **dict.fromkeys(_REASONS_OF_DISPATCH), **whys}
    return row


def _reason_of_finding(text: str) -> dict[str, Any]:
    """Converts the text of a finding of format 2 to a reason of format 3."""
    ends, stepped = _TREE_ENDS_IN_FORMAT_2.fullmatch(text), _STEPPED_IN_FORMAT_2.fullmatch(text)
    if ends is not None:
        return {"code": "tree-ends", "why": ends["why"], "op": ends["op"] or ""}
    if stepped is not None:
        counts = {name: int(stepped[name].replace(",", "")) for name in ("kinds", "all_kinds")}
        return {"code": "kinds-stepped", **counts, "of_each": {"code": "said", "sentence": stepped["rest"]}}
    return {"code": "said", "sentence": text}


def _reason_of(text: str) -> dict[str, Any]:
    """Converts a sentence of format 2 to a reason of format 3. Sentences that later stages need get their codes."""
    if text == _ON_STACK_IN_FORMAT_2:
        return {"code": "on-stack"}
    not_known = _NOT_KNOWN_IN_FORMAT_2.fullmatch(text)
    if not_known is None:
        return {"code": "said", "sentence": text}
    because = {"code": "said", "sentence": not_known["why"]}
    return {"code": "key-not-known", "because": because, "after": not_known["after"] or ""}


# The codes that later stages need, by sentences of format 3; and the codes whose arguments were sentences.
_ASKED_FOR = {"the budget was spent": {"code": "budget-spent"}}
_HAD_SENTENCES = ("kinds-left", "tree-ends", "frames-unordered")
_HOW = {"--var": "variable", "--setup": "setup"}  # how format 3 described how a name was bound
# How format 3 described the start of backward, behind the words for the tensor.
_BEGAN = {
    ", its real part, summed": "began-at-real-sum",
    ", summed": "began-at-sum",
    ", its real part": "began-at-real",
    "": "began-at",
}


def _with_recorded_reasons(document: dict[str, Any], name: str) -> dict[str, Any]:
    """Converts a Trace of format 3, whose recorders use sentences, to format 4."""
    try:
        session, program = document.get("session"), document.get("program")
        findings = [{**finding, "told": _without_sentences(finding["told"])} for finding in document["findings"]]
        return {
            **document,
            **_facts_of_format_3(document),
            "format": TRACE_FORMAT,
            "findings": findings,
            "hops": [_hop_of_format_3(hop) for hop in document["hops"]],
            "ending": _with_files(document.get("ending")),
            "program": _program_of_format_3(program) if program is not None else None,
            "session": _session_of_format_3(session) if session is not None else None,
        }
    except _WRONG as error:
        raise refused(name, f"a value is missing or has the wrong type: {str(error)[:100]}") from error


# How format 3 described a place outside torch, and a step that is not a call of a function.
_OUTSIDE_TORCH, _MARKED = "outside torch: ", "a range marked for the profiler"


def _hop_of_format_3(hop: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = _with_files(hop)
    is_range = str((hop.get("source") or {}).get("reason") or "").startswith(_MARKED)
    if is_range and hop.get("native") is None and hop.get("kind") in ("python", "native"):
        made["why"] = [*made.get("why", ()), {"code": "marks-range"}]
    return made


def _with_files(held: Any) -> Any:
    """Adds to places outside torch the file that their reason names."""

    def named(reason: str) -> dict[str, str]:
        return {"outside": reason.removeprefix(_OUTSIDE_TORCH)} if reason.startswith(_OUTSIDE_TORCH) else {}

    return _with_places(held, named)


def _with_places(held: Any, change: Callable[[str], Mapping[str, Any]], depth: int = 0) -> Any:
    """Updates each place whose reason is a sentence with the result of `change`."""
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
    """Converts a Trace of format 4, whose places have sentences as reasons, to format 5.

    Only a file outside torch needs a code: views use no other.
    """

    def coded(reason: str) -> dict[str, Any]:
        is_outside = reason.startswith(_OUTSIDE_TORCH)
        outside = {"code": "outside-torch", "file": reason.removeprefix(_OUTSIDE_TORCH)}
        return {"reason": outside if is_outside else {"code": "said", "sentence": reason}}

    try:
        held = {part: _with_places(document[part], coded) for part in ("hops", "ending", "program") if part in document}
    except _WRONG as error:
        raise refused(name, f"a value is missing or has the wrong type: {str(error)[:100]}") from error
    return {**document, **held, "format": TRACE_FORMAT}


def _with_weights(document: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Converts a Trace of format 5, in which saved bytes had a key of their own, to format 6."""
    try:
        hops = list(map(_weighed, document["hops"]))
        program = document.get("program")
        if program is not None:
            program = {**program, "calls": list(map(_weighed, program["calls"]))}
        session = document.get("session")
        if session is not None:
            session = {**session, "format": TRACE_FORMAT}
    except _WRONG as error:
        raise refused(name, f"a value is missing or has the wrong type: {str(error)[:100]}") from error
    return {**document, "hops": hops, "program": program, "session": session, "format": TRACE_FORMAT}


def _weighed(held: Mapping[str, Any]) -> dict[str, Any]:
    """Converts the saved bytes of a hop or of calls, and the device's time of a launch."""
    launch = held.get("launch") or {}
    weights = {"saved": held.get("saved"), "device": launch.get("took")}
    return {**held, "weights": {weight: value for weight, value in weights.items() if value} or None}


def _as_reason(text: str | None) -> dict[str, Any] | None:
    return _ASKED_FOR.get(text) or {"code": "said", "sentence": text} if text is not None else None


def _without_sentences(reason: Mapping[str, Any]) -> dict[str, Any]:
    """Converts the reason of a finding of format 3: sentences in its arguments become reasons."""
    made = dict(reason)
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
    """Converts the names, passes and result of a Trace or session of format 3."""
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
    """Converts the starts of backward: `from Tensor[3] float32 cpu, summed and Tensor[2] float32 cpu and more`."""
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
    return {**session, **_facts_of_format_3(session), "format": TRACE_FORMAT, "observations": observations}


def _data_of_format_3(seen: Mapping[str, Any]) -> dict[str, Any]:
    keys, data = reasons_of(seen["kind"]), seen["data"]
    reasons = {key: _as_reason(data.get("text" if key == "told" else key)) for key in keys}
    return {**data, **{key: reason for key, reason in reasons.items() if reason is not None}} if keys else data


def _place(place: Mapping[str, Any]) -> dict[str, Any]:
    return {"layer": None, "precision": "unknown", **place}
