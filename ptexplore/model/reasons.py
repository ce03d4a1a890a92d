"""Why something is concluded: codes with arguments. `view/words` makes sentences of them, and nothing reads those.

A class is a code, its fields are the arguments. What a reason says stands with its template in `view/words/reasons.py`;
here stands what it is said of. Where a reason follows from another one, a field holds that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias, Union

from msgspec import Struct


def code_of(name: str) -> str:
    """The code of a class: `highest-key` of HighestKey."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()


class Reason(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="code", tag=code_of):
    """Why something is concluded."""

    text: str = ""  # the sentence, where it was written as JSON; what is read back has none


class Said(Reason, frozen=True):
    """A sentence: of a saved trace whose reasons had no codes."""

    sentence: str


# --- the key sets of arguments ---


class ArgumentSets(Reason, frozen=True):
    """Where the key sets of some arguments come from, or why they are not known."""

    arguments: tuple[str, ...]
    because: AnyReason


class ForEach(Reason, frozen=True):
    """Reasons that each name the arguments that they hold for."""

    reasons: tuple[ArgumentSets, ...]


class Together(Reason, frozen=True):
    """Reasons that hold together."""

    reasons: tuple[AnyReason, ...]


class FreshTensor(Reason, frozen=True):
    """The tensor was made during the call."""


class NotReadTensor(Reason, frozen=True):
    """No recorder read the tensor."""


class ReadByName(Reason, frozen=True):
    """The tensor was read as a name of Python's held it."""


class NotRead(Reason, frozen=True):
    """The tensor was not read."""

    because: AnyReason


class MayBeWrapped(Reason, frozen=True):
    """A function transform may have wrapped the tensor."""


class SetsDiffer(Reason, frozen=True):
    """Calls from several places were given tensors with different sets."""


class UndefinedTensor(Reason, frozen=True):
    """The argument is None or an undefined tensor."""


class TensorsNotListed(Reason, frozen=True):
    """The profiler tells nothing of a list's tensors."""


class MayBeGenerator(Reason, frozen=True):
    """A torch.Generator may have been given."""


class MayCarry(Reason, frozen=True):
    """A tensor that was made during the call may carry these keys."""

    keys: tuple[str, ...]
    because: AnyReason


class MayBeOfDispatchingClass(Reason, frozen=True):
    """A class that dispatches in Python may have made the tensor."""


class AsItsBaseMay(Reason, frozen=True):
    """What a tensor is a view of may carry the key."""


class KeptByVjp(Reason, frozen=True):
    """A graph that torch.func.vjp kept holds wrapped tensors."""


class NamesAreInherited(Reason, frozen=True):
    """The names of dimensions come from what a tensor was made of."""


class NotInInferenceMode(Reason, frozen=True):
    """A tensor has these keys only if it was not made in inference mode."""

    keys: tuple[str, ...]


class OtherSet(Reason, frozen=True):
    """The call's set is not the one that devices and layouts would give."""


# --- the thread-local sets ---


class DefaultsAssumed(Reason, frozen=True):
    """The sets were not read."""


class AsPythonLeftThem(Reason, frozen=True):
    """The sets are those of Python's last call."""


class FramesEnd(Reason, frozen=True):
    """Python's frames are not told from there on."""


class MayHoldGuard(Reason, frozen=True):
    """The function around a call names a guard of torch._C's."""


class InAnotherThread(Reason, frozen=True):
    """The call ran in another thread."""


class SetByTransform(Reason, frozen=True):
    """A layer of a function transform sets the sets anew."""


class LeftByGuards(Reason, frozen=True):
    """The guards of the kernels around leave them so."""


class MayHoldNoNamesGuard(Reason, frozen=True):
    """What is around may hold a NoNamesGuard."""


class ChangedByHandWritten(Reason, frozen=True):
    """The hand-written kernel of a key changes the sets."""

    key: str


class NamesMayBeOff(Reason, frozen=True):
    """The kernel of a key may hold a NoNamesGuard, and a tensor has names."""

    key: str


class InExtension(Reason, frozen=True):
    """The kernel around is an extension's."""


class InMaker(Reason, frozen=True):
    """A function that makes a tensor of Python's values calls the operator."""

    function: str
    file: str
    guard: str
    excludes: tuple[str, ...]


class InMakerOfPlain(InMaker, frozen=True):
    """The same, where it makes the plain tensor."""


class InMakerAtLift(InMaker, frozen=True):
    """The same, around lift_fresh()."""


class AroundFrame(Reason, frozen=True):
    """The sets were read at the call around a Python frame."""


class InFactory(Reason, frozen=True):
    """A factory of torch:: calls the operator."""

    factory: str
    file: str
    guard: str


