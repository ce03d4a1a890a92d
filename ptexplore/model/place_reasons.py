"""Why a place in source is not exact, or not known: codes with arguments. `reasons.py` has all other codes.

The words are in `view/words/places.py`. An argument `place` is "path:line".
"""

# Annotations are no strings here, but for classes that come later: msgspec would evaluate each string, of hundreds of
# classes, in every command that reads a trace.
from typing import TYPE_CHECKING, TypeAlias

from ptexplore.model.codes import OneOf, Reason, Said, UnknownCode

if TYPE_CHECKING:
    from ptexplore.model.remarks import AnswerRemark


class PlaceReason(Reason, frozen=True):
    """Why a place is not better known, or what else is known about it."""


class Joined(PlaceReason, frozen=True):
    """Several reasons together."""

    reasons: "tuple[AnyPlaceReason, ...]"


class OfNamed(PlaceReason, frozen=True):
    """A reason with the name of the function or variable that was looked for."""

    name: str


# --- trees ---


class NotLookedUp(PlaceReason, frozen=True):
    """The place was not looked up yet."""


class OutsideTorch(PlaceReason, frozen=True):
    """The file does not belong to torch."""

    file: str


class NotInRuntime(PlaceReason, frozen=True):
    """The runtime tree does not have the file."""

    path: str


class OtherVersion(PlaceReason, frozen=True):
    """The tree has another version than the torch that ran."""

    tree: str
    version: str
    torch: str


class NotIndexed(PlaceReason, frozen=True):
    """The installed text was not searched, because it has no index."""


class NotInWheel(PlaceReason, frozen=True):
    """It is hand-written C++, and the wheel has no text of it. `trees`: the other trees that were searched."""

    trees: tuple[str, ...] = ()


# --- how a checkout relates to the torch that ran ---


class OtherCommit(PlaceReason, frozen=True):
    """The checkout has another commit than the torch that ran."""

    checkout: str
    commit: str
    torch: str
    torch_commit: str
    release: str = ""  # the checkout's release, if its commit is known as one


class SameCommit(PlaceReason, frozen=True):
    """The checkout is unmodified and has the commit of the torch that ran."""

    checkout: str
    commit: str
    torch: str
    torch_commit: str


class SameArchive(PlaceReason, frozen=True):
    """The checkout came from the archive of a release, and this release has the commit of the torch that ran."""

    checkout: str
    release: str
    torch: str
    torch_commit: str


class BuiltThere(PlaceReason, frozen=True):
    """Torch was built in this tree, and no file of C++ changed after its newest library was linked."""

    checkout: str
    torch: str


class ChangedSinceBuilt(PlaceReason, frozen=True):
    """Torch was built in this tree, and files of C++ changed after its newest library was linked."""

    checkout: str
    torch: str
    count: int
    files: tuple[str, ...]  # the first few
    more: bool = False


class OfExtension(PlaceReason, frozen=True):
    """The checkout is the source of an extension."""

    checkout: str


class NothingInCommon(PlaceReason, frozen=True):
    """The checkout has no file that the installed torch also has."""

    checkout: str
    torch: str


class FilesDiffer(PlaceReason, frozen=True):
    """Files of the checkout differ from those in the installed torch."""

    count: int
    compared: int
    torch: str
    files: tuple[str, ...]  # the first few
    more: bool = False


class RecordsMiss(PlaceReason, frozen=True):
    """The text of the checkout does not confirm some registration records of the torch that ran."""

    count: int
    compared: int
    torch: str
    checkout: str


class AllAgrees(PlaceReason, frozen=True):
    """The checkout's commit is not known; its files equal those of torch, and it confirms all records."""

    checkout: str
    files: int
    torch: str
    records: int


# --- what the binary's records name ---


class RecordUnconfirmed(PlaceReason, frozen=True):
    """The binary's record names the line, and no text confirms it."""

    because: "AnyPlaceReason"


class NothingConfirms(PlaceReason, frozen=True):
    """There is no text here that could confirm the line."""


