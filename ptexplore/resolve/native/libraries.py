"""Adds the reports of oneDNN and MKL about their own calls to the frames that enter these libraries.

The reports come from a run of their own, so a call can only be matched by its position. Reports are used only if all of
them match, one for one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from ptexplore.model.nesting import folded
from ptexplore.model.observed import LibraryCall, LibraryCalls, SteppedCalls, records
from ptexplore.model.reasons import (
    LibraryTold,
    LibraryUnordered,
    Reason,
    ToldOfCall,
    ToldOfExpression,
    ToldOfSuchCall,
)
from ptexplore.model.trace import LibraryEntry, walk
from ptexplore.resolve.claims import Claim, Context

_PRIMITIVE = "dnnl_primitive_execute"  # the C function that runs every oneDNN primitive
_FUNCTION = re.compile(
    r"(?:mkl_(?:blas|lapack)_+|cblas_)?([sdcz][a-z0-9]{3,}(?:_batch)?|gemm_[a-z0-9]+)_?"  # gemm_f16f16f32
    r"|(MKL_[SDCZ](?:omatcopy|imatcopy|omatadd))"  # MKL reports the full name of its BLAS-like extensions
    r"|Dfti(Compute)(?:Forward|Backward)"
)
_INSIDE = ("ILAENV",)  # MKL's own LAPACK calls it (gelsd), and MKL reports it like a call from outside
OPERATOR = "operator"  # a part that is one operator call
MOST = 6  # limit on the library calls in a sentence
_MKL = ("MKL", "BLAS or LAPACK")


def attach(context: Context, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Add the library's report to each call into oneDNN or MKL, if the orders of calls and reports agree.

    If stepping was cut, some frames are missing: the existing frames get the first reports, and the call itself gets a
    summary of all. The reports about an expression belong to its one stepped operator call if it makes no other call.
    """
    observations = context.session.observations
    reports = [seen for seen in records(observations, "libraries", LibraryCalls) if not seen.cut]
    shown: dict[int, Claim] = {}  # by observation, for calls of a program
    for claim in walk(claims) if any(seen.event is not None for seen in reports) else ():
        shown.setdefault(claim.event.observation, claim)
    entries: dict[int, LibraryEntry] = {}
    reasons: dict[int, Reason] = {}
    for part in records(observations, "calls", SteppedCalls) if reports else ():
        mine = tuple(claim for claim in claims if claim.hop.phase == part.part)
        if part.event is not None:
            mine = (shown[part.event],) if part.event in shown else ()
        elif part.part == OPERATOR:
            mine = _stepped_alone(part, claims)
        phase = mine[0].hop.phase if mine and part.part == OPERATOR else part.part
        calls = [call for seen in reports for call in seen.calls if _is_of(part, seen, call, phase)]
        entries |= _entries(context, part, mine, calls)
        if part.event is not None and part.cut is not None and calls and mine:
            reasons[mine[0].identity] = ToldOfSuchCall(*_listed(calls))
        elif part.event is None and (part.cut is not None or not mine):
            _tell_whole(context, reports, mine if part.part == OPERATOR else (), reasons)
    return _with(claims, entries, reasons) if entries or reasons else claims


