"""The request to a probe, and the messages that a probe sends as JSON. `type` distinguishes the messages.

`scripts/probe-messages` makes `probe/messages.py` from these types and from the records of `model/observed.py`. mypy
checks the code of the probe against that file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, TypedDict

from msgspec import Struct

from ptexplore.model.autograd_graph import GraphLines, GraphRun, MemoryWatch, OwnedMemory, ReadGraph
from ptexplore.model.compiler_log import CompilerLog
from ptexplore.model.decompositions import DumpedFunction, LaterOperator, Lowering
from ptexplore.model.dispatcher import DumpedKernel, DumpedName, ImportedTorch
from ptexplore.model.observed import (
    AnyRecord,
    Beyond,
    EndedBy,
    Event,
    LeftFrame,
    LibraryCall,
    Plain,
    PythonCode,
    RaisedError,
)
from ptexplore.model.operators import DispatchKey
from ptexplore.model.options import TraceOptions
from ptexplore.model.program import Program
from ptexplore.model.reasons import AnyReason, Reason
from ptexplore.model.rungs import LadderRungs, RungName
from ptexplore.model.tensor_layouts import SeenTensors
from ptexplore.model.torchgen import TorchgenModel
from ptexplore.model.trace import BoundName, ResultInfo

ReasonSaid: TypeAlias = Annotated[Plain, Reason]
LibraryPlace: TypeAlias = tuple[str, int]  # a library's file, and an address in it


class SentObservation(TypedDict):
    """An observation as it is sent. `data` has the fields of its kind's record, or of the kind's type in `SENT`."""

    recorder: str
    kind: str
    data: Plain


# --- data that a recorder sends instead of a record, or in addition ---


class PythonLog(Struct, frozen=True):
    """The rows of a stepper log that are calls of Python, and by address the functions that they called."""

    hook: int
    mark: int
    codes: Mapping[int, PythonCode]
    builtins: Mapping[int, tuple[str, int]]
    lost: bool


class SentSteps(Struct, frozen=True):
    """One stepped part: the rows of the stepper's log, packed. The parent makes `calls` from it."""

    what: Literal["forward", "backward", "operator"]
    rows: str
    instructions: int
    cut: AnyReason | None
    seconds: float
    python: PythonLog | None
    unprofiled: AnyReason | None
    beyond: Beyond | None = None  # from here on for one operator call: which call it was, and how it was stepped
    op: str | None = None
    number: int | None = None
    of: int | None = None
    warm_ups: int | None = None
    threads: int = 1
    at: Literal["builtin", "op", "node"] | None = None  # for a program: where stepping began
    row: int | None = None
    route: int | None = None
    libraries: tuple[LibraryCall, ...] = ()  # for a program: calls that libraries reported, for `libraries`
    event: int | None = None  # for a program: the id of the call's observation, set by the parent


class SentMap(Struct, frozen=True):
    """The executable part of the process's memory map, which is needed to interpret addresses."""

    text: str


class RaiserNoted(Struct, frozen=True):
    """What raised an error for which torch keeps no line: a C function, and the places on the C++ stack.

    `type` and `thrown` describe the last C++ throw before it, if there was one.
    """

    by: str
    places: tuple[LibraryPlace, ...]
    type: str = ""
    thrown: tuple[LibraryPlace, ...] = ()


class SentThrow(Struct, frozen=True):
    """The text of an error, with the C++ stack if torch writes it there. The parent makes `thrown` from it."""

    text: str
    raised: RaiserNoted | None = None
    elsewhere: bool = False


class SentError(RaisedError, frozen=True):
    """What ended a run. If a signal ended it, `cpp` has the C++ functions as places, innermost first.

    The parent makes `stack` from them.
    """

    cpp: tuple[LibraryPlace, ...] = ()


Steps: TypeAlias = SentSteps | SentMap  # the parent reads both together
Sent: TypeAlias = Steps | SentThrow | SentError


class ReadObservation(NamedTuple):
    """An observation that the parent has read and that is not yet in a session."""

    recorder: str
    kind: str
    data: AnyRecord | Steps


class EventTime(TypedDict, total=False):
    """The duration of an event in nanoseconds. The stepped run makes `times` from it."""

    time: int


class AnyStage(TypedDict):
    """What was running. A message can also have `context` and `preparation`, which no observation has."""

    stage: str


