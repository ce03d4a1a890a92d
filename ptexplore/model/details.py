"""Details: the phrases of a row, as codes with arguments. `view/words` turns them into text; no code reads that text.

The class is the code, the fields are the arguments. `view/words/details.py` has the template of each detail.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias, Union

from msgspec import Struct

from ptexplore.model.codes import code_of, every, with_held
from ptexplore.model.reasons import AnyReason
from ptexplore.model.trace import Status

UNKNOWN_KEY = "?"  # shown after the dispatch keys of a call if further keys are not known


class Detail(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="code", tag=code_of):
    """One phrase of a row."""


class Beside(Detail, frozen=True):
    """A detail that continues the detail before it."""


# --- status ---


class KnownAs(Detail, frozen=True):
    """The status of a hop that was not seen to run, with the reasons."""

    status: Status
    told: tuple[AnyDetail, ...] = ()
    of_key: bool = False  # only the key is not seen; its kernel is


class OrderUnknown(Beside, frozen=True):
    """The hop ran before, after or inside the rows beside it: the order is not known."""


class InOtherThread(Beside, frozen=True):
    """Another thread ran the hop; its caller there is not known."""


# --- Python ---


class EvaluatesExpression(Detail, frozen=True):
    """Python itself, which evaluates the expression."""


class PythonEvaluates(Detail, frozen=True):
    """The part of the run in which Python evaluates the expression."""


class CallsBackward(Detail, frozen=True):
    """The part of the run in which Python calls backward on `of`."""

    of: str


class PythonFunction(Detail, frozen=True):
    """A Python function."""


class CompilesFrame(Detail, frozen=True):
    """torch.compile compiles a Python function."""


class ResumedFunction(PythonFunction, frozen=True):
    """A generator or coroutine that continues."""


class CalledByPython(Detail, frozen=True):
    """A hop that Python calls, and whose function no recorder saw."""


class NotEntered(Detail, frozen=True):
    """A function that Python called and whose body did not begin."""


class CannotBeCalled(Detail, frozen=True):
    """An object that Python tried to call and that is not callable."""


class CallsItself(Beside, frozen=True):
    """Each call was made inside the call before it."""


class Holds(Detail, frozen=True):
    """The number of calls inside a collapsed row."""

    each: bool = False  # the count is for each of the calls that the row stands for


class HoldsOperators(Holds, frozen=True, kw_only=True):
    """The number of outermost operator calls in the row."""

    operators: int


class HoldsNodes(Holds, frozen=True, kw_only=True):
    """The number of nodes that run in the row."""

    nodes: int


class HoldsBoth(Holds, frozen=True, kw_only=True):
    """The number of outermost operator calls in the row, and of nodes that run in it."""

    operators: int
    nodes: int


class NoOperator(Detail, frozen=True):
    """No operator was seen in the row."""


class NoOperators(Detail, frozen=True):
    """No operator was seen in any call of the row."""


class SeveralFunctions(PythonFunction, frozen=True):
    """Several Python functions in one row; their order is not shown."""


class SeveralBindings(Detail, frozen=True):
    """Several bindings in one row; their order is not shown."""


class FunctionsAndBindings(PythonFunction, frozen=True):
    """Several Python functions and bindings in one row; their order is not shown."""


class CalledBinding(Detail, frozen=True):
    """A C function that Python calls and that calls operators."""


class BindingLeft(CalledBinding, frozen=True):
    """A binding that an exception propagated out of."""


class Module(Detail, frozen=True):
    """A call of a module."""


# --- operators and their keys ---


class CalledOperator(Detail, frozen=True):
    """A call of an operator."""


class OperatorFailed(CalledOperator, frozen=True):
    """An operator call with an error that was caught."""

    message: str


class KeysUnknown(Detail, frozen=True):
    """No dispatch key of the call is known."""


class NextKeyUnknown(Detail, frozen=True):
    """No further dispatch key of the call is known."""


class WithKeys(Detail, frozen=True):
    """A detail with the dispatch keys of a call, in order."""

    keys: tuple[str, ...] = ()


class ThroughKeys(WithKeys, frozen=True):
    """The dispatch keys of an operator call."""


class KeysNextUnknown(WithKeys, frozen=True):
    """The dispatch keys of an operator call; further keys are not known."""


class CallsOperator(WithKeys, frozen=True, kw_only=True):
    """The operator that a collapsed row calls, with its keys."""

    operator: str


class CallsOperatorNextUnknown(CallsOperator, frozen=True):
    """The operator that a collapsed row calls, with its keys; further keys are not known."""


class CallsSeveral(Detail, frozen=True):
    """The first of several operators that a collapsed row calls."""

    operator: str


class Begins(Detail, frozen=True):
    """The first thing inside a collapsed row."""


class ThenKeys(Begins, frozen=True):
    """The next keys inside a collapsed row."""

    keys: tuple[str, ...]


class CallsFirst(Begins, frozen=True):
    """The operator or function that a collapsed row calls first."""

    name: str
    more: bool = False  # it calls further operators


class CallsOthers(Detail, frozen=True):
    """One kernel for all keys; it calls other operators."""


class Runs(Detail, frozen=True):
    """The kernels that ran in the row."""

    kernels: tuple[str, ...]
    more: int = 0  # how many more kernels ran


class WayOfCall(WithKeys, frozen=True):
    """The route of a call: its keys, and the kernel after them."""

    kernel: str = ""


# Why a key is taken.


class NextKey(Detail, frozen=True):
    """The kernel before it redispatched without its own key."""


class AutogradExcluded(Detail, frozen=True):
    """The thread-local sets exclude the autograd keys."""


class OnlyKey(Detail, frozen=True):
    """There was no other key to choose."""


class OnlyKeyLeft(Detail, frozen=True):
    """The only key left: the thread-local sets exclude all other keys of the arguments, if there are any."""


class HighestOfSet(Detail, frozen=True):
    """The highest key of a set."""

    set: str


class HighestOfUnread(Detail, frozen=True):
    """The highest key of a set and of some arguments whose key sets were not read."""

    arguments: tuple[str, ...]
    set: str = ""


# What the kernel of a key does.


class OneForAllKeys(Detail, frozen=True):
    """One kernel for all keys (CompositeImplicitAutograd); it calls no other operator here."""


class OneForAnyBackend(Detail, frozen=True):
    """One kernel for all backends (CompositeExplicitAutograd)."""


class OneForAllOperators(Detail, frozen=True):
    """The fallback of the key: one kernel for all operators."""


class TracksViews(Detail, frozen=True):
    """The kernel tracks views and in-place writes."""


class BatchingRule(Detail, frozen=True):
    """The operator's batching rule for vmap."""


