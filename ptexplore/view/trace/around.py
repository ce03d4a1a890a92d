"""What stands around the rows of every view: findings, the signs' meaning, the next commands. It loads little."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence

from ptexplore.model import trace_remarks as says
from ptexplore.model.details import KnownAs, within
from ptexplore.model.trace import Trail, script_in
from ptexplore.model.trace_remarks import TraceRemark
from ptexplore.view.trace.page import NextStep, Options, ScreenRow
from ptexplore.view.words.legend import NOT_SEEN, SEVERAL
from ptexplore.view.words.reasons import sentence
from ptexplore.view.words.trace_remarks import worded

LONG = 200  # characters of a command that are worth repeating


def title_of(trail: Trail) -> str:
    """How what was traced is called: an expression by its text, a script by the name of its file."""
    return (
        os.path.basename(script_in(trail.expression) or trail.expression) if trail.traced.in_files else trail.expression
    )


def findings(trail: Trail) -> tuple[TraceRemark, ...]:
    """What must be known beside the rows: each once, with how often it was found."""
    counted = Counter((finding.kind, sentence(finding.told)) for finding in trail.findings)
    return tuple(
        says.Found(kind=kind, told=told, few=count if count > 1 else 0) for (kind, told), count in counted.items()
    )


def legend(trail: Trail, rows: Iterable[ScreenRow]) -> tuple[tuple[str, str], ...]:
    """The signs of these rows that are not words, each with what it says; only of those that are there."""
    rows = tuple(rows)
    marks = {row.mark for row in rows}
    out = []
    if "~" in marks:
        others = [tree for tree in trail.trees if tree.relation == "version-skew"]
        versions = tuple(dict.fromkeys(tree.version or tree.name for tree in others)) or (says.AnotherVersion(),)
        own = trail.torch.version.partition("+")[0]
        out.append(("~", worded(says.FoundByNameIn(versions=versions, own=own))))
    if "?" in marks:
        out.append(("?", SEVERAL))
    known = {detail.status for row in rows for detail in within(row.details) if isinstance(detail, KnownAs)}
    out += [(f"{status}:", means) for status, means in NOT_SEEN.items() if status in known]
    return tuple(out)


def again(options: Options) -> str:
    """What was typed, to type it again with more options."""
    repeated = shlex.join(options.command)
    return "the same command with" if "\n" in repeated or len(repeated) > LONG else repeated


def typed(options: Options, shows: TraceRemark | None, *more: str) -> NextStep:
    """A next command: what was typed, with more options; where Python asked, the Trail's own call that shows it."""
    told = worded(shows) if shows is not None else ""
    if not options.command:
        return NextStep(_in_python(more), told, in_python=True)
    return NextStep(f"{again(options)} {shlex.join(more)}".strip(), told)


_ARGUMENTS = {"--open": "opened", "--view": "view"}
_FLAGS = {"-v": "verbose=True", "--full": "full=True"}


def _in_python(more: Sequence[str]) -> str:
    """What stands for options in Python: arguments of a Trail's `text`; of what it raised, what is known of that."""
    if more[0] == "--explain":
        return "trail.ending"
    told, left = [], list(more)
    while left:
        option = left.pop(0)
        told.append(_FLAGS.get(option) or f"{_ARGUMENTS[option]}={left.pop(0)!r}")
    return f"trail.text({', '.join(told)})"
