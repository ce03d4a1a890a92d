"""Why something is concluded: codes with arguments. `view/words` turns them into sentences; no code reads those.

The class is the code, the fields are the arguments. `view/words/reasons.py` has the template of each reason. The
docstring here says when a reason applies. If a reason follows from another one, a field holds the other one.
`place_reasons.py` has the reasons about places, so a search, which needs only places, does not load this module.
"""

# Annotations are no strings here, but for classes that come later: msgspec would evaluate each string, of hundreds of
# classes, in every command that reads a trace.
from typing import TYPE_CHECKING, Any, TypeAlias

from ptexplore.model.actions import AnyAction
from ptexplore.model.codes import OneOf, convert
from ptexplore.model.codes import Reason as Reason  # noqa: PLC0414  (re-exported with all reasons)
from ptexplore.model.codes import Said as Said  # noqa: PLC0414
from ptexplore.model.codes import UnknownCode as UnknownCode  # noqa: PLC0414
from ptexplore.model.codes import within as within  # noqa: PLC0414
from ptexplore.model.place_reasons import KINDS

# --- the key sets of arguments ---


class ArgumentSets(Reason, frozen=True):
    """The origin of some arguments' key sets, or why the key sets are not known."""

    arguments: tuple[str, ...]
    because: "AnyReason"


class ForEach(Reason, frozen=True):
    """Reasons with the arguments that each applies to."""

    reasons: tuple[ArgumentSets, ...]


class Together(Reason, frozen=True):
    """Several reasons together."""

    reasons: "tuple[AnyReason, ...]"


class FreshTensor(Reason, frozen=True):
    """The tensor was made during the call."""


class NotReadTensor(Reason, frozen=True):
    """No recorder read the tensor's key set."""


class ReadByName(Reason, frozen=True):
    """The key set was read while a Python name held the tensor."""


class NotRead(Reason, frozen=True):
    """The key set was not read."""

    because: "AnyReason"


class MayBeWrapped(Reason, frozen=True):
    """A function transform may have wrapped the tensor."""


class SetsDiffer(Reason, frozen=True):
    """Calls from several places got tensors with different key sets."""


class UndefinedTensor(Reason, frozen=True):
    """The argument is None or an undefined tensor."""


class TensorsNotListed(Reason, frozen=True):
    """The profiler does not record the tensors of a list."""


class MayBeGenerator(Reason, frozen=True):
    """The argument may be a torch.Generator."""


class MayCarry(Reason, frozen=True):
    """A tensor made during the call may have these keys."""

    keys: tuple[str, ...]
    because: "AnyReason"


class MayBeOfDispatchingClass(Reason, frozen=True):
    """A tensor class that dispatches in Python may have made the tensor."""


class AsItsBaseMay(Reason, frozen=True):
    """The tensor is a view, and its base may have the key."""


class KeptByVjp(Reason, frozen=True):
    """A graph that torch.func.vjp kept holds wrapped tensors."""


class NamesAreInherited(Reason, frozen=True):
    """A tensor inherits the names of its dimensions from the tensors it was made from."""


class NotInInferenceMode(Reason, frozen=True):
    """A tensor has these keys only if it was not made in inference mode."""

    keys: tuple[str, ...]


class OtherSet(Reason, frozen=True):
    """The call's key set differs from the set that devices and layouts give."""


# --- the thread-local sets ---


class DefaultsAssumed(Reason, frozen=True):
    """The sets were not read; torch's defaults are assumed."""


class AsPythonLeftThem(Reason, frozen=True):
    """The sets as they were when Python last made or ended a call."""


class FramesEnd(Reason, frozen=True):
    """The Python frames end before this call."""


class MayHoldGuard(Reason, frozen=True):
    """The function around the call names a guard of torch._C, which may be active."""


class InAnotherThread(Reason, frozen=True):
    """The call ran in another thread."""


class SetByTransform(Reason, frozen=True):
    """A layer of a function transform sets new sets."""


class LeftByGuards(Reason, frozen=True):
    """The guards of the kernels around the call set the sets."""


class MayHoldNoNamesGuard(Reason, frozen=True):
    """Code around the call may hold a NoNamesGuard."""


class ChangedByHandWritten(Reason, frozen=True):
    """The hand-written kernel of a key changes the sets."""

    key: str


class NamesMayBeOff(Reason, frozen=True):
    """The kernel of a key may hold a NoNamesGuard, and a tensor of the call has names."""

    key: str


class InExtension(Reason, frozen=True):
    """The kernel around the call belongs to an extension."""


class InMaker(Reason, frozen=True):
    """A function that makes a tensor from Python values calls the operator."""

    function: str
    file: str
    guard: str
    excludes: tuple[str, ...]


class InMakerOfPlain(InMaker, frozen=True):
    """As InMaker, at the point where the function makes the plain tensor."""


class InMakerAtLift(InMaker, frozen=True):
    """As InMaker, around lift_fresh()."""


class AroundFrame(Reason, frozen=True):
    """The sets as they were read at the call around a Python frame."""


class InFactory(Reason, frozen=True):
    """A factory function in torch:: calls the operator."""

    factory: str
    file: str
    guard: str


class WhileTracing(Reason, frozen=True):
    """A binding includes the key Tracer while it traces."""

    function: str
    file: str


class MakingSubclass(Reason, frozen=True):
    """_make_subclass removes keys from the include set."""

    file: str
    keys: tuple[str, ...]


class InHandWrittenBinding(Reason, frozen=True):
    """The binding is hand-written, and may hold a guard."""


class OverloadNotKnown(Reason, frozen=True):
    """The overload of the operator around the call is not known."""


class KernelsNotKnown(Reason, frozen=True):
    """It is not known which kernels of the operator around the call ran."""

    op: str


class NotRecorded(Reason, frozen=True):
    """The profiler does not record these arguments."""

    arguments: tuple[str, ...]


class MayBeCopy(Reason, frozen=True):
    """The key's kernel saves a copy of a sparse tensor, which begins with empty tensors; the call may be part of it."""

    key: str


class MayBeOwnCall(Reason, frozen=True):
    """The text of the key's kernel calls the operator, and so may the kernel below."""

    key: str


class MayBeTangent(Reason, frozen=True):
    """The text of the key's kernel computes a forward gradient, which may have called the operator."""

    key: str


# --- where a kernel sends a call ---


class ByCustomOp(Reason, frozen=True):
    """torch.library.custom_op made the kernel, which redispatches below autograd."""

    file: str
    kernel: str  # the file of the kernel


class ByCustomOpWrites(Reason, frozen=True):
    """torch.library.custom_op made the kernel of an operator that writes its arguments."""

    file: str


class BodyRedispatches(Reason, frozen=True):
    """The kernel's body redispatches."""

    expression: str


class BodyComputes(Reason, frozen=True):
    """The kernel's body computes the next set from the options and tensors of the call."""


class BodyComputesTyped(BodyComputes, frozen=True):
    """As BodyComputes; also, nothing that you typed names another device or layout."""