class WhileTracing(Reason, frozen=True):
    """A binding traces what it calls."""

    function: str
    file: str


class MakingSubclass(Reason, frozen=True):
    """_make_subclass takes keys out of the include set."""

    file: str
    keys: tuple[str, ...]


class InHandWrittenBinding(Reason, frozen=True):
    """The binding is hand-written."""


class OverloadNotKnown(Reason, frozen=True):
    """The operator around is one whose overload is not known."""


class KernelsNotKnown(Reason, frozen=True):
    """Which kernels of the operator around ran is not known."""

    op: str


class NotRecorded(Reason, frozen=True):
    """The profiler tells nothing of these arguments."""

    arguments: tuple[str, ...]


class MayBeCopy(Reason, frozen=True):
    """A saved sparse tensor's copy begins with empty ones."""

    key: str


class MayBeOwnCall(Reason, frozen=True):
    """The own text of the kernel of a key calls the operator."""

    key: str


class MayBeTangent(Reason, frozen=True):
    """The own text of the kernel of a key computes a forward gradient."""

    key: str


# --- where a kernel sends a call ---


class ByCustomOp(Reason, frozen=True):
    """torch.library.custom_op made the kernel, which goes on below autograd."""

    file: str
    kernel: str  # the file of the kernel


class ByCustomOpWrites(Reason, frozen=True):
    """torch.library.custom_op made the kernel, of an operator that writes its arguments."""

    file: str


class BodyRedispatches(Reason, frozen=True):
    """The kernel's body redispatches."""

    expression: str


class BodyComputes(Reason, frozen=True):
    """The kernel's body makes the next set from the call's options."""


class BodyComputesTyped(BodyComputes, frozen=True):
    """The same, where nothing that was typed speaks of another device or layout."""


class NotImplementedBelowAutograd(Reason, frozen=True):
    """The fallback for operators without a derivative goes on below autograd."""

    function: str


class NotImplementedBelowViews(Reason, frozen=True):
    """The fallback for operators without a derivative goes on below ADInplaceOrView: the schema has no alias."""

    function: str


class AutogradFallback(Reason, frozen=True):
    """Autograd's fallback goes on below autograd."""

    file: str


class ManualKernel(Reason, frozen=True):
    """A hand-written kernel goes on below its own key."""

    file: str


# --- why a key ---


class ThreadLocalSets(Reason, frozen=True):
    """Why the thread-local sets are what they are."""

    because: AnyReason


class HighestKey(Reason, frozen=True):
    """The key is the highest of the set that the call begins with."""

    key: str


class HighestLeft(Reason, frozen=True):
    """The key is the highest of those that a redispatch leaves."""

    key: str


class EntryOfTable(Reason, frozen=True):
    """What the dispatch table has for the key."""

    key: str
    entry: str


class GivenSet(Reason, frozen=True):
    """A function of C++ was given the set in a register."""

    function: str
    set: str
    register: str
    key: str


class KeyNotKnown(Reason, frozen=True):
    """Which key a call goes to, or goes on to, is not known."""

    because: AnyReason
    after: str = ""  # the last key that is known


class ComputedFromOptions(Reason, frozen=True):
    """The kernel's body makes the next set from what the profiler does not record."""


# --- kernels and what they call ---


class RanInside(Reason, frozen=True):
    """Operators that the profiler saw inside the call stand at the kernel."""


class RegisteredByPython(Reason, frozen=True):
    """Python registered the kernel, and the dispatcher called this function."""

    function: str


class BodyCalls(Reason, frozen=True):
    """A function's body calls it."""

    function: str


class BodyNames(Reason, frozen=True):
    """A function's body names it; nothing saw the line run."""

    function: str
    place: str
    through: tuple[str, ...] = ()
    condition: str = ""  # the place of the condition that decides


class RegistersFor(Reason, frozen=True):
    """A macro registers it for a device."""

    macro: str
    place: str
    device: str


class OneOfKernels(Reason, frozen=True):
    """Several kernels are registered for the device."""

    count: int
    device: str


# --- operators ---


class OverloadRecorded(Reason, frozen=True):
    """The profiler recorded the overload."""


class FitsStack(Reason, frozen=True):
    """The end of the recorded stack fits one overload."""

    op: str


class OnlyOverload(Reason, frozen=True):
    """The operator has one overload."""

    op: str


class TakesInputs(Reason, frozen=True):
    """One overload takes the inputs."""

    op: str
    others: int


class TakesNames(Reason, frozen=True):
    """Other overloads take names of dimensions, which no tensor has."""

    overloads: tuple[str, ...]


class WouldCallOthers(Reason, frozen=True):
    """Other overloads would have called other operators."""

    overloads: tuple[str, ...]


class BoxedStack(Reason, frozen=True):
    """The operator was called boxed: its inputs are the end of the stack."""

    values: int
    inputs: int


