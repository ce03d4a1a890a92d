"""What the recorders saw: one record for the data of each kind of observation.

These records are the schema of an observation's `data`. `capture/seen.py` makes them from the messages of a probe, and
`saved/session.py` from a file. Unknown keys and kinds in a file are kept and saved again, because a format only grows.
`scripts/json-docs` makes tables of docs/json.md from these records.

The records are msgspec structs and not dataclasses: a session may have hundreds of thousands of events, and msgspec
creates structs in a fifth of the time.
"""

# Annotations are no strings here: msgspec would evaluate each of them in every command that reads a trace.
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, get_args

from msgspec import Meta, Struct, field, structs, to_builtins
from msgspec.structs import fields

from ptexplore.model.codes import convert
from ptexplore.model.reasons import AnyReason
from ptexplore.model.recorders import RECORDERS
from ptexplore.model.tensors import RecordedInput, TensorLayer, Transform

Count: TypeAlias = Annotated[int, Meta(ge=0)]
Phase = Literal["forward", "backward"]
EndedBy = Literal["error", "signal", "exit", "timeout"]  # what ended a run; `exit` is a call of os._exit
Plain: TypeAlias = dict[str, Any]  # JSON data, kept beside the record that is read from it


class Recorded(Struct, frozen=True, kw_only=True):
    """The base of all observation data."""

    observation: Count = 0  # the observation's id, which JSON has beside its data; 0 before a session has it


# By type of event: the fields that it must have.
NEEDED: Mapping[str, tuple[str, ...]] = {
    "op": ("name",),
    "node": ("name",),
    "engine": ("name",),
    "user": ("name",),
    "script": ("name",),
    "launch": ("name",),
    "frame": ("file", "line", "function"),
    "builtin": ("table", "method", "tls_include", "tls_exclude"),
    "sets": ("tls_include", "tls_exclude"),
    "call": ("call",),
}

# By type of event: the fields that are written even if they have their default value.
WRITTEN: Mapping[str, tuple[str, ...]] = {
    "op": ("overload", "inputs", "sequence"),
    "node": ("sequence",),
    "engine": ("sequence",),
    "frame": ("caller_line", "qualname"),
    "builtin": ("qualname",),
}


# A part of the expression: its line, its first column and the column after it. Python counts columns in bytes.
Part: TypeAlias = tuple[Count, Count, Count]


class ModuleCalled(Struct, frozen=True):
    """The nn.Module that a frame of Module.__call__ calls."""

    type: str  # the qualified name of the module's class
    name: str | None = None  # the name inside the outermost module that runs; "" for that module, null if not inside it
    root: Count = 0  # the number of the outermost module
    bound: str | None = None  # for an outermost module: the name in the expression that is bound to it


class HeldTensor(Struct, frozen=True, omit_defaults=True):
    """A tensor that was a Python object when the expression began, or when Python called one of its methods."""

    impl: int  # the address of its TensorImpl, which no other tensor uses later
    raw: Count  # its key set as a number
    keys: tuple[str, ...] = ()  # the names of its keys, for readers of a saved session


class CaughtError(Struct, frozen=True):
    """A C++ error inside an operator that did not end the run."""

    words: str  # the first line of its message as Python has it, at most 300 characters
    file: str  # the file of the line that created the error, as it was compiled
    line: Count  # the line in this file


