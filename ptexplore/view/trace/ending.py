"""What the expression raised, in lines: where it was thrown, which step it left, why, and what makes it run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ptexplore.model import details as says
from ptexplore.model.actions import TraceAgain
from ptexplore.model.details import Detail
from ptexplore.model.places import SourceRef
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
    Trail,
    script_in,
    walk,
)
from ptexplore.resolve.python_places import EXPRESSION
from ptexplore.view.line import Line
from ptexplore.view.why_there import why_there
from ptexplore.view.words.actions import as_command
from ptexplore.view.words.causes import explained
from ptexplore.view.words.reasons import given_in_words, how_in_words, sentence, value_in_words

COPY_SLICES = "CopySlices"  # the node around that of a write in place through a view
STAGES = {
    "expression": "the expression",
    "backward": "its backward",
    "script": "the script",
    "block": "what was recorded",
}
# By what ended the run: how it did, and what is said where it did.
ENDED = {"signal": "was killed by {}", "exit": "ended its own process by {}", "timeout": "was ended by --timeout"}
CPP = 4  # functions of C++ that are shown where a signal came
LONGEST = 300  # characters of a message that are shown
MOST = 8  # Python functions that are shown
HINTS = 2  # of Dynamo's
INNERMOST = 3  # of them, at least, the innermost
RAISED_INSIDE = re.compile(r": got (\w+\((?:'.*'|\".*\"),?\))\.?$", re.MULTILINE)  # what Dynamo got of what it ran
# The node that autograd makes itself for a view whose base was changed in place (grad_fn of autograd/variable.cpp).
CALLING_FORWARD = {("torch/nn/modules/module.py", name) for name in ("_call_impl", "_wrapped_call_impl")}
AS_STRIDED = "AsStridedBackward0"


def message_of(ending: Ending) -> str:
    """An error's own words; of a run whose time was over, what is said of that."""
    return sentence(ending.over) if ending.over is not None else ending.message


def first_words(message: str) -> str:
    """What an error says first: up to where it goes on with what is true of every such error."""
    paragraphs = message.strip().split("\n\n")
    text = " ".join(paragraphs[: 1 + paragraphs[0].endswith(":")])  # which a list follows
    text = text.partition(" This could be because")[0].partition(" Hint: ")[0]  # what is told below, and torch's advice
    title, explained, explanation = text.partition("\n  Explanation: ")  # of Dynamo's
    if explained:
        inside = RAISED_INSIDE.search(explanation)
        text = f"{title.strip()}: {inside[1] if inside is not None else explanation}"
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def hints(message: str) -> tuple[str, ...]:
    """What Dynamo advises in its errors, but for what it advises in all of them."""
    told = (line.strip().removeprefix("Hint: ") for line in message.splitlines() if line.strip().startswith("Hint: "))
    return tuple(hint for hint in told if not hint.startswith(("Please report", "It may be possible to write Dynamo")))


def summary(ending: Ending) -> str:
    """What was raised, in one line."""
    if ending.by != "error":
        words = message_of(ending)
        told = f": {words}" if words else ""
        return f"{STAGES[ending.stage]} {ENDED[ending.by].format(ending.exception)}{told}"
    handed = ending.handed
    words = first_words(handed.message if handed is not None else ending.message)
    where = ""
    if handed is not None:
        where = f", which was raised in {handed.where}" if handed.exception else f", in {handed.where}"
    return f"{STAGES[ending.stage]} raised {ending.exception}{where}{f': {words}' if words else ''}"


def left_here(trail: Trail, ending: Ending) -> tuple[Detail, ...]:
    """What is said at the innermost step that was left.

    A step that only C++'s stack tells of stands without what was called before it: that had left the stack.
    """
    left = next((hop for hop in walk(trail.hops) if hop.id == ending.hop), None)
    is_on_stack = left is not None and OnStack() in left.why
    return (_left_by(ending), *((says.EndedBefore(),) if is_on_stack else ()))


def _left_by(ending: Ending) -> Detail:
    """What left the step."""
    if ending.by == "signal":
        return says.KilledHere(signal=ending.exception)
    if ending.by == "exit":
        return says.ExitedHere(by=ending.exception)
    if ending.by == "timeout":
        return says.TimeOverHere()
    # What only hands an error on may be of another class: TorchScript's interpreter has one class for all.
    return says.ErrorLeft(exception=ending.exception) if ending.handed is None else says.HandedErrorLeft()


def ending_lines(trail: Trail, shown: tuple[int, str] | None) -> tuple[Line, ...]:
    """What is known of what the expression raised; () where it raised nothing.

    `shown` are number and title of the innermost row of those that it left.
    """
    if trail.ending is None:
        return ()
    return (Line("warning", summary(trail.ending)), *_details(trail, trail.ending, shown))


