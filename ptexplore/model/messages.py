"""What a probe is asked for, and the messages that it sends, as JSON has them: `type` tells one from another.

`scripts/probe-messages` makes `probe/messages.py` from these, and from the records of `model/observed.py`. mypy checks
what the probe writes against it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, TypedDict

from msgspec import Struct

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
from ptexplore.model.torchgen import TorchgenModel
from ptexplore.model.trace import BoundName, ResultInfo

ReasonSaid: TypeAlias = Annotated[Plain, Reason]
LibraryPlace: TypeAlias = tuple[str, int]  # a library's file, and an address in it


class SentObservation(TypedDict):
    """What a recorder saw. `data` is its kind's record, or what `SENT` has for the kind."""

    recorder: str
    kind: str
    data: Plain


# --- what a recorder sends in place of a record, or besides ---


class PythonLog(Struct, frozen=True):
    """Which rows of a log are Python's own calls; by address what they called."""

    hook: int
    mark: int
    codes: Mapping[int, PythonCode]
    builtins: Mapping[int, tuple[str, int]]
    lost: bool


class SentSteps(Struct, frozen=True):
    """One stepped part: the rows of the stepper's log, packed. The parent makes `calls` of it."""

    what: Literal["forward", "backward", "operator"]
    rows: str
    instructions: int
    cut: AnyReason | None
    seconds: float
    python: PythonLog | None
    unprofiled: AnyReason | None
    beyond: Beyond | None = None  # this and what follows: of one operator call, which it was and how it was done
    op: str | None = None
    number: int | None = None
    of: int | None = None
    warm_ups: int | None = None
    threads: int = 1
    at: Literal["builtin", "op", "node"] | None = None  # of a program: at what it was stepped
    row: int | None = None
    route: int | None = None
    libraries: tuple[LibraryCall, ...] = ()  # of a program: what libraries told of it, of which `libraries` is made
    event: int | None = None  # of a program: the id of the observation of that, as the parent finds it


class SentMap(Struct, frozen=True):
    """The executable part of the process's memory map, by which addresses are read."""

    text: str


class RaiserNoted(Struct, frozen=True):
    """Who raised an error that torch keeps no line with: a function of C, and the places on C++'s stack.

    `type` and `thrown` are of the last throw of C++ before it, if there was one.
    """

    by: str
    places: tuple[LibraryPlace, ...]
    type: str = ""
    thrown: tuple[LibraryPlace, ...] = ()


class SentThrow(Struct, frozen=True):
    """The text of an error, with C++'s stack where torch writes it there. The parent makes `thrown` of it."""

    text: str
    raised: RaiserNoted | None = None
    elsewhere: bool = False


class SentError(RaisedError, frozen=True):
    """What ended a run; of a signal with the functions of C++ that it ended, innermost first, as places.

    The parent makes `stack` of them.
    """

    cpp: tuple[LibraryPlace, ...] = ()


Steps: TypeAlias = SentSteps | SentMap  # what is read together
Sent: TypeAlias = Steps | SentThrow | SentError


class ReadObservation(NamedTuple):
    """What a recorder saw, as the parent has read it, and no session has it yet."""

    recorder: str
    kind: str
    data: AnyRecord | Steps


class EventTime(TypedDict, total=False):
    """How long an event took, in nanoseconds: the native pass makes `times` of it."""

    time: int


class AnyStage(TypedDict):
    """What was running: in a message also `context` and `preparation`, of which there is no observation."""

    stage: str


# --- what a run is asked for ---


class RunRequest(TypedDict, total=False):
    """What a run is asked for, with all fields of `TraceOptions`: by the parent, and by the probe of its children."""

    work: Literal["trace", "survey", "stack", "catalogue"]
    torch_dir: str
    digests: Mapping[str, str]  # the catalogue's, by operator
    cwd: str
    expression: str | None
    script_sha256: str | None
    until: int  # nanoseconds on the monotonic clock: when the time of all runs is over
    repeat: Literal["again", "anew", "first"]  # how it is evaluated again in one process
    warm_ups: int  # how often it is evaluated before the run that is seen
    imported: int  # modules that the first run imported
    raises: bool  # whether the run before raised
    begin: str | None  # the device that is begun before
    keeps: bool  # whether what was seen is kept as it goes, for a process that is killed
    called: int  # operators that the passes saw
    operators: int  # operators that a script's recorded run called
    sample: Any  # of a survey: makes the expression and its values
    whole: tuple[int, int]  # of a survey: instructions that are stepped of a whole expression, and those singly
    calls: int  # of a survey: operator calls that are stepped, if the whole is too much
    unlocated: bool  # of a survey: no source locations are recorded


# --- messages of any probe ---


class ProbeReady(TypedDict):
    """Torch is imported; and what the system and Python draw at random in this process."""

    type: Literal["ready"]
    varies: Sequence[str]


class NoTorch(TypedDict):
    """Torch cannot be imported: why."""

    type: Literal["no-torch"]
    message: str


class WrongTorch(TypedDict):
    """Another torch was imported than the one that was meant: its folder."""

    type: Literal["wrong-torch"]
    folder: str


class OwnFailure(TypedDict, total=False):
    """In which run our own code failed, if in one."""

    recorder: str


class ProbeBroken(OwnFailure):
    """Our own code failed."""

    type: Literal["broken"]
    message: str


