"""Why something is concluded: codes with arguments. `view/words` makes sentences of them, and nothing reads those.

A class is a code, its fields are the arguments. What a reason says stands with its template in `view/words/reasons.py`;
here stands what it is said of. Where a reason follows from another one, a field holds that. Why a place is no better
known is in `place_reasons.py`: a search, which asks for places alone, does not load the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, Union

from msgspec import convert

from ptexplore.model.actions import AnyAction
from ptexplore.model.codes import Reason as Reason  # noqa: PLC0414  (here is where all reasons are asked for)
from ptexplore.model.codes import Said as Said  # noqa: PLC0414
from ptexplore.model.codes import every
from ptexplore.model.codes import within as within  # noqa: PLC0414
from ptexplore.model.place_reasons import KINDS

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


class MarksRange(Reason, frozen=True):
    """It is a range that code marks for the profiler, and no call of a function."""


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
    then: AnyAction | None = None  # steps the first call of `op`, the first operator of which none was stepped
    op: str = ""


class OneOfEach(Reason, frozen=True):
    """One call of each kind."""


class CallsInAll(Reason, frozen=True):
    """More than one call of some: of another builtin."""

    calls: int


class KindsLeft(Reason, frozen=True):
    """Why so many kinds of calls were not stepped."""

    count: int
    because: AnyReason


class LaunchesNotTold(Reason, frozen=True):
    """Torch's profiler does not tell what is launched on these devices."""

    devices: tuple[str, ...]


class LibraryTold(Reason, frozen=True):
    """A call that a library told of."""

    library: str
    what: str
    problem: str
    implementation: str = ""
    times: int = 0  # if it was made several times


class ToldOfSuchCall(Reason, frozen=True):
    """What the libraries told of one such call, in a fork."""

    calls: tuple[LibraryTold, ...]
    more: int = 0


class ToldOfCall(Reason, frozen=True):
    """What the libraries told of the call, in a run of its own."""

    calls: tuple[LibraryTold, ...]
    more: int = 0


class ToldOfExpression(Reason, frozen=True):
    """What the libraries told of the expression, in a run of its own."""

    calls: tuple[LibraryTold, ...]
    more: int = 0


class LibraryUnordered(Reason, frozen=True):
    """What a library told of, and the frames that enter it, are not as many."""

    library: str
    calls: int
    frames: int
    op: str = ""  # of which operator call, in a program


class CompilesScript(Reason, frozen=True):
    """The stepped call compiles TorchScript."""


class TreeEnds(Reason, frozen=True):
    """The native tree ends early."""

    because: AnyReason
    op: str = ""  # of a program: of the call of which operator


class NotPlaced(Reason, frozen=True):
    """An operator was stepped, and no row has what ran in it."""

    op: str
    because: AnyReason


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

    because: AnyReason


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


# --- why a program's calls were not stepped ---


class CalledOnce(Reason, frozen=True):
    """It was called once, and a first call is not stepped."""


class PythonRuns(Reason, frozen=True):
    """Python runs in it, or between the fork and it."""


class ForkTooLate(Reason, frozen=True):
    """Its fork did not end in time."""


class ForkKilled(Reason, frozen=True):
    """A signal killed its fork."""

    signal: int


class BudgetSpent(Reason, frozen=True):
    """The budget was spent: a larger one steps more."""


class NoFurtherCall(Reason, frozen=True):
    """It was not called again where it can be stepped."""


class NoEntryPoint(Reason, frozen=True):
    """It has no function of its own in torch's library."""


class SteppingTimeSpent(Reason, frozen=True):
    """Stepping took its part of the time that all runs share."""

    seconds: float


class DeviceInUse(Reason, frozen=True):
    """The program uses a device, which no fork of it can use."""

    device: str


class ThreadsOfProgram(Reason, frozen=True):
    """The program runs threads of its own, which no fork has."""


class PythonModeOn(Reason, frozen=True):
    """A mode written in Python is on, and would run in a fork."""


class MemoryShared(Reason, frozen=True):
    """The program shares memory, to which a fork would write too."""


class ThreadsOfEngine(Reason, frozen=True):
    """Autograd runs threads for a device, which no fork has."""


class ChildrenHandled(Reason, frozen=True):
    """The program handles the signal of a child that ends."""


class NoProcessForked(Reason, frozen=True):
    """The system gave no fork."""

    error: str


# --- why a process cannot be stepped ---


class OtherMachine(Reason, frozen=True):
    """Stepping needs another processor or system."""

    machine: str
    system: str


