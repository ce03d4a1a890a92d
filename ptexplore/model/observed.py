"""What the recorders saw: the data of each kind of observation, as a record.

These records are the schema of an observation's `data`. `capture/seen.py` makes them of what a probe sends and
`saved/session.py` of what a file holds, whose further keys and kinds are kept as it has them, and saved again: a format
only ever grows. `scripts/json-docs` makes tables of docs/json.md from them.

They are msgspec's structs and no dataclasses: a session may have hundreds of thousands of events, and msgspec makes
structs in a fifth of the time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, get_args

from msgspec import Meta, Struct, convert, field, structs, to_builtins
from msgspec.structs import fields

from ptexplore.model.reasons import AnyReason
from ptexplore.model.tensors import RecordedInput, TensorLayer, Transform

Count: TypeAlias = Annotated[int, Meta(ge=0)]
Phase = Literal["forward", "backward"]
EndedBy = Literal["error", "signal", "exit", "timeout"]  # what ends a run: `exit` is a call of os._exit
Plain: TypeAlias = dict[str, Any]  # JSON data, beside the record that it is read as


class Recorded(Struct, frozen=True, kw_only=True):
    """What every record here has."""

    observation: Count = 0  # the observation's id, which is beside its data; 0 of one that no session has yet


# What an event has besides, by its type.
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

# What is written of an event though it is at its default, by its type.
WRITTEN: Mapping[str, tuple[str, ...]] = {
    "op": ("overload", "inputs", "sequence"),
    "node": ("sequence",),
    "engine": ("sequence",),
    "frame": ("caller_line", "qualname"),
    "builtin": ("qualname",),
}


# Where a part of the expression is written: its line, its first column and its last, as Python counts them (in bytes).
Part: TypeAlias = tuple[Count, Count, Count]


class ModuleCalled(Struct, frozen=True):
    """The nn.Module that a frame of Module.__call__ calls."""

    type: str  # the qualified name of its class
    name: str | None = None  # within the outermost module that runs, "" for that itself; null if it isn't in there
    root: Count = 0  # the number of that outermost module
    bound: str | None = None  # of an outermost module: the name of the expression that is bound to it


class HeldTensor(Struct, frozen=True, omit_defaults=True):
    """A tensor that a Python object was: when the expression began, or when Python called its method."""

    impl: int  # the address of its TensorImpl, which stays its own
    raw: Count  # its key set as a number
    keys: tuple[str, ...] = ()  # the names of its keys, for whoever reads a saved session


class CaughtError(Struct, frozen=True):
    """An error of C++ that an operator made, and that did not end the run."""

    words: str  # the first line of what it says, as Python has it, 300 characters at most
    file: str  # as it was compiled, where it was made
    line: Count  # of that file


class Event(Recorded, frozen=True, omit_defaults=True):
    """One event of a recorder's tree."""

    event: Count  # its number in the tree
    parent: Count | None  # the number of the event that it is inside of
    type: str  # op, node, engine, user, script, launch, frame, builtin, callback, sets, call; cut: frames end there
    thread: Count  # 0 is the thread that ran the expression
    phase: Phase  # which half of the run
    name: str | None = None  # of an `op`, `node`, `engine`, `user`, `script` or `launch`
    overload: str | None = None  # of an `op`, where torch records it
    inputs: tuple[RecordedInput, ...] = ()  # of an `op`
    read: tuple[tuple[Count, ...], ...] = ()  # of a program's `op`: by input the key sets that were read before calls
    sequence: int | None = None  # of an `op`, `node` or `engine`: autograd's number; threads are 2**40 apart
    through: str | None = None  # of a `launch`: the function of the device's runtime by which it came, if told
    took: Count | None = None  # of a `launch`: nanoseconds on the device; null in a program, whose calls have them
    file: str | None = None  # of a `frame`
    line: Count | None = None  # of a `frame`: the line of its `def`
    function: str | None = None  # of a `frame`
    caller_line: int | None = None  # of a `frame`: the line that called it
    resumed: bool = False  # of a `frame`: a generator, or a coroutine, that ran before goes on
    guards: bool = False  # of a `frame`, `sets` or `op`: the function around names a guard that changes sets unseen
    table: str | None = None  # of a `builtin`: the PyMethodDef table that has it
    method: str | None = None  # of a `builtin`: its name in that table
    qualname: str | None = None  # of a `frame` or `builtin`: its name in Python
    tls_include: Count | None = None  # of a `builtin`: the thread-local include set before it; of `sets`: from here on
    tls_exclude: Count | None = None  # of a `builtin`: the thread-local exclude set before it; of `sets`: from here on
    transforms: tuple[Transform, ...] = ()  # of a `builtin` or `sets`: the transforms that are on, outermost first
    owner: HeldTensor | None = field(default=None, name="self")  # of a `builtin` that is a tensor's method: that tensor
    tensors: tuple[tuple[TensorLayer, ...], ...] = ()  # then, or if Python dispatches: what its caller holds
    module: ModuleCalled | None = None  # of a `frame` that is nn.Module's __call__
    by_c: bool = False  # of a `frame` or `sets`: C++ called the frame with sets of its own, which end with it
    raised: bool = False  # of a `builtin`: an exception left it
    error: CaughtError | None = None  # of an `op`: the last error that was made in it, in no operator that it called
    left: bool = False  # of a `frame` or `builtin`: the error that ended the run left it
    is_getter: bool = False  # of a `frame`: the one around it was reading an attribute, which led to it
    at: tuple[Part, ...] = ()  # of a `frame` or `builtin`: line and columns of what led to it in the expression
    call: Count | None = None  # of a `call`: the number of the call of the expression that begins with it

    def __post_init__(self) -> None:
        for name in NEEDED.get(self.type, ()):
            if getattr(self, name) is None:
                raise ValueError(f"an event of the type {self.type} needs `{name}`")

    @property
    def is_operator(self) -> bool:
        """Whether it is an operator call, or a node of the autograd graph: what every pass records alike."""
        return self.type in ("op", "node")