class NotImplementedBelowAutograd(Reason, frozen=True):
    """The fallback for operators without a derivative redispatches below autograd."""

    function: str


class NotImplementedBelowViews(Reason, frozen=True):
    """The fallback for operators without a derivative redispatches below ADInplaceOrView."""

    function: str


class AutogradFallback(Reason, frozen=True):
    """Autograd's fallback redispatches below autograd."""

    file: str


class ManualKernel(Reason, frozen=True):
    """A hand-written kernel redispatches below its own key."""

    file: str


# --- why a key ---


class ThreadLocalSets(Reason, frozen=True):
    """The reason for the thread-local sets."""

    because: "AnyReason"


class HighestKey(Reason, frozen=True):
    """The key is the highest one in the set of the call."""

    key: str


class HighestLeft(Reason, frozen=True):
    """The key is the highest one in the set after a redispatch."""

    key: str


class EntryOfTable(Reason, frozen=True):
    """The entry of the dispatch table for the key."""

    key: str
    entry: str


class GivenSet(Reason, frozen=True):
    """A C++ function got the set in a register."""

    function: str
    set: str
    register: str
    key: str


class KeyNotKnown(Reason, frozen=True):
    """It is not known which key the call goes to next."""

    because: "AnyReason"
    after: str = ""  # the last key that is known


class ComputedFromOptions(Reason, frozen=True):
    """The kernel's body computes the next set from options, which the profiler does not record."""


# --- kernels and what they call ---


class RanInside(Reason, frozen=True):
    """The profiler saw these operators inside the call, so they are placed inside the kernel."""


class RegisteredByPython(Reason, frozen=True):
    """Python registered the kernel, and the dispatcher called this Python function."""

    function: str


class BodyCalls(Reason, frozen=True):
    """The body of a function calls it."""

    function: str


class BodyNames(Reason, frozen=True):
    """The body of a function names it, but that line was not seen to run."""

    function: str
    place: str
    through: tuple[str, ...] = ()
    condition: str = ""  # the place of the condition that decides whether it runs


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
    """Exactly one overload fits the end of the recorded stack."""

    op: str


class OnlyOverload(Reason, frozen=True):
    """The operator has only this overload."""

    op: str


class TakesInputs(Reason, frozen=True):
    """Exactly one overload accepts the inputs."""

    op: str
    others: int


class TakesNames(Reason, frozen=True):
    """Other overloads take dimension names, and no tensor has any."""

    overloads: tuple[str, ...]


class WouldCallOthers(Reason, frozen=True):
    """Other overloads would have called other operators."""

    overloads: tuple[str, ...]


class BoxedStack(Reason, frozen=True):
    """The operator was called boxed, so its inputs are the last values on the stack."""

    values: int
    inputs: int


class CalledBefore(Reason, frozen=True):
    """In an earlier run, an operator call called other operators, which the stepped run did not call."""

    operators: tuple[str, ...]


class BoxedByTorchOps(Reason, frozen=True):
    """torch.ops called the operator."""


# --- why an operator copied ---


class NotJoined(Reason, frozen=True):
    """No view can join two dimensions: the stride of the first is not the size times the stride of the second."""

    first: int
    second: int
    stride: int
    inner_size: int
    inner_stride: int


class DimensionPair(NotJoined, frozen=True):
    """One of several pairs of dimensions that no view can join."""


class CannotJoin(Reason, frozen=True):
    """No view can join some dimensions. Which of them a view had to join is not known, as its sizes are not."""

    pairs: tuple[DimensionPair, ...]


class OneInMemory(Reason, frozen=True):
    """All elements along a dimension are one in memory, because its stride is 0."""

    argument: str
    dimension: int
    size: int


class FormatWanted(Reason, frozen=True):
    """A memory format was asked for, and the tensor does not have it."""

    format: str
    by: str = ""  # the operator that asked for it, if an operator did


class BitSet(Reason, frozen=True):
    """A tensor has a bit for lazy arithmetic, and was copied to compute it."""

    bit: str  # "conjugate" or "negative"
    by: str = ""  # the operator that needed the computed values, if an operator did


class NotDense(Reason, frozen=True):
    """A copy gets new strides, because the tensor skips memory or uses it twice."""


class KeptStrides(Reason, frozen=True):
    """A copy keeps the strides, because the tensor is dense: it neither skips memory nor uses it twice."""


# --- frames of the stepped run ---


class RanInCaller(Reason, frozen=True):
    """It has no frame, and its callees ran in its caller: it was inlined."""


class CalledAsDispatcher(Reason, frozen=True):
    """It has no frame: its caller does what a call of an operator does."""


class CompiledIn(Reason, frozen=True):
    """The type of a function that ran names it, and it has no frame: it was inlined."""

    function: str


class RanUnnamed(Reason, frozen=True):
    """A function ran the kernel, although it does not name the kernel."""

    function: str
    key: str


class RanPython(Reason, frozen=True):
    """A C++ function ran a Python function."""

    function: str
    python: str


class IsWhatRan(Reason, frozen=True):
    """The function that ran determines the overload."""

    function: str


class NotProfiled(Reason, frozen=True):
    """A function ran for which the profiler recorded no event."""

    function: str
    kernel: str = ""  # a kernel that only this operator has, and that ran inside


class CalledElsewhere(Reason, frozen=True):
    """A function ran that had another caller in the run that the profiler recorded."""

    function: str
    kernel: str = ""  # a kernel that only this operator has, and that ran inside


# --- calls from Python ---


class WhichCall(Reason, frozen=True):
    """A loop calls this part of the expression, so it may have run in the previous call."""


class OperatorSyntax(Reason, frozen=True):
    """For operator syntax, Python looks up a slot on the operand's type."""

    source: str
    syntax: str
    name: str


class ThroughPython(Reason, frozen=True):
    """A Python function looks up a slot on the operand's type."""

    source: str
    through: str
    name: str


class SlotByName(Reason, frozen=True):
    """A slot was called by its name; Python calls no profile function for that."""

    source: str
    name: str


class RowOfTable(Reason, frozen=True):
    """A row of a generated table names the C function."""

    table: str
    row: str
    place: str
    function: str


class TableNames(Reason, frozen=True):
    """A hand-written table names the C function."""

    place: str
    function: str


class MarksRange(Reason, frozen=True):
    """A range that code marks for the profiler, and not a function call."""


# --- autograd ---


class HeldByGraph(Reason, frozen=True):
    """The graph of the result holds the node, which has the sequence number of the call."""


class AccumulatesGradient(Reason, frozen=True):
    """A leaf accumulates its gradient."""


class MadeByCall(Reason, frozen=True):
    """An operator call made the node: both have the same sequence number."""

    op: str


class EntriesMakeNode(Reason, frozen=True):
    """Several entries of derivatives.yaml make this node."""

    count: int


class EventsEnd(Reason, frozen=True):
    """The profiler's events end at the node."""

    node: str


class EngineAtNode(Reason, frozen=True):
    """The profiler recorded the engine at the node, but no call of the node's apply."""

    node: str


