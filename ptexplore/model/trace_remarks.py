"""What stands above and below the rows of a trace, and what a next command shows: codes, worded by `view/words`.

A class is a code, its fields are the arguments. What a remark says stands with its template in
`view/words/trace_remarks.py`. An `ordinal` tells one of many, and a count that is called `few` is small as a rule:
neither is written with a comma.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from ptexplore.model.codes import Reason


class TraceRemark(Struct, frozen=True, kw_only=True):
    """What is said beside the rows of a trace."""


ToldBeside: TypeAlias = TraceRemark | Reason  # what a remark may have within it


class InOneLine(TraceRemark, frozen=True):
    """Several remarks that stand on one line."""

    told: tuple[TraceRemark, ...]


# --- what ran ---


class TorchRan(TraceRemark, frozen=True):
    """The version of the torch that ran, with what stands on the same line."""

    version: str
    told: tuple[TraceRemark, ...] = ()


class TorchBuildBeside(TraceRemark, frozen=True):
    """The torch that ran, and how it was built."""

    version: str
    commit: str
    build: str


class AtlasIs(TraceRemark, frozen=True):
    """The atlas is looked into: names and lines, without text."""

    version: str | None
    commit: str
    relation: str


class TreeIs(TraceRemark, frozen=True):
    """A tree that is looked into beside the runtime's, and how it relates to the torch that ran."""

    name: str
    version: str | None
    commit: str
    relation: str
    meaning: TraceRemark


class TreeMatches(TraceRemark, frozen=True):
    """It is the source of the torch that ran."""


class TreeConsistent(TraceRemark, frozen=True):
    """It agrees with the torch that ran wherever that can be seen."""


class TreeSkewed(TraceRemark, frozen=True):
    """It is of another version."""

    torch: str


class NamesBound(TraceRemark, frozen=True):
    """Names that were bound to values of one description; `random`: their values were drawn."""

    names: tuple[str, ...]
    description: str
    random: bool = False


class Gives(TraceRemark, frozen=True):
    """What the expression gave."""

    description: str


class ResultIs(TraceRemark, frozen=True):
    """What the expression gave, and what backward ran from."""

    description: str
    backward: Reason | None = None


# --- how it was stepped ---


class OneCall(TraceRemark, frozen=True):
    """One call, whichever it is."""


class CallNumber(TraceRemark, frozen=True):
    """One of an operator's calls."""

    ordinal: int


class CallsOfKinds(TraceRemark, frozen=True):
    """So many calls of operators and nodes."""

    few: int


class WholeStepped(TraceRemark, frozen=True):
    """All of the run was stepped, or all until a cut."""

    instructions: int
    cut: bool
    backward: bool  # with the backward
    cold: bool
    threads: int
    because: Reason | None = None  # why the very first call is shown, though nobody asked for that


class OneCallStepped(TraceRemark, frozen=True):
    """One call of a program was stepped."""

    instructions: int


class CallsStepped(TraceRemark, frozen=True):
    """Calls of a program were stepped."""

    few: int
    instructions: int


class OnlyCallStepped(TraceRemark, frozen=True):
    """One call of an operator was stepped, and nothing else."""

    op: str | None
    call: TraceRemark
    instructions: int
    cut: bool
    why: TraceRemark | None = None


class BeyondLimit(TraceRemark, frozen=True):
    """The whole run is beyond a limit; `singly`: of instructions that must be stepped one by one."""

    count: int
    singly: bool


class InstructionsAreOf(TraceRemark, frozen=True):
    """Which call the instructions are of, where only that is known."""

    cold: bool


class NothingStepped(TraceRemark, frozen=True):
    """Nothing was stepped."""

    why: ToldBeside


class NotAskedFor(TraceRemark, frozen=True):
    """Nobody asked for it."""


class NativePassWarm(TraceRemark, frozen=True):
    """What the native pass stepped, after runs at full speed."""

    parts: tuple[PartStepped, ...]
    few: int | None  # of the runs before
    threads: int


class NativePassCold(TraceRemark, frozen=True):
    """What the native pass stepped of the very first call."""

    parts: tuple[PartStepped, ...]
    threads: int


