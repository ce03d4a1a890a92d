"""Why a place in source is not exact, or not known: codes with arguments, as `reasons.py` has them for all else.

Their words stand in `view/words/places.py`. An argument `place` is "path:line".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, Union

from ptexplore.model.codes import Reason, Said, every

if TYPE_CHECKING:
    from ptexplore.model.remarks import AnswerRemark


class PlaceReason(Reason, frozen=True):
    """Why a place is no better known, or what else there is to know of it."""


class Joined(PlaceReason, frozen=True):
    """Reasons that hold together."""

    reasons: tuple[AnyPlaceReason, ...]


class OfNamed(PlaceReason, frozen=True):
    """What names the function, or the variable, that was looked for."""

    name: str


# --- trees ---


class NotLookedUp(PlaceReason, frozen=True):
    """Nobody has looked yet."""


class OutsideTorch(PlaceReason, frozen=True):
    """The file is none of torch's."""

    file: str


class NotInRuntime(PlaceReason, frozen=True):
    """The runtime tree does not hold the file."""

    path: str


class OtherVersion(PlaceReason, frozen=True):
    """The tree is of another version than the torch that ran."""

    tree: str
    version: str
    torch: str


class NotIndexed(PlaceReason, frozen=True):
    """The installed text was not asked: it has no index."""


class NotInWheel(PlaceReason, frozen=True):
    """It is hand-written C++, of which the wheel has no text; which trees were asked beside."""

    trees: tuple[str, ...] = ()


# --- how a checkout relates to the torch that ran ---


class OtherCommit(PlaceReason, frozen=True):
    """The checkout is of another commit than the torch."""

    checkout: str
    commit: str
    torch: str
    torch_commit: str
    release: str = ""  # the checkout's, if its commit is known as one


class SameCommit(PlaceReason, frozen=True):
    """The checkout is unmodified, and of the torch's own commit."""

    checkout: str
    commit: str
    torch: str
    torch_commit: str


class SameArchive(PlaceReason, frozen=True):
    """The checkout came from an archive that is known as a release of the torch's own commit."""

    checkout: str
    release: str
    torch: str
    torch_commit: str


class OfExtension(PlaceReason, frozen=True):
    """The checkout is an extension's own source."""

    checkout: str


class NothingInCommon(PlaceReason, frozen=True):
    """The checkout holds no file that the torch has."""

    checkout: str
    torch: str


class FilesDiffer(PlaceReason, frozen=True):
    """Files of the checkout are not as the torch has them."""

    count: int
    compared: int
    torch: str
    files: tuple[str, ...]  # the first few
    more: bool = False


class RecordsMiss(PlaceReason, frozen=True):
    """Registration records of the torch are not confirmed by the checkout's text."""

    count: int
    compared: int
    torch: str
    checkout: str


class AllAgrees(PlaceReason, frozen=True):
    """Nobody knows the checkout; its files are as the torch has them, and all records are confirmed."""

    checkout: str
    files: int
    torch: str
    records: int


# --- what the binary's records name ---


class RecordUnconfirmed(PlaceReason, frozen=True):
    """The binary's record names the line, and no text confirms it."""

    because: AnyPlaceReason


class NothingConfirms(PlaceReason, frozen=True):
    """No text is there that could confirm it."""


class NoTextOf(PlaceReason, frozen=True):
    """No text of that version is there that could confirm it."""

    version: str


class ThrowsNothing(PlaceReason, frozen=True):
    """The line has no statement that throws."""


class FromPython(PlaceReason, frozen=True):
    """Python registered it."""


class RecordCompared(PlaceReason, frozen=True):
    """What the comparison of a record with a text found, as a saved trace has it that had no codes for that."""

    outcome: str
    tree: str = ""  # whose text it was, where that is not the runtime's


class ComparedWith(PlaceReason, frozen=True):
    """What the comparison of a record with the text of another tree than the runtime's found."""

    tree: str
    because: AnyPlaceReason