class TrapBlocked(Reason, frozen=True):
    """The signal by which stepping works is blocked."""


class AlreadyTraced(Reason, frozen=True):
    """A debugger traces the process already."""


class TrapFlagIdle(Reason, frozen=True):
    """The processor's trap flag does nothing."""


class NoTrapHandler(Reason, frozen=True):
    """The system sets no handler for the signal by which stepping works."""

    error: str


class NoExecutableMemory(Reason, frozen=True):
    """The system gives no memory that can be executed."""

    error: str


class NoBreakpoint(Reason, frozen=True):
    """The system lets no breakpoint be set in torch's own code."""

    error: str


class NotProtectedAgain(Reason, frozen=True):
    """The system does not protect torch's own code again."""

    error: str


class NoMemoryForLog(Reason, frozen=True):
    """There is no memory for the log of steps."""

    kilobytes: int
    error: str


# --- why what was stepped ends early ---


class LogFull(Reason, frozen=True):
    """The log of steps was full."""


class ManyInstructions(Reason, frozen=True):
    """It runs more instructions than are stepped."""

    most: int


class ManySingleSteps(Reason, frozen=True):
    """It runs more instructions that must be stepped one by one than are stepped."""

    most: int


class SteppingTimeUp(Reason, frozen=True):
    """It was not done when its time was up."""

    seconds: float


class BlocksTrap(Reason, frozen=True):
    """The code blocks the signal by which stepping works."""


class HandlesTrap(Reason, frozen=True):
    """The code handles or sends the signal by which stepping works."""


class StartsAnother(Reason, frozen=True):
    """The code starts a thread, a process or another program."""


class HookTaken(Reason, frozen=True):
    """The traced code took the profile function away."""


class PythonLacks(Reason, frozen=True):
    """This Python lacks a function of C."""

    function: str


class OtherBuiltins(Reason, frozen=True):
    """This Python's builtin functions are laid out in another way."""


# --- what a recorder does not tell ---


class PathsTooDeep(Reason, frozen=True):
    """Calls nest deeper than paths are told apart."""

    levels: int


class ManyPaths(Reason, frozen=True):
    """There are more paths than are told apart."""

    most: int


class ManyPathsOfTorch(Reason, frozen=True):
    """The same, of what torch's own functions do."""

    most: int


class RecordingFailed(Reason, frozen=True):
    """The recorder's own code failed."""

    place: str
    error: str


class ProcessesStarted(Reason, frozen=True):
    """Processes were started, which are not recorded."""


class ProfilerNotStopped(Reason, frozen=True):
    """An operator was always at work, so that what was recorded could not be folded."""


class OtherThreadsWentOn(Reason, frozen=True):
    """Other threads may have gone on while what had run was folded."""


class ClockWasSet(Reason, frozen=True):
    """The machine's clock was set while torch's profiler told time by it."""


class ProfilesItself(Reason, frozen=True):
    """The program runs torch's profiler itself."""


class DeviceBeganInside(Reason, frozen=True):
    """What the first call that used the device launched is not told."""


class DeviceNotWatched(Reason, frozen=True):
    """What was launched on the device is not told: it was first used in here."""


class InterruptedInHook(Reason, frozen=True):
    """An interrupt came inside of the profile function."""


class OperatorsInsideCut(Reason, frozen=True):
    """Of the operators in one that was at work the rest is not told."""

    because: AnyReason


class OperatorsCut(Reason, frozen=True):
    """Operators that ran later are not told."""

    because: AnyReason


class ReadingTakesTime(Reason, frozen=True):
    """To read what was recorded takes a large part of the time that there is."""

    seconds: float


class ReadingTakesMemory(Reason, frozen=True):
    """To read what was recorded may take more memory than there is."""

    megabytes: int


class ThreadsInsideAtEnd(Reason, frozen=True):
    """Other threads may have been inside of operators as the recording ended."""


class HookTakenOrFailed(Reason, frozen=True):
    """Python's profile function was taken away, or failed."""


class MoreThreads(Reason, frozen=True):
    """More threads ran than this torch's profiler records."""

    count: int


class MoreThreadsCalled(Reason, frozen=True):
    """More threads called torch than this torch's profiler records."""

    count: int


class ThrowNotNoted(Reason, frozen=True):
    """Where C++ threw is not known."""

    because: AnyReason


class NoNotesOnMachine(Reason, frozen=True):
    """Errors are noted on other processors or systems."""

    machine: str
    system: str


class NotesRefused(Reason, frozen=True):
    """Errors cannot be noted."""

    error: str