class FormulaCalls(Reason, frozen=True):
    """A formula calls the function if its input needs a gradient."""

    place: str


# --- findings ---


class OtherResult(Reason, frozen=True):
    """The stepped run gave another result."""


class GradientCopied(Reason, frozen=True):
    """AccumulateGrad copied a gradient; the recorder may be the cause."""


class RegistrationsChanged(Reason, frozen=True):
    """The traced code changed an operator's registrations."""

    op: str


class KindsStepped(Reason, frozen=True):
    """How many kinds of a program's calls were stepped."""

    kinds: int
    all_kinds: int
    of_each: "AnyReason"  # how many calls of each kind were stepped
    instructions: int = 0  # 0 in an older file
    left: "tuple[AnyReason, ...]" = ()
    then: AnyAction | None = None  # steps the first call of `op`, which is the first operator without a stepped call
    op: str = ""


class OneOfEach(Reason, frozen=True):
    """One call of each kind was stepped."""


class CallsInAll(Reason, frozen=True):
    """For some kinds, several calls were stepped: calls from different builtins."""

    calls: int


class KindsLeft(Reason, frozen=True):
    """Why some kinds of calls were not stepped."""

    count: int
    because: "AnyReason"


class LaunchesNotTold(Reason, frozen=True):
    """torch.profiler does not record launches on these devices."""

    devices: tuple[str, ...]


class LibraryTold(Reason, frozen=True):
    """A call that a library reported."""

    library: str
    what: str
    problem: str
    implementation: str = ""
    times: int = 0  # if it was made several times
    took: int = 0  # nanoseconds of all these calls, as the library reports them


class ToldOfSuchCall(Reason, frozen=True):
    """What the libraries reported about one such call, in a fork."""

    calls: tuple[LibraryTold, ...]
    more: int = 0


class ToldOfCall(Reason, frozen=True):
    """What the libraries reported about the call, in a separate run."""

    calls: tuple[LibraryTold, ...]
    more: int = 0


class ToldOfExpression(Reason, frozen=True):
    """What the libraries reported about the expression, in a separate run."""

    calls: tuple[LibraryTold, ...]
    more: int = 0


class LibraryUnordered(Reason, frozen=True):
    """The number of calls that a library reported differs from the number of frames that enter it."""

    library: str
    calls: int
    frames: int
    op: str = ""  # the operator of the call, if calls of several operators were stepped


class CompilesScript(Reason, frozen=True):
    """The stepped call compiles TorchScript."""


class TreeEnds(Reason, frozen=True):
    """The native tree ends early."""

    because: "AnyReason"
    op: str = ""  # in a program: the operator of the call


class NotPlaced(Reason, frozen=True):
    """An operator was stepped, but no hop received the frames."""

    op: str
    because: "AnyReason"


class NotAmongShown(Reason, frozen=True):
    """The call is not among those that are shown."""


class InSeveralThreads(Reason, frozen=True):
    """Several threads call the operator."""


class CalledOtherTimes(Reason, frozen=True):
    """The stepped run called the operator a different number of times."""

    op: str
    stepped: int
    called: int


class EnteredOtherTimes(Reason, frozen=True):
    """The operator was entered more or fewer times than calls were recorded."""

    op: str


class NoSuchCall(Reason, frozen=True):
    """The trace has no call with this number."""

    called: int


class RanBefore(Reason, frozen=True):
    """Operators, nodes or Python functions that ran in an earlier run but not in the stepped run."""

    names: "tuple[AnyReason, ...]"
    threads: "AnyReason"  # the number of threads, as a reason
    further: int = 0  # how many more there were
    number: int = 0  # the position of the first operator that differs
    before: str = ""
    stepped: str = ""


class NameAlone(Reason, frozen=True):
    """A name."""

    name: str


class CallMore(Reason, frozen=True):
    """An operator with one additional call."""

    name: str


class CallsMore(Reason, frozen=True):
    """An operator with several additional calls."""

    name: str
    count: int


class NodeBy(Reason, frozen=True):
    """A node, and the operator that recorded it."""

    node: str
    op: str


class RecordedBefore(Reason, frozen=True):
    """Nodes that an earlier run recorded for backward, but not the stepped run."""

    nodes: "tuple[AnyReason, ...]"
    threads: "AnyReason"


class OnOneThread(Reason, frozen=True):
    """The stepped run used one thread."""


class OnThreads(Reason, frozen=True):
    """The stepped run used several threads."""

    count: int


class NotCalledAgain(Reason, frozen=True):
    """Operators that the profiler saw in an earlier run, but that the stepped run did not call."""

    names: tuple[str, ...]


class FramesUnordered(Reason, frozen=True):
    """Native frames may be under a Python function that did not call them."""

    because: "AnyReason"


class TooDeep(Reason, frozen=True):
    """Calls nested deeper are not shown."""

    levels: int


class ThereTwice(Reason, frozen=True):
    """Operators that appear twice: as the profiler saw them, and as they were stepped."""

    ops: tuple[str, ...]


class OtherKeys(Reason, frozen=True):
    """Different keys ran than were predicted."""

    op: str
    predicted: tuple[str, ...]
    ran: tuple[str, ...]


class OtherKernel(Reason, frozen=True):
    """A different kernel ran for a key than was predicted."""

    op: str
    key: str
    predicted: str
    ran: str


# --- why a program's calls were not stepped ---


class CalledOnce(Reason, frozen=True):
    """It was called only once, and a first call is not stepped."""


class PythonRuns(Reason, frozen=True):
    """Python runs in it, or between the fork and the call."""


class ForkTooLate(Reason, frozen=True):
    """Its fork did not end in time."""


class ForkKilled(Reason, frozen=True):
    """A signal killed its fork."""

    signal: int


class BudgetSpent(Reason, frozen=True):
    """The budget of instructions is used up."""


class NoFurtherCall(Reason, frozen=True):
    """It was not called again at a point where it can be stepped."""


class NoEntryPoint(Reason, frozen=True):
    """torch's library has no separate function for it."""


class SteppingTimeSpent(Reason, frozen=True):
    """Stepping used its part of the time for all runs."""

    seconds: float


class DeviceInUse(Reason, frozen=True):
    """The program uses a device, which a fork cannot use."""

    device: str


class ThreadsOfProgram(Reason, frozen=True):
    """The program runs threads, which a fork does not have."""


class PythonModeOn(Reason, frozen=True):
    """A mode written in Python is active, and would run in a fork."""


class MemoryShared(Reason, frozen=True):
    """The program shares memory, which a fork would also write to."""


class ThreadsOfEngine(Reason, frozen=True):
    """Autograd runs threads for a device, which a fork does not have."""


class ChildrenHandled(Reason, frozen=True):
    """The program handles SIGCHLD, so it would notice the forks."""


class NoProcessForked(Reason, frozen=True):
    """The fork failed."""

    error: str


# --- why a process cannot be stepped ---


