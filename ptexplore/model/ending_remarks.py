"""Remarks on how a run ended: codes with arguments, which `view/words` turns into text.

The class is the code, the fields are the arguments. `view/words/ending.py` has the template of each remark, and its
label in the margin.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from ptexplore.model.codes import Reason


class EndingRemark(Struct, frozen=True, kw_only=True):
    """A remark on how a run ended."""


ToldAtEnd: TypeAlias = EndingRemark | Reason | str  # the values inside a remark; str: a name, or text from outside


# --- the end: what ended, and how ---


class TheExpression(EndingRemark, frozen=True):
    """The expression."""


class ItsBackward(EndingRemark, frozen=True):
    """Backward of the expression."""


class TheScript(EndingRemark, frozen=True):
    """The script."""


class TheBlock(EndingRemark, frozen=True):
    """The recorded block of a program."""


class RaisedAtEnd(EndingRemark, frozen=True):
    """The stage that raised, and the error."""

    stage: EndingRemark
    exception: str
    where: EndingRemark | None
    words: str


class RaisedElsewhere(EndingRemark, frozen=True):
    """The error was first raised at `where`; this error passes it on."""

    where: str


class CameFrom(EndingRemark, frozen=True):
    """The error came from `where`."""

    where: str


class Killed(EndingRemark, frozen=True):
    """A signal killed it."""

    stage: EndingRemark
    signal: str
    words: str


class Exited(EndingRemark, frozen=True):
    """It ended its own process."""

    stage: EndingRemark
    by: str
    words: str


class TimedOut(EndingRemark, frozen=True):
    """The time of the run was over."""

    stage: EndingRemark
    words: str


# --- the place ---


class DidYouMean(EndingRemark, frozen=True):
    """Names similar to a name that is not known."""

    names: tuple[str, ...]


class InTheCall(EndingRemark, frozen=True):
    """The call that raised the error."""

    call: str


class YourLine(EndingRemark, frozen=True):
    """The innermost of your own functions."""

    function: str


class InModule(EndingRemark, frozen=True):
    """The module that was running."""

    module: str


class RaisedIn(EndingRemark, frozen=True):
    """The C++ function that raised the error, and how."""

    function: str
    how: str


class ThrownBy(EndingRemark, frozen=True):
    """The C++ function that threw the error, or why none is known."""

    function: ToldAtEnd


class NotKnown(EndingRemark, frozen=True):
    """Not known."""


class InCpp(EndingRemark, frozen=True):
    """The innermost C++ function."""

    function: str


class PythonLeft(EndingRemark, frozen=True):
    """The innermost Python function that the error propagated out of."""

    function: str


class WasInPython(EndingRemark, frozen=True):
    """The innermost Python function in a run that did not end with an error."""

    function: str


class RaisedThere(EndingRemark, frozen=True):
    """The innermost function that the error left in another process or interpreter."""

    function: str


class YourCode(EndingRemark, frozen=True):
    """The innermost of your functions, run by another interpreter."""

    function: str


class FurtherOut(EndingRemark, frozen=True):
    """A function around the function on the previous line."""

    function: str


class MoreAround(EndingRemark, frozen=True):
    """The number of further functions; `explained`: --explain lists them."""

    few: int
    explained: bool = False


class WrittenAt(EndingRemark, frozen=True):
    """The source text at the place of a remark, and the function that contains it."""

    of: EndingRemark
    text: str
    function: str


class SomewhereIn(EndingRemark, frozen=True):
    """Only the function of a remark's place is known."""

    of: EndingRemark
    function: str


# --- the hop, and its arguments ---


class LeftStep(EndingRemark, frozen=True):
    """The innermost hop with a row that the error left, and a hop inside it."""

    step: str  # the hop's number in brackets
    title: str
    inner: EndingRemark | None


class StepInside(EndingRemark, frozen=True):
    """A hop without a row, inside a hop with a row."""

    step: str
    name: str


class ItWasGiven(EndingRemark, frozen=True):
    """The arguments of the hop."""

    arguments: tuple[ArgumentGiven, ...]


class GivenTo(EndingRemark, frozen=True):
    """The arguments of an operator inside the hop."""

    op: str
    arguments: tuple[ArgumentGiven, ...]


class ArgumentGiven(EndingRemark, frozen=True):
    """An argument and its value."""

    name: str
    what: str