class Event(Recorded, frozen=True, omit_defaults=True):
    """One event in the tree of a recorder."""

    event: Count  # its number in the tree
    parent: Count | None  # the number of the event around it
    type: str  # op, node, engine, user, script, launch, frame, builtin, callback, sets, call; cut: frames end here
    thread: Count  # 0 is the thread that ran the expression
    phase: Phase  # whether it ran in forward or in backward
    name: str | None = None  # for an `op`, `node`, `engine`, `user`, `script` or `launch`: its name
    overload: str | None = None  # for an `op`, if torch records overloads
    inputs: tuple[RecordedInput, ...] = ()  # for an `op`: its inputs
    read: tuple[tuple[Count, ...], ...] = ()  # for a program's `op`: by input, the key sets read before calls
    sequence: int | None = None  # for an `op`, `node` or `engine`: autograd's number; threads are 2**40 apart
    through: str | None = None  # for a `launch`: the function of the device's runtime, if recorded
    took: Count | None = None  # for a `launch`: nanoseconds on the device; null in a program: the calls have the times
    file: str | None = None  # for a `frame`: its file
    line: Count | None = None  # for a `frame`: the line of its `def`
    function: str | None = None  # for a `frame`: its name
    caller_line: int | None = None  # for a `frame`: the line that called it
    resumed: bool = False  # for a `frame`: a generator or coroutine that ran before continues here
    variables: Mapping[str, str] = {}  # for a `frame` of a function that chooses: variables at its end, as text
    guards: bool = False  # for a `frame`, `sets` or `op`: the function around it names a guard that changes sets unseen
    table: str | None = None  # for a `builtin`: the PyMethodDef table that contains it
    method: str | None = None  # for a `builtin`: its name in that table
    qualname: str | None = None  # for a `frame` or `builtin`: its name in Python
    tls_include: Count | None = None  # the thread-local include set: before a `builtin`, from a `sets` event on
    tls_exclude: Count | None = None  # the thread-local exclude set: before a `builtin`, from a `sets` event on
    transforms: tuple[Transform, ...] = ()  # for a `builtin` or `sets`: the active transforms, outermost first
    owner: HeldTensor | None = field(default=None, name="self")  # for a `builtin` that is a tensor's method: the tensor
    tensors: tuple[tuple[TensorLayer, ...], ...] = ()  # with transforms, or if Python dispatches: the caller's tensors
    module: ModuleCalled | None = None  # only for a `frame` of nn.Module.__call__
    by_c: bool = False  # for a `frame` or `sets`: C++ called the frame with thread-local sets that end with it
    raised: bool = False  # for a `builtin`: an exception left it
    error: CaughtError | None = None  # for an `op`: the last error created in it, outside of the operators inside it
    left: bool = False  # for a `frame` or `builtin`: the error that ended the run left it
    is_getter: bool = False  # for a `frame`: the frame around it was reading an attribute, and that called this frame
    at: tuple[Part, ...] = ()  # for a `frame` or `builtin`: the parts of the expression that led to it
    call: Count | None = None  # for a `call`: the number of the expression's call that begins here
    weights: Mapping[str, Count] | None = None  # for an `op` or `node`: its weights, without the operators in it

    def __post_init__(self) -> None:
        for name in NEEDED.get(self.type, ()):
            if getattr(self, name) is None:
                raise ValueError(f"an event of the type {self.type} needs `{name}`")

    @property
    def is_operator(self) -> bool:
        """Whether this is an operator call or a node of the autograd graph, which every pass records."""
        return self.type in ("op", "node")


# For a hop without an event: one that is only concluded, or a type's slot that Python calls for operator syntax.
UNSEEN = Event(event=-1, parent=None, type="callable", thread=0, phase="forward")


def operators(events: Iterable[Event]) -> list[Event]:
    """Returns the operator calls and autograd nodes among the events."""
    return [event for event in events if event.is_operator]


class CallTarget(Struct, frozen=True):
    """What a call of the expression calls: a Python function, a builtin, or a slot of a type."""

    kind: str = ""  # `builtin`, `slot`, `method`, `attribute`, `python`, `class`, `other`, `uncallable`
    qualname: str | None = None  # its name in Python; for `uncallable` the name of its class
    table: str | None = None  # the PyMethodDef table that contains it
    method: str | None = None  # its name in that table
    file: str | None = None  # for a Python function: its file
    line: int | None = None  # the line of its `def`
    through: str | None = None  # the Python builtin that looks it up: `float`


class KeySetBits(Struct, frozen=True):
    """A dispatch key set that was read."""

    raw: Count  # the key set as a number
    keys: tuple[str, ...] = ()  # the names of the keys, for readers of a saved session


class CallArgument(Struct, frozen=True):
    """A tensor among the arguments of a call."""

    name: str  # the name of the parameter, or its position
    raw: int = 0  # its key set as a number
    impl: int | None = None  # the address of its TensorImpl, if no other tensor uses it later
    memory: int | None = None  # the address of the data; views have the same
    requires_grad: bool = False  # whether it requires grad
    keys: tuple[str, ...] = ()  # the names of its keys, for readers of a saved session
    description: str = ""  # the tensor in words, for readers of a saved session