class OtherMachine(Reason, frozen=True):
    """Stepping is not supported on this processor or system."""

    machine: str
    system: str


class TrapBlocked(Reason, frozen=True):
    """SIGTRAP, which stepping uses, is blocked."""


class AlreadyTraced(Reason, frozen=True):
    """A debugger already traces the process."""


class TrapFlagIdle(Reason, frozen=True):
    """The processor's trap flag has no effect."""


class NoTrapHandler(Reason, frozen=True):
    """The system refuses a handler for SIGTRAP, which stepping uses."""

    error: str


class NoExecutableMemory(Reason, frozen=True):
    """The system refuses executable memory."""

    error: str


class NoBreakpoint(Reason, frozen=True):
    """The system refuses a breakpoint in torch's code."""

    error: str


class NotProtectedAgain(Reason, frozen=True):
    """The system refuses to protect torch's code again."""

    error: str


class NoMemoryForLog(Reason, frozen=True):
    """There is no memory for the log of steps."""

    kilobytes: int
    error: str


# --- why stepping ended early ---


class LogFull(Reason, frozen=True):
    """The log of steps was full."""


class ManyInstructions(Reason, frozen=True):
    """It runs more instructions than the limit."""

    most: int


class ManySingleSteps(Reason, frozen=True):
    """It runs more instructions that must be stepped one by one than the limit."""

    most: int


class SteppingTimeUp(Reason, frozen=True):
    """Stepping did not finish in time."""

    seconds: float


class BlocksTrap(Reason, frozen=True):
    """The code blocks SIGTRAP, which stepping uses."""


class HandlesTrap(Reason, frozen=True):
    """The code handles or sends SIGTRAP, which stepping uses."""


class StartsAnother(Reason, frozen=True):
    """The code starts a thread, a process or another program."""


class HookTaken(Reason, frozen=True):
    """The traced code removed the profile function."""


class PythonLacks(Reason, frozen=True):
    """This Python does not have a C function that stepping needs."""

    function: str


class OtherBuiltins(Reason, frozen=True):
    """This Python has another memory layout for builtin functions."""


# --- what a recorder leaves out ---


class PathsTooDeep(Reason, frozen=True):
    """Calls are nested deeper than the limit for paths."""

    levels: int


class ManyPaths(Reason, frozen=True):
    """There are more paths than the limit."""

    most: int


class ManyPathsOfTorch(Reason, frozen=True):
    """There are more paths than the limit; calls deep inside torch's functions have none."""

    most: int


class RecordingFailed(Reason, frozen=True):
    """The recorder's own code failed."""

    place: str
    error: str


class ProcessesStarted(Reason, frozen=True):
    """Processes were started; they are not recorded."""


class ProfilerNotStopped(Reason, frozen=True):
    """An operator was always running, so the events could not be folded."""


class OtherThreadsWentOn(Reason, frozen=True):
    """Other threads may have run on during folding."""


class ClockWasSet(Reason, frozen=True):
    """The machine's clock was set while torch.profiler used it."""


class ProfilesItself(Reason, frozen=True):
    """The program itself uses torch.profiler."""


class DeviceBeganInside(Reason, frozen=True):
    """The launches of the first call that used the device are not recorded."""


class DeviceNotWatched(Reason, frozen=True):
    """Launches on the device are not recorded, because it was first used inside the block."""


class InterruptedInHook(Reason, frozen=True):
    """An interrupt came inside the profile function."""


class OperatorsInsideCut(Reason, frozen=True):
    """The remaining operators inside a running operator are not recorded."""

    because: "AnyReason"


class OperatorsCut(Reason, frozen=True):
    """Later operators are not recorded."""

    because: "AnyReason"


class ReadingTakesTime(Reason, frozen=True):
    """Reading the events takes a large part of the available time."""

    seconds: float


class ReadingTakesMemory(Reason, frozen=True):
    """Reading the events may take more memory than is available."""

    megabytes: int


class ThreadsInsideAtEnd(Reason, frozen=True):
    """Other threads may have been inside operators when the recording ended."""


class HookTakenOrFailed(Reason, frozen=True):
    """Python's profile function was removed, or failed."""


class MoreThreads(Reason, frozen=True):
    """More threads ran than this torch's profiler records."""

    count: int


class MoreThreadsCalled(Reason, frozen=True):
    """More threads called torch than this torch's profiler records."""

    count: int


class ThrowNotNoted(Reason, frozen=True):
    """The place where C++ threw is not known."""

    because: "AnyReason"


class NoNotesOnMachine(Reason, frozen=True):
    """Throws are not recorded on this processor or system."""

    machine: str
    system: str


class NotesRefused(Reason, frozen=True):
    """Throws cannot be recorded."""

    error: str


class NotesUnexecutable(Reason, frozen=True):
    """The system refuses executable memory for the code that records throws."""


class NotesDoNotFit(Reason, frozen=True):
    """The code that records throws does not fit."""


class ErrorsMadeOtherwise(Reason, frozen=True):
    """This torch creates errors in another way."""


class RaisingUnwatched(Reason, frozen=True):
    """The functions that raise cannot be watched."""

    error: str


class SizesMerged(Reason, frozen=True):
    """An operator has more different sizes than the limit."""

    most: int


class CutBySilentEnd(Reason, frozen=True):
    """The process ended without a message."""


class CutByLateEnd(Reason, frozen=True):
    """The process did not end in time and was killed."""


class FramesCut(Reason, frozen=True):
    """There are more Python frames than the limit."""

    most: int


class FramesLost(Reason, frozen=True):
    """The traced code removed the profile hook, or reached the recursion limit in it."""


class ThreadBefore(Reason, frozen=True):
    """A thread existed before the expression ran."""

    told: "AnyReason"


class ThreadsBefore(Reason, frozen=True):
    """Several threads existed before the expression ran."""

    count: int
    told: "AnyReason"


class OperatorsOfNobody(Reason, frozen=True):
    """The Python functions of this thread are not recorded, and its operators do not count as your calls."""


class NothingOfThread(Reason, frozen=True):
    """Nothing in this thread is recorded."""


class NestsTooDeep(Reason, frozen=True):
    """The expression nests too deeply for its calls to be recorded."""


class EventsCut(Reason, frozen=True):
    """Only the first events are kept."""

    most: int


class CallsCut(Reason, frozen=True):
    """The expression makes more calls than the limit."""

    most: int


class NodesCut(Reason, frozen=True):
    """Only the first autograd nodes are recorded."""

    most: int


class LocationsLeftOut(Reason, frozen=True):
    """The stepped run omitted torch.jit.trace's record of source locations."""


class ManySavedTensors(Reason, frozen=True):
    """More tensors were saved at one time than can be watched."""

    most: int


# --- why nothing was stepped ---


class NativeNotAsked(Reason, frozen=True):
    """stepping was not requested."""


class NoBudget(Reason, frozen=True):
    """The budget of instructions is 0."""


class RunsOnce(Reason, frozen=True):
    """The expression may run only once."""


