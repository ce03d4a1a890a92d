"""What oneDNN and MKL said of their own calls, laid over the frames that enter them.

They said it in a run of its own, so a call is told by its place in the order alone: it counts only where all of them
fit, one for one.
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

_PRIMITIVE = "dnnl_primitive_execute"  # the one C function through which every primitive of oneDNN runs
_FUNCTION = re.compile(
    r"(?:mkl_(?:blas|lapack)_+|cblas_)?([sdcz][a-z0-9]{3,}(?:_batch)?|gemm_[a-z0-9]+)_?"  # gemm_f16f16f32
    r"|(MKL_[SDCZ](?:omatcopy|imatcopy|omatadd))"  # of BLAS-like extensions MKL tells the whole name
    r"|Dfti(Compute)(?:Forward|Backward)"
)
_INSIDE = ("ILAENV",)  # MKL calls it in its own LAPACK (gelsd), and tells of it as if it were called from outside
OPERATOR = "operator"  # the part that is one operator call
MOST = 6  # calls of libraries that a sentence lists
_MKL = ("MKL", "BLAS or LAPACK")


def attach(context: Context, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Say at each call into oneDNN or MKL what the library said of it, where the two orders agree.

    Where stepping was cut the frames are not all there: those that are come first, and what was said of all stands at
    the call itself. What was said of an expression is of its one operator call that was stepped if it makes no other.
    """
    observations = context.session.observations
    told = [seen for seen in records(observations, "libraries", LibraryCalls) if not seen.cut]
    shown: dict[int, Claim] = {}  # by observation, where calls of a program are told
    for claim in walk(claims) if any(seen.event is not None for seen in told) else ():
        shown.setdefault(claim.event.observation, claim)
    entries: dict[int, LibraryEntry] = {}
    reasons: dict[int, Reason] = {}
    for part in records(observations, "calls", SteppedCalls) if told else ():
        mine = tuple(claim for claim in claims if claim.hop.phase == part.part)
        if part.event is not None:
            mine = (shown[part.event],) if part.event in shown else ()
        elif part.part == OPERATOR:
            mine = _stepped_alone(part, claims)
        phase = mine[0].hop.phase if mine and part.part == OPERATOR else part.part
        calls = [call for seen in told for call in seen.calls if _is_of(part, seen, call, phase)]
        entries |= _entries(context, part, mine, calls)
        if part.event is not None and part.cut is not None and calls and mine:
            reasons[mine[0].identity] = ToldOfSuchCall(*_listed(calls))
        elif part.event is None and (part.cut is not None or not mine):
            _tell_whole(context, told, mine if part.part == OPERATOR else (), reasons)
    return _with(claims, entries, reasons) if entries or reasons else claims


def _stepped_alone(part: SteppedCalls, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """The operator call of an expression that was stepped, if no other call is made in its half of the run."""
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
    context: Context, told: Iterable[LibraryCalls], mine: tuple[Claim, ...], reasons: dict[int, Reason]
) -> None:
    """Say what the libraries told of all of an expression: at its one call, or of it as a whole."""
    calls = [call for seen in told for call in seen.calls if not mine or call.phase == mine[0].hop.phase]
    if calls and mine:
        reasons[mine[0].identity] = ToldOfCall(*_listed(calls))
    elif calls:
        context.tell("libraries", ToldOfExpression(*_listed(calls)))


def _is_of(part: SteppedCalls, seen: LibraryCalls, call: LibraryCall, phase: str) -> bool:
    """Whether a library's call was told of a stepped part, which is in that half of the run."""
    if part.event is not None or seen.event is not None:
        return part.event == seen.event
    return call.phase == phase


def _entries(
    context: Context, part: SteppedCalls, claims: tuple[Claim, ...], told: list[LibraryCall]
) -> dict[int, LibraryEntry]:
    """What was told of each call in a part, by the claim's identity; {} and a finding where the orders do not agree."""
    entries: dict[int, LibraryEntry] = {}
    for library, entered in (("oneDNN", _primitives(claims)), ("MKL", _functions(claims))):
        frames = list(entered)
        named = {what for _, what in frames}
        calls = [call for call in told if call.library == library and (call.what not in _INSIDE or call.what in named)]
        if part.cut is not None:  # the first of them
            calls = calls[: len(frames)]
        if [what or call.what for (_, what), call in zip(frames, calls, strict=False)] == _names(calls, frames):
            entries |= {claim.identity: _entry(call) for (claim, _), call in zip(frames, calls, strict=True)}
        elif calls:
            op = part.op or "" if part.event is not None else ""
            told_of = LibraryUnordered(library, len(calls), len(frames), op)
            context.tell("libraries", told_of)
    return entries


def _listed(calls: list[LibraryCall]) -> tuple[tuple[LibraryTold, ...], int]:
    """What the libraries told: each call once, with how often it was made; and how many more there were."""
    counted = Counter((call.library, call.what, call.implementation, call.problem) for call in calls if not call.query)
    listed = [
        LibraryTold(library, what, problem, implementation or "", times if times > 1 else 0)
        for (library, what, implementation, problem), times in counted.items()
    ]
    return tuple(listed[:MOST]), max(len(listed) - MOST, 0)


def _names(calls: list[LibraryCall], frames: list[tuple[Claim, str | None]]) -> list[str] | None:
    """What the calls are of; None where there are not as many frames."""
    return [call.what for call in calls] if len(calls) == len(frames) else None


def _primitives(claims: Iterable[Claim]) -> Iterator[tuple[Claim, str | None]]:
    """The calls that run a primitive of oneDNN, in order; of what kind, the frame does not say."""
    for top in claims:
        for claim in top.walk():
            if claim.hop.name == _PRIMITIVE and claim.hop.instructions is not None:
                yield claim, None


def _functions(claims: Iterable[Claim]) -> Iterator[tuple[Claim, str | None]]:
    """The calls of MKL's functions from outside of MKL, in order, each with its name as MKL writes it.

    MKL tells of no call of its own inside another: what `DftiCommitDescriptor` calls is named as a function of BLAS may
    be ("commit"), and is none.
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
    return LibraryEntry(call.library, call.what, call.problem, call.implementation, call.query)


def _with(
    claims: tuple[Claim, ...], entries: Mapping[int, LibraryEntry], reasons: Mapping[int, Reason]
) -> tuple[Claim, ...]:
    """The claims with these entries and reasons; what holds none stays as it is."""

    def changed(claim: Claim, children: tuple[Claim, ...]) -> Claim:
        entry, reason = entries.get(claim.identity), reasons.get(claim.identity)
        hop = replace(claim.hop, library=entry) if entry is not None else claim.hop
        hop = replace(hop, why=(*hop.why, reason)) if reason is not None else hop
        return replace(claim, hop=hop, children=children)

    return folded(claims, changed)