class WrittenTensor(Struct, frozen=True):
    """A tensor that was written to in place during a call, directly or through a view."""

    tensor: str  # type and sizes, as in autograd's errors: `torch.FloatTensor [3, 3]`
    memory: int | None  # the address of the data; views have the same; null if there is no data
    before: Count  # version when the call began: the number of writes until then
    after: Count  # its version when the call ended


class HeldTensors(Recorded, frozen=True):
    """All tensors that were Python objects when the expression began: parameters, globals, closures."""

    tensors: tuple[HeldTensor, ...]  # the tensors


class UserCall(Recorded, frozen=True):
    """One call, operator, subscript or attribute access in the expression."""

    call: Count  # its number
    source: str  # its text
    syntax: str  # `call`, `binop`, `attribute`, …
    callable: CallTarget  # the object that is called
    arguments: tuple[CallArgument, ...]  # the tensors among its arguments
    tls_include: KeySetBits  # the thread-local include set before the call
    tls_exclude: KeySetBits  # the thread-local exclude set before the call
    written: tuple[WrittenTensor, ...] = ()  # the tensors that were written to during the call
    forward_level: Count | None = None  # the level of forward-mode differentiation, if it is on
    line: Count | None = None  # the line of the expression where it begins
    col: Count | None = None  # its first column on that line
    end_col: Count | None = None  # the column after it
    integers: tuple[int, ...] = ()  # its arguments if all further ones are integers or lists of them: view(2, -1)

    @property
    def at(self) -> Part | None:
        """The part of the expression where the call is written."""
        if self.line is None or self.col is None or self.end_col is None:
            return None
        return self.line, self.col, self.end_col


class GraphNode(Recorded, frozen=True):
    """A node of the autograd graph behind the result, or behind what backward ran from: its sum, its real part."""

    id: Count  # its number
    name: str  # the name of its class
    next: tuple[Count, ...]  # the numbers of the next nodes in backward
    sequence: int | None = None  # the sequence number of the call that recorded it
    needed: tuple[bool, ...] = ()  # for each of its edges: whether a gradient flows over it


class KeptForBackward(Recorded, frozen=True):
    """The bytes that the result's graph keeps for backward because of one call.

    A storage is counted once, at the first call that saved it. The memory of leaves is not counted.
    """

    sequence: Count  # the sequence number of the call
    bytes: Count  # the size of the storages


class UncountedSaved(Recorded, frozen=True):
    """How many saved tensors are not included in any sum of bytes kept for backward."""

    packed: Count = 0  # tensors that a hook packed, as a checkpoint does
    unread: Count = 0  # tensors whose memory cannot be queried
    silent: Count = 0  # nodes that report no saved tensors, for example torch._foreach_*


class OperatorTimes(Recorded, frozen=True):
    """The operators and nodes of further, warm runs under the profiler, in order, with their times."""

    names: tuple[str, ...]  # the names as the profiler records them
    times: tuple[Count, ...]  # nanoseconds from entry to exit of each call, in the run where the call was fastest
    runs: Count = 1  # the number of runs
    threads: int = 1  # the number of threads that torch used


class GivenKernel(Struct, frozen=True):
    """A Python function that was given to `torch.library.custom_op` for an operator."""

    key: str  # the dispatch key of the kernel, or an alias for several keys
    function: str  # its name, qualified with the classes and functions around it
    file: str  # the file as Python names it
    line: int  # the line of its `def`


class ChangedTable(Recorded, frozen=True):
    """The dispatch table of an operator whose registrations differ from the catalogue."""

    op: str  # the operator with its overload
    dump: str  # its registrations, as the dispatcher prints them
    table: str  # its computed table, as the dispatcher prints it
    schema: str | None = None  # its schema, as the dispatcher prints it
    kernels: tuple[GivenKernel, ...] = ()  # the functions that torch.library.custom_op was given for it


class Printed(Recorded, frozen=True):
    """The output of the traced code, at most 64 KiB."""

    text: str  # the output
    cut: bool = False  # whether there was more output


class Remark(Recorded, frozen=True):
    """A remark of a recorder about its observations: a cut, a difference."""

    told: AnyReason  # the content


