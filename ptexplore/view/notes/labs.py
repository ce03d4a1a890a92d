"""Whether a lab came to what it expects: its hops in the Trail, in reading order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ptexplore.model.trace import walk

if TYPE_CHECKING:
    from ptexplore.annotations.records import Where
    from ptexplore.model.trace import Hop, Trail
    from ptexplore.view.line import Tone

LabOutcome = Literal["passed", "failed", "untrusted"]
LAB_TONES: dict[LabOutcome, Tone] = {"passed": "good", "failed": "bad", "untrusted": "doubt"}  # how the word looks
_SHOWN = 8  # of the hops a failure names


@dataclass(frozen=True, slots=True)
class LabResult:
    """How one lab ended: `name` is "tour#stop/lab", `why` what a reader must know."""

    name: str
    where: Where
    outcome: LabOutcome
    why: str = ""
    seconds: float = 0.0


def missing(trail: Trail, expected: Sequence[tuple[str, str]]) -> str | None:
    """What of `expected` the Trail does not have, in words; None where all of it is there, in reading order."""
    hops = list(walk(trail.hops))
    at = 0
    for number, (kind, name) in enumerate(expected):
        found = next((n for n in range(at, len(hops)) if _is(hops[n], kind, name)), None)
        if found is None:
            return _why(hops, at, kind, name, number)
        at = found + 1
    return None


def _why(hops: Sequence[Hop], at: int, kind: str, name: str, number: int) -> str:
    what = f"hop {number + 1}, `{kind} {name}`, is not in the Trail"
    if any(_is(hop, kind, name) for hop in hops[:at]):
        return f"{what} after the one before it: it comes earlier"
    same = list(dict.fromkeys(f"{hop.kind} {hop.name}" for hop in hops if hop.kind == kind))[:_SHOWN]
    return f"{what}; of that kind there are {', '.join(same) or 'none'}"


def _is(hop: Hop, kind: str, name: str) -> bool:
    """Whether a hop is meant: by its whole name, or by what that ends in."""
    plain = hop.name.replace("(anonymous namespace)::", "")
    return hop.kind == kind and any(
        full == name or full.endswith((f"::{name}", f".{name}")) for full in (hop.name, plain)
    )