class NativePassOfProgram(TraceRemark, frozen=True):
    """What the native pass stepped of a program."""

    instructions: int
    calls: TraceRemark


class PartStepped(TraceRemark, frozen=True):
    """One stepped part of the run; the `first` one says what is counted."""

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


class CallAlone(TraceRemark, frozen=True):
    """One call of the operator alone was stepped."""

    call: TraceRemark
    why: TraceRemark | None = None


class FramesStepped(TraceRemark, frozen=True):
    """C++ functions were stepped; the trace says only whether that was the first call."""

    cold: bool


class AlsoRan(TraceRemark, frozen=True):
    """Libraries that ran and are not opened."""

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
    """Why there was no native pass."""

    why: Reason


# --- which run is shown ---


class FirstRunImports(TraceRemark, frozen=True):
    """The first run imports modules; which run is shown."""

    modules: TraceRemark
    shown: TraceRemark


class OneModule(TraceRemark, frozen=True):
    """One module."""


class Modules(TraceRemark, frozen=True):
    """So many modules."""

    count: int


class OfTheRuns(TraceRemark, frozen=True):
    """Which of several runs is shown."""

    shown: TraceRemark


class FirstShown(TraceRemark, frozen=True):
    """The first run is shown, since the second one was not as it should be."""

    why: Reason


class LaterShown(TraceRemark, frozen=True):
    """A later run is shown."""


class SetupRunsAnew(TraceRemark, frozen=True):
    """What was made before the expression is made anew for each run."""


class RunsBeginWith(TraceRemark, frozen=True):
    """Names whose values were put back before each run: the last of them, and those before it."""

    first: tuple[str, ...]
    last: str | More


class More(TraceRemark, frozen=True):
    """So many more, which are not named."""

    few: int


# --- what a tree leaves out ---


class FramesLeftOut(TraceRemark, frozen=True):
    """Functions of C++ that have no row."""

    hidden: int
    frames: int


class HelpersLeftOut(TraceRemark, frozen=True):
    """Functions of Python that have no row, since they ran no operator."""

    few: int


class GeneratorsWrote(TraceRemark, frozen=True):
    """What wrote the generated files that rows name."""

    listed: tuple[GeneratorWrote, ...]


class GeneratorWrote(TraceRemark, frozen=True):
    """A generator, with one of its files."""

    generator: str
    file: str


# --- what a row of a tree stands for ---


class CallsInTurn(TraceRemark, frozen=True):
    """The row is for calls that a function made of itself."""

    few: int


class OrderUnknownAmong(TraceRemark, frozen=True):
    """When the step ran, among those beside it, is not known."""


class RanInThread(TraceRemark, frozen=True):
    """Another thread ran the step, and inside which call is not known."""

    ordinal: int


# --- what stands below the rows of modules ---


class PartsHidden(TraceRemark, frozen=True):
    """Parts that have no row: those that cost least, or the innermost where no cost is known."""

    few: int
    costs: bool


class RowsOrdered(TraceRemark, frozen=True):
    """In which order rows stand; whether some are for the rest of a row, and some of other threads."""

    rest: bool
    threads: bool


class FurtherCalls(TraceRemark, frozen=True):
    """What a sign at figures says: there were further calls."""

    sign: str


class Costliest(TraceRemark, frozen=True):
    """What took most: operators, with nodes of backward or without."""

    nodes: bool
    instructions: bool  # else time
    shares: tuple[ShareOf, ...]


class ShareOf(TraceRemark, frozen=True):
    """The share of one of them."""

    name: str
    share: str


class BackwardMeans(TraceRemark, frozen=True):
    """What the column `backward` has; `own`: the expression ran such nodes itself."""

    own: bool


class SavedMeans(TraceRemark, frozen=True):
    """What the column `saved` has."""


class SavedNotTold(TraceRemark, frozen=True):
    """Why the bytes are not known."""


class SavedInFirst(TraceRemark, frozen=True):
    """The bytes are of the first calls of backward alone."""

    backwards: FirstBackwards


class FirstBackwards(TraceRemark, frozen=True):
    """The first calls of backward, of so many."""

    seen: str
    of: str


class SavedElsewhere(TraceRemark, frozen=True):
    """Bytes that are in no row."""

    size: str