class Difference(Remark, frozen=True):
    """Two passes called different operators."""

    passes: tuple[str, ...] = ()  # the recorders of the two passes
    position: Count | None = None  # the index of the first different operator, from 0; null if only the counts differ
    operators: tuple[str | None, ...] = ()  # its name in each pass; null if a pass has no more operators


class SecondRun(Recorded, frozen=True):
    """How a second run of a script, under torch.profiler only, compares with the recorded run."""

    equal: bool  # whether everything that was compared is equal
    told: AnyReason  # the compared parts, or the first difference


class PythonCode(Struct, frozen=True):
    """The code object of a Python function that ran."""

    file: str  # the file of the function
    line: Count  # the first line, which is the line of its first decorator if it has one
    name: str  # its unqualified name
    qualname: str  # its qualified name


class Beyond(Struct, frozen=True):
    """A limit that was exceeded during stepping."""

    count: Count  # the limit: the run has more instructions than this
    singly: bool  # the limit counts only instructions that must be stepped one by one, as code made at run time


class SteppedCalls(Recorded, frozen=True):
    """All calls in one stepped part of the run, in order of entry. The lists have the same length."""

    part: Literal["forward", "backward", "operator"]  # a phase, or one operator call
    instructions: Count  # how many instructions ran, without those of the profile function that sees Python's calls
    functions: tuple[tuple[str, str, str, str], ...]  # library, kind of symbol, mangled and demangled name
    function: tuple[Count, ...]  # by call: its index in `functions`
    depth: tuple[Count, ...]  # by call: how many calls are around it
    begin: tuple[Count, ...]  # by call: instructions before its entry
    end: tuple[Count, ...]  # by call: instructions before its exit
    tail: tuple[Count, ...]  # the calls that are tail calls: the caller's last instruction jumps to them
    registers: Mapping[str, tuple[Count, Count, Count]]  # by call: rdi, rsi, rdx at its entry
    closed: Mapping[str, int]  # libraries without PyTorch source, with their instruction counts
    units: Mapping[str, str] = {}  # by function that is local to one source file: this file without folders
    shared: Mapping[str, tuple[str, ...]] = {}  # by function: further names at its address, demangled
    jumpers: Mapping[str, tuple[str, ...]] = {}  # by function: functions whose whole code is a jump to it, demangled
    globals: tuple[Count, ...] = ()  # which of `functions` are global symbols: neither inline nor templates
    stubs: Mapping[str, str] = {}  # by call of DispatchStubImpl::get_call_ptr: the dispatch stub; empty if not known
    returned: Mapping[str, int] = {}  # by call of a function that chooses code, or of its checks: 1 is true
    op: str | None = None  # the operator, if one operator call was stepped
    number: int | None = None  # which of the operator's calls it was, if known
    of: int | None = None  # the number of calls of the operator
    event: Count | None = None  # for a program: the id of the observation of this call
    cut: AnyReason | None = None  # why the lists end early
    warm_ups: int | None = None  # how many runs at full speed came before
    stepped: Count | None = None  # instructions that were stepped, with those of the profile function
    seconds: float | None = None  # how long stepping took
    beyond: Beyond | None = None  # for an operator call that you did not ask for: why it was not stepped to its end
    threads: int = 1  # the number of threads that torch used
    codes: Mapping[str, PythonCode] = {}  # which of `functions` are Python functions, with their code
    builtins: Mapping[str, str] = {}  # by call: the name by which Python called this C function
    written: Mapping[str, tuple[str, Count]] = {}  # by function of an extension: the file and line where it begins
    ordered: bool = False  # whether the Python functions are among the calls
    unordered: AnyReason | None = None  # why the order is not known, or only partly


class SteppedResult(Recorded, frozen=True):
    """Whether the stepped run gave the same result."""

    equal: bool | None = None  # equal to the result of the run before; null if they cannot be compared


class LibraryCall(Struct, frozen=True):
    """A call that a library linked into torch reports in its verbose output."""

    library: str  # `oneDNN`, `MKL`
    phase: Phase  # whether it ran in forward or in backward
    what: str  # for oneDNN the primitive (`matmul`), for MKL the function (`SGEMM`)
    problem: str  # the sizes, as the library prints them
    implementation: str | None = None  # which implementation ran; MKL does not say
    query: bool = False  # a LAPACK call with size -1 that only asked for the size of a workspace
    took: Count | None = None  # nanoseconds, as the library reports them


