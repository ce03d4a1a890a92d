"""How the traced code ended, in lines: the place of the error, the innermost row, the reason and a remedy."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from ptexplore.model import details as says
from ptexplore.model import ending_remarks as remarks
from ptexplore.model.actions import TraceAgain
from ptexplore.model.details import Detail
from ptexplore.model.ending_remarks import EndingRemark
from ptexplore.model.places import EXPRESSION, SourceRef
from ptexplore.model.reasons import OnStack
from ptexplore.model.trace import (
    Cause,
    ComparedValue,
    EarlierError,
    Ending,
    FreedGraph,
    LeftFunction,
    MissingKernel,
    ModifiedTensor,
    RecordingCall,
    TensorSaver,
    Trace,
    TracedProgram,
    program_in,
    walk,
)
from ptexplore.safe_text import without_colours
from ptexplore.view.line import Line
from ptexplore.view.why_there import why_there
from ptexplore.view.words.actions import as_command
from ptexplore.view.words.causes import explained
from ptexplore.view.words.ending import ending_in_words
from ptexplore.view.words.reasons import given_in_words, how_in_words, sentence, value_in_words

COPY_SLICES = "CopySlices"  # the node that autograd puts around the node of a write in place through a view
STAGES = {
    "expression": remarks.TheExpression(),
    "backward": remarks.ItsBackward(),
    "script": remarks.TheScript(),
    "block": remarks.TheBlock(),
}
CPP = 4  # C++ functions shown if a signal ended the run
# Characters of a message that are shown. torch often names the value that failed at the end.
BEGINNING, END = 200, 280
MOST = 8  # Python functions that are shown
HINTS = 2  # hints from Dynamo that are shown
INNERMOST = 3  # at least so many of them are the innermost ones
RAISED_INSIDE = re.compile(r": got (\w+\((?:'.*'|\".*\"),?\))\.?$", re.MULTILINE)  # the error of the inlined code
# The node that autograd makes for a view whose base was changed in place (grad_fn of autograd/variable.cpp).
CALLING_FORWARD = {("torch/nn/modules/module.py", name) for name in ("_call_impl", "_wrapped_call_impl")}
AS_STRIDED = "AsStridedBackward0"
OF_STRIDES = "view-of-strides"  # the code of a cause
# Of t = torch.ones(2, 3).t(): the cells of its storage, and the index that leads to each.
EXAMPLE = ("cell  0    1    2    3    4    5", "t     0,0  1,0  2,0  0,1  1,1  2,1")


def message_of(ending: Ending) -> str:
    """Returns the message of an error; for a run that timed out, a sentence about the timeout."""
    return sentence(ending.over) if ending.over is not None else ending.message


def first_words(message: str) -> str:
    """Returns the start of an error message, up to the text that is the same for every such error."""
    paragraphs = without_colours(message).strip().split("\n\n")
    text = " ".join(paragraphs[: 1 + paragraphs[0].endswith(":")])  # a list follows
    text = text.partition(" This could be because")[0].partition(" Hint: ")[0]  # these have lines of their own
    title, explained, explanation = text.partition("\n  Explanation: ")  # Dynamo's
    if explained:
        inside = RAISED_INSIDE.search(explanation)
        text = f"{title.strip()}: {inside[1] if inside is not None else explanation}"
    return cut_in_the_middle(" ".join(text.split()))


def cut_in_the_middle(text: str, beginning: int = BEGINNING, end: int = END) -> str:
    """Returns a text without its middle, if it is long. Words stay whole where they can."""
    if len(text) <= beginning + end:
        return text
    first, last = text[:beginning], text[-end:]
    first = first.rpartition(" ")[0] or first
    return f"{first} … {last.partition(' ')[2] or last}"


def hints(message: str) -> tuple[str, ...]:
    """Returns Dynamo's hints in an error message, except the hints that all its errors have."""
    lines = (line.strip().removeprefix("Hint: ") for line in message.splitlines() if line.strip().startswith("Hint: "))
    return tuple(hint for hint in lines if not hint.startswith(("Please report", "It may be possible to write Dynamo")))