# --- the request for a run ---


class RunRequest(TypedDict, total=False):
    """The request for a run, with all fields of `TraceOptions`.

    The parent sends it to the probe, and the probe to its children.
    """

    work: Literal[
        "trace", "survey", "stack", "compile", "lower", "tensors", "graph", "judge", "catalogue", "decompositions"
    ]
    torch_dir: str
    digests: Mapping[str, str]  # by operator: the digest in the catalogue
    cwd: str
    expression: str | None
    script_sha256: str | None
    wraps: bool  # whether the expression is compiled as a whole
    rungs: Sequence[RungName]  # for lower: the rungs.
    checks: bool  # for lower: whether single operators are compared, too.
    dynamic: bool  # for lower: whether torch.export may make sizes symbolic.
    only: str | None  # for lower: the module of a program.
    until: int  # the end of the time for all runs: nanoseconds on the monotonic clock
    repeat: Literal["again", "anew", "first"]  # how the expression is evaluated again in one process
    warm_ups: int  # how often the expression is evaluated before the recorded run
    imported: int  # how many modules the first run imported
    raises: bool  # whether the run before raised
    begin: str | None  # the device that is initialised before
    keeps: bool  # whether observations are kept during the run, in case the process is killed
    called: int  # how many operators the passes saw
    operators: int  # how many operators a script's recorded run called
    after: str | None  # for tensors: further statements, after which the tensors are read again
    owners: bool  # for a graph: whether to say who holds memory
    leak: bool  # for a graph: whether to say what steps of a script leave behind
    steps: int | None  # for a graph: how many steps of a script are watched
    against: str | None  # for tensors: statements whose tensors are compared
    sample: Any  # for a survey: makes the expression and its values
    whole: tuple[int, int]  # for a survey: limits for a whole expression: all instructions, single steps
    calls: int  # for a survey: how many operator calls are stepped if the whole is too long
    unlocated: bool  # for a survey: whether source locations are not recorded
    passes_on: bool  # whether a program gets your standard input, and its output is shown at once
    stdin: int  # your standard input, a descriptor
    live: int  # the descriptor that shows a program's output at once
    judge: str | None  # for a solution of an exercise, which is the expression: what judges it
    function: str  # for a solution: the function that is called
    seed: int  # for a solution: the random cases follow from it
    choosers: Sequence[tuple[str, str, Sequence[str]]]  # Python functions that choose code: file, name, variables


# --- messages of any probe ---


class ProbeReady(TypedDict):
    """torch is imported. `varies`: what the system and Python draw at random in this process."""

    type: Literal["ready"]
    varies: Sequence[str]


class NoTorch(TypedDict):
    """torch cannot be imported, with the reason."""

    type: Literal["no-torch"]
    message: str


class WrongTorch(TypedDict):
    """A different torch was imported than the wanted one, with its folder."""

    type: Literal["wrong-torch"]
    folder: str


class OwnFailure(TypedDict, total=False):
    """The run in which ptexplore's own code failed, if it was in one."""

    recorder: str


class ProbeBroken(OwnFailure):
    """ptexplore's own code failed."""

    type: Literal["broken"]
    message: str


class ProbeEnds(TypedDict):
    """The last message; `left`: whether a process that the traced code started still runs."""

    type: Literal["end"]
    left: bool


class PackedOperator(TypedDict):
    """A `DumpedOperator` as it is sent: the lines of its texts are numbers of the message's `lines`."""

    name: str
    schema: str | None
    tags: Sequence[str]
    dump: Sequence[int]
    table: Sequence[int]
    digest: str


class CatalogueTold(TypedDict):
    """What this torch reports about itself. All texts have 40 MB; sending each line once halves that."""

    type: Literal["catalogue"]
    torch: Annotated[Plain, ImportedTorch]
    keys: Sequence[Annotated[Plain, DispatchKey]]
    num_backends: int
    operators: Sequence[PackedOperator]
    lines: Sequence[str]
    python_names: Sequence[Annotated[Plain, DumpedName]]
    python_kernels: Sequence[Annotated[Plain, DumpedKernel]]