class NotesUnexecutable(Reason, frozen=True):
    """The system gives the code that notes errors no memory that can be executed."""


class NotesDoNotFit(Reason, frozen=True):
    """The code that notes errors does not fit."""


class ErrorsMadeOtherwise(Reason, frozen=True):
    """This torch makes its errors in another way."""


class RaisingUnwatched(Reason, frozen=True):
    """What raises cannot be watched."""

    error: str


class SizesMerged(Reason, frozen=True):
    """An operator has more sizes than are told apart."""

    most: int


class CutBySilentEnd(Reason, frozen=True):
    """The process ended without a word."""


class CutByLateEnd(Reason, frozen=True):
    """The process did not end in time, and was killed."""


class FramesCut(Reason, frozen=True):
    """Python's frames are told up to a number."""

    most: int


class FramesLost(Reason, frozen=True):
    """The traced code took the profile hook away, or came to the recursion limit in it."""


class ThreadBefore(Reason, frozen=True):
    """A thread was there before the expression."""

    told: AnyReason


class ThreadsBefore(Reason, frozen=True):
    """Threads were there before the expression."""

    count: int
    told: AnyReason


class OperatorsOfNobody(Reason, frozen=True):
    """The Python of such a thread is not told, and its operators count as no calls of yours."""


class NothingOfThread(Reason, frozen=True):
    """Nothing is told of such a thread."""


class NestsTooDeep(Reason, frozen=True):
    """The expression nests too deeply for its calls to be recorded."""


class EventsCut(Reason, frozen=True):
    """The first events alone are kept."""

    most: int


class CallsCut(Reason, frozen=True):
    """The expression's calls are told up to a number."""

    most: int


class NodesCut(Reason, frozen=True):
    """The first nodes of autograd alone are told."""

    most: int


class LocationsLeftOut(Reason, frozen=True):
    """The native pass left out where TorchScript was written."""


class ManySavedTensors(Reason, frozen=True):
    """More tensors were saved at one time than are watched."""

    most: int


# --- why there is no native pass ---


class NativeNotAsked(Reason, frozen=True):
    """Nobody asked for the native pass."""


class NoBudget(Reason, frozen=True):
    """The budget leaves nothing to step."""


class RunsOnce(Reason, frozen=True):
    """The expression runs a single time."""


class ScriptNotStepped(Reason, frozen=True):
    """A script is never stepped whole."""


class RanInYourProcess(Reason, frozen=True):
    """It ran once, in a process of the user's."""


class CalledNoOperator(Reason, frozen=True):
    """The program called no operator."""


class KindNotStepped(Reason, frozen=True):
    """Why no call of one kind was stepped."""

    because: AnyReason


class KindsNotStepped(Reason, frozen=True):
    """Why no call of some kinds was stepped."""

    count: int
    because: AnyReason


class NativeSilent(Reason, frozen=True):
    """The native pass said nothing."""


class NothingToStep(Reason, frozen=True):
    """All of it is too much, and no operator call can be stepped instead."""

    beyond: AnyReason
    instead: AnyReason


class AllBeyond(Reason, frozen=True):
    """All of it runs more instructions than are stepped."""

    most: int


class AllBeyondSingly(Reason, frozen=True):
    """All of it runs more instructions that must be stepped one by one."""

    most: int


class NoOperatorEnters(Reason, frozen=True):
    """No operator that it calls has an entry point of its own."""


class CallsNoOperator(Reason, frozen=True):
    """The expression calls no operator."""


class CalledBeyondRecorded(Reason, frozen=True):
    """An operator is called more often than was recorded."""

    op: str
    because: AnyReason


class MaybeInAnotherThread(Reason, frozen=True):
    """Another thread may have called it."""


class CallNumberWanted(Reason, frozen=True):
    """The number of the call that was asked for is none."""

    given: str


class NoEntryOf(Reason, frozen=True):
    """The operator that was asked for has no entry point of its own."""

    op: str


class NoSuchOperator(Reason, frozen=True):
    """There is no operator of the name that was asked for."""

    op: str
    near: tuple[str, ...] = ()


class CalledFewerTimes(Reason, frozen=True):
    """The operator that was asked for is called fewer times."""

    op: str
    called: int
    wanted: int


class NothingCalled(Reason, frozen=True):
    """No operator is called by its entry point."""

    called: int
    wanted: int


class EndsItself(Reason, frozen=True):
    """What ends its process is not stepped."""


class OwnCodeFailed(Reason, frozen=True):
    """The recorder's own code failed."""

    exception: str
    message: str


