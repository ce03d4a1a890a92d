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
    "its body computes the next set from its tensors and from the dtype, layout and device options; the profiler does "
    "not record the options. CPU is assumed, since every tensor that this trace saw is strided and on the CPU"
)
_REPORTED = "the libraries reported: {calls}[ and {more} more]"
ENGLISH: Catalogue = {
    why.Said: "{sentence}",
    why.UnknownCode: "a code that this version of ptexplore does not know: {name}[ {arguments}]",
    # --- the key sets of arguments ---
    why.ArgumentSets: "{arguments}: {because}",
    why.ForEach: "{reasons:; }",
    why.Together: "{reasons:; }",
    why.FreshTensor: (
        "the tensor was made during the call, or no Python object held it; tensors of its device and layout "
        "carry these keys"
    ),
    why.NotReadTensor: "no recorder read the tensor; tensors of its device and layout carry these keys",
    why.ReadByName: "read from a Python name that held it, before the first such call from each place",
    why.NotRead: "not read, and {because}",
    why.MayBeWrapped: "a function transform may have wrapped it",
    why.SetsDiffer: "calls from several places got tensors with different key sets",
    why.UndefinedTensor: "None, or an undefined tensor, which carries AutogradOther and ADInplaceOrView",
    why.TensorsNotListed: (
        "the profiler does not record its tensors; an undefined tensor carries AutogradOther and ADInplaceOrView"
    ),
    why.MayBeGenerator: "if a torch.Generator was given, the key of its device counts; no recorder shows it",
    why.MayCarry: "it was made during the call and may carry {keys}: {because}",
    why.MayBeOfDispatchingClass: "a class that dispatches in Python may have made it",
    why.AsItsBaseMay: "if it is a view, its base may carry these keys, too",
    why.KeptByVjp: "torch.func.vjp kept a graph, which holds the tensors that vjp had wrapped",
    why.NamesAreInherited: "names of dimensions come from the tensors that it was made from",
    why.NotInInferenceMode: "{keys: and } only if it was not made in inference mode",
    why.OtherSet: "the set of the call differs from the set that devices and layouts would give",
    # --- the thread-local sets ---
    why.DefaultsAssumed: "not read; torch's defaults are assumed",
    why.AsPythonLeftThem: "as they were when Python last made or ended a call",
    why.FramesEnd: (
        "the recorded Python frames end before this call, so it is not known what Python did to the thread-local sets"
    ),
    why.MayHoldGuard: (
        "the function around it names a guard of torch._C, which may be active: Python does not report guards"
    ),
    why.InAnotherThread: "it ran in another thread, whose thread-local sets were not read",
    why.SetByTransform: "a layer of a function transform changes the thread-local sets, and the new sets were not read",
    why.LeftByGuards: "as the guards of the kernels around it leave them",
    why.MayHoldNoNamesGuard: "it is not known whether Named is excluded: code around the call may hold a NoNamesGuard",
    why.ChangedByHandWritten: (
        "the hand-written kernel of {key} changes the thread-local sets, and its text is not here"
    ),
    why.NamesMayBeOff: "the kernel of {key} may hold a NoNamesGuard, and a tensor of the call has names",
    why.InExtension: (
        "the kernel around this call belongs to an extension; its C++ is not read, and may change the thread-local sets"
    ),
    why.InMaker: "inside {function} ({file}), which holds {guard} and excludes {excludes}",
    why.InMakerOfPlain: (
        "inside {function} ({file}), which makes the plain tensor here, holds {guard} and excludes {excludes}"
    ),
    why.InMakerAtLift: "inside {function} ({file}), which holds {guard} and excludes {excludes} around lift_fresh()",
    why.AroundFrame: "as they were read at the call around this frame; the frame may have changed them since",
    why.InFactory: "inside torch::{factory} ({file}), which holds {guard}",
    why.WhileTracing: "inside {function}, which includes Tracer while it traces ({file})",
    why.MakingSubclass: "inside _make_subclass ({file}), which removes {keys} from the include set",
    why.InHandWrittenBinding: (
        "as they were at the binding; the binding is hand-written and may hold a guard that is not followed here"
    ),
    why.OverloadNotKnown: "inside an operator whose overload is not known",
    why.KernelsNotKnown: "it is not known which kernels of {op} ran",
    why.NotRecorded: (
        "the profiler does not record {arguments}: it skips tensors that are undefined or nested or have symbolic sizes"
    ),
    why.MayBeCopy: (
        "a copy of a sparse tensor begins with empty tensors: the {key} kernel, which saves a copy, or the next "
        "kernel made this one; it is not known which"
    ),
    why.MayBeOwnCall: (
        "the text of the {key} kernel calls it, so that kernel or the kernel below made this call; it is not known "
        "which"
    ),
    why.MayBeTangent: (
        "the text of the {key} kernel computes a forward gradient; it is not known whether this computation or the "
        "kernel below made the call"
    ),
    # --- where a kernel sends a call ---
    why.ByCustomOp: "{file} makes the kernel, which redispatches below autograd ({kernel})",
    why.ByCustomOpWrites: (
        "{file} makes the kernel of an operator that writes its arguments; this kernel redispatches below its own key"
    ),
    why.BodyRedispatches: "its body redispatches with `{expression}`",
    why.BodyComputes: _COMPUTES,
    why.BodyComputesTyped: f"{_COMPUTES}; your code names no other device or layout",
    why.NotImplementedBelowAutograd: "{function} is hand-written; it redispatches below autograd",
    why.NotImplementedBelowViews: (
        "{function} is hand-written; if the schema has no alias, it redispatches below ADInplaceOrView"
    ),
    why.AutogradFallback: "autograd's fallback ({file}) is hand-written; it redispatches below autograd",
    why.ManualKernel: "in 2.6.0 the hand-written kernel in {file} redispatches below its own key",
    # --- why a key ---
    why.ThreadLocalSets: "thread-local sets: {because}",
    why.HighestKey: "{key} is the highest key of (arguments | include) - exclude, without the fallthroughs",
    why.HighestLeft: "{key} is the highest key left",
    why.EntryOfTable: "entry of the dispatch table for {key}: {entry}",
    why.GivenSet: "{function} got the set {set} ({register}): {key} is its highest key",
    why.KeyNotKnown: "it is not known which key this call goes to[ after {after}]: {because}",
    why.ComputedFromOptions: (
        "its body computes the next set from the device, layout and dtype options, which the profiler does not record"
    ),
    # --- kernels and their calls ---
    why.RanInside: "the profiler saw these operators inside the call; it is derived that this kernel called them",
    why.RegisteredByPython: "Python registered it, and the dispatcher called the Python function {function}",
    why.BodyCalls: "the body of {function} calls it",
    why.BodyNames: (
        "the body of {function} names it[ through {through}], at {place}; this line was not seen to run[; the "
        "condition at {condition} decides whether it runs]"
    ),
    why.RegistersFor: "{macro} at {place} registers it for {device}",
    why.OneOfKernels: "one of {count} kernels that are registered for {device}: which one depends on the machine",
    # --- operators ---
    why.OverloadRecorded: "the profiler recorded the overload",
    why.FitsStack: "the only overload of {op} that fits the end of the recorded stack",
    why.OnlyOverload: "the only overload of {op}",
    why.TakesInputs: "the only overload of {op} that takes these inputs ({others} others do not)",
    why.TakesNames: "overloads that take names of dimensions, which no tensor here has: {overloads}",
    why.WouldCallOthers: (
        "by the text of the kernel, {overloads} would have called other operators than those that ran inside"
    ),
    why.BoxedStack: "called boxed: the last {inputs} of the {values} values on the stack are its inputs",
    why.BoxedByTorchOps: "torch.ops calls operators boxed",
    # --- why an operator copied ---
    why.NotJoined: (
        "dimensions {first} and {second} cannot be joined: stride {stride} is not {inner_size} × {inner_stride}"
    ),
    why.DimensionPair: "{first} and {second} (stride {stride} is not {inner_size} × {inner_stride})",
    why.CannotJoin: "no view joins dimensions {pairs:, or }",
    why.OneInMemory: "dimension {dimension} of {argument} has stride 0: its {size} elements are one in memory",
    why.FormatWanted: "{format} was asked for[ by {by}]",
    why.BitSet: "its {bit} bit is set: the values were not computed yet[, and {by} needs them]",
    why.CalledBefore: "an earlier run called {operators:, } here",
    why.NotDense: "a clone keeps strides only if the tensor is dense, and this one is not",
    why.KeptStrides: "a clone keeps the strides of a dense tensor",
    # --- the stepped run ---
    why.RanInCaller: (
        "it has no frame of its own, but the functions that it calls ran: the compiler put it into its caller"
    ),
    why.CalledAsDispatcher: (
        "it has no frame of its own, but its caller did the same work: it looked for observers of operator calls and "
        "called a kernel"
    ),
    why.CompiledIn: "the type of {function} names it, and it has no frame: it was compiled into {function}",
    why.RanUnnamed: "{function} ran it without naming it; the dispatch table's entry for {key} names it",
    why.RanPython: "{function} ran the Python function {python}",
    why.IsWhatRan: "{function} is the function that ran",
    why.NotProfiled: (
        "{function} ran[ {kernel}, a kernel that only this operator has]; the profiler recorded no event for it"
    ),
    why.CalledElsewhere: (
        "{function} ran[ {kernel}, a kernel that only this operator has]; in the run that the profiler recorded, it "
        "had another caller"
    ),
    # --- calls of Python ---
    why.WhichCall: (
        "a loop calls this part of the expression repeatedly: it may have run at the end of the previous call"
    ),
    why.OperatorSyntax: "`{source}` is {syntax} syntax: Python looks up {name} on the type of the operand",
    why.ThroughPython: "`{source}`: Python's {through} looks up {name} on the type of the operand",
    why.SlotByName: "`{source}` calls {name} by its name; Python does not report such a call to a profile function",
    why.RowOfTable: "the row for {row} in the {table} table ({place}) names {function}",
    why.TableNames: "the table at {place} names {function}",
    why.MarksRange: "it is a range that code marks for the profiler, not a function call",
    # --- autograd ---
    why.HeldByGraph: "the graph of the result holds this node, which has the sequence number of this call",
    why.AccumulatesGradient: "leaves accumulate their gradient",
    why.MadeByCall: "made by the call of {op}, which has the same sequence number",
    why.EntriesMakeNode: "{count} entries of derivatives.yaml make this node",
    why.EventsEnd: "the profiler's events end here: it is not known whether {node} ran",
    why.EngineAtNode: "the profiler recorded the engine at {node}, but no call of its apply",
    why.FormulaCalls: "the formula at {place} calls it if that input needs a gradient",
    # --- findings ---
    why.OtherResult: (
        "the stepped run gave another result than the run before it (perhaps through memory that was never written, a "
        "clock, …)"
    ),
    why.GradientCopied: (
        "the recorder may have changed what ran: AccumulateGrad copied a gradient, as it does if the gradient has "
        "another holder. torch's profiler holds a gradient a little longer when it records sizes; a single run cannot "
        "show the cause"
    ),
    why.RegistrationsChanged: (
        "{op}: its registrations differ from the catalogue (the traced code or its setup changed them)"
    ),
    why.KindsStepped: (
        "{kinds} of {all_kinds} kind{all_kinds#|s} of operator calls and nodes {kinds#was|were} stepped, {of_each}"
        "[, {instructions} instructions][; {left:; }][; {then} steps the first call of {op}]"
    ),
    why.OneOfEach: "one call of each",
    why.CallsInAll: "{calls} call{calls#|s} in all",
    why.KindsLeft: "{count} other kind{count#|s} not stepped: {because}",
    why.LaunchesNotTold: (
        "torch's profiler does not record launches on {devices}: it is not known which kernels ran there"
    ),
    # Without the time, so that the sentence is the same in each run; rows show the time.
    why.LibraryTold: "{library}'s {what}[ by {implementation}] ({problem})[ ×{times}]{took#|}",
    why.ToldOfSuchCall: f"about one such call, in a separate fork, {_REPORTED}",
    why.ToldOfCall: f"about this call, in a separate run, {_REPORTED}",
    why.ToldOfExpression: f"about the whole expression, in a separate run, {_REPORTED}",
    why.LibraryUnordered: (
        "[{op}: ]{library} reported {calls} call{calls#|s}, in a separate run; by their names, {frames} "
        "frame{frames#|s} in the tree may be these: it is not known which belong together"
    ),
    why.CompilesScript: (
        "the stepped call compiles TorchScript, and the shares include that work: the executor optimises a graph in "
        "its first calls"
    ),
    why.TreeEnds: "the native call tree[ of {op}] ends early: {because}",
    why.NotPlaced: "{op} was stepped, but no row shows the functions inside it: {because}",
    why.NotAmongShown: "it is not among the calls that are shown",
    why.InSeveralThreads: "several threads call it, in an order that is not known",
    why.CalledOtherTimes: (
        "the stepped run called {op} {stepped} time{stepped#|s}, the run shown here {called} time{called#|s}"
    ),
    why.EnteredOtherTimes: (
        "the number of entries into {op} differs from the number of recorded calls, so the number of the stepped call "
        "is not known"
    ),
    why.NoSuchCall: "the run shown here has {called} call{called#|s} of it, so there is no call with that number",
    why.RanBefore: (
        "{names}[ and {further} more] ran in an earlier run, {threads}[; operator number {number} was {before} in the "
        "earlier run, {stepped} here]"
    ),
    why.NameAlone: "{name}",
    why.CallMore: "{name} (1 more call)",
    why.CallsMore: "{name} ({count} more calls)",
    why.NodeBy: "{node} (by {op})",
    why.RecordedBefore: "{nodes}: recorded for backward in an earlier run, {threads}",
    why.OnOneThread: (
        "but not in the stepped run, which is shown here and had 1 thread: the number of threads may change what "
        "runs, and so may warm-up"
    ),
    why.OnThreads: (
        "but not in the stepped run, which is shown here and had {count} threads: the number of threads may change "
        "what runs, and so may warm-up"
    ),
    why.NotCalledAgain: (
        "the stepped run did not call {names}, which the profiler saw in an earlier run: the two runs differ"
    ),
    why.FramesUnordered: "native frames may be below a Python function that did not call them: {because}",
    why.TooDeep: "calls nested deeper than {levels} are not shown",
    why.ThereTwice: (
        "{ops}: shown twice, as the profiler saw it and as it was stepped; it is not known which calls are the same"
    ),
    why.OtherKeys: "{op}: the keys {predicted} were predicted; {ran} ran",
    why.OtherKernel: "{op}: {predicted} was predicted for {key}; {ran} ran",
    # --- why calls of a program were not stepped ---
    why.CalledOnce: "it was called once, and a first call is not stepped",
    why.PythonRuns: "Python runs in it, or between the fork and the call, and no line of your program may run twice",
    why.ForkTooLate: "its fork did not end in time",
    why.ForkKilled: "its fork was killed by signal {signal}",
    why.BudgetSpent: "the budget of instructions is used up",
    why.NoFurtherCall: "it was not called again where it can be stepped",
    why.NoEntryPoint: "torch's library has no separate function for it, where stepping could begin",
    why.SteppingTimeSpent: "stepping took {seconds} s, which is the part of the time limit that it may use",
    why.DeviceInUse: "{device} is in use, and a fork of the program cannot use it",
    why.ThreadsOfProgram: "the program runs threads of its own, and a fork does not have them",
    why.PythonModeOn: "a mode written in Python is active, and would run in a fork",
    why.MemoryShared: "the program shares memory (share_memory_, a mapped file), and a fork would write to it too",
    why.ThreadsOfEngine: "autograd runs threads for a device, and a fork does not have them",
    why.ChildrenHandled: "the program handles SIGCHLD, and would notice the forks",
    why.NoProcessForked: "no process could be forked: {error}",
    # --- why a process cannot be stepped ---
    why.OtherMachine: "stepping needs x86-64 Linux, and this is {machine} {system}",
    why.TrapBlocked: "the signal SIGTRAP is blocked here, and stepping needs it",
    why.AlreadyTraced: "another program (a debugger, strace) already traces this process",
    why.TrapFlagIdle: "the trap flag has no effect here: is this processor emulated?",
    why.NoTrapHandler: "no handler can be set for SIGTRAP: {error}",
    why.NoExecutableMemory: "this system refuses memory that can be executed: {error}",
    why.NoBreakpoint: "this system refuses a breakpoint in torch's own code: {error}",
    why.NotProtectedAgain: "this system refuses to protect torch's own code again: {error}",
    why.NoMemoryForLog: "there is no memory for the log of steps ({kilobytes} KB): {error}",
    # --- why a stepped run ends early ---
    why.LogFull: "the log of steps was full",
    why.ManyInstructions: (
        "it runs more than {most} instructions, including those that show Python's calls to ptexplore"
    ),
    why.ManySingleSteps: (
        "it runs more than {most} instructions that must be stepped one by one, such as code that was made at run time"
    ),
    why.SteppingTimeUp: "it was not finished when its time was over, after {seconds} s",
    why.BlocksTrap: "from here on the code blocks SIGTRAP, as code that starts a thread or a process does",
    why.HandlesTrap: "from here on the code handles or sends SIGTRAP itself, and stepping needs this signal",
    why.StartsAnother: "from here on the code starts a thread, a process or another program",
    why.HookTaken: "the traced code removed the profile function: Python calls after that are not known",
    why.PythonLacks: "this Python lacks {function}",
    why.OtherBuiltins: "this Python has another memory layout for builtin functions",
    # --- what a recorder leaves out ---
    why.PathsTooDeep: "calls nest more than {levels} levels deep: deeper calls count for the call around them",
    why.ManyPaths: "there are more than {most} call paths: deeper calls count for the call around them",
    why.ManyPathsOfTorch: (
        "there are more than {most} call paths: deeper calls in torch's functions count for the call around them"
    ),
    why.RecordingFailed: "recording failed ({place}: {error}): some events of that time are missing",
    why.ProcessesStarted: "processes were started, and their work is not recorded",
    why.ProfilerNotStopped: "the profiler could not be stopped for long, since an operator was always running",
    why.OtherThreadsWentOn: (
        "other threads may have run on while a part of the recording was processed: operators that they called then "
        "are missing"
    ),
    why.ClockWasSet: (
        "the machine's clock was set during the run, and torch's profiler takes time and order from it: both may be "
        "wrong for that part"
    ),
    why.ProfilesItself: "the program uses torch's profiler itself: operators that ran meanwhile are missing",
    why.DeviceBeganInside: (
        "launches of the first call that used the device are missing: torch's profiler watches the device only after it"
    ),
    why.DeviceNotWatched: (
        "launches on the device are missing: it was first used during the recording, and torch's profiler watches "
        "only devices that are in use when it begins"
    ),
    why.InterruptedInHook: (
        "an interrupt came inside the profile function: Python calls in about 0.2 s after it are missing"
    ),
    why.OperatorsInsideCut: "so many operators ran inside one operator that the rest of them is missing: {because}",
    why.OperatorsCut: "operators that ran later are missing: {because}",
    why.ReadingTakesTime: "reading the recording takes a large part of the {seconds} s that are available",
    why.ReadingTakesMemory: "reading the recording may take {megabytes} MB of memory",
    why.ThreadsInsideAtEnd: (
        "other threads may have been inside operators when the recording ended: the rest of these operators is missing"
    ),
    why.HookTakenOrFailed: "Python's profile function was removed, or failed: Python calls after that are missing",
    why.MoreThreads: "{count} more thread{count#|s} ran; this torch's profiler records only one",
    why.MoreThreadsCalled: "{count} more thread{count#|s} called torch; this torch's profiler records only one",
    why.ThrowNotNoted: (
        "it is not known where C++ threw: {because}; with TORCH_SHOW_CPP_STACKTRACES=1 in the environment, torch "
        "writes the place into the error's text, and ptexplore reads it there"
    ),
    why.NoNotesOnMachine: "this is {machine} {system}, and errors are noted only on x86-64 Linux",
    why.NotesRefused: "errors cannot be noted here: {error}",
    why.NotesUnexecutable: "the system gives no executable memory",
    why.NotesDoNotFit: "the code that notes errors does not fit",
    why.ErrorsMadeOtherwise: "this torch creates errors in another way",
    why.RaisingUnwatched: "functions that raise cannot be watched here: {error}",
    why.SizesMerged: "sizes beyond the first {most} of an operator are counted as one",
    why.CutBySilentEnd: (
        "the process ended without a message: everything since the operators were last saved is missing"
    ),
    why.CutByLateEnd: (
        "the process did not end when its time was over, and was killed: everything since the operators were last "
        "saved is missing"
    ),
    why.FramesCut: (
        "only the first {most} Python frames are recorded: later work is in the frames that were open then, or in the "
        "part of the expression that called it"
    ),
    why.FramesLost: (
        "the traced code removed the profile hook, or reached the recursion limit in it: some Python frames are missing"
    ),
    why.ThreadBefore: "a thread existed before the expression: {told}",
    why.ThreadsBefore: "{count} thread{count#|s} existed before the expression: {told}",
    why.OperatorsOfNobody: (
        "Python calls of such a thread are not recorded, and its operators do not count as your calls"
    ),
    why.NothingOfThread: "nothing is recorded of such a thread, since this torch's profiler records only one",
    why.NestsTooDeep: "the expression nests too deeply for its calls to be recorded",
    why.EventsCut: "only the first {most} events are kept",
    why.CallsCut: "only the first {most} calls of the expression are recorded",
    why.NodesCut: "only the first {most} autograd nodes are recorded",
    why.LocationsLeftOut: (
        "the stepped run left out torch.jit.trace's record of source locations, which walks the whole Python stack"
    ),
    why.ManySavedTensors: "more than {most} tensors were saved at one time",
    # --- why nothing was stepped ---
    why.NativeNotAsked: "stepping was not asked for",
    why.NoBudget: "--native-budget 0 leaves no instructions to step",
    why.RunsOnce: "--once runs the code a single time, and stepping would run it again",
    why.ScriptNotStepped: "a script is never stepped as a whole; --native-op NAME#N steps one operator call of it",
    why.RanInYourProcess: "it ran once, in your own process: nothing was stepped",
    why.CalledNoOperator: "it called no operator",
    why.KindNotStepped: "1 kind of calls: {because}",
    why.KindsNotStepped: "{count} kinds of calls: {because}",
    why.NativeSilent: "the stepped run sent no message",
    why.NothingToStep: "{beyond}, and {instead}",
    why.AllBeyond: (
        "the whole run has more than {most} instructions, including those that show Python's calls to ptexplore"
    ),
    why.AllBeyondSingly: "the whole run has more than {most} instructions that must be stepped one by one",
    why.NoOperatorEnters: "none of the operators that it calls has an entry point of its own",
    why.CallsNoOperator: "it calls no operator",
    why.CalledBeyondRecorded: (
        "{op} was called more often than was recorded ({because}): it is not known which call was stepped"
    ),
    why.MaybeInAnotherThread: (
        "another thread may have called it, and this torch's profiler does not record that thread"
    ),
    why.CallNumberWanted: "--native-op {given}: after # comes the number of the call, from 1",
    why.NoEntryOf: "--native-op {op}: torch's library has no separate entry point for it",
    why.NoSuchOperator: "--native-op {op}: torch has no operator with that name[; there is {near: and }]",
    why.CalledFewerTimes: "{op} is called {called} time{called#|s} through at::_ops::NAME::call, not {wanted}",
    why.NothingCalled: "operators are called {called} time{called#|s} through at::_ops::NAME::call, not {wanted}",
    why.EndsItself: "code that ends its process is not stepped",
    why.OwnCodeFailed: "ptexplore's own code failed: {exception}: {message}",
    why.LaterCallStepped: "it steps a later call than the first, and the second call {second}",
    why.RaisedUnderStepper: "under the stepper it raised {exception}: {message}",
    why.SaysNothing: "no further message",
    why.TrapTaken: "SIGTRAP killed its process; stepping uses this signal, and something blocked or took it over",
    why.FurtherRun: "a further run in the same process {does}",
    why.SetupRaisedAgain: "--setup, run a second time in one process, raised {exception}: {message}",
    why.EndedBySignal: "{signal} ended its process in the stepped run",
    why.EndedByItself: "its process exited in the stepped run",
    why.PassEndedBySignal: "{signal} ended the {recorder} run",
    why.PassEndedByItself: "the {recorder} run exited with status {status}",
    why.TimeWasOver: "the time was over before this run[, so {missing:, so }]",
    why.TimeOverBefore: "the time for all runs was over before it began",
    why.FramesMissing: "Python functions are not shown",
    why.CallsMissing: "the trace does not show which call of the expression ran an operator",
    why.PassStopped: (
        "{running} was stopped, with everything that it had started: the {seconds} s for all runs together were over"
    ),
    why.RunningPass: "the {recorder} run",
    why.ImportingTorch: "import torch",
    why.NotEndedInTime: "the expression did not end within {seconds} s",
    why.ProbeDied: "the probe died",
    why.ProbeKilled: "{signal} killed it during {running}, before it was finished",
    why.ProbeEnded: "it exited with status {status} during {running}, before it was finished",
    # --- why the first call is shown ---
    why.DoesNotEnd: "does not end within {seconds} s",
    why.DoesNotEndRecorded: "does not end within {seconds} s with the recorders on",
    why.EndsProcess: "ends its process by {signal}",
    why.ExitsProcess: "exits its process with status {status}",
    why.RaisesError: "raises {exception}: {message}",
    why.RaisesNothing: "raises nothing",
    why.CannotBeRun: "cannot be run: {because}",
    why.NeedsSetupAgain: "would need --setup to run again, which {because}",
    why.EntersMode: "enters a mode for dispatch or for torch functions",
    why.EntersLevel: "enters a transform or a level of forward-mode differentiation",
    why.RegistersGlobalHook: "registers a hook for all modules or optimizers",
    why.SetsSavedHooks: "sets hooks on saved tensors",
    why.RegistersOperators: "registers operators or kernels",
    why.StartsThread: "starts a thread",
    why.RegistersAtExit: "registers a function with atexit",
    why.RegistersGcCallback: "registers a gc callback",
    why.AddsMetaPath: "adds to sys.meta_path",
    why.AddsPathHooks: "adds to sys.path_hooks",
    why.ReplacesFunction: "replaces {name}",
    why.RunsInWhatIsLeft: "would run with settings that the first call left on ({settings})",
    why.UsedUp: "would find objects that the first call used up or changed ({things:; })",
    why.AndMore: "…",
    why.OfName: "{name}: {because}",
    why.SlotChanged: "{slot} of {owner} has changed",
    why.CacheChanged: "its cache has changed",
    why.StateUnread: "its state cannot be read: {error}",
    why.GoneOn: "the {type} has advanced",
    why.OtherMemory: "it has other memory, sizes or strides",
    why.MadeByAnother: "another operator made its present value",
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
    why.ModuleNotCalled: "the program did not call a module {name}",
    why.ModulesByClassOrPath: "--only takes the class of a module, or its path in the outermost module",
    why.InputByName: "the module takes its input {name} by name only",
    why.InputsByPosition: "graphs take their inputs by position",
    why.ScriptChanged: "the script has changed since it was shown",
    why.NoTensorGiven: "there is no tensor to draw[: the values are {types:, }]",
    why.GivenRaised: "{given} raised {exception}: {message}",
    why.NoContextManager: "{given} is not a context manager: {exception}: {message}",
    why.NameUndefined: "name '{name}' is not defined",
    why.NameCalled: "name '{name}' is called, so it cannot be a seeded tensor",
    why.NoAttribute: "{owner} has no '{name}'",
    why.ExpressionProfiles: "the expression uses torch's profiler itself",
    why.HasNoTensor: "the result ({result}) has no tensor, so there is no autograd graph behind it",
    why.NoSuchVariable: "no variable is called {name} at the script's first backward, or at its end if it calls none",
    why.NoBackward: "the script called no backward, so an expression must name the value: graph EXPR --script FILE",
    why.NeedsNoGrad: "the result ({result}) does not require grad: backward has nothing to run",
    # --- differences between passes and runs ---
    why.PassesDiffer: "{cause}: number {number} was {first} in the {reference} run, {second} in the {recorder} run",
    why.CountsDiffer: (
        "{cause}: other threads called {name} {first} time{first#|s} in the {reference} run, {second} "
        "time{second#|s} in the {recorder} run"
    ),
    why.TheEnd: "the end",
    why.RunsDiffer: "two runs called different operators[ ({limit})]",
    why.RecorderChanged: (
        "the recorder changed what ran[ ({limit})][, and its run is shown here; in the {reference} run your code "
        "ran without recorders]"
    ),
    why.AtRecursionLimit: "at Python's recursion limit, to which the recorder's own frames add",
    # --- what was stopped, or varies ---
    why.ThrowNotLooked: (
        "ptexplore did not look for the C++ function that threw it, or for the row that it came from: {because}"
    ),
    why.RunsTimeOver: "the time for all runs was over; {then}",
    why.TooLate: "{because}[, so {missing:, so }]; {then}",
    why.Stopping: "{message}, {because}; {then}",
    why.WritesNotTold: "a separate run that watches saved tensors did not show who wrote to the tensor: {because}",
    why.ErrorNotRaised: "that run did not raise the error",
    why.RunEndedBySignal: "{signal} ended its process",
    why.RunEndedByItself: "its process exited",
    why.VariesByChance: "another run may give slightly different counts: --vary leaves {what: and } to chance",
    why.VariesAnyway: "another run may give slightly different counts: {what: and } cannot be fixed on this system",
    why.ScriptInterrupted: "the script was interrupted after {seconds} s: {then}",
    # --- why your process cannot be recorded ---
    why.NotRecordedNow: "this process cannot be recorded now",
    why.RecordedAlready: "this process is already being recorded",
    why.InOtherThreadThanMain: "the recording was begun in a thread that is not the main thread",
    why.ProfileFunctionSet: "a profile function is set: another profiler is running",
    why.TorchProfilerAtWork: "torch's profiler is already running",
    # --- why nothing could be captured ---
    why.NothingToTrace: "there is nothing to trace",
    why.NothingGiven: "no expression and no script",
    why.NoScript: "there is no script {script}",
    why.NoFile: "no file of that name",
    why.NothingToRun: "there is nothing to run",
    why.ParserRefuses: "Python's own parser refuses it",
    why.OneExpression: "a trace takes one expression",
    why.TensorsAreDrawn: "tensors are drawn if a statement assigns them to a name, or is an expression",
    why.NamesBecomeTensors: (
        "names of one letter (or a letter and digits) used as values become tensors; others must be bound"
    ),
    why.LookedForBefore: "it was looked up before anything ran",
    why.VariablesRunOnce: "a --var is evaluated once, before the expression",
    why.SetupRunsFirst: "--setup runs before the expression, again in each run",
    why.ContextsAreExpressions: "--with takes an expression that gives a context manager",
    why.OneProfiler: "torch allows one profiler at a time, and a trace uses it",
    why.BackwardNeeds: "backward needs a floating-point result that depends on a tensor that requires grad",
    why.GraphNeedsTensor: "a graph is read from a tensor, or from a list, tuple or dictionary of tensors",
    why.CannotRun: "it cannot be run",
    why.GivenLine: "{line}{caret}",
    why.PartOfRun: "the {stage}",
    why.PartBackward: "its backward",
    why.PartContext: "leaving --with",
    why.PartRaised: "{part} raised {exception}: {source}",
    why.PartNeedsMemory: "{part} needs more memory than there is",
    why.ErrorSilent: "{exception} has no message",
    why.ScriptNotEnded: "the script did not end within {seconds} s",
    why.RunsOver: "the {seconds} s for all runs were over in the {recorder} run[, {where}]",
    why.AtLine: "at line {line} of {file}",
    why.InFunction: "in {function}(), called at line {line} of {file}",
    why.CannotBeTraced: "{given} cannot be traced: {source}",
    why.KilledProcess: "{given} killed its process: {source}",
    why.ProcessEnded: "{how}[ in the {recorder} run][, {where}][; {killer}][: {limit}][; {alone}]",
    why.KilledBy: "it was killed by {signal}",
    why.EndedWithStatus: "it exited with status {status}",
    why.CalledToEnd: "it called {function}[ with {status}]",
    why.SystemKillsForTime: (
        "the system kills a process in this way when memory or its limit of processor time (ulimit -t) is used up"
    ),
    why.SystemKillsForMemory: "the system kills a process in this way when memory is used up",
    why.ProcessorTimeLimit: "the limit on processor time was reached (ulimit -t)",
    why.FileSizeLimit: "the limit on the size of a file was reached (ulimit -f)",
    why.AloneGoesOn: "without recorders it did not end its process: ptexplore disturbs it",
    why.AloneAlike: "without recorders it ends the same way",
    why.AloneOtherwise: "without recorders it ends with {how}",
    why.TorchNotInTime: "torch was not imported in time",
    why.TookMoreThan: "it took more than {seconds} s",
    why.ProbeUnread: "the probe's answer cannot be read",
    why.NotStarted: "{python} cannot be started",
    why.TorchNotImported: "torch cannot be imported there",
    why.OtherTorchImported: "another torch was imported than the one that was asked for",
    why.OtherTorchFound: "Python finds another torch first: {path}",
    why.ProbeFailed: "the probe failed inside ptexplore's own code",
    # --- processes left running ---
    why.LeftAlone: "{given} started 1 process that still runs: {processes}; ptexplore does not end it",
    why.SeveralLeftAlone: (
        "{given} started {count} processes that still run: {processes}[ and {others} others]; ptexplore does not end "
        "them[. {often}]"
    ),
    why.RunsSeveralTimes: "A trace runs its expression several times; --once runs it a single time",
    why.EndedWithTrace: (
        "{given} started 1 process that still ran at its end, and that was ended with the trace: {processes}"
    ),
    why.SeveralEndedWithTrace: (
        "{given} started {count} processes that still ran at its end, and that were ended with the trace: "
        "{processes}[ and {others} others]"
    ),
    why.ProcessOf: "{command} (process {number})",
    why.ProcessesOf: "{command} (processes {numbers}[, {further}])",
    why.ForkOfRun: "a fork of the run's own process",
    why.ProbeEndedIn: "{message}: {because}[, so {missing:, so }]; {then}",
    # --- comparison with a second run of a script ---
    why.RanAlike: "run a second time under torch's profiler only: {same}",
    why.RanOtherwise: (
        "run a second time under torch's profiler only: {differences:; } (recording may have changed the run, or the "
        "script does not do the same each time)"
    ),
    why.SecondUnanswered: "a second run, under torch's profiler only, gave no answer",
    why.NotCompared: "operators were not compared, since {because}",
    why.ClockSetMeanwhile: (
        "the machine's clock was set during the run, and torch's profiler takes time and order from it"
    ),
    why.ManyOperators: "there are too many",
    why.RandomStateDiffers: "the state of {source}'s random numbers differs at the end",
    why.SameRandomStates: "the same states of random numbers",
    why.SameEnding: "the same ending ({ending})",
    why.BothToTheEnd: "both ran to their end",
    why.OtherEnding: "the recorded run came to {first}, the second run to {second}",
    why.ItsEnd: "its end",
    why.OtherCall: (
        "the runs part at call {number} of {count} (of operators, nodes and the engine): {first} in the recorded run, "
        "{second} in the second run[, {many}]"
    ),
    why.HadCalls: "which had {count} call{count#|s}",
    why.OtherCounts: (
        "{name} ran in other threads: {first} time{first#|s} in the recorded run, {second} time{second#|s} in the "
        "second run"
    ),
    why.SameCalls: (
        "{count} call{count#|s} of operators, nodes and the engine in the same order[, and {beside} in other threads, "
        "with equal counts]"
    ),
    why.OtherOutput: "line {line} of the output was {first} in the recorded run, {second} in the second run",
    why.NoLine: "nothing",
    why.SameOutput: "the same output",
    why.SameOutputKept: "the same output, as far as it was kept",
    why.FailedSo: "{told}: {because}",
    why.NoOperatorsNamed: "the probe named no operators",
    why.NoCatalogueGiven: "the probe gave no catalogue",
    why.NoDecompositionsGiven: "the probe gave no decomposition tables",
    why.AllRunsOver: "the {seconds} s for all runs were over; {then}",
    # --- why an operator has no sample to trace ---
    why.NoTensorInSample: "the sample has no tensor",
    why.NoSampleGiven: "its OpInfo has no sample for the CPU",
    why.SamplesRaise: "its samples also raise without a trace: {exception}: {message}",
    why.NoBackwardOf: "its OpInfo says that the operator has no backward",
    why.NoDtypeNamed: "its OpInfo names no dtype for {backward#a backward on |}the CPU",
    why.RefusedInside: "{sort}[: {particulars}]",
    why.NoBatchingRuleInside: "no batching rule",
    why.DataDecide: "its shape or its path depends on the data",
    why.ResultNoTensor: "its result is not a tensor",
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
    why.ValueBroadcast: "a size at dimension {dimension} of the broadcast shape",
    why.ValueIndexed: (
        "the size of the dimension of self that index tensor {tensor} indexes{masks#, if a mask counts once for each "
        "of its dimensions|}"
    ),
    why.ValueToChoose: "the number of dimensions to choose from",
    why.ValueAsked: "the {what} asked for",
    why.ValueResult: "the {what} of the result",
    # --- errors ---
    why.TensorUntold: "not recorded (nested, undefined or with symbolic sizes)",
    why.ListUntold: "not recorded (a list of optional tensors)",
    why.ByThrowing: "by throwing {type}",
    why.ByCalling: "by calling {function}",
    why.OnStack: "it was on the C++ stack when the error was thrown",
    why.FunctorNames: "the type of the functor that calls it contains its name",
    why.AfterError: "an exception ended the call, perhaps at this point",
    why.ReadAtEnd: "the running functions were read at the moment when the process ended",
    why.KeptByTorch: (
        "torch keeps the function, file and line of the throw with each error of its C++; {told}[, {elsewhere}]"
    ),
    why.NotedWhenMade: "they were noted when the error was made",
    why.ToldByRun: "one more run showed them",
    why.InAnotherProcess: "in another process of the program",
    why.WatchedThrowing: (
        "torch keeps no C++ line with this error; one more run watched which function raises: {function}, or a "
        "function compiled into it, raised the error by throwing {type}"
    ),
    why.WatchedRaising: (
        "torch keeps no C++ line with this error; one more run watched which function raises: {function}, or a "
        "function compiled into it, raised the error by calling {by}"
    ),
    why.RaisedByPython: "a Python `raise` raised it: torch keeps no C++ line with it",
    why.RunRaisedOther: "the run that searched for the throw raised a different error",
    why.NoSecondRun: "--once: no second run looked for where C++ threw it",
    why.NoLineKept: "torch keeps no C++ line with this error",
    why.MadeError: "it raised an error, which was caught: it is not known which of its kernels were reached",
    why.LeftByException: (
        "an exception ended this call: it is not known which kernels of the operator that raised were reached"
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
    reworded = ending_with(ending, worded)
    return replace(
        reworded,
        cause=cause,
        given=given_in_words(ending),
        how=how_in_words(ending),
        compared=tuple(replace(value, what=value_in_words(value)) for value in reworded.compared),
    )


def value_in_words(value: ComparedValue) -> str:
    """Names a value that a check compared. An older trace has its own words."""
    return sentence(value.of) if value.of is not None else value.what


def how_in_words(ending: Ending) -> str:
    """Says how a function raised the error. An older trace has its own words."""
    return sentence(ending.raising) if ending.raising is not None else ending.how


def given_in_words(ending: Ending) -> tuple[tuple[str, str], ...]:
    """Returns each tensor argument with its description, or with the reason why it has none."""
    return (*ending.given, *((argument.argument, sentence(argument.because)) for argument in ending.untold))


def worded_finding(finding: Finding) -> Finding:
    """Returns a finding with its text."""
    return replace(finding, text=sentence(finding.told))


@lru_cache(maxsize=4096)
def worded(reason: Reason) -> Reason:
    """Returns a reason with its sentence, for readers of JSON."""
    return structs.replace(reason, text=sentence(reason))
