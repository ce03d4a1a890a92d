"""The records of a trace: a session with its observations, and the trace with the hops that follow from them.

These records are also the schema of saved traces. `saved/` reads and writes them. `scripts/json-docs` makes the tables
of docs/json.md from the docstrings and comments in this file.
"""

# Annotations are no strings here: msgspec would evaluate each of them in every command that reads a trace.
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias, TypeVar

from msgspec import Struct

from ptexplore.model.hop_kinds import HopKind
from ptexplore.model.observed import EndedBy, Observation, Phase, SavedObservation
from ptexplore.model.operators import KernelRef
from ptexplore.model.options import TraceOptions
from ptexplore.model.places import Runtime, SourceRef, TreeInfo
from ptexplore.model.program import Program
from ptexplore.model.reasons import AnyReason
from ptexplore.model.traced import TRACED, Traced

Status = Literal["observed", "derived", "predicted", "inlined", "cut"]
TRACE_FORMAT = 6  # the format of saved sessions and traces; within a format keys are only added


@dataclass(frozen=True, slots=True)
class Finding:
    """A fact about the whole trace, or about one hop, that the rows do not show."""

    kind: str  # `nondeterministic`, `perturbed`, `prediction-differs`, `cut`, `stepped`, `twice`, `differs`, …
    told: AnyReason  # the finding, as a code
    hop: int | None = None  # the id of the hop that the finding is about
    text: str = ""  # the finding as a sentence; set only when JSON is written, empty in a trace that was read back


@dataclass(frozen=True, slots=True)
class TorchInfo:
    """The torch that ran."""

    version: str = ""  # `2.13.0+cpu`
    git_version: str = ""  # the commit that torch was built from
    build: str = "wheel"  # `wheel` or `source`
    python: str = ""  # the Python version
    torch_dir: str = ""  # the folder of the torch package; empty in saved traces

    @classmethod
    def of(cls, runtime: Runtime) -> "TorchInfo":
        """Returns the facts of an installed torch."""
        return cls(runtime.version, runtime.git_version, runtime.build, runtime.python_version, runtime.torch_dir)


@dataclass(frozen=True, slots=True)
class BoundName:
    """A name of the expression and the value that was bound to it."""

    name: str  # the name as you wrote it in the expression
    description: str  # `Tensor[3, 3] float32 cpu`
    how: str = ""  # `seeded`, `variable` or `setup`; in a survey `OpInfo`


@dataclass(frozen=True, slots=True)
class FirstCall:
    """Why the first call of the expression is shown instead of a later one."""

    imported: int  # how many modules the first call imported
    why: AnyReason  # what a second call would do differently, or would not find


@dataclass(frozen=True, slots=True)
class Captured:
    """The passes that recorded the expression, and the call of the expression that they saw."""

    ops: bool = False  # operators, recorded by torch.profiler
    frames: bool = False  # Python functions inside torch
    dispatch: bool = False  # key sets, read before each call
    native: bool = False  # every C++ function that ran
    cold: bool = False  # the stepped run saw the very first call, with the work that only a first call does
    reason: AnyReason | None = None  # why nothing was stepped
    warm: int | None = None  # how many modules the first call imported; null if none, or if a pass saw that call
    first: FirstCall | None = None  # in place of `warm` if all passes saw the first call without being asked to
    put_back: tuple[str, ...] = ()  # names from `--setup` whose objects earlier runs changed, and that were restored
    anew: bool = False  # `--setup` ran again before the run that is shown, since its objects could not be restored


@dataclass(frozen=True, slots=True)
class ResultInfo:
    """The value that the expression returned."""

    type: str = ""  # the name of its type
    description: str = ""  # the value in words, as for a bound name
    backward: AnyReason | None = None  # the value that backward started from
    fingerprint: str | None = None  # a hash of the value, if a survey asked for one


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """Everything in a session except the observations."""

    format: int = field(default=TRACE_FORMAT, kw_only=True)  # 6
    expression: str  # the expression as you typed it
    torch: TorchInfo  # the torch that ran
    bound: tuple[BoundName, ...]  # the value of each name
    options: TraceOptions  # the options of the trace
    captured: Captured  # which passes recorded the expression
    result: ResultInfo  # the value that the expression returned
    program: Program | None = field(default=None, kw_only=True)  # for a script or block: what ran, recorded as a whole