class NoBatchingRule(Detail, frozen=True):
    """vmap: the operator has no batching rule."""


class BatchedByParts(Detail, frozen=True):
    """vmap of an operator that is made of others (FuncTorchBatchedDecomposition)."""


class BatchingRefused(Detail, frozen=True):
    """vmap: it refuses the operator."""


class ToTransform(Detail, frozen=True):
    """The call goes to the innermost function transform."""


class LeavesTransform(Detail, frozen=True):
    """The call leaves the function transform."""


class OwnOfFunctorch(Detail, frozen=True):
    """functorch's own kernel for the operator, which calls other operators."""


class Functionalizes(Detail, frozen=True):
    """The kernel replaces in-place writes by functions."""


class WrittenInPython(Detail, frozen=True):
    """A tensor subclass or mode that is written in Python handles the call."""


class BackendByOptions(Detail, frozen=True):
    """The options determine the backend, since no tensor does."""


class BackendByBoth(Detail, frozen=True):
    """The kernel computes the next set from its options and its tensors."""


class RecordsNodes(Detail, frozen=True):
    """The nodes that it recorded for backward.

    `saved`: the bytes that the call keeps for them, without leaves and without what an earlier call keeps already.
    """

    nodes: tuple[AnyDetail, ...]
    saved: str = ""


