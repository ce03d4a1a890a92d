"""What was observed of one expression, and what is concluded from it: sessions, hops, Trails.

These records are the schema of saved traces too. `saved/` reads and writes them;
`scripts/json-docs` makes the tables of docs/json.md from the docstrings and comments here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias, TypeVar

from ptexplore.model.hop_kinds import HopKind
from ptexplore.model.observed import EndedBy, Observation, Phase, SavedObservation
from ptexplore.model.operators import KernelRef
from ptexplore.model.options import TraceOptions
from ptexplore.model.places import SourceRef, TreeInfo
from ptexplore.model.program import Program
from ptexplore.model.reasons import AnyReason
from ptexplore.model.traced import TRACED, Traced

Status = Literal["observed", "derived", "predicted", "inlined", "cut"]
TRAIL_FORMAT = 5  # of saved sessions and Trails; within a format keys are only added


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a reader must know beside the hops."""

    kind: str  # `nondeterministic`, `perturbed`, `prediction-differs`, `cut`, `stepped`, `twice`, `differs`, …
    told: AnyReason  # what was found
    hop: int | None = None  # the id of the hop it is about
    text: str = ""  # what was found, in words, where it was written as JSON; what is read back has none


@dataclass(frozen=True, slots=True)
class TorchInfo:
    """The torch that ran."""

    version: str = ""  # `2.13.0+cpu`
    git_version: str = ""  # the commit that it was built from
    build: str = "wheel"  # `wheel` or `source`
    python: str = ""  # the version of Python
    torch_dir: str = ""  # the folder of the package; empty in what is saved


@dataclass(frozen=True, slots=True)
class BoundName:
    """A name of the expression, and what it was bound to."""

    name: str  # as the expression has it
    description: str  # `Tensor[3, 3] float32 cpu`
    how: str = ""  # `seeded`, `variable` or `setup`; of a survey `OpInfo`


@dataclass(frozen=True, slots=True)
class FirstCall:
    """Why the first call of an expression is shown, and no later one."""

    imported: int  # how many modules it imported
    why: AnyReason  # what a second call would do, or not find


@dataclass(frozen=True, slots=True)
class Captured:
    """Which passes there are, and which call of the expression they saw."""

    ops: bool = False  # the profiler's operators
    frames: bool = False  # Python's frames inside torch
    dispatch: bool = False  # key sets read before each call
    native: bool = False  # every C++ function that ran
    cold: bool = False  # of the very first call: with what only that does
    reason: AnyReason | None = None  # why there is no native pass
    warm: int | None = None  # how many modules the first run imported, if any, where all passes saw a later one
    first: FirstCall | None = None  # in its place, where all passes saw the first call, though nobody asked for that
    put_back: tuple[str, ...] = ()  # names of `--setup`: earlier runs changed what they lead to, and it was put back
    anew: bool = False  # whether `--setup` ran anew before the run that is shown: what was changed cannot be put back


@dataclass(frozen=True, slots=True)
class ResultInfo:
    """What the expression gave."""

    type: str = ""  # the name of its type
    description: str = ""  # in words, as for a bound name
    backward: AnyReason | None = None  # what backward ran from
    fingerprint: str | None = None  # a hash of the value, where a survey asked for it


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """Everything that a session says, but for what the recorders saw."""

    format: int = field(default=TRAIL_FORMAT, kw_only=True)  # 5
    expression: str  # as typed
    torch: TorchInfo  # the torch that ran
    bound: tuple[BoundName, ...]  # what each name was bound to
    options: TraceOptions  # what the trace was asked for
    captured: Captured  # which passes there are
    result: ResultInfo  # what the expression gave
    program: Program | None = field(default=None, kw_only=True)  # of a program: what ran, recorded as a whole


@dataclass(frozen=True, slots=True)
class Session(SessionFacts):
    """One capture: what the recorders saw, and nothing concluded."""

    observations: tuple[Observation, ...]  # what the recorders saw


@dataclass(frozen=True, slots=True)
class SavedSession(SessionFacts):
    """One capture as JSON has it: saved and reloaded, shown anywhere, never executed."""

    observations: tuple[SavedObservation, ...]  # what the recorders saw


@dataclass(frozen=True, slots=True)
class TransformLayer:
    """A function transform that is on at an operator call."""

    level: int  # 1 is the outermost
    kind: str  # `Vmap`, `Grad`, `Jvp`, `Functionalize`
    dims: Mapping[str, int]  # by argument: the dimension that is mapped over