class ProbeEnds(TypedDict):
    """All is said; and whether something that the traced code started runs on."""

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
    """What this torch says of itself. All texts are 40 MB, and half of that once a line is sent once."""

    type: Literal["catalogue"]
    torch: Annotated[Plain, ImportedTorch]
    keys: Sequence[Annotated[Plain, DispatchKey]]
    num_backends: int
    operators: Sequence[PackedOperator]
    lines: Sequence[str]
    python_names: Sequence[Annotated[Plain, DumpedName]]
    python_kernels: Sequence[Annotated[Plain, DumpedKernel]]


# --- messages of the child that runs torchgen ---


class FileGenerated(TypedDict):
    """A generated file is written: its name."""

    file: str


class GeneratorStopped(TypedDict):
    """The system refused what the generator needs."""

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


GeneratorMessage: TypeAlias = FileGenerated | GeneratorStopped | GeneratorFailed | GeneratorEnds


# --- messages of a trace ---


class OfRecorder(TypedDict):
    """What every message about one run has."""

    recorder: str


class RunBegins(OfRecorder):
    """A run begins; `second` if it is to see whether the expression can be run once more."""

    type: Literal["begin", "second"]


class RunPrinted(OfRecorder):
    """What the traced code printed in a run."""

    type: Literal["output"]
    text: str
    cut: bool


class FirstIsShown(TypedDict):
    """The first call of an expression is shown: how many modules it imported, and why a later call is not shown."""

    type: Literal["first"]
    imported: int
    whys: Sequence[ReasonSaid]


class Effects(TypedDict, total=False):
    """What a run of a script leaves behind, to compare with another run's."""

    random: Mapping[str, str]
    raised: str | None
    uncompared: ReasonSaid
    names: Sequence[str]
    order: str
    main: int
    apart: bool


class AnswerParts(TypedDict, total=False):
    """What an answer has, depending on what ran."""

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


class RunTold(AnswerParts):
    """What a run saw, without whose it is: what a recorder's function returns."""

    observations: list[SentObservation]


class RunAnswered(OfRecorder, RunTold):
    """A run has ended, and this is what it saw."""

    type: Literal["pass"]


class RunRefused(OfRecorder):
    """What was given cannot be run: why, near names, and the place in the text."""

    type: Literal["refused"]
    kind: str
    told: ReasonSaid
    close: Sequence[str]
    where: tuple[int, int] | None
    source: str | None


class RaisedFurther(TypedDict, total=False):
    """What ended a run if no error did, near names, and the functions of Python that were left."""

    by: EndedBy
    close: Sequence[str]
    frames: Sequence[Annotated[Plain, LeftFrame]]


class RunRaised(OfRecorder, RaisedFurther):
    """The user's code raised, and nothing else is known of the run: what the parent reads of a `RaisedError`."""

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
    """The process of a run ended without a word."""

    type: Literal["died"]
    signal: str | None
    exit: int | None


class RunLate(OfRecorder):
    """The time of all runs was over, and this one was ended."""

    type: Literal["late"]


# --- messages of a survey ---


class NoSamples(TypedDict):
    """PyTorch's samples of operators cannot be imported: the module that is missing."""

    type: Literal["no-samples"]
    module: str | None
    message: str


class SampleInside(TypedDict):
    """Which sample is put into something, and into what."""

    way: str
    sample: int
    dtype: str


class SurveyAsked(TypedDict):
    """What a survey's probe is asked for: an operator's smallest sample alone, or one that is put into something."""

    op: str
    inside: SampleInside | None


class SurveyOperators(TypedDict):
    """The names of all operators that have samples."""

    type: Literal["operators"]
    names: Sequence[str]


class SurveyDone(TypedDict):
    """All is said of an operator's sample."""

    type: Literal["done"]
    op: str


class PutInsideTold(TypedDict, total=False):
    """Of a sample that is put into something: what is run before, and whether its tensors require grad."""

    setup: Sequence[str]
    grad: bool


class SampleTold(PutInsideTold):
    """A sample was evaluated untraced: what it is, and what it gave."""

    type: Literal["plain"]
    sample: int
    dtype: str
    expression: str
    result: str
    fingerprint: str | None


class NoSample(TypedDict):
    """An operator has no sample that can be evaluated: why."""

    type: Literal["no-sample"]
    told: ReasonSaid


AboutRun: TypeAlias = RunPrinted | RunAnswered | RunRefused | RunRaised | RunUnavailable | RunDied | RunLate
AboutProbe: TypeAlias = ProbeReady | NoTorch | WrongTorch | ProbeBroken | ProbeEnds
AboutSurvey: TypeAlias = NoSamples | SurveyOperators | SurveyDone | SampleTold | NoSample
RunFailure: TypeAlias = RunRefused | RunRaised | RunDied
ProbeMessage: TypeAlias = RunBegins | FirstIsShown | AboutRun | AboutProbe | AboutSurvey | CatalogueTold

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

# By kind what is sent in place of a record of that kind.
SENT: Mapping[str, type[Sent]] = {
    "steps": SentSteps,
    "maps": SentMap,
    "thrown": SentThrow,
    "raised": SentError,
}
# The kinds of observations that the parent makes: no probe sends them.
MADE_BY_PARENT = frozenset((
    "calls", "unreadable", "output", "left-running", "nondeterministic", "perturbed", "varies", "unwatched", "stopped",
    "twice",
))  # fmt: skip
# What has all fields of a record.
WHOLE_RECORDS: Mapping[type, type] = {RunRaised: SentError, RunRequest: TraceOptions}
# By record what is sent besides its fields.
BESIDES: Mapping[type, type] = {
    Event: EventTime,
    SentError: AnyStage,
}