def _details(trail: Trail, ending: Ending, shown: tuple[int, str] | None) -> Iterator[Line]:
    yield from _where(trail, ending)
    yield from _thrown(ending)
    yield from _step(trail, ending, shown)
    if ending.check:
        yield Line("text", f"what failed   {ending.check}", indent=1)
    if ending.compared:
        yield Line("text", f"compared      {'; '.join(map(compared_value, ending.compared))}", indent=1)
    if ending.handed is not None:
        yield from _left("raised there" if ending.handed.exception else "your code", ending.handed.python)
    if not trail.traced.in_files or len(ending.python) > 1 or not any(map(_is_yours, ending.python)):
        yield from _left("Python left" if ending.by == "error" else "in Python", ending.python, ending.further)
    for earlier in ending.before:
        yield from _earlier(earlier)
    if ending.missing is not None:
        yield from missing_lines(ending.missing)
    if ending.modified is not None:
        yield from modified_lines(ending.modified)
        yield from _watched_again(trail, ending.modified)
    if ending.freed is not None:
        yield from freed_lines(ending.freed)
    yield from _advice(ending)


def _where(trail: Trail, ending: Ending) -> Iterator[Line]:
    """Where in your own code it was: names near a misspelt one, the call, your innermost line, the module."""
    if ending.close:
        yield Line("text", f"did you mean  {' or '.join(ending.close)}?", indent=1)
    if ending.call is not None and ending.call != trail.expression:
        yield Line("text", f"in the call   {ending.call}", indent=1)
    elsewhere = ending.handed.python if ending.handed is not None else ()
    yours = next((left for left in (*elsewhere, *ending.python) if _is_yours(left)), None)
    if yours is not None and trail.traced.in_files:
        yield place_of_yours("your line    ", yours)
    if ending.module:
        yield Line("text", f"in module     {ending.module}", indent=1)


def place_of_yours(label: str, left: LeftFunction) -> Line:
    """A line about a function of your own that an error left."""
    return _at(f"{label} {named(left)}", "", "", left.source)


def _step(trail: Trail, ending: Ending, shown: tuple[int, str] | None) -> Iterator[Line]:
    """The innermost step that was left, and what its operator was given."""
    steps = {hop.id: hop for hop in walk(trail.hops)}
    step = steps.get(ending.hop) if ending.hop is not None else None
    path = left_by_error(trail)
    held = path[: path.index(shown[0]) + 1] if shown is not None and shown[0] in path else path
    calls = [steps[number] for number in path if steps[number].kind == "op"]
    is_other = bool(calls) and calls[-1].id not in held  # an operator inside of the row that is named
    if step is not None:
        kinds = ("op", "node")
        around = next((number for number in reversed(path) if steps[number].kind in kinds), step.id)
        outer = steps[around]
        number, title = shown or (around, (outer.op if outer.kind == "op" else None) or outer.name)
        # The same name again may be that of another call, as of an operator that vmap calls in its own kernel.
        is_inner = number != step.id and (is_other or step.name.rpartition("::")[2] not in title)
        inner = f", in it {f'[{step.id}] ' if is_other else ''}{step.name}" if is_inner else ""
        yield Line("text", f"left step     [{number}] {title}{inner}", indent=1)
    if ending.given or ending.untold:
        given = ", ".join(f"{name}: {what}" for name, what in given_in_words(ending))
        of = f"given to      {calls[-1].op or calls[-1].name}: " if is_other else "it was given  "
        yield Line("text", f"{of}{given}", indent=1)


def _earlier(error: EarlierError) -> Iterator[Line]:
    """An error that led to the one after it."""
    how = "raised from   " if error.is_cause else "in handling   "
    words = f"{error.exception}: {error.message}" if error.message else error.exception
    if error.left is None:
        yield Line("text", f"{how}{words}", indent=1)
    else:
        yield _at(f"{how}{words}, raised in {named(error.left)}", "", "", error.left.source)


def _advice(ending: Ending) -> Iterator[Line]:
    """Why, and what mends it: by torch's own hints, and by a rule that knows the message."""
    for hint in hints(ending.message)[:HINTS]:
        yield Line("text", f"torch's hint  {hint}", indent=1)
    yield from cause_lines(ending.cause)


def cause_lines(cause: Cause | None) -> Iterator[Line]:
    """What a usual message means, and what mends it."""
    if cause is not None:
        told = explained(cause)
        yield Line("text", f"why           {told.why}", indent=1)
        if told.remedy:
            yield Line("text", f"to mend it    {told.remedy}", indent=1)
        for sign, remedy in told.cases:
            yield Line("text", f"if            {sign}", indent=1)
            yield Line("text", f"  to mend it  {remedy}", indent=1)


def _is_yours(left: LeftFunction) -> bool:
    """Whether a function is in a file of the user's own, or is one of other packages."""
    return left.source.path is None and left.source.line is not None