class RecordedOne(Detail, frozen=True):
    """A recorded node, and the place of its entry in derivatives.yaml."""

    node: str
    place: str = ""


class RecordsNode(Detail, frozen=True):
    """It recorded a node that cannot be reached from the result."""


class RecordsNothing(Detail, frozen=True):
    """It recorded no node."""


class RecordsNothingInBackward(Detail, frozen=True):
    """It recorded no node, because grad mode is off in backward."""


class RecordsNothingGradOff(Detail, frozen=True):
    """It recorded no node, because grad mode is off."""


class RecordsNothingNeeded(Detail, frozen=True):
    """It recorded no node, because no input requires grad."""


# --- tensors in memory ---


class Copies(Detail, frozen=True):
    """The data that an operator call copies. Sizes, strides and dtypes that do not change are left out."""

    what: tuple[str, ...] = ()  # the argument that is copied, how many bytes, from which dtype or device to which
    is_view: bool = False  # a view of the argument is copied
    is_cast: bool = False  # the dtype changes
    sizes: tuple[str, ...] = ()
    strides: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()  # the memory formats of both sides, if they differ and both have one
    kept: str = ""  # the strides that both sides have, if they are not contiguous


class CopiesNothing(Detail, frozen=True):
    """A call that copies only if it must: here its result is its argument, or a view of it."""


class ViewsInside(Detail, frozen=True):
    """The operators inside a call that copy only if necessary, if none of these calls copied."""

    operators: tuple[str, ...]


class WritesNewTensor(Detail, frozen=True):
    """The call writes elements of its arguments into a new tensor: how many bytes, if known."""

    bytes: str = ""


class CopiesMore(Beside, frozen=True):
    """Further copies inside an operator call."""

    copies: int


class BecauseOf(Detail, frozen=True):
    """The reason of a hop."""

    reason: AnyReason


class HasStrides(Detail, frozen=True):
    """An argument that is not contiguous. `more` counts further ones."""

    argument: str
    sizes: str
    strides: str
    format: str = ""  # the memory format that it has
    more: int = 0


# --- C++ functions ---


class KernelBehindStub(Detail, frozen=True):
    """The kernel behind a dispatch stub."""


class KernelFor(KernelBehindStub, frozen=True):
    """The kernel behind a dispatch stub, with the CPU capability that it needs."""

    capability: str


class KernelForAny(KernelBehindStub, frozen=True):
    """The kernel behind a dispatch stub, compiled for any processor."""


class KernelOfStub(KernelBehindStub, frozen=True):
    """The kernel of a dispatch stub, whose CPU capability is not known."""

    line: str = ""  # the line that decides whether it runs, if it was not seen to run


class LoopOverElements(Detail, frozen=True):
    """The loop over the elements."""


class OwnCode(Detail, frozen=True):
    """Most instructions of the row are in the function itself, or in functions that the compiler put into it."""


class SetsUpResult(Detail, frozen=True):
    """The meta function of a structured kernel, which created the result."""


class WorksOutShapes(Detail, frozen=True):
    """The meta function of a structured kernel; the result already existed."""


class Computes(Detail, frozen=True):
    """The impl function of a structured kernel."""


class MarkedRange(Detail, frozen=True):
    """A range that code marks for the profiler."""


class MarkedRangeBegins(Detail, frozen=True):
    """The beginning of a range that code marks for the profiler; its end is not known."""


class Role(Detail, frozen=True):
    """The role of a function, from the rules of the readable tree."""

    role: str


class Chooses(Detail, frozen=True):
    """It chose `chosen`; `refused` has the better code that it did not take, with the check that said no.

    `instead` has the operators that an earlier run called where the stepped run called others.
    """

    chosen: str = ""
    refused: tuple[AnyDetail, ...] = ()
    instead: tuple[str, ...] = ()


class ChoosesUnseen(Detail, frozen=True):
    """It chooses the code that computes; no answer was seen."""


