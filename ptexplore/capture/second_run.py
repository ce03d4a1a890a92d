"""A script's second run, only with torch's profiler: compares it with the recorded run."""

from __future__ import annotations

import base64
import struct
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from ptexplore.capture.differences import OtherOrder, RunOperators, first_difference
from ptexplore.model import reasons as why
from ptexplore.model.messages import Effects
from ptexplore.model.observed import SecondRun
from ptexplore.model.program import Program
from ptexplore.model.program_order import units_by_thread
from ptexplore.model.reasons import Reason, reason_of

COMPARED = ("op", "node", "engine")
LONG = 60  # characters of a line that is shown


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """The compared parts of a run: its output, and the state that it left, as the probe reports them.

    If `left["uncompared"]` exists, it says why the operators cannot be compared.
    """

    printed: str
    is_cut: bool
    left: Effects


def compared(program: Program, recorded: ComparedRun, second: ComparedRun) -> SecondRun:
    """Compares the second run with the recorded one."""
    equal: list[Reason] = []
    different: list[Reason] = []
    uncompared = next((run.left["uncompared"] for run in (recorded, second) if "uncompared" in run.left), None)
    if uncompared is None:
        _compare_operators(program, second.left, equal, different)
    else:
        equal.append(why.NotCompared(reason_of(uncompared)))
    _compare_output(recorded, second, equal, different)
    for name, state in recorded.left["random"].items():
        if state != second.left["random"][name]:
            different.append(why.RandomStateDiffers(name))
    if recorded.left["random"] == second.left["random"]:
        equal.append(why.SameRandomStates())
    raised = [run.left["raised"] for run in (recorded, second)]
    if raised[0] == raised[1]:
        equal.append(why.SameEnding(raised[0][:LONG]) if raised[0] else why.BothToTheEnd())
    else:
        different.append(why.OtherEnding(*(why.Said(text[:LONG]) if text else why.ItsEnd() for text in raised)))
    compared = why.RanOtherwise(tuple(different)) if different else why.RanAlike(tuple(equal))
    return SecondRun(not different, compared)


def _compare_operators(program: Program, effects: Effects, equal: list[Reason], different: list[Reason]) -> None:
    recorded, beside = ([kind.name for unit in units for kind in unit if kind.type in COMPARED]
                        for units in units_by_thread(program, nodes_beside=effects["apart"]))  # fmt: skip
    names = list(_names(effects))
    plain = RunOperators(names[: effects["main"]], Counter(names[effects["main"] :]))
    differs = first_difference(RunOperators(recorded, Counter(beside)), plain)
    if isinstance(differs, OtherOrder):
        first, other = (why.NameAlone(name) if name is not None else why.TheEnd() for name in differs.names)
        many = why.HadCalls(len(plain.own)) if len(plain.own) != len(recorded) else None
        different.append(why.OtherCall(differs.position + 1, len(recorded), first, other, many))
    elif differs is not None:
        different.append(why.OtherCounts(differs.name, *differs.counts))
    else:
        equal.append(why.SameCalls(len(recorded), len(beside)))


def _names(effects: Effects) -> Iterator[str]:
    names: Sequence[str] = effects["names"]
    packed = zlib.decompress(base64.b64decode(effects["order"]))
    return (names[number] for (number,) in struct.iter_unpack("<I", packed))


def _compare_output(recorded: ComparedRun, second: ComparedRun, equal: list[Reason], different: list[Reason]) -> None:
    lines = zip_longest(recorded.printed.splitlines(), second.printed.splitlines())
    for number, (line, other) in enumerate(lines, 1):
        if line != other:
            shown = (why.Said(repr(text[:LONG])) if text is not None else why.NoLine() for text in (line, other))
            different.append(why.OtherOutput(number, *shown))
            return
    equal.append(why.SameOutput() if not recorded.is_cut else why.SameOutputKept())