class NoMacro(PlaceReason, frozen=True):
    """The text has no registration macro at the record's line."""

    line: int | None


class MacroForOthers(PlaceReason, frozen=True):
    """The macro at the record's line is for other keys."""

    line: int | None
    keys: tuple[str, ...]
    key: str  # the record's; "" of a schema


class BlockLacks(PlaceReason, frozen=True):
    """The block at the record's line does not name the operator."""

    line: int | None
    op: str


class BlockHasOtherKey(PlaceReason, frozen=True):
    """The block at the record's line registers the operator under another key."""

    line: int | None
    op: str
    key: str


class BlockNamesTwice(PlaceReason, frozen=True):
    """The block at the record's line names the operator on several lines."""

    line: int | None
    op: str
    lines: tuple[int, ...]


class NotRegenerated(PlaceReason, frozen=True):
    """The record's file is no generated one that is here."""

    path: str


class RecordHandWritten(PlaceReason, frozen=True):
    """The record is of hand-written C++, of which the wheel has no text."""


class RecordWithoutFile(PlaceReason, frozen=True):
    """The record names no file."""

    of_torch: bool = False  # a file that is none of PyTorch's may be named


class NoCallable(PlaceReason, frozen=True):
    """Python registered it, and none of Python's tables names the callable."""


class SeveralCallables(PlaceReason, frozen=True):
    """Python's tables name several callables for the record."""

    count: int


class CallableOutside(PlaceReason, frozen=True):
    """The callable that Python registered is in no file of torch's."""


class CallableMoved(PlaceReason, frozen=True):
    """The callable's def is not at the line that its code object names."""


class NoLibraryMade(PlaceReason, frozen=True):
    """The record's line makes no torch.library.Library."""

    path: str
    line: int | None


class NotInTree(PlaceReason, frozen=True):
    """A tree does not hold the record's file."""

    path: str
    tree: str


class EntryNamesNoFile(PlaceReason, frozen=True):
    """The entry of the dispatch table names no file."""

    raw: str


class RecordNamesLine(PlaceReason, frozen=True):
    """The binary's record names another line: the tree is of another version."""

    line: int | None


# --- definitions ---


class DeclaredTimes(OfNamed, frozen=True):
    """Headers declare it several times."""

    count: int


class DefinedTimes(OfNamed, frozen=True):
    """A stub or its kernel is defined several times."""

    count: int


class MayMean(OfNamed, frozen=True):
    """Several definitions can be meant."""

    count: int


class DefinedAlike(OfNamed, frozen=True):
    """Several definitions have the name and the types of its parameters."""

    count: int


class DefinedWithAsMany(OfNamed, frozen=True):
    """Several definitions have the name and as many parameters."""

    count: int


class DefinedWithOtherTypes(OfNamed, frozen=True):
    """Several definitions of another version have the name and as many parameters, of other types."""

    count: int


class DefinedInGenerated(OfNamed, frozen=True):
    """Several generated files define it."""

    count: int


class NoDefinition(OfNamed, frozen=True):
    """A tree defines no such function."""

    tree: str


class LeftOut(OfNamed, frozen=True):
    """A tree defines it only where this build leaves it out."""

    tree: str


class OnlyInTemplate(OfNamed, frozen=True):
    """A tree has it only in a template of torchgen's."""

    tree: str
    template: str


class OtherParameters(OfNamed, frozen=True):
    """A tree defines it only with other parameters."""

    tree: str


class DefinedElsewhere(PlaceReason, frozen=True):
    """The file that it is compiled from is none of those that define the name."""

    unit: str
    tree: str


class FileDefinesNone(OfNamed, frozen=True):
    """The file that registers it does not define it."""

    path: str


class HeaderHolds(OfNamed, frozen=True):
    """A generated header has not exactly one function of that name."""

    path: str
    count: int


class SharedCode(PlaceReason, frozen=True):
    """Several functions are one piece of code."""

    count: int


