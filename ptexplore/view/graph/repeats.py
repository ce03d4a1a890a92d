"""Folds rows that repeat: twelve equal layers become one, with the number of rounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ptexplore.view.graph.layout import LaidOut

LONGEST = 200  # links of a chain that one round may have
LEAST = 2  # rounds that are folded
LEAST_SAVED = 3  # rows that folding must save


@dataclass(frozen=True, slots=True)
class RepeatedPart:
    """Rows that repeat: the rows of each round."""

    rounds: tuple[tuple[LaidOut, ...], ...]


def fold(rows: Sequence[LaidOut], shape: Callable[[LaidOut], object]) -> Iterator[RepeatedPart | LaidOut]:
    """Yields rows, and in place of equal parts that follow each other one `RepeatedPart`.

    `shape` is equal for rows that count as equal. A part is one or more links of the outermost chain, each with its
    branches.
    """
    links = _links(rows)
    known: dict[object, int] = {}
    shapes = [known.setdefault(tuple(map(shape, link)), len(known)) for link in links]
    at = 0
    while at < len(links):
        period, rounds = _repeated(shapes, at, links)
        if rounds < LEAST:
            yield from links[at]
            at += 1
            continue
        starts = range(at, at + period * rounds, period)
        yield RepeatedPart(tuple(tuple(row for link in links[s : s + period] for row in link) for s in starts))
        at += period * rounds


def _links(rows: Sequence[LaidOut]) -> list[tuple[LaidOut, ...]]:
    """Returns the links of the outermost chain: a row without lines on its left, and the branches below it."""
    links: list[list[LaidOut]] = []
    for row in rows:
        if not row.lead or not links:
            links.append([])
        links[-1].append(row)
    return [tuple(link) for link in links]


def _repeated(shapes: Sequence[int], at: int, links: Sequence[tuple[LaidOut, ...]]) -> tuple[int, int]:
    """Returns the length of the part that repeats from a link on, and its rounds: those that save most rows."""
    best, most = (1, 1), LEAST_SAVED - 1
    for period in range(1, min(LONGEST, (len(shapes) - at) // LEAST) + 1):
        if shapes[at] != shapes[at + period]:
            continue
        rounds = 1
        while shapes[at : at + period] == shapes[at + period * rounds : at + period * (rounds + 1)]:
            rounds += 1
        saved = sum(map(len, links[at : at + period])) * (rounds - 1)
        if rounds >= LEAST and saved > most:
            best, most = (period, rounds), saved
    return best