@dataclass(frozen=True, slots=True)
class Session(SessionFacts):
    """One capture: the observations of all recorders, without conclusions."""

    observations: tuple[Observation, ...]  # what the recorders saw


@dataclass(frozen=True, slots=True)
class SavedSession(SessionFacts):
    """One capture as JSON has it: data to save, load and show. Nothing of it is executed."""

    observations: tuple[SavedObservation, ...]  # what the recorders saw


@dataclass(frozen=True, slots=True)
class TransformLayer:
    """A function transform that is active during an operator call."""

    level: int  # the nesting level; 1 is the outermost
    kind: str  # `Vmap`, `Grad`, `Jvp`, `Functionalize`
    dims: Mapping[str, int]  # by argument: the dimension that is mapped over


@dataclass(frozen=True, slots=True)
class Dispatch:
    """One lookup in the dispatch table: the key set of the lookup, its origin, and the entry that was found."""

    set: str  # the key set of the lookup, highest key first; keys of arguments that were not read are missing
    raw: str  # the same set as a number
    entry: str  # the dispatcher's own word for the kind of entry: `kernel`, `math kernel`, `fallthrough`, …
    skipped: tuple[str, ...]  # keys that the mask removes because their entry is a fallthrough
    arguments: Mapping[str, str] | None = None  # at a call's first key: the key set of each argument, as far as known
    tls_include: str | None = None  # the thread-local include set
    tls_exclude: str | None = None  # the thread-local exclude set
    tls_observed: bool | None = None  # whether the thread-local sets were read exactly here
    tls_why: AnyReason | None = None  # what changed the thread-local sets after they were read
    redispatch: AnyReason | None = None  # at a later key: how the previous kernel redispatches
    observed_raw: str | None = None  # the key set that the stepped run read from a register
    unread: tuple[str, ...] = ()  # the arguments whose key sets are not known
    unread_why: AnyReason | None = None  # why these key sets are not known
    assumed: tuple[str, ...] = ()  # the arguments that were not read: their key sets follow from device and layout
    wrapped: Mapping[str, tuple[str, ...]] | None = None  # by argument: key sets of wrapped tensors, outermost first
    transforms: tuple[TransformLayer, ...] = ()  # the active function transforms, outermost first


@dataclass(frozen=True, slots=True)
class FormulaRef:
    """One formula of an entry in derivatives.yaml."""

    inputs: str  # the inputs that the formula differentiates with respect to, separated by commas
    line: int  # the line of the formula in the entry's file
    mode: Literal["backward", "forward"] = "backward"  # the direction of differentiation
    calls: tuple[str, ...] = ()  # the functions that the formula calls
    text: str = ""  # the text of the formula
    needed: bool | None = None  # for a node: whether the input needs a gradient, if that is known


@dataclass(frozen=True, slots=True)
class DerivativeRef:
    """The entry of an operator in derivatives.yaml."""

    source: SourceRef  # the place of the entry
    op: str = ""  # the operator that the entry is written for
    node: str | None = None  # the class of the node that the operator records
    matched: str = ""  # how the entry was matched to the operator: `exact`, …
    formulas: tuple[FormulaRef, ...] = ()  # the formulas of the entry, in order


@dataclass(frozen=True, slots=True)
class OperatorRef:
    """Facts about an operator. An operator that the traced code registered has only a schema."""

    schema: str  # the schema as the dispatcher prints it
    yaml: SourceRef | None = None  # the operator's entry in native_functions.yaml
    entry: str | None = None  # the operator's entry point in C++: `at::_ops::add_Tensor::call`


@dataclass(frozen=True, slots=True)
class BindingRef:
    """How a Python name leads to a C function."""

    python: str  # the Python name: `torch.add`
    table_row: SourceRef | None = None  # the row of the PyMethodDef table that names the C function
    assigned: SourceRef | None = None  # where torch/nn/functional.py assigns the builtin


@dataclass(frozen=True, slots=True)
class PythonCall:
    """How a Python function was called."""

    called_from_line: int | None  # the line of the call; null if the caller is not in torch and not in --setup
    qualname: str | None = None  # the qualified name of the function, if it has one: `Linear.forward`
    resumed: bool = False  # a generator or coroutine that was called earlier continues here
    called: bool = True  # false: the object cannot be called, so nothing was called
    entered: bool = True  # false: the call failed before the body began, for example because an argument is missing
    variables: Mapping[str, str] = field(default_factory=dict)  # of a function that chooses code: variables at its end