def named(left: LeftFunction) -> str:
    """A Python function's name with brackets; that of a module or an expression without."""
    return left.name if left.name.startswith("<") or not left.name else f"{left.name}()"


def _left(label: str, python: Sequence[LeftFunction], further: int = 0) -> Iterator[Line]:
    """The Python functions that were left, innermost first, without those by which a module comes to its forward.

    Of many the innermost and your own: what is neither is counted.
    """
    told = [left for left in python if (left.source.path, left.name) not in CALLING_FORWARD] or list(python)
    yours = [number for number, left in enumerate(told) if left.source.path is None]
    most = MOST if len(told) <= MOST else max(MOST - len(yours), INNERMOST)
    chosen = sorted({*range(min(most, len(told))), *yours[: MOST - INNERMOST], *yours[-1:]})
    before = -1
    for number in chosen:
        if number - before > 1:
            yield Line("text", f"{'':12}  … {number - before - 1} more", indent=1)
        left, before = told[number], number
        yield _at(f"{label if not number else '':12}  {named(left)}", "", "", left.source)
    rest = len(told) - 1 - before
    if rest or further:
        where = ": --explain error" if not further else ""  # which has no more than those
        yield Line("text", f"{'':12}  … {rest + further} more{where}", indent=1)


def compared_value(value: ComparedValue) -> str:
    """A value and what it is: "3, the size of dimension 1 of self"."""
    return f"{value.text}, {value_in_words(value)}{f' of {value.argument}' if value.argument is not None else ''}"


def _thrown(ending: Ending) -> Iterator[Line]:
    if ending.by != "error":
        for number, name in enumerate(ending.stack[:CPP]):
            yield Line("text", f"{'in C++' if not number else '':12}  {name}", indent=1)
        if len(ending.stack) > CPP:
            yield Line("text", f"{'':12}  … {len(ending.stack) - CPP} more: --explain error", indent=1)
    elif how := how_in_words(ending):  # what raised may have been compiled into the function
        yield Line("place", f"raised in     {ending.function}, {how}", ending.source, indent=1)
    elif ending.function:
        yield Line("place", f"thrown by     {ending.function}", ending.source, indent=1)
    elif not ending.python:
        reason = why_there(ending.source.reason) or "not known"
        yield Line("text", f"thrown by     {reason}", indent=1)


def missing_lines(missing: MissingKernel) -> Iterator[Line]:
    """Why the dispatcher found no kernel, which keys have one, and what makes the call run."""
    if missing.key in missing.kernels:  # a pasted message: this torch would not raise it
        other = "the message is of another torch, or of another build"
        yield Line(
            "text", f"why           this torch has a kernel of {missing.op} for {missing.key}: {other}", indent=1
        )
        return
    brought = (
        f"{', '.join(missing.arguments)} brought that key"
        if missing.arguments
        else "which argument brought that key is not told"
    )
    yield Line("text", f"why           {missing.op} has no kernel for {missing.key}; {brought}", indent=1)
    if missing.own:
        yield Line("text", f"kernels of its own for  {', '.join(missing.own)}", indent=1)
    if missing.default:
        of_cpu = [key for key in missing.default if key.endswith("CPU")]
        among = f", {' and '.join(of_cpu)} among them" if of_cpu else ""
        yield Line("text", f"a default kernel for {len(missing.default)} other keys{among}", indent=1)
    ways = []
    if missing.conversion is not None:
        ways.append(f".{missing.conversion} first")
    base = missing.op.partition("::")[2]
    ways.append(f'a kernel of your own: m.impl("{base}", …) in a TORCH_LIBRARY_IMPL of {missing.key}')
    yield Line("text", f"to make it run  {', or '.join(ways)}", indent=1)
    if missing.neighbour is not None and missing.neighbour_at is not None:
        yield Line("place", f"as {missing.neighbour} has one, registered at", missing.neighbour_at, indent=2)


def modified_lines(modified: ModifiedTensor) -> Iterator[Line]:
    """What is known of a saved tensor that was written to."""
    made = f"result {modified.output} of {modified.node}" if modified.node else "a leaf"
    if modified.node in (AS_STRIDED, AS_STRIDED.removesuffix("Backward0")):
        made += ", or a view that autograd recorded anew after its base was changed in place"
    elif modified.makers:
        made += which_record(modified.makers)
    count = modified.version - modified.expected
    yield Line("text", f"the tensor    {modified.tensor}: {made}", indent=1)
    times = "once" if count == 1 else f"{count} times"
    since = f"version {modified.expected} was saved for backward, it is at version {modified.version}"
    if count > 0:
        yield Line("text", f"changed       in place {times} since: {since}", indent=1)
    else:
        yield Line("text", f"versions      {since}: no program counts so, is the message whole?", indent=1)
    if modified.saver is not None:
        yield from _written(modified, modified.saver)
    elif modified.writes:
        label = "changed by   " if modified.certain else "changed by one or more of"
        yield Line("text", f"{label} {', '.join(modified.writes)}", indent=1)