# Of a step without an event: one that is only concluded, or a type's slot that operator syntax leads Python to.
UNSEEN = Event(event=-1, parent=None, type="callable", thread=0, phase="forward")


def operators(events: Iterable[Event]) -> list[Event]:
    """The operator calls, and the nodes of the autograd graph, among events."""
    return [event for event in events if event.is_operator]


class CallTarget(Struct, frozen=True):
    """What a call of the expression calls: a function of Python's, a builtin, or a slot of a type."""

    kind: str = ""  # `builtin`, `slot`, `method`, `attribute`, `python`, `class`, `other`, `uncallable`
    qualname: str | None = None  # its name in Python; of what is `uncallable` that of its class
    table: str | None = None  # the PyMethodDef table that has it
    method: str | None = None  # its name in that table
    file: str | None = None  # where it is written in Python
    line: int | None = None  # the line of its `def`
    through: str | None = None  # the builtin of Python's that looks it up: `float`


class KeySetBits(Struct, frozen=True):
    """A set of dispatch keys that was read."""

    raw: Count  # the set as a number
    keys: tuple[str, ...] = ()  # their names, for whoever reads a saved session


class CallArgument(Struct, frozen=True):
    """A tensor among a call's arguments."""

    name: str  # of the parameter, or its number
    raw: int = 0  # its key set as a number
    impl: int | None = None  # the address of its TensorImpl, where that stays its own
    memory: int | None = None  # the address of its bytes, which its views share
    requires_grad: bool = False  # whether it requires grad
    keys: tuple[str, ...] = ()  # the names of its keys, for whoever reads a saved session
    description: str = ""  # what it is, in words, for the same reader


class WrittenTensor(Struct, frozen=True):
    """A tensor that was written to in place during a call, itself or through a view."""

    tensor: str  # its type and sizes, as autograd's errors have them: `torch.FloatTensor [3, 3]`
    memory: int | None  # the address of its bytes, which its views share; null where it has none
    before: Count  # how many writes it had seen when the call began
    after: Count  # and when the call ended


class HeldTensors(Recorded, frozen=True):
    """Every tensor that was there as a Python object when the expression began: parameters, globals, closures."""

    tensors: tuple[HeldTensor, ...]  # the tensors


class UserCall(Recorded, frozen=True):
    """One call, operator, subscript or attribute of the expression."""

    call: Count  # its number
    source: str  # its text
    syntax: str  # `call`, `binop`, `attribute`, …
    callable: CallTarget  # what it calls
    arguments: tuple[CallArgument, ...]  # the tensors that it is given
    tls_include: KeySetBits  # the thread-local include set before it
    tls_exclude: KeySetBits  # the thread-local exclude set before it
    written: tuple[WrittenTensor, ...] = ()  # those of its tensors that were written to meanwhile
    forward_level: Count | None = None  # of forward-mode differentiation, where that is on
    line: Count | None = None  # the line of the expression that it begins on
    col: Count | None = None  # its first column there
    end_col: Count | None = None  # the column behind it

    @property
    def at(self) -> Part | None:
        """Where it is written."""
        if self.line is None or self.col is None or self.end_col is None:
            return None
        return self.line, self.col, self.end_col


