"""What is said of how a run ended: codes with arguments, of which `view/words` makes words.

A class is a code, its fields are the arguments. What a remark says stands with its template in `view/words/ending.py`,
and what stands before it in the margin, too.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from ptexplore.model.codes import Reason


class EndingRemark(Struct, frozen=True, kw_only=True):
    """What is said of how a run ended."""


ToldAtEnd: TypeAlias = EndingRemark | Reason | str  # what a remark may have within it; a name, or a text of others


# --- what ended, and how ---


class TheExpression(EndingRemark, frozen=True):
    """The expression."""


class ItsBackward(EndingRemark, frozen=True):
    """The backward of the expression."""


class TheScript(EndingRemark, frozen=True):
    """The script."""


class TheBlock(EndingRemark, frozen=True):
    """The block of a program that was recorded."""


class RaisedAtEnd(EndingRemark, frozen=True):
    """What raised which error."""

    stage: EndingRemark
    exception: str
    where: EndingRemark | None
    words: str


class RaisedElsewhere(EndingRemark, frozen=True):
    """The error was raised there, and another one tells of it here."""

    where: str


class CameFrom(EndingRemark, frozen=True):
    """The error came from there."""

    where: str


class Killed(EndingRemark, frozen=True):
    """A signal ended it."""

    stage: EndingRemark
    signal: str
    words: str


class Exited(EndingRemark, frozen=True):
    """It ended its own process."""

    stage: EndingRemark
    by: str
    words: str


class TimedOut(EndingRemark, frozen=True):
    """It took too long."""

    stage: EndingRemark
    words: str


# --- where it was ---


class DidYouMean(EndingRemark, frozen=True):
    """Names near one that is not known."""

    names: tuple[str, ...]


class InTheCall(EndingRemark, frozen=True):
    """The call that the error came from."""

    call: str


class YourLine(EndingRemark, frozen=True):
    """The innermost of your own functions."""

    function: str


class InModule(EndingRemark, frozen=True):
    """The module that was at work."""

    module: str


class RaisedIn(EndingRemark, frozen=True):
    """The function of C++ that raised it, and how that is known."""

    function: str
    how: str


class ThrownBy(EndingRemark, frozen=True):
    """The function of C++ that threw it, or why none is known."""

    function: ToldAtEnd


class NotKnown(EndingRemark, frozen=True):
    """It is not known."""


class InCpp(EndingRemark, frozen=True):
    """The innermost function of C++."""

    function: str


class PythonLeft(EndingRemark, frozen=True):
    """The innermost function of Python that an error left."""

    function: str


class WasInPython(EndingRemark, frozen=True):
    """The innermost function of Python, of a run that no error ended."""

    function: str


class RaisedThere(EndingRemark, frozen=True):
    """The innermost function that an error left in another process, or in another interpreter."""

    function: str


class YourCode(EndingRemark, frozen=True):
    """The innermost function of yours that another interpreter ran."""

    function: str


class FurtherOut(EndingRemark, frozen=True):
    """A function around the one on the line before."""

    function: str


class MoreAround(EndingRemark, frozen=True):
    """So many more functions; `explained`: --explain lists them."""

    few: int
    explained: bool = False


class WrittenAt(EndingRemark, frozen=True):
    """What is written at the place of a remark, and in which function."""

    of: EndingRemark
    text: str
    function: str


class SomewhereIn(EndingRemark, frozen=True):
    """Of the place of a remark only the function is known."""

    of: EndingRemark
    function: str


# --- which step, and what it was given ---


class LeftStep(EndingRemark, frozen=True):
    """The innermost step that was left, and one inside of it."""

    step: str  # its number in brackets
    title: str
    inner: EndingRemark | None


class StepInside(EndingRemark, frozen=True):
    """A step without a row, inside of one that has a row."""

    step: str
    name: str


class ItWasGiven(EndingRemark, frozen=True):
    """What the step was given."""

    arguments: tuple[ArgumentGiven, ...]


class GivenTo(EndingRemark, frozen=True):
    """What an operator inside of the step was given."""

    op: str
    arguments: tuple[ArgumentGiven, ...]


class ArgumentGiven(EndingRemark, frozen=True):
    """An argument, and what it was."""

    name: str
    what: str


class WhatFailed(EndingRemark, frozen=True):
    """The condition that did not hold."""

    check: str


class ComparedAtEnd(EndingRemark, frozen=True):
    """The values that the condition compared."""

    values: tuple[ValueCompared, ...]


class ValueCompared(EndingRemark, frozen=True):
    """A value, and what it is."""

    text: str
    what: str
    argument: str | None


# --- other errors ---


class RaisedFrom(EndingRemark, frozen=True):
    """An error that is the cause of the one after it."""

    error: ErrorSays
    function: str  # that raised it


class InHandling(EndingRemark, frozen=True):
    """An error in whose handling the one after it was raised."""

    error: ErrorSays
    function: str


class ErrorSays(EndingRemark, frozen=True):
    """An error's class and its words."""

    exception: str
    message: str


# --- why, and what mends it ---


class TorchsHint(EndingRemark, frozen=True):
    """What the error's own text advises."""

    hint: str


class Why(EndingRemark, frozen=True):
    """What the message means."""

    words: str


class ToMend(EndingRemark, frozen=True):
    """What mends it."""

    words: str


class CaseIs(EndingRemark, frozen=True):
    """A sign that tells one of several cases."""

    sign: str


class ToMendCase(EndingRemark, frozen=True):
    """What mends that case."""

    words: str