def summary(ending: Ending) -> EndingRemark:
    """Returns how the traced code ended, as one line."""
    stage, words = STAGES[ending.stage], message_of(ending)
    if ending.by == "signal":
        return remarks.Killed(stage=stage, signal=ending.exception, words=words)
    if ending.by == "exit":
        return remarks.Exited(stage=stage, by=ending.exception, words=words)
    if ending.by == "timeout":
        return remarks.TimedOut(stage=stage, words=words)
    handed, where = ending.handed, None
    if handed is not None:
        where = (
            remarks.RaisedElsewhere(where=handed.where) if handed.exception else remarks.CameFrom(where=handed.where)
        )
    words = first_words(handed.message if handed is not None else ending.message)
    return remarks.RaisedAtEnd(stage=stage, exception=ending.exception, where=where, words=words)


def left_here(trace: Trace, ending: Ending) -> tuple[Detail, ...]:
    """Returns the details for the innermost hop that the error propagated out of.

    A hop known only from the C++ stack does not show earlier calls, since these were no longer on the stack.
    """
    left = next((hop for hop in walk(trace.hops) if hop.id == ending.hop), None)
    is_on_stack = left is not None and OnStack() in left.why
    return (_left_by(ending), *((says.EndedBefore(),) if is_on_stack else ()))


def _left_by(ending: Ending) -> Detail:
    """Returns what ended the hop: a signal, an exit, a timeout or an error."""
    if ending.by == "signal":
        return says.KilledHere(signal=ending.exception)
    if ending.by == "exit":
        return says.ExitedHere(by=ending.exception)
    if ending.by == "timeout":
        return says.TimeOverHere()
    # A function that only hands an error on may raise another class: TorchScript's interpreter has one class for all
    # errors.
    return says.ErrorLeft(exception=ending.exception) if ending.handed is None else says.HandedErrorLeft()


def ending_lines(trace: Trace, shown: tuple[int, str] | None) -> tuple[Line, ...]:
    """Returns all lines about how the traced code ended, or () if it did not raise.

    `shown`: the hop number and title of the innermost shown row that the error propagated out of.
    """
    if trace.ending is None:
        return ()
    return (Line("warning", ending_in_words(summary(trace.ending))), *_details(trace, trace.ending, shown))


def line_of(remark: EndingRemark, source: SourceRef | None = None, *, indent: int = 1) -> Line:
    """Returns a remark as a line, with its place."""
    return Line("text" if source is None else "place", ending_in_words(remark), source, indent=indent)


def _details(trace: Trace, ending: Ending, shown: tuple[int, str] | None) -> Iterator[Line]:
    yield from _where(trace, ending)
    yield from _thrown(ending)
    yield from _step(trace, ending, shown)
    if ending.in_memory is not None:
        yield line_of(remarks.InMemory(words=sentence(ending.in_memory)))
    if ending.check:
        yield line_of(remarks.WhatFailed(check=ending.check))
    if ending.compared:
        yield line_of(remarks.ComparedAtEnd(values=tuple(map(compared_value, ending.compared))))
    if ending.handed is not None:
        yield from _left(remarks.RaisedThere if ending.handed.exception else remarks.YourCode, ending.handed.python)
    if not trace.traced.in_files or len(ending.python) > 1 or not any(map(_is_yours, ending.python)):
        innermost = remarks.PythonLeft if ending.by == "error" else remarks.WasInPython
        yield from _left(innermost, ending.python, ending.further)
    yield from map(earlier_line, ending.before)
    if ending.missing is not None:
        yield from missing_lines(ending.missing)
    if ending.modified is not None:
        yield from modified_lines(ending.modified)
        yield from _watched_again(trace, ending.modified)
    if ending.freed is not None:
        yield from freed_lines(ending.freed)
    yield from _advice(ending)


def _where(trace: Trace, ending: Ending) -> Iterator[Line]:
    """Yields where in your own code the error was raised: similar names, the call, your innermost line, the module."""
    if ending.close:
        yield line_of(remarks.DidYouMean(names=ending.close))
    if ending.call is not None and ending.call != trace.expression:
        yield line_of(remarks.InTheCall(call=ending.call))
    elsewhere = ending.handed.python if ending.handed is not None else ()
    yours = next((left for left in (*elsewhere, *ending.python) if _is_yours(left)), None)
    if yours is not None and trace.traced.in_files:
        yield place_of_yours(yours)
    if ending.module:
        yield line_of(remarks.InModule(module=ending.module))


def place_of_yours(left: LeftFunction, text: str = "") -> Line:
    """Returns a line about a function of yours that the error propagated out of, with the text of its line."""
    function = named(left)
    return _at(remarks.YourLine(function=function or text), left.source, text if function else "")