class DecompositionsTold(TypedDict):
    """The decompositions of this torch: the fields of `DumpedDecompositions`."""

    type: Literal["decompositions"]
    torch: Annotated[Plain, ImportedTorch]
    functions: Sequence[Annotated[Plain, DumpedFunction]]
    tables: Mapping[str, Mapping[str, int | None]]
    users: Mapping[str, int]
    lowerings: Mapping[str, Annotated[Plain, Lowering]]
    refs: Mapping[str, int]
    composite: Sequence[str]
    kept: Sequence[str]
    later: Sequence[Annotated[Plain, LaterOperator]]
    unknown: Mapping[str, str]


# --- the message about a solution of an exercise ---


class JudgedCase(TypedDict):
    """A case that a solution got wrong, each part as JSON. `result` is "" if it gave no result."""

    number: int
    case: str
    wanted: str
    result: str


class Judged(TypedDict):
    """The result of a solution on all cases, with the first wrong case.

    `raised` is the error that ended it. `died`: "late" if its time was over, "silent" if it ended without a word, or
    the signal that killed it. `rules_of` is the release whose rules gave the answers, or "" if torch itself did.
    """

    type: Literal["judged"]
    torch: str
    cases: int
    right: int
    first: JudgedCase | None
    raised: str
    died: str
    printed: str
    rules_of: str


# --- messages of the child that runs torchgen ---


class FileGenerated(TypedDict):
    """A generated file was written, with its name."""

    file: str


class GeneratorStopped(TypedDict):
    """The system refused something that the generator needs."""

    errno: int | None
    strerror: str
    filename: str | None


class GeneratorFailed(TypedDict):
    """The generator failed."""

    error: str
    trace: str


class GeneratorEnds(TypedDict):
    """All files are written."""

    finished: bool


# --- messages of a trace ---


class OfRecorder(TypedDict):
    """The base of all messages about one run."""

    recorder: str


class RunBegins(OfRecorder):
    """A run begins. `second`: it only tests whether the expression can run once more."""

    type: Literal["begin", "second"]


class RunPrinted(OfRecorder):
    """What the traced code printed in a run."""

    type: Literal["output"]
    text: str
    cut: bool


class FirstIsShown(TypedDict):
    """The first call of an expression is shown: its imported modules, and why no later call is shown."""

    type: Literal["first"]
    imported: int
    whys: Sequence[ReasonSaid]


class Effects(TypedDict, total=False):
    """The effects of a script's run, to compare with those of another run."""

    random: Mapping[str, str]
    raised: str | None
    uncompared: ReasonSaid
    names: Sequence[str]
    order: str
    main: int
    apart: bool


class AnswerParts(TypedDict, total=False):
    """The fields of an answer, depending on what ran."""

    sequence: str
    imported: int
    raised: str | bool
    began: str | None
    warm: bool
    put_back: Sequence[str]
    anew: bool
    bound: Sequence[Annotated[Plain, BoundName]]
    result: Annotated[Plain, ResultInfo]
    late: bool
    operators: int
    left: Effects
    second: Effects
    program: Annotated[Plain, Program]
    tensors: Annotated[Plain, SeenTensors]
    after: Annotated[Plain, SeenTensors]  # for tensors: the same after further statements
    against: Annotated[Plain, SeenTensors]  # for tensors: those that are compared
    graph: Annotated[Plain, ReadGraph]
    lines: Annotated[Plain, GraphLines]
    ran: Annotated[Plain, GraphRun]
    owners: Sequence[Annotated[Plain, OwnedMemory]]  # for a graph: who holds memory
    watched: Annotated[Plain, MemoryWatch]  # for a graph: memory over time
    compiler: Annotated[Plain, CompilerLog]
    ladder: Annotated[Plain, LadderRungs]


class RunTold(AnswerParts):
    """What a run saw, without the recorder's name. The function of a recorder returns it."""

    observations: list[SentObservation]


class RunAnswered(OfRecorder, RunTold):
    """A run has ended, with what it saw."""

    type: Literal["pass"]


class RunRefused(OfRecorder):
    """The code cannot be run: the reason, similar names, and the place in the text."""

    type: Literal["refused"]
    kind: str
    told: ReasonSaid
    close: Sequence[str]
    where: tuple[int, int] | None
    source: str | None


class RaisedFurther(TypedDict, total=False):
    """What ended a run if it was not an error, similar names, and the Python functions that were left."""

    by: EndedBy
    close: Sequence[str]
    frames: Sequence[Annotated[Plain, LeftFrame]]