class LibraryCalls(Recorded, frozen=True):
    """The calls that oneDNN and MKL report, in order. An extra run, or a fork at a program's call, collects them."""

    calls: tuple[LibraryCall, ...]  # the calls
    cut: bool = False  # whether there were more calls
    event: Count | None = None  # for a program: the id of the observation of the stepped call


class LeftFrame(Struct, frozen=True):
    """A Python function that an error propagated out of."""

    file: str  # the file of the function
    first: Count  # the first line of its code
    function: str  # its name
    line: Count | None = None  # the line that was running
    raises: bool = False  # true: this line is a `raise`; false: something that it called may have raised


class CppFunction(Struct, frozen=True):
    """A C++ function that an error propagated out of."""

    library: str  # the library's file name
    name: str  # the demangled name; empty if the library does not have it
    unit: str = ""  # if the function is local to one source file: this file without folders
    entered: bool = False  # whether its caller is Python, or a library that is not torch's
    shared: tuple[str, ...] = ()  # further names at its address, demangled: identical code, of which one copy was kept
    jumpers: tuple[str, ...] = ()  # functions whose whole code is a jump to it, demangled


class UnusedInput(Struct, frozen=True):
    """An input of torch.autograd.grad that the outputs were not computed from.

    The tensor is a result of a leaf that the outputs also come from (`beside`), another tensor in the memory of such a
    leaf (`detached`), or neither (`elsewhere`).
    """

    index: Count  # the index of the input, from 0
    count: Count  # the number of inputs
    tensor: str  # the tensor in words
    situation: Literal["beside", "detached", "elsewhere"]  # a result of a shared leaf, in a leaf's memory, or neither
    node: str = ""  # if it is a result: the node that produced it
    leaves: tuple[str, ...] = ()  # the first leaves that the outputs come from, in words
    further: Count = 0  # the number of further leaves


class FailedGetter(Struct, frozen=True):
    """An attribute whose getter raised. Python then asked the class's `__getattr__`, which does not have it."""

    owner: str  # the name of the class
    name: str  # the name of the attribute
    function: str = ""  # the attribute of the property that is its getter: `fget`; empty if not known


class ErrorBefore(Struct, frozen=True):
    """An error that led to another one."""

    exception: str  # the name of its class
    message: str  # the first line of its message
    is_cause: bool = False  # true: the next error was raised `from` this one; false: while this one was handled
    frame: LeftFrame | None = None  # the innermost Python function that the error propagated out of


class RaisedError(Recorded, frozen=True):
    """The error that the expression raised, or what ended its process."""

    stage: Literal["expression", "backward", "script", "block"]  # the part that was running; `block`: your own process
    exception: str  # the error's class; if no error ended the process: the signal's name, or os._exit
    message: str  # its message
    frames: tuple[LeftFrame, ...] = ()  # the Python functions that it propagated out of, outermost first
    further: Count = 0  # how many more it left: these are the outermost ones, and not listed
    calls: tuple[Count, ...] = ()  # the numbers of the expression's calls that it left, outermost first
    part: str = ""  # the part of the expression that raised, if it is not a call: `d["k"]`
    close: tuple[str, ...] = ()  # similar names, if a name was not found
    module: str = ""  # the innermost nn.Module that it left: the name in the outermost module, and the class
    by_raise: bool = False  # whether a `raise` in Python raised it first, not C or C++
    by: EndedBy = "error"  # what ended the run
    stack: tuple[CppFunction, ...] = ()  # if a signal ended the run: torch's C++ functions that ran, innermost first
    unused: UnusedInput | None = None  # if autograd has no gradient for a tensor that is not in the graph: this tensor
    before: tuple[ErrorBefore, ...] = ()  # the errors that led to it, the nearest first
    getter: FailedGetter | None = None  # if an attribute was not found because its getter raised: this attribute
    over: AnyReason | None = None  # if the time of the run was over: the reason for that