def freed_lines(graph: FreedGraph) -> Iterator[Line]:
    """What recorded a node that was freed, which backward freed it, and what led to it still."""
    before = f" before backward {graph.recorded_after + 1}" if graph.recorded_after is not None else ""
    yield _of_call(f"the node      {graph.node}, recorded by {graph.recorded.operator}{before}", graph.recorded)
    number = f" backward {graph.freed_by} of {graph.backwards}" if graph.freed_by is not None else ""
    yield _of_call(f"freed by     {number}", graph.freed)
    for position, call in enumerate(graph.uses):
        yield _of_call(f"{'used since by' if not position else '':13} {call.operator}", call)
    if graph.names and graph.uses:
        label = "held by" if graph.exact else "led to by"
        yield Line("text", f"{label:13} {', '.join(graph.names)}", indent=1)


def _of_call(label: str, call: RecordingCall) -> Line:
    """A line about a place that recorded nodes or ran backward."""
    return _at(label, call.text, call.function, call.source, exact=call.exact)


def which_record(operators: Sequence[str]) -> str:
    """Which operators make such a node, behind its name: derivatives.yaml tells their plain forms alone."""
    return f", which {' or '.join(operators)}, or a form of it (in place, foreach), records"


def _written(modified: ModifiedTensor, saver: TensorSaver) -> Iterator[Line]:
    """Who saved it and who wrote to it since: as a run of its own saw it, else by the operators that ran."""
    node = saver.node or "a node"
    if node.rpartition("::")[2] == COPY_SLICES:  # which saves nothing itself (torch/csrc/autograd/functions/tensor.h)
        node = f"the node inside of {node}"
    recorded = which_record(saver.operators) if saver.operators else ""
    yield _at(f"saved by      {node}{recorded}", saver.text, saver.function, saver.source, exact=saver.exact)
    if not modified.certain and modified.writers:
        count = modified.version - modified.expected
        told = f"operators that wrote to its memory since: {len(modified.writers)}; writes that it counts: {count}"
        yield Line("text", f"may be from   {told}", indent=1)
    for number, writer in enumerate(modified.writers[:MOST]):
        label = "changed by" if not number and modified.certain else ""
        by = f" {' and '.join(writer.operators)}" if writer.operators else ""
        counts = f"{',' if by else ''} version {writer.before} to {writer.after}" if modified.certain else ""
        yield _at(f"{label:12} {by}{counts}", writer.text, writer.function, writer.source, exact=writer.exact)
    if len(modified.writers) > MOST:
        yield Line("text", f"{'':12}  and {len(modified.writers) - MOST} more", indent=1)
    if not modified.watched and modified.certain:
        derived = "derived: the operators that wrote to its memory since, and it counts as many writes"
        yield Line("text", f"{'':12}  {derived}", indent=1)


def _watched_again(trail: Trail, modified: ModifiedTensor) -> Iterator[Line]:
    """What tells who wrote to a tensor, where a program's run did not prove it, and no further run was made."""
    if not trail.traced.asked_again or (modified.saver is not None and modified.watched):
        return
    if any(finding.kind == "unwatched" for finding in trail.findings):
        return
    command = as_command(TraceAgain(script_in(trail.expression) or ""))
    known = "to see it      " if modified.saver is not None and modified.certain else "who wrote?    "
    yield Line("text", f"{known[:14]}{command}  runs it once more, and watches the tensor", indent=1)


def _at(label: str, text: str, function: str, source: SourceRef | None, *, exact: bool = True) -> Line:
    """A line about a place of your Python: what is written there, in which function and where."""
    inside = f", in {function}()" if function and not function.startswith("<") else ""
    words = f"{label}: {text}{inside}" if text else label
    if not exact:
        words = f"{label}, somewhere in {function}{'' if function.startswith('<') else '()'}, which begins at"
    if source is None or (source.path is None and source.line is None):
        return Line("text", words, indent=1)
    if source.path is None:  # a line of a script, of the setup or of the expression
        is_expression = source.outside == EXPRESSION
        where = f"{source.outside}:{source.line}" if not is_expression else "" if text else "the expression"
        return Line("text", f"{words}  {where}".rstrip(), indent=1)
    return Line("place", words, source, indent=1)


def left_by_error(trail: Trail) -> list[int]:
    """The numbers of the steps that the error left, outermost first."""
    if trail.ending is None or trail.ending.hop is None:
        return []
    callers = {child.id: hop.id for hop in walk(trail.hops) for child in hop.children}
    path = [trail.ending.hop]
    while path[-1] in callers:
        path.append(callers[path[-1]])
    return path[::-1]