class ScriptNotStepped(Reason, frozen=True):
    """A script is never stepped as a whole."""


class RanInYourProcess(Reason, frozen=True):
    """It ran once, in your own process."""


class CalledNoOperator(Reason, frozen=True):
    """The program called no operator."""


class KindNotStepped(Reason, frozen=True):
    """Why no call of this kind was stepped."""

    because: "AnyReason"


class KindsNotStepped(Reason, frozen=True):
    """Why no call of these kinds was stepped."""

    count: int
    because: "AnyReason"


class NativeSilent(Reason, frozen=True):
    """The stepped run sent no message."""


class NothingToStep(Reason, frozen=True):
    """The whole run is too long, and no operator call can be stepped instead."""

    beyond: "AnyReason"
    instead: "AnyReason"


class AllBeyond(Reason, frozen=True):
    """The whole run has more instructions than the limit."""

    most: int


class AllBeyondSingly(Reason, frozen=True):
    """The whole run has more instructions that must be stepped one by one than the limit."""

    most: int


class NoOperatorEnters(Reason, frozen=True):
    """None of the called operators has an entry point."""


class CallsNoOperator(Reason, frozen=True):
    """The expression calls no operator."""


class CalledBeyondRecorded(Reason, frozen=True):
    """The operator was called more often than was recorded."""

    op: str
    because: "AnyReason"


class MaybeInAnotherThread(Reason, frozen=True):
    """Another thread may have called it."""


class CallNumberWanted(Reason, frozen=True):
    """The number of the call is not valid."""

    given: str


class NoEntryOf(Reason, frozen=True):
    """The wanted operator has no entry point."""

    op: str


class NoSuchOperator(Reason, frozen=True):
    """No operator has the given name."""

    op: str
    near: tuple[str, ...] = ()


class CalledFewerTimes(Reason, frozen=True):
    """The wanted operator was called fewer times."""

    op: str
    called: int
    wanted: int


class NothingCalled(Reason, frozen=True):
    """No operator was called through its entry point that often."""

    called: int
    wanted: int


class EndsItself(Reason, frozen=True):
    """Code that ends its process is not stepped."""


class OwnCodeFailed(Reason, frozen=True):
    """ptexplore's own code failed."""

    exception: str
    message: str


class LaterCallStepped(Reason, frozen=True):
    """The stepped run needs a later call than the first, and the second call fails or does something else."""

    second: "AnyReason"


class RaisedUnderStepper(Reason, frozen=True):
    """The code raised an error under the stepper."""

    exception: str
    message: "AnyReason"


class SaysNothing(Reason, frozen=True):
    """The error has no further message."""


class TrapTaken(Reason, frozen=True):
    """Something blocked SIGTRAP or took it over."""


class FurtherRun(Reason, frozen=True):
    """A further run in the same process does something else."""

    does: "AnyReason"


class SetupRaisedAgain(Reason, frozen=True):
    """The setup raised when it ran a second time in the same process."""

    exception: str
    message: str


class EndedBySignal(Reason, frozen=True):
    """A signal ended the process of the stepped run."""

    signal: str


class EndedByItself(Reason, frozen=True):
    """The process of the stepped run exited."""


class PassEndedBySignal(Reason, frozen=True):
    """A signal ended the process of a pass."""

    recorder: str
    signal: str


class PassEndedByItself(Reason, frozen=True):
    """The process of a pass exited."""

    recorder: str
    status: int


class TimeWasOver(Reason, frozen=True):
    """The time for all runs was over before this pass."""

    missing: "tuple[AnyReason, ...]" = ()


class TimeOverBefore(Reason, frozen=True):
    """The time for all runs was over before the stepped run began."""


class FramesMissing(Reason, frozen=True):
    """Python functions are not shown."""


class CallsMissing(Reason, frozen=True):
    """The trace does not show which call of the expression ran an operator."""


class PassStopped(Reason, frozen=True):
    """A pass was stopped, because the time for all runs was over."""

    running: "AnyReason"
    seconds: float


class RunningPass(Reason, frozen=True):
    """The pass of a recorder."""

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
    running: "AnyReason"


class ProbeEnded(Reason, frozen=True):
    """The probe exited before it was done."""

    status: int
    running: "AnyReason"


# --- why the first call is shown ---


class DoesNotEnd(Reason, frozen=True):
    """The second call does not end in time."""

    seconds: float


class DoesNotEndRecorded(Reason, frozen=True):
    """The second call does not end in time with the recorders on."""

    seconds: float


class EndsProcess(Reason, frozen=True):
    """A signal ends the process in the second call."""

    signal: str


class ExitsProcess(Reason, frozen=True):
    """The second call exits its process."""

    status: int


class RaisesError(Reason, frozen=True):
    """The second call raises an error."""

    exception: str
    message: str


class RaisesNothing(Reason, frozen=True):
    """The second call raises nothing."""


class CannotBeRun(Reason, frozen=True):
    """The second call cannot be run."""

    because: "AnyReason"


class NeedsSetupAgain(Reason, frozen=True):
    """The setup would have to run again for the second call."""

    because: "AnyReason"


class EntersMode(Reason, frozen=True):
    """The setup enters a mode for dispatch or for torch functions."""


class EntersLevel(Reason, frozen=True):
    """The setup enters a transform or a level of forward-mode differentiation."""


class RegistersGlobalHook(Reason, frozen=True):
    """The setup registers a hook for all modules or optimizers."""


class SetsSavedHooks(Reason, frozen=True):
    """The setup sets hooks on saved tensors."""


class RegistersOperators(Reason, frozen=True):
    """The setup registers operators or kernels."""


class StartsThread(Reason, frozen=True):
    """The setup starts a thread."""


class RegistersAtExit(Reason, frozen=True):
    """The setup registers a function with atexit."""


class RegistersGcCallback(Reason, frozen=True):
    """The setup registers a gc callback."""


class AddsMetaPath(Reason, frozen=True):
    """The setup adds to sys.meta_path."""


class AddsPathHooks(Reason, frozen=True):
    """The setup adds to sys.path_hooks."""


class ReplacesFunction(Reason, frozen=True):
    """The setup replaces a function."""

    name: str


class RunsInWhatIsLeft(Reason, frozen=True):
    """The second call would run with settings that the first call left on."""

    settings: tuple[str, ...]


class UsedUp(Reason, frozen=True):
    """The second call would not find objects that the first call used up."""

    things: "tuple[AnyReason, ...]"


class AndMore(Reason, frozen=True):
    """There are more."""


class OfName(Reason, frozen=True):
    """The reason for an object that this name leads to."""

    name: str
    because: "AnyReason"


class SlotChanged(Reason, frozen=True):
    """A slot of the object has changed."""

    slot: str
    owner: str


class CacheChanged(Reason, frozen=True):
    """The object's cache has changed."""


class StateUnread(Reason, frozen=True):
    """The object's state cannot be read."""

    error: str


class GoneOn(Reason, frozen=True):
    """An iterator has advanced."""

    type: str


