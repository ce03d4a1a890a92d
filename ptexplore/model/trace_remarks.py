"""Remarks above and below the rows of a trace, and titles of next commands: codes with arguments.

The class is the code, the fields are the arguments. `view/words/trace_remarks.py` has the template of each remark. Two
kinds of numbers are written without a thousands separator: an `ordinal`, which is a position, and a count called `few`,
which is usually small.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from ptexplore.model.codes import Reason


class TraceRemark(Struct, frozen=True, kw_only=True):
    """A remark beside the rows of a trace."""


InnerRemark: TypeAlias = TraceRemark | Reason  # the remarks inside a remark


class InOneLine(TraceRemark, frozen=True):
    """Several remarks on one line."""

    remarks: tuple[TraceRemark, ...]


# --- what ran ---


class TorchRan(TraceRemark, frozen=True):
    """The version of the torch that ran, with other remarks on the same line."""

    version: str
    remarks: tuple[TraceRemark, ...] = ()


class TorchBuildBeside(TraceRemark, frozen=True):
    """The torch that ran, with its commit and kind of build."""

    version: str
    commit: str
    build: str


class AtlasIs(TraceRemark, frozen=True):
    """The atlas is used: it has names and lines, without text."""

    version: str | None
    commit: str
    relation: str


class TreeIs(TraceRemark, frozen=True):
    """A tree that is used besides the runtime tree, and how it relates to the torch that ran."""

    name: str
    version: str | None
    commit: str
    relation: str
    meaning: TraceRemark


class TreeMatches(TraceRemark, frozen=True):
    """The tree is the source of the torch that ran."""


class TreeConsistent(TraceRemark, frozen=True):
    """The tree agrees with the torch that ran in all files that both have."""


class TreeSkewed(TraceRemark, frozen=True):
    """The tree has another version."""

    torch: str


class NamesBound(TraceRemark, frozen=True):
    """Names that are bound to values with the same description; `random`: the values are random."""

    names: tuple[str, ...]
    description: str
    random: bool = False


class Gives(TraceRemark, frozen=True):
    """The result of the expression."""

    description: str


class ResultIs(TraceRemark, frozen=True):
    """The result of the expression, and the value that backward ran from."""

    description: str
    backward: Reason | None = None


# --- how it was stepped ---


class OneCall(TraceRemark, frozen=True):
    """One call with an unknown number."""


class CallNumber(TraceRemark, frozen=True):
    """One call of an operator, by its number."""

    ordinal: int


class CallsOfKinds(TraceRemark, frozen=True):
    """A number of calls of operators and nodes."""

    few: int


class WholeStepped(TraceRemark, frozen=True):
    """The whole run was stepped, or everything before a cut."""

    instructions: int
    cut: bool
    backward: bool  # including backward
    cold: bool
    threads: int
    because: Reason | None = None  # why the very first call is shown although you did not ask for it


class OneCallStepped(TraceRemark, frozen=True):
    """One call of a program was stepped."""

    instructions: int


class CallsStepped(TraceRemark, frozen=True):
    """Calls of a program were stepped."""

    few: int
    instructions: int


class OnlyCallStepped(TraceRemark, frozen=True):
    """Only one call of an operator was stepped."""

    op: str | None
    call: TraceRemark
    instructions: int
    cut: bool
    why: TraceRemark | None = None


class KindsOfCallsStepped(TraceRemark, frozen=True):
    """Of an expression, one call of each of several kinds was stepped. `share`: the part of time of these kinds."""

    few: int
    share: str
    instructions: int
    cut: int = 0  # the number of calls that were not stepped to their end
    others: int = 0  # the number of kinds of which no call was stepped
    why: TraceRemark | None = None


class SteppedCallsOf(TraceRemark, frozen=True):
    """A number of stepped operator calls."""

    few: int


class BeyondLimit(TraceRemark, frozen=True):
    """The whole run exceeds a limit; `singly`: a limit on instructions that must be stepped one by one."""

    count: int
    singly: bool


class InstructionsAreOf(TraceRemark, frozen=True):
    """Whether the instructions are those of the first call; nothing else is known."""

    cold: bool


class NothingStepped(TraceRemark, frozen=True):
    """Nothing was stepped."""

    why: InnerRemark


class NotAskedFor(TraceRemark, frozen=True):
    """It was not requested."""


class NativePassWarm(TraceRemark, frozen=True):
    """The parts that were stepped, after warm-up runs."""

    parts: tuple[PartStepped, ...]
    few: int | None  # the number of warm-up runs
    threads: int


class NativePassCold(TraceRemark, frozen=True):
    """The parts of the very first call that were stepped."""

    parts: tuple[PartStepped, ...]
    threads: int


class NativePassOfProgram(TraceRemark, frozen=True):
    """The calls of a program that were stepped."""

    instructions: int
    calls: TraceRemark


class PartStepped(TraceRemark, frozen=True):
    """One stepped part of the run; the `first` one names the unit."""

    instructions: int
    first: bool
    what: TraceRemark
    alone: TraceRemark | None = None
    cut: Reason | None = None


class ForwardStepped(TraceRemark, frozen=True):
    """The part is the expression itself."""


class OfBackward(TraceRemark, frozen=True):
    """The part is backward."""


class OfOperator(TraceRemark, frozen=True):
    """The part is a call of an operator."""

    op: str | None


class OfCallsOfKinds(TraceRemark, frozen=True):
    """The part consists of several operator calls."""

    few: int


class CallAlone(TraceRemark, frozen=True):
    """Only one call of the operator was stepped."""

    call: TraceRemark
    why: TraceRemark | None = None


class FramesStepped(TraceRemark, frozen=True):
    """C++ functions were stepped; the trace only says whether it was the first call."""

    cold: bool


class AlsoRan(TraceRemark, frozen=True):
    """Libraries that ran and that are not expanded."""

    libraries: tuple[LibraryRan, ...]


class LibraryRan(TraceRemark, frozen=True):
    """How much of a library ran."""

    library: str
    instructions: int


class LibraryNameless(TraceRemark, frozen=True):
    """Why a library's functions have no names."""

    library: str
    why: str


