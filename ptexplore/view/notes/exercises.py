"""Exercises as lines to show: the list, the text of one, and how a solution did."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping

from ptexplore.annotations.exercises import Exercise
from ptexplore.annotations.progress import ReadingProgress
from ptexplore.model.judged import JudgedSolution, WrongCase
from ptexplore.view.line import Span

Spans = tuple[Span, ...]
_LONGEST = 1000  # characters of an argument of a case

_DIED = {
    "late": "it did not end in time: 20 seconds of processor time, 40 seconds in all",
    "silent": "its process ended without a result",
}


def file_of(exercise: Exercise) -> str:
    """Returns the name of the file that an exercise is opened as."""
    return f"exercise_{exercise.id.replace('-', '_')}.py"


def list_lines(exercises: Mapping[str, Exercise], progress: ReadingProgress) -> Iterator[Spans]:
    """Yields a line for each exercise: whether it is built, its name, its title, the stop before it."""
    width = max(map(len, exercises), default=0)
    for name, exercise in exercises.items():
        built = name in progress.built
        yield ((
            Span("[x] " if built else "[ ] ", "observed" if built else "dim"), Span(f"{name:<{width}}  ", "name"),
            Span(exercise.title), Span(f"  after {exercise.tour}", "dim"),
        ))  # fmt: skip


def result_lines(exercise: Exercise, judged: JudgedSolution) -> Iterator[Spans]:
    """Yields how a solution did, the first case that differs, and the command that shows PyTorch at that case."""
    tone = "observed" if judged.passed else "unknown"
    count = f"{judged.right:,} of {judged.cases:,} cases right"
    against = f"  against torch {judged.torch}"
    if judged.rules_of:
        against = f"  against the rules of torch {judged.rules_of}: torch {judged.torch} has no CUDA device here"
    yield ((Span(exercise.id, "name"), Span(f"  {count}", tone), Span(against, "dim")))
    ended = _DIED.get(judged.died, f"its process was ended by {judged.died}") if judged.died else judged.raised
    if ended:
        yield ((Span(f"  {ended}", "cut"),))
    if judged.first is not None:
        yield from _case_lines(exercise, judged.first, "rules" if judged.rules_of else "torch")
    if judged.printed.strip():
        yield ((Span("  it printed", "dim"),))
        yield from ((Span(f"    {line}"),) for line in judged.printed.rstrip().split("\n")[:20])


def _case_lines(exercise: Exercise, wrong: WrongCase, real: str) -> Iterator[Spans]:
    yield ((Span(f"  the first case that differs (number {wrong.number + 1:,})", "dim"),))
    rows = [(name, _cut(json.dumps(value))) for name, value in wrong.case.items()]
    rows += [("yours", json.dumps(wrong.result) if wrong.gave else "no result"), (real, json.dumps(wrong.wanted))]
    width = max(len(name) for name, _value in rows)
    for name, value in rows:
        yield ((Span(f"    {name:<{width}}  ", "dim"), Span(value, "name" if name in ("yours", real) else "")))
    command = _COMMANDS.get(exercise.judge)
    if command is not None:
        yield ((Span("  what torch does: ", "dim"), Span(shlex.join(command(wrong.case)), "name")))


def _cut(text: str) -> str:
    """Returns a text that fits, such as the beginning of a file in base64. `--json` has all of it."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 4]}… ({len(text):,} characters; --json has all)"


def _view_command(case: Mapping[str, object]) -> list[str]:
    made = f"torch.empty_strided({case['sizes']}, {case['strides']})"
    return ["ptexplore", "trace", f"x.view({case['shape']})", "--var", f"x={made}"]


def _broadcast_command(case: Mapping[str, object]) -> list[str]:
    command = ["ptexplore", "trace", "torch.add(x, y)"]
    for name, side in (("x", "left"), ("y", "right")):
        match case[side]:
            case [sizes, strides]:
                command += ["--var", f"{name}=torch.empty_strided({sizes}, {strides})"]
    return command


# For some judges: the command that traces the real call of a case.
_COMMANDS: Mapping[str, Callable[[Mapping[str, object]], list[str]]] = {
    "view": _view_command, "broadcast": _broadcast_command,
}  # fmt: skip