# --- a missing kernel ---


class KernelIsThere(EndingRemark, frozen=True):
    """This torch has the kernel that the message misses."""

    op: str
    key: str


class KernelMissing(EndingRemark, frozen=True):
    """An operator has no kernel for a key, which these arguments brought."""

    op: str
    key: str
    arguments: tuple[str, ...]


class OwnKernels(EndingRemark, frozen=True):
    """The keys that have a kernel of their own."""

    keys: tuple[str, ...]


class DefaultKernel(EndingRemark, frozen=True):
    """One kernel stands for so many other keys; those of CPUs among them."""

    few: int
    cpu: tuple[str, ...]


class ToMakeItRun(EndingRemark, frozen=True):
    """What makes the call run."""

    ways: tuple[EndingRemark, ...]


class ConvertFirst(EndingRemark, frozen=True):
    """Another tensor is made of the argument first."""

    conversion: str


class RegisterKernel(EndingRemark, frozen=True):
    """A kernel of your own is registered."""

    base: str
    key: str


class NeighbourRegistered(EndingRemark, frozen=True):
    """An operator beside it has such a kernel."""

    op: str


# --- a tensor that was written to ---


class TheTensor(EndingRemark, frozen=True):
    """The tensor, what made it, and which operators record that."""

    tensor: str
    made: EndingRemark
    recorded: EndingRemark | None = None


class ALeaf(EndingRemark, frozen=True):
    """It is a leaf."""


class ResultOf(EndingRemark, frozen=True):
    """It is one of a node's results."""

    ordinal: int | None
    node: str


class ViewRecordedAnew(EndingRemark, frozen=True):
    """Or autograd made the node itself, for a view."""


class WhichRecord(EndingRemark, frozen=True):
    """The operators that record such a node."""

    operators: tuple[str, ...]


class ChangedInPlace(EndingRemark, frozen=True):
    """How often it was changed since it was saved."""

    times: EndingRemark
    since: Versions


class Once(EndingRemark, frozen=True):
    """Once."""


class Times(EndingRemark, frozen=True):
    """So many times."""

    few: int


class NoSuchVersions(EndingRemark, frozen=True):
    """The message has versions that no program has."""

    since: Versions


class Versions(EndingRemark, frozen=True):
    """The version that was saved, and the present one."""

    saved: str
    now: str


class ChangedBy(EndingRemark, frozen=True):
    """The operators that changed it."""

    operators: tuple[str, ...]


class MayHaveChanged(EndingRemark, frozen=True):
    """The operators of which some changed it."""

    operators: tuple[str, ...]


class SavedBy(EndingRemark, frozen=True):
    """What saved it, and which operators record that."""

    node: EndingRemark | str
    recorded: EndingRemark | None = None


class ANode(EndingRemark, frozen=True):
    """A node whose name is not known."""


class NodeInsideOf(EndingRemark, frozen=True):
    """The node inside of another one, which saves nothing itself."""

    node: EndingRemark | str


class MayBeFrom(EndingRemark, frozen=True):
    """More operators wrote to its memory than it counts, or fewer."""

    operators: str  # how many
    writes: str


class FirstWriter(EndingRemark, frozen=True):
    """What wrote to it first since it was saved, and which version became which."""

    operators: tuple[str, ...]
    versions: VersionsPassed | None


class FurtherWriter(EndingRemark, frozen=True):
    """What wrote to it after that, or may have."""

    operators: tuple[str, ...]
    versions: VersionsPassed | None


class VersionsPassed(EndingRemark, frozen=True):
    """The version before a write and after it."""

    before: str
    after: str


class MoreWriters(EndingRemark, frozen=True):
    """So many further writes."""

    few: int


class WritersDerived(EndingRemark, frozen=True):
    """The writers were not seen: their number tells that they are these."""


class WhoWrote(EndingRemark, frozen=True):
    """The command that tells who wrote to it."""

    command: str


class ToSeeWriters(EndingRemark, frozen=True):
    """The command that proves who wrote to it."""

    command: str


# --- a graph that was freed ---


class TheNode(EndingRemark, frozen=True):
    """The node that was freed, and what recorded it, before which backward."""

    node: str
    operator: str
    ordinal: int | None


class FreedBy(EndingRemark, frozen=True):
    """Which backward freed it, of how many."""

    ordinal: int | None
    few: int | None


class UsedSinceBy(EndingRemark, frozen=True):
    """The first operator that used its results after that."""

    operator: str


class UsedFurtherBy(EndingRemark, frozen=True):
    """A further operator that used its results."""

    operator: str


class HeldBy(EndingRemark, frozen=True):
    """The names of your program that hold its results."""

    names: tuple[str, ...]


class LedToBy(EndingRemark, frozen=True):
    """The names of your program that lead to its results, or did."""

    names: tuple[str, ...]


# --- what the text of an error tells by itself ---


class NoSuchOperatorAtEnd(EndingRemark, frozen=True):
    """This torch has no operator of that name."""

    op: str


class ItNames(EndingRemark, frozen=True):
    """The text names a place."""


class ItsText(EndingRemark, frozen=True):
    """What stands at the place that the text names."""

    text: str


class OperatorsNamed(EndingRemark, frozen=True):
    """The operators that the text names."""

    names: tuple[str, ...]


class PythonLeftAt(EndingRemark, frozen=True):
    """The innermost function of Python, as the text has it."""

    function: str
    path: str | None
    line: int | None


class NoExplanation(EndingRemark, frozen=True):
    """Nobody wrote down what these words mean."""
