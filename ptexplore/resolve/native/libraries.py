"""What oneDNN and MKL said of their own calls, laid over the frames that enter them.

They said it in a run of its own, so a call is told by its place in the order alone: it counts only where all of them
fit, one for one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from ptexplore.model.observed import LibraryCall, LibraryCalls, SteppedCalls, records
from ptexplore.model.trace import Finding, LibraryEntry
from ptexplore.resolve.claims import Claim, Context

_PRIMITIVE = "dnnl_primitive_execute"  # the one C function through which every primitive of oneDNN runs
_FUNCTION = re.compile(
    r"(?:mkl_(?:blas|lapack)_+|cblas_)?([sdcz][a-z0-9]{3,}(?:_batch)?)_?"
    r"|(MKL_[SDCZ](?:omatcopy|imatcopy|omatadd))"  # of BLAS-like extensions MKL tells the whole name
    r"|Dfti(Compute)(?:Forward|Backward)"
)
_MKL = ("MKL", "BLAS or LAPACK")


def attach(context: Context, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Say at each call into oneDNN or MKL what the library said of it, where the two orders agree."""
    observations = context.session.observations
    told = [call for seen in records(observations, "libraries", LibraryCalls) if not seen.cut for call in seen.calls]
    entries: dict[int, LibraryEntry] = {}
    for part in records(observations, "calls", SteppedCalls) if told else ():
        if part.part == "operator" or part.cut is not None:
            continue  # a part of the calls; which, their order does not tell
        mine = tuple(claim for claim in claims if claim.hop.phase == part.part)
        for library, entered in (("oneDNN", _primitives(mine)), ("MKL", _functions(mine))):
            calls = [call for call in told if call.phase == part.part and call.library == library]
            frames = list(entered)
            if [what or call.what for (_, what), call in zip(frames, calls, strict=False)] == _names(calls, frames):
                entries |= {id(claim): _entry(call) for (claim, _), call in zip(frames, calls, strict=True)}
            elif calls:
                known = f"in the tree are {len(frames)} that are known by name"
                text = f"{library} tells of {len(calls)} calls, in a run of its own; {known}"
                context.findings.append(Finding("libraries", f"{text}: which is which is not known"))
    return _with(claims, entries) if entries else claims


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
    """The outermost calls of MKL's functions, in order, each with its name as MKL writes it."""
    pending = list(claims)[::-1]
    while pending:
        claim = pending.pop()
        native = claim.hop.native
        function = _FUNCTION.fullmatch(claim.hop.name) if native is not None and native.third_party in _MKL else None
        if function is not None:
            yield claim, "FFT" if function[3] else (function[1] or function[2]).upper()
        else:
            pending += reversed(claim.children)


def _entry(call: LibraryCall) -> LibraryEntry:
    return LibraryEntry(call.library, call.what, call.problem, call.implementation)


def _with(claims: tuple[Claim, ...], entries: dict[int, LibraryEntry]) -> tuple[Claim, ...]:
    """The claims with these entries; what holds none stays as it is."""
    changed = []
    for claim in claims:
        entry = entries.get(id(claim))
        hop = replace(claim.hop, library=entry) if entry is not None else claim.hop
        changed.append(replace(claim, hop=hop, children=_with(claim.children, entries)))
    return tuple(changed)