class GraphNode(Recorded, frozen=True):
    """A node of the autograd graph that the result leads to, or what backward ran from: its sum, its real part."""

    id: Count  # its number
    name: str  # of its class
    next: tuple[Count, ...]  # the numbers of the nodes that backward goes on to
    sequence: int | None = None  # the sequence number of the call that recorded it
    needed: tuple[bool, ...] = ()  # of each of its edges, whether a gradient goes on over it


class KeptForBackward(Recorded, frozen=True):
    """What the graph of the result keeps for backward of one call, each storage told once, at the first that saved it.

    What leaves hold is not counted.
    """

    sequence: Count  # the sequence number of the call
    bytes: Count  # of the storages


class UncountedSaved(Recorded, frozen=True):
    """How many saved tensors are in no sum of bytes kept for backward."""

    packed: Count = 0  # those that a hook packed, as a checkpoint's does
    unread: Count = 0  # those whose memory cannot be asked for
    silent: Count = 0  # how many nodes do not tell what they saved, as those of torch._foreach_*


class OperatorTimes(Recorded, frozen=True):
    """The operators and nodes of further runs under the profiler, warm ones, in order, with their times."""

    names: tuple[str, ...]  # as the profiler has them
    times: tuple[Count, ...]  # nanoseconds from entry to exit, of each call in the run where it took least
    runs: Count = 1  # how many runs
    threads: int = 1  # how many torch had


class GivenKernel(Struct, frozen=True):
    """A function of Python that `torch.library.custom_op` was given for an operator."""

    key: str  # the dispatch key that it is for, or an alias of several
    function: str  # its name, with the classes and functions around it
    file: str  # as Python names it
    line: int  # that of its def


class ChangedTable(Recorded, frozen=True):
    """The dispatch table of an operator whose registrations are not the catalogue's."""

    op: str  # with its overload
    dump: str  # its registrations, as the dispatcher prints them
    table: str  # its computed table, as the dispatcher prints it
    schema: str | None = None  # as the dispatcher prints it
    kernels: tuple[GivenKernel, ...] = ()  # what torch.library.custom_op was given for it


class Printed(Recorded, frozen=True):
    """What the traced code printed: the first 64 KiB."""

    text: str  # that
    cut: bool = False  # there was more


class Remark(Recorded, frozen=True):
    """What a recorder says beside what it saw: what it cut, what differed."""

    told: AnyReason  # that


class Difference(Remark, frozen=True):
    """That a pass called other operators than the first one."""

    passes: tuple[str, ...] = ()  # the recorders of the two
    position: Count | None = None  # of the first operator that differs, from 0; null where only counts do
    operators: tuple[str | None, ...] = ()  # its name in each of them; null behind the last of one


class SecondRun(Recorded, frozen=True):
    """How a script's second run, under torch's profiler alone, compares with the recorded one."""

    equal: bool  # in all that was compared
    told: AnyReason  # what was compared, or where they differ first


class PythonCode(Struct, frozen=True):
    """The code of a Python function that ran."""

    file: str  # where it is written
    line: Count  # the first line, that of its first decorator
    name: str  # its own name
    qualname: str  # with what it is inside of


class Beyond(Struct, frozen=True):
    """A limit that a run was found to be beyond, counted as it was stepped."""

    count: Count  # the run has more instructions
    singly: bool  # that is, more of those that have to be stepped one by one, as code that was made at run time