@dataclass(frozen=True, slots=True)
class Dispatch:
    """One lookup in the dispatch table: the key set it was asked with, where that comes from, what the table has."""

    set: str  # the key set that the table is asked with, highest key first, less what arguments not read carry
    raw: str  # the same set as a number
    entry: str  # the table's reason for its entry: `kernel`, `math kernel`, `fallthrough`, …
    skipped: tuple[str, ...]  # keys that the mask takes out, since their entry is a fallthrough
    arguments: Mapping[str, str] | None = None  # at a call's first key: the key set of each argument that is known
    tls_include: str | None = None  # the thread-local include set
    tls_exclude: str | None = None  # the thread-local exclude set
    tls_observed: bool | None = None  # whether the thread-local sets were read right there
    tls_why: AnyReason | None = None  # what changed the thread-local sets since they were read
    redispatch: AnyReason | None = None  # at a further key: how the kernel before it calls on
    observed_raw: str | None = None  # the set that the native pass read from a register
    unread: tuple[str, ...] = ()  # the arguments whose sets are not known
    unread_why: AnyReason | None = None  # why they are not known
    assumed: tuple[str, ...] = ()  # the arguments that nobody read: their sets follow from device and layout
    wrapped: Mapping[str, tuple[str, ...]] | None = None  # by argument: the sets of what it wraps, outermost first
    transforms: tuple[TransformLayer, ...] = ()  # the function transforms that are on, outermost first


@dataclass(frozen=True, slots=True)
class FormulaRef:
    """One formula of a derivatives.yaml entry."""

    inputs: str  # the inputs whose derivative it is, with commas
    line: int  # its own line in the entry's file
    mode: Literal["backward", "forward"] = "backward"  # which way it differentiates
    calls: tuple[str, ...] = ()  # the functions that it calls
    text: str = ""  # the formula itself
    needed: bool | None = None  # of a node: whether its input needs a gradient, where that is known


@dataclass(frozen=True, slots=True)
class DerivativeRef:
    """The derivatives.yaml entry of an operator."""

    source: SourceRef  # where the entry is
    op: str = ""  # the operator that the entry is written for
    node: str | None = None  # the class of the node that the operator records
    matched: str = ""  # how the entry fits the operator: `exact`, …
    formulas: tuple[FormulaRef, ...] = ()  # its formulas, in order


@dataclass(frozen=True, slots=True)
class OperatorRef:
    """What is known of an operator: of one that the traced code registered, its schema alone."""

    schema: str  # as the dispatcher prints it
    yaml: SourceRef | None = None  # its entry in native_functions.yaml
    entry: str | None = None  # its entry point in C++: `at::_ops::add_Tensor::call`


@dataclass(frozen=True, slots=True)
class BindingRef:
    """How Python comes to a C function."""

    python: str  # the Python name: `torch.add`
    table_row: SourceRef | None = None  # the row of the PyMethodDef table that names the C function
    assigned: SourceRef | None = None  # where torch/nn/functional.py assigns the builtin


@dataclass(frozen=True, slots=True)
class PythonCall:
    """How a Python frame was called."""

    called_from_line: int | None  # the caller's line; null where that is not torch's, nor given by --setup
    qualname: str | None = None  # the function's qualified name, where it has one: `Linear.forward`
    resumed: bool = False  # whether it is a generator, or a coroutine, that was called before and goes on
    called: bool = True  # false: what stands there cannot be called, so nothing was
    entered: bool = True  # false: its call failed before its body began, as where an argument is missing


@dataclass(frozen=True, slots=True)
class ModuleRef:
    """The nn.Module that a Python frame of Module.__call__ calls."""

    type: str  # the qualified name of its class
    name: str | None = None  # within the outermost module that runs, "" for that itself; null if it isn't in there
    root: int = 0  # the number of that outermost module
    bound: str | None = None  # of an outermost module: the name of the expression that is bound to it


@dataclass(frozen=True, slots=True)
class StubRef:
    """A dispatch stub that a function's text names."""

    device: str  # the device whose kernels are listed below it
    called_at: SourceRef  # the line that names it
    through: tuple[str, ...] = ()  # the functions of that file between the function and the line
    condition: SourceRef | None = None  # the line of the innermost condition around that, where the text has one


