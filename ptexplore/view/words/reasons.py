"""The sentences of reasons: why this key, this kernel, this overload. The sentences about places are in `places.py`."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from msgspec import structs

from ptexplore.model import reasons as why
from ptexplore.model.actions import Action
from ptexplore.model.place_reasons import PlaceReason
from ptexplore.model.reasons import Reason
from ptexplore.model.trace import ComparedValue, Ending, Finding
from ptexplore.saved.changed import ending_with
from ptexplore.view.words.actions import as_command
from ptexplore.view.words.causes import worded_cause
from ptexplore.view.words.places import place_sentence
from ptexplore.view.words.templates import Catalogue, filled

_COMPUTES = (
    "its body makes the next set from the call's dtype, layout and device options and from the tensors it is given; the"
    " profiler does not record the options, and CPU is assumed: every tensor that this trace saw is there, and strided"
)
_TOLD = "the libraries told: {calls}[ and {more} more]"
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
    # --- kernels and their calls ---
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
    # --- the stepped run ---
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
    # --- calls of Python ---
    why.WhichCall: (
        "a loop calls this part of the expression again and again: it may have run at the end of the call before"
    ),
    why.OperatorSyntax: "`{source}` is {syntax} syntax: Python looks {name} up on the operand's type",
    why.ThroughPython: "`{source}`: Python's {through} looks {name} up on the operand's type",
    why.SlotByName: "`{source}` calls {name} by its name; Python tells no profile function of such a call",
    why.RowOfTable: "the {table} table's row for {row}, {place}, names {function}",
    why.TableNames: "the table at {place} names {function}",
    why.MarksRange: "it is a range that code marks for the profiler, and no call of a function",
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
        "instructions][; {left:; }][; {then} steps the first call of {op}]"
    ),
    why.OneOfEach: "one call of each",
    why.CallsInAll: "{calls} calls in all",
    why.KindsLeft: "of {count} others none: {because}",
    why.LaunchesNotTold: (
        "torch's profiler does not tell what is launched on {devices}: which kernels ran there is not known"
    ),
    why.LibraryTold: "{library}'s {what}[ by {implementation}] ({problem})[ ×{times}]",
    why.ToldOfSuchCall: f"of one such call, in a fork of its own, {_TOLD}",
    why.ToldOfCall: f"of this call, in a run of its own, {_TOLD}",
    why.ToldOfExpression: f"of the whole expression, in a run of its own, {_TOLD}",
    why.LibraryUnordered: (
        "[{op}: ]{library} tells of {calls} call{calls#|s}, in a run of its own; in the tree are {frames} that may be "
        "these by their names: which is which is not known"
    ),
    why.CompilesScript: (
        "the stepped call compiles TorchScript, and its instructions are in the shares: the executor optimises a graph "
        "in the first calls of it"
    ),
    why.TreeEnds: "the native tree[ of {op}] ends early: {because}",
    why.NotPlaced: "{op} was stepped, but no row has what ran in it: {because}",
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
    why.FramesUnordered: (
        "native frames may stand under another Python function than the one that called them: {because}"
    ),
    why.TooDeep: "calls nested deeper than {levels} are not shown",
    why.ThereTwice: ("{ops}: there as the profiler saw it, and as it was stepped; which call is which is not known"),
    why.OtherKeys: "{op}: predicted were the keys {predicted}; those that ran are {ran}",
    why.OtherKernel: "{op}: for {key} {predicted} was predicted; {ran} ran",
    # --- why calls of a program were not stepped ---
    why.CalledOnce: "it was called once, and a first call is not stepped",
    why.PythonRuns: "Python runs in it, or between the fork and it, and no line of the program runs twice",
    why.ForkTooLate: "its fork did not end in time",
    why.ForkKilled: "its fork was killed by signal {signal}",
    why.BudgetSpent: "the budget was spent",
    why.NoFurtherCall: "it was not called again where it can be stepped",
    why.NoEntryPoint: "it has no function of its own in torch's library to begin at",
    why.SteppingTimeSpent: "stepping took {seconds} s, which is its part of --timeout",
    why.DeviceInUse: "{device} is in use, which no fork of the program can use",
    why.ThreadsOfProgram: "the program runs threads of its own, which no fork has",
    why.PythonModeOn: "a mode written in Python is on, and would run in a fork",
    why.MemoryShared: ("the program shares memory (share_memory_, a mapped file), to which a fork would write too"),
    why.ThreadsOfEngine: "autograd runs threads for a device, which no fork has",
    why.ChildrenHandled: "the program handles SIGCHLD, by which it would see the forks",
    why.NoProcessForked: "no process could be forked: {error}",
    # --- why a process cannot be stepped ---
    why.OtherMachine: "stepping needs x86-64 Linux, and this is {machine} {system}",
    why.TrapBlocked: "the signal SIGTRAP is blocked here, and stepping works by it",
    why.AlreadyTraced: "another program (a debugger, strace) already traces this process",
    why.TrapFlagIdle: "the trap flag does nothing here: is the processor an emulated one?",
    why.NoTrapHandler: "no handler can be set for SIGTRAP: {error}",
    why.NoExecutableMemory: "this system refuses memory that can be executed: {error}",
    why.NoBreakpoint: "this system refuses a breakpoint in torch's own code: {error}",
    why.NotProtectedAgain: "this system refuses to protect torch's own code again: {error}",
    why.NoMemoryForLog: "there is no memory for the log of steps ({kilobytes} KB): {error}",
    # --- why a stepped run ends early ---
    why.LogFull: "the log was full",
    why.ManyInstructions: ("it runs more than {most} instructions, with those by which Python's calls are seen"),
    why.ManySingleSteps: (
        "it runs more than {most} instructions that must be stepped one by one, as code that was made at run time must"
    ),
    why.SteppingTimeUp: "it was not done when its time was up, after {seconds} s",
    why.BlocksTrap: "from here on the code blocks SIGTRAP, as whatever starts a thread or a process does",
    why.HandlesTrap: "from here on the code handles or sends SIGTRAP itself, by which stepping works",
    why.StartsAnother: "from here on the code starts a thread, a process or another program",
    why.HookTaken: "the traced code took the profile function away: what Python called after that is not known",
    why.PythonLacks: "this Python lacks {function}",
    why.OtherBuiltins: "this Python's builtin functions are laid out in another way",
    # --- what a recorder leaves out ---
    why.PathsTooDeep: "calls nest over {levels} deep: what lies deeper is counted for the call it lies in",
    why.ManyPaths: "there are over {most} paths: what lies deeper is counted for the call it lies in",
    why.ManyPathsOfTorch: (
        "there are over {most} paths: what torch's functions do deeper is counted for the call it lies in"
    ),
    why.RecordingFailed: "recording failed ({place}: {error}): some of what ran then is not told",
    why.ProcessesStarted: "processes were started: what they ran is not recorded",
    why.ProfilerNotStopped: "the profiler could not be stopped for long, since an operator was always at work",
    why.OtherThreadsWentOn: (
        "other threads may have gone on while what had run was being folded: operators that they called then are not "
        "told"
    ),
    why.ClockWasSet: (
        "the machine's clock was set meanwhile, which torch's profiler tells time and order by: of what ran then both "
        "may be wrong"
    ),
    why.ProfilesItself: "the program runs torch's profiler itself: the operators that ran meanwhile are not told",
    why.DeviceBeganInside: (
        "what the first call that used the device launched is not told: torch's profiler looks at it from then on"
    ),
    why.DeviceNotWatched: (
        "what was launched on the device is not told: it was first used in here, and torch's profiler looks at those "
        "that are in use when it begins"
    ),
    why.InterruptedInHook: (
        "an interrupt came inside of the profile function: Python's calls for some 0.2 s after it are not told"
    ),
    why.OperatorsInsideCut: (
        "an operator was at work in which so many others ran that the rest of these is not told: {because}"
    ),
    why.OperatorsCut: "operators that ran later are not told: {because}",
    why.ReadingTakesTime: "to read what was recorded takes a large part of the {seconds} s that there are",
    why.ReadingTakesMemory: "to read what was recorded may take {megabytes} MB of memory",
    why.ThreadsInsideAtEnd: (
        "other threads may have been inside of operators as the recording ended: the rest of these is not told"
    ),
    why.HookTakenOrFailed: (
        "Python's profile function was taken away, or failed: Python's calls after that are not told"
    ),
    why.MoreThreads: "{count} more threads ran; this torch's profiler records only one",
    why.MoreThreadsCalled: "{count} more threads called torch; this torch's profiler records only one",
    why.ThrowNotNoted: (
        "where C++ threw is not known: {because}; TORCH_SHOW_CPP_STACKTRACES=1 in the environment has torch write it "
        "into the error's text, and it is read there"
    ),
    why.NoNotesOnMachine: "this is {machine} {system}, and errors are noted on x86-64 Linux",
    why.NotesRefused: "errors cannot be noted here: {error}",
    why.NotesUnexecutable: "the system gives no memory that can be executed",
    why.NotesDoNotFit: "the code that notes does not fit",
    why.ErrorsMadeOtherwise: "this torch makes its errors in another way",
    why.RaisingUnwatched: "what raises cannot be watched here: {error}",
    why.SizesMerged: "sizes beyond the first {most} of an operator are counted as one",
    why.CutBySilentEnd: ("the process ended without a word: what ran since its operators were last kept is not told"),
    why.CutByLateEnd: (
        "it did not end when its time was over, and was killed: what ran since its operators were last kept is not told"
    ),
    why.FramesCut: (
        "Python frames are told up to the {most}th: what ran later stands in those that were open then, or in the "
        "part of the expression that called it"
    ),
    why.FramesLost: (
        "the traced code took the profile hook away, or came to the recursion limit in it: some Python frames are "
        "not told"
    ),
    why.ThreadBefore: "a thread was there before the expression: of such a one {told}",
    why.ThreadsBefore: "{count} threads were there before the expression: of such a one {told}",
    why.OperatorsOfNobody: "Python is not told, and its operators count as no calls of yours",
    why.NothingOfThread: "nothing is told, as this torch's profiler records only one",
    why.NestsTooDeep: "the expression nests too deeply for its calls to be recorded",
    why.EventsCut: "only the first {most} events are kept",
    why.CallsCut: "the expression's calls are told up to the {most}th",
    why.NodesCut: "only the first {most} autograd nodes are told",
    why.LocationsLeftOut: (
        "the native pass left torch.jit.trace's record of source locations out, which walks all of Python's stack"
    ),
    why.ManySavedTensors: "more than {most} tensors were saved at one time",
    # --- why there is no native pass ---
    why.NativeNotAsked: "the native pass was not asked for",
    why.NoBudget: "--native-budget 0 leaves it nothing to step",
    why.RunsOnce: "--once runs it a single time, and the native pass runs it again",
    why.ScriptNotStepped: "a script is never stepped whole; --native-op NAME#N steps one operator call of it",
    why.RanInYourProcess: "it ran once, in a process of yours: nothing was stepped",
    why.CalledNoOperator: "it called no operator",
    why.KindNotStepped: "of 1 kind of calls: {because}",
    why.KindsNotStepped: "of {count} kinds of calls: {because}",
    why.NativeSilent: "the native pass said nothing",
    why.NothingToStep: "{beyond}, and {instead}",
    why.AllBeyond: "all of it runs more than {most} instructions, with those by which Python's calls are seen",
    why.AllBeyondSingly: "all of it runs more than {most} instructions that must be stepped one by one",
    why.NoOperatorEnters: "no operator that it calls has an entry point of its own",
    why.CallsNoOperator: "it calls no operator",
    why.CalledBeyondRecorded: (
        "{op} is called more often than was recorded ({because}): which call was stepped is not known"
    ),
    why.MaybeInAnotherThread: "another thread may have called it, of which this torch's profiler tells nothing",
    why.CallNumberWanted: "--native-op {given}: after # comes which call of it, from 1",
    why.NoEntryOf: "--native-op {op}: torch's library has no entry point of its own for it",
    why.NoSuchOperator: "--native-op {op}: torch has no operator of that name[; there is {near: and }]",
    why.CalledFewerTimes: "{op} is called {called} time(s) through at::_ops::NAME::call, not {wanted}",
    why.NothingCalled: "any operator is called {called} time(s) through at::_ops::NAME::call, not {wanted}",
    why.EndsItself: "what ends its process is not stepped",
    why.OwnCodeFailed: "ptexplore's own code failed: {exception}: {message}",
    why.LaterCallStepped: "it steps a later call than the first, and the second {second}",
    why.RaisedUnderStepper: "under the stepper it raised {exception}: {message}",
    why.SaysNothing: "it says nothing more",
    why.TrapTaken: (
        "its process was killed by SIGTRAP, by which it is stepped: something blocked or took over that signal"
    ),
    why.FurtherRun: "a further run in its process {does}",
    why.SetupRaisedAgain: "--setup, run a second time in one process, raised {exception}: {message}",
    why.EndedBySignal: "its process ended by {signal} in the native pass",
    why.EndedByItself: "its process ended by itself in the native pass",
    why.PassEndedBySignal: "the {recorder} pass ended by {signal}",
    why.PassEndedByItself: "the {recorder} pass ended by itself, with status {status}",
    why.TimeWasOver: "the time was over before[, so {missing:, so }]",
    why.TimeOverBefore: "the time of all runs was over before it began",
    why.FramesMissing: "functions of Python are not shown",
    why.CallsMissing: "which call of the expression ran an operator is not shown",
    why.PassStopped: "{running} was stopped, with what it had started: the {seconds} s of all runs together were over",
    why.RunningPass: "the {recorder} pass",
    why.ImportingTorch: "import torch",
    why.NotEndedInTime: "the expression did not end within {seconds} s",
    why.ProbeDied: "the probe died",
    why.ProbeKilled: "it was killed by {signal} during {running}, before it was done",
    why.ProbeEnded: "it ended with status {status} during {running}, before it was done",
    # --- why the first call is shown ---
    why.DoesNotEnd: "does not end within {seconds} s",
    why.DoesNotEndRecorded: "does not end within {seconds} s beside the recorders",
    why.EndsProcess: "ends its process by {signal}",
    why.ExitsProcess: "ends its process by itself, with status {status}",
    why.RaisesError: "raises {exception}: {message}",
    why.RaisesNothing: "raises nothing",
    why.CannotBeRun: "cannot be run: {because}",
    why.NeedsSetupAgain: "would need --setup to run again, which {because}",
    why.EntersMode: "enters a mode of torch's dispatcher or functions",
    why.EntersLevel: "enters a transform or a level of forward-mode differentiation",
    why.RegistersGlobalHook: "registers a hook of all modules or optimizers",
    why.SetsSavedHooks: "sets hooks on saved tensors",
    why.RegistersOperators: "registers operators or kernels",
    why.StartsThread: "starts a thread",
    why.RegistersAtExit: "registers a function with atexit",
    why.RegistersGcCallback: "registers a callback of gc",
    why.AddsMetaPath: "adds to sys.meta_path",
    why.AddsPathHooks: "adds to sys.path_hooks",
    why.ReplacesFunction: "replaces {name}",
    why.RunsInWhatIsLeft: "would run in what the first left on ({settings})",
    why.UsedUp: "would not find what the first used up ({things:; })",
    why.AndMore: "…",
    why.OfName: "{name}: {because}",
    why.SlotChanged: "{slot} of {owner} has changed",
    why.CacheChanged: "its cache has changed",
    why.StateUnread: "its state cannot be read: {error}",
    why.GoneOn: "the {type} has gone on",
    why.OtherMemory: "it has other memory, sizes or strides",
    why.MadeByAnother: "another operator made what it is now",
    why.WrittenTo: "it was written to",
    # --- where backward started ---
    why.BackwardFrom: "from {starts: and }[ and {more} more]",
    why.BeganAt: "{tensor}",
    why.BeganAtSum: "{tensor}, summed",
    why.BeganAtReal: "{tensor}, its real part",
    why.BeganAtRealSum: "{tensor}, its real part, summed",
    # --- input that cannot be run ---
    why.GivenExpression: "the expression",
    why.GivenScript: "the script",
    why.GivenSetup: "--setup",
    why.GivenVariable: "--var {name}",
    why.GivenContext: "--with {expression}",
    why.GivenEmpty: "{given} is empty",
    why.GivenUnparsed: "{given} does not parse: {because}",
    why.NestsBeyondParser: "it nests too deeply",
    why.GivenStatement: "{given} is a statement, not one expression",
    why.GivenStatements: "{given} is {count} statements, not one expression",
    why.ScriptChanged: "the script is no longer as it was shown: it changed since then",
    why.GivenRaised: "{given} raised {exception}: {message}",
    why.NoContextManager: "{given} is no context manager: {exception}: {message}",
    why.NameUndefined: "name '{name}' is not defined",
    why.NameCalled: "name '{name}' is called, so it can be no seeded tensor",
    why.NoAttribute: "{owner} has no '{name}'",
    why.ExpressionProfiles: "the expression runs torch's profiler itself",
    why.NeedsNoGrad: "the result ({result}) does not require grad: there is nothing to run backward",
    # --- differences between passes and runs ---
    why.PassesDiffer: "{cause}: number {number} was {first} in the {reference} pass, {second} in {recorder}",
    why.CountsDiffer: (
        "{cause}: in other threads {name} was called {first} times in the {reference} pass, {second} in {recorder}"
    ),
    why.TheEnd: "the end",
    why.RunsDiffer: "two runs called different operators[ ({limit})]",
    why.RecorderChanged: (
        "the recorder changed what ran[ ({limit})][, and its run is the one that is shown; the {reference} pass is "
        "as your code runs alone]"
    ),
    why.AtRecursionLimit: "at Python's recursion limit, for which its own frames count",
    # --- what was stopped, or varies ---
    why.ThrowNotLooked: "which function of C++ threw it, and which step was left, was not looked for: {because}",
    why.RunsTimeOver: "the time of all runs was over; {then}",
    why.TooLate: "{because}[, so {missing:, so }]; {then}",
    why.Stopping: "{message}, {because}; {then}",
    why.WritesNotTold: "a run of its own that watches saved tensors told nothing of who wrote to it: {because}",
    why.ErrorNotRaised: "that error was not raised in it",
    why.RunEndedBySignal: "its process ended by {signal}",
    why.RunEndedByItself: "its process ended by itself",
    why.VariesByChance: "another run may count a little differently: --vary leaves {what: and } to chance",
    why.VariesAnyway: "another run may count a little differently: this system lets nobody fix {what: and }",
    why.ScriptInterrupted: "the script was interrupted after {seconds} s: {then}",
    # --- why your process cannot be recorded ---
    why.NotRecordedNow: "this process cannot be recorded now",
    why.RecordedAlready: "this process is recorded already",
    why.InOtherThreadThanMain: "it was asked for in a thread that is not the main one",
    why.ProfileFunctionSet: "a profile function is set: another profiler is at work",
    why.TorchProfilerAtWork: "a profiler of torch's is at work",
    # --- why nothing could be captured ---
    why.NothingToTrace: "there is nothing to trace",
    why.NothingGiven: "no expression and no script",
    why.NoScript: "there is no script {script}",
    why.NoFile: "no file of that name",
    why.NothingToRun: "there is nothing to run",
    why.ParserRefuses: "Python's own parser refuses it",
    why.OneExpression: "a trace is of one expression",
    why.NamesBecomeTensors: (
        "names of one letter (or a letter and digits) used as values become tensors; others must be bound"
    ),
    why.LookedForBefore: "it was looked for before anything ran",
    why.VariablesRunOnce: "a --var is evaluated once, before the expression",
    why.SetupRunsFirst: "--setup is run before the expression, in each run anew",
    why.ContextsAreExpressions: "--with takes an expression that gives a context manager",
    why.OneProfiler: "torch has one profiler at a time, and a trace runs under it",
    why.BackwardNeeds: "backward needs a floating-point result that depends on a tensor that requires grad",
    why.CannotRun: "it cannot be run",
    why.GivenLine: "{line}{caret}",
    why.PartOfRun: "the {stage}",
    why.PartBackward: "its backward",
    why.PartContext: "leaving --with",
    why.PartRaised: "{part} raised {exception}: {source}",
    why.PartNeedsMemory: "{part} needs more memory than there is",
    why.ErrorSilent: "{exception} says nothing more",
    why.ScriptNotEnded: "the script did not end within {seconds} s",
    why.RunsOver: "the {seconds} s of all runs were over in the {recorder} pass[, {where}]",
    why.AtLine: "at line {line} of {file}",
    why.InFunction: "in {function}(), called at line {line} of {file}",
    why.CannotBeTraced: "{given} cannot be traced: {source}",
    why.KilledProcess: "{given} killed its process: {source}",
    why.ProcessEnded: "{how}[ in the {recorder} pass][, {where}][; {killer}][: {limit}][; {alone}]",
    why.KilledBy: "it was killed by {signal}",
    why.EndedWithStatus: "it ended by itself with status {status}",
    why.CalledToEnd: "it called {function}[ with {status}]",
    why.SystemKillsForTime: (
        "the system kills a process so when its limit of processor time (ulimit -t) or memory runs out"
    ),
    why.SystemKillsForMemory: "the system kills a process so when memory runs out",
    why.ProcessorTimeLimit: "the limit on processor time is reached (ulimit -t)",
    why.FileSizeLimit: "the limit on the size of a file is reached (ulimit -f)",
    why.AloneGoesOn: "without recorders it did not end its process: ptexplore is in its way",
    why.AloneAlike: "without recorders it ends the same way",
    why.AloneOtherwise: "without recorders it ends by {how}",
    why.TorchNotInTime: "torch was not imported in time",
    why.TookMoreThan: "it took more than {seconds} s",
    why.ProbeUnread: "the probe's answer cannot be read",
    why.NotStarted: "{python} cannot be started",
    why.TorchNotImported: "torch cannot be imported there",
    why.OtherTorchImported: "the probe imported a torch that was not meant",
    why.OtherTorchFound: "another torch is found first: {path}",
    why.ProbeFailed: "the probe failed inside ptexplore's own code",
    # --- processes left running ---
    why.LeftAlone: "1 process still runs that {given} started: {processes}; left alone",
    why.SeveralLeftAlone: (
        "{count} processes still run that {given} started: {processes}[ and {others} others]; left alone[. {often}]"
    ),
    why.RunsSeveralTimes: "A trace runs its expression several times, with --once a single time",
    why.EndedWithTrace: "1 process that {given} started still ran at its end, and ended with the trace: {processes}",
    why.SeveralEndedWithTrace: (
        "{count} processes that {given} started still ran at its end, and ended with the trace: {processes}[ and "
        "{others} others]"
    ),
    why.ProcessOf: "{command} (process {number})",
    why.ProcessesOf: "{command} (processes {numbers}[, {further}])",
    why.ForkOfRun: "a fork of the run's own process",
    why.ProbeEndedIn: "{message}: {because}[, so {missing:, so }]; {then}",
    # --- comparison with a second run of a script ---
    why.RanAlike: "run a second time under torch's profiler alone: {same}",
    why.RanOtherwise: (
        "run a second time under torch's profiler alone: {differences:; } (recording may have changed it, or the "
        "script does not do the same twice)"
    ),
    why.SecondUnanswered: "a second run, under torch's profiler alone, gave no answer",
    why.NotCompared: "operators not compared, since {because}",
    why.ClockSetMeanwhile: "the machine's clock was set meanwhile, which torch's profiler tells time and order by",
    why.ManyOperators: "there are too many",
    why.RandomStateDiffers: "the state of {source}'s random numbers differs at the end",
    why.SameRandomStates: "the same states of random numbers",
    why.SameEnding: "the same ending ({ending})",
    why.BothToTheEnd: "to its end",
    why.OtherEnding: "the recorded run came to {first}, the second one to {second}",
    why.ItsEnd: "its end",
    why.OtherCall: (
        "number {number} of {count} calls of operators, nodes and the engine was {first} in the recorded run, "
        "{second} in the second one[, {many}]"
    ),
    why.HadCalls: "which had {count} calls",
    why.OtherCounts: "{name} ran in other threads {first} times in the recorded run, {second} times in the second one",
    why.SameCalls: (
        "{count} calls of operators, nodes and the engine in the same order[, and {beside} in other threads, each as "
        "often]"
    ),
    why.OtherOutput: "line {line} of the output was {first} in the recorded run, {second} in the second",
    why.NoLine: "nothing",
    why.SameOutput: "the same output",
    why.SameOutputKept: "the same output as far as it was kept",
    why.FailedSo: "{told}: {because}",
    why.NoOperatorsNamed: "the probe named no operators",
    why.NoCatalogueGiven: "the probe gave no catalogue",
    why.AllRunsOver: "the {seconds} s of all runs were over; {then}",
    # --- why an operator has no sample to trace ---
    why.NoTensorInSample: "the sample has no tensor",
    why.NoSampleGiven: "its OpInfo gives no sample for the CPU",
    why.SamplesRaise: "its samples raise untraced too: {exception}: {message}",
    why.NoBackwardOf: "its OpInfo says that it has no backward",
    why.NoDtypeNamed: "its OpInfo names no dtype for {backward#a backward on |}the CPU",
    why.RefusedInside: "{sort}[: {particulars}]",
    why.NoBatchingRuleInside: "no batching rule",
    why.DataDecide: "data decide its shape or its path",
    why.ResultNoTensor: "its result is no tensor",
    why.RaisesInside: "torch raises {exception}",
    # --- values that a failed check compared ---
    why.ValueShape: "the shape",
    why.ValueDtype: "the dtype",
    why.ValueDevice: "the device",
    why.ValueElements: "the number of elements",
    why.ValueDimensions: "the number of dimensions",
    why.ValueRows: "the number of rows",
    why.ValueColumns: "the number of columns",
    why.ValueSize: "the size of dimension {dimension}",
    why.ValueSomeSize: "a size",
    why.ValueBroadcast: "a size at dimension {dimension} of the shape that they broadcast to",
    why.ValueIndexed: (
        "the size of the dimension of self that index tensor {tensor} is for{masks#, if a mask counts once for each of "
        "its dimensions|}"
    ),
    why.ValueToChoose: "the number of dimensions to choose from",
    why.ValueAsked: "the {what} asked for",
    why.ValueResult: "the {what} of the result",
    # --- errors ---
    why.TensorUntold: "not told (nested, undefined or of symbolic sizes)",
    why.ListUntold: "not told (a list of optional tensors)",
    why.ByThrowing: "by throwing {type}",
    why.ByCalling: "by {function}",
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
    """Returns a reason in words."""
    if isinstance(reason, PlaceReason):
        return place_sentence(reason)
    return filled(ENGLISH[type(reason)], reason, _worded)


def _worded(held: Reason | Action) -> str:
    return as_command(held) if isinstance(held, Action) else sentence(held)


def worded_ending(ending: Ending) -> Ending:
    """Returns an ending whose reasons and cause have their sentences."""
    cause = worded_cause(ending.cause) if ending.cause is not None else None
    told = ending_with(ending, worded)
    return replace(
        told,
        cause=cause,
        given=given_in_words(ending),
        how=how_in_words(ending),
        compared=tuple(replace(value, what=value_in_words(value)) for value in told.compared),
    )


def value_in_words(value: ComparedValue) -> str:
    """Names a value that a check compared. An older trace has its own words."""
    return sentence(value.of) if value.of is not None else value.what


def how_in_words(ending: Ending) -> str:
    """Says how a function raised the error. An older trace has its own words."""
    return sentence(ending.raising) if ending.raising is not None else ending.how


def given_in_words(ending: Ending) -> tuple[tuple[str, str], ...]:
    """Returns each tensor argument with its description, or with the reason why it has none."""
    return (*ending.given, *((untold.argument, sentence(untold.because)) for untold in ending.untold))


def worded_finding(finding: Finding) -> Finding:
    """Returns a finding with its text."""
    return replace(finding, text=sentence(finding.told))


@lru_cache(maxsize=4096)
def worded(reason: Reason) -> Reason:
    """Returns a reason with its sentence, for readers of JSON."""
    return structs.replace(reason, text=sentence(reason))
