"""Join what was stepped with what was concluded: one tree in the machine's nesting, observed where a frame was."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ptexplore.model.trace import Finding
from ptexplore.resolve.claims import Claim, Context, numbers
from ptexplore.resolve.native.align import align, frame_mark, handles
from ptexplore.resolve.native.call_tree import SteppedPart, part
from ptexplore.resolve.native.conclude import Conclusions
from ptexplore.resolve.native.growth import DEEPEST, grow
from ptexplore.resolve.native.seen import Seen
from ptexplore.resolve.native.sites import Sites

KIND = "calls"


def join(context: Context, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Lay the claims over the frames of every stepped part. Must be the last pass: its findings name hops by number."""
    seen = context.observations("native", KIND)
    if not seen:
        return claims
    sites = Sites(context.lookup)
    told: list[tuple[Finding, Claim | None]] = []
    for observation in seen:
        stepped = part(observation.id, observation.data)
        if not stepped.frames:
            continue
        if stepped.covers == "operator":
            claims = _operator(context, sites, stepped, claims, told)
        else:
            claims = _phase(context, sites, stepped, claims, told)
        if stepped.cut:
            told.append((Finding("cut", f"the native tree ends early: {stepped.cut}"), None))
    numbered = numbers(claims)
    for finding, claim in told:
        context.findings.append(replace(finding, hop=numbered.get(id(claim)) if claim is not None else None))
    return claims


def _walk(claims: tuple[Claim, ...]) -> Iterator[Claim]:
    pending = list(reversed(claims))
    while pending:
        claim = pending.pop()
        yield claim
        pending += reversed(claim.children)


Told = list[tuple[Finding, Claim | None]]


def _phase(
    context: Context, sites: Sites, stepped: SteppedPart, claims: tuple[Claim, ...], told: Told
) -> tuple[Claim, ...]:
    """A part that ran a whole phase takes the place of that phase's claims."""
    phase = stepped.covers
    mine = tuple(claim for claim in claims if claim.hop.phase == phase)
    others = tuple(claim for claim in claims if claim.hop.phase != phase)
    joined = _joined(context, sites, stepped, mine, told, phase)
    return (*joined, *others) if phase == "forward" else (*others, *joined)


def _operator(
    context: Context, sites: Sites, stepped: SteppedPart, claims: tuple[Claim, ...], told: Told
) -> tuple[Claim, ...]:
    """A part that is one operator call takes that call's place."""
    wanted = _wanted(stepped, claims) or _nesting_alike(Seen(context, sites, stepped, "forward"), stepped, claims)
    if wanted is None:
        text = f"{stepped.op} was stepped, and which of the calls here that is cannot be told"
        told.append((Finding("cut", text), None))
        return claims
    joined = _joined(context, sites, stepped, (wanted,), told, wanted.hop.phase)
    return _replaced(claims, wanted, joined)


def _called(stepped: SteppedPart, claims: tuple[Claim, ...]) -> list[Claim]:
    """The claims of calls of the stepped operator, in order.

    None of them where the run that was stepped called it another number of times: the numbers tell nothing then.
    """
    base, _, overload = str(stepped.op).partition(".")
    named = [c for c in _walk(claims) if c.event is not None and c.event.name == f"aten::{base}"]
    called = [c for c in named if c.hop.kind == "op"]
    if stepped.of is not None and len(called) != stepped.of:
        return []
    return [c for c in called if not overload or c.hop.op in (None, f"aten::{base}.{overload}")]


def _wanted(stepped: SteppedPart, claims: tuple[Claim, ...]) -> Claim | None:
    """The claim of the stepped call: of those with that operator's name the one of that number."""
    called, number = _called(stepped, claims), stepped.number
    if number is None:  # the probe could not tell which call it was: there may be one alone
        return called[0] if len(called) == 1 else None
    return called[number - 1] if len(called) >= number else None


def _nesting_alike(seen: Seen, stepped: SteppedPart, claims: tuple[Claim, ...]) -> Claim | None:
    """Where some calls came boxed, past the entry points that are counted: the one with as many of them inside."""
    if stepped.number is not None:
        return None
    named = f"aten::{str(stepped.op).partition('.')[0]}"
    known = handles(stepped.frames, seen.operator_named)
    marks = [frame_mark(frame, seen.operator_named, (), known) for frame in stepped.frames]
    inside = sum(mark is not None and mark.kind == "op" and mark.name.partition(".")[0] == named for mark in marks)
    called = _called(stepped, claims)
    fitting = [c for c in called if sum(other in called for other in c.walk()) == inside]
    return fitting[0] if len(fitting) == 1 else None


def _replaced(claims: tuple[Claim, ...], old: Claim, new: tuple[Claim, ...]) -> tuple[Claim, ...]:
    out: list[Claim] = []
    for claim in claims:
        if claim is old:
            out += new
        else:
            children = _replaced(claim.children, old, new)
            same = len(children) == len(claim.children) and all(
                a is b for a, b in zip(children, claim.children, strict=True)
            )
            out.append(claim if same else replace(claim, children=children))
    return tuple(out)


def _joined(
    context: Context, sites: Sites, stepped: SteppedPart, claims: tuple[Claim, ...], told: Told, phase: str
) -> tuple[Claim, ...]:
    seen = Seen(context, sites, stepped, "backward" if phase == "backward" else "forward")
    growth = grow(stepped)
    found = align(claims, stepped.frames, seen.operator_named)
    matched = {claim: frame for claim, frame in found.items() if frame in growth.of}
    work = Conclusions(context, seen, growth, matched)
    joined = work.join(claims)
    told += [(finding, branch.done if branch is not None else None) for finding, branch in work.findings]
    if growth.cut:
        told.append((Finding("cut", f"calls nested deeper than {DEEPEST} are not shown"), None))
    return joined
