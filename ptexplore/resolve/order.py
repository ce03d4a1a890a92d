"""Where an operator stands among the steps of its caller that nothing saw: inside of one of them, or it is not known.

A generated kernel that calls one hand-written function does nothing else (torchgen/dest/register_dispatch_key.py), so
what the profiler saw in that kernel ran in the function. Where a kernel, or a node, calls several, nothing tells.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile

from ptexplore.model.observed import UNSEEN
from ptexplore.resolve.claims import Claim, rewrite

_STRUCTURED = "::structured_"  # in the names of the two functions that a structured kernel calls: meta and impl
_CALLERS = ("kernel", "node", "impl", "op")
_SEEN = ("op", "python", "binding", "native", "launch")


def in_order(claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Put what was seen into the one function that called it, and say where its order is not known."""
    return rewrite(claims, _ordered)


def _ordered(claim: Claim) -> Claim:
    """The claim, whose own calls are ordered already, with what it calls in order, as far as that is known."""
    claim = _launching(claim)
    if claim.hop.kind not in _CALLERS or not any(map(_is_seen, claim.children)):
        return claim
    unseen = [child for child in claim.children if _is_unseen(child)]
    if claim.hop.kind == "kernel" and len(unseen) == 1 and _is_all(unseen[0]):
        return _nested(claim, unseen[0])
    # What an error's stack tells of ran last, and may have called what stands before it.
    last = [child for child in claim.children if _is_on_stack(child)]
    before = bool(last)  # whether a step stands beside it that may have called it
    children: list[Claim] = []
    for child in claim.children:
        before = before or _is_unseen(child) or _is_next_key(child)
        told = before and _is_seen(child)
        if child not in last:
            children.append(child.but(replace(child.hop, unknown_order=True)) if told else child)
    children += last
    return replace(claim, children=tuple(children))


def _launching(claim: Claim) -> Claim:
    """A step whose launches have an order among themselves alone: beside calls that were stepped, and one launched."""
    if not any(child.hop.kind != "launch" and child.hop.instructions is not None for child in claim.children):
        return claim
    children = (
        child.but(replace(child.hop, unknown_order=True)) if child.hop.kind == "launch" and _is_seen(child) else child
        for child in claim.children
    )
    return replace(claim, children=tuple(children))


def _nested(kernel: Claim, function: Claim) -> Claim:
    """A kernel with what was seen in it inside of the one function that it calls."""
    at = kernel.children.index(function)
    called = tuple(takewhile(_is_seen, kernel.children[at + 1 :]))
    around = _ordered(replace(function, children=function.children + called))
    return replace(kernel, children=(*kernel.children[:at], around, *kernel.children[at + 1 + len(called) :]))


def _is_all(claim: Claim) -> bool:
    """Whether a step is a hand-written function that is all that its kernel calls."""
    return claim.hop.kind == "impl" and _STRUCTURED not in claim.hop.name


def _is_unseen(claim: Claim) -> bool:
    """Whether a step follows from its caller's text; an error's stack may have held it."""
    hop = claim.hop
    if claim.event is not UNSEEN or hop.instructions is not None:
        return False
    return hop.kind == "impl" or (hop.kind in ("stub", "native") and hop.status in ("derived", "predicted"))


def _is_next_key(claim: Claim) -> bool:
    """Whether a kernel calls on here, and nothing saw it: what stands behind may have been called by the kernel below.

    A generated kernel of autograd that computes tangents calls operators of its own as well.
    """
    return claim.hop.kind == "key" and claim.hop.status in ("derived", "predicted") and claim.hop.instructions is None


def _is_on_stack(claim: Claim) -> bool:
    """Whether an error's stack of C++ alone tells of a step."""
    is_told = claim.hop.kind == "native" and claim.event is UNSEEN and claim.hop.status == "observed"
    return is_told and claim.hop.instructions is None


def _is_seen(claim: Claim) -> bool:
    """Whether a recorder saw a step, and no stepped run where."""
    return claim.hop.kind in _SEEN and claim.event is not UNSEEN and claim.hop.instructions is None