class CheckRefused(Detail, frozen=True):
    """Code that was not taken, the check that said no, and what this means."""

    name: str
    check: str
    means: AnyDetail | None = None


class AlsoRefused(Detail, frozen=True):
    """Checks that said no, and about which nothing more is known."""

    checks: tuple[str, ...]


class Takes(Detail, frozen=True):
    """A check gave the work to a library."""

    library: str
    check: str = ""


class NotTaken(Detail, frozen=True):
    """A check did not give the work to a library, and what this means, as far as its code says."""

    library: str
    check: str = ""
    means: AnyDetail | None = None


class ByTypePrecision(Detail, frozen=True):
    """The dtypes, the sizes and the precision setting of float32 decide about oneDNN."""


class ByPrecision(Detail, frozen=True):
    """The sizes and the precision setting of float32 decide about oneDNN."""


class BySizeProcessor(Detail, frozen=True):
    """The sizes, the abilities of the processor and a setting decide about oneDNN."""


class ByTypeSizeThreads(Detail, frozen=True):
    """The dtype, the sizes and the number of threads decide."""


class MkldnnDisabled(Detail, frozen=True):
    """torch.backends.mkldnn is disabled."""


class FlashDisabled(Detail, frozen=True):
    """torch.backends.cuda or sdpa_kernel disabled flash attention."""


class InputIsNested(Detail, frozen=True):
    """An input is a nested tensor."""


class DropoutGiven(Detail, frozen=True):
    """dropout_p is not 0."""


class InputsNotOfFourDimensions(Detail, frozen=True):
    """Query, key and value do not all have four dimensions."""


class BatchesOrHeadsDiffer(Detail, frozen=True):
    """Query, key and value differ in batch size or number of heads."""


class MaskNotTaken(Detail, frozen=True):
    """The mask requires grad, or its shape is not one of those that are taken."""


class HeadSizesDiffer(Detail, frozen=True):
    """Query, key and value differ in their last dimension."""


class SequenceEmpty(Detail, frozen=True):
    """A sequence has length 0."""


class LastStrideNotOne(Detail, frozen=True):
    """The last dimension of an input or of the mask does not have stride 1."""


class DtypeNotTaken(Detail, frozen=True):
    """The dtypes differ, or this code does not take them."""


class FastEmbeddingBag(Detail, frozen=True):
    """The embedding bag takes its fast path."""


class SlowEmbeddingBag(Detail, frozen=True):
    """The embedding bag does not take its fast path."""


class ExpandedIndex(Detail, frozen=True):
    """The index selects whole rows (one number for each row), and the kernel for this runs."""


class NotExpandedIndex(Detail, frozen=True):
    """The kernel for an index that selects whole rows does not run."""


class NoFastPath(Detail, frozen=True):
    """A module's forward did not take its fast path, and the reason that it noted."""

    why: str


class ByAlgorithm(Detail, frozen=True):
    """An algorithm of the C++ standard library ran inside."""

    name: str


class ByDefault(Detail, frozen=True):
    """What an optimizer uses if its caller named neither fused nor foreach."""

    kind: str


class OneByOne(Detail, frozen=True):
    """An optimizer updates the parameters one by one. `devices`: where foreach is the default."""

    devices: str = ""


class Differentiable(Detail, frozen=True):
    """An optimizer updates the parameters one by one, because it is differentiable."""


class FastSetup(Detail, frozen=True):
    """The fast set-up that the iterator took."""

    layout: str


class NoFastSetup(Detail, frozen=True):
    """The iterator took no fast set-up."""


class AsksWorkspace(Detail, frozen=True):
    """A library call that only asks for the size of a workspace."""

    library: str


class LibraryReports(Detail, frozen=True):
    """What a linked library reported about a call: the problem, and the implementation that it used."""

    library: str
    problem: str
    implementation: str = ""
    took: str = ""


class OneOfAlike(Detail, frozen=True):
    """A function that shares its machine code with others; `count` is the number of all."""

    count: int