class SavedInSlices(TraceRemark, frozen=True):
    """The bytes lack what one kind of node keeps."""


class SavedPacked(TraceRemark, frozen=True):
    """The bytes lack what hooks packed."""

    tensors: SavedTensors


class SavedUnread(TraceRemark, frozen=True):
    """The bytes lack tensors whose memory is not told."""

    tensors: SavedTensors


class SavedTensors(TraceRemark, frozen=True):
    """So many saved tensors."""

    count: int


class SavedSilent(TraceRemark, frozen=True):
    """The bytes lack what nodes keep that do not tell it."""

    count: int


class SavedForBackward(TraceRemark, frozen=True):
    """How much is kept for backward."""

    size: str
    at_least: bool
    backwards: FirstBackwards | None


class MoreKinds(TraceRemark, frozen=True):
    """A row for further kinds of nodes and operators."""

    few: int


class RestOfBackward(TraceRemark, frozen=True):
    """A row for what backward did beside its nodes."""


class RestIs(TraceRemark, frozen=True):
    """A row for what a part did, and no row inside of it."""

    names: tuple[str, ...]


# --- what was called, and what its costs are of ---


class OperatorCallsBeside(TraceRemark, frozen=True):
    """How many operator calls an expression made, and how many calls of modules."""

    count: int
    at_least: bool
    modules: ModuleCalls | None


class ModuleCalls(TraceRemark, frozen=True):
    """How many calls of modules there were, and how many more in backward."""

    few: int
    backward: More | None


class InstructionsMean(TraceRemark, frozen=True):
    """What the column of instructions has."""


class OperatorsTimed(TraceRemark, frozen=True):
    """Operators were timed, and nothing was stepped."""


class OpenSteps(TraceRemark, frozen=True):
    """What steps one operator."""


class HowTimed(TraceRemark, frozen=True):
    """What times of an expression are of; `nodes`: of those of backward, too; `python`: with what these call."""

    nodes: bool
    python: bool
    runs: TraceRemark
    threads: int


class FastestOf(TraceRemark, frozen=True):
    """The fastest of so many runs counts."""

    few: int


class OneRunAfterOthers(TraceRemark, frozen=True):
    """One run counts, which was not the first."""


class HowProgramTimed(TraceRemark, frozen=True):
    """What times of a program are of; `samples`: what recording took was taken off."""

    python: bool
    samples: bool


class TimesElsewhereBeside(TraceRemark, frozen=True):
    """The times are of another run; so many of its calls are calls of this program."""

    file: str
    matched: int
    calls: int


class NotMatched(TraceRemark, frozen=True):
    """The calls of the other run that are no calls of this program."""

    names: tuple[CallsOf, ...]


class CallsOf(TraceRemark, frozen=True):
    """How many calls of one name."""

    name: str
    count: int


class NodesUnlike(TraceRemark, frozen=True):
    """Nodes of backward that belong to another call there."""

    count: int


class DeviceEventsLeft(TraceRemark, frozen=True):
    """What a device did there is not counted."""

    count: int


class OneRun(TraceRemark, frozen=True):
    """How long a program ran, on how many threads, and what is not in that."""

    time: str
    threads: int
    apart: tuple[TraceRemark, ...]
    recording: str


class ImportsBeside(TraceRemark, frozen=True):
    """Imports."""


class RecordingTook(TraceRemark, frozen=True):
    """How long recording took."""

    time: str


class Waited(TraceRemark, frozen=True):
    """How long no thread of a program ran."""

    waited: str
    of: str


class OperatorsCalled(TraceRemark, frozen=True):
    """How many operators a program called; `inner`: operators called others, which are not counted."""

    calls: TraceRemark
    inner: bool
    saved: SavedForBackward | None


class CallsOfDifferent(TraceRemark, frozen=True):
    """Calls of different operators."""

    count: int
    few: int


class CallsOfOperator(TraceRemark, frozen=True):
    """Calls of one operator, or none."""

    count: int


class ConcludedBeside(TraceRemark, frozen=True):
    """What was concluded of the whole run."""

    told: Reason


class TransformsInForce(TraceRemark, frozen=True):
    """Function transforms that were on."""

    kinds: tuple[str, ...]


