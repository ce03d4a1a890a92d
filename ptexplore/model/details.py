"""What a row of a view says of its step: codes with arguments, of which `view/words` makes words. Nothing reads those.

A class is a code, its fields are the arguments. What a detail says stands with its template in `view/words/details.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias, Union

from msgspec import Struct

from ptexplore.model.codes import code_of, every, with_held
from ptexplore.model.trace import Status

UNKNOWN_KEY = "?"  # behind the dispatch keys that a call went through, where more are not known


class Detail(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="code", tag=code_of):
    """One thing that a row says of its step."""


class Beside(Detail, frozen=True):
    """What stands beside the detail before it, as a part of that."""


# --- how it is known ---


class KnownAs(Detail, frozen=True):
    """How the step is known that was not seen to run, and what is said of it."""

    status: Status
    told: tuple[AnyDetail, ...] = ()
    of_key: bool = False  # it is the key that is not seen, while its kernel is


class OrderUnknown(Beside, frozen=True):
    """Whether it ran before, behind or inside of the rows beside it is not known."""


class InOtherThread(Beside, frozen=True):
    """Another thread ran it, and what called it there is not known."""


# --- of Python ---


class EvaluatesExpression(Detail, frozen=True):
    """Python itself, which evaluates the expression."""


class PythonEvaluates(Detail, frozen=True):
    """The part of the run in which Python evaluates the expression."""


class CallsBackward(Detail, frozen=True):
    """The part of the run that is backward: of what."""

    of: str


class PythonFunction(Detail, frozen=True):
    """A function of Python."""


class ResumedFunction(PythonFunction, frozen=True):
    """A generator or coroutine of Python that goes on."""


class CalledByPython(Detail, frozen=True):
    """What Python calls, and no recorder saw the function of."""


class NotEntered(Detail, frozen=True):
    """A function that Python called, and whose body did not begin."""


class CannotBeCalled(Detail, frozen=True):
    """What Python was to call and cannot be called."""


class CallsItself(Beside, frozen=True):
    """Each call was made inside the one before."""


class Holds(Detail, frozen=True):
    """What a row that is closed has inside."""

    each: bool = False  # in each of the calls that the row stands for


class HoldsOperators(Holds, frozen=True, kw_only=True):
    """How many outermost operators are called in it."""

    operators: int


class HoldsNodes(Holds, frozen=True, kw_only=True):
    """How many nodes run in it."""

    nodes: int


class HoldsBoth(Holds, frozen=True, kw_only=True):
    """How many outermost operators are called in it, and how many nodes run."""

    operators: int
    nodes: int


class NoOperator(Detail, frozen=True):
    """No operator was seen in it."""


class NoOperators(Detail, frozen=True):
    """No operator was seen in any of them."""


class SeveralFunctions(PythonFunction, frozen=True):
    """Several functions of Python as one row, which ran in any order."""


class SeveralBindings(Detail, frozen=True):
    """Several bindings as one row, which ran in any order."""


class FunctionsAndBindings(PythonFunction, frozen=True):
    """Several functions of Python and bindings as one row, which ran in any order."""


class CalledBinding(Detail, frozen=True):
    """A function of C that Python calls, and that calls operators."""


class BindingLeft(CalledBinding, frozen=True):
    """A binding that an exception left."""


class Module(Detail, frozen=True):
    """A call of a module."""


# --- operators and their keys ---


class CalledOperator(Detail, frozen=True):
    """A call of an operator."""


class OperatorFailed(CalledOperator, frozen=True):
    """A call of an operator that made an error, which was caught."""

    message: str


class KeysUnknown(Detail, frozen=True):
    """No dispatch key of the call is known."""


class NextKeyUnknown(Detail, frozen=True):
    """No further dispatch key of the call is known."""


class WithKeys(Detail, frozen=True):
    """A detail that names the dispatch keys that a call went through, in order."""

    keys: tuple[str, ...] = ()


class ThroughKeys(WithKeys, frozen=True):
    """The dispatch keys that a call of an operator went through."""


class KeysNextUnknown(WithKeys, frozen=True):
    """The dispatch keys that a call of an operator went through; which further ones is not known."""


class CallsOperator(WithKeys, frozen=True, kw_only=True):
    """The operator that is called in a row that is closed, with its keys."""

    operator: str


class CallsOperatorNextUnknown(CallsOperator, frozen=True):
    """The same of a call of which further keys are not known."""


class CallsSeveral(Detail, frozen=True):
    """The first of several operators that are called in a row that is closed."""

    operator: str


class Begins(Detail, frozen=True):
    """What comes first inside of a row that is closed."""


class ThenKeys(Begins, frozen=True):
    """The keys that follow inside of a row that is closed."""

    keys: tuple[str, ...]


class CallsFirst(Begins, frozen=True):
    """The operator, or the function, that a row that is closed calls first."""

    name: str
    more: bool = False  # it calls further operators


class CallsOthers(Detail, frozen=True):
    """One kernel for all keys, which calls other operators."""


class Runs(Detail, frozen=True):
    """The kernels that ran in it."""

    kernels: tuple[str, ...]
    more: int = 0  # that are not named


class WayOfCall(WithKeys, frozen=True):
    """The way of a call: its keys, and the kernel behind them."""

    kernel: str = ""


# Why a key is taken.


class NextKey(Detail, frozen=True):
    """The kernel before it called the operator again, without its own key."""


class AutogradExcluded(Detail, frozen=True):
    """The thread's own sets leave the keys of autograd out."""


