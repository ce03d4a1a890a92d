"""Labs of tours: the code that a lab runs, the command that shows its trace, and whether the result is as expected."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ptexplore.annotations.records import Lab, Where
from ptexplore.model.trace import Hop, Trace, walk
from ptexplore.view.line import Tone

LabOutcome = Literal["passed", "failed", "untrusted"]
LAB_TONES: dict[LabOutcome, Tone] = {"passed": "good", "failed": "bad", "untrusted": "doubt"}  # the style of the word
_SHOWN = 8  # at most so many hops are named in a failure


@dataclass(frozen=True, slots=True)
class LabResult:
    """How one lab ended. `name` is "tour#stop/lab"; `why` is a remark for the reader.

    `value` is the value as Python shows it, "" if there is none. `steps` are the expected hops ("kind name"), if the
    trace has all of them. `answer` is the choice that the trace has first after the given steps.
    """

    name: str
    where: Where
    outcome: LabOutcome
    why: str = ""
    seconds: float = 0.0
    value: str = ""
    steps: tuple[str, ...] = ()
    answer: str = ""

    @property
    def has_result(self) -> bool:
        """Whether there is something to compare a prediction with."""
        return bool(self.value or self.steps)

    @property
    def time(self) -> str:
        """How long it ran, to put after the outcome; "" if it did not run."""
        return f" ({self.seconds:.1f} s)" if self.outcome != "untrusted" else ""


@dataclass(frozen=True, slots=True)
class EditedRun:
    """What a lab gave after the reader edited its expression: its value, or steps of its trace ("kind name")."""

    value: str = ""
    steps: tuple[str, ...] = ()
    failed: str | None = None


_STEP_KINDS = ("op", "key", "kernel", "impl", "node", "launch")
_MOST_STEPS = 40


def steps_of(trace: Trace) -> tuple[str, ...]:
    """Returns the first steps of a trace of the kinds that labs ask about."""
    steps = [f"{hop.kind} {hop.name}" for hop in walk(trace.hops) if hop.kind in _STEP_KINDS]
    rest = len(steps) - _MOST_STEPS
    return (*steps[:_MOST_STEPS], *([f"… and {rest} more"] if rest > 0 else []))


def missing(trace: Trace, expected: Sequence[tuple[str, str]]) -> str | None:
    """Returns which expected hop the trace lacks, in words; None if it has all of them, in order."""
    hops = list(walk(trace.hops))
    at = 0
    for number, (kind, name) in enumerate(expected):
        place = _next(hops, at, kind, name)
        if place is None:
            return _why(hops, at, kind, name, number)
        at = place + 1
    return None


def following(trace: Trace, lab: Lab) -> str:
    """Returns the choice of a lab that its trace has first after the given steps; "" if there is none."""
    hops = list(walk(trace.hops))
    at = 0
    for kind, name in lab.trace[: lab.given]:
        place = _next(hops, at, kind, name)
        if place is None:
            return ""
        at = place + 1
    steps = [choice.partition(" ") for choice in lab.choices] if lab.asks_for_step else []
    for hop in hops[at:]:
        for kind, _, name in steps:
            if _is(hop, kind, name):
                return f"{kind} {name}"
    return ""


def _next(hops: Sequence[Hop], at: int, kind: str, name: str) -> int | None:
    """Returns the number of the next hop from `at` on with that kind and name."""
    return next((number for number in range(at, len(hops)) if _is(hops[number], kind, name)), None)


def _why(hops: Sequence[Hop], at: int, kind: str, name: str, number: int) -> str:
    missed = f"hop {number + 1}, `{kind} {name}`, is not in the trace"
    if any(_is(hop, kind, name) for hop in hops[:at]):
        return f"{missed} after the hop before it, but comes earlier"
    same = list(dict.fromkeys(f"{hop.kind} {hop.name}" for hop in hops if hop.kind == kind))[:_SHOWN]
    return f"{missed}; the hops of that kind are {', '.join(same) or 'none'}"


def _is(hop: Hop, kind: str, name: str) -> bool:
    """Whether a hop has that kind and name. The name may be the end of the hop's name."""
    plain = hop.name.replace("(anonymous namespace)::", "")
    return hop.kind == kind and any(
        full == name or full.endswith((f"::{name}", f".{name}")) for full in (hop.name, plain)
    )


def lab_code(lab: Lab) -> list[str]:
    """Returns a lab's code as a user would type it: the preparation, then the expression."""
    lines = [line for code in lab.setup for line in code.split("\n")]
    lines += [f"{name} = {value}" for name, value in lab.variables]
    indent = ""
    for context in lab.contexts:
        lines.append(f"{indent}with {context}:")
        indent += "    "
    return [*lines, *(f"{indent}{line}" for line in lab.run.strip().split("\n"))]


def lab_facts(lab: Lab) -> str:
    """Returns remarks on how a lab runs beyond its code."""
    given = "bound tensors require grad" if lab.grad and not lab.backward else ""
    return "then backward, on tensors that require grad" if lab.backward else given


def trace_command(lab: Lab) -> str | None:
    """Returns the command that shows a lab's whole trace; None if it is too long to type."""
    run = lab.run.strip()
    command = ["ptexplore", "trace", f"({run})" if run.startswith("-") else run]
    for flag, values in (
        ("--var", [f"{name}={value}" for name, value in lab.variables]),
        ("--setup", lab.setup),
        ("--with", lab.contexts),
    ):
        command += [part for value in values for part in (flag, value)]
    command += ["--backward"] if lab.backward else ["--grad"] if lab.grad else []
    shown = shlex.join(command)
    at_a_glance = shown.isascii() and shown.isprintable() and "   " not in shown  # users paste it
    return shown if lab.trace and at_a_glance and len(shown) <= 200 else None
