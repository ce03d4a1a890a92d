"""The heading and the meaning of each weight of a table (`model/run.py::Weighed`)."""

from __future__ import annotations

from typing import NamedTuple

_SAVED = "bytes kept for backward; each storage counts once, for the operator that saved it first"
_DEVICE = "the time that a device took for everything launched inside a row"


class WeightWords(NamedTuple):
    """The words for a weight."""

    heading: str  # of its column
    in_program: str  # its meaning in a program
    in_expression: str  # the same in an expression


ENGLISH: dict[str, WeightWords] = {
    "cost": WeightWords(
        "time",
        "wall-clock time of all calls together, without the profile function, but with the profiler's own cost; a "
        "node's time includes the engine's adding of gradients after it",
        "the time of the operator calls and nodes inside a row; each is the fastest of the warm runs",
    ),
    "backward": WeightWords(
        "backward",
        "the time of the backward nodes that its operators recorded",
        "the cost, in the same unit, of the backward nodes that its operators recorded",
    ),
    "calls": WeightWords(
        "calls",
        "how often it was called",
        "how often it was called, without calls in backward (of a checkpoint)",
    ),
    "operators": WeightWords(
        "ops",
        "operators that Python called inside; in backward also operators that nodes and the engine called",
        "operators that Python called inside, except those that an operator called through Python; in backward also "
        "operators that nodes and the engine called",
    ),
    "saved": WeightWords("saved", _SAVED, _SAVED),
    "device": WeightWords("device", _DEVICE, _DEVICE),
}

OF_ONE = {"calls": "call", "ops": "op"}  # a heading in the singular, where it differs


def in_programs() -> dict[str, str]:
    """Returns the meaning of each heading in a program."""
    return {words.heading: words.in_program for words in ENGLISH.values()}


def in_expressions() -> dict[str, str]:
    """Returns the meaning of each heading in an expression."""
    return {words.heading: words.in_expression for words in ENGLISH.values()}
