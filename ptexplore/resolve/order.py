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
_CALLERS = ("kernel", "node", "impl")
_SEEN = ("op", "python", "binding", "native", "launch")


def in_order(claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Put what was seen into the one function that called it, and say where its order is not known."""
    return rewrite(claims, _ordered)


def _ordered(claim: Claim) -> Claim:
    """The claim, whose own calls are ordered already, with what it calls in order, as far as that is known."""
    if claim.hop.kind not in _CALLERS or not any(map(_is_seen, claim.children)):
        return claim
    unseen = [child for child in claim.children if _is_unseen(child)]
    if claim.hop.kind == "kernel" and len(unseen) == 1 and _is_all(unseen[0]):
        return _nested(claim, unseen[0])
    before = False  # whether a step that nothing saw stands before it
    children: list[Claim] = []
    for child in claim.children:
        before = before or _is_unseen(child)
        told = before and _is_seen(child)
        children.append(child.but(replace(child.hop, unknown_order=True)) if told else child)
    return replace(claim, children=tuple(children))


def _nested(kernel: Claim, function: Claim) -> Claim:
    """A kernel with what was seen in it inside of the one function that it calls."""
    at = kernel.children.index(function)
    called = tuple(takewhile(_is_seen, kernel.children[at + 1 :]))
    # What an error's stack tells of ran last.
    before = tuple(child for child in function.children if child.hop.status != "observed")
    last = tuple(child for child in function.children if child.hop.status == "observed")
    around = _ordered(replace(function, children=before + called + last))
    return replace(kernel, children=(*kernel.children[:at], around, *kernel.children[at + 1 + len(called) :]))


def _is_all(claim: Claim) -> bool:
    """Whether a step is a hand-written function that is all that its kernel calls."""
    return claim.hop.kind == "impl" and _STRUCTURED not in claim.hop.name


def _is_unseen(claim: Claim) -> bool:
    """Whether a step follows from its caller's text alone."""
    is_told = claim.hop.kind in ("impl", "stub", "native") and claim.event is UNSEEN
    return is_told and claim.hop.status in ("derived", "predicted")


def _is_seen(claim: Claim) -> bool:
    """Whether a recorder saw a step, and no stepped run where."""
    return claim.hop.kind in _SEEN and claim.event is not UNSEEN and claim.hop.instructions is None