class InLibrary(Detail, frozen=True):
    """Code of a linked library."""

    library: str


class RanInLibrary(Detail, frozen=True):
    """What an operator ran in linked libraries; `took`: the time of the first one."""

    first: str
    took: str = ""
    more: int = 0  # further functions in the same call
    unlike: int = 0  # number of calls that ran something else


class Launched(Detail, frozen=True):
    """Work that was launched on a device."""


class OnDevice(Detail, frozen=True):
    """How long the device worked on it."""

    took: str = ""


class Launches(Detail, frozen=True):
    """The kernels that an operator launched on devices."""

    kernel: str
    more: int = 0


# --- nodes of the graph ---


class RunNode(Detail, frozen=True):
    """A node that backward runs."""


class RecordedNode(Detail, frozen=True):
    """A node that was recorded for backward."""


class Formulas(Detail, frozen=True):
    """The formulas of a node."""

    formulas: str


class ArgumentLayout(Detail, frozen=True):
    """The sizes and strides of an argument that is not contiguous, as Python writes tuples."""

    name: str
    sizes: str
    strides: str


class CaughtErrorMade(Detail, frozen=True):
    """An operator made an error, and somebody caught it."""

    message: str


class CallNotTakenAt(Detail, frozen=True):
    """A call that the source contains and that did not run: of `stub`, through these functions. Its place follows."""

    stub: str
    through: tuple[str, ...] = ()


class UnderCondition(Detail, frozen=True):
    """The place of the condition of a call follows."""


class ArgumentKeys(Detail, frozen=True):
    """These arguments have this set of dispatch keys."""

    names: tuple[str, ...]
    keys: str


class KeySet(Detail, frozen=True):
    """A set of dispatch keys."""

    keys: str


class WrapsKeys(Detail, frozen=True):
    """The sets of the tensors that an argument wraps, each one wrapping the next one."""

    name: str
    sets: tuple[KeySet, ...]


class KeysNotRead(Detail, frozen=True):
    """The keys of these arguments were not read; `few` is 1 if the reason is known."""

    names: tuple[str, ...]
    why: tuple[AnyReason, ...] = ()
    few: int = 0


class KeysIncluded(Detail, frozen=True):
    """The thread-local set of keys that are included."""

    keys: str


class KeysExcluded(Detail, frozen=True):
    """The thread-local set of keys that are excluded."""

    keys: str


class ThreadLocalKeys(Detail, frozen=True):
    """The thread-local sets of keys, with the reason."""

    sets: tuple[KeysIncluded | KeysExcluded, ...]
    why: tuple[AnyReason, ...] = ()


class TakenHighestKey(Detail, frozen=True):
    """The highest key of a set, its entry in the dispatch table, and the `few` keys that only fall through."""

    keys: str
    entry: str
    unread: tuple[str, ...] = ()  # arguments whose keys are missing in the set
    skipped: tuple[str, ...] = ()
    few: int = 0


class MappedDimension(Detail, frozen=True):
    """A transform maps over a dimension of an argument."""

    name: str
    dim: int


class InsideTransform(Detail, frozen=True):
    """An active function transform, and the dimensions that it maps over."""

    transform: str
    level: int
    mapped: tuple[MappedDimension, ...] = ()


class TakesGradient(Detail, frozen=True):
    """The gradient that reaches a node is taken, and the node does not run."""

    node: str


class ErrorBeforeNode(Detail, frozen=True):
    """An error ended the run before a node ran."""

    node: str


class RegisteredAt(Detail, frozen=True):
    """The place of a registration follows."""


class DeclaredAt(Detail, frozen=True):
    """The place of a declaration follows."""

    label: str = ""


class FormulaFor(Detail, frozen=True):
    """The inputs for which a node has a formula."""

    inputs: tuple[str, ...]


class EngineRuns(Detail, frozen=True):
    """The autograd engine, which runs the nodes."""