class ThrownError(Recorded, frozen=True):
    """The place where C++ threw an error. torch keeps this place with most errors.

    For an expression, an additional run finds it. If torch keeps no line with an error, that run sees which function
    called one that raises (`by`).
    """

    message: str  # the error's message
    function: str  # the function that threw; without its scope, unless `by` is set
    file: str = ""  # the file as the binary names it; empty if the error has none
    line: Count | None = None  # the line in this file
    stack: tuple[CppFunction, ...] = ()  # the C++ functions that it left, innermost first
    elsewhere: bool = False  # whether another process of the program threw it, with a stack of its own
    by: str = ""  # how it raised: `PyErr_SetString` of Python, `throw` of C++; empty if torch keeps the line
    type: str = ""  # for a `throw`: the class of the thrown object
    raiser: CppFunction | None = None  # if `by` is set: the function, which may be of any library


class PythonPlace(Struct, frozen=True):
    """A place in Python source."""

    file: str  # the file
    line: Count  # the line
    first: Count  # the first line of the function's code
    function: str  # the function that contains the line
    text: str = ""  # the text of the line
    exact: bool = True  # false: only the function is known, and the line is its first line


class TensorWrite(Struct, frozen=True):
    """An in-place write to a saved tensor."""

    at: PythonPlace | None  # the innermost place in your own Python that made the write
    before: Count  # the tensor's version before the write: how many writes it had seen
    after: Count  # its version after the write
    operators: tuple[str, ...] = ()  # the operators that write to its memory according to their schema, in order


class SavedTensorWrites(Recorded, frozen=True):
    """A tensor that was written to after a node of the graph had saved it.

    For an expression, an additional run finds it.
    """

    tensor: str  # type and sizes, as in autograd's errors: `torch.FloatTensor [3, 3]`
    expected: Count  # version when saved: the number of writes until then
    version: Count  # its version when the node needed it
    node: str | None  # the node that had saved it
    saved: PythonPlace | None  # the innermost place in your own Python that ran when it was saved
    writes: tuple[TensorWrite, ...] = ()  # the writes between these two moments, in order
    watched: bool = True  # false: the writes are the profiler's operators that wrote to its memory
    certain: bool = True  # false: some of the writes may not count, or may count more than once


class GraphCall(Struct, frozen=True):
    """A call that recorded a node of the graph."""

    at: PythonPlace | None  # the innermost place in your own Python that made the call
    operator: str  # the operator


class FreedNode(Recorded, frozen=True):
    """A node that an earlier backward had freed when the engine reached it again.

    The counts of backwards are null if some of them were not seen.
    """

    node: str  # its name
    operator: str  # the operator that recorded the node
    recorded: PythonPlace | None  # the innermost place in your own Python that called this operator
    recorded_after: Count | None  # how many backwards had begun before that
    freed: PythonPlace | None  # the place that called the backward which ran the node before
    freed_by: Count | None  # the number of that backward, from 1
    backwards: Count | None  # how many backwards were called, with the one that reached the node again
    uses: tuple[GraphCall, ...] = ()  # later calls that used a result of the freed part
    kept: tuple[GraphCall, ...] = ()  # the calls that had produced these results
    again: bool | None = None  # whether a line that produced these results, or the node, has recorded others since
    older: bool = False  # whether everything that backward began from was recorded before that part was freed
    same_start: bool = False  # whether backward began at nodes that had run before
    names: tuple[str, ...] = ()  # the names in your program that lead to the node
    exact: bool = False  # true: the names hold exactly these results; false: they were assigned again since


class LeftProcess(Struct, frozen=True):
    """A process that the traced code started and that still ran when the last run of the code had ended."""

    pid: Count  # its process id
    command: str  # its command line; empty for a fork of the run's process that runs no other program
    ended: bool  # true: it was ended with the trace; false: it still lives


class LeftRunning(Recorded, frozen=True):
    """The processes that the traced code left running. Those in a session or group of their own stay alive."""

    processes: tuple[LeftProcess, ...]  # the processes


class LaunchesTold(Recorded, frozen=True):
    """The events include launches on this device."""

    device: str  # `cuda`, `xpu`


class IdleDevices(Recorded, frozen=True):
    """Devices that were never used. A tensor that is said to be there (a FakeTensor) has no memory there."""

    devices: tuple[str, ...]  # their names: `cuda`, `xpu`