class InMemory(EndingRemark, frozen=True):
    """The dimensions whose strides are the cause."""

    words: str


class ForExample(EndingRemark, frozen=True):
    """A small tensor for which the same error is raised: the code that makes it, and the call."""

    makes: str
    call: str


class CellsDrawn(EndingRemark, frozen=True):
    """A line of the drawing of that tensor in memory."""

    line: str


class WhatFailed(EndingRemark, frozen=True):
    """The condition that failed."""

    check: str


class ComparedAtEnd(EndingRemark, frozen=True):
    """The values that the condition compared."""

    values: tuple[ValueCompared, ...]


class ValueCompared(EndingRemark, frozen=True):
    """A value and its meaning."""

    text: str
    what: str
    argument: str | None


# --- other errors ---


class RaisedFrom(EndingRemark, frozen=True):
    """An error that the next error was raised from."""

    error: ErrorSays
    function: str  # the function that raised it


class InHandling(EndingRemark, frozen=True):
    """An error that was being handled when the next error was raised."""

    error: ErrorSays
    function: str


class ErrorSays(EndingRemark, frozen=True):
    """An error's class and message."""

    exception: str
    message: str


# --- the reason, and the fix ---


class TorchsHint(EndingRemark, frozen=True):
    """Advice in the error's own text."""

    hint: str


class Why(EndingRemark, frozen=True):
    """The meaning of the message."""

    words: str


class ToMend(EndingRemark, frozen=True):
    """How to fix it."""

    words: str


class CaseIs(EndingRemark, frozen=True):
    """The sign of one of several cases."""

    sign: str


class ToMendCase(EndingRemark, frozen=True):
    """How to fix this case."""

    words: str


# --- a missing kernel ---


class KernelIsThere(EndingRemark, frozen=True):
    """This torch has the kernel that the message says is missing."""

    op: str
    key: str


class KernelMissing(EndingRemark, frozen=True):
    """An operator has no kernel for a key, and the arguments that brought the key."""

    op: str
    key: str
    arguments: tuple[str, ...]


class OwnKernels(EndingRemark, frozen=True):
    """The keys with a kernel of their own."""

    keys: tuple[str, ...]


class DefaultKernel(EndingRemark, frozen=True):
    """The number of other keys that use one default kernel; `cpu`: the CPU keys among them."""

    few: int
    cpu: tuple[str, ...]


class ToMakeItRun(EndingRemark, frozen=True):
    """Ways to make the call run."""

    ways: tuple[EndingRemark, ...]


class ConvertFirst(EndingRemark, frozen=True):
    """Convert the argument first."""

    conversion: str


class RegisterKernel(EndingRemark, frozen=True):
    """Register a kernel of your own."""

    base: str
    key: str


class NeighbourRegistered(EndingRemark, frozen=True):
    """A similar operator has such a kernel."""

    op: str


# --- a tensor that was written to ---


class TheTensor(EndingRemark, frozen=True):
    """The tensor, the node that made it, and the operators that record this node."""

    tensor: str
    made: EndingRemark
    recorded: EndingRemark | None = None


class ALeaf(EndingRemark, frozen=True):
    """The tensor is a leaf."""


class ResultOf(EndingRemark, frozen=True):
    """The tensor is an output of a node."""

    ordinal: int | None
    node: str


class ViewRecordedAnew(EndingRemark, frozen=True):
    """Alternative: a view that autograd recorded again after its base changed."""


class WhichRecord(EndingRemark, frozen=True):
    """The operators that record this node."""

    operators: tuple[str, ...]


class ChangedInPlace(EndingRemark, frozen=True):
    """How often the tensor was changed after it was saved."""

    times: EndingRemark
    since: Versions


class Once(EndingRemark, frozen=True):
    """Once."""


class Times(EndingRemark, frozen=True):
    """A number of times."""

    few: int


class NoSuchVersions(EndingRemark, frozen=True):
    """The message has version numbers that are impossible."""

    since: Versions


class Versions(EndingRemark, frozen=True):
    """The saved version and the current version."""

    saved: str
    now: str


class ChangedBy(EndingRemark, frozen=True):
    """The operators that changed the tensor."""

    operators: tuple[str, ...]


class MayHaveChanged(EndingRemark, frozen=True):
    """Operators, one or more of which changed the tensor."""

    operators: tuple[str, ...]


