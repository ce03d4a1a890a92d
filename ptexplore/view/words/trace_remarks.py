"""The sentences above and below the rows of a trace."""

from __future__ import annotations

from collections.abc import Iterable

from ptexplore.model import trace_remarks as says
from ptexplore.model.codes import Reason
from ptexplore.model.trace_remarks import InnerRemark
from ptexplore.view.words.legend import RECORDED
from ptexplore.view.words.reasons import sentence
from ptexplore.view.words.templates import Catalogue, filled

_WARM = "(first calls and parallel paths are not shown)"
_COLD = (
    "(the very first call, with dynamic linking, cache filling, lazy initialisation and first use of memory; code "
    "that had run for the inputs is warm; parallel paths are not shown)"
)
_LATER = "to trace a later call, put the calls before it into --setup"

ENGLISH: Catalogue = {
    says.InOneLine: "{remarks:; }",
    # --- what ran ---
    says.TorchRan: "torch {version}[; {remarks:; }]",
    says.TorchBuildBeside: "torch {version} (git {commit}, {build})",
    says.AtlasIs: (
        "atlas ({version}[, git {commit}]): {relation}; it has only names and lines and comes with ptexplore; "
        "ptexplore fetch gets the text"
    ),
    says.TreeIs: "source {name} ({version}[, git {commit}]): {relation}, {meaning}",
    says.TreeMatches: "it is the source of the torch that ran",
    says.TreeConsistent: "its commit is not known, but it agrees with the torch that ran in every file that both have",
    says.TreeSkewed: "it is not the source of torch {torch}: its lines are found by name",
    says.NamesBound: "{names}: {random#random |}{description}",
    says.Gives: "gives {description}",
    says.ResultIs: "result: {description}[; backward {backward}]",
    # --- how it was stepped ---
    says.OneCall: "one call",
    says.CallNumber: "call {ordinal}",
    says.CallsOfKinds: "{few} call{few#|s} of operators and nodes",
    says.WholeStepped: (
        "{instructions} instructions{cut# before it was cut|}{backward# (forward + backward)|}: {cold#the very first "
        "call|warm call} on {threads} thread{threads#|s}, stepped[, since the second call {because}]"
    ),
    says.OneCallStepped: "one call was stepped: {instructions} instructions",
    says.CallsStepped: (
        "{few} call{few#|s} of operators and nodes {few#was|were} stepped: {instructions} instructions"
    ),
    says.OnlyCallStepped: (
        "only {call} of {op} was stepped, {instructions} instructions{cut# before it was cut|}[: {why}]; "
        "--native-op NAME#N steps another"
    ),
    says.KindsOfCallsStepped: (
        "one call of each of {few} kind{few#|s} was stepped[, {share} of the operators' time], {instructions} "
        "instructions[, {cut} cut][; {others} kind{others#|s} {others#was|were} not]: {why}"
    ),
    says.SteppedCallsOf: "{few} operator call{few#|s}",
    # The limit is for everything that is stepped; the expression's own instructions may be half of that.
    says.BeyondLimit: (
        "the whole run has more than {count} instructions{singly# that must be stepped one by one|, including those "
        "that show Python's calls to ptexplore}"
    ),
    says.InstructionsAreOf: "the instructions are from {cold#the very first call|a warm call}",
    says.NothingStepped: "no shares, since nothing was stepped: {why}",
    says.NotAskedFor: "not asked for",
    says.NativePassWarm: f"stepping: {{parts}}; {{few}} warm-ups, {{threads}} thread{{threads#|s}} {_WARM}",
    says.NativePassCold: f"stepping: {{parts}}; no warm-ups, {{threads}} thread{{threads#|s}} {_COLD}",
    says.NativePassOfProgram: f"stepping: {{instructions}} instructions of {{calls}}; 1 thread {_WARM}",
    says.PartStepped: "{instructions} {first#instructions |}{what}[ ({alone})][, cut: {cut}]",
    says.ForwardStepped: "stepped",
    says.OfBackward: "of backward",
    says.OfOperator: "of {op}",
    says.OfCallsOfKinds: "of {few} operator call{few#|s}{few#|, one of each kind}",
    says.CallAlone: "only {call}[: {why}]",
    says.FramesStepped: (f"stepping: {{cold#the first call, {_COLD}|a call after warm-up, {_WARM}}}"),
    says.AlsoRan: "libraries that ran and are not opened, in instructions: {libraries}",
    says.LibraryRan: "{library} {instructions}",
    says.LibraryNameless: "{library}: {why}",
    says.NoNativePass: "not stepped: {why}",
    # --- which run is shown ---
    says.FirstRunImports: "the first run imports {modules}; {shown}",
    says.OneModule: "a module",
    says.Modules: "{count} module{count#|s}",
    says.OfTheRuns: "several runs were made in one process; {shown}",
    says.FirstShown: "the first run is shown, since the second run {why}",
    says.LaterShown: "a later run is shown",
    says.SetupRunsAnew: f"--setup runs again before each run: {_LATER}",
    says.RunsBeginWith: f"each run begins with[ {{first}} and] {{last}} as --setup left {{first#them|it}}: {_LATER}",
    says.More: "{few} more",
    # --- what a tree leaves out ---
    says.FramesLeftOut: "{hidden} of {frames} native frames are not shown (+n: inside a row)",
    says.HelpersLeftOut: "{few} Python helper call{few#|s} that ran no operator {few#is|are} not shown",
    says.GeneratorsWrote: "written by PyTorch's generators: {listed}",
    says.GeneratorWrote: "{generator} ({file})",
    # --- what a row of a tree stands for ---
    says.CallsInTurn: "{few} calls, each made inside the previous one; their callees are listed together",
    says.OrderUnknownAmong: "order unknown: no recorder saw some calls beside it, so its place among them is not known",
    says.RanInThread: (
        "ran in thread {ordinal}, not in the thread that ran the expression; it is not known inside which call of "
        "that thread"
    ),
    # --- below the rows of modules ---
    says.PartsHidden: "{few} more part{few#|s}, {costs#the cheapest|the innermost}, {few#is|are} not shown",
    says.RowsOrdered: (
        "by the first operator that ran in each row"
        "{rest#; `the rest` comes last: the part of a row that its inner rows do not contain|}"
        "{threads#; other threads are last|}"
    ),
    says.TimesUnsure: "the time is at most this: recording took so long there that the time itself is not known",
    says.FurtherCalls: "further calls count in their callers, with everything inside them",
    says.Costliest: "operators{nodes# and nodes|} by {instructions#instructions|time}: {shares}",
    says.ShareOf: "{name} {share}",
    says.BackwardMeans: (
        "the cost of the nodes that a row's operators recorded; {own#the row's own cost includes it, if the row ran "
        "these nodes itself|the row's own cost and share do not include it}"
    ),
    says.SavedMeans: (
        "bytes kept for backward, without parameters; each storage counts once, in the row that kept it first"
    ),
    says.SavedUnknown: "saved: not known, since this torch would run hooks for it, such as a checkpoint's",
    says.SavedInFirst: "saved: only {backwards}",
    says.FirstBackwards: "in the first {seen} of {of} calls of backward",
    says.SavedElsewhere: (
        "saved: {size} in no row: the operator call of the node that kept it first is not known (a Function, another "
        "thread)"
    ),
    says.SavedInSlices: "saved: without the memory of the node inside CopySlices (an in-place write through a view)",
    says.SavedPacked: "saved: without {tensors} that a hook packed, as a checkpoint does",
    says.SavedUnread: "saved: without {tensors} whose layout or class does not show the memory",
    says.SavedTensors: "{count} saved tensor{count#|s}",
    says.SavedSilent: (
        "saved: without the memory of nodes that do not report it ({count}, such as torch._foreach_* nodes)"
    ),
    says.SavedForBackward: "{at_least#at least |}{size} saved for backward[ {backwards}]",
    says.MoreKinds: "{few} more kind{few#|s} of nodes and operators",
    says.MoreRows: "{few} more {threads#thread|row}{few#|s}",
    says.RestOfBackward: "the rest: the engine, Python",
    says.RestIs: "the rest: {names}",
    says.StepItself: "the step itself: {names}",
    says.FindingsFollow: "findings",
    says.ReadsValue: "{call} reads values",
    says.CopiesBy: "{call} copies {size}",
    says.DataLoading: "loading data",
    says.WhatWasCompiled: "graphs, breaks and recompilations",
    says.OutsideOperators: "outside operators: {at_most#at most |}{each} a call",
    says.OpenedPart: "{name}[ in {inside}]: {time} of {of}; shares are of these {time}",
    says.OtherMatches: "the costliest with this name; others: {others}",
    says.OtherMatch: "{name}[ in {inside}][ {cost}]",
    says.MoreLines: "… {few} line{few#|s}",
    says.OnNoLineOfYours: "on no line of yours",
    says.InThreadsOnNoLine: "in other threads, on no line of yours",
    says.LinesMean: (
        "a line's time includes the calls inside its calls; `self` is the time without your other lines; the row of a "
        "file has sums over its lines"
    ),
    says.TextNotKept: "no text of {files}: a changed file, a package, or a trace of an earlier ptexplore",
    # --- the calls, and what the costs are of ---
    says.OperatorCallsBeside: (
        "{at_least#at least |}{count} operator call{count#|s} that torch's profiler records, without calls made by "
        "operators[, {modules}]"
    ),
    says.ModuleCalls: "{few} module call{few#|s}[ and {backward} in backward]",
    says.InstructionsMean: "stepped instructions of a row and of everything inside it",
    says.OperatorsTimed: "operators were timed",
    says.OpenSteps: "--open NAME steps the costliest operator in NAME",
    says.HowTimed: (
        "only operator calls{nodes# and nodes of backward|}, "
        "{python#with the Python code that these call|without Python code}; {runs}; {threads} thread{threads#|s}"
    ),
    says.FastestOf: "for each the fastest of {few} runs, added up",
    says.OneRunAfterOthers: "in one run, after others",
    says.HowProgramTimed: (
        "wall-clock time of this run, with everything that a row called"
        "{python# (an operator's without the Python code that it called)|}, "
        "{samples#without the time of recording, which is estimated from samples|with the time of recording}"
    ),
    says.TimesElsewhereBeside: (
        "times are from another run, in {file}: only the times of operators; {matched} of its {calls} outermost "
        "operator calls are calls of this program"
    ),
    says.NotMatched: "not matched: {names}, …",
    says.CallsOf: "{name} {count}",
    says.NodesUnlike: (
        "{count} node{count#|s} of backward {count#has|have} the sequence number of another call there than here"
    ),
    says.DeviceEventsLeft: (
        "{count} {count#kernel or copy on a device is|kernels and copies on devices are} not counted in it"
    ),
    says.OneRun: (
        "one run of {time}[ on {threads} thread{threads#|s}][; not in it: {apart: and }][; recording took about "
        "{recording} of it]"
    ),
    says.OneRunUnsure: (
        "one run of at most {time}[ on {threads} thread{threads#|s}]; up to {recording} of it may be recording"
    ),
    says.ImportsBeside: "imports",
    says.RecordingTook: "about {time} of recording",
    says.Waited: (
        "the program waited, for example for other programs or a disk, and the times include this: none of its threads "
        "ran for {waited} of {of}, imports and recording included"
    ),
    says.PythonWasSlower: (
        "recording slows Python code down in Python {release}, {times} times in the worst of six loops, in 3.12 not at "
        "all; at most {outside} of the time is Python code"
    ),
    says.OperatorsCalled: "{calls}{inner#, without calls made by operators|}[; {saved}]",
    says.CallsOfDifferent: "{count} calls of {few} different operators",
    says.CallsOfOperator: "{count} operator call{count#|s}",
    says.ConcludedBeside: "{conclusion}",
    says.TransformsInForce: "function transforms in force: {kinds}",
    says.DeviceMeans: (
        "the time that a device ran what a row launched; the program goes on meanwhile, so it is not in the row's time"
    ),
    says.OnDevices: "on the device: {time} in {count} launch{count#|es}[ of {few} kinds]: {first}",
    says.RunCut: "cut: {why}",
    says.KindsSteppedOf: "C++ inside operators: --view tree has it for {kinds} of {of} kind{of#|s}; {why}",
    says.MoreWith: "{option} for more",
    says.OfOthersNone: "the others were not stepped: {why}",
    says.RunWithoutImports: "one run, {time} without imports",
    says.TimesWithCalled: "times include the called functions{python#, but not Python|}",
    # --- below other views ---
    says.CallsAreRecorded: RECORDED,
    says.CopiedInAll: "aten::copy_ copied {amount} in {copies} {copies#call|calls}",
    says.NothingCopied: "aten::copy_ did not run; kernels that copy while they compute (cat) have no rows here",
    says.CountedTwice: "a call inside another operator counts in both rows",
    says.SharesOfStepped: "of everything that was stepped[; {nested}]",
    says.SharesOfPath: (
        "most rows under {least} of {of} are hidden"
        "{kernels#; a kernel that no other kernel calls always has a row, or is named in one|}"
    ),
    says.PythonIn: "their shares do not include the interpreter's loop that runs them; it is in `self` of {rows: and }",
    says.CallsWithoutRow: (
        "{left} of {calls} operator call{calls#|s} {left#has|have} no row here[ ({share})]; --view operators lists them"
    ),
    says.ShareOfAll: "{share} of {of}",
    says.AllInstructions: "{cut#the instructions before the cut|all instructions}",
    says.TimeOfCalls: "the time of all operator calls",
    says.PartsOfCall: "a share of the instructions of the stepped call that the row is in",
    says.KeysNotNamed: "{operators}{more#, …|}: {why}",
    says.RanAgain: (
        "run again in backward: {modules}, by {function} of {path} inside {node}: {few} operator call{few#|s}{cost#, "
        "in its cost|}"
    ),
    says.NotKept: "code of a checkpoint",
    says.MoreRanAgain: "run again in backward: in {few} more node{few#|s}",
    says.Found: "{kind}: {finding}[ ({few} times)]",
    says.FoundByNameIn: "a line of {versions: or }, found by name (others exact); `ptexplore fetch` gets {own}",
    says.AnotherVersion: "another version",
    # --- what a next command shows ---
    says.AllSteps: "all {count} step{count#|s}",
    says.AllFunctionCalls: "all {count} function call{count#|s}[ in {of: and }]{cut# until the cut|}",
    says.OneOperator: "one operator",
    says.InsideOf: "inside {name}",
    says.OperatorsBy: "operators by {cost#cost|count}",
    says.FirstRowOpened: "the first row, opened",
    says.EverythingInIt: "everything in it",
    says.HowThatIsKnown: "how that is known",
    says.WhyTheseKeys: "why these dispatch keys",
    says.ByOperator: "by operator",
    says.SignsAndColumns: "signs and columns",
}


def worded(remark: InnerRemark) -> str:
    """Returns a remark in words, together with reasons inside it."""
    return filled(ENGLISH[type(remark)], remark, worded) if not isinstance(remark, Reason) else sentence(remark)


def all_in_words(remarks: Iterable[InnerRemark]) -> tuple[str, ...]:
    """Returns remarks in words, one on each line."""
    return tuple(map(worded, remarks))