class LaterCallStepped(Reason, frozen=True):
    """The native pass steps a later call than the first."""

    second: AnyReason


class RaisedUnderStepper(Reason, frozen=True):
    """It raised something under the stepper."""

    exception: str
    message: AnyReason


class SaysNothing(Reason, frozen=True):
    """An error says nothing more."""


class TrapTaken(Reason, frozen=True):
    """Something blocked or took over the signal by which stepping works."""


class FurtherRun(Reason, frozen=True):
    """A further run in its process finds something else."""

    does: AnyReason


class SetupRaisedAgain(Reason, frozen=True):
    """The setup raised as it ran a second time in one process."""

    exception: str
    message: str


class EndedBySignal(Reason, frozen=True):
    """A signal ended the process of the native pass."""

    signal: str


class EndedByItself(Reason, frozen=True):
    """The process of the native pass ended by itself."""


class PassEndedBySignal(Reason, frozen=True):
    """A signal ended the process of a pass."""

    recorder: str
    signal: str


class PassEndedByItself(Reason, frozen=True):
    """The process of a pass ended by itself."""

    recorder: str
    status: int


class TimeWasOver(Reason, frozen=True):
    """The time of all runs was over before."""

    missing: tuple[AnyReason, ...] = ()


class TimeOverBefore(Reason, frozen=True):
    """The time of all runs was over before the native pass began."""


class FramesMissing(Reason, frozen=True):
    """Functions of Python are not shown."""


class CallsMissing(Reason, frozen=True):
    """Which call of the expression ran an operator is not shown."""


class PassStopped(Reason, frozen=True):
    """A pass was stopped, as the time of all runs was over."""

    running: AnyReason
    seconds: float


class RunningPass(Reason, frozen=True):
    """A pass of a recorder."""

    recorder: str


class ImportingTorch(Reason, frozen=True):
    """The import of torch."""


class NotEndedInTime(Reason, frozen=True):
    """The expression did not end in time."""

    seconds: float


class ProbeDied(Reason, frozen=True):
    """The probe died."""


class ProbeKilled(Reason, frozen=True):
    """A signal killed the probe."""

    signal: str
    running: AnyReason


class ProbeEnded(Reason, frozen=True):
    """The probe ended before it was done."""

    status: int
    running: AnyReason


# --- why the first call is shown ---


class DoesNotEnd(Reason, frozen=True):
    """The second call does not end in its part of the time."""

    seconds: float


class DoesNotEndRecorded(Reason, frozen=True):
    """The same, beside the recorders."""

    seconds: float


class EndsProcess(Reason, frozen=True):
    """A signal ends the process of the second call."""

    signal: str


class ExitsProcess(Reason, frozen=True):
    """The second call ends its process by itself."""

    status: int


class RaisesError(Reason, frozen=True):
    """The second call raises an error."""

    exception: str
    message: str


class RaisesNothing(Reason, frozen=True):
    """The second call raises nothing."""


class CannotBeRun(Reason, frozen=True):
    """The second call cannot be run."""

    because: AnyReason


class NeedsSetupAgain(Reason, frozen=True):
    """The second call would need the setup to run again."""

    because: AnyReason


class EntersMode(Reason, frozen=True):
    """The setup enters a mode of torch's dispatcher or functions."""


class EntersLevel(Reason, frozen=True):
    """The setup enters a transform or a level of forward-mode differentiation."""


class RegistersGlobalHook(Reason, frozen=True):
    """The setup registers a hook of all modules or optimizers."""


class SetsSavedHooks(Reason, frozen=True):
    """The setup sets hooks on saved tensors."""


class RegistersOperators(Reason, frozen=True):
    """The setup registers operators or kernels."""


class StartsThread(Reason, frozen=True):
    """The setup starts a thread."""


class RegistersAtExit(Reason, frozen=True):
    """The setup registers a function with atexit."""


class RegistersGcCallback(Reason, frozen=True):
    """The setup registers a callback of gc."""


class AddsMetaPath(Reason, frozen=True):
    """The setup adds to sys.meta_path."""


class AddsPathHooks(Reason, frozen=True):
    """The setup adds to sys.path_hooks."""


class ReplacesFunction(Reason, frozen=True):
    """The setup replaces a function."""

    name: str


class RunsInWhatIsLeft(Reason, frozen=True):
    """The second call would run in what the first left on."""

    settings: tuple[str, ...]


class UsedUp(Reason, frozen=True):
    """The second call would not find what the first used up."""

    things: tuple[AnyReason, ...]


class AndMore(Reason, frozen=True):
    """There are more of them."""