class OtherMemory(Reason, frozen=True):
    """The tensor has other memory, sizes or strides."""


class MadeByAnother(Reason, frozen=True):
    """Another operator produced the tensor's current value."""


class WrittenTo(Reason, frozen=True):
    """The tensor was written to."""


# --- the start of backward ---


class BackwardFrom(Reason, frozen=True):
    """The tensors that backward started from."""

    starts: "tuple[AnyReason, ...]"
    more: int = 0


class BeganAt(Reason, frozen=True):
    """Backward started from this tensor."""

    tensor: str


class BeganAtSum(Reason, frozen=True):
    """Backward started from the sum of this tensor."""

    tensor: str


class BeganAtReal(Reason, frozen=True):
    """Backward started from the real part of this tensor."""

    tensor: str


class BeganAtRealSum(Reason, frozen=True):
    """Backward started from the sum of the real part of this tensor."""

    tensor: str


# --- why your code cannot be run ---


class GivenExpression(Reason, frozen=True):
    """The expression."""


class GivenScript(Reason, frozen=True):
    """The script."""


class GivenSetup(Reason, frozen=True):
    """The statements of the setup."""


class GivenVariable(Reason, frozen=True):
    """The value for a name."""

    name: str


class GivenContext(Reason, frozen=True):
    """The expression for a context manager."""

    expression: str


class GivenEmpty(Reason, frozen=True):
    """The text is empty."""

    given: "AnyReason"


class GivenUnparsed(Reason, frozen=True):
    """Python's parser refuses the text."""

    given: "AnyReason"
    because: "AnyReason"


class NestsBeyondParser(Reason, frozen=True):
    """The text is nested too deeply for Python's parser."""


class GivenStatement(Reason, frozen=True):
    """The text is a statement."""

    given: "AnyReason"


class GivenStatements(Reason, frozen=True):
    """The text is several statements."""

    given: "AnyReason"
    count: int


class NoTensorGiven(Reason, frozen=True):
    """The statements give no tensor: the types of what they give."""

    types: tuple[str, ...]


class ModuleNotCalled(Reason, frozen=True):
    """The program ended, and did not call this module."""

    name: str


class ModulesByClassOrPath(Reason, frozen=True):
    """How a module of a program is named."""


class InputByName(Reason, frozen=True):
    """The module takes an input by name only."""

    name: str


class InputsByPosition(Reason, frozen=True):
    """Graphs take their inputs by position."""


class ScriptChanged(Reason, frozen=True):
    """The script has changed since it was shown."""


class GivenRaised(Reason, frozen=True):
    """The code raised an error."""

    given: "AnyReason"
    exception: str
    message: str


class NoContextManager(Reason, frozen=True):
    """The value is not a context manager."""

    given: "AnyReason"
    exception: str
    message: str


class NameUndefined(Reason, frozen=True):
    """A name is not defined."""

    name: str


class NameCalled(Reason, frozen=True):
    """The expression calls a name that would become a seeded tensor."""

    name: str


class NoAttribute(Reason, frozen=True):
    """A module has no such attribute."""

    owner: str
    name: str


class ExpressionProfiles(Reason, frozen=True):
    """The expression itself uses torch.profiler."""


class HasNoTensor(Reason, frozen=True):
    """The result has no tensor, so there is no autograd graph behind it."""

    result: str


class NoSuchVariable(Reason, frozen=True):
    """A script has no variable of a name at its first backward, or at its end if it calls none."""

    name: str


class NoBackward(Reason, frozen=True):
    """The script called no backward, and no expression names a value."""


class NeedsNoGrad(Reason, frozen=True):
    """The result does not require grad."""

    result: str


# --- where passes and runs differ ---


class PassesDiffer(Reason, frozen=True):
    """Two passes called different operators, from this position on."""

    cause: "AnyReason"
    number: int
    reference: str
    recorder: str
    first: "AnyReason"
    second: "AnyReason"


class CountsDiffer(Reason, frozen=True):
    """Two passes called an operator in other threads a different number of times."""

    cause: "AnyReason"
    name: str
    first: int
    second: int
    reference: str
    recorder: str


class TheEnd(Reason, frozen=True):
    """The end of a run, instead of an operator."""


class RunsDiffer(Reason, frozen=True):
    """Two runs called different operators."""

    limit: "AnyReason | None" = None


class RecorderChanged(Reason, frozen=True):
    """The recorder changed what ran."""

    limit: "AnyReason | None" = None
    reference: str = ""


class AtRecursionLimit(Reason, frozen=True):
    """Python's recursion limit was reached; the recorder's own frames count for it."""


# --- runs that were stopped, and figures that vary ---


class ThrowNotLooked(Reason, frozen=True):
    """The place where C++ threw was not searched for."""

    because: "AnyReason"


class RunsTimeOver(Reason, frozen=True):
    """The time for all runs was over."""

    then: AnyAction


class TooLate(Reason, frozen=True):
    """Passes are missing because the time was over."""

    because: "AnyReason"
    then: AnyAction
    missing: "tuple[AnyReason, ...]" = ()


class Stopping(Reason, frozen=True):
    """How a probe was stopped, and why."""

    message: "AnyReason"
    because: "AnyReason"
    then: AnyAction


class WritesNotTold(Reason, frozen=True):
    """The run that watches saved tensors gave no result."""

    because: "AnyReason"


class ErrorNotRaised(Reason, frozen=True):
    """The error was not raised in that run."""


class RunEndedBySignal(Reason, frozen=True):
    """A signal ended the process of that run."""

    signal: str


class RunEndedByItself(Reason, frozen=True):
    """The process of that run exited."""


class VariesByChance(Reason, frozen=True):
    """Things that vary because --vary leaves them to chance."""

    what: tuple[str, ...]


class VariesAnyway(Reason, frozen=True):
    """Things that vary because the system does not allow fixing them."""

    what: tuple[str, ...]


class ScriptInterrupted(Reason, frozen=True):
    """The script was interrupted because it took too long."""

    seconds: float
    then: AnyAction


# --- why your process cannot be recorded ---


class NotRecordedNow(Reason, frozen=True):
    """The process cannot be recorded now."""


class RecordedAlready(Reason, frozen=True):
    """The process is already being recorded."""


class InOtherThreadThanMain(Reason, frozen=True):
    """Recording was started in a thread that is not the main thread."""


class ProfileFunctionSet(Reason, frozen=True):
    """A Python profile function is already set."""


class TorchProfilerAtWork(Reason, frozen=True):
    """torch.profiler is already running."""


# --- why nothing could be captured ---


class NothingToTrace(Reason, frozen=True):
    """There is nothing to trace."""


class NothingGiven(Reason, frozen=True):
    """Neither an expression nor a script was given."""


class NoScript(Reason, frozen=True):
    """The script does not exist."""

    script: str


class NoFile(Reason, frozen=True):
    """No file has this name."""


class NothingToRun(Reason, frozen=True):
    """There is nothing to run."""


class ParserRefuses(Reason, frozen=True):
    """Python's parser refuses it."""


