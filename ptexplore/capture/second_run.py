"""A script's second run, under torch's profiler alone, beside the recorded one: whether both did the same."""

from __future__ import annotations

import base64
import struct
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from ptexplore.capture.differences import OtherOrder, RunOperators, first_difference
from ptexplore.capture.program import units_by_thread
from ptexplore.model.program import Program

TWICE = "twice"
COMPARED = ("op", "node", "engine")
LONG = 60  # characters of a line that is shown
NOBODY_KNOWS = "recording may have changed it, or the script does not do the same twice"


@dataclass(frozen=True, slots=True)
class Run:
    """What is compared of a run: what it printed, and what it left behind, as the probe tells it.

    `left["uncompared"]`, where it is there, says why its operators cannot be compared.
    """

    printed: str
    is_cut: bool
    left: Mapping[str, Any]


def compared(program: Program, recorded: Run, second: Run) -> dict[str, Any]:
    """The data of an observation of kind `twice`."""
    equal: list[str] = []
    different: list[str] = []
    uncompared = next((run.left["uncompared"] for run in (recorded, second) if "uncompared" in run.left), None)
    if uncompared is None:
        _compare_operators(program, second.left, equal, different)
    else:
        equal.append(f"operators not compared, since {uncompared}")
    _compare_output(recorded, second, equal, different)
    for name, state in recorded.left["random"].items():
        if state != second.left["random"][name]:
            different.append(f"the state of {name}'s random numbers differs at the end")
    if recorded.left["random"] == second.left["random"]:
        equal.append("the same states of random numbers")
    ends = [run.left["raised"] or "its end" for run in (recorded, second)]
    if ends[0] == ends[1]:
        equal.append(f"the same ending ({ends[0][:LONG]})" if recorded.left["raised"] else "to its end")
    else:
        different.append(f"the recorded run came to {ends[0][:LONG]}, the second one to {ends[1][:LONG]}")
    how = "run a second time under torch's profiler alone"
    if not different:
        return {"equal": True, "text": f"{how}: {', '.join(equal)}"}
    return {"equal": False, "text": f"{how}: {'; '.join(different)} ({NOBODY_KNOWS})"}


def _compare_operators(program: Program, told: Mapping[str, Any], equal: list[str], different: list[str]) -> None:
    recorded, beside = ([kind.name for unit in units for kind in unit if kind.type in COMPARED]
                        for units in units_by_thread(program, nodes_beside=told["apart"]))  # fmt: skip
    names = list(_names(told))
    plain = RunOperators(names[: told["main"]], Counter(names[told["main"] :]))
    differs = first_difference(RunOperators(recorded, Counter(beside)), plain)
    if isinstance(differs, OtherOrder):
        name, other = (name or "the end" for name in differs.names)
        many = f", which had {len(plain.own):,} calls" if len(plain.own) != len(recorded) else ""
        was = f"{name} in the recorded run, {other} in the second one{many}"
        of = f"of {len(recorded):,} calls of operators, nodes and the engine"
        different.append(f"number {differs.position + 1:,} {of} was {was}")
        return
    if differs is not None:
        often = f"{differs.counts[0]:,} times in the recorded run, {differs.counts[1]:,} times in the second one"
        different.append(f"{differs.name} ran in other threads {often}")
        return
    apart = f", and {len(beside):,} in other threads, each as often" if beside else ""
    equal.append(f"{len(recorded):,} calls of operators, nodes and the engine in the same order{apart}")


def _names(told: Mapping[str, Any]) -> Iterator[str]:
    names: Sequence[str] = told["names"]
    packed = zlib.decompress(base64.b64decode(told["order"]))
    return (names[number] for (number,) in struct.iter_unpack("<I", packed))


def _compare_output(recorded: Run, second: Run, equal: list[str], different: list[str]) -> None:
    lines = zip_longest(recorded.printed.splitlines(), second.printed.splitlines())
    for number, (line, other) in enumerate(lines, 1):
        if line != other:
            shown = [repr(text[:LONG]) if text is not None else "nothing" for text in (line, other)]
            different.append(
                f"line {number} of the output was {shown[0]} in the recorded run, {shown[1]} in the second"
            )
            return
    equal.append("the same output" if not recorded.is_cut else "the same output as far as it was kept")
