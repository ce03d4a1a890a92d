"""What stands above and below the rows of a trace: codes with arguments, of which `view/words` makes words.

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


Told: TypeAlias = TraceRemark | Reason  # what a remark may have within it


class InOneLine(TraceRemark, frozen=True):
    """Several remarks that stand on one line."""

    told: tuple[TraceRemark, ...]


# --- what ran ---


class TorchRan(TraceRemark, frozen=True):
    """The version of the torch that ran, with what stands on the same line."""

    version: str
    told: tuple[TraceRemark, ...] = ()


class TorchBuild(TraceRemark, frozen=True):
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
    """Which call the instructions are of, where no more is known of it."""

    cold: bool


class NothingStepped(TraceRemark, frozen=True):
    """Nothing was stepped."""

    why: Told


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
    """Functions of C++ were seen, and no more is known of how."""

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