@dataclass(frozen=True, slots=True)
class ModuleRef:
    """The nn.Module that a frame of Module.__call__ calls."""

    type: str  # the qualified name of the module's class
    name: str | None = None  # the name inside the outermost module that runs; "" for that module, null if not inside it
    root: int = 0  # the number of the outermost module
    bound: str | None = None  # for an outermost module: the name in the expression that is bound to it


@dataclass(frozen=True, slots=True)
class StubRef:
    """A dispatch stub that the text of a function names."""

    device: str  # the device whose kernels are listed below the stub
    called_at: SourceRef  # the line that names the stub
    through: tuple[str, ...] = ()  # the functions of the same file through which the function reaches this line
    condition: SourceRef | None = None  # the line of the innermost condition around the call, if there is one


@dataclass(frozen=True, slots=True)
class CallNotTaken:
    """A dispatch stub that the text of a function names, and that the function did not call in the stepped run."""

    stub: str  # the qualified name of the stub
    called_at: SourceRef  # the line that names the stub
    condition: SourceRef | None = None  # the line of the innermost condition around the call, if there is one
    through: tuple[str, ...] = ()  # the functions of the same file through which the function reaches this line


@dataclass(frozen=True, slots=True)
class LoopRef:
    """A loop over elements that the text of a kernel starts."""

    call: str  # the function that loops: `cpu_kernel_vec`
    source: SourceRef  # the line of the call


@dataclass(frozen=True, slots=True)
class StubKernelRef:
    """A kernel behind a dispatch stub."""

    cpu_capability: str | None = None  # a sentence, set if the kernel is compiled once for each CPU capability
    loops: tuple[LoopRef, ...] = ()  # the loops over elements in the kernel's text
    condition: SourceRef | None = None  # for a predicted kernel: the innermost condition around the stub's call


@dataclass(frozen=True, slots=True)
class NodeRef:
    """Further facts about an autograd node."""

    recorded: bool = False  # the forward call around this hop recorded the node
    derivatives: tuple[SourceRef, ...] = ()  # if several entries of derivatives.yaml create such a node: all of them
    reached: str | None = None  # the node that the engine reached here but did not run: only its gradient was needed
    failed: bool = False  # the node in `reached` did not run because an error came first, for example from a hook


@dataclass(frozen=True, slots=True)
class NativeCall:
    """A C++ function that ran, as the binary names it."""

    symbol: str  # the demangled name
    mangled: str = ""  # the mangled name, as the library has it
    library: str = ""  # the library's file name
    own: int = 0  # instructions of the function itself, without the calls that it made
    tail: bool = False  # a tail call: the caller jumped here as its last step
    third_party: str | None = None  # the third-party library of this code, compiled into one of torch's
    returned: bool | int | None = None  # the return value of a function that chooses code, or of a check that it asks
    unit: str = ""  # if the function is in an anonymous namespace: its source file without folders, if known
    alike: tuple[str, ...] = ()  # other functions with identical code, of which one copy was kept: any may be meant
    folded: bool = False  # the caller is in `alike` and only jumps here: the function that was called is the caller


@dataclass(frozen=True, slots=True)
class LibraryEntry:
    """What a library linked into torch reports about this call."""

    library: str  # `oneDNN`, `MKL`
    what: str  # for oneDNN the primitive (`matmul`), for MKL the function (`SGEMM`)
    problem: str  # the sizes, as the library prints them
    implementation: str | None = None  # which implementation ran; null if the library does not say
    query: bool = False  # a LAPACK call that only asked for the size of a workspace and computed nothing
    took: int | None = None  # nanoseconds, as the library reports them


@dataclass(frozen=True, slots=True)
class TensorRef:
    """A tensor that an operator call was given."""

    name: str  # the name of the argument: `self`, `tensors[1]`
    dtype: str  # `float32`
    device: str  # `cpu`, `cuda:0`
    sizes: tuple[int, ...]  # its shape
    strides: tuple[int, ...] | None = None  # its strides, if recorded
    layout: str = "strided"  # `strided`, `sparse_coo`, …