def _step(trace: Trace, ending: Ending, shown: tuple[int, str] | None) -> Iterator[Line]:
    """Yields a line about the innermost hop that the error propagated out of, and the arguments of its operator."""
    steps = {hop.id: hop for hop in walk(trace.hops)}
    step = steps.get(ending.hop) if ending.hop is not None else None
    path = left_by_error(trace)
    held = path[: path.index(shown[0]) + 1] if shown is not None and shown[0] in path else path
    calls = [steps[number] for number in path if steps[number].kind == "op"]
    is_other = bool(calls) and calls[-1].id not in held  # an operator inside the named row
    if step is not None:
        kinds = ("op", "node")
        around = next((number for number in reversed(path) if steps[number].kind in kinds), step.id)
        outer = steps[around]
        number, title = shown or (around, (outer.op if outer.kind == "op" else None) or outer.name)
        # The same name may be a different call: vmap's kernel of an operator calls that operator again.
        is_inner = number != step.id and (is_other or step.name.rpartition("::")[2] not in title)
        inner = remarks.StepInside(step=f"[{step.id}]" if is_other else "", name=step.name) if is_inner else None
        yield line_of(remarks.LeftStep(step=f"[{number}]", title=title, inner=inner))
    if ending.given or ending.untold:
        given = tuple(remarks.ArgumentGiven(name=name, what=what) for name, what in given_in_words(ending))
        op = (calls[-1].op or calls[-1].name) if is_other else None
        yield line_of(
            remarks.GivenTo(op=op, arguments=given) if op is not None else remarks.ItWasGiven(arguments=given)
        )


def earlier_line(error: EarlierError) -> Line:
    """Returns the line of an earlier error that led to a later one."""
    made = remarks.RaisedFrom if error.is_cause else remarks.InHandling
    says_itself = remarks.ErrorSays(exception=error.exception, message=error.message)
    left = error.left
    remark = made(error=says_itself, function=named(left) if left is not None else "")
    return _at(remark, left.source if left is not None else None)


def _advice(ending: Ending) -> Iterator[Line]:
    """Yields the reasons and remedies: torch's own hints, then those of a rule that knows the message."""
    for hint in hints(ending.message)[:HINTS]:
        yield line_of(remarks.TorchsHint(hint=hint))
    yield from cause_lines(ending.cause)


def cause_lines(cause: Cause | None) -> Iterator[Line]:
    """Yields what a known message means, and how to fix it."""
    if cause is not None:
        means = explained(cause)
        yield line_of(remarks.Why(words=means.why))
        if cause.code == OF_STRIDES:
            yield from _drawn_example()
        if means.remedy:
            yield line_of(remarks.ToMend(words=means.remedy))
        for sign, remedy in means.cases:
            yield line_of(remarks.CaseIs(sign=sign))
            yield line_of(remarks.ToMendCase(words=remedy))


def _drawn_example() -> Iterator[Line]:
    """Yields the drawing of a transposed tensor, for which view raises the same error."""
    yield line_of(remarks.ForExample(makes="t = torch.ones(2, 3).t()", call="t.view(6)"))
    for line in EXAMPLE:
        yield line_of(remarks.CellsDrawn(line=line))


def _is_yours(left: LeftFunction) -> bool:
    """Whether a function is outside torch: in a file of yours or of another package."""
    return left.source.path is None and left.source.line is not None


def named(left: LeftFunction) -> str:
    """Returns a Python function's name with brackets. Names of modules and expressions (`<…>`) stay as they are."""
    return left.name if left.name.startswith("<") or not left.name else f"{left.name}()"


InnermostLeft: TypeAlias = type[remarks.PythonLeft | remarks.WasInPython | remarks.RaisedThere | remarks.YourCode]