class OfName(Reason, frozen=True):
    """What holds for what a name leads to."""

    name: str
    because: AnyReason


class SlotChanged(Reason, frozen=True):
    """A slot of an object has changed."""

    slot: str
    owner: str


class CacheChanged(Reason, frozen=True):
    """Its cache has changed."""


class StateUnread(Reason, frozen=True):
    """Its state cannot be read."""

    error: str


class GoneOn(Reason, frozen=True):
    """An iterator has gone on."""

    type: str


class OtherMemory(Reason, frozen=True):
    """It has other memory, sizes or strides."""


class MadeByAnother(Reason, frozen=True):
    """Another operator made what it is now."""


class WrittenTo(Reason, frozen=True):
    """It was written to."""


# --- what backward ran from ---


class BackwardFrom(Reason, frozen=True):
    """The tensors that backward ran from."""

    starts: tuple[AnyReason, ...]
    more: int = 0


class BeganAt(Reason, frozen=True):
    """A tensor that backward began at."""

    tensor: str


class BeganAtSum(Reason, frozen=True):
    """A tensor at whose sum backward began."""

    tensor: str


class BeganAtReal(Reason, frozen=True):
    """A tensor at whose real part backward began."""

    tensor: str


class BeganAtRealSum(Reason, frozen=True):
    """A tensor at the sum of whose real part backward began."""

    tensor: str


# --- what was given cannot be run ---


class GivenExpression(Reason, frozen=True):
    """The expression."""


class GivenScript(Reason, frozen=True):
    """The script."""


class GivenSetup(Reason, frozen=True):
    """The statements of the setup."""


class GivenVariable(Reason, frozen=True):
    """The value of a name."""

    name: str


class GivenContext(Reason, frozen=True):
    """What gives a context manager."""

    expression: str


class GivenEmpty(Reason, frozen=True):
    """What was given is empty."""

    given: AnyReason


class GivenUnparsed(Reason, frozen=True):
    """Python's parser refuses what was given."""

    given: AnyReason
    because: AnyReason


class NestsBeyondParser(Reason, frozen=True):
    """It nests too deeply for Python's parser."""


class GivenStatement(Reason, frozen=True):
    """What was given is a statement."""

    given: AnyReason


class GivenStatements(Reason, frozen=True):
    """What was given is several statements."""

    given: AnyReason
    count: int


class ScriptChanged(Reason, frozen=True):
    """The script changed since it was shown."""


class GivenRaised(Reason, frozen=True):
    """What was given raised."""

    given: AnyReason
    exception: str
    message: str


class NoContextManager(Reason, frozen=True):
    """What was given is no context manager."""

    given: AnyReason
    exception: str
    message: str


class NameUndefined(Reason, frozen=True):
    """A name is not defined."""

    name: str


class NameCalled(Reason, frozen=True):
    """A name is called that would be a seeded tensor."""

    name: str


class NoAttribute(Reason, frozen=True):
    """A module has no such attribute."""

    owner: str
    name: str


class ExpressionProfiles(Reason, frozen=True):
    """The expression runs torch's profiler itself."""


class NeedsNoGrad(Reason, frozen=True):
    """The result does not require grad."""

    result: str


# --- where passes and runs differ ---


class PassesDiffer(Reason, frozen=True):
    """Two passes called other operators, from one on."""

    cause: AnyReason
    number: int
    reference: str
    recorder: str
    first: AnyReason
    second: AnyReason


class CountsDiffer(Reason, frozen=True):
    """Two passes called an operator of other threads another number of times."""

    cause: AnyReason
    name: str
    first: int
    second: int
    reference: str
    recorder: str


class TheEnd(Reason, frozen=True):
    """The end of a run, in place of an operator."""


class RunsDiffer(Reason, frozen=True):
    """Two runs called different operators."""

    limit: AnyReason | None = None


class RecorderChanged(Reason, frozen=True):
    """The recorder changed what ran."""

    limit: AnyReason | None = None
    reference: str = ""


class AtRecursionLimit(Reason, frozen=True):
    """Python's recursion limit was met, for which the recorder's own frames count."""


# --- what was stopped, or varies ---


class ThrowNotLooked(Reason, frozen=True):
    """Where C++ threw was not looked for."""

    because: AnyReason


class RunsTimeOver(Reason, frozen=True):
    """The time of all runs was over."""

    then: AnyAction


class TooLate(Reason, frozen=True):
    """Passes are missing, as the time was over."""

    because: AnyReason
    then: AnyAction
    missing: tuple[AnyReason, ...] = ()