class NoNativePass(TraceRemark, frozen=True):
    """Why nothing was stepped."""

    why: Reason


# --- which run is shown ---


class FirstRunImports(TraceRemark, frozen=True):
    """The first run imports modules; says which run is shown."""

    modules: TraceRemark
    shown: TraceRemark


class OneModule(TraceRemark, frozen=True):
    """One module."""


class Modules(TraceRemark, frozen=True):
    """A number of modules."""

    count: int


class OfTheRuns(TraceRemark, frozen=True):
    """Which of several runs in one process is shown."""

    shown: TraceRemark


class FirstShown(TraceRemark, frozen=True):
    """The first run is shown because the second run failed or differed."""

    why: Reason


class LaterShown(TraceRemark, frozen=True):
    """A later run is shown."""


class SetupRunsAnew(TraceRemark, frozen=True):
    """--setup runs again before each run."""


class RunsBeginWith(TraceRemark, frozen=True):
    """Names whose values were restored before each run: the last name, and the names before it."""

    first: tuple[str, ...]
    last: str | More


class More(TraceRemark, frozen=True):
    """The number of further names or calls."""

    few: int


# --- functions without a row ---


class FramesLeftOut(TraceRemark, frozen=True):
    """The number of C++ functions without a row."""

    hidden: int
    frames: int


class HelpersLeftOut(TraceRemark, frozen=True):
    """The number of Python functions without a row, because they ran no operator."""

    few: int


class GeneratorsWrote(TraceRemark, frozen=True):
    """The generators of the generated files in the rows."""

    listed: tuple[GeneratorWrote, ...]


class GeneratorWrote(TraceRemark, frozen=True):
    """A generator and one of its files."""

    generator: str
    file: str


# --- remarks on a row of a tree ---


class CallsInTurn(TraceRemark, frozen=True):
    """The row stands for nested calls of a function by itself."""

    few: int


class OrderUnknownAmong(TraceRemark, frozen=True):
    """The order of the hop among its neighbours is not known."""


class RanInThread(TraceRemark, frozen=True):
    """Another thread ran the hop; the call around it is not known."""

    ordinal: int


# --- remarks below the rows of modules ---


class PartsHidden(TraceRemark, frozen=True):
    """Parts without a row: the cheapest ones, or the innermost ones if no cost is known."""

    few: int
    costs: bool


class RowsOrdered(TraceRemark, frozen=True):
    """The order of the rows. `rest`: some rows are the rest of a row; `threads`: some are for other threads."""

    rest: bool
    threads: bool