class SteppedCalls(Recorded, frozen=True):
    """Every call of one stepped part of the run, in the order of entry, as lists of one length."""

    part: Literal["forward", "backward", "operator"]  # a phase, or one operator call
    instructions: Count  # how many ran, without the profile function's that Python's calls are seen by
    functions: tuple[tuple[str, str, str, str], ...]  # library, kind of symbol, mangled and demangled name
    function: tuple[Count, ...]  # which of `functions` each call is of
    depth: tuple[Count, ...]  # how many calls each call is inside of
    begin: tuple[Count, ...]  # instructions before its entry
    end: tuple[Count, ...]  # instructions before its exit
    tail: tuple[Count, ...]  # which calls are jumps that their caller ended with
    registers: Mapping[str, tuple[Count, Count, Count]]  # by call: rdi, rsi, rdx at its entry
    closed: Mapping[str, int]  # libraries whose source is not PyTorch's, with their instructions
    units: Mapping[str, str] = {}  # by function: the source file, without folders, of what is local to one
    shared: Mapping[str, tuple[str, ...]] = {}  # by function: further names of its address, demangled
    jumpers: Mapping[str, tuple[str, ...]] = {}  # by function: those whose whole code is a jump to it, demangled
    globals: tuple[Count, ...] = ()  # which of `functions` are global symbols: neither inline nor templates
    stubs: Mapping[str, str] = {}  # by call of DispatchStubImpl::get_call_ptr: the dispatch stub; empty if not known
    returned: Mapping[str, Count] = {}  # by call of a function that chooses the backend of a convolution: 1 for true
    op: str | None = None  # the operator of that call
    number: int | None = None  # which of the operator's calls, where that is known
    of: int | None = None  # how many calls of the operator there were
    event: Count | None = None  # of a program: the id of the observation of the call that it is
    cut: AnyReason | None = None  # why the lists end early
    warm_ups: int | None = None  # runs at full speed before
    stepped: Count | None = None  # how many instructions were stepped, with the profile function's
    seconds: float | None = None  # that stepping took
    beyond: Beyond | None = None  # of one operator call that nobody asked for: why not all was stepped
    threads: int = 1  # how many torch had
    codes: Mapping[str, PythonCode] = {}  # which of `functions` are Python's, and what they are
    builtins: Mapping[str, str] = {}  # by call: the name by which Python called this function of C
    written: Mapping[str, tuple[str, Count]] = {}  # by function of an extension: the file and line where it begins
    ordered: bool = False  # whether Python's functions are among the calls
    unordered: AnyReason | None = None  # why they are not, or not all of them


class SteppedResult(Recorded, frozen=True):
    """How the result of the stepped run compares."""

    equal: bool | None = None  # to that of the run before; null if that cannot be told


class LibraryCall(Struct, frozen=True):
    """A call that a library linked into torch tells of in its verbose output."""

    library: str  # `oneDNN`, `MKL`
    phase: Phase  # which half of the run
    what: str  # of oneDNN the primitive (`matmul`), of MKL the function (`SGEMM`)
    problem: str  # its sizes, as the library writes them
    implementation: str | None = None  # which of its code ran; MKL does not say
    query: bool = False  # LAPACK was only asked how large a workspace must be, by a size of -1


class LibraryCalls(Recorded, frozen=True):
    """What oneDNN and MKL say of their own calls, in order; of a run of its own, or of a program's call in a fork."""

    calls: tuple[LibraryCall, ...]  # the calls
    cut: bool = False  # there were more
    event: Count | None = None  # of a program: the id of the observation of the call that was stepped


class LeftFrame(Struct, frozen=True):
    """A Python function that an error left."""

    file: str  # where it is written
    first: Count  # the first line of its code
    function: str  # its name
    line: Count | None = None  # the line that was at work
    raises: bool = False  # whether its own `raise` was at work; else something that it called may have raised


class CppFunction(Struct, frozen=True):
    """A function of C++ that an error left."""

    library: str  # the library's file name
    name: str  # demangled; empty where the library does not tell
    unit: str = ""  # the source file, without folders, of what is local to one
    entered: bool = False  # whether Python called it, or another library that is not torch's
    shared: tuple[str, ...] = ()  # further names of its address, demangled: of the same code, of which one copy is kept
    jumpers: tuple[str, ...] = ()  # functions whose whole code is a jump to it, demangled


class UnusedInput(Struct, frozen=True):
    """A tensor whose gradient torch.autograd.grad was asked for, and that the outputs were not computed from.

    It is a result of a leaf that they come from too (`beside`), another tensor of such a leaf's memory (`detached`), or
    neither.
    """

    index: Count  # which of the inputs, from 0
    count: Count  # how many inputs there are
    tensor: str  # it, in words
    situation: Literal["beside", "detached", "elsewhere"]  # what it is
    node: str = ""  # of a result the node that made it
    leaves: tuple[str, ...] = ()  # the first leaves that the outputs come from, in words
    further: Count = 0  # how many more there are


class FailedGetter(Struct, frozen=True):
    """An attribute that a class has, whose getter raised: `__getattr__`, which Python asked then, did not have it."""

    owner: str  # the name of the class
    name: str  # of the attribute
    function: str = ""  # the attribute of the property that is its getter: `fget`; empty where that is not known