class BoxedByTorchOps(Reason, frozen=True):
    """torch.ops called the operator."""


class BoxedByInterpreter(Reason, frozen=True):
    """TorchScript's interpreter called the operator."""


# --- what was stepped ---


class RanInCaller(Reason, frozen=True):
    """It left no frame, and what it calls ran."""


class CalledAsDispatcher(Reason, frozen=True):
    """It left no frame: its caller did what a call of an operator does."""


class CompiledIn(Reason, frozen=True):
    """The type of a function that ran names it, and it has no frame."""

    function: str


class RanUnnamed(Reason, frozen=True):
    """A function ran the kernel and does not name it."""

    function: str
    key: str


class RanPython(Reason, frozen=True):
    """A function of C++ ran a function of Python."""

    function: str
    python: str


class IsWhatRan(Reason, frozen=True):
    """The function that ran tells the overload."""

    function: str


class NotProfiled(Reason, frozen=True):
    """A function ran, and the profiler recorded no event for it."""

    function: str
    kernel: str = ""  # a kernel of this operator alone, which ran in it


class CalledElsewhere(Reason, frozen=True):
    """A function ran; in the run that the profiler recorded it was called elsewhere."""

    function: str
    kernel: str = ""  # a kernel of this operator alone, which ran in it


# --- Python's calls ---


class WhichCall(Reason, frozen=True):
    """A loop calls this part of the expression: it may have run in the call before."""


class OperatorSyntax(Reason, frozen=True):
    """Python looks a slot up on the operand's type."""

    source: str
    syntax: str
    name: str


class ThroughPython(Reason, frozen=True):
    """A function of Python's looks a slot up on the operand's type."""

    source: str
    through: str
    name: str


class SlotByName(Reason, frozen=True):
    """A slot was called by its name, of which Python tells no profile function."""

    source: str
    name: str


class RowOfTable(Reason, frozen=True):
    """The row of a generated table names the C function."""

    table: str
    row: str
    place: str
    function: str


class TableNames(Reason, frozen=True):
    """A hand-written table names the C function."""

    place: str
    function: str


# --- autograd ---


class HeldByGraph(Reason, frozen=True):
    """The result's graph holds the node, with the sequence number of the call."""


class AccumulatesGradient(Reason, frozen=True):
    """Leaves accumulate their gradient."""


class MadeByCall(Reason, frozen=True):
    """The call of an operator made the node: it has the same sequence number."""

    op: str


class EntriesMakeNode(Reason, frozen=True):
    """So many entries of derivatives.yaml make such a node."""

    count: int


class EventsEnd(Reason, frozen=True):
    """The profiler's events end at the node."""

    node: str


class EngineAtNode(Reason, frozen=True):
    """The profiler recorded the engine at the node, and no call of its apply."""

    node: str


class FormulaCalls(Reason, frozen=True):
    """A formula calls the function where its input needs a gradient."""

    place: str


# --- findings: what a reader must know beside the hops ---


class OtherResult(Reason, frozen=True):
    """The stepped run gave another result."""


class GradientCopied(Reason, frozen=True):
    """AccumulateGrad copied a gradient, which may be the recorder's doing."""


class RegistrationsChanged(Reason, frozen=True):
    """The traced code changed an operator's registrations."""

    op: str


class KindsStepped(Reason, frozen=True):
    """Of how many kinds of a program's calls one was stepped, or several."""

    kinds: int
    all_kinds: int
    of_each: AnyReason  # how many calls of each kind
    instructions: int = 0  # an older file has no count
    left: tuple[AnyReason, ...] = ()
    command: str = ""  # steps the first call of `op`, the first operator of which none was stepped
    op: str = ""


class OneOfEach(Reason, frozen=True):
    """One call of each kind."""


class CallsInAll(Reason, frozen=True):
    """More than one call of some: of another builtin."""

    calls: int


class KindsLeft(Reason, frozen=True):
    """Why so many kinds of calls were not stepped."""

    count: int
    why: str


class LaunchesNotTold(Reason, frozen=True):
    """Torch's profiler does not tell what is launched on these devices."""

    devices: tuple[str, ...]


class CompilesScript(Reason, frozen=True):
    """The stepped call compiles TorchScript."""


class TreeEnds(Reason, frozen=True):
    """The native tree ends early."""

    why: str
    op: str = ""  # of a program: of the call of which operator


class NotPlaced(Reason, frozen=True):
    """An operator was stepped, and no row has what ran in it."""

    op: str
    because: AnyReason


class NotPlacedInProgram(NotPlaced, frozen=True):
    """The same, of a program."""


class NotAmongShown(Reason, frozen=True):
    """It is none of the calls that are shown."""


