"""The words of details: what a row says about its hop."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from ptexplore.model import details as says
from ptexplore.model.codes import Reason
from ptexplore.model.details import Beside, Detail
from ptexplore.view.words.reasons import sentence
from ptexplore.view.words.templates import Catalogue, filled

ENGLISH: Catalogue = {
    # --- how it is known ---
    says.KnownAs: "{of_key#key |}{status}[: {told:; }]",
    says.OrderUnknown: "order unknown",
    says.InOtherThread: "in another thread, order unknown",
    # --- Python ---
    says.EvaluatesExpression: "evaluates the expression",
    says.PythonEvaluates: "Python evaluates the expression",
    says.CallsBackward: "Python calls backward on {of}",
    says.PythonFunction: "Python",
    says.CompilesFrame: "torch.compile compiles a function",
    says.ResumedFunction: "Python, continues",
    says.CalledByPython: "called by Python",
    says.NotEntered: "not entered",
    says.CannotBeCalled: "cannot be called",
    says.CallsItself: "each call inside the previous one",
    says.HoldsOperators: "{operators} outermost operator call{operators#|s} in {each#each|it}",
    says.HoldsNodes: "{nodes} node{nodes#|s} in {each#each|it}",
    says.HoldsBoth: ("{operators} outermost operator call{operators#|s} and {nodes} node{nodes#|s} in {each#each|it}"),
    says.NoOperator: "no operator seen in it",
    says.NoOperators: "no operator seen in them",
    says.SeveralFunctions: "Python, any order",
    says.SeveralBindings: "bindings, any order",
    says.FunctionsAndBindings: "Python and bindings, any order",
    says.CalledBinding: "binding",
    says.BindingLeft: "binding, ended by an exception",
    says.Module: "module",
    # --- operators and their keys ---
    says.CalledOperator: "operator",
    says.OperatorFailed: "operator, caught error: {message}",
    says.KeysUnknown: "keys not known",
    says.NextKeyUnknown: "next dispatch key not known",
    says.ThroughKeys: "keys {keys: → }",
    says.KeysNextUnknown: "keys {keys: → }, next dispatch key not known",
    says.CallsOperator: "{operator}[: {keys: → }]",
    says.CallsOperatorNextUnknown: "{operator}[: {keys: → }, next dispatch key not known]",
    says.CallsSeveral: "{operator}, …",
    says.ThenKeys: "then {keys: → }",
    says.CallsFirst: "calls {name}{more#, …|}",
    says.CallsOthers: "calls other operators",
    says.Runs: "runs {kernels}[ and {more} more]",
    says.WayOfCall: "{keys: → }[{keys# → |}{kernel}]",
    # Why a key is taken.
    says.NextKey: "next dispatch key",
    says.AutogradExcluded: "autograd excluded",
    says.OnlyKey: "its only key",
    says.OnlyKeyLeft: "the only key left",
    says.HighestOfSet: "the highest of {set}",
    says.HighestOfUnread: "the highest of[ {set} and] the keys of {arguments}",
    # The work of a key's kernel.
    says.OneForAllKeys: "one kernel for all keys",
    says.OneForAnyBackend: "one kernel, any backend",
    says.OneForAllOperators: "one kernel for all operators",
    says.TracksViews: "tracks views and in-place writes",
    says.BatchingRule: "vmap: the operator's batching rule",
    says.NoBatchingRule: "vmap: the operator has no batching rule",
    says.BatchedByParts: "vmap: split into other operators",
    says.BatchingRefused: "vmap: refuses the operator",
    says.ToTransform: "to the innermost function transform",
    says.LeavesTransform: "leaves the function transform",
    says.OwnOfFunctorch: "functorch's own kernel",
    says.Functionalizes: "replaces in-place writes by functions",
    says.WrittenInPython: "a tensor subclass or mode written in Python",
    says.BackendByOptions: "the options decide the backend, since no tensor does",
    says.BackendByBoth: "computes the next set from options and tensors",
    says.RecordsNodes: "records {nodes}[, keeps {saved}]",
    says.RecordedOne: "{node}[ ({place})]",
    says.RecordsNode: "records a node",
    says.RecordsNothing: "records nothing",
    says.RecordsNothingInBackward: "records nothing: grad mode is off in backward",
    says.RecordsNothingGradOff: "records nothing: grad mode is off",
    says.RecordsNothingNeeded: "records nothing: no input requires grad",
    # --- tensors in memory ---
    says.Copies: (
        "{is_cast#casts|copies}[ {is_view#a view of |}{what:, }][: sizes {sizes: → }][: strides {strides: → }]"
        "[, {formats: → }]"
        "[: strides {kept} kept]"
    ),
    says.CopiesNothing: "copies nothing",
    says.ViewsInside: "{operators:, } inside: copies nothing",
    says.WritesNewTensor: "writes a new tensor[, {bytes}]",
    says.CopiesMore: "and {copies} more",
    says.BecauseOf: "{reason}",
    says.HasStrides: "{argument} {sizes} has strides {strides}[, {format}][, {more} more not contiguous]",
    # --- C++ functions ---
    says.KernelBehindStub: "kernel",
    says.KernelFor: "kernel, for {capability}",
    says.KernelForAny: "kernel, for any processor",
    says.KernelOfStub: "kernel of a stub[, line {line} decides whether it runs]",
    says.LoopOverElements: "loop over the elements",
    says.OwnCode: "its own code, inlined functions included",
    says.SetsUpResult: "sets up the result",
    says.WorksOutShapes: "computes shapes",
    says.Computes: "computes",
    says.MarkedRange: "a range marked for the profiler",
    says.MarkedRangeBegins: "a range marked for the profiler begins",
    says.Role: "{role}",
    # The answers of functions that choose.
    says.Chooses: "[chooses {chosen}][ here; an earlier run called {instead:, }][; {refused:; }]",
    says.ChoosesUnseen: "chooses the code that computes; no answer seen",
    says.CheckRefused: "not {name}: {check}() false[, {means}]",
    says.AlsoRefused: "{checks:(), }() false",
    says.Takes: "{library}: {check}() true",
    says.NotTaken: "not {library}: {check}() false[, {means}]",
    says.ByTypePrecision: "by dtype, size, processor and float32 precision",
    says.ByPrecision: "by size, processor and float32 precision",
    says.BySizeProcessor: "by size, processor and setting",
    says.ByTypeSizeThreads: "by dtype, groups, sizes and threads",
    says.MkldnnDisabled: "torch.backends.mkldnn is disabled",
    says.FlashDisabled: "flash attention is disabled",
    says.InputIsNested: "an input is nested",
    says.DropoutGiven: "dropout_p is not 0",
    says.InputsNotOfFourDimensions: "not all inputs have 4 dimensions",
    says.BatchesOrHeadsDiffer: "batch sizes or numbers of heads differ",
    says.MaskNotTaken: "the mask requires grad, or has another shape",
    says.HeadSizesDiffer: "the last dimensions differ",
    says.SequenceEmpty: "a sequence has length 0",
    says.LastStrideNotOne: "a last dimension does not have stride 1",
    says.DtypeNotTaken: "the dtypes differ, or are not supported",
    says.FastEmbeddingBag: "fast path",
    says.SlowEmbeddingBag: "no fast path",
    says.ExpandedIndex: "the index selects whole rows: can_use_expanded_index_path() true",
    says.NotExpandedIndex: "not the kernel for whole rows: can_use_expanded_index_path() false",
    says.NoFastPath: "no fast path: {why}",
    says.ByAlgorithm: "by {name}",
    says.ByDefault: "{kind} by default",
    says.OneByOne: "one parameter at a time[: not all are plain tensors on {devices}]",
    says.Differentiable: "one parameter at a time: differentiable",
    says.FastSetup: "fast set-up: {layout}",
    says.NoFastSetup: "no fast set-up",
    says.AsksWorkspace: "only asks for a workspace's size, as {library} reports",
    says.LibraryReports: "{problem}[, by {implementation}][, {took}], as {library} reports",
    says.OneOfAlike: "one of {count} functions with the same machine code",
    says.InLibrary: "{library}",
    says.RanInLibrary: "{first}[, {took}][ +{more}][, {unlike} call{unlike#|s} ran something else]",
    says.Launched: "launched",
    says.OnDevice: "[{took} ]on the device",
    says.Launches: "launches {kernel}[ +{more}]",
    # --- the lines below a row ---
    says.ArgumentLayout: "{name}: sizes {sizes}, strides {strides}",
    says.CaughtErrorMade: "raised an error, which was caught: {message}",
    says.CallNotTakenAt: "not taken here: {stub}[ through {through}], at",
    says.UnderCondition: "under the condition at",
    says.ArgumentKeys: "{names}: {{keys}}",
    says.KeySet: "{{keys}}",
    says.WrapsKeys: "{name} wraps {sets:, which wraps }",
    says.KeysNotRead: "{names}: not read; {few#|a transform may have wrapped it}[{why}]",
    says.KeysIncluded: "include {{keys}}",
    says.KeysExcluded: "exclude {{keys}}",
    says.ThreadLocalKeys: "thread-local {sets}[, {why}]",
    says.TakenHighestKey: (
        "highest of {{keys}}[ and the keys of {unread}]: {entry}[; {skipped} only fall{few#s|} through]"
    ),
    says.MappedDimension: "{name} over dimension {dim}",
    says.InsideTransform: "inside {transform}, level {level}[: {mapped}]",
    says.TakesGradient: "takes the requested gradient at {node}, and does not run {node}",
    says.ErrorBeforeNode: "an error ended it before {node} ran",
    says.RegisteredAt: "registered at",
    says.DeclaredAt: "[{label} ]declared at",
    # --- nodes of the graph ---
    says.RunNode: "node",
    says.RecordedNode: "recorded for backward",
    says.Formulas: "{formulas}",
    says.FormulaFor: "formula for {inputs}",
    says.EngineRuns: "the engine: runs the nodes",
    says.NodeNotRun: "{node} not run: {reasons:, or }",
    says.GradientTaken: "its gradient is taken",
    says.LeadsNowhere: "it leads to no requested input",
    says.ErrorFirst: "an error came first",
    says.AutogradFunction: "torch.autograd.Function",
    # --- where an error occurred, or where the run ended ---
    says.ErrorLeft: "{exception} was raised here",
    says.HandedErrorLeft: "the error was raised here",
    says.KilledHere: "{signal} killed the process here",
    says.ExitedHere: "{by} ended the process here",
    says.TimeOverHere: "--timeout ended it here",
    says.EndedBefore: "earlier C++ calls that had ended were not seen",
    # --- rows that stand for many ---
    says.OtherCalls: "calls of {names} {other#other |}names, any order",
    says.OthersCostLess: "calls of {others} other operator{others#|s}, each no more expensive than those above",
    says.OthersCalledLess: "calls of {others} other operator{others#|s}, each called no more often than those above",
    says.Records: "records {node}",
    says.RecordsSometimes: "records {node} (seen in {seen} of {calls} calls)",
    says.Names: "{names}{more#, …|}",
    says.ModulesAs: "modules as in {function}",
    says.LaunchedByNone: "launched by no operator",
    says.OnNoLine: "itself: Python{syntax#, operator syntax|}",
    says.CalledTimes: "{name} ×{count}[ {size}]",
    says.ReadsValues: "reads: {calls:, }",
    says.CompiledTimes: "compiled ×{count}",
    says.Compiling: "compiling ≤{time}",
    says.CopiesData: "copies: {calls:, }",
    says.CalledFrom: "{places}[ +{more}]",
}


def described(details: Iterable[Detail]) -> str:
    """Returns the details of a row in words: one phrase for each."""
    phrases = [(", " if isinstance(detail, Beside) else "; ", _phrase(detail)) for detail in details]
    return "".join(chain.from_iterable(phrases))[2:]


def _phrase(detail: Detail | Reason) -> str:
    if isinstance(detail, Reason):
        return sentence(detail)
    return filled(ENGLISH[type(detail)], detail, _phrase)