class ErrorBefore(Struct, frozen=True):
    """An error that led to another one."""

    exception: str  # the name of its class
    message: str  # the first line of what it says
    is_cause: bool = False  # whether the other one was raised `from` it; else while it was handled
    frame: LeftFrame | None = None  # the innermost Python function that it left


class RaisedError(Recorded, frozen=True):
    """What the expression raised, or what ended its process."""

    stage: Literal["expression", "backward", "script", "block"]  # what was running; `block`: your own process
    exception: str  # the name of its class; of what ended the process the signal's, or os._exit
    message: str  # its own words
    frames: tuple[LeftFrame, ...] = ()  # the Python functions that it left, outermost first
    further: Count = 0  # how many more it left, outermost of all, that are not told
    calls: tuple[Count, ...] = ()  # the numbers of the expression's calls that it left, outermost first
    part: str = ""  # the text of the part of the expression that raised, where that is none of its calls: `d["k"]`
    close: tuple[str, ...] = ()  # names near the one that was not found
    module: str = ""  # the innermost nn.Module that it left: its name within the outermost one, and its class
    by_raise: bool = False  # whether a `raise` of Python's raised it first, and no C or C++
    by: EndedBy = "error"  # what ended the run
    stack: tuple[CppFunction, ...] = ()  # of a signal: torch's functions of C++ that ran, innermost first
    unused: UnusedInput | None = None  # where autograd has no gradient for a tensor, because it is not in the graph
    before: tuple[ErrorBefore, ...] = ()  # the errors that led to it, the nearest first
    getter: FailedGetter | None = None  # where an attribute was not found because its getter raised
    over: AnyReason | None = None  # of a run whose time was over: that


class ThrownError(Recorded, frozen=True):
    """Where C++ threw an error, as torch keeps it with most; of an expression's from a run of its own.

    Of an error that torch keeps no line with, that run saw which function called one that raises (`by`).
    """

    message: str  # the error's own words
    function: str  # the function that threw, without its scope; with it if `by` is given
    file: str = ""  # as the binary names it; empty where it keeps none
    line: Count | None = None  # the line in it
    stack: tuple[CppFunction, ...] = ()  # the functions of C++ that it left, innermost first
    elsewhere: bool = False  # whether another process of the program threw it, which has a stack of its own
    by: str = ""  # what it called: `PyErr_SetString` of Python, `throw` of C++; empty where torch keeps the line
    type: str = ""  # where it threw: the class of what it threw
    raiser: CppFunction | None = None  # the function, if `by` is given: of any library


class PythonPlace(Struct, frozen=True):
    """A place in Python's source."""

    file: str  # where it is written
    line: Count  # the line
    first: Count  # the first line of the function's code
    function: str  # the function that it is in
    text: str = ""  # what is written there
    exact: bool = True  # else the function alone is known, and the line is its first


class TensorWrite(Struct, frozen=True):
    """A write in place to a saved tensor."""

    at: PythonPlace | None  # what made it: the innermost place of your own Python
    before: Count  # how many writes the tensor had seen before
    after: Count  # and after
    operators: tuple[str, ...] = ()  # those that write to its memory by their schema, in order


class SavedTensorWrites(Recorded, frozen=True):
    """A tensor that was written to after a node of the graph had saved it; of an expression's from a run of its own."""

    tensor: str  # its type and sizes, as autograd's errors have them: `torch.FloatTensor [3, 3]`
    expected: Count  # how many writes it had seen when it was saved
    version: Count  # and when the node asked for it
    node: str | None  # the node that had saved it
    saved: PythonPlace | None  # what ran when it was saved: the innermost place of your own Python
    writes: tuple[TensorWrite, ...] = ()  # the writes in between, in order
    watched: bool = True  # else they are the operators that wrote to its memory, as the profiler saw them
    certain: bool = True  # else not every one of them counts, or one counts more than once


class GraphCall(Struct, frozen=True):
    """A call that recorded a node of the graph."""

    at: PythonPlace | None  # what made it: the innermost place of your own Python
    operator: str  # the operator