@dataclass(frozen=True, slots=True)
class CallNotTaken:
    """A dispatch stub that a function's text names, and that the stepped run of the function did not call."""

    stub: str  # the stub's qualified name
    called_at: SourceRef  # the line that names it
    condition: SourceRef | None = None  # the line of the innermost condition around that, where the text has one
    through: tuple[str, ...] = ()  # the functions of that file between the function and the line


@dataclass(frozen=True, slots=True)
class LoopRef:
    """A loop over elements that a kernel's text starts."""

    call: str  # the function that loops: `cpu_kernel_vec`
    source: SourceRef  # the line of the call


@dataclass(frozen=True, slots=True)
class StubKernelRef:
    """A kernel behind a dispatch stub."""

    cpu_capability: str | None = None  # said where it is compiled once for each CPU capability
    loops: tuple[LoopRef, ...] = ()  # the loops over elements in its text
    condition: SourceRef | None = None  # of a predicted one: the line of the innermost condition around the stub's call


@dataclass(frozen=True, slots=True)
class NodeRef:
    """What else is known of an autograd node."""

    recorded: bool = False  # the forward call above it recorded it
    derivatives: tuple[SourceRef, ...] = ()  # every entry of derivatives.yaml that makes such a node, where several do
    reached: str | None = None  # the node that the engine reached here, and did not run: its gradient alone is wanted
    failed: bool = False  # or an error, as of a hook, came before it ran


@dataclass(frozen=True, slots=True)
class NativeCall:
    """A C++ function that ran, as the binary names it."""

    symbol: str  # its name, demangled
    mangled: str = ""  # its name in the library
    library: str = ""  # the library's file name
    own: int = 0  # instructions outside the calls it made
    tail: bool = False  # its caller jumped to it, as the last thing it did
    third_party: str | None = None  # the library whose code this is, compiled into one of torch's
    returned: bool | None = None  # what it returned, of the functions that are asked for a convolution's backend
    unit: str = ""  # of a function in an anonymous namespace: the file that was compiled, without folders, where known
    alike: tuple[str, ...] = ()  # other functions of the same code, of which one copy was kept: any may be meant
    folded: bool = False  # its caller is one of `alike`, and nothing but a jump to it: the caller is what was called


@dataclass(frozen=True, slots=True)
class LibraryEntry:
    """What a library linked into torch says of this call of it."""

    library: str  # `oneDNN`, `MKL`
    what: str  # of oneDNN the primitive (`matmul`), of MKL the function (`SGEMM`)
    problem: str  # its sizes, as the library writes them
    implementation: str | None = None  # which of its code ran; null where the library does not say
    query: bool = False  # LAPACK was only asked how large a workspace must be: it computed nothing


@dataclass(frozen=True, slots=True)
class LaunchRef:
    """How a device was given something to do, and how long it took."""

    through: str | None = None  # the function of the device's runtime: `cudaLaunchKernel`; null where none was told
    took: int | None = None  # nanoseconds on the device; null in a program, whose calls have them


def is_move(launch: str) -> bool:
    """Whether a launch of this name is a copy or a fill, which the profiler names in words, and no kernel."""
    return launch.startswith(("Memcpy ", "Memset "))


@dataclass(frozen=True, slots=True)
class HopError:
    """An error of a step's own that did not end the run: it was caught around it, or inside of it."""

    message: str = ""  # its first line; empty where no more is known than that an exception left the step
    source: SourceRef | None = None  # the line of C++ that made it


@dataclass(frozen=True, slots=True)
class LeftFunction:
    """A function that an error left."""

    name: str  # as its language writes it
    source: SourceRef  # of Python the line that was at work; of C++ where the function is defined


@dataclass(frozen=True, slots=True)
class MissingKernel:
    """Why the dispatcher found no kernel."""

    op: str  # the operator with its overload
    key: str  # the dispatch key that has no kernel of it
    arguments: tuple[str, ...] = ()  # what brought the key: `self`, `argument 2 of your call`, `device`
    kernels: tuple[str, ...] = ()  # the keys that have an entry in the operator's dispatch table
    own: tuple[str, ...] = ()  # those of backends for which a kernel of the operator was registered
    default: tuple[str, ...] = ()  # those of backends for which one kernel for all backends stands in
    neighbour: str | None = None  # an operator that has a kernel of its own under the key
    neighbour_at: SourceRef | None = None  # the record that registered that
    conversion: str | None = None  # what makes a tensor of the key one that has a kernel