class OneExpression(Reason, frozen=True):
    """A trace takes one expression."""


class TensorsAreDrawn(Reason, frozen=True):
    """A picture shows the tensors that names and bare expressions give."""


class NamesBecomeTensors(Reason, frozen=True):
    """The names that become tensors, and the names that you must bind."""


class LookedForBefore(Reason, frozen=True):
    """An attribute is looked up before anything runs."""


class VariablesRunOnce(Reason, frozen=True):
    """When the values of names are evaluated."""


class SetupRunsFirst(Reason, frozen=True):
    """When the setup runs."""


class ContextsAreExpressions(Reason, frozen=True):
    """A context manager is given as an expression."""


class OneProfiler(Reason, frozen=True):
    """torch allows one profiler at a time."""


class BackwardNeeds(Reason, frozen=True):
    """What backward requires."""


class GraphNeedsTensor(Reason, frozen=True):
    """A graph is read from tensors."""


class CannotRun(Reason, frozen=True):
    """It cannot be run."""


class GivenLine(Reason, frozen=True):
    """A line of your code, with a mark under one place."""

    line: str
    caret: str


class PartOfRun(Reason, frozen=True):
    """The stage that was running."""

    stage: str


class PartBackward(Reason, frozen=True):
    """Backward of the expression was running."""


class PartContext(Reason, frozen=True):
    """A context manager was being left."""


class PartRaised(Reason, frozen=True):
    """The running part raised an error."""

    part: "AnyReason"
    exception: str
    source: str


class PartNeedsMemory(Reason, frozen=True):
    """The running part needs more memory than there is."""

    part: "AnyReason"


class ErrorSilent(Reason, frozen=True):
    """An error has no message."""

    exception: str


class ScriptNotEnded(Reason, frozen=True):
    """The script did not end in time."""

    seconds: float


class RunsOver(Reason, frozen=True):
    """The pass in which the time for all runs was over."""

    seconds: float
    recorder: str
    where: "AnyReason | None" = None


class AtLine(Reason, frozen=True):
    """The line of your code that was running."""

    line: int
    file: str


class InFunction(Reason, frozen=True):
    """The function that was running, and the line of your code that called it."""

    function: str
    line: int
    file: str


class CannotBeTraced(Reason, frozen=True):
    """The code ends its process, but only under ptexplore."""

    given: "AnyReason"
    source: str


class KilledProcess(Reason, frozen=True):
    """The code ended its process."""

    given: "AnyReason"
    source: str


class ProcessEnded(Reason, frozen=True):
    """How a process ended, and what is known about the reason."""

    how: "AnyReason"
    recorder: str = ""
    where: "AnyReason | None" = None
    killer: "AnyReason | None" = None
    limit: "AnyReason | None" = None
    alone: "AnyReason | None" = None


class KilledBy(Reason, frozen=True):
    """A signal killed it."""

    signal: str


class EndedWithStatus(Reason, frozen=True):
    """It exited with this status."""

    status: int


class CalledToEnd(Reason, frozen=True):
    """It called a function that ends the process."""

    function: str
    status: str = ""


class SystemKillsForTime(Reason, frozen=True):
    """The system kills a process in this way for processor time or memory."""


class SystemKillsForMemory(Reason, frozen=True):
    """The system kills a process in this way for memory."""


class ProcessorTimeLimit(Reason, frozen=True):
    """The limit on processor time was reached."""


class FileSizeLimit(Reason, frozen=True):
    """The limit on the size of a file was reached."""


class AloneGoesOn(Reason, frozen=True):
    """Without recorders the process does not end."""


class AloneAlike(Reason, frozen=True):
    """Without recorders the process ends in the same way."""


class AloneOtherwise(Reason, frozen=True):
    """Without recorders the process ends in another way."""

    how: str


class TorchNotInTime(Reason, frozen=True):
    """torch was not imported in time."""


class TookMoreThan(Reason, frozen=True):
    """It took more time than the limit."""

    seconds: float


class ProbeUnread(Reason, frozen=True):
    """The probe's answer cannot be read."""


class NotStarted(Reason, frozen=True):
    """The Python interpreter cannot be started."""

    python: str


class TorchNotImported(Reason, frozen=True):
    """torch cannot be imported."""


class OtherTorchImported(Reason, frozen=True):
    """The probe imported another torch."""


class OtherTorchFound(Reason, frozen=True):
    """The torch that Python finds first."""

    path: str


class ProbeFailed(Reason, frozen=True):
    """ptexplore's own code failed in the probe."""


# --- processes left running ---


class LeftAlone(Reason, frozen=True):
    """A process that your code started is still running."""

    given: "AnyReason"
    processes: "tuple[AnyReason, ...]"


class SeveralLeftAlone(Reason, frozen=True):
    """Processes that your code started are still running."""

    count: int
    given: "AnyReason"
    processes: "tuple[AnyReason, ...]"
    others: int = 0
    often: "AnyReason | None" = None


class RunsSeveralTimes(Reason, frozen=True):
    """A trace runs its expression several times."""


class EndedWithTrace(Reason, frozen=True):
    """A process that your code started was ended with the trace."""

    given: "AnyReason"
    processes: "tuple[AnyReason, ...]"


class SeveralEndedWithTrace(Reason, frozen=True):
    """Processes that your code started were ended with the trace."""

    count: int
    given: "AnyReason"
    processes: "tuple[AnyReason, ...]"
    others: int = 0


class ProcessOf(Reason, frozen=True):
    """A process."""

    command: "AnyReason"
    number: str


class ProcessesOf(Reason, frozen=True):
    """Several processes with the same command."""

    command: "AnyReason"
    numbers: tuple[str, ...]
    further: "AnyReason | None" = None


class ForkOfRun(Reason, frozen=True):
    """A fork of the run's process."""


class ProbeEndedIn(Reason, frozen=True):
    """A probe ended before all passes were done."""

    message: "AnyReason"
    because: "AnyReason"
    then: AnyAction
    missing: "tuple[AnyReason, ...]" = ()


# --- how a second run of a script compares ---


class RanAlike(Reason, frozen=True):
    """The second run did the same."""

    same: "tuple[AnyReason, ...]"


class RanOtherwise(Reason, frozen=True):
    """The second run did something different."""

    differences: "tuple[AnyReason, ...]"


class SecondUnanswered(Reason, frozen=True):
    """The second run gave no answer."""


class NotCompared(Reason, frozen=True):
    """The operators of the two runs cannot be compared."""

    because: "AnyReason"


class ClockSetMeanwhile(Reason, frozen=True):
    """The machine's clock was set during the run."""


class ManyOperators(Reason, frozen=True):
    """There are more operators than the profiler can hold at once."""


class RandomStateDiffers(Reason, frozen=True):
    """A random number generator has a different state at the end."""

    source: str


class SameRandomStates(Reason, frozen=True):
    """All random number generators have the same states at the end."""


class SameEnding(Reason, frozen=True):
    """Both runs ended with the same error."""

    ending: str