@dataclass(frozen=True, slots=True)
class CopyRef:
    """A copy of a tensor's data that an operator call makes, itself or by a further operator. `why` has the reason."""

    source: TensorRef  # the read tensor
    result: TensorRef  # the written tensor
    bytes: int | None = None  # the written bytes; null for a dtype below a byte
    argument: str = ""  # the copied argument of the outermost operator
    is_view: bool = False  # a view of this argument is copied


@dataclass(frozen=True, slots=True)
class LaunchRef:
    """How work was given to a device, and how long the work took."""

    through: str | None = None  # the function of the device's runtime: `cudaLaunchKernel`; null if not recorded
    took: int | None = None  # nanoseconds on the device; null in a program, where the calls have the times


def is_move(launch: str) -> bool:
    """Returns whether a launch is a copy or a fill and not a kernel.

    The profiler gives copies and fills names in words: `Memcpy HtoD (…)`.
    """
    return launch.startswith(("Memcpy ", "Memset "))


@dataclass(frozen=True, slots=True)
class HopError:
    """An error inside a hop that did not end the run, because it was caught inside the hop or around it."""

    message: str = ""  # the first line of the message; empty if it is only known that an exception left the hop
    source: SourceRef | None = None  # the line of C++ that created the error


@dataclass(frozen=True, slots=True)
class LeftFunction:
    """A function that an exception propagated out of."""

    name: str  # the name in the function's own language
    source: SourceRef  # for Python the line that was running; for C++ the line of the definition


@dataclass(frozen=True, slots=True)
class MissingKernel:
    """Why the dispatcher found no kernel."""

    op: str  # the operator with its overload
    key: str  # the dispatch key without a kernel for this operator
    arguments: tuple[str, ...] = ()  # where the key comes from: `self`, `argument 2 of your call`, `device`
    kernels: tuple[str, ...] = ()  # the keys that have an entry in the operator's dispatch table
    own: tuple[str, ...] = ()  # the keys of backends that have a registered kernel for this operator
    default: tuple[str, ...] = ()  # the keys of backends that use one kernel for all backends
    neighbour: str | None = None  # another operator that has a kernel for this key
    neighbour_at: SourceRef | None = None  # the place where that kernel is registered
    conversion: str | None = None  # how to convert a tensor with this key into one that has a kernel


@dataclass(frozen=True, slots=True)
class InPlaceWriter:
    """An in-place write to a saved tensor, with its line."""

    text: str  # the text of the line
    function: str  # the Python function that contains the line
    source: SourceRef  # the line
    before: int  # the tensor's version before the write: how many writes it had seen
    after: int  # the tensor's version after the write
    operators: tuple[str, ...] = ()  # the operators that wrote to the tensor there, in order
    exact: bool = True  # false: only the function is known, and the line is its first line


@dataclass(frozen=True, slots=True)
class TensorSaver:
    """The code that saved a tensor for backward."""

    node: str | None  # the node of the graph that saved the tensor
    operators: tuple[str, ...] = ()  # the operators that record this kind of node
    text: str = ""  # the text of the line that saved the tensor
    function: str = ""  # the Python function that contains the line
    source: SourceRef | None = None  # the line
    exact: bool = True  # false: only the function is known, and the line is its first line


@dataclass(frozen=True, slots=True)
class ModifiedTensor:
    """A tensor that was written to after a node of the graph had saved it."""

    tensor: str  # type and shape, as in the message
    node: str | None  # the node that produced the tensor; null for a leaf
    output: int | None  # which output of that node the tensor is
    version: int  # how many writes the tensor has seen
    expected: int  # how many writes the tensor had seen when it was saved
    makers: tuple[str, ...] = ()  # the operators that record this node, also through an in-place or foreach variant
    writes: tuple[str, ...] = ()  # the calls of the expression that wrote to such a tensor since it was saved, in order
    certain: bool = False  # whether exactly one tensor of the expression was written to in this way
    saver: TensorSaver | None = None  # the code that saved the tensor; null if no further run found it
    writers: tuple[InPlaceWriter, ...] = ()  # the writes since then, each with its line, if known
    watched: bool = True  # true: the writes were seen; false: they follow from the operators that ran


@dataclass(frozen=True, slots=True)
class ComparedValue:
    """A value that a failed check compared."""

    text: str  # the value as in the message: `3`, `[2, 2]`, `Float`
    what: str = ""  # its meaning in words: `the size of dimension 1`, `the index asked for`
    argument: str | None = None  # the operator's argument with this value; null if none or more than one has it
    of: AnyReason | None = None  # its meaning, as a reason with a code


