"""Which call of the machine each event of the profiler and of Python's frames was: both are preorders of one tree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from ptexplore.resolve.claims import Claim
from ptexplore.resolve.native.call_tree import NativeFrame

OpOf = Callable[[str], str | None]  # an operator's name by its C++ name: "add_Tensor" -> "aten::add.Tensor"
UNNAMED = "?"  # a call of an operator, or of a node, that the frame does not name


@dataclass(frozen=True, slots=True)
class Matchable:
    """One claim or frame that can be matched: an operator call, a node's apply, a binding; and its name there."""

    kind: str
    name: str


def claim_mark(claim: Claim) -> Matchable | None:
    """How a claim can be known among the frames; None for those that leave none of their own."""
    event, hop = claim.event.type if claim.event is not None else None, claim.hop
    if hop.kind == "op" and event == "op":
        return Matchable("op", hop.op or hop.name)
    if hop.kind == "node" and event in ("node", "engine"):
        return Matchable("node", _last(hop.name.removesuffix("::apply")))
    return Matchable("binding", _last(hop.name)) if hop.kind == "binding" else None


def _last(name: str) -> str:
    return name.rsplit("::", 1)[-1]


def frame_mark(
    frame: NativeFrame, op_of: OpOf, bindings: Iterable[str], handles: Mapping[int, str]
) -> Matchable | None:
    """How a frame can be known among the claims."""
    seen = frame.function.landmark
    if seen.kind == "entry":
        return Matchable("op", op_of(seen.name) or seen.name)
    if seen.kind == "boxed-call":
        return Matchable("op", handles.get(handle_below(frame) or 0, UNNAMED))
    if seen.kind == "node":
        return Matchable("node", UNNAMED if seen.name in ("PyNode", "CppNode") else seen.name)
    name = _last(frame.function.name.qualified)
    return Matchable("binding", name) if name in bindings else None


def handle_below(frame: NativeFrame) -> int | None:
    """The operator's handle that the first boundary below a call was given."""
    for inner in frame.below():
        seen = inner.function.landmark
        if seen.kind in ("entry", "boxed-call"):
            return None
        if seen.kind == "boundary" and seen.operator is not None and inner.registers:
            return inner.registers[seen.operator]
    return None


def handles(frames: Iterable[NativeFrame], op_of: OpOf) -> dict[int, str]:
    """Which operator each handle stands for, where a call by name was given one."""
    found: dict[int, str] = {}
    for frame in frames:
        seen = frame.function.landmark
        handle = handle_below(frame) if seen.kind == "entry" else None
        name = op_of(seen.name) if handle else None
        if handle and name:
            found[handle] = name
    return found


def align(claims: Sequence[Claim], frames: Sequence[NativeFrame], op_of: OpOf) -> dict[int, NativeFrame]:
    """The frame of each claim that has one, by the claim's `id()`. `claims` are trees, `frames` in order of entry.

    Names must be equal (an overload that the claim does not know is told by the frame), order and nesting too.
    """
    marked = [(one, mark) for top in claims for one in top.walk() if (mark := claim_mark(one)) is not None]
    names = {mark.name for _, mark in marked if mark.kind == "binding"}
    known = handles(frames, op_of)
    there = [(one, mark) for one in frames if (mark := frame_mark(one, op_of, names, known)) is not None]
    vague = any(one.hop.op is None for one, mark in marked if mark.kind == "op")
    mine = [_loose(mark, vague) for _, mark in marked]
    theirs = [_loose(mark, vague) for _, mark in there]
    pairs = [(marked[a][0], there[b][0]) for a, b in _pairs(mine, theirs)]
    return _nested(claims, pairs)


def _loose(mark: Matchable, vague: bool) -> Matchable:
    """Without overloads where some claims have none."""
    return Matchable("op", mark.name.partition(".")[0]) if vague and mark.kind == "op" else mark


def _pairs(mine: list[Matchable], theirs: list[Matchable]) -> Iterator[tuple[int, int]]:
    """Positions that belong together: longest equal runs first, then what the frames leave unnamed between them."""
    matcher = SequenceMatcher(None, mine, theirs, autojunk=False)
    a = b = 0
    for block in matcher.get_matching_blocks():
        yield from _unnamed(mine, theirs, range(a, block.a), range(b, block.b))
        yield from zip(range(block.a, block.a + block.size), range(block.b, block.b + block.size), strict=True)
        a, b = block.a + block.size, block.b + block.size


def _unnamed(mine: list[Matchable], theirs: list[Matchable], left: range, right: range) -> Iterator[tuple[int, int]]:
    """A gap with as many calls without a name as claims of that kind: these are those."""
    for kind in ("op", "node"):
        claims = [a for a in left if mine[a].kind == kind]
        frames = [b for b in right if theirs[b] == Matchable(kind, UNNAMED)]
        if len(claims) == len(frames):
            yield from zip(claims, frames, strict=True)


def _nested(claims: Sequence[Claim], pairs: list[tuple[Claim, NativeFrame]]) -> dict[int, NativeFrame]:
    """The pairs that nest alike on both sides; a claim whose frame lies elsewhere stays unmatched."""
    found = {id(claim): frame for claim, frame in pairs}
    pending: list[tuple[Claim, NativeFrame | None]] = [(claim, None) for claim in claims]
    while pending:
        claim, around = pending.pop()
        frame = found.get(id(claim))
        if frame is not None and around is not None and (frame is around or not around.holds(frame)):
            del found[id(claim)]
            frame = None
        pending += [(child, frame or around) for child in claim.children]
    return found
