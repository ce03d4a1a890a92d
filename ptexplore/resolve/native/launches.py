"""The source places of device kernels: the definition of a kernel, from the name that the profiler reports.

Source: CUPTI's activity records, from which torch.profiler has the demangled name of each kernel. An activity that is
not a kernel launch (a copy, a fill) has a name in words.
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

_COMPILED = Linkage(library="libtorch_cuda.so")  # kernels are in a library of this kind, whatever its name is


def place(context: Context, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Give each launch the definition of its kernel.

    Adds a finding for devices that were used and whose launches were not recorded.
    """
    reported = {seen.device for seen in records(context.session.observations, "launches", LaunchesTold)}
    idle = {name for seen in records(context.session.observations, "idle", IdleDevices) for name in seen.devices}
    devices = sorted(context.devices - reported - idle - {"cpu", "meta"})
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
    """Returns the definition of the kernel with this name."""
    if is_move(kernel):
        return unknown(DoneByDriver())
    source = sites.named(parse(kernel), _COMPILED)
    if source.path is not None or source.candidates:
        return source
    return unknown(Joined((source.reason, KernelElsewhere())) if source.reason is not None else KernelElsewhere())