_SCRIPT, _MODULE, _ARGUMENTS = "--script ", "-m ", " -- "


@dataclass(frozen=True, slots=True)
class TracedProgram:
    """What a trace of a program ran: a script or a module (the other one is ""), and its arguments."""

    script: str = ""
    module: str = ""
    arguments: tuple[str, ...] = ()


def of_program(options: TraceOptions) -> str:
    """Returns the `expression` of a trace of a program: `--script FILE` or `-m MODULE`, and `-- ARGS`."""
    program = f"{_SCRIPT}{options.script}" if options.module is None else f"{_MODULE}{options.module}"
    return f"{program}{_ARGUMENTS}{shlex.join(options.arguments)}" if options.arguments else program


def program_in(expression: str) -> TracedProgram | None:
    """Returns what a trace ran, from the trace's `expression`, or None if the trace is not of a script or module."""
    program, _, arguments = expression.partition(_ARGUMENTS)
    with suppress(ValueError):
        words = tuple(shlex.split(arguments))
        if program.startswith(_SCRIPT):
            return TracedProgram(script=program.removeprefix(_SCRIPT), arguments=words)
        if program.startswith(_MODULE):
            return TracedProgram(module=program.removeprefix(_MODULE), arguments=words)
    return None


@dataclass(frozen=True, slots=True)
class UntoldArgument:
    """An operator argument, a tensor or a list of tensors, that the profiler does not record."""

    argument: str  # the argument's name
    because: AnyReason  # why the argument is not recorded


@dataclass(frozen=True, slots=True)
class CauseCase:
    """A possible cause of an error, with its sign and its fix."""

    sign: str  # the sign of this case in your program
    remedy: str  # how to fix it in this case


@dataclass(frozen=True, slots=True)
class Cause:
    """Why an error is raised, and how to fix it: a code, and the sentences for it when JSON is written."""

    why: str = ""  # what the program did wrong, in words; after reading, the sentences are made again from the code
    remedy: str = ""  # how to fix it, in words; empty if no fix can be named
    cases: tuple[CauseCase, ...] = ()  # several possible causes, if only your program shows which one is right
    code: str = ""  # the code of the cause; empty in a trace that was saved before causes had codes
    arguments: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)  # the arguments of the sentences


@dataclass(frozen=True, slots=True)
class RecordingCall:
    """A place in your Python that recorded nodes of the graph, or called backward."""

    operator: str  # the operator that recorded; empty for a call of backward
    text: str = ""  # the text of the line
    function: str = ""  # the Python function that contains the line
    source: SourceRef | None = None  # the line
    exact: bool = True  # false: only the function is known, and the line is its first line


# `state`: a result is kept from one round to the next; `once`: a result is made once and used in each round;
# `uses`: two losses use one result; `losses`: a second loss of one forward; `same`: backward twice from one loss;
# `unclear`: the observations do not show which.
Situation: TypeAlias = Literal["state", "once", "uses", "losses", "same", "unclear"]


@dataclass(frozen=True, slots=True)
class FreedGraph:
    """A node that an earlier backward had freed when a later backward reached it, and how that happened."""

    node: str  # the node's name
    recorded: RecordingCall  # the call that recorded the node
    recorded_after: int | None  # how many backwards had begun before the node was recorded; null if not all were seen
    freed: RecordingCall  # the backward that freed the node
    freed_by: int | None  # the number of that backward, from 1; null if not all were seen
    backwards: int | None  # how many backwards were called, the failing one included; null if not all were seen
    uses: tuple[RecordingCall, ...] = ()  # later calls that used a result of the freed part
    kept: tuple[RecordingCall, ...] = ()  # the calls that had produced these results
    names: tuple[str, ...] = ()  # the names in your program that hold these results, or lead to them
    exact: bool = False  # true: the names hold exactly these results; false: they were assigned again since
    situation: Situation = "unclear"  # what the program did


@dataclass(frozen=True, slots=True)
class HandedError:
    """An error that was first raised elsewhere: in a worker process, a thread, TorchScript or torch.compile."""

    exception: str  # the name of the class that was raised there; empty if it is the final error itself
    where: str  # `DataLoader worker process 0`, `TorchScript's interpreter`, `torch.compile's tracing`, …
    message: str  # its message
    python: tuple[LeftFunction, ...] = ()  # the Python functions that it propagated out of there, innermost first