class OnlyKey(Detail, frozen=True):
    """No other key was there to choose."""


class OnlyKeyLeft(Detail, frozen=True):
    """What arguments carry besides, if anything, the thread's own sets leave out."""


class HighestOfSet(Detail, frozen=True):
    """It is the highest of a set."""

    set: str


class HighestOfUnread(Detail, frozen=True):
    """It is the highest of a set and of what some arguments carry, which was not read."""

    arguments: tuple[str, ...]
    set: str = ""


# What the kernel of a key does.


class OneForAllKeys(Detail, frozen=True):
    """One kernel for all keys (CompositeImplicitAutograd), which calls no other operator here."""


class OneForAnyBackend(Detail, frozen=True):
    """One kernel for all backends (CompositeExplicitAutograd)."""


class OneForAllOperators(Detail, frozen=True):
    """The fallback of the key: one kernel for all operators."""


class TracksViews(Detail, frozen=True):
    """The kernel keeps track of views and of in-place writes."""


class BatchingRule(Detail, frozen=True):
    """The operator's batching rule of vmap."""


class NoBatchingRule(Detail, frozen=True):
    """vmap, for which the operator has no rule of its own."""


class BatchedByParts(Detail, frozen=True):
    """vmap of an operator that is made of others (FuncTorchBatchedDecomposition)."""


class BatchingRefused(Detail, frozen=True):
    """vmap, which refuses the operator."""


class ToTransform(Detail, frozen=True):
    """The call goes to the innermost function transform."""


class LeavesTransform(Detail, frozen=True):
    """The call leaves the function transform."""


class OwnOfFunctorch(Detail, frozen=True):
    """functorch's own kernel of the operator, which calls others."""


class Functionalizes(Detail, frozen=True):
    """The kernel turns in-place writes into functions."""


class WrittenInPython(Detail, frozen=True):
    """A tensor subclass or a mode that is written in Python handles the call."""


class BackendByOptions(Detail, frozen=True):
    """No tensor tells the backend: the options do."""


class BackendByBoth(Detail, frozen=True):
    """The kernel makes the next set of its options and of the tensors that it is given."""


class RecordsNodes(Detail, frozen=True):
    """The nodes for backward that it recorded."""

    nodes: tuple[str, ...]


class RecordsNode(Detail, frozen=True):
    """It recorded a node that the result does not lead to."""


class RecordsNothing(Detail, frozen=True):
    """It recorded no node."""


class RecordsNothingInBackward(Detail, frozen=True):
    """It recorded no node, since grad mode is off in backward."""


class RecordsNothingNeeded(Detail, frozen=True):
    """It recorded no node, since no input requires grad."""


# --- functions of C++ ---


class KernelBehindStub(Detail, frozen=True):
    """The kernel behind a dispatch stub."""


class KernelFor(KernelBehindStub, frozen=True):
    """The kernel behind a dispatch stub, and what the processor must have for it."""

    capability: str


class KernelForAny(KernelBehindStub, frozen=True):
    """The kernel behind a dispatch stub, compiled for any processor."""


class KernelOfStub(KernelBehindStub, frozen=True):
    """The kernel of a dispatch stub, of which it is not known what the processor must have."""

    line: str = ""  # that decides whether it runs, where it was not seen to


class LoopOverElements(Detail, frozen=True):
    """The loop over the elements."""


class SetsUpResult(Detail, frozen=True):
    """The meta function of a structured kernel, which made the result."""


class WorksOutShapes(Detail, frozen=True):
    """The meta function of a structured kernel, whose result was given."""


class Computes(Detail, frozen=True):
    """The impl function of a structured kernel."""


class MarkedRange(Detail, frozen=True):
    """A range that code marks for the profiler."""


class MarkedRangeBegins(Detail, frozen=True):
    """The beginning of a range that code marks for the profiler, of which no end is known."""


class Role(Detail, frozen=True):
    """What a function does, as the rule of the readable tree has it."""

    role: str


class AnswerSeen(Detail, frozen=True):
    """What a function asked by calling another one, and what that returned."""

    function: str
    returned: str