class TableNamesUndefined(OfNamed, frozen=True):
    """A table of Python's names it, and nothing defines it."""


# --- functions that PyTorch's source does not have ---


class OfLibrary(PlaceReason, frozen=True):
    """A library has it that is linked into torch."""

    library: str


class CalledByLibrary(PlaceReason, frozen=True):
    """A library that is linked into torch calls it."""

    library: str


class OtherLibrary(PlaceReason, frozen=True):
    """A library that is none of torch's has it."""

    library: str


class NotPyTorchs(PlaceReason, frozen=True):
    """The source of a library is not PyTorch's."""

    library: str


class MadeWhileRunning(PlaceReason, frozen=True):
    """The code was made while the program ran."""


class NotNamed(PlaceReason, frozen=True):
    """The library has no name for it."""

    library: str


class NotDemangled(PlaceReason, frozen=True):
    """The name cannot be read."""


class StandardLibrary(PlaceReason, frozen=True):
    """C++'s standard library has it."""


class StandardLibraryFor(OfNamed, frozen=True):
    """C++'s standard library has it; whose name this is, it runs for that function."""

    library: str
    place: str = ""


class NoOpsFunction(PlaceReason, frozen=True):
    """The operator has no function in at::_ops: YAML does not list it."""


class NoEntryFunction(PlaceReason, frozen=True):
    """The operator has no function in at::_ops."""


class BoxedByInterpreter(PlaceReason, frozen=True):
    """TorchScript's interpreter calls operators without that function."""


class DoneByDriver(PlaceReason, frozen=True):
    """What the device ran is no kernel, but a copy or a fill."""


class KernelElsewhere(PlaceReason, frozen=True):
    """Kernels of libraries, and compiled ones, have no definition there."""


# --- what the compiler adds ---


class MadeByCompiler(PlaceReason, frozen=True):
    """The compiler made the function."""


class MadeForVariable(OfNamed, frozen=True):
    """The compiler made it for a thread-local variable."""


class SetsUpVariables(PlaceReason, frozen=True):
    """The compiler made it: it sets up a file's thread-local variables, or the one at `place`."""

    unit: str
    place: str = ""


class ImplicitMember(PlaceReason, frozen=True):
    """The compiler makes the member of a class that has none of its own."""

    place: str  # of the class
    tree: str


# --- lambdas ---


class LambdaOfUnknown(OfNamed, frozen=True):
    """The function around the lambda is not known."""


class LambdaInside(OfNamed, frozen=True):
    """A lambda of that function, and why it is no better known."""

    place: str  # of the function
    because: AnyPlaceReason | None = None


class LambdaUnread(OfNamed, frozen=True):
    """A lambda of that function, whose text was not read."""

    place: str  # of the function


class SeveralLambdas(PlaceReason, frozen=True):
    """Several lambdas of the function can be meant."""

    count: int


class MayBeAnother(PlaceReason, frozen=True):
    """What is written in the function may be another lambda."""


class NotShown(PlaceReason, frozen=True):
    """What is written in the function does not show the lambda."""


class LambdaOutside(PlaceReason, frozen=True):
    """A lambda outside of any function, and what is known of where."""

    unit: str = ""  # what it is compiled from


class OnlyLambdaOutside(PlaceReason, frozen=True):
    """It is the only lambda of the file outside of any function that it can be."""


class SeveralLambdasOutside(PlaceReason, frozen=True):
    """Several lambdas of a file outside of any function can be meant."""

    path: str
    count: int


class LambdaNotShown(PlaceReason, frozen=True):
    """What is written in the file outside of any function does not show the lambda."""

    path: str


# --- operators and kernels ---


class OverloadName(PlaceReason, frozen=True):
    """An overload that can be meant."""

    name: str
    boxed: bool = False  # if it was called, then boxed


class OverloadsTake(PlaceReason, frozen=True):
    """Overloads are not recorded, and several take the inputs."""

    overloads: tuple[OverloadName, ...]