class RaisingCheck(Struct, frozen=True):
    """The check in torch's source that raises a message: `function` raises it where `condition` is `holds`."""

    function: str  # empty if unknown
    condition: str  # as the source has it
    holds: bool  # whether the condition is true where the error is raised


@dataclass(frozen=True, slots=True)
class EarlierError:
    """An error that led to the error that ended the run."""

    exception: str  # the name of its class
    message: str  # the first line of its message
    is_cause: bool  # true: the next error was raised `from` this one; false: while this one was handled
    left: LeftFunction | None = None  # the innermost Python function that the error propagated out of


@dataclass(frozen=True, slots=True)
class Ending:
    """How the run ended: the error that was raised, or what ended the process; where, and why."""

    stage: Literal["expression", "backward", "script", "block"]  # the part that was running; `block`: your own process
    exception: str  # the name of the error's class; if a signal ended the run, the signal's name
    message: str  # the error's message
    source: SourceRef  # the line that threw
    function: str = ""  # the C++ function that threw
    hop: int | None = None  # the innermost hop that the error propagated out of; null if not known
    call: str | None = None  # the innermost call of the expression that raised, or the part that raised: `d["k"]`
    given: tuple[tuple[str, str], ...] = ()  # the tensor arguments of the operator at `hop`: name and description
    python: tuple[LeftFunction, ...] = ()  # the Python functions that the error propagated out of, innermost first
    stack: tuple[str, ...] = ()  # the C++ functions of torch that the error left, or a signal ended, innermost first
    missing: MissingKernel | None = None  # if the dispatcher found no kernel: which one
    modified: ModifiedTensor | None = None  # if a saved tensor was written to: which one
    why: tuple[AnyReason, ...] = ()  # the reasons for these conclusions
    close: tuple[str, ...] = ()  # similar names, if a name was not found
    check: str = ""  # the condition that failed, as written at that line
    compared: tuple[ComparedValue, ...] = ()  # the values in the message, in its order
    cause: Cause | None = None  # what the message means in plain words, if it is a common one
    handed: HandedError | None = None  # the original error, if this error only passes it on
    module: str = ""  # the innermost nn.Module that the error propagated out of: `0.attn (Linear) of Net`
    further: int = 0  # how many more Python functions the error left; they are the outermost ones and not listed
    by: EndedBy = "error"  # what ended the run
    how: str = ""  # how `function` raised the error, in words, if torch keeps no line for it: `by PyErr_SetString`
    freed: FreedGraph | None = None  # if backward was seen to reach a part of the graph that was freed: which one
    before: tuple[EarlierError, ...] = ()  # the errors that led to this one, the nearest first
    over: AnyReason | None = None  # if the time of the run was over: the reason for that
    raising: AnyReason | None = None  # the content of `how`, as a reason with a code
    untold: tuple[UntoldArgument, ...] = ()  # the arguments after `given`, which the profiler does not record
    in_memory: AnyReason | None = None  # which dimensions of the argument are the cause, if its strides are