class UnreadableLibraries(Recorded, frozen=True):
    """Libraries whose functions have no names."""

    libraries: Mapping[str, str]  # by the library's file name: the reason


class UnknownRecord(Recorded, frozen=True):
    """An observation of a kind that is not among `KINDS`: a newer ptexplore recorded it."""


AnyRecord: TypeAlias = (
    Event | UserCall | HeldTensors | GraphNode | KeptForBackward | UncountedSaved | OperatorTimes | ChangedTable
    | Printed | Remark | Difference | SecondRun | SteppedCalls | SteppedResult | LibraryCalls | LaunchesTold
    | IdleDevices | UnreadableLibraries | RaisedError | ThrownError | SavedTensorWrites | FreedNode | LeftRunning
    | UnknownRecord
)  # fmt: skip
KINDS: Mapping[str, type[AnyRecord]] = {
    "event": Event,
    "call": UserCall,
    "held": HeldTensors,
    "graph": GraphNode,
    "kept": KeptForBackward,
    "uncounted": UncountedSaved,
    "times": OperatorTimes,
    "table": ChangedTable,
    "output": Printed,
    "twice": SecondRun,
    "calls": SteppedCalls,
    "result": SteppedResult,
    "libraries": LibraryCalls,
    "launches": LaunchesTold,
    "idle": IdleDevices,
    "unreadable": UnreadableLibraries,
    "raised": RaisedError,
    "thrown": ThrownError,
    "saved": SavedTensorWrites,
    "freed": FreedNode,
    "left-running": LeftRunning,
    "nondeterministic": Difference,
    "perturbed": Difference,
    **{kind: Remark for spec in RECORDERS.values() for kind in spec.remarks},
}


RecordT = TypeVar("RecordT", bound=AnyRecord)


class Observation(Struct, frozen=True):
    """An observation of one recorder."""

    recorder: str  # `ops`, `frames`, `dispatch`, `native`, `libraries`, `compare`, `once`, `processes`, …
    kind: str  # the kind of observation
    data: AnyRecord  # the data of the observation
    read: Plain | None = None  # for a saved observation: its data as in the file, with keys that the record lacks

    @property
    def id(self) -> int:
        """The number of the observation, unique in its session."""
        return self.data.observation

    def numbered(self, number: int) -> "Observation":
        """Returns the observation with another number."""
        return structs.replace(self, data=structs.replace(self.data, observation=number))

    def as_saved(self) -> "SavedObservation":
        """Returns the observation as JSON has it: the data that was read from a file, or the fields of the record."""
        data = self.read
        if data is None:
            data = to_builtins(self.data)
            data.pop("observation", None)  # it is beside the data
            if isinstance(self.data, Event):
                data |= {name: getattr(self.data, name) for name in WRITTEN.get(self.data.type, ()) if name not in data}
        return SavedObservation(self.id, self.recorder, self.kind, data)


class SavedObservation(Struct, frozen=True):
    """An observation of one recorder, as JSON has it."""

    id: int  # unique in its session
    recorder: str  # `ops`, `frames`, `dispatch`, `native`, `libraries`, `compare`, `once`, `processes`, …
    kind: str  # the kind of observation
    data: Plain  # the data of the observation

    def as_seen(self) -> Observation:
        """Returns the observation with its data as the record of its kind. No value is converted.

        Raises msgspec.ValidationError if a value is missing or has the wrong type, which a file may contain.
        """
        record = convert({**self.data, "observation": self.id}, KINDS.get(self.kind, UnknownRecord))
        return Observation(self.recorder, self.kind, record, self.data)


def records(observations: Iterable[Observation], kind: str, record: type[RecordT]) -> list[RecordT]:
    """Returns the data of the observations of one kind, in the order in which they were made."""
    return [seen.data for seen in observations if seen.kind == kind and isinstance(seen.data, record)]


@cache
def reasons_of(kind: str) -> tuple[str, ...]:
    """Returns the keys that hold a reason in the data of one kind of observation."""
    known = fields(KINDS.get(kind, UnknownRecord))
    return tuple(held.name for held in known if AnyReason in (held.type, *get_args(held.type)))