class InSeveralThreads(Reason, frozen=True):
    """Several threads call the operator."""


class CalledOtherTimes(Reason, frozen=True):
    """Its run called the operator another number of times than the run here."""

    op: str
    stepped: int
    called: int


class EnteredOtherTimes(Reason, frozen=True):
    """The operator was entered another number of times than calls were recorded."""

    op: str


class NoSuchCall(Reason, frozen=True):
    """There is no such call among those here."""

    called: int


class RanBefore(Reason, frozen=True):
    """Operators, nodes or functions of Python ran in a run before, and not in the stepped one."""

    names: tuple[AnyReason, ...]
    threads: AnyReason  # on how many
    further: int = 0  # how many more there are
    number: int = 0  # of the operator that is the first to be another one
    before: str = ""
    stepped: str = ""


class NameAlone(Reason, frozen=True):
    """A name alone."""

    name: str


class CallMore(Reason, frozen=True):
    """One call more of an operator."""

    name: str


class CallsMore(Reason, frozen=True):
    """Several calls more of an operator."""

    name: str
    count: int


class NodeBy(Reason, frozen=True):
    """A node, and the operator that recorded it."""

    node: str
    op: str


class RecordedBefore(Reason, frozen=True):
    """Nodes that a run before recorded for backward, and the stepped one did not."""

    nodes: tuple[AnyReason, ...]
    threads: AnyReason


class OnOneThread(Reason, frozen=True):
    """The stepped run had one thread."""


class OnThreads(Reason, frozen=True):
    """The stepped run had several threads."""

    count: int


class NotCalledAgain(Reason, frozen=True):
    """The stepped run did not call operators that the profiler saw in a run before."""

    names: tuple[str, ...]


class FramesUnordered(Reason, frozen=True):
    """Native frames may stand under another Python function."""

    why: str


class TooDeep(Reason, frozen=True):
    """Calls nested deeper are not shown."""

    levels: int


class ThereTwice(Reason, frozen=True):
    """Operators are there as the profiler saw them, and as they were stepped."""

    ops: tuple[str, ...]


class OtherKeys(Reason, frozen=True):
    """Other keys ran than were predicted."""

    op: str
    predicted: tuple[str, ...]
    ran: tuple[str, ...]


class OtherKernel(Reason, frozen=True):
    """For a key another kernel ran than was predicted."""

    op: str
    key: str
    predicted: str
    ran: str


# --- errors ---


class OnStack(Reason, frozen=True):
    """C++'s stack held the function when the error was thrown."""


class FunctorNames(Reason, frozen=True):
    """The type of the functor that calls the function names it."""


class AfterError(Reason, frozen=True):
    """An error ended the call, and C++'s stack is not known."""


class ReadAtEnd(Reason, frozen=True):
    """What ran as the process ended was read at that moment."""


class KeptByTorch(Reason, frozen=True):
    """Torch keeps with an error of its C++ where it was thrown."""

    told: AnyReason  # how that is known here
    elsewhere: AnyReason | None = None  # where not in this process


class NotedWhenMade(Reason, frozen=True):
    """It was noted when the error was made."""


class ToldByRun(Reason, frozen=True):
    """One more run told it."""


class InAnotherProcess(Reason, frozen=True):
    """Another process of the program raised."""


class WatchedThrowing(Reason, frozen=True):
    """A run watched which function raises: one that throws."""

    function: str
    type: str


class WatchedRaising(Reason, frozen=True):
    """A run watched which function raises: one that calls what raises."""

    function: str
    by: str


class RaisedByPython(Reason, frozen=True):
    """A `raise` of Python's raised it."""


class RunRaisedOther(Reason, frozen=True):
    """The run that was to tell raised something else."""


class NoSecondRun(Reason, frozen=True):
    """No second run was allowed."""


class NoLineKept(Reason, frozen=True):
    """No line of C++ is kept with it."""


class MadeError(Reason, frozen=True):
    """The operator made an error that was caught, in a run without stepping."""


class LeftByException(Reason, frozen=True):
    """An exception left the step, in a run without stepping."""


def _every(kind: type[Reason]) -> Iterator[type[Reason]]:
    for derived in kind.__subclasses__():
        yield derived
        yield from _every(derived)


# What JSON is read as: one of the codes above.
if TYPE_CHECKING:
    AnyReason: TypeAlias = Reason
else:
    AnyReason = Union[tuple(_every(Reason))]  # noqa: UP007  (it has no other form for classes in a tuple)


def within(reason: Reason) -> Iterator[Reason]:
    """A reason with all that it follows from."""
    yield reason
    for name in reason.__struct_fields__:
        held = getattr(reason, name)
        for inner in held if isinstance(held, tuple) else (held,):
            if isinstance(inner, Reason):
                yield from within(inner)