def _left(innermost: InnermostLeft, python: Sequence[LeftFunction], further: int = 0) -> Iterator[Line]:
    """Yields the Python functions that the error propagated out of, innermost first.

    Functions that only call a module's forward are left out. If there are many, shows the innermost ones and yours, and
    counts the others.
    """
    known = [left for left in python if (left.source.path, left.name) not in CALLING_FORWARD] or list(python)
    yours = [number for number, left in enumerate(known) if left.source.path is None]
    most = MOST if len(known) <= MOST else max(MOST - len(yours), INNERMOST)
    chosen = sorted({*range(min(most, len(known))), *yours[: MOST - INNERMOST], *yours[-1:]})
    before = -1
    for number in chosen:
        if number - before > 1:
            yield line_of(remarks.MoreAround(few=number - before - 1))
        left, before = known[number], number
        yield _at((remarks.FurtherOut if number else innermost)(function=named(left)), left.source)
    rest = len(known) - 1 - before
    if rest or further:  # `--explain` shows the rest, but not the `further` ones
        yield line_of(remarks.MoreAround(few=rest + further, explained=not further))


def compared_value(value: ComparedValue) -> remarks.ValueCompared:
    """Returns a compared value and its meaning: "3, the size of dimension 1 of self"."""
    return remarks.ValueCompared(text=value.text, what=value_in_words(value), argument=value.argument)


def _thrown(ending: Ending) -> Iterator[Line]:
    if ending.by != "error":
        for number, name in enumerate(ending.stack[:CPP]):
            yield line_of((remarks.FurtherOut if number else remarks.InCpp)(function=name))
        if len(ending.stack) > CPP:
            yield line_of(remarks.MoreAround(few=len(ending.stack) - CPP, explained=True))
    elif how := how_in_words(ending):  # the function that threw may have been inlined into this one
        yield line_of(remarks.RaisedIn(function=ending.function, how=how), ending.source)
    elif ending.function:
        yield line_of(remarks.ThrownBy(function=ending.function), ending.source)
    elif not ending.python:
        yield line_of(remarks.ThrownBy(function=why_there(ending.source.reason) or remarks.NotKnown()))


def missing_lines(missing: MissingKernel) -> Iterator[Line]:
    """Yields why the dispatcher found no kernel, which keys have one, and what makes the call run."""
    if missing.key in missing.kernels:  # from a pasted message: this torch would not raise it
        yield line_of(remarks.KernelIsThere(op=missing.op, key=missing.key))
        return
    yield line_of(remarks.KernelMissing(op=missing.op, key=missing.key, arguments=missing.arguments))
    if missing.own:
        yield line_of(remarks.OwnKernels(keys=missing.own))
    if missing.default:
        of_cpu = tuple(key for key in missing.default if key.endswith("CPU"))
        yield line_of(remarks.DefaultKernel(few=len(missing.default), cpu=of_cpu))
    ways: list[EndingRemark] = []
    if missing.conversion is not None:
        ways.append(remarks.ConvertFirst(conversion=missing.conversion))
    ways.append(remarks.RegisterKernel(base=missing.op.partition("::")[2], key=missing.key))
    yield line_of(remarks.ToMakeItRun(ways=tuple(ways)))
    if missing.neighbour is not None and missing.neighbour_at is not None:
        yield line_of(remarks.NeighbourRegistered(op=missing.neighbour), missing.neighbour_at, indent=2)


def modified_lines(modified: ModifiedTensor) -> Iterator[Line]:
    """Yields all that is known about a saved tensor that was modified in place."""
    made = remarks.ResultOf(ordinal=modified.output, node=modified.node) if modified.node else remarks.ALeaf()
    recorded: EndingRemark | None = which_record(modified.makers)
    if modified.node in (AS_STRIDED, AS_STRIDED.removesuffix("Backward0")):
        recorded = remarks.ViewRecordedAnew()
    count = modified.version - modified.expected
    yield line_of(remarks.TheTensor(tensor=modified.tensor, made=made, recorded=recorded))
    since = remarks.Versions(saved=str(modified.expected), now=str(modified.version))
    if count > 0:
        yield line_of(
            remarks.ChangedInPlace(times=remarks.Once() if count == 1 else remarks.Times(few=count), since=since)
        )
    else:
        yield line_of(remarks.NoSuchVersions(since=since))
    if modified.saver is not None:
        yield from _written(modified, modified.saver)
    elif modified.writes:
        changed = remarks.ChangedBy if modified.certain else remarks.MayHaveChanged
        yield line_of(changed(operators=modified.writes))