class DeviceMeans(TraceRemark, frozen=True):
    """What the column `device` has."""


class OnDevices(TraceRemark, frozen=True):
    """What devices were given to do."""

    time: str
    count: int
    few: int  # kinds, where there are several
    first: tuple[ShareOf, ...]


class RunCut(TraceRemark, frozen=True):
    """Why a record of a run is not complete."""

    why: Reason


class KindsSteppedOf(TraceRemark, frozen=True):
    """How many kinds of calls were stepped, and what steps the others, or why they were not stepped."""

    kinds: int
    of: int
    why: TraceRemark


class MoreWith(TraceRemark, frozen=True):
    """What steps more."""

    option: str


class OfOthersNone(TraceRemark, frozen=True):
    """Why of the others none was stepped."""

    why: Reason


class RunWithoutImports(TraceRemark, frozen=True):
    """How long the run took."""

    time: str


class TimesWithCalled(TraceRemark, frozen=True):
    """What times of operators have in them; `python`: they called Python, which is not in them."""

    python: bool


# --- what stands below other views ---


class CallsAreRecorded(TraceRemark, frozen=True):
    """Which calls are counted."""


class CountedTwice(TraceRemark, frozen=True):
    """What operators called stands in several rows."""


class SharesOfStepped(TraceRemark, frozen=True):
    """What shares of operators are parts of."""

    nested: CountedTwice | None


class SharesOfPath(TraceRemark, frozen=True):
    """What shares of steps are parts of, and what has no row; `kernels`: unless it is one."""

    cut: bool
    least: str
    kernels: bool


class PythonIn(TraceRemark, frozen=True):
    """In which rows the interpreter's own work is."""

    rows: tuple[str, ...]


class CallsWithoutRow(TraceRemark, frozen=True):
    """How many calls of operators have no row."""

    left: int
    calls: int
    share: TraceRemark | None


class ShareOfAll(TraceRemark, frozen=True):
    """A share of all instructions that were counted."""

    share: str
    cut: bool


class KeysNotNamed(TraceRemark, frozen=True):
    """Why no key is named of calls of these operators."""

    operators: tuple[str, ...]
    more: bool
    why: Reason


class RanAgain(TraceRemark, frozen=True):
    """What a node of backward ran again."""

    modules: tuple[str | NotKept, ...]
    function: str
    path: str | None
    node: str
    few: int
    cost: bool  # it is in the node's


class NotKept(TraceRemark, frozen=True):
    """What ran again is no module."""


class MoreRanAgain(TraceRemark, frozen=True):
    """Further nodes that ran something again."""

    few: int


class Found(TraceRemark, frozen=True):
    """A finding, and how often it was made, where not once."""

    kind: str
    told: str
    few: int = 0


class FoundByNameIn(TraceRemark, frozen=True):
    """What a sign at places says: they were found by name."""

    versions: tuple[str | AnotherVersion, ...]
    own: str


class AnotherVersion(TraceRemark, frozen=True):
    """A version that is not known."""


# --- what a next command shows ---


class AllSteps(TraceRemark, frozen=True):
    """All steps of the trace."""

    count: int


class AllFunctionCalls(TraceRemark, frozen=True):
    """All function calls that were stepped: of which operators, where not of the whole run."""

    count: int
    of: tuple[str | OneOperator, ...] = ()
    cut: bool = False


class OneOperator(TraceRemark, frozen=True):
    """An operator whose name is not known."""


class InsideOf(TraceRemark, frozen=True):
    """What a part did."""

    name: str


class OperatorsBy(TraceRemark, frozen=True):
    """The operators, by cost or by how often they were called."""

    cost: bool


class FirstRowOpened(TraceRemark, frozen=True):
    """The first row, with what is in it."""


class EverythingInIt(TraceRemark, frozen=True):
    """All that is in what is shown."""


class HowThatIsKnown(TraceRemark, frozen=True):
    """What is known of an error, and how."""


class WhyTheseKeys(TraceRemark, frozen=True):
    """Why these dispatch keys were taken."""


class SignsAndColumns(TraceRemark, frozen=True):
    """Shows what signs and columns mean."""


class ByOperator(TraceRemark, frozen=True):
    """The same by operator."""
