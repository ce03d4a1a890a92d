"""The sentences of what stands above and below the rows of a trace."""

from __future__ import annotations

from collections.abc import Iterable

from ptexplore.model import trace_remarks as says
from ptexplore.model.codes import Reason
from ptexplore.model.trace_remarks import Told
from ptexplore.view.words.reasons import sentence
from ptexplore.view.words.templates import Catalogue, filled

_WARM = "(first calls and parallel paths are not shown)"
_COLD = (
    "(the very first call: also the dynamic linker's look-ups, caches, lazy initialisation, memory touched for the "
    "first time; what had run before to make the inputs is warm; parallel paths are not shown)"
)
_LATER = "to trace a later call, put the calls before it into --setup"

ENGLISH: Catalogue = {
    says.InOneLine: "{told:; }",
    # --- what ran ---
    says.TorchRan: "torch {version}[; {told:; }]",
    says.TorchBuild: "torch {version} (git {commit}, {build})",
    says.AtlasIs: (
        "atlas ({version}[, git {commit}]): {relation}, names and lines alone, shipped with ptexplore; "
        "ptexplore fetch brings the text"
    ),
    says.TreeIs: "source {name} ({version}[, git {commit}]): {relation}, {meaning}",
    says.TreeMatches: "it is the source of the torch that ran",
    says.TreeConsistent: "nobody knows it, but it agrees with the torch that ran wherever both have a file",
    says.TreeSkewed: "it is not the source of torch {torch}: its lines are found by name",
    says.NamesBound: "{names}: {random#random |}{description}",
    says.Gives: "gives {description}",
    says.ResultIs: "result: {description}[; backward {backward}]",
    # --- how it was stepped ---
    says.OneCall: "one call",
    says.CallNumber: "call {ordinal}",
    says.CallsOfKinds: "{few} calls of operators and nodes",
    says.WholeStepped: (
        "{instructions} instructions{cut# before it was cut|}{backward# (forward + backward)|}: "
        "{cold#the very first call|warm call} on {threads} thread{threads#|s}, single-stepped"
        "[, since the second {because}]"
    ),
    says.OneCallStepped: "one call was stepped: {instructions} instructions",
    says.CallsStepped: "{few} calls of operators and nodes were stepped: {instructions} instructions",
    says.OnlyCallStepped: (
        "only {call} of {op} was stepped, {instructions} instructions{cut# before it was cut|}[: {why}]; "
        "--native-op NAME#N steps another"
    ),
    # The limit is of all that is stepped; the expression's own instructions may be half of it.
    says.BeyondLimit: (
        "all of it runs more than {count} instructions"
        "{singly# that must be stepped one by one|, with those by which Python's calls are seen}"
    ),
    says.InstructionsAreOf: "instructions are those of {cold#the very first call|a warm call}",
    says.NothingStepped: "nothing was stepped, so there are no shares: {why}",
    says.NotAskedFor: "not asked for",
    says.NativePassWarm: f"native pass: {{parts}}; {{few}} warm-ups, {{threads}} thread{{threads#|s}} {_WARM}",
    says.NativePassCold: f"native pass: {{parts}}; no warm-ups, {{threads}} thread{{threads#|s}} {_COLD}",
    says.NativePassOfProgram: f"native pass: {{instructions}} instructions of {{calls}}; 1 thread {_WARM}",
    says.PartStepped: "{instructions} {first#instructions |}{what}[ ({alone})][, cut: {cut}]",
    says.ForwardStepped: "stepped",
    says.OfBackward: "of backward",
    says.OfOperator: "of {op}",
    says.CallAlone: "{call} of it alone[: {why}]",
    says.FramesStepped: (
        f"native pass: {{cold#the first call was stepped, {_COLD}|frames were stepped warm, {_WARM}}}"
    ),
    says.AlsoRan: "also ran, not opened, in instructions: {libraries}",
    says.LibraryRan: "{library} {instructions}",
    says.LibraryNameless: "{library}: {why}",
    says.NoNativePass: "no native pass: {why}",
    # --- which run is shown ---
    says.FirstRunImports: "the first run imports {modules}; {shown}",
    says.OneModule: "a module",
    says.Modules: "{count} modules",
    says.OfTheRuns: "of the runs in one process {shown}",
    says.FirstShown: "what is shown is the first, since the second {why}",
    says.LaterShown: "what is shown is a later one",
    says.SetupRunsAnew: f"--setup runs anew before each run: {_LATER}",
    says.RunsBeginWith: f"each run begins with[ {{first}} and] {{last}} as --setup left {{first#them|it}}: {_LATER}",
    says.More: "{few} more",
    # --- what a tree leaves out ---
    says.FramesLeftOut: "{hidden} of {frames} native frames are not shown (+n: inside a row)",
    says.HelpersLeftOut: "{few} Python helper call{few#|s} that ran no operator {few#is|are} not shown",
    says.GeneratorsWrote: "written by PyTorch's generators: {listed}",
    says.GeneratorWrote: "{generator} ({file})",
    # --- what a row of a tree stands for ---
    says.CallsInTurn: "{few} calls, each made inside the one before: what they called is listed together",
    says.OrderUnknownAmong: "order unknown among the steps of its caller that no recorder saw",
    says.RanInThread: (
        "ran in thread {ordinal}, not in the one that ran the expression: inside which call of that is not told"
    ),
    # --- what a next command shows ---
    says.AllSteps: "all {count} steps",
    says.AllFunctionCalls: "all {count} function calls[ in {of: and }]{cut# until the cut|}",
    says.OneOperator: "one operator",
}


def said(told: Told) -> str:
    """A remark in words; a reason that stands within one, too."""
    return filled(ENGLISH[type(told)], told, said) if not isinstance(told, Reason) else sentence(told)


def all_said(told: Iterable[Told]) -> tuple[str, ...]:
    """Remarks in words, a line each."""
    return tuple(map(said, told))