class NoTextOf(PlaceReason, frozen=True):
    """There is no text of this version here that could confirm the line."""

    version: str


class ThrowsNothing(PlaceReason, frozen=True):
    """The line has no statement that throws."""


class HasOtherWords(PlaceReason, frozen=True):
    """The statement at the line throws, but not this message: the text is from another version."""


class FromPython(PlaceReason, frozen=True):
    """Python registered it."""


class RecordCompared(PlaceReason, frozen=True):
    """The result of comparing a record with a text, in a saved trace from before there were codes for it."""

    outcome: str
    tree: str = ""  # the tree of the text, if it is not the runtime tree


class ComparedWith(PlaceReason, frozen=True):
    """The result of comparing a record with the text of another tree than the runtime tree."""

    tree: str
    because: "AnyPlaceReason"


class NoMacro(PlaceReason, frozen=True):
    """The text has no registration macro at the record's line."""

    line: int | None


class MacroForOthers(PlaceReason, frozen=True):
    """The macro at the record's line is for other keys."""

    line: int | None
    keys: tuple[str, ...]
    key: str  # the record's key; "" for a schema


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
    """The record's file is not one of the generated files here."""

    path: str


class RecordHandWritten(PlaceReason, frozen=True):
    """The record is about hand-written C++, and the wheel has no text of it."""


class RecordWithoutFile(PlaceReason, frozen=True):
    """The record names no file."""

    of_torch: bool = False  # the record may name a file outside of PyTorch


class NoCallable(PlaceReason, frozen=True):
    """Python registered it, and no Python table names the callable."""


class SeveralCallables(PlaceReason, frozen=True):
    """Python tables name several callables for the record."""

    count: int


class CallableOutside(PlaceReason, frozen=True):
    """The callable that Python registered is in no file of torch."""


class CallableMoved(PlaceReason, frozen=True):
    """The callable's def is not at the line in its code object."""


class NoLibraryMade(PlaceReason, frozen=True):
    """The record's line creates no torch.library.Library."""

    path: str
    line: int | None


class NotInTree(PlaceReason, frozen=True):
    """The tree does not have the record's file."""

    path: str
    tree: str


class EntryNamesNoFile(PlaceReason, frozen=True):
    """The entry of the dispatch table names no file."""

    raw: str


class RecordNamesLine(PlaceReason, frozen=True):
    """The binary's record names another line, because the tree has another version."""

    line: int | None


# --- definitions ---


class DeclaredTimes(OfNamed, frozen=True):
    """Headers declare the name several times."""

    count: int


class DefinedTimes(OfNamed, frozen=True):
    """A stub or its kernel is defined several times."""

    count: int


class MayMean(OfNamed, frozen=True):
    """The name can mean several definitions."""

    count: int


class DefinedAlike(OfNamed, frozen=True):
    """Several definitions have this name and these parameter types."""

    count: int


class DefinedWithAsMany(OfNamed, frozen=True):
    """Several definitions have this name and this number of parameters."""

    count: int


class DefinedWithOtherTypes(OfNamed, frozen=True):
    """Several definitions in another version have this name and this number of parameters, with other types."""

    count: int


class DefinedInGenerated(OfNamed, frozen=True):
    """Several generated files define the name."""

    count: int


class NoDefinition(OfNamed, frozen=True):
    """The tree has no definition of this function."""

    tree: str


class LeftOut(OfNamed, frozen=True):
    """The tree defines the name only in code that this build leaves out."""

    tree: str


class OnlyInTemplate(OfNamed, frozen=True):
    """The tree has it only in a template of torchgen."""

    tree: str
    template: str


class OtherParameters(OfNamed, frozen=True):
    """The tree defines it only with other parameters."""

    tree: str


class DefinedElsewhere(PlaceReason, frozen=True):
    """It is compiled from `unit`, and other files define the name."""

    unit: str
    tree: str


class FileDefinesNone(OfNamed, frozen=True):
    """The file of the registration does not define the name."""

    path: str


class HeaderHolds(OfNamed, frozen=True):
    """A generated header has no function of this name, or several."""

    path: str
    count: int


