"""The sentences about places: why a place is not better known. A search imports these without those of `reasons.py`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from msgspec import structs

from ptexplore.model import place_reasons as why
from ptexplore.model.codes import Reason, Said, UnknownCode
from ptexplore.model.places import SourceRef
from ptexplore.view.words.templates import filled

_NO_OVERLOADS = "this torch's profiler does not record overloads, and "
_OUTSIDE = "a lambda outside of any function"
_NO_ENTRY_POINT = "no at::_ops entry point"
_OF_COMPILER = "made by the compiler"
_STANDARD = "the C++ standard library's"
_RUNNING = "torch {torch} is at {torch_commit}"

ENGLISH: Mapping[type[Reason], str] = {
    Said: "{sentence}",
    UnknownCode: "a code that this version of ptexplore does not know: {name}[ {arguments}]",
    why.Joined: "{reasons:; }",
    # --- trees ---
    why.NotLookedUp: "not looked up",
    why.OutsideTorch: "outside torch: {file}",
    why.NotInRuntime: "{path} is not in the runtime tree",
    why.OtherVersion: "{tree} is {version}, torch here {torch}",
    why.NotIndexed: "the text of the installed torch has no index yet (ptexplore index)",
    why.NotInWheel: "hand-written C++: the wheel does not contain its text[, and it was not found in {trees}]",
    # --- the relation of a checkout to the torch that ran ---
    why.OtherCommit: f"{{checkout}} is at {{commit}}[ ({{release}})], {_RUNNING}",
    why.SameCommit: f"{{checkout}} is at {{commit}}, unmodified; {_RUNNING}",
    why.SameArchive: f"{{checkout}} is an archive known as {{release}}; {_RUNNING}",
    why.BuiltThere: "torch {torch} was built in {checkout}, and no C++ file in it changed since",
    why.ChangedSinceBuilt: (
        "torch {torch} was built in {checkout}, but {count} C++ {count#file|files} changed since: {files}{more#, …|}; "
        "build it again"
    ),
    why.OfExtension: "{checkout} is the source of an extension; no release of it is known",
    why.NothingInCommon: "{checkout} has no file that torch {torch} also has",
    why.FilesDiffer: "{count} of {compared} files that torch {torch} also has differ: {files}{more#, …|}",
    why.RecordsMiss: "{checkout} does not confirm {count} of {compared} registration records of torch {torch}",
    why.AllAgrees: (
        "the commit of {checkout} is not known, but all {files} files that torch {torch} also has are equal, and all "
        "{records} records are confirmed"
    ),
    # --- the binary's records ---
    why.RecordUnconfirmed: "this line is recorded, but {because}",
    why.NothingConfirms: "no text here confirms it",
    why.NoTextOf: "the source of {version} with this line is not here to confirm it (ptexplore fetch)",
    why.ThrowsNothing: "the text at that line throws nothing",
    why.HasOtherWords: "the text at that line throws another message",
    why.FromPython: "Python registered it there, and the record does not name the function",
    why.RecordCompared: "[{tree}: ]{outcome}",
    why.ComparedWith: "{tree}: {because}",
    why.NoMacro: "no registration macro at line {line}",
    why.MacroForOthers: "the macro at line {line} is for {keys}, not {key}{key#|schemas}",
    why.BlockLacks: "the block at line {line} does not name {op}",
    why.BlockHasOtherKey: "the block at line {line} registers {op} under another key than {key}",
    why.BlockNamesTwice: "the block at line {line} names {op} on lines {lines}",
    why.NotRegenerated: "{path} was not regenerated",
    why.RecordHandWritten: "hand-written C++ is not in the wheel",
    why.RecordWithoutFile: "the binary names no {of_torch#PyTorch |}file for it",
    why.NoCallable: "Python registered it, and no Python table names the callable",
    why.SeveralCallables: "Python tables name {count} callables for it",
    why.CallableOutside: "the Python function that was registered is not in a file of torch",
    why.CallableMoved: "the def of its callable is not at the line that its code object names",
    why.NoLibraryMade: "line {line} of {path} makes no torch.library.Library",
    why.NotInTree: "{path} is not in {tree}",
    why.EntryNamesNoFile: "the table's entry names no file of torch: {raw}{raw#|nothing}",
    why.RecordNamesLine: "the record in the binary names line {line}",
    # --- definitions ---
    why.DeclaredTimes: "{name} is declared {count} times: overloads, or one declaration for each operator that uses it",
    why.DefinedTimes: "{name} is defined {count} times",
    why.MayMean: "{name} may mean {count} definitions: overloads, or arms of an #if that is not decided here",
    why.DefinedAlike: "{name} has {count} definitions with these parameter types",
    why.DefinedWithAsMany: (
        "{name} has {count} definitions with this number of parameters, and the types do not decide between them"
    ),
    why.DefinedWithOtherTypes: (
        "{name} has {count} definitions with this number of parameters, none with these types: they changed since "
        "that version"
    ),
    why.DefinedInGenerated: "{name} has {count} definitions in generated files",
    why.NoDefinition: "no definition of {name} was found in {tree}",
    why.LeftOut: "{tree} defines {name} only in code that this build leaves out",
    why.OnlyInTemplate: "{tree} has {name} only in a template of torchgen, {template}",
    why.OtherParameters: "{tree} defines {name} only with other parameters",
    why.DefinedElsewhere: "it is compiled from {unit}; {tree} defines this name only in other files",
    why.FileDefinesNone: "{path} defines no {name}",
    why.HeaderHolds: "{path} has {count} functions {name}",
    why.SharedCode: "{count} functions share this machine code, so it is not known which of them was called",
    why.TableNamesUndefined: "the table names {name}, but no definition of it was found",
    # --- functions that PyTorch's source lacks ---
    why.OfLibrary: "it belongs to {library}, which is linked into torch: PyTorch's source does not contain it",
    why.CalledByLibrary: (
        "it belongs to {library}, which is linked into torch and calls it itself: PyTorch's source does not contain it"
    ),
    why.OtherLibrary: "a function of {library}{library#|a library}, which does not belong to torch",
    why.NotPyTorchs: "the source of {library}{library#|this code} is not part of PyTorch",
    why.MadeWhileRunning: "code that was made while the program ran: it is in memory, and in no library",
    why.NotNamed: "{library} does not name the function",
    why.NotDemangled: "the demangler cannot read its name",
    why.StandardLibrary: _STANDARD,
    why.StandardLibraryFor: f"{_STANDARD}, as {{library}} has it; here for {{name}}[ ({{place}})]",
    why.NoOpsFunction: f"{_NO_ENTRY_POINT}: native_functions.yaml does not list the operator",
    why.NoEntryFunction: _NO_ENTRY_POINT,
    why.BoxedByInterpreter: (
        "TorchScript's interpreter calls operators boxed; another operator may have called this one unboxed"
    ),
    why.DoneByDriver: "the device's driver does this copy or fill itself, without a kernel of PyTorch",
    why.KernelElsewhere: (
        "kernels of libraries (cuBLAS, cuDNN, CUB, …) have no definition there, and neither have kernels that are "
        "compiled while the program runs (Triton, NVRTC)"
    ),
    # --- additions of the compiler ---
    why.MadeByCompiler: f"{_OF_COMPILER}: no source has it",
    why.MadeForVariable: f"{_OF_COMPILER} for the thread-local variable {{name}}",
    why.SetsUpVariables: (
        f"{_OF_COMPILER}: it sets up the thread-local variables of {{unit}}[; that file has one: {{place}}]"
    ),
    why.ImplicitMember: "the compiler makes it: the class, {place} of {tree}, does not define this member",
    # --- lambdas ---
    why.LambdaOfUnknown: "a lambda inside {name}, whose definition is not known",
    why.LambdaInside: "a lambda inside {name} ({place})[: {because}]",
    why.LambdaUnread: "a lambda inside {name} ({place}), whose text was not read",
    why.SeveralLambdas: "{count} lambdas there may be it, and the name does not decide between them",
    why.MayBeAnother: "the lambda at that line of the text may be another one",
    why.NotShown: "the text there does not show it",
    why.LambdaOutside: f"{_OUTSIDE}: {{unit#it is compiled from |its file is not known}}{{unit}}",
    why.OnlyLambdaOutside: f"{_OUTSIDE}, the only lambda in this file that fits",
    why.SeveralLambdasOutside: f"{_OUTSIDE}: {{path}} has {{count}}, and the name does not decide between them",
    why.LambdaNotShown: f"{_OUTSIDE}, in {{path}}: the text does not show it",
    # --- operators and kernels ---
    why.OverloadName: "{name}{boxed#, called boxed|}",
    why.OverloadsTake: f"{_NO_OVERLOADS}several overloads take these inputs: {{overloads}}",
    why.OverloadsFit: f"{_NO_OVERLOADS}several overloads fit the recorded call: {{overloads}}",
    why.NoOverloadTakes: f"{_NO_OVERLOADS}no overload takes the recorded inputs: {{overloads}}",
    why.NoOverloadKnown: f"{_NO_OVERLOADS}no overload of that name is known",
    why.RegisteredLater: "{op} was registered after the catalogue was built (by the traced code or its setup)",
    why.RegistrationUnknown: "it is not known which registration is behind this entry",
    why.RegisteredUnread: "{place} registers it; the text there is not read",
    why.NoPlainFunction: "the registration passes no plain function: {expression}",
    why.MakesKernel: "the function that makes the kernel",
    why.NoSingleBody: "the generated file has not exactly one body with that name",
    why.NoGeneratedApply: (
        "no generated {node}::apply: the node is hand-written C++, or a torch.autograd.Function in Python"
    ),
    why.NoFileOfKernel: "no file",
    why.MadeByTorchgen: "torchgen made this overload",
    why.NotInYaml: "not from native_functions.yaml",
    # --- Python ---
    why.OfBuiltinClass: "the function belongs to Python's own class {type}, not to PyTorch",
    why.OfPackage: "the function belongs to {type}, a class of {package}, not to PyTorch",
    why.FunctionUnseen: "no recorder saw its function{inside#: the rows below ran inside this call|}",
    why.BodyNotEntered: "its body did not begin: the error's traceback has no frame of it",
    why.NotCallable: "nothing was called: its class, {type}, has no __call__",
    # --- hops that are no function ---
    why.RangeMarked: "a range marked for the profiler, in C++ by RECORD_FUNCTION or in Python by _RecordFunctionFast",
    why.RangeBegun: "a range marked for the profiler (record_function): it begins here, and its end is not known",
    why.InInterpreter: "a function that TorchScript's interpreter runs",
    why.NodeOnlyReached: "the engine reached a node and did not run it",
    # --- errors ---
    why.AsTracebackHas: "as the traceback names it",
    why.ErrorNamesFile: "the error names {file}; which file of PyTorch this is, if any, is not known",
    why.ThrowNotAsked: "not known: with --once there is no second run that finds the C++ line",
    why.ThrowRunCut: "not known: the run that looks for it did not finish",
    why.ThrowUnseen: "not known: no C++ function of torch was seen to raise it (Python itself, or a builtin, may have)",
    why.NoLineOfYours: "no line of your code was running",
}


# For a page of a site, whose readers have no terminal with this trace: the sentences without a command.
ON_PAGES: Mapping[type[Reason], str] = {
    why.NotIndexed: "the text of the installed torch has no index yet",
    why.NoTextOf: "the source of {version} with this line is not here to confirm it",
}


@lru_cache(maxsize=4096)
def place_sentence(reason: Reason) -> str:
    """Returns in words why a place is not better known."""
    return filled(ENGLISH[type(reason)], reason, place_sentence)


def place_sentence_on_page(reason: Reason) -> str:
    """Returns in words why a place is not better known, for a page of a site."""
    template = ON_PAGES.get(type(reason)) or ENGLISH[type(reason)]
    return filled(template, reason, place_sentence_on_page)


@lru_cache(maxsize=4096)
def worded_place(ref: SourceRef) -> SourceRef:
    """Returns a place whose reason has its sentence, for readers of JSON."""
    if not isinstance(ref.reason, Reason):
        return ref
    return replace(ref, reason=structs.replace(ref.reason, text=place_sentence(ref.reason)))