class Stopping(Reason, frozen=True):
    """What stopped a probe, and how."""

    message: AnyReason
    because: AnyReason
    then: AnyAction


class WritesNotTold(Reason, frozen=True):
    """A run that watches saved tensors told nothing."""

    because: AnyReason


class ErrorNotRaised(Reason, frozen=True):
    """The error was not raised in that run."""


class RunEndedBySignal(Reason, frozen=True):
    """A signal ended the process of that run."""

    signal: str


class RunEndedByItself(Reason, frozen=True):
    """The process of that run ended by itself."""


class VariesByChance(Reason, frozen=True):
    """What is left to chance, as was asked for."""

    what: tuple[str, ...]


class VariesAnyway(Reason, frozen=True):
    """What the system lets nobody fix."""

    what: tuple[str, ...]


class ScriptInterrupted(Reason, frozen=True):
    """The script was interrupted since it took too long."""

    seconds: float
    then: AnyAction


# --- why a process of the user's cannot be recorded ---


class NotRecordedNow(Reason, frozen=True):
    """The process cannot be recorded now."""


class RecordedAlready(Reason, frozen=True):
    """It is recorded already."""


class InOtherThreadThanMain(Reason, frozen=True):
    """It was asked for in a thread that is not the main one."""


class ProfileFunctionSet(Reason, frozen=True):
    """A profile function of Python's is set."""


class TorchProfilerAtWork(Reason, frozen=True):
    """A profiler of torch's is at work."""


# --- why nothing could be captured ---


class NothingToTrace(Reason, frozen=True):
    """There is nothing to trace."""


class NothingGiven(Reason, frozen=True):
    """No expression and no script is given."""


class NoScript(Reason, frozen=True):
    """There is no such script."""

    script: str


class NoFile(Reason, frozen=True):
    """No file has that name."""


class NothingToRun(Reason, frozen=True):
    """Nothing was given."""


class ParserRefuses(Reason, frozen=True):
    """Python's own parser refuses it."""


class OneExpression(Reason, frozen=True):
    """A trace is of one expression."""


class NamesBecomeTensors(Reason, frozen=True):
    """Which names become tensors, and which must be bound."""


class LookedForBefore(Reason, frozen=True):
    """An attribute is looked for before anything runs."""


class VariablesRunOnce(Reason, frozen=True):
    """When values of names are evaluated."""


class SetupRunsFirst(Reason, frozen=True):
    """When the setup is run."""


class ContextsAreExpressions(Reason, frozen=True):
    """What gives a context manager is an expression."""


class OneProfiler(Reason, frozen=True):
    """Torch has one profiler at a time."""


class BackwardNeeds(Reason, frozen=True):
    """What backward needs."""


class CannotRun(Reason, frozen=True):
    """It cannot be run."""


class GivenLine(Reason, frozen=True):
    """A line of what was given, with a mark under a place of it."""

    line: str
    caret: str


class PartOfRun(Reason, frozen=True):
    """What was running."""

    stage: str


class PartBackward(Reason, frozen=True):
    """The backward of the expression was running."""


class PartContext(Reason, frozen=True):
    """A context manager was being left."""


class PartRaised(Reason, frozen=True):
    """What ran raised an error."""

    part: AnyReason
    exception: str
    source: str


class PartNeedsMemory(Reason, frozen=True):
    """What ran needs more memory than there is."""

    part: AnyReason


class ErrorSilent(Reason, frozen=True):
    """An error has no words."""

    exception: str


class ScriptNotEnded(Reason, frozen=True):
    """The script did not end in time."""

    seconds: float


class RunsOver(Reason, frozen=True):
    """In which pass the time of all runs was over."""

    seconds: float
    recorder: str
    where: AnyReason | None = None


class AtLine(Reason, frozen=True):
    """The line of what was given that was at work."""

    line: int
    file: str


class InFunction(Reason, frozen=True):
    """The function that was at work, and the line of what was given that called it."""

    function: str
    line: int
    file: str


class CannotBeTraced(Reason, frozen=True):
    """It ends its process under ptexplore alone."""

    given: AnyReason
    source: str


class KilledProcess(Reason, frozen=True):
    """It ended its process."""

    given: AnyReason
    source: str


class ProcessEnded(Reason, frozen=True):
    """How a process ended, and what is known of why."""

    how: AnyReason
    recorder: str = ""
    where: AnyReason | None = None
    killer: AnyReason | None = None
    limit: AnyReason | None = None
    alone: AnyReason | None = None


class KilledBy(Reason, frozen=True):
    """A signal killed it."""

    signal: str