class SharedCode(PlaceReason, frozen=True):
    """Several functions share this machine code."""

    count: int


class TableNamesUndefined(OfNamed, frozen=True):
    """A Python table names it, and no definition was found."""


# --- functions that PyTorch's source does not have ---


class OfLibrary(PlaceReason, frozen=True):
    """It belongs to a library that is linked into torch."""

    library: str


class CalledByLibrary(PlaceReason, frozen=True):
    """It belongs to a library that is linked into torch, and the library's own code calls it."""

    library: str


class OtherLibrary(PlaceReason, frozen=True):
    """It belongs to a library that is not torch's."""

    library: str


class NotPyTorchs(PlaceReason, frozen=True):
    """The library's source is not part of PyTorch."""

    library: str


class MadeWhileRunning(PlaceReason, frozen=True):
    """The code was created while the program ran."""


class NotNamed(PlaceReason, frozen=True):
    """The library has no name for it."""

    library: str


class NotDemangled(PlaceReason, frozen=True):
    """The demangler cannot read the name."""


class StandardLibrary(PlaceReason, frozen=True):
    """It belongs to the C++ standard library."""


class StandardLibraryFor(OfNamed, frozen=True):
    """It belongs to the C++ standard library, and runs for the function `name`."""

    library: str
    place: str = ""


class NoOpsFunction(PlaceReason, frozen=True):
    """The operator has no function in at::_ops, because native_functions.yaml does not list it."""


class NoEntryFunction(PlaceReason, frozen=True):
    """The operator has no function in at::_ops."""


class BoxedByInterpreter(PlaceReason, frozen=True):
    """TorchScript's interpreter calls operators boxed, without the entry function."""


class DoneByDriver(PlaceReason, frozen=True):
    """The device ran no kernel but a copy or a fill."""


class KernelElsewhere(PlaceReason, frozen=True):
    """Kernels of libraries, and kernels compiled at run time, have no definition there."""


# --- what the compiler adds ---


class MadeByCompiler(PlaceReason, frozen=True):
    """The compiler made the function."""


class MadeForVariable(OfNamed, frozen=True):
    """The compiler made the function for a thread-local variable."""


class SetsUpVariables(PlaceReason, frozen=True):
    """The compiler made the function: it sets up the thread-local variables of a file, or the one at `place`."""

    unit: str
    place: str = ""


class ImplicitMember(PlaceReason, frozen=True):
    """The compiler makes this member, because the class does not define it."""

    place: str  # the place of the class
    tree: str


# --- lambdas ---


class LambdaOfUnknown(OfNamed, frozen=True):
    """A lambda inside a function that is not known."""


class LambdaInside(OfNamed, frozen=True):
    """A lambda inside this function, and why it is not better known."""

    place: str  # the place of the function
    because: "AnyPlaceReason | None" = None


class LambdaUnread(OfNamed, frozen=True):
    """A lambda inside this function, whose text was not read."""

    place: str  # the place of the function


class SeveralLambdas(PlaceReason, frozen=True):
    """Several lambdas in the function can be meant."""

    count: int


class MayBeAnother(PlaceReason, frozen=True):
    """The lambda in the function's text may be another one."""


class NotShown(PlaceReason, frozen=True):
    """The function's text does not show the lambda."""


class LambdaOutside(PlaceReason, frozen=True):
    """A lambda outside of any function, with the file, if known."""

    unit: str = ""  # the file that it is compiled from


class OnlyLambdaOutside(PlaceReason, frozen=True):
    """The only lambda outside of any function in the file that can be meant."""


class SeveralLambdasOutside(PlaceReason, frozen=True):
    """Several lambdas outside of any function in the file can be meant."""

    path: str
    count: int


class LambdaNotShown(PlaceReason, frozen=True):
    """The file's text outside of any function does not show the lambda."""

    path: str


# --- operators and kernels ---


class OverloadName(PlaceReason, frozen=True):
    """An overload that can be meant."""

    name: str
    boxed: bool = False  # if it was called, the call was boxed


