"""The token or lines that an anchor means inside its symbol: found for certain, or said not to be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ptexplore.annotations.candidates import Candidate
from ptexplore.annotations.fingerprint import Token, fingerprint, places
from ptexplore.annotations.lock import Entry
from ptexplore.annotations.records import Anchor


@dataclass(frozen=True, slots=True)
class Target:
    """First and last line of what is meant; `why` is set where that is the whole symbol for want of anything surer."""

    first: int
    last: int
    why: str = ""


def target(anchor: Anchor, one: Candidate, found: Sequence[Token], entry: Entry | None) -> Target | None:
    """What the anchor means inside `one`, whose tokens are `found`; None where it never was there.

    In a symbol whose text is the baseline's own, places count as written. In one that changed they hold only where the
    tokens on those lines are the same and stand there once, or the anchor's token stood and stands there once.
    """
    if anchor.token is None and anchor.lines is None:
        return Target(one.line, one.end)
    whole = Target(one.line, one.end)
    if entry is None or not entry.at:
        return _as_written(anchor, one, found)
    same = fingerprint(found) == entry.hash
    if same and (anchor.token is not None or not entry.near):
        return _as_written(anchor, one, found)
    if same and anchor.lines is not None:
        written = _as_written(anchor, one, found)
        if written is not None and fingerprint(on_lines(found, written)) == entry.near:
            return written
    if entry.near:
        matches = places(found, entry.near, entry.size)
        if len(matches) == 1:
            return Target(*matches[0])
    return _single(anchor, found, entry) or Target(whole.first, whole.last, _why(anchor, found))


def _single(anchor: Anchor, found: Sequence[Token], entry: Entry) -> Target | None:
    lines = occurrences(found, anchor.token)
    return Target(lines[0], lines[0]) if anchor.token and entry.count == len(lines) == 1 else None


def _why(anchor: Anchor, found: Sequence[Token]) -> str:
    if anchor.token is None:
        return "the lines meant are not there as they were: this is the whole symbol"
    count = len(occurrences(found, anchor.token))
    times = f"stands there {count} times, and which is meant cannot be told" if count else "is not there any more"
    return f"{anchor.token} {times}: this is the whole symbol"


def _as_written(anchor: Anchor, one: Candidate, found: Sequence[Token]) -> Target | None:
    if anchor.token is not None:
        lines = occurrences(found, anchor.token)
        if len(lines) < anchor.occurrence:
            return None
        line = lines[anchor.occurrence - 1]
        return Target(line, line)
    assert anchor.lines is not None
    first, last = one.line + anchor.lines[0], one.line + anchor.lines[1]
    return Target(first, last) if one.begin <= first and last <= one.end else None


def occurrences(found: Sequence[Token], token: str | None) -> list[int]:
    """The lines on which an identifier stands, once for each time."""
    return [one.line for one in found if one.text == token]


def on_lines(found: Sequence[Token], where: Target) -> list[Token]:
    """The tokens on the lines of a target."""
    return [one for one in found if where.first <= one.line <= where.last]
