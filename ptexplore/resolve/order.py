"""The position of an observed hop among hops of its caller that nothing saw: inside one of them, or not known.

If a generated kernel calls one hand-written function, it calls nothing else (torchgen/dest/register_dispatch_key.py).
Then everything that the profiler saw in the kernel ran in this function. If a kernel or a node calls several functions,
the order is not known.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile

from ptexplore.model.observed import UNSEEN
from ptexplore.resolve.claims import Claim, rewrite

_STRUCTURED = "::structured_"  # in the names of the functions meta and impl, which a structured kernel calls
_CALLERS = ("kernel", "node", "impl", "op")
_SEEN = ("op", "python", "binding", "native", "launch")


def in_order(claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Move observed claims into the one function that called them, and mark claims whose order is not known."""
    return rewrite(claims, _ordered)


def _ordered(claim: Claim) -> Claim:
    """Returns the claim with its children in order, as far as the order is known.

    The order inside its children is known already.
    """
    claim = _launching(claim)
    if claim.hop.kind not in _CALLERS or not any(map(_is_seen, claim.children)):
        return claim
    unseen = [child for child in claim.children if _is_unseen(child)]
    if claim.hop.kind == "kernel" and len(unseen) == 1 and _is_all(unseen[0]):
        return _nested(claim, unseen[0])
    # The functions on an error's stack ran last, and may have called the claims before them.
    last = [child for child in claim.children if _is_on_stack(child)]
    before = bool(last)  # whether a claim before the child may have called it
    children: list[Claim] = []
    for child in claim.children:
        before = before or _is_unseen(child) or _is_next_key(child)
        is_unordered = before and _is_seen(child)
        if child not in last:
            children.append(child.but(replace(child.hop, unknown_order=True)) if is_unordered else child)
    children += last
    return replace(claim, children=tuple(children))


def _launching(claim: Claim) -> Claim:
    """Returns the claim with launches of unknown order, if some of its other children were stepped.

    The order among the launches is known.
    """
    if not any(child.hop.kind != "launch" and child.hop.instructions is not None for child in claim.children):
        return claim
    children = (
        child.but(replace(child.hop, unknown_order=True)) if child.hop.kind == "launch" and _is_seen(child) else child
        for child in claim.children
    )
    return replace(claim, children=tuple(children))


def _nested(kernel: Claim, function: Claim) -> Claim:
    """Returns the kernel with the observed claims moved into the one function that it calls."""
    at = kernel.children.index(function)
    called = tuple(takewhile(_is_seen, kernel.children[at + 1 :]))
    around = _ordered(replace(function, children=function.children + called))
    return replace(kernel, children=(*kernel.children[:at], around, *kernel.children[at + 1 + len(called) :]))


def _is_all(claim: Claim) -> bool:
    """Whether the claim is a hand-written function that is everything its kernel calls."""
    return claim.hop.kind == "impl" and _STRUCTURED not in claim.hop.name


def _is_unseen(claim: Claim) -> bool:
    """Whether the claim follows only from the text of its caller. An error's stack may have contained it."""
    hop = claim.hop
    if claim.event is not UNSEEN or hop.instructions is not None:
        return False
    return hop.kind == "impl" or (hop.kind in ("stub", "native") and hop.status in ("derived", "predicted"))


def _is_next_key(claim: Claim) -> bool:
    """Whether a kernel redispatches here unobserved, so that the lower kernel may have called the claims after it.

    A generated autograd kernel that computes tangents also calls operators itself.
    """
    return claim.hop.kind == "key" and claim.hop.status in ("derived", "predicted") and claim.hop.instructions is None


def _is_on_stack(claim: Claim) -> bool:
    """Whether the claim is only known from the C++ stack of an error."""
    is_from_stack = claim.hop.kind == "native" and claim.event is UNSEEN and claim.hop.status == "observed"
    return is_from_stack and claim.hop.instructions is None


def _is_seen(claim: Claim) -> bool:
    """Whether a recorder saw the claim, and no stepped run shows its position."""
    return claim.hop.kind in _SEEN and claim.event is not UNSEEN and claim.hop.instructions is None