class OverloadsTake(PlaceReason, frozen=True):
    """Overloads are not recorded, and several accept the inputs."""

    overloads: tuple[OverloadName, ...]


class OverloadsFit(PlaceReason, frozen=True):
    """Overloads are not recorded, and several match what was recorded of a boxed call."""

    overloads: tuple[OverloadName, ...]


class NoOverloadTakes(PlaceReason, frozen=True):
    """Overloads are not recorded, and none accepts the inputs."""

    overloads: tuple[OverloadName, ...]


class NoOverloadKnown(PlaceReason, frozen=True):
    """Overloads are not recorded, and none with this name is known."""


class RegisteredLater(PlaceReason, frozen=True):
    """The operator was registered after the catalogue was built."""

    op: str


class RegistrationUnknown(PlaceReason, frozen=True):
    """The registration behind an entry of the dispatch table is not known."""


class RegisteredUnread(PlaceReason, frozen=True):
    """The text of the registration is not read."""

    place: str


class NoPlainFunction(PlaceReason, frozen=True):
    """The registration passes an expression, not a plain function."""

    expression: str


class MakesKernel(PlaceReason, frozen=True):
    """This function creates the kernel."""


class NoSingleBody(PlaceReason, frozen=True):
    """The generated file has no definition with this name, or several."""


class NoGeneratedApply(PlaceReason, frozen=True):
    """No generated file has the node's `apply`."""

    node: str


class NoFileOfKernel(PlaceReason, frozen=True):
    """The Python kernel has no file."""


class MadeByTorchgen(PlaceReason, frozen=True):
    """torchgen made the overload, so native_functions.yaml has no entry for it."""


class NotInYaml(PlaceReason, frozen=True):
    """native_functions.yaml does not list the operator."""


# --- Python ---


class OfBuiltinClass(PlaceReason, frozen=True):
    """The function belongs to a built-in Python class."""

    type: str


class OfPackage(PlaceReason, frozen=True):
    """The function belongs to a class of another package."""

    type: str
    package: str


class FunctionUnseen(PlaceReason, frozen=True):
    """No recorder saw the function that was called."""

    inside: bool = False  # whether something ran inside the call


class BodyNotEntered(PlaceReason, frozen=True):
    """The body of the called function did not begin."""


class NotCallable(PlaceReason, frozen=True):
    """The object is not callable."""

    type: str


# --- hops that are not functions ---


class RangeMarked(PlaceReason, frozen=True):
    """A range that C++ or Python marked for the profiler."""


class RangeBegun(PlaceReason, frozen=True):
    """A range that Python marked for the profiler; its end is not known."""


class InInterpreter(PlaceReason, frozen=True):
    """A function that TorchScript's interpreter runs."""


class NodeOnlyReached(PlaceReason, frozen=True):
    """The engine reached a node and did not run it."""


# --- errors ---


class AsTracebackHas(PlaceReason, frozen=True):
    """A pasted traceback names it."""


class ErrorNamesFile(PlaceReason, frozen=True):
    """The error names a file by a path that is none in PyTorch's repository."""

    file: str


class ThrowNotAsked(PlaceReason, frozen=True):
    """--once does not allow the run that finds where the error was thrown."""


class ThrowRunCut(PlaceReason, frozen=True):
    """The run that finds where the error was thrown did not finish."""


class ThrowUnseen(PlaceReason, frozen=True):
    """No C++ function of torch was seen to raise it."""


class NoLineOfYours(PlaceReason, frozen=True):
    """None of your lines was running."""


KINDS = (PlaceReason, OfNamed)  # base classes of codes

# JSON is read as one of the codes above, or as the sentence of a trace from before there were codes.
if TYPE_CHECKING:
    AnyKeptReason: TypeAlias = Reason
    AnyPlaceReason: TypeAlias = Reason | AnswerRemark  # AnswerRemark: only for places in a search
else:

    class AnyPlaceReason(metaclass=OneOf):
        """Any reason about a place."""

        bases = (Said, UnknownCode, PlaceReason)
        without = KINDS

    AnyKeptReason = AnyPlaceReason