class BothToTheEnd(Reason, frozen=True):
    """Both runs reached their end."""


class OtherEnding(Reason, frozen=True):
    """The runs ended differently."""

    first: "AnyReason"
    second: "AnyReason"


class ItsEnd(Reason, frozen=True):
    """The end of the script."""


class OtherCall(Reason, frozen=True):
    """The runs called different operators, from this position on."""

    number: int
    count: int
    first: "AnyReason"
    second: "AnyReason"
    many: "AnyReason | None" = None


class HadCalls(Reason, frozen=True):
    """The number of calls in a run."""

    count: int


class OtherCounts(Reason, frozen=True):
    """Other threads called an operator a different number of times."""

    name: str
    first: int
    second: int


class SameCalls(Reason, frozen=True):
    """The runs made the same calls."""

    count: int
    beside: int = 0


class OtherOutput(Reason, frozen=True):
    """The runs printed different lines, from this line on."""

    line: int
    first: "AnyReason"
    second: "AnyReason"


class NoLine(Reason, frozen=True):
    """No line, instead of a printed one."""


class SameOutput(Reason, frozen=True):
    """The runs printed the same text."""


class SameOutputKept(Reason, frozen=True):
    """The runs printed the same text, as far as it was kept."""


class FailedSo(Reason, frozen=True):
    """What failed, and the reason."""

    told: "AnyReason"
    because: "AnyReason"


class NoOperatorsNamed(Reason, frozen=True):
    """The probe sent no operator names."""


class NoCatalogueGiven(Reason, frozen=True):
    """The probe sent no catalogue."""


class NoDecompositionsGiven(Reason, frozen=True):
    """The probe sent no decomposition tables."""


class AllRunsOver(Reason, frozen=True):
    """The time for all runs was over."""

    seconds: float
    then: AnyAction


# --- why an operator has no sample to trace ---


class NoTensorInSample(Reason, frozen=True):
    """The sample has no tensor."""


class NoSampleGiven(Reason, frozen=True):
    """OpInfo has no sample for the CPU."""


class SamplesRaise(Reason, frozen=True):
    """The samples also raise without a trace."""

    exception: str
    message: str


class NoBackwardOf(Reason, frozen=True):
    """OpInfo says that the operator has no backward."""


class NoDtypeNamed(Reason, frozen=True):
    """OpInfo has no dtype for the CPU."""

    backward: bool = False  # for backward on the CPU


class RefusedInside(Reason, frozen=True):
    """torch refuses the sample inside another construct."""

    sort: "AnyReason"  # the general reason, equal for many operators
    particulars: str = ""  # the operator that the error names, or the error's message


class NoBatchingRuleInside(Reason, frozen=True):
    """An operator inside it has no batching rule."""


class DataDecide(Reason, frozen=True):
    """The shape, or the code that runs, depends on the values of tensors."""


class ResultNoTensor(Reason, frozen=True):
    """The result is not a tensor."""


class RaisesInside(Reason, frozen=True):
    """It raises an error that has no code of its own."""

    exception: str


# --- the values in a failed check ---


class ValueShape(Reason, frozen=True):
    """A shape."""


class ValueDtype(Reason, frozen=True):
    """A dtype."""


class ValueDevice(Reason, frozen=True):
    """A device."""


class ValueElements(Reason, frozen=True):
    """The number of elements."""


class ValueDimensions(Reason, frozen=True):
    """The number of dimensions."""


class ValueRows(Reason, frozen=True):
    """The number of rows."""


class ValueColumns(Reason, frozen=True):
    """The number of columns."""


class ValueSize(Reason, frozen=True):
    """The size of a dimension."""

    dimension: int


class ValueSomeSize(Reason, frozen=True):
    """The size of an unknown dimension."""


class ValueBroadcast(Reason, frozen=True):
    """A size in the broadcast shape of the operands."""

    dimension: int


class ValueIndexed(Reason, frozen=True):
    """The size of the dimension that an index tensor indexes."""

    tensor: int  # the number of the index tensor
    masks: bool  # whether a mask before it would count once for each of its dimensions


class ValueToChoose(Reason, frozen=True):
    """The number of dimensions that you can choose from."""


class ValueAsked(Reason, frozen=True):
    """A value that was asked for."""

    what: str  # `index`, `size`, `dimension`, `shape`


class ValueResult(Reason, frozen=True):
    """A property of the result."""

    what: str  # `dtype`, `shape`


# --- errors ---


class TensorUntold(Reason, frozen=True):
    """The profiler does not record the tensor."""


class ListUntold(Reason, frozen=True):
    """The profiler does not record the list of optional tensors."""


class ByThrowing(Reason, frozen=True):
    """A function raised the error by throwing a C++ object."""

    type: str


class ByCalling(Reason, frozen=True):
    """A function raised the error by calling another function."""

    function: str


class OnStack(Reason, frozen=True):
    """The C++ stack contained the function when the error was thrown."""


class FunctorNames(Reason, frozen=True):
    """The type of the functor that calls the function contains its name."""


class AfterError(Reason, frozen=True):
    """An error ended the call, and the C++ stack is not known."""


class ReadAtEnd(Reason, frozen=True):
    """The functions were read at the moment when the process ended."""


class KeptByTorch(Reason, frozen=True):
    """torch keeps the place of the throw with every error of its C++ code."""

    told: "AnyReason"  # how that is known here
    elsewhere: "AnyReason | None" = None  # if it was in another process


class NotedWhenMade(Reason, frozen=True):
    """The place was recorded when the error was created."""


class ToldByRun(Reason, frozen=True):
    """One more run found the place."""


class InAnotherProcess(Reason, frozen=True):
    """Another process of the program raised the error."""


class WatchedThrowing(Reason, frozen=True):
    """A separate run watched which function raises: a function that throws."""

    function: str
    type: str


class WatchedRaising(Reason, frozen=True):
    """A separate run watched which function raises: a function that calls the raising function."""

    function: str
    by: str


class RaisedByPython(Reason, frozen=True):
    """A Python `raise` statement raised the error."""


class RunRaisedOther(Reason, frozen=True):
    """The separate run raised a different error."""


class NoSecondRun(Reason, frozen=True):
    """A second run was not allowed."""


class NoLineKept(Reason, frozen=True):
    """torch keeps no C++ line with this error."""


class MadeError(Reason, frozen=True):
    """The operator created an error that was caught, in a run without stepping."""


class LeftByException(Reason, frozen=True):
    """An exception propagated out of the hop, in a run without stepping."""


# JSON is read as one of the codes above, or as one of the codes of places.
if TYPE_CHECKING:
    AnyReason: TypeAlias = Reason
else:

    class AnyReason(metaclass=OneOf):
        """Any reason."""

        bases = (Reason,)
        without = (Reason, *KINDS)


def reason_of(data: Any) -> Reason:
    """Returns the reason in plain JSON data. Raises msgspec.ValidationError if the data is not a known reason."""
    return convert(data, AnyReason)