@dataclass(frozen=True, slots=True)
class InPlaceWriter:
    """A write in place to a saved tensor, by its line."""

    text: str  # what is written there
    function: str  # the Python function that it is in
    source: SourceRef  # the line
    before: int  # how many writes the tensor had seen before
    after: int  # and after
    operators: tuple[str, ...] = ()  # the operators that wrote to it there, in order
    exact: bool = True  # else the function alone is known, and the line is its first


@dataclass(frozen=True, slots=True)
class TensorSaver:
    """Who saved a tensor for backward."""

    node: str | None  # the node of the graph
    operators: tuple[str, ...] = ()  # the operators that record such a node
    text: str = ""  # what is written where it was saved
    function: str = ""  # the Python function that this is in
    source: SourceRef | None = None  # the line
    exact: bool = True  # else the function alone is known, and the line is its first


@dataclass(frozen=True, slots=True)
class ModifiedTensor:
    """A tensor that was written to after a node of the graph had saved it."""

    tensor: str  # its type and shape, as the message has them
    node: str | None  # the node that it is a result of; null for a leaf
    output: int | None  # which of the node's results
    version: int  # how many writes it has seen
    expected: int  # how many it had seen when it was saved
    makers: tuple[str, ...] = ()  # the operators that record such a node, or whose forms (in place, foreach) do
    writes: tuple[str, ...] = ()  # the calls of the expression that wrote to such a tensor since it was saved, in order
    certain: bool = False  # whether only one tensor of the expression was written to in this way
    saver: TensorSaver | None = None  # who saved it; null where no further run told
    writers: tuple[InPlaceWriter, ...] = ()  # the writes since, each with its line, where that is known
    watched: bool = True  # whether the writers were seen to write; else they follow from the operators that ran


@dataclass(frozen=True, slots=True)
class ComparedValue:
    """A value that a failed check compared."""

    text: str  # as the message has it: `3`, `[2, 2]`, `Float`
    what: str = ""  # what it is, in words: `the size of dimension 1`, `the index asked for`
    argument: str | None = None  # the operator's argument that has it; null where not exactly one does
    of: AnyReason | None = None  # what it is


_SCRIPT = "--script "


def of_script(script: str) -> str:
    """What stands for the expression in a trace of a script."""
    return f"{_SCRIPT}{script}"


def script_in(expression: str) -> str | None:
    """The script that a trace is of, by what stands for its expression; None of any other trace."""
    return expression.removeprefix(_SCRIPT) if expression.startswith(_SCRIPT) else None


@dataclass(frozen=True, slots=True)
class UntoldArgument:
    """A tensor, or a list of some, that an operator was given and the profiler tells nothing of."""

    argument: str  # its name
    because: AnyReason  # why nothing is told of it


@dataclass(frozen=True, slots=True)
class CauseCase:
    """One of several causes that an error may have: how you know it, and what mends it."""

    sign: str  # what the program has or does
    remedy: str  # what mends it then


@dataclass(frozen=True, slots=True)
class Cause:
    """Why an error is raised, and what mends it: a code, with its words where it was written as JSON."""

    why: str = ""  # what the program did that cannot be, in words; what is read back has these made anew of the code
    remedy: str = ""  # what mends it, in words; empty where there is nothing to name
    cases: tuple[CauseCase, ...] = ()  # the same where the mend depends on what only the program tells
    code: str = ""  # which cause it is; empty of a trace that was saved before causes had codes
    arguments: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)  # what the words are said of


@dataclass(frozen=True, slots=True)
class RecordingCall:
    """A place of your Python that recorded nodes of the graph, or ran backward through it."""

    operator: str  # the operator that recorded; empty of a backward
    text: str = ""  # what is written there
    function: str = ""  # the Python function that it is in
    source: SourceRef | None = None  # the line
    exact: bool = True  # else the function alone is known, and the line is its first


# `state`: kept from one round to the next; `once`: made once and used in each round; `uses`: two losses use it;
# `losses`: a second loss of one forward; `same`: one loss twice; `unclear`: what was seen does not tell.
Situation: TypeAlias = Literal["state", "once", "uses", "losses", "same", "unclear"]


