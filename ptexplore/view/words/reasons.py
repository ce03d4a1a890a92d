"""The sentences of reasons: why a key, a kernel, an overload, a place in the tree."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from msgspec import structs

from ptexplore.model import reasons as why
from ptexplore.model.reasons import Reason
from ptexplore.model.trace import Ending, Finding
from ptexplore.view.words.causes import worded_cause
from ptexplore.view.words.templates import Catalogue, filled

_COMPUTES = (
    "its body makes the next set from the call's dtype, layout and device options and from the tensors it is given; the"
    " profiler does not record the options, and CPU is assumed: every tensor that this trace saw is there, and strided"
)
ENGLISH: Catalogue = {
    why.Said: "{sentence}",
    # --- the key sets of arguments ---
    why.ArgumentSets: "{arguments}: {because}",
    why.ForEach: "{reasons:; }",
    why.Together: "{reasons:; }",
    why.FreshTensor: (
        "the tensor was made during the call, or no Python object was it; one of its device and layout carries these "
        "keys"
    ),
    why.NotReadTensor: "no recorder read the tensor; one of its device and layout carries these keys",
    why.ReadByName: "as a name of Python's held it before the first such call from each place",
    why.NotRead: "not read, and {because}",
    why.MayBeWrapped: "a function transform may have wrapped it",
    why.SetsDiffer: "calls from several places were given tensors with different sets",
    why.UndefinedTensor: "None, or an undefined tensor, which carries AutogradOther and ADInplaceOrView",
    why.TensorsNotListed: (
        "the profiler tells nothing of its tensors; an undefined one carries AutogradOther and ADInplaceOrView"
    ),
    why.MayBeGenerator: "a torch.Generator, if one was given: the key of its device counts, and nothing tells",
    why.MayCarry: "made during the call, it may carry {keys}: {because}",
    why.MayBeOfDispatchingClass: "a class that dispatches in Python may have made it",
    why.AsItsBaseMay: "what it is a view of may",
    why.KeptByVjp: "a graph that torch.func.vjp kept holds the tensors that it had wrapped",
    why.NamesAreInherited: "names come from what it was made of",
    why.NotInInferenceMode: "{keys: and } only if it was not made in inference mode",
    why.OtherSet: "the call's set is not the one that devices and layouts would give",
    # --- the thread-local sets ---
    why.DefaultsAssumed: "not read; torch's defaults are assumed",
    why.AsPythonLeftThem: "as they were when Python last made or ended a call",
    why.FramesEnd: "Python's frames end before it, so what Python did to the thread-local sets is not known",
    why.MayHoldGuard: "the function around it names a guard of torch._C's, which may be on: Python tells of none",
    why.InAnotherThread: "it ran in another thread, whose thread-local sets were not read",
    why.SetByTransform: (
        "a layer of a function transform sets the thread-local sets anew, and what they then are was not read"
    ),
    why.LeftByGuards: "as the guards of the kernels around it leave them",
    why.MayHoldNoNamesGuard: (
        "whether Named is among the excluded is not known: what is around may hold a NoNamesGuard"
    ),
    why.ChangedByHandWritten: (
        "the hand-written kernel of {key} changes the thread-local sets, and its text is not here"
    ),
    why.NamesMayBeOff: "the kernel of {key} may hold a NoNamesGuard, and a tensor of the call has names",
    why.InExtension: "the kernel around it is an extension's: its C++, which is not read, may set them",
    why.InMaker: "inside {function} ({file}), which holds {guard} and excludes {excludes}",
    why.InMakerOfPlain: (
        "inside {function} ({file}), where it makes the plain tensor, which holds {guard} and excludes {excludes}"
    ),
    why.InMakerAtLift: "inside {function} ({file}), around lift_fresh(), which holds {guard} and excludes {excludes}",
    why.AroundFrame: "as they were read at the call around this frame, which may have changed them since",
    why.InFactory: "inside torch::{factory} ({file}), which holds {guard}",
    why.WhileTracing: "inside {function}, which includes Tracer while it traces ({file})",
    why.MakingSubclass: "inside _make_subclass ({file}), which takes {keys} out of the include set",
    why.InHandWrittenBinding: (
        "as they were at the binding; it is hand-written, and may hold a guard that is not followed here"
    ),
    why.OverloadNotKnown: "inside an operator whose overload is not known",
    why.KernelsNotKnown: "which kernels of {op} ran is not known",
    why.NotRecorded: (
        "the profiler tells nothing of {arguments}: it skips tensors that are undefined, nested or of symbolic sizes"
    ),
    why.MayBeCopy: (
        "a copy of a sparse tensor begins with empty ones: nothing tells whether the {key} kernel, which saves one, or "
        "the next made this"
    ),
    why.MayBeOwnCall: (
        "the {key} kernel's own text calls it, and nothing tells whether that called it or the kernel below"
    ),
    why.MayBeTangent: (
        "the {key} kernel's own text computes a forward gradient, and nothing tells whether that called it or the "
        "kernel below"
    ),
    # --- where a kernel sends a call ---
    why.ByCustomOp: "{file} makes it, whose kernel redispatches below autograd ({kernel})",
    why.ByCustomOpWrites: "{file} makes it, whose kernel of what writes its arguments redispatches below its own key",
    why.BodyRedispatches: "its body redispatches with `{expression}`",
    why.BodyComputes: _COMPUTES,
    why.BodyComputesTyped: f"{_COMPUTES}, and nothing that was typed speaks of another device or layout",
    why.NotImplementedBelowAutograd: "{function} is hand-written; it redispatches below autograd",
    why.NotImplementedBelowViews: (
        "{function} is hand-written; with no alias in the schema it redispatches below ADInplaceOrView"
    ),
    why.AutogradFallback: "autograd's fallback ({file}) is hand-written; it redispatches below autograd",
    why.ManualKernel: "in 2.6.0 the hand-written kernel in {file} redispatches below its own key",
    # --- why a key ---
    why.ThreadLocalSets: "thread-local sets: {because}",
    why.HighestKey: "{key} is the highest key of (arguments | include) - exclude, less the fallthroughs",
    why.HighestLeft: "{key} is the highest key left",
    why.EntryOfTable: "the table's entry for {key}: {entry}",
    why.GivenSet: "{function} was given the set {set} ({register}): {key} is its highest key",
    why.KeyNotKnown: "which key this call goes to[ after {after}] is not known: {because}",
    why.ComputedFromOptions: (
        "its body makes the next set from the device, layout and dtype that it was given, which the profiler does not "
        "record"
    ),
    # --- kernels and what they call ---
    why.RanInside: "the profiler saw these operators inside the call; that this kernel called them is derived",
    why.RegisteredByPython: (
        "Python registered it, and {function} is the function of Python that the dispatcher called"
    ),
    why.BodyCalls: "the body of {function} calls it",
    why.BodyNames: (
        "the body of {function} names it[ through {through}], at {place}; that this line ran, nothing saw[; whether it "
        "does, the condition at {condition} decides]"
    ),
    why.RegistersFor: "{macro} at {place} registers it for {device}",
    why.OneOfKernels: "one of {count} kernels registered for {device}: which one depends on the machine",
    # --- operators ---
    why.OverloadRecorded: "the profiler recorded the overload",
    why.FitsStack: "the one overload of {op} that the end of the recorded stack fits",
    why.OnlyOverload: "the only overload of {op}",
    why.TakesInputs: "the one overload of {op} that takes these inputs ({others} others do not)",
    why.TakesNames: "{overloads} takes names of dimensions, which no tensor here has",
    why.WouldCallOthers: ("{overloads} would have called other operators than ran inside, by the text of its kernel"),
    why.BoxedStack: "called boxed: of {values} values on the stack the last {inputs} are its inputs",
    why.BoxedByTorchOps: "torch.ops calls operators boxed",
    why.BoxedByInterpreter: (
        "TorchScript's interpreter calls operators boxed; an operator of its own may have called this one unboxed"
    ),
    # --- what was stepped ---
    why.RanInCaller: ("it left no frame of its own, and what it calls ran: the compiler put it into its caller"),
    why.CalledAsDispatcher: (
        "it has no frame: its caller asked who listens to operator calls and called a kernel, as a call does"
    ),
    why.CompiledIn: "the type of {function} names it, and it has no frame: it was compiled into that one",
    why.RanUnnamed: "{function} ran it, and does not name it: the table's entry for {key} does",
    why.RanPython: "{function} ran {python}, a function of Python",
    why.IsWhatRan: "{function} is what ran",
    why.NotProfiled: (
        "{function} ran[ {kernel}, a kernel of this operator alone]; the profiler recorded no event for it"
    ),
    why.CalledElsewhere: (
        "{function} ran[ {kernel}, a kernel of this operator alone]; in the run that the profiler recorded it was "
        "called elsewhere"
    ),
    # --- Python's calls ---
    why.WhichCall: (
        "a loop calls this part of the expression again and again: it may have run at the end of the call before"
    ),
    why.OperatorSyntax: "`{source}` is {syntax} syntax: Python looks {name} up on the operand's type",
    why.ThroughPython: "`{source}`: Python's {through} looks {name} up on the operand's type",
    why.SlotByName: "`{source}` calls {name} by its name; Python tells no profile function of such a call",
    why.RowOfTable: "the {table} table's row for {row}, {place}, names {function}",
    why.TableNames: "the table at {place} names {function}",
    # --- autograd ---
    why.HeldByGraph: "the result's graph holds this node, with the sequence number of this call",
    why.AccumulatesGradient: "leaves accumulate their gradient",
    why.MadeByCall: "made by the call of {op}, which has the same sequence number",
    why.EntriesMakeNode: "{count} entries of derivatives.yaml make this node",
    why.EventsEnd: "the profiler's events end here: whether {node} ran is not known",
    why.EngineAtNode: "the profiler recorded the engine at {node}, and no call of its apply",
    why.FormulaCalls: "the formula at {place} calls it where that input needs a gradient",
    # --- findings ---
    why.OtherResult: (
        "the stepped run gave another result than the run before it (memory that was never written, a clock, …)"
    ),
    why.GradientCopied: (
        "the recorder may have changed what ran: AccumulateGrad copied a gradient, as it does where something else "
        "holds that, and telling sizes makes torch's profiler hold a gradient a little longer; a single run cannot tell"
    ),
    why.RegistrationsChanged: (
        "{op}: its registrations are not those of the catalogue (the traced code or its setup changed them)"
    ),
    why.KindsStepped: (
        "{kinds} of {all_kinds} kinds of operator calls and nodes were stepped, {of_each}[, {instructions} "
        "instructions][; {left:; }][; {command} steps the first call of {op}]"
    ),
    why.OneOfEach: "one call of each",
    why.CallsInAll: "{calls} calls in all",
    why.KindsLeft: "of {count} others none: {why}",
    why.LaunchesNotTold: (
        "torch's profiler does not tell what is launched on {devices}: which kernels ran there is not known"
    ),
    why.CompilesScript: (
        "the stepped call compiles TorchScript, and its instructions are in the shares: the executor optimises a graph "
        "in the first calls of it"
    ),
    why.TreeEnds: "the native tree[ of {op}] ends early: {why}",
    why.NotPlaced: (
        "{op} was stepped, but no row has what ran in it: {because}; with a --native-budget that has room for all of "
        "it, and no --native-op, each call of this thread has rows"
    ),
    why.NotPlacedInProgram: "{op} was stepped, but no row has what ran in it: {because}",
    why.NotAmongShown: "it is none of the calls that are shown",
    why.InSeveralThreads: "several threads call it, in an order that is not known",
    why.CalledOtherTimes: "its run called {op} {stepped} times, the run here {called} times",
    why.EnteredOtherTimes: (
        "{op} was entered another number of times than calls were recorded, so its number is not known"
    ),
    why.NoSuchCall: "there is no such call among the {called} here",
    why.RanBefore: (
        "{names}[ and {further} more] ran in a run before, and {threads}[; operator number {number} was {before} in "
        "the run before, {stepped} here]"
    ),
    why.NameAlone: "{name}",
    why.CallMore: "{name} (1 call more)",
    why.CallsMore: "{name} ({count} calls more)",
    why.NodeBy: "{node} (by {op})",
    why.RecordedBefore: "{nodes}: recorded for backward in a run before, and {threads}",
    why.OnOneThread: (
        "not in the one that was stepped, on 1 thread: what runs may depend on that, or change as code warms up; this "
        "is the stepped one"
    ),
    why.OnThreads: (
        "not in the one that was stepped, on {count} threads: what runs may depend on that, or change as code warms "
        "up; this is the stepped one"
    ),
    why.NotCalledAgain: (
        "the stepped run did not call {names}, which the profiler saw in a run before: the two differ"
    ),
    why.FramesUnordered: ("native frames may stand under another Python function than the one that called them: {why}"),
    why.TooDeep: "calls nested deeper than {levels} are not shown",
    why.ThereTwice: ("{ops}: there as the profiler saw it, and as it was stepped; which call is which is not known"),
    why.OtherKeys: "{op}: predicted were the keys {predicted}; those that ran are {ran}",
    why.OtherKernel: "{op}: for {key} {predicted} was predicted; {ran} ran",
    # --- errors ---
    why.OnStack: "C++'s stack held it when the error was thrown",
    why.FunctorNames: "the type of the functor that calls it names it",
    why.AfterError: "an exception left what called it, maybe from here",
    why.ReadAtEnd: "the functions that ran as the process ended were read at that moment",
    why.KeptByTorch: (
        "torch keeps with each error of its C++ the function, file and line that throw it; {told}[, {elsewhere}]"
    ),
    why.NotedWhenMade: "they were noted when it was made",
    why.ToldByRun: "one more run told them",
    why.InAnotherProcess: "in another process of the program",
    why.WatchedThrowing: (
        "torch keeps no line of C++ with it; one more run watched which function raises: {function}, or a function "
        "that was compiled into it, raised it by throwing {type}"
    ),
    why.WatchedRaising: (
        "torch keeps no line of C++ with it; one more run watched which function raises: {function}, or a function "
        "that was compiled into it, raised it by {by}"
    ),
    why.RaisedByPython: "a `raise` of Python's raised it: no line of torch's C++ is kept with it",
    why.RunRaisedOther: "the run that was to tell where C++ threw it raised something else",
    why.NoSecondRun: "--once: no second run was asked where C++ threw it",
    why.NoLineKept: "no line of torch's C++ is kept with it",
    why.MadeError: "it made an error, which was caught: which of its kernels were come to is not known",
    why.LeftByException: (
        "an exception left this call: which kernels of the operator that raised were come to is not known"
    ),
}


@lru_cache(maxsize=4096)
def sentence(reason: Reason) -> str:
    """A reason in words."""
    return filled(ENGLISH[type(reason)], reason, sentence)


def worded_ending(ending: Ending) -> Ending:
    """An ending whose reasons and cause have their sentences."""
    cause = worded_cause(ending.cause) if ending.cause is not None else None
    return replace(ending, why=tuple(map(worded, ending.why)), cause=cause)


def worded_finding(finding: Finding) -> Finding:
    """A finding with its text."""
    return replace(finding, text=sentence(finding.told))


@lru_cache(maxsize=4096)
def worded(reason: Reason) -> Reason:
    """A reason with its sentence, for whoever reads JSON."""
    return structs.replace(reason, text=sentence(reason))