def _stepped_alone(part: SteppedCalls, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Returns the stepped operator call of an expression, if its phase of the run contains no other call."""
    outermost: list[Claim] = []
    pending = list(claims)
    while pending:
        claim = pending.pop()
        if claim.hop.kind == "op":
            outermost.append(claim)
        else:
            pending += claim.children
    named = f"aten::{str(part.op).partition('.')[0]}"
    calls = [claim for claim in outermost if claim.event.name == named]
    beside = [claim for claim in outermost if calls and claim.hop.phase == calls[0].hop.phase]
    return (calls[0],) if len(beside) == 1 else ()


def _tell_whole(
    context: Context, reports: Iterable[LibraryCalls], mine: tuple[Claim, ...], reasons: dict[int, Reason]
) -> None:
    """Add a summary of the reports about an expression: to its one call, or as a finding about the whole expression."""
    calls = [call for seen in reports for call in seen.calls if not mine or call.phase == mine[0].hop.phase]
    if calls and mine:
        reasons[mine[0].identity] = ToldOfCall(*_listed(calls))
    elif calls:
        context.tell("libraries", ToldOfExpression(*_listed(calls)))


def _is_of(part: SteppedCalls, seen: LibraryCalls, call: LibraryCall, phase: str) -> bool:
    """Whether a library's call was reported for a stepped part, which ran in this phase."""
    if part.event is not None or seen.event is not None:
        return part.event == seen.event
    return call.phase == phase


def _entries(
    context: Context, part: SteppedCalls, claims: tuple[Claim, ...], reports: list[LibraryCall]
) -> dict[int, LibraryEntry]:
    """Returns the reports of the calls in a part, by the claim's identity.

    If the orders do not agree, returns {} and adds a finding.
    """
    entries: dict[int, LibraryEntry] = {}
    for library, entered in (("oneDNN", _primitives(claims)), ("MKL", _functions(claims))):
        frames = list(entered)
        named = {what for _, what in frames}
        calls = [
            call for call in reports if call.library == library and (call.what not in _INSIDE or call.what in named)
        ]
        if part.cut is not None:  # only the first frames exist
            calls = calls[: len(frames)]
        if [what or call.what for (_, what), call in zip(frames, calls, strict=False)] == _names(calls, frames):
            entries |= {claim.identity: _entry(call) for (claim, _), call in zip(frames, calls, strict=True)}
        elif calls:
            op = part.op or "" if part.event is not None else ""
            reason = LibraryUnordered(library, len(calls), len(frames), op)
            context.tell("libraries", reason)
    return entries


def _listed(calls: list[LibraryCall]) -> tuple[tuple[LibraryTold, ...], int]:
    """Returns the reported calls, each once with its count, and the number of calls that are not listed."""
    counted, took = Counter[tuple[str, str, str | None, str]](), Counter[tuple[str, str, str | None, str]]()
    for call in calls:
        if not call.query:
            kind = (call.library, call.what, call.implementation, call.problem)
            counted[kind] += 1
            took[kind] += call.took or 0
    listed = [
        LibraryTold(kind[0], kind[1], kind[3], kind[2] or "", times if times > 1 else 0, took[kind])
        for kind, times in counted.items()
    ]
    return tuple(listed[:MOST]), max(len(listed) - MOST, 0)


def _names(calls: list[LibraryCall], frames: list[tuple[Claim, str | None]]) -> list[str] | None:
    """Returns the names of the calls, or None if the number of frames differs."""
    return [call.what for call in calls] if len(calls) == len(frames) else None


def _primitives(claims: Iterable[Claim]) -> Iterator[tuple[Claim, str | None]]:
    """Yields the calls that run a oneDNN primitive, in order. The frame does not show the kind of primitive."""
    for top in claims:
        for claim in top.walk():
            if claim.hop.name == _PRIMITIVE and claim.hop.instructions is not None:
                yield claim, None


def _functions(claims: Iterable[Claim]) -> Iterator[tuple[Claim, str | None]]:
    """Yields the calls of MKL functions from outside of MKL, in order, each with its name in MKL's notation.

    MKL does not report calls from its own code. Such a function may have a name like a BLAS function ("commit", called
    by `DftiCommitDescriptor`).
    """
    pending = list(claims)[::-1]
    while pending:
        claim = pending.pop()
        native = claim.hop.native
        is_mkls = native is not None and native.third_party in _MKL
        function = _FUNCTION.fullmatch(claim.hop.name) if is_mkls else None
        if function is not None:
            yield claim, "FFT" if function[3] else (function[1] or function[2]).upper()
        elif not is_mkls:
            pending += reversed(claim.children)


def _entry(call: LibraryCall) -> LibraryEntry:
    return LibraryEntry(call.library, call.what, call.problem, call.implementation, call.query, call.took)


def _with(
    claims: tuple[Claim, ...], entries: Mapping[int, LibraryEntry], reasons: Mapping[int, Reason]
) -> tuple[Claim, ...]:
    """Returns the claims with these entries and reasons. A claim without any stays the same."""

    def changed(claim: Claim, children: tuple[Claim, ...]) -> Claim:
        entry, reason = entries.get(claim.identity), reasons.get(claim.identity)
        hop = replace(claim.hop, library=entry) if entry is not None else claim.hop
        hop = replace(hop, why=(*hop.why, reason)) if reason is not None else hop
        return replace(claim, hop=hop, children=children)

    return folded(claims, changed)