@dataclass(frozen=True, slots=True)
class FreedGraph:
    """A node that an earlier backward had freed when backward came to it again, and what led to it."""

    node: str  # its name
    recorded: RecordingCall  # what recorded it
    recorded_after: int | None  # how many backwards had begun before that; null where not all were seen
    freed: RecordingCall  # the backward that freed it
    freed_by: int | None  # its number, from 1
    backwards: int | None  # how many backwards were called, with the one that raised
    uses: tuple[RecordingCall, ...] = ()  # what took a result of the freed part since
    kept: tuple[RecordingCall, ...] = ()  # what had made these results
    names: tuple[str, ...] = ()  # the names of your program that hold them, or lead to them
    exact: bool = False  # whether they hold just these results; else they were given anew since
    situation: Situation = "unclear"  # what the program did


@dataclass(frozen=True, slots=True)
class HandedError:
    """What an error's text tells of where it comes from: a worker process, a thread, TorchScript, torch.compile."""

    exception: str  # the name of the class that was raised there; empty where that is the error itself
    where: str  # where: `DataLoader worker process 0`, `TorchScript's interpreter`, `torch.compile's tracing`
    message: str  # its own words
    python: tuple[LeftFunction, ...] = ()  # the Python functions that it left there, innermost first


@dataclass(frozen=True, slots=True)
class EarlierError:
    """An error that led to the one which ended the run."""

    exception: str  # the name of its class
    message: str  # the first line of what it says
    is_cause: bool  # whether the one after it was raised `from` it; else while it was handled
    left: LeftFunction | None = None  # the innermost Python function that it left


@dataclass(frozen=True, slots=True)
class Ending:
    """What the expression raised, where that was thrown, and why."""

    stage: Literal["expression", "backward", "script", "block"]  # what was running; `block`: your own process
    exception: str  # the name of its class
    message: str  # its own words
    source: SourceRef  # the line that threw it
    function: str = ""  # the function of C++ that threw it
    hop: int | None = None  # the innermost step that it left; null where that is not known
    call: str | None = None  # the innermost call of the expression that it left, or the part that raised: `d["k"]`
    given: tuple[tuple[str, str], ...] = ()  # of that step's operator: each tensor argument, and what it was
    python: tuple[LeftFunction, ...] = ()  # the Python functions that it left, innermost first
    stack: tuple[str, ...] = ()  # the functions of torch's C++ that it left, innermost first
    missing: MissingKernel | None = None  # where the dispatcher found no kernel
    modified: ModifiedTensor | None = None  # where a saved tensor was written to
    why: tuple[AnyReason, ...] = ()  # what it is concluded from
    close: tuple[str, ...] = ()  # names near the one that was not found
    check: str = ""  # the condition that did not hold, as the text at that line has it
    compared: tuple[ComparedValue, ...] = ()  # the values that the message tells of, in its order
    cause: Cause | None = None  # what the message means in plain words, where it is a usual one
    handed: HandedError | None = None  # what was raised elsewhere, where the error only hands that on
    module: str = ""  # the innermost nn.Module that it left: `0.attn (Linear) of Net`
    further: int = 0  # how many more Python functions it left, outermost of all, that are not told
    by: EndedBy = "error"  # what ended the run; of a signal `exception` is its name, and `stack` what ran as it came
    how: str = ""  # how `function` raised it, where torch keeps no line with it, in words: `by PyErr_SetString`
    freed: FreedGraph | None = None  # where backward came to a part of the graph that was freed, and that was seen
    before: tuple[EarlierError, ...] = ()  # the errors that led to it, the nearest first
    over: AnyReason | None = None  # of a run whose time was over: that
    raising: AnyReason | None = None  # what `how` says in words
    untold: tuple[UntoldArgument, ...] = ()  # the last ones of `given`: what the profiler tells nothing of, and why