class EndedWithStatus(Reason, frozen=True):
    """It ended by itself."""

    status: int


class CalledToEnd(Reason, frozen=True):
    """It called what ends a process."""

    function: str
    status: str = ""


class SystemKillsForTime(Reason, frozen=True):
    """The system kills for processor time or memory."""


class SystemKillsForMemory(Reason, frozen=True):
    """The system kills for memory."""


class ProcessorTimeLimit(Reason, frozen=True):
    """The limit on processor time."""


class FileSizeLimit(Reason, frozen=True):
    """The limit on the size of a file."""


class AloneGoesOn(Reason, frozen=True):
    """Without recorders it does not end its process."""


class AloneAlike(Reason, frozen=True):
    """Without recorders it ends in the same way."""


class AloneOtherwise(Reason, frozen=True):
    """Without recorders it ends in another way."""

    how: str


class TorchNotInTime(Reason, frozen=True):
    """Torch was not imported in time."""


class TookMoreThan(Reason, frozen=True):
    """It took more time than it may."""

    seconds: float


class ProbeUnread(Reason, frozen=True):
    """The probe's answer cannot be read."""


class NotStarted(Reason, frozen=True):
    """A Python cannot be started."""

    python: str


class TorchNotImported(Reason, frozen=True):
    """Torch cannot be imported."""


class OtherTorchImported(Reason, frozen=True):
    """The probe imported another torch."""


class OtherTorchFound(Reason, frozen=True):
    """Which torch is found first."""

    path: str


class ProbeFailed(Reason, frozen=True):
    """The probe failed inside ptexplore's own code."""


# --- what was left running ---


class LeftAlone(Reason, frozen=True):
    """A process that was started runs on."""

    given: AnyReason
    processes: tuple[AnyReason, ...]


class SeveralLeftAlone(Reason, frozen=True):
    """Processes that were started run on."""

    count: int
    given: AnyReason
    processes: tuple[AnyReason, ...]
    others: int = 0
    often: AnyReason | None = None


class RunsSeveralTimes(Reason, frozen=True):
    """A trace runs its expression several times."""


class EndedWithTrace(Reason, frozen=True):
    """A process that was started ended with the trace."""

    given: AnyReason
    processes: tuple[AnyReason, ...]


class SeveralEndedWithTrace(Reason, frozen=True):
    """Processes that were started ended with the trace."""

    count: int
    given: AnyReason
    processes: tuple[AnyReason, ...]
    others: int = 0


class ProcessOf(Reason, frozen=True):
    """A process."""

    command: AnyReason
    number: str


class ProcessesOf(Reason, frozen=True):
    """Processes of one command."""

    command: AnyReason
    numbers: tuple[str, ...]
    further: AnyReason | None = None


class ForkOfRun(Reason, frozen=True):
    """A fork of the run's own process."""


class ProbeEndedIn(Reason, frozen=True):
    """A probe ended in the middle of passes."""

    message: AnyReason
    because: AnyReason
    then: AnyAction
    missing: tuple[AnyReason, ...] = ()


# --- how a second run of a script compares ---


class RanAlike(Reason, frozen=True):
    """The second run did the same."""

    same: tuple[AnyReason, ...]


class RanOtherwise(Reason, frozen=True):
    """The second run did something else."""

    differences: tuple[AnyReason, ...]


class SecondUnanswered(Reason, frozen=True):
    """The second run gave no answer."""


class NotCompared(Reason, frozen=True):
    """The operators of the two runs cannot be compared."""

    because: AnyReason


class ClockSetMeanwhile(Reason, frozen=True):
    """The machine's clock was set meanwhile."""


class ManyOperators(Reason, frozen=True):
    """There are more operators than the profiler holds at once."""


class RandomStateDiffers(Reason, frozen=True):
    """The state of a source of random numbers differs at the end."""

    source: str


class SameRandomStates(Reason, frozen=True):
    """The states of random numbers are the same."""


class SameEnding(Reason, frozen=True):
    """Both runs raised the same."""

    ending: str


class BothToTheEnd(Reason, frozen=True):
    """Both runs came to their end."""


class OtherEnding(Reason, frozen=True):
    """The runs ended in different ways."""

    first: AnyReason
    second: AnyReason


class ItsEnd(Reason, frozen=True):
    """The end of the script."""


class OtherCall(Reason, frozen=True):
    """The runs called other operators from one on."""

    number: int
    count: int
    first: AnyReason
    second: AnyReason
    many: AnyReason | None = None


class HadCalls(Reason, frozen=True):
    """A run had so many calls."""

    count: int