class FurtherCalls(TraceRemark, frozen=True):
    """Explains the sign beside figures: there were further calls."""


class TimesUnsure(TraceRemark, frozen=True):
    """Explains the sign before times that are bounds."""


class Costliest(TraceRemark, frozen=True):
    """The most expensive operators, with or without nodes of backward."""

    nodes: bool
    instructions: bool  # the cost is in instructions; else it is time
    shares: tuple[ShareOf, ...]


class ShareOf(TraceRemark, frozen=True):
    """The share of an operator or a node."""

    name: str
    share: str


class BackwardMeans(TraceRemark, frozen=True):
    """The meaning of the column `backward`; `own`: the expression itself ran such nodes."""

    own: bool


class SavedMeans(TraceRemark, frozen=True):
    """The meaning of the column `saved`."""


class SavedUnknown(TraceRemark, frozen=True):
    """Why the bytes are not known."""


class SavedInFirst(TraceRemark, frozen=True):
    """The bytes are only for the first calls of backward."""

    backwards: FirstBackwards


class FirstBackwards(TraceRemark, frozen=True):
    """The number of first backward calls, and of all."""

    seen: str
    of: str


class SavedElsewhere(TraceRemark, frozen=True):
    """Bytes that no row includes."""

    size: str


class SavedInSlices(TraceRemark, frozen=True):
    """The bytes do not include the memory of the node inside CopySlices."""


class SavedPacked(TraceRemark, frozen=True):
    """The bytes do not include tensors that hooks packed."""

    tensors: SavedTensors


class SavedUnread(TraceRemark, frozen=True):
    """The bytes do not include tensors whose memory is not known."""

    tensors: SavedTensors


class SavedTensors(TraceRemark, frozen=True):
    """A number of saved tensors."""

    count: int


class SavedSilent(TraceRemark, frozen=True):
    """The bytes do not include nodes that do not report what they keep."""

    count: int


class SavedForBackward(TraceRemark, frozen=True):
    """The memory that is kept for backward."""

    size: str
    at_least: bool
    backwards: FirstBackwards | None


class MoreKinds(TraceRemark, frozen=True):
    """A row for the remaining kinds of nodes and operators."""

    few: int


class MoreRows(TraceRemark, frozen=True):
    """A row for the rows inside a row that do not fit; or for the threads that do not fit."""

    few: int
    threads: bool


class RestOfBackward(TraceRemark, frozen=True):
    """A row for the work of backward outside of its nodes."""


class RestIs(TraceRemark, frozen=True):
    """A row for the work of a part outside of the rows inside it."""

    names: tuple[str, ...]


class StepItself(RestIs, frozen=True):
    """A row for the work of an optimizer's step outside of the closure that it called."""


class FindingsFollow(TraceRemark, frozen=True):
    """The heading of the findings below the rows of a program."""


class ReadsValue(TraceRemark, frozen=True):
    """Calls that give a tensor's values to Python, or need them for the size of a result."""

    call: str


class CopiesBy(TraceRemark, frozen=True):
    """Calls that copy tensors: to another dtype, device or layout."""

    call: str
    size: str


class DataLoading(TraceRemark, frozen=True):
    """Calls of data loaders."""


class WhatWasCompiled(TraceRemark, frozen=True):
    """A next step: the command that shows what torch.compile did."""


class OutsideOperators(TraceRemark, frozen=True):
    """The time outside of operators and data loaders, for each operator call; `at_most`: it is a bound."""

    each: str
    at_most: bool


class OpenedPart(TraceRemark, frozen=True):
    """The opened part, and its time of the whole run, which shares are fractions of."""

    name: str
    inside: str
    time: str
    of: str


class OtherMatches(TraceRemark, frozen=True):
    """Other parts with the name of the opened part."""

    others: tuple[OtherMatch | More, ...]


class OtherMatch(TraceRemark, frozen=True):
    """Another part with the name of the opened part."""

    name: str
    inside: str
    cost: str


class MoreLines(TraceRemark, frozen=True):
    """A row for neighbouring lines of your source that cost little."""

    few: int


class OnNoLineOfYours(TraceRemark, frozen=True):
    """A row for everything that the main thread ran on no line of yours."""


class InThreadsOnNoLine(TraceRemark, frozen=True):
    """A row for everything that other threads ran on no line of yours. Their times overlap the main thread's."""