class NodeNotRun(Detail, frozen=True):
    """A node that the engine reaches and does not run."""

    node: str
    reasons: tuple[AnyDetail, ...]


class GradientTaken(Detail, frozen=True):
    """The node's gradient is taken, because you asked for it."""


class LeadsNowhere(Detail, frozen=True):
    """The node does not lead to any input that you asked for."""


class ErrorFirst(Detail, frozen=True):
    """An error came before the node ran."""


class AutogradFunction(Detail, frozen=True):
    """A torch.autograd.Function."""


# --- errors, and the end of the run ---


class ErrorLeft(Detail, frozen=True):
    """An error of this class was raised here, or propagated out of here."""

    exception: str


class HandedErrorLeft(Detail, frozen=True):
    """An error propagated out of here; the final error only passes it on."""


class KilledHere(Detail, frozen=True):
    """A signal killed the process here."""

    signal: str


class ExitedHere(Detail, frozen=True):
    """The process exited here."""

    by: str


class TimeOverHere(Detail, frozen=True):
    """The time of the run was over here."""


class EndedBefore(Detail, frozen=True):
    """Earlier C++ calls that had returned were not seen."""


# --- rows that stand for several calls ---


class OtherCalls(Detail, frozen=True):
    """Calls without a row of their own, in any order: the number of different names."""

    names: int
    other: bool = False  # none of these names has a row


class OthersCostLess(Detail, frozen=True):
    """The operators without a row of their own; none costs more than the operators with a row."""

    others: int


class OthersCalledLess(Detail, frozen=True):
    """The operators without a row of their own; none was called more often than the operators with a row."""

    others: int


class Records(Detail, frozen=True):
    """The node that these calls recorded."""

    node: str


class RecordsSometimes(Detail, frozen=True):
    """The node that some of these calls recorded, as far as they were seen."""

    node: str
    seen: int
    calls: int


class Names(Detail, frozen=True):
    """The operators that a part called itself, the most expensive first, or the parts in it."""

    names: tuple[str, ...]
    more: bool = False


class ModulesAs(Detail, frozen=True):
    """The modules inside have the names and classes of those in another function, which has their rows."""

    function: str


class LaunchedByNone(Detail, frozen=True):
    """Work on a device that no operator launched."""


class OnNoLine(Detail, frozen=True):
    """What a function of yours did itself on no known line: Python, and if `syntax`, operators by syntax."""

    syntax: bool = False


class CalledTimes(Detail, frozen=True):
    """A call with the number of times that a line made it, and for copies the bytes that they copied."""

    name: str
    count: int
    size: str = ""


class ReadsValues(Detail, frozen=True):
    """The calls of a line that give values to Python, or need them for a size: on a device they wait for it."""

    calls: tuple[CalledTimes, ...]


class CompiledTimes(Detail, frozen=True):
    """How often a line of a function ran as a graph that torch.compile had compiled."""

    count: int


class Compiling(Detail, frozen=True):
    """A line during which torch.compile compiled, and how long that took at most."""

    time: str


class CopiesData(Detail, frozen=True):
    """The calls of a line that only copy: casts, moves to a device, `contiguous`, `clone`."""

    calls: tuple[CalledTimes, ...]


class CalledFrom(Detail, frozen=True):
    """The places in your code that led to it."""

    places: tuple[str, ...]
    more: int = 0


def codes() -> tuple[type[Detail], ...]:
    """Returns every code that a row may have."""
    kinds = (Beside, Holds, WithKeys, Begins)  # base classes: no row has them
    return tuple(dict.fromkeys(code for code in every(Detail) if code not in kinds))


# The type of a field that holds details: one of the codes above.
if TYPE_CHECKING:
    AnyDetail: TypeAlias = Detail
else:
    AnyDetail = Union[codes()]  # noqa: UP007  (a tuple of classes has no other form)


def within(details: Iterable[Detail]) -> Iterator[Detail]:
    """Yields these details, and the details inside them."""
    return chain.from_iterable(with_held(detail, Detail) for detail in details)