class OtherCounts(Reason, frozen=True):
    """Other threads called an operator another number of times."""

    name: str
    first: int
    second: int


class SameCalls(Reason, frozen=True):
    """The runs made the same calls."""

    count: int
    beside: int = 0


class OtherOutput(Reason, frozen=True):
    """The runs printed other lines from one on."""

    line: int
    first: AnyReason
    second: AnyReason


class NoLine(Reason, frozen=True):
    """No line, in place of one."""


class SameOutput(Reason, frozen=True):
    """The runs printed the same."""


class SameOutputKept(Reason, frozen=True):
    """The runs printed the same, of what was kept."""


class FailedSo(Reason, frozen=True):
    """What failed, and why."""

    told: AnyReason
    because: AnyReason


class NoOperatorsNamed(Reason, frozen=True):
    """The probe named no operators."""


class NoCatalogueGiven(Reason, frozen=True):
    """The probe gave no catalogue."""


class AllRunsOver(Reason, frozen=True):
    """The time that all runs share was over."""

    seconds: float
    then: AnyAction


# --- why an operator has no sample that could be traced ---


class NoTensorInSample(Reason, frozen=True):
    """The sample has no tensor."""


class NoSampleGiven(Reason, frozen=True):
    """OpInfo gives no sample for the CPU."""


class SamplesRaise(Reason, frozen=True):
    """Its samples raise untraced, too."""

    exception: str
    message: str


class NoBackwardOf(Reason, frozen=True):
    """OpInfo says that the operator has no backward."""


class NoDtypeNamed(Reason, frozen=True):
    """OpInfo names no dtype for the CPU."""

    backward: bool = False  # for a backward there


class RefusedInside(Reason, frozen=True):
    """Torch refuses the sample inside of something."""

    sort: AnyReason  # the same for many operators
    particulars: str = ""  # the operator that it names, or the error's own words


class NoBatchingRuleInside(Reason, frozen=True):
    """An operator in it has no batching rule."""


class DataDecide(Reason, frozen=True):
    """The values of tensors decide its shape, or what runs."""


class ResultNoTensor(Reason, frozen=True):
    """Its result is no tensor."""


class RaisesInside(Reason, frozen=True):
    """It raises there, for a reason that has no code."""

    exception: str


# --- what a failed check compared ---


class ValueShape(Reason, frozen=True):
    """A shape."""


class ValueDtype(Reason, frozen=True):
    """A dtype."""


class ValueDevice(Reason, frozen=True):
    """A device."""


class ValueElements(Reason, frozen=True):
    """A number of elements."""


class ValueDimensions(Reason, frozen=True):
    """A number of dimensions."""


class ValueRows(Reason, frozen=True):
    """A number of rows."""


class ValueColumns(Reason, frozen=True):
    """A number of columns."""


class ValueSize(Reason, frozen=True):
    """The size of a dimension."""

    dimension: int


class ValueSomeSize(Reason, frozen=True):
    """The size of a dimension that is not known."""


class ValueBroadcast(Reason, frozen=True):
    """A size of the shape that operands are broadcast to."""

    dimension: int


class ValueIndexed(Reason, frozen=True):
    """The size of the dimension that an index tensor is for."""

    tensor: int  # its number
    masks: bool  # whether a mask before it would count once for each of its dimensions


class ValueToChoose(Reason, frozen=True):
    """The number of dimensions that one may be chosen of."""


class ValueAsked(Reason, frozen=True):
    """What was asked for."""

    what: str  # `index`, `size`, `dimension`, `shape`


class ValueResult(Reason, frozen=True):
    """What the result has."""

    what: str  # `dtype`, `shape`


# --- errors ---


class TensorUntold(Reason, frozen=True):
    """The profiler tells nothing of a tensor."""


class ListUntold(Reason, frozen=True):
    """The profiler tells nothing of a list of optional tensors."""


class ByThrowing(Reason, frozen=True):
    """A function raised an error by throwing a type of C++."""

    type: str


class ByCalling(Reason, frozen=True):
    """A function raised an error by calling another one."""

    function: str


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


# What JSON is read as: one of the codes above, or of those of places.
if TYPE_CHECKING:
    AnyReason: TypeAlias = Reason
else:
    AnyReason = Union[tuple(code for code in every(Reason) if code not in KINDS)]  # noqa: UP007  (it has no other form for classes in a tuple)


def reason_of(told: Any) -> Reason:
    """A reason that was said as plain JSON data. Raises msgspec.ValidationError if it is none of ours."""
    return convert(told, AnyReason)
