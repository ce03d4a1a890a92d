"""The sentences about places: why a place is not better known. A search imports these without those of `reasons.py`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from msgspec import structs

from ptexplore.model import place_reasons as why
from ptexplore.model.codes import Reason, Said
from ptexplore.model.places import SourceRef
from ptexplore.view.words.templates import filled

_NO_OVERLOADS = "this torch's profiler does not record overloads, and "
_OUTSIDE = "a lambda outside of any function"
_NO_ENTRY_POINT = "no at::_ops entry point"
_OF_COMPILER = "made by the compiler"
_STANDARD = "the C++ standard library's"
_RUNNING = "torch {torch} is of {torch_commit}"

ENGLISH: Mapping[type[Reason], str] = {
    Said: "{sentence}",
    why.Joined: "{reasons:; }",
    # --- trees ---
    why.NotLookedUp: "not looked up",
    why.OutsideTorch: "outside torch: {file}",
    why.NotInRuntime: "{path} is not in the runtime tree",
    why.OtherVersion: "{tree} is {version}, torch here {torch}",
    why.NotIndexed: "the installed torch's own text has no index yet (ptexplore index)",
    why.NotInWheel: "hand-written C++: the wheel holds no text of it[, and it was not found in {trees}]",
    # --- the relation of a checkout to the torch that ran ---
    why.OtherCommit: f"{{checkout}} is of {{commit}}[ ({{release}})], {_RUNNING}",
    why.SameCommit: f"{{checkout}} is at {{commit}}, unmodified; {_RUNNING}",
    why.SameArchive: f"{{checkout}} is an archive known as {{release}}; {_RUNNING}",
    why.OfExtension: "{checkout} is an extension's own source; no release of it is known",
    why.NothingInCommon: "{checkout} holds no file that torch {torch} also has",
    why.FilesDiffer: "{count} of {compared} files that torch {torch} also has differ: {files}{more#, …|}",
    why.RecordsMiss: "{count} of {compared} registration records of torch {torch} miss in {checkout}",
    why.AllAgrees: (
        "nobody knows {checkout}, but all {files} files that torch {torch} also has are equal, and all {records} "
        "records hit"
    ),
    # --- the binary's records ---
    why.RecordUnconfirmed: "the binary names this line, but {because}",
    why.NothingConfirms: "no text here confirms it",
    why.NoTextOf: "no text of {version} that holds it is here to confirm it (ptexplore fetch)",
    why.ThrowsNothing: "its text there throws nothing",
    why.FromPython: "Python registered it there, and the record does not tell which function",
    why.RecordCompared: "[{tree}: ]{outcome}",
    why.ComparedWith: "{tree}: {because}",
    why.NoMacro: "no registration macro at line {line}",
    why.MacroForOthers: "the macro at line {line} is for {keys}, not {key}{key#|schemas}",
    why.BlockLacks: "the block at line {line} does not name {op}",
    why.BlockHasOtherKey: "the block at line {line} registers {op} under another key than {key}",
    why.BlockNamesTwice: "the block at line {line} names {op} on lines {lines}",
    why.NotRegenerated: "{path} was not regenerated",
    why.RecordHandWritten: "hand-written C++ is not in the wheel",
    why.RecordWithoutFile: "the binary names no file {of_torch#of PyTorch's |}for it",
    why.NoCallable: "Python registered it and no table of Python's names the callable",
    why.SeveralCallables: "Python's tables name {count} callables for it",
    why.CallableOutside: "its callable is in no file of torch's",
    why.CallableMoved: "its callable's def is not at the line its code object names",
    why.NoLibraryMade: "line {line} of {path} makes no torch.library.Library",
    why.NotInTree: "{path} is not in {tree}",
    why.EntryNamesNoFile: "the table's entry names no file of torch's: {raw}{raw#|nothing}",
    why.RecordNamesLine: "the binary's own record names line {line}",
    # --- definitions ---
    why.DeclaredTimes: "{name} is declared {count} times: overloads, or one per operator that uses it",
    why.DefinedTimes: "{name} is defined {count} times",
    why.MayMean: ("{name} has {count} definitions that can be meant: overloads, or arms of #ifs not decided here"),
    why.DefinedAlike: "{name} has {count} definitions with its name and parameter types",
    why.DefinedWithAsMany: (
        "{name} has {count} definitions with its name and as many parameters, whose types do not tell which"
    ),
    why.DefinedWithOtherTypes: (
        "{name} has {count} definitions with its name and as many parameters, none with its types: they changed "
        "since that version"
    ),
    why.DefinedInGenerated: "{name} has {count} definitions in generated files",
    why.NoDefinition: "no definition of {name} was found in {tree}",
    why.LeftOut: "{tree} defines {name} only where this build leaves it out",
    why.OnlyInTemplate: "{tree} has {name} in a template of torchgen's alone, {template}",
    why.OtherParameters: "{tree} defines {name} with other parameters only",
    why.DefinedElsewhere: "it is compiled from {unit}, and what {tree} defines of that name stands elsewhere",
    why.FileDefinesNone: "{path} defines no {name}",
    why.HeaderHolds: "{path} holds {count} functions {name}",
    why.SharedCode: "{count} functions share this code, which does not tell which of them was called",
    why.TableNamesUndefined: "the table names {name}, and no definition of it was found",
    # --- functions that PyTorch's source lacks ---
    why.OfLibrary: "of {library}, linked into torch: not in PyTorch's own source",
    why.CalledByLibrary: ("of {library}, linked into torch, whose own code calls it: not in PyTorch's own source"),
    why.OtherLibrary: "a function of {library}{library#|a library}, which is not torch's",
    why.NotPyTorchs: "the source of {library}{library#|this code} is not PyTorch's",
    why.MadeWhileRunning: "code that was made while the program ran: it is in memory, and in no library",
    why.NotNamed: "{library} does not name the function",
    why.NotDemangled: "the demangler cannot read its name",
    why.StandardLibrary: _STANDARD,
    why.StandardLibraryFor: f"{_STANDARD}, as {{library}} has it; here for {{name}}[ ({{place}})]",
    why.NoOpsFunction: f"{_NO_ENTRY_POINT}: the operator is not in native_functions.yaml",
    why.NoEntryFunction: _NO_ENTRY_POINT,
    why.BoxedByInterpreter: (
        "TorchScript's interpreter calls operators boxed; an operator of its own may have called this one unboxed"
    ),
    why.DoneByDriver: "a copy or a fill that the device's driver does itself: no kernel of PyTorch's",
    why.KernelElsewhere: (
        "a kernel of a library (cuBLAS, cuDNN, CUB, …) has none there, nor one that is compiled while the program "
        "runs (Triton, NVRTC)"
    ),
    # --- additions of the compiler ---
    why.MadeByCompiler: f"{_OF_COMPILER}: no source has it",
    why.MadeForVariable: f"{_OF_COMPILER} for the thread-local variable {{name}}",
    why.SetsUpVariables: (
        f"{_OF_COMPILER}: it sets up the thread-local variables of {{unit}}[, of which that file has one: {{place}}]"
    ),
    why.ImplicitMember: "the compiler makes it: the class, {place} of {tree}, has no such member of its own",
    # --- lambdas ---
    why.LambdaOfUnknown: "a lambda inside {name}, whose definition is not known",
    why.LambdaInside: "a lambda inside {name} ({place})[: {because}]",
    why.LambdaUnread: "a lambda inside {name} ({place}), whose text was not read",
    why.SeveralLambdas: "{count} there could be it, and the name does not tell which",
    why.MayBeAnother: "the one written there need not be it",
    why.NotShown: "what is written there does not show it",
    why.LambdaOutside: (f"{_OUTSIDE}: {{unit#it is in what |nothing tells which}}{{unit}}{{unit# is compiled from|}}"),
    why.OnlyLambdaOutside: f"{_OUTSIDE}, and the only one there that it can be",
    why.SeveralLambdasOutside: f"{_OUTSIDE}: {{path}} has {{count}}, and the name does not tell which",
    why.LambdaNotShown: f"{_OUTSIDE}, in {{path}}: what is written there does not show it",
    # --- operators and kernels ---
    why.OverloadName: "{name}{boxed#, called boxed|}",
    why.OverloadsTake: f"{_NO_OVERLOADS}several take these inputs: {{overloads}}",
    why.OverloadsFit: f"{_NO_OVERLOADS}several fit what it recorded: {{overloads}}",
    why.NoOverloadTakes: f"{_NO_OVERLOADS}none takes what it recorded of the inputs: {{overloads}}",
    why.NoOverloadKnown: f"{_NO_OVERLOADS}none of that name is known",
    why.RegisteredLater: "{op} was registered after the catalogue was built (by the traced code or its setup)",
    why.RegistrationUnknown: "which registration is behind this entry is not known",
    why.RegisteredUnread: "{place} registers it, and the text there is not read",
    why.NoPlainFunction: "what it registers is no plain function: {expression}",
    why.MakesKernel: "the function that makes the kernel",
    why.NoSingleBody: "no single body of that name was found in the generated file",
    why.NoGeneratedApply: (
        "no generated {node}::apply: the node is of hand-written C++, or of a torch.autograd.Function in Python"
    ),
    why.NoFileOfKernel: "no file",
    why.MadeByTorchgen: "torchgen made this overload itself",
    why.NotInYaml: "not from native_functions.yaml",
    # --- Python ---
    why.OfBuiltinClass: "no function of PyTorch's: Python's own class {type} has it",
    why.OfPackage: "no function of PyTorch's: {type} has it, a class of {package}",
    why.FunctionUnseen: "no recorder saw its function{inside#: what is below ran inside this call|}",
    why.BodyNotEntered: "its body did not begin: the error's traceback has no frame of it",
    why.NotCallable: "nothing was called: its class, {type}, has no __call__",
    # --- hops that are no function ---
    why.RangeMarked: "a range marked for the profiler, in C++ by RECORD_FUNCTION or in Python by _RecordFunctionFast",
    why.RangeBegun: "a range marked for the profiler (record_function): it begins here, and its end is not told",
    why.InInterpreter: "a function that TorchScript's interpreter runs",
    why.NodeOnlyReached: "the engine reached a node and did not run it",
    # --- errors ---
    why.AsTracebackHas: "as the traceback has it",
    why.ErrorNamesFile: "the error names a file that is none of PyTorch's: {file}",
    why.ThrowNotAsked: "not known: --once, and no second run was asked where C++ threw it",
    why.ThrowRunCut: "not known: the run that looks for it was not made to its end",
    why.ThrowUnseen: (
        "not known: no function of torch's C++ was seen to raise it (Python itself, or a builtin, may have)"
    ),
    why.NoLineOfYours: "no line of yours was at work",
}


@lru_cache(maxsize=4096)
def place_sentence(reason: Reason) -> str:
    """Returns in words why a place is not better known."""
    return filled(ENGLISH[type(reason)], reason, place_sentence)


@lru_cache(maxsize=4096)
def worded_place(ref: SourceRef) -> SourceRef:
    """Returns a place whose reason has its sentence, for readers of JSON."""
    if not isinstance(ref.reason, Reason):
        return ref
    return replace(ref, reason=structs.replace(ref.reason, text=place_sentence(ref.reason)))
