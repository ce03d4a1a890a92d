"""What every view shows around its rows: findings, a legend of signs, and the next commands.

This module imports little.
"""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence

from ptexplore.model import trace_remarks as says
from ptexplore.model.reasons import TreeEnds
from ptexplore.model.trace import Trace, program_in
from ptexplore.model.trace_remarks import TraceRemark
from ptexplore.view.trace.page import NextStep, Options, ScreenRow
from ptexplore.view.words.commands import with_options
from ptexplore.view.words.legend import SEVERAL
from ptexplore.view.words.reasons import sentence
from ptexplore.view.words.trace_remarks import all_in_words, worded

LONG = 200  # characters; a longer command is not repeated


def title_of(trace: Trace) -> str:
    """Returns the title of a trace: the text of an expression; the file name of a script, or a module's name.

    Behind the name are the program's arguments.
    """
    if not trace.traced.in_files:
        return trace.expression
    ran = program_in(trace.expression)
    if ran is None:
        return os.path.basename(trace.expression)
    return shlex.join((ran.module or os.path.basename(ran.script), *ran.arguments))


def findings(trace: Trace, *, verbose: bool = True) -> tuple[TraceRemark, ...]:
    """Returns the findings that a reader must know, each once; a finding that occurs several times has a count.

    If one call of each of several kinds was stepped, the facts say how many of them were cut: only a `verbose` view has
    a finding for each.
    """
    words = (f for f in trace.findings if verbose or not (isinstance(f.told, TreeEnds) and f.told.op))
    counted = Counter((finding.kind, sentence(finding.told)) for finding in words)
    return tuple(
        says.Found(kind=kind, finding=words, few=count if count > 1 else 0) for (kind, words), count in counted.items()
    )


def legend(trace: Trace, rows: Iterable[ScreenRow]) -> tuple[tuple[str, str], ...]:
    """Returns a legend: each sign that occurs in these rows, with its meaning."""
    rows = tuple(rows)
    marks = {row.mark for row in rows}
    out = []
    if "~" in marks:
        others = [tree for tree in trace.trees if tree.relation == "version-skew"]
        versions = tuple(dict.fromkeys(tree.version or tree.name for tree in others)) or (says.AnotherVersion(),)
        own = trace.torch.version.partition("+")[0]
        out.append(("~", worded(says.FoundByNameIn(versions=versions, own=own))))
    if "?" in marks:
        out.append(("?", SEVERAL))
    return tuple(out)


# Remarks that explain figures, each with the words that it explains. `--explain legend` shows them: they are the same
# for every trace of a kind, and below the rows they would hide the remarks about this trace.
EXPLAINS: dict[type[TraceRemark], tuple[str, ...]] = {
    says.SharesOfPath: ("hidden rows",),
    says.PythonIn: ("Python functions",),
    says.PartsOfCall: ("in call",),
    says.RowsOrdered: ("order of rows",),
    says.BackwardMeans: ("backward",),
    says.SavedMeans: ("saved",),
    says.InstructionsMean: ("instr",),
    says.HowTimed: ("share", "time"),
    says.HowProgramTimed: ("share", "time"),
    says.DeviceMeans: ("device",),
    says.SharesOfStepped: ("share",),
    says.CallsAreRecorded: ("operator calls",),
    says.CountedTwice: ("nested calls",),
    says.FurtherCalls: ("≥",),
    says.TimesUnsure: ("≤",),
    says.LinesMean: ("line", "self"),
}


def about_this(remarks: Iterable[TraceRemark]) -> tuple[str, ...]:
    """Returns in words the remarks that are about this trace."""
    return all_in_words(remark for remark in remarks if type(remark) not in EXPLAINS)


def explained(remarks: Iterable[TraceRemark]) -> tuple[tuple[tuple[str, ...], str], ...]:
    """Returns the remarks that explain figures: the words that each explains, and their meaning."""
    return tuple((EXPLAINS[type(remark)], worded(remark)) for remark in remarks if type(remark) in EXPLAINS)


def to_legend(options: Options) -> tuple[NextStep, ...]:
    """Returns the next step that explains signs and columns; () in Python."""
    return (typed(options, says.SignsAndColumns(), "--explain", "legend"),) if options.command else ()


def again(command: Sequence[str], more: Sequence[str] = ()) -> str:
    """Returns a command line, so that the user can repeat it with more options."""
    repeated = shlex.join(command)
    if "\n" in repeated or len(repeated) > LONG:
        return f"the same command with {shlex.join(more)}".strip()
    return shlex.join(with_options(command, more))


def typed(options: Options, shows: TraceRemark | None, *more: str, runs: bool = False) -> NextStep:
    """Returns a next step: the command that shows this trace again, with the options `more` added.

    If `runs` is True the options need another run, so the step repeats the command that ran, if there is one. If a
    Python program asked, there is no command line: the step is then a call on the trace object that shows the same.
    """
    words = worded(shows) if shows is not None else ""
    if not options.command:
        return NextStep(_in_python(more), words, in_python=True)
    command = options.runs if runs and options.runs else options.command
    return NextStep(again(command, more), words)


_ARGUMENTS = {"--open": "opened", "--view": "view"}
_FLAGS = {"-v": "verbose=True", "--full": "full=True"}


def _in_python(more: Sequence[str]) -> str:
    """Returns the Python counterpart of options: a call of the trace's `text`, or its `ending` for `--explain`."""
    if more[0] == "--explain":
        return "trace.ending"
    arguments, left = [], list(more)
    while left:
        option = left.pop(0)
        arguments.append(_FLAGS.get(option) or f"{_ARGUMENTS[option]}={left.pop(0)!r}")
    return f"trace.text({', '.join(arguments)})"