@dataclass(frozen=True, slots=True)
class HopFacts:
    """Everything known about one hop, except its place in the tree."""

    id: int  # unique in this trace; `--explain` takes it
    kind: HopKind  # the kind of the hop (above)
    name: str  # the qualified name
    status: Status  # how ptexplore knows that this ran ([precision.md](precision.md))
    source: SourceRef  # the place of the code that runs
    phase: Phase = "forward"  # whether it ran in forward or in backward
    thread: int = 0  # 0 is the thread that ran the expression
    op: str | None = None  # the operator with its overload: `aten::add.Tensor`
    key: str | None = None  # the dispatch key
    dispatch: Dispatch | None = None  # only for a `key`: why this key was taken
    registration: SourceRef | None = None  # the place where the kernel is registered
    declaration: SourceRef | None = None  # the place where a header or a YAML file declares it
    derivative: DerivativeRef | None = None  # only for an operator or node with an entry in derivatives.yaml
    operator: OperatorRef | None = None  # only for an `op` with a known schema
    binding: BindingRef | None = None  # only for a `binding`
    python: PythonCall | None = None  # only for a `python` frame
    module: ModuleRef | None = None  # only for a `python` frame of nn.Module.__call__
    kernel: KernelRef | None = None  # only for a `kernel`
    stub: StubRef | None = None  # only for a `stub`
    stub_kernel: StubKernelRef | None = None  # only for a kernel behind a stub (`native`)
    node: NodeRef | None = None  # only for a `node`
    not_taken: tuple[CallNotTaken, ...] = ()  # stubs that its text names and that, as the stepped run saw, did not run
    native: NativeCall | None = None  # only for hops that the stepped run saw
    library: LibraryEntry | None = None  # only for a call into oneDNN or MKL that the library reported
    launch: LaunchRef | None = None  # only for a `launch`
    tensors: tuple[TensorRef, ...] = ()  # only for an `op` of an expression: its tensors, as the profiler recorded them
    copy: CopyRef | None = None  # only for an `op` of an expression that copies: what it copies
    caught: HopError | None = None  # only for an `op` or `binding`: an error inside it that was caught
    why: tuple[AnyReason, ...] = ()  # the reasons for this hop
    evidence: tuple[int, ...] = ()  # ids of the observations that support this hop
    notes: tuple[str, ...] = ()  # the stops of tours about this place or operator: `dispatcher#redispatch`
    unknown_order: bool = False  # the order of this hop among the unobserved hops beside it is not known
    calls: int = 1  # how many equal calls this hop stands for
    instructions: int | None = None  # instructions from entry to exit, counted by the stepped run
    time: int | None = None  # for an operator or a node: nanoseconds in a warm run, if warm runs were timed
    sequence: int | None = None  # for an operator or a node: autograd's sequence number, equal in both (see events)
    weights: Mapping[str, int] | None = None  # `saved`: bytes kept for backward; `device`: nanoseconds of a launch


@dataclass(frozen=True, slots=True)
class Hop(HopFacts):
    """One hop of a trace, with the hops inside it."""

    children: "tuple[Hop, ...]" = ()


class Nested(Protocol):
    """A node of a tree: a hop, a claim, or a native frame."""

    @property
    def children(self: "NestedT") -> "Sequence[NestedT]":
        """The nodes inside this one, in order."""


NestedT = TypeVar("NestedT", bound=Nested)


def walk(nodes: Iterable[NestedT]) -> Iterator[NestedT]:
    """Yields every node of these trees, callers first. Not recursive, since stacks can be deep."""
    pending = list(nodes)[::-1]
    while pending:
        node = pending.pop()
        yield node
        pending += reversed(node.children)


@dataclass(frozen=True, slots=True)
class HopRow(HopFacts):
    """One hop in the flat table of a saved trace."""

    parent: int | None = None  # the id of the hop around this one; null for an outermost hop
    stable_key: str = ""  # the same in all traces of the same code: the hop's kind and name, and its callers


@dataclass(frozen=True, slots=True)
class TraceFacts:
    """Everything in a trace except the hops."""

    format: int = field(default=TRACE_FORMAT, kw_only=True)  # 6
    expression: str  # the expression as you typed it
    bound: tuple[BoundName, ...]  # the value of each name
    torch: TorchInfo  # the torch that ran
    trees: tuple[TreeInfo, ...]  # the source trees, in the order in which they are searched
    captured: Captured  # which passes recorded the expression
    result: ResultInfo  # the value that the expression returned
    findings: tuple[Finding, ...]  # facts that the hops do not show
    generators: Mapping[str, str] = field(default_factory=dict, kw_only=True)  # by generated file: its generator
    ending: Ending | None = field(default=None, kw_only=True)  # how the run ended, if not normally
    program: Program | None = field(default=None, kw_only=True)  # for a program: what ran, with hops by route

    @property
    def traced(self) -> Traced:
        """What was traced: an expression, a script or a block."""
        if self.program is None:
            return TRACED["expression"]
        return TRACED["block" if self.program.is_block else "script"]

    @property
    def recorded(self) -> Program:
        """The recorded program. Only a trace of a script or a block has one."""
        assert self.program is not None, self.traced.name
        return self.program


@dataclass(frozen=True, slots=True)
class Trace(TraceFacts):
    """A trace: everything that ran for one expression, as nested hops with their precision and evidence."""

    hops: tuple[Hop, ...]


@dataclass(frozen=True, slots=True)
class SavedTrace(TraceFacts):
    """A trace as `--json` prints it and `--save` writes it."""

    hops: tuple[HopRow, ...]  # the hops in reading order, each after the hop around it
    session: SavedSession | None = None  # the observations behind the trace; only `--save` writes them