class RunRaised(OfRecorder, RaisedFurther):
    """Your code raised, and nothing else is known about the run. The parent makes a `RaisedError` from it."""

    type: Literal["raised"]
    stage: str
    exception: str
    message: str


class RunUnavailable(OfRecorder):
    """A run cannot be made here."""

    type: Literal["unavailable"]
    told: ReasonSaid


class EndedAlone(TypedDict, total=False):
    """How a run without recorders ended, if there was one."""

    alone: str


class RunDied(OfRecorder, EndedAlone):
    """The process of a run ended without a message."""

    type: Literal["died"]
    signal: str | None
    exit: int | None


class RunLate(OfRecorder):
    """The time for all runs was over, and this run was ended."""

    type: Literal["late"]


# --- messages of a survey ---


class NoSamples(TypedDict):
    """PyTorch's operator samples cannot be imported, with the missing module."""

    type: Literal["no-samples"]
    module: str | None
    message: str


class SampleInside(TypedDict):
    """A sample that is put into another construct, and the construct."""

    way: str
    sample: int
    dtype: str


class SurveyAsked(TypedDict):
    """The request to the probe of a survey: an operator's smallest sample, or a sample inside another construct."""

    op: str
    inside: SampleInside | None


class SurveyOperators(TypedDict):
    """The names of all operators that have samples."""

    type: Literal["operators"]
    names: Sequence[str]


class SurveyDone(TypedDict):
    """The last message about an operator's sample."""

    type: Literal["done"]
    op: str


class PutInsideTold(TypedDict, total=False):
    """For a sample inside another construct: the setup, and whether its tensors require grad."""

    setup: Sequence[str]
    grad: bool


class SampleTold(PutInsideTold):
    """A sample was evaluated without a trace: its description and its result."""

    type: Literal["plain"]
    sample: int
    dtype: str
    expression: str
    result: str
    fingerprint: str | None


class NoSample(TypedDict):
    """An operator has no sample that can be evaluated, with the reason."""

    type: Literal["no-sample"]
    told: ReasonSaid


AboutRun: TypeAlias = RunPrinted | RunAnswered | RunRefused | RunRaised | RunUnavailable | RunDied | RunLate
AboutProbe: TypeAlias = ProbeReady | NoTorch | WrongTorch | ProbeBroken | ProbeEnds
AboutSurvey: TypeAlias = NoSamples | SurveyOperators | SurveyDone | SampleTold | NoSample
RunFailure: TypeAlias = RunRefused | RunRaised | RunDied
AboutTorch: TypeAlias = CatalogueTold | DecompositionsTold
ProbeMessage: TypeAlias = RunBegins | FirstIsShown | AboutRun | AboutProbe | AboutSurvey | AboutTorch | Judged

MESSAGES: tuple[type, ...] = (
    RunRequest,
    ProbeReady,
    NoTorch,
    WrongTorch,
    ProbeBroken,
    ProbeEnds,
    RunBegins,
    RunPrinted,
    FirstIsShown,
    RunTold,
    RunAnswered,
    RunRefused,
    RunRaised,
    RunUnavailable,
    RunDied,
    RunLate,
    CatalogueTold,
    DecompositionsTold,
    JudgedCase,
    Judged,
    FileGenerated,
    GeneratorStopped,
    GeneratorFailed,
    GeneratorEnds,
    TorchgenModel,
    NoSamples,
    SurveyAsked,
    SurveyOperators,
    SurveyDone,
    SampleTold,
    NoSample,
)

# By kind: the type that is sent instead of the kind's record.
SENT: Mapping[str, type[Sent]] = {
    "steps": SentSteps,
    "maps": SentMap,
    "thrown": SentThrow,
    "raised": SentError,
}
# The kinds of observations that the parent makes; a probe does not send them.
MADE_BY_PARENT = frozenset((
    "calls", "unreadable", "output", "left-running", "nondeterministic", "perturbed", "varies", "unwatched", "stopped",
    "twice",
))  # fmt: skip
# Messages that have all fields of a record.
WHOLE_RECORDS: Mapping[type, type] = {RunRaised: SentError, RunRequest: TraceOptions}
# By record: the type with the fields that are sent in addition.
BESIDES: Mapping[type, type] = {
    Event: EventTime,
    SentError: AnyStage,
}
