"""Where the code stands that a device was given to run: a kernel's own definition, by the name that the profiler tells.

Source: CUPTI's activity records, of which torch's profiler has the demangled name of each kernel; what no function of
the device's runtime launches as a kernel (a copy, a fill) it names in words.
"""

from __future__ import annotations

from dataclasses import replace

from ptexplore.cpp.symbol_names import parse
from ptexplore.model.observed import IdleDevices, LaunchesTold, records
from ptexplore.model.place_reasons import DoneByDriver, Joined, KernelElsewhere
from ptexplore.model.places import SourceRef
from ptexplore.model.reasons import LaunchesNotTold
from ptexplore.model.trace import is_move, walk
from ptexplore.resolve.claims import Claim, Context, rewrite
from ptexplore.resolve.native.linkage import Linkage
from ptexplore.resolve.native.sites import Sites
from ptexplore.resolve.places.precision import unknown

_COMPILED = Linkage(library="libtorch_cuda.so")  # a kernel is in a library of its own kind, whatever that is called


def place(context: Context, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Say of each launch where its kernel is defined; and of which devices that were used nobody told the launches."""
    told = {seen.device for seen in records(context.session.observations, "launches", LaunchesTold)}
    idle = {name for seen in records(context.session.observations, "idle", IdleDevices) for name in seen.devices}
    devices = sorted(context.devices - told - idle - {"cpu", "meta"})
    if devices:
        context.tell("launches", LaunchesNotTold(tuple(devices)))
    is_needed = any(claim.hop.kind == "launch" for claim in walk(claims))
    return _placed(Sites(context.lookup), claims) if is_needed else claims


def _placed(sites: Sites, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    def placed(claim: Claim) -> Claim:
        hop = claim.hop
        return replace(claim, hop=replace(hop, source=source_of(sites, hop.name))) if hop.kind == "launch" else claim

    return rewrite(claims, placed)


def source_of(sites: Sites, kernel: str) -> SourceRef:
    """The definition of a kernel of this name."""
    if is_move(kernel):
        return unknown(DoneByDriver())
    source = sites.named(parse(kernel), _COMPILED)
    if source.path is not None or source.candidates:
        return source
    return unknown(Joined((source.reason, KernelElsewhere())) if source.reason is not None else KernelElsewhere())