class AnswerNotSeen(Detail, frozen=True):
    """What a function asked by calling another one, of which no answer was seen."""

    function: str


class ChoosesBackend(Detail, frozen=True):
    """It chooses which backend computes, by what it asked."""

    asked: tuple[AnyDetail, ...]


class ChoosesBackendUnseen(Detail, frozen=True):
    """It chooses which backend computes, by what was not seen."""


class AsksWorkspace(Detail, frozen=True):
    """A call of a library that only asks for the size of a workspace."""

    library: str


class LibraryReports(Detail, frozen=True):
    """What a linked library told of a call: what it was given, and its own implementation."""

    library: str
    problem: str
    implementation: str = ""


class OneOfAlike(Detail, frozen=True):
    """A function of which so many have the same machine code."""

    count: int


class InLibrary(Detail, frozen=True):
    """Code of a linked library."""

    library: str


class RanInLibrary(Detail, frozen=True):
    """What an operator ran in linked libraries."""

    first: str
    more: int = 0  # in the same call
    unlike: int = 0  # calls that ran something else


class Launched(Detail, frozen=True):
    """What a device was given to do."""


class OnDevice(Detail, frozen=True):
    """How long a device took for it."""

    took: str = ""


class Launches(Detail, frozen=True):
    """What an operator gave devices to do."""

    kernel: str
    more: int = 0


# --- nodes of the graph ---


class RunNode(Detail, frozen=True):
    """A node that backward runs."""


class RecordedNode(Detail, frozen=True):
    """A node that was recorded for backward."""


class Formulas(Detail, frozen=True):
    """The formulas by which a node differentiates."""

    formulas: str


class FormulaFor(Detail, frozen=True):
    """The inputs for which a node has a formula."""

    inputs: tuple[str, ...]


class EngineRuns(Detail, frozen=True):
    """The engine, which runs the nodes."""


class NodeNotRun(Detail, frozen=True):
    """A node that the engine reaches and does not run."""

    node: str
    reasons: tuple[AnyDetail, ...]


class GradientTaken(Detail, frozen=True):
    """Its gradient is taken, since it was asked for."""


class LeadsNowhere(Detail, frozen=True):
    """No input that was asked for is behind it."""


class ErrorFirst(Detail, frozen=True):
    """An error came before it."""


class AutogradFunction(Detail, frozen=True):
    """A torch.autograd.Function."""


# --- where an error came, or the end ---


class ErrorLeft(Detail, frozen=True):
    """An error of a class left it here."""

    exception: str


class HandedErrorLeft(Detail, frozen=True):
    """An error left it here that another one stands for."""


class KilledHere(Detail, frozen=True):
    """A signal killed the process in it."""

    signal: str


class ExitedHere(Detail, frozen=True):
    """The process was ended in it."""

    by: str


class TimeOverHere(Detail, frozen=True):
    """Time was over in it."""


class EndedBefore(Detail, frozen=True):
    """What C++ called before, and had ended, was not seen."""


# --- rows for many ---


class OtherCalls(Detail, frozen=True):
    """The calls that have no row of their own: of how many names, which ran in any order."""

    names: int
    other: bool = False  # none of these names has a row


class OthersCostLess(Detail, frozen=True):
    """The operators that have no row of their own: none cost more than those that have."""

    others: int


class OthersCalledLess(Detail, frozen=True):
    """The operators that have no row of their own: none was called more often than those that have."""

    others: int


class Records(Detail, frozen=True):
    """The node that these calls recorded."""

    node: str


class RecordsSometimes(Detail, frozen=True):
    """The node that some of these calls were seen to have recorded."""

    node: str
    seen: int
    calls: int


class Names(Detail, frozen=True):
    """The operators that a part called itself, the costliest first, or the parts in it."""

    names: tuple[str, ...]
    more: bool = False


class LaunchedByNone(Detail, frozen=True):
    """What a device was given to do by no operator."""


class CalledFrom(Detail, frozen=True):
    """The places of yours that came to it."""

    places: tuple[str, ...]
    more: int = 0


def codes() -> tuple[type[Detail], ...]:
    """Every code that a row may hold, once."""
    kinds = (Beside, Holds, WithKeys, Begins)  # what several have in common, and no row holds
    return tuple(dict.fromkeys(code for code in every(Detail) if code not in kinds))


# What a field that holds details holds: one of the codes above.
if TYPE_CHECKING:
    AnyDetail: TypeAlias = Detail
else:
    AnyDetail = Union[codes()]  # noqa: UP007  (it has no other form for classes in a tuple)


def within(details: Iterable[Detail]) -> Iterator[Detail]:
    """These details, and those that they hold."""
    return chain.from_iterable(with_held(detail, Detail) for detail in details)