class OverloadsFit(PlaceReason, frozen=True):
    """Overloads are not recorded, and several fit what was recorded of a boxed call."""

    overloads: tuple[OverloadName, ...]


class NoOverloadTakes(PlaceReason, frozen=True):
    """Overloads are not recorded, and none takes the inputs."""

    overloads: tuple[OverloadName, ...]


class NoOverloadKnown(PlaceReason, frozen=True):
    """Overloads are not recorded, and none is known of that name."""


class RegisteredLater(PlaceReason, frozen=True):
    """The operator was registered after the catalogue was built."""

    op: str


class RegistrationUnknown(PlaceReason, frozen=True):
    """Which registration an entry of the dispatch table is of is not known."""


class RegisteredUnread(PlaceReason, frozen=True):
    """The text that registers the kernel is not read."""

    place: str


class NoPlainFunction(PlaceReason, frozen=True):
    """What is registered is an expression."""

    expression: str


class MakesKernel(PlaceReason, frozen=True):
    """It is the function that makes the kernel."""


class NoSingleBody(PlaceReason, frozen=True):
    """The generated file does not define exactly one function of that name."""


class NoGeneratedApply(PlaceReason, frozen=True):
    """No generated file has the node's `apply`."""

    node: str


class NoFileOfKernel(PlaceReason, frozen=True):
    """The kernel of Python has no file."""


class MadeByTorchgen(PlaceReason, frozen=True):
    """Torchgen made the overload: YAML has no entry of it."""


class NotInYaml(PlaceReason, frozen=True):
    """YAML does not list the operator."""


# --- Python ---


class OfBuiltinClass(PlaceReason, frozen=True):
    """A class of Python's own has the function."""

    type: str


class OfPackage(PlaceReason, frozen=True):
    """A class of another package has the function."""

    type: str
    package: str


class FunctionUnseen(PlaceReason, frozen=True):
    """No recorder saw the function that was called."""

    inside: bool = False  # whether something ran inside of the call


class BodyNotEntered(PlaceReason, frozen=True):
    """The function that was called did not begin."""


class NotCallable(PlaceReason, frozen=True):
    """What was called cannot be called."""

    type: str


# --- what is no function ---


class RangeMarked(PlaceReason, frozen=True):
    """A range that C++ or Python marked for the profiler."""


class RangeBegun(PlaceReason, frozen=True):
    """A range that Python marked for the profiler, whose end is not told."""


class InInterpreter(PlaceReason, frozen=True):
    """A function of TorchScript's."""


class NodeOnlyReached(PlaceReason, frozen=True):
    """The engine came to a node and did not run it."""


# --- errors ---


class AsTracebackHas(PlaceReason, frozen=True):
    """A pasted traceback names it."""


class ErrorNamesFile(PlaceReason, frozen=True):
    """The error names a file that is none of PyTorch's."""

    file: str


class ThrowNotAsked(PlaceReason, frozen=True):
    """--once allows no run that tells where it was thrown."""


class ThrowRunCut(PlaceReason, frozen=True):
    """The run that tells where it was thrown did not end."""


class ThrowUnseen(PlaceReason, frozen=True):
    """No function of torch's C++ was seen to raise it."""


class NoLineOfYours(PlaceReason, frozen=True):
    """No line of the user's was at work."""


KINDS = (PlaceReason, OfNamed)  # what codes are derived from, and is none

# What JSON is read as: one of the codes above, or a sentence of a trace that had none.
_EVERY = (Said, *(code for code in every(PlaceReason) if code not in KINDS))
if TYPE_CHECKING:
    AnyKeptReason: TypeAlias = Reason
    AnyPlaceReason: TypeAlias = Reason | AnswerRemark  # the latter of places that only a search makes
else:
    AnyKeptReason = AnyPlaceReason = Union[_EVERY]  # noqa: UP007  (it has no other form for classes in a tuple)