class LinesMean(TraceRemark, frozen=True):
    """What the figures of a line of your source are."""


class TextNotKept(TraceRemark, frozen=True):
    """Files of yours whose lines have no text in the trace."""

    files: tuple[str, ...]


# --- calls, and how their costs were measured ---


class OperatorCallsBeside(TraceRemark, frozen=True):
    """The number of operator calls in an expression, and of module calls."""

    count: int
    at_least: bool
    modules: ModuleCalls | None


class ModuleCalls(TraceRemark, frozen=True):
    """The number of module calls, and of further ones in backward."""

    few: int
    backward: More | None


class InstructionsMean(TraceRemark, frozen=True):
    """The meaning of the column of instructions."""


class OperatorsTimed(TraceRemark, frozen=True):
    """Operators were timed, and nothing was stepped."""


class OpenSteps(TraceRemark, frozen=True):
    """How to step one operator."""


class HowTimed(TraceRemark, frozen=True):
    """How an expression was timed. `nodes`: with nodes of backward; `python`: with the Python that they call."""

    nodes: bool
    python: bool
    runs: TraceRemark
    threads: int


class FastestOf(TraceRemark, frozen=True):
    """The fastest of several runs counts."""

    few: int


class OneRunAfterOthers(TraceRemark, frozen=True):
    """One run counts; it was not the first."""


class HowProgramTimed(TraceRemark, frozen=True):
    """How a program was timed; `samples`: the cost of recording was subtracted."""

    python: bool
    samples: bool


class TimesElsewhereBeside(TraceRemark, frozen=True):
    """The times come from another run, and how many of its calls match calls of this program."""

    file: str
    matched: int
    calls: int


class NotMatched(TraceRemark, frozen=True):
    """The calls of the other run that match no call of this program."""

    names: tuple[CallsOf, ...]


class CallsOf(TraceRemark, frozen=True):
    """The number of calls with one name."""

    name: str
    count: int


class NodesUnlike(TraceRemark, frozen=True):
    """Nodes of backward that belong to a different call in the other run."""

    count: int


class DeviceEventsLeft(TraceRemark, frozen=True):
    """Device events of the other run are not counted."""

    count: int


class OneRun(TraceRemark, frozen=True):
    """The duration of a program, its threads, and what the duration does not include."""

    time: str
    threads: int
    apart: tuple[TraceRemark, ...]
    recording: str


class OneRunUnsure(TraceRemark, frozen=True):
    """The longest that a program may have run without recording, and how much of that recording may be."""

    time: str
    threads: int
    recording: str


class ImportsBeside(TraceRemark, frozen=True):
    """Imports."""


class RecordingTook(TraceRemark, frozen=True):
    """The duration of recording."""

    time: str


class Waited(TraceRemark, frozen=True):
    """How long no thread of the program ran."""

    waited: str
    of: str


class PythonWasSlower(TraceRemark, frozen=True):
    """How much longer Python's own instructions may take while they are recorded, and how much of the run they are."""

    release: str
    times: float
    outside: str


class OperatorsCalled(TraceRemark, frozen=True):
    """The number of operator calls in a program; `inner`: operators called others, which are not counted."""

    calls: TraceRemark
    inner: bool
    saved: SavedForBackward | None


class CallsOfDifferent(TraceRemark, frozen=True):
    """The number of calls, and of different operators."""

    count: int
    few: int


class CallsOfOperator(TraceRemark, frozen=True):
    """The number of calls of one operator, or zero."""

    count: int


class ConcludedBeside(TraceRemark, frozen=True):
    """A conclusion about the whole run."""

    conclusion: Reason


class TransformsInForce(TraceRemark, frozen=True):
    """Function transforms that were active."""

    kinds: tuple[str, ...]


class DeviceMeans(TraceRemark, frozen=True):
    """The meaning of the column `device`."""


class OnDevices(TraceRemark, frozen=True):
    """The work of devices: time and launches."""

    time: str
    count: int
    few: int  # the number of kinds, if there are several
    first: tuple[ShareOf, ...]


class RunCut(TraceRemark, frozen=True):
    """Why the record of a run is incomplete."""

    why: Reason


class KindsSteppedOf(TraceRemark, frozen=True):
    """How many kinds of calls were stepped, and how to step the others, or why they were not stepped."""

    kinds: int
    of: int
    why: TraceRemark