class FreedNode(Recorded, frozen=True):
    """A node that an earlier backward had freed when the engine came to it again.

    The counts of backwards are null where some of them were not seen.
    """

    node: str  # its name
    operator: str  # the operator that recorded it
    recorded: PythonPlace | None  # what called that: the innermost place of your own Python
    recorded_after: Count | None  # how many backwards had begun before that
    freed: PythonPlace | None  # what called the backward that ran it before
    freed_by: Count | None  # the number of that backward, from 1
    backwards: Count | None  # how many backwards were called, with the one that came to it again
    uses: tuple[GraphCall, ...] = ()  # the calls since then that took a result of the part that was freed
    kept: tuple[GraphCall, ...] = ()  # the calls that made these results
    again: bool | None = None  # whether a line that made these, or the node, has recorded others since
    older: bool = False  # whether all that the backward began at was recorded before that part was freed
    same_start: bool = False  # whether the backward began at nodes that had run before
    names: tuple[str, ...] = ()  # the program's own names that lead to the node
    exact: bool = False  # whether they hold just those results; else they were given anew since


class LeftProcess(Struct, frozen=True):
    """A process that the traced code started, and that ran on when the last run of it had ended."""

    pid: Count  # its number
    command: str  # its command line; empty of a fork of the run's process that runs no other program
    ended: bool  # whether it was ended with the trace; else it lives on


class LeftRunning(Recorded, frozen=True):
    """What the traced code left running. Processes of its own session or group live on: they are their user's."""

    processes: tuple[LeftProcess, ...]  # the processes


class LaunchesTold(Recorded, frozen=True):
    """That what was launched on a device is among the events."""

    device: str  # `cuda`, `xpu`


class IdleDevices(Recorded, frozen=True):
    """That some devices were never used: a tensor that is said to be there (a FakeTensor) has no memory there."""

    devices: tuple[str, ...]  # their names: `cuda`, `xpu`


class UnreadableLibraries(Recorded, frozen=True):
    """Libraries whose functions have no names."""

    libraries: Mapping[str, str]  # why, by the library's file name


class UnknownRecord(Recorded, frozen=True):
    """What a newer ptexplore's recorder saw: of a kind that is not among `KINDS`."""


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
    "cut": Remark,
    "stopped": Remark,
    "unwatched": Remark,
    "varies": Remark,
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
}


RecordT = TypeVar("RecordT", bound=AnyRecord)


class Observation(Struct, frozen=True):
    """What one recorder saw."""

    recorder: str  # `ops`, `frames`, `dispatch`, `native`, `libraries`, `compare`, `once`, `processes`, …
    kind: str  # what kind of thing it saw
    data: AnyRecord  # what it saw
    read: Plain | None = None  # of a saved one: its data as the file has them, with keys that the record lacks

    @property
    def id(self) -> int:
        """Its number, unique in its session."""
        return self.data.observation

    def numbered(self, number: int) -> Observation:
        """The same with another number."""
        return structs.replace(self, data=structs.replace(self.data, observation=number))

    def as_saved(self) -> SavedObservation:
        """It as JSON has it: as it was read, or as its record is."""
        data = self.read
        if data is None:
            data = to_builtins(self.data)
            data.pop("observation", None)  # it is beside the data
            if isinstance(self.data, Event):
                data |= {name: getattr(self.data, name) for name in WRITTEN.get(self.data.type, ()) if name not in data}
        return SavedObservation(self.id, self.recorder, self.kind, data)


class SavedObservation(Struct, frozen=True):
    """What one recorder saw, as JSON has it."""

    id: int  # unique in its session
    recorder: str  # `ops`, `frames`, `dispatch`, `native`, `libraries`, `compare`, `once`, `processes`, …
    kind: str  # what kind of thing it saw
    data: Plain  # what it saw

    def as_seen(self) -> Observation:
        """It with its data as the record of its kind; no value is coerced.

        Raises msgspec.ValidationError where a value is missing or of the wrong kind, as it may be in a file.
        """
        record = convert({**self.data, "observation": self.id}, KINDS.get(self.kind, UnknownRecord))
        return Observation(self.recorder, self.kind, record, self.data)


def records(observations: Iterable[Observation], kind: str, record: type[RecordT]) -> list[RecordT]:
    """The observations of one kind as records, in the order they were made."""
    return [seen.data for seen in observations if seen.kind == kind and isinstance(seen.data, record)]


@cache
def reasons_of(kind: str) -> tuple[str, ...]:
    """The keys of an observation's data that hold a reason, for those of one kind."""
    every = set(get_args(AnyReason))
    return tuple(known.name for known in fields(KINDS.get(kind, UnknownRecord)) if every <= set(get_args(known.type)))