@dataclass(frozen=True, slots=True)
class HopFacts:
    """Everything that is known of one step, but for where it hangs in the tree."""

    id: int  # unique in this Trail; `--explain` takes it
    kind: HopKind  # what the step is (above)
    name: str  # the qualified name
    status: Status  # how the step is known ([precision.md](precision.md))
    source: SourceRef  # where the code that runs is
    phase: Phase = "forward"  # which half of the run
    thread: int = 0  # 0 is the thread that ran the expression
    op: str | None = None  # the operator with its overload: `aten::add.Tensor`
    key: str | None = None  # the dispatch key
    dispatch: Dispatch | None = None  # of a `key`: why this key
    registration: SourceRef | None = None  # the record that registered the kernel
    declaration: SourceRef | None = None  # where a header or YAML file declares it
    derivative: DerivativeRef | None = None  # of an operator or node that has one
    operator: OperatorRef | None = None  # of an `op` whose schema is known
    binding: BindingRef | None = None  # of a `binding`
    python: PythonCall | None = None  # of a `python` frame
    module: ModuleRef | None = None  # of a `python` frame that is nn.Module's __call__
    kernel: KernelRef | None = None  # of a `kernel`
    stub: StubRef | None = None  # of a `stub`
    stub_kernel: StubKernelRef | None = None  # of a kernel behind a stub (`native`)
    node: NodeRef | None = None  # of a `node`
    not_taken: tuple[CallNotTaken, ...] = ()  # what its text names and the native pass knows not to have run
    native: NativeCall | None = None  # of every step that the native pass saw
    library: LibraryEntry | None = None  # of a call into oneDNN or MKL that the library told of
    launch: LaunchRef | None = None  # of a `launch`
    caught: HopError | None = None  # of an `op` or `binding`: the error that it made, or that left it, and was caught
    why: tuple[AnyReason, ...] = ()  # why this step was concluded
    evidence: tuple[int, ...] = ()  # ids of the observations that it is concluded from
    notes: tuple[str, ...] = ()  # the stops about this place or operator: `dispatcher#redispatch`
    unknown_order: bool = False  # whether its place among the steps beside it that nothing saw is not known
    calls: int = 1  # how many equal calls this step stands for
    instructions: int | None = None  # from entry to exit, of the native pass
    time: int | None = None  # of an operator or node: nanoseconds in a warm run, where such were timed
    sequence: int | None = None  # of an operator or node: autograd's number, by which a node has its call (see events)
    saved: int | None = None  # of an operator: the bytes that what it recorded keeps for backward, if any


@dataclass(frozen=True, slots=True)
class Hop(HopFacts):
    """One step of a Trail, with the steps inside it."""

    children: tuple[Hop, ...] = ()


class Nested(Protocol):
    """A node of a tree: a hop, a claim, a native frame."""

    @property
    def children(self: NestedT) -> Sequence[NestedT]:
        """The nodes inside it, in order."""


NestedT = TypeVar("NestedT", bound=Nested)


def walk(nodes: Iterable[NestedT]) -> Iterator[NestedT]:
    """Yield every node of these trees, callers first. Not recursive, since stacks can be deep."""
    pending = list(nodes)[::-1]
    while pending:
        node = pending.pop()
        yield node
        pending += reversed(node.children)


@dataclass(frozen=True, slots=True)
class HopRow(HopFacts):
    """One step in the flat table of a saved Trail."""

    parent: int | None = None  # the id of the step it is inside of; null at the top
    stable_key: str = ""  # the same in each trace of the same code: what it is, and by which path of callers it came


@dataclass(frozen=True, slots=True)
class TrailFacts:
    """Everything that a Trail says, but for its steps."""

    format: int = field(default=TRAIL_FORMAT, kw_only=True)  # 5
    expression: str  # as typed
    bound: tuple[BoundName, ...]  # what each name was bound to
    torch: TorchInfo  # the torch that ran
    trees: tuple[TreeInfo, ...]  # where text comes from, in the order in which it is looked for
    captured: Captured  # which passes there are
    result: ResultInfo  # what the expression gave
    findings: tuple[Finding, ...]  # what must be known beside the steps
    generators: Mapping[str, str] = field(default_factory=dict, kw_only=True)  # by generated file: what writes it
    ending: Ending | None = field(default=None, kw_only=True)  # what the expression raised
    program: Program | None = field(default=None, kw_only=True)  # of a program: what ran, with the hop of each route

    @property
    def traced(self) -> Traced:
        """What was traced."""
        if self.program is None:
            return TRACED["expression"]
        return TRACED["block" if self.program.is_block else "script"]

    @property
    def recorded(self) -> Program:
        """What was recorded, of a script or a block."""
        assert self.program is not None, self.traced.name
        return self.program


@dataclass(frozen=True, slots=True)
class Trail(TrailFacts):
    """What ran for one expression, as nested hops, with what is known and not known about each."""

    hops: tuple[Hop, ...]


@dataclass(frozen=True, slots=True)
class SavedTrail(TrailFacts):
    """A Trail as `--json` prints it and `--save` keeps it."""

    hops: tuple[HopRow, ...]  # the steps in reading order, each after the one it is inside of
    session: SavedSession | None = None  # what it is concluded from; `--save` alone writes it