class MoreWith(TraceRemark, frozen=True):
    """The option that steps more."""

    option: str


class OfOthersNone(TraceRemark, frozen=True):
    """Why no call of the other kinds was stepped."""

    why: Reason


class RunWithoutImports(TraceRemark, frozen=True):
    """The duration of the run."""

    time: str


class TimesWithCalled(TraceRemark, frozen=True):
    """What the times of operators include; `python`: they called Python, which is not included."""

    python: bool


# --- remarks below other views ---


class CallsAreRecorded(TraceRemark, frozen=True):
    """Which calls are counted."""


class CountedTwice(TraceRemark, frozen=True):
    """Operators that were called by operators are counted in several rows."""


class CopiedInAll(TraceRemark, frozen=True):
    """How much was copied, in how many copies."""

    amount: str
    copies: int


class NothingCopied(TraceRemark, frozen=True):
    """No operator copied a tensor's data."""


class SharesOfStepped(TraceRemark, frozen=True):
    """The total behind the shares of operators."""

    nested: CountedTwice | None


class SharesOfPath(TraceRemark, frozen=True):
    """The total behind the shares of hops, and which hops have no row; `kernels`: except kernels."""

    of: TraceRemark
    least: str
    kernels: bool


class AllInstructions(TraceRemark, frozen=True):
    """All instructions that were counted; `cut`: those before the stepping was cut."""

    cut: bool


class TimeOfCalls(TraceRemark, frozen=True):
    """The time of all operator calls."""


class PartsOfCall(TraceRemark, frozen=True):
    """The meaning of the figures inside a stepped call."""


class PythonIn(TraceRemark, frozen=True):
    """The rows that include the interpreter's own work."""

    rows: tuple[str, ...]


class CallsWithoutRow(TraceRemark, frozen=True):
    """The number of operator calls without a row."""

    left: int
    calls: int
    share: TraceRemark | None


class ShareOfAll(TraceRemark, frozen=True):
    """A share of everything that was counted or timed."""

    share: str
    of: TraceRemark


class KeysNotNamed(TraceRemark, frozen=True):
    """Why no key is shown for the calls of these operators."""

    operators: tuple[str, ...]
    more: bool
    why: Reason


class RanAgain(TraceRemark, frozen=True):
    """Modules that a node of backward ran again."""

    modules: tuple[str | NotKept, ...]
    function: str
    path: str | None
    node: str
    few: int
    cost: bool  # the node's cost includes them


class NotKept(TraceRemark, frozen=True):
    """Code that ran again and is not a module."""


class MoreRanAgain(TraceRemark, frozen=True):
    """The number of further nodes that ran something again."""

    few: int


class Found(TraceRemark, frozen=True):
    """A finding, and how often it occurred, if more than once."""

    kind: str
    finding: str
    few: int = 0


class FoundByNameIn(TraceRemark, frozen=True):
    """The meaning of a sign beside places: they were found by name."""

    versions: tuple[str | AnotherVersion, ...]
    own: str


class AnotherVersion(TraceRemark, frozen=True):
    """A version that is not known."""


# --- titles of next commands ---


class AllSteps(TraceRemark, frozen=True):
    """All hops of the trace."""

    count: int


class AllFunctionCalls(TraceRemark, frozen=True):
    """All function calls that were stepped. `of`: the operators, if not the whole run was stepped."""

    count: int
    of: tuple[str | OneOperator | SteppedCallsOf, ...] = ()
    cut: bool = False


class OneOperator(TraceRemark, frozen=True):
    """An operator whose name is not known."""


class InsideOf(TraceRemark, frozen=True):
    """The inside of a part."""

    name: str


class OperatorsBy(TraceRemark, frozen=True):
    """The operators, by cost or by number of calls."""

    cost: bool


class FirstRowOpened(TraceRemark, frozen=True):
    """The first row, expanded."""


class EverythingInIt(TraceRemark, frozen=True):
    """Everything inside the shown row."""


class HowThatIsKnown(TraceRemark, frozen=True):
    """What is known about an error, and how."""


class WhyTheseKeys(TraceRemark, frozen=True):
    """Why these dispatch keys were taken."""


class SignsAndColumns(TraceRemark, frozen=True):
    """Shows what signs and columns mean."""


class ByOperator(TraceRemark, frozen=True):
    """The same by operator."""