class SavedBy(EndingRemark, frozen=True):
    """The node that saved the tensor, and the operators that record this node."""

    node: EndingRemark | str
    recorded: EndingRemark | None = None


class ANode(EndingRemark, frozen=True):
    """A node whose name is not known."""


class NodeInsideOf(EndingRemark, frozen=True):
    """The inner node of a node that saves nothing itself."""

    node: EndingRemark | str


class MayBeFrom(EndingRemark, frozen=True):
    """The number of operators that wrote to the tensor's memory differs from the number of writes that it counts."""

    operators: str  # a count, as text
    writes: str


class FirstWriter(EndingRemark, frozen=True):
    """The first write after the tensor was saved, and the versions before and after it."""

    operators: tuple[str, ...]
    versions: VersionsPassed | None


class FurtherWriter(EndingRemark, frozen=True):
    """A later write, or a possible one."""

    operators: tuple[str, ...]
    versions: VersionsPassed | None


class VersionsPassed(EndingRemark, frozen=True):
    """The version before a write and after it."""

    before: str
    after: str


class MoreWriters(EndingRemark, frozen=True):
    """The number of further writes."""

    few: int


class WritersDerived(EndingRemark, frozen=True):
    """The writes were not seen; they follow from the number of writes."""


class WhoWrote(EndingRemark, frozen=True):
    """The command that finds who wrote to the tensor."""

    command: str


class ToSeeWriters(EndingRemark, frozen=True):
    """The command that proves who wrote to the tensor."""

    command: str


# --- a graph that was freed ---


class TheNode(EndingRemark, frozen=True):
    """The freed node, the operator that recorded it, and the backward that came after."""

    node: str
    operator: str
    ordinal: int | None


class FreedBy(EndingRemark, frozen=True):
    """The number of the backward that freed it, and of all backwards."""

    ordinal: int | None
    few: int | None


class UsedSinceBy(EndingRemark, frozen=True):
    """The first operator that used its results afterwards."""

    operator: str


class UsedFurtherBy(EndingRemark, frozen=True):
    """A further operator that used its results."""

    operator: str


class HeldBy(EndingRemark, frozen=True):
    """The names in your program that hold the node's results."""

    names: tuple[str, ...]


class LedToBy(EndingRemark, frozen=True):
    """The names in your program that lead, or led, to the node's results."""

    names: tuple[str, ...]


# --- the text of an error without a trace ---


class NoSuchOperatorAtEnd(EndingRemark, frozen=True):
    """This torch has no operator of this name."""

    op: str


class ItNames(EndingRemark, frozen=True):
    """The text names a place; `name` is how it is written, if the file is not known."""

    name: str = ""


class ItsText(EndingRemark, frozen=True):
    """The source at the place that the text names."""

    text: str


class OperatorsNamed(EndingRemark, frozen=True):
    """The operators that the text names."""

    names: tuple[str, ...]


class OfRanks(EndingRemark, frozen=True):
    """Some ranks of a distributed program, and the error that ends their output; "" if the output names none."""

    ranks: tuple[str, ...]
    error: str


class PythonLeftAt(EndingRemark, frozen=True):
    """The innermost Python function, as the text names it."""

    function: str
    path: str | None
    line: int | None


class WordsAt(EndingRemark, frozen=True):
    """A statement with the constant words of the message, and the function around it."""

    function: str


class OneOfThese(EndingRemark, frozen=True):
    """Several statements have these words of the message, and the text does not say which of them raised it."""

    words: str


class WordsInLibrary(EndingRemark, frozen=True):
    """Only libraries of torch have the constant words of the message: it is from C++."""

    libraries: tuple[str, ...]
    words: str


class LibraryToo(EndingRemark, frozen=True):
    """Libraries of torch have the constant words of the message as well as Python files: C++ may have raised it."""

    libraries: tuple[str, ...]


class WordsNowhere(EndingRemark, frozen=True):
    """Neither torch's Python files and headers nor its libraries have the words of the message."""


class RaisedWhere(EndingRemark, frozen=True):
    """The condition under which a function of torch raises the message."""

    function: str
    condition: str


class RaisedUnless(EndingRemark, frozen=True):
    """The condition without which a function of torch raises the message."""

    function: str
    condition: str


class CutOff(EndingRemark, frozen=True):
    """The text ends inside the part that names the operator and its dispatch key."""


class NoExplanation(EndingRemark, frozen=True):
    """The cause of this message is not known."""