def freed_lines(graph: FreedGraph) -> Iterator[Line]:
    """Yields which call recorded the freed node, which backward freed it, and which calls still led to it."""
    before = graph.recorded_after + 1 if graph.recorded_after is not None else None
    yield _of_call(remarks.TheNode(node=graph.node, operator=graph.recorded.operator, ordinal=before), graph.recorded)
    yield _of_call(remarks.FreedBy(ordinal=graph.freed_by, few=graph.backwards), graph.freed)
    for position, call in enumerate(graph.uses):
        yield _of_call((remarks.UsedFurtherBy if position else remarks.UsedSinceBy)(operator=call.operator), call)
    if graph.names and graph.uses:
        yield line_of((remarks.HeldBy if graph.exact else remarks.LedToBy)(names=graph.names))


def _of_call(remark: EndingRemark, call: RecordingCall) -> Line:
    """Returns a line about a place that recorded nodes or ran backward."""
    return _at(remark, call.source, call.text, call.function, exact=call.exact)


def which_record(operators: tuple[str, ...]) -> EndingRemark | None:
    """Names the operators that record such a node. derivatives.yaml has only their plain forms."""
    return remarks.WhichRecord(operators=operators) if operators else None


def _written(modified: ModifiedTensor, saver: TensorSaver) -> Iterator[Line]:
    """Yields who saved the tensor and who wrote to it since: as seen in a separate run, or as concluded."""
    node: EndingRemark | str = saver.node or remarks.ANode()
    # CopySlices itself saves nothing (torch/csrc/autograd/functions/tensor.h).
    if isinstance(node, str) and node.rpartition("::")[2] == COPY_SLICES:
        node = remarks.NodeInsideOf(node=node)
    saved = remarks.SavedBy(node=node, recorded=which_record(saver.operators))
    yield _at(saved, saver.source, saver.text, saver.function, exact=saver.exact)
    if not modified.certain and modified.writers:
        count = modified.version - modified.expected
        yield line_of(remarks.MayBeFrom(operators=str(len(modified.writers)), writes=str(count)))
    for number, writer in enumerate(modified.writers[:MOST]):
        passed = remarks.VersionsPassed(before=str(writer.before), after=str(writer.after))
        made = remarks.FirstWriter if not number and modified.certain else remarks.FurtherWriter
        wrote = made(operators=writer.operators, versions=passed if modified.certain else None)
        yield _at(wrote, writer.source, writer.text, writer.function, exact=writer.exact)
    if len(modified.writers) > MOST:
        yield line_of(remarks.MoreWriters(few=len(modified.writers) - MOST))
    if not modified.watched and modified.certain:
        yield line_of(remarks.WritersDerived())


def _watched_again(trace: Trace, modified: ModifiedTensor) -> Iterator[Line]:
    """Yields the command of a further run that would show who wrote to the tensor, if no run proved it yet."""
    if not trace.traced.asked_again or (modified.saver is not None and modified.watched):
        return
    if any(finding.kind == "unwatched" for finding in trace.findings):
        return
    program = program_in(trace.expression) or TracedProgram(script="FILE")
    command = as_command(TraceAgain(program.script, program.module, program.arguments))
    is_known = modified.saver is not None and modified.certain
    yield line_of((remarks.ToSeeWriters if is_known else remarks.WhoWrote)(command=command))


def _at(
    remark: EndingRemark, source: SourceRef | None, text: str = "", function: str = "", *, exact: bool = True
) -> Line:
    """Returns a line about a place in your Python code: its text, its function and where it is."""
    called = f"{function}{'' if function.startswith('<') else '()'}"
    if not exact:
        remark = remarks.SomewhereIn(of=remark, function=called)
    elif text:
        is_named = function and not function.startswith("<")
        remark = remarks.WrittenAt(of=remark, text=text, function=called if is_named else "")
    if source is None or (source.path is None and source.line is None):
        return line_of(remark)
    if source.path is None:  # a line of a script, of the setup or of the expression
        is_expression = source.outside == EXPRESSION
        where = f"{source.outside}:{source.line}" if not is_expression else ""
        where = ending_in_words(remarks.TheExpression()) if is_expression and not text else where
        return Line("text", f"{ending_in_words(remark)}  {where}".rstrip(), indent=1)
    return line_of(remark, source)


def left_by_error(trace: Trace) -> list[int]:
    """Returns the ids of the hops that the error propagated out of, outermost first."""
    if trace.ending is None or trace.ending.hop is None:
        return []
    callers = {child.id: hop.id for hop in walk(trace.hops) for child in hop.children}
    path = [trace.ending.hop]
    while path[-1] in callers:
        path.append(callers[path[-1]])
    return path[::-1]
