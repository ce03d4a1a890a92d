"""A recorded program: paths of Python calls, kinds of operator calls, and how often each ran.

The size of the records grows with the number of different calls, not with the number of calls. `probe/fold.py` folds
the calls. These records are the schema of what it sends and of saved traces. `scripts/json-docs` makes tables of
docs/json.md from them.
"""

# Annotations are no strings here: msgspec would evaluate each of them in every command that reads a trace.
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from ptexplore.model.places import SourceRef
from ptexplore.model.reasons import AnyReason
from ptexplore.model.tensors import RecordedInput, RecordedTensor, Transform

Count: TypeAlias = Annotated[int, Meta(ge=0)]
Nanoseconds: TypeAlias = Annotated[int, Meta(ge=0)]
PathKind: TypeAlias = Literal["program", "thread", "imports", "user", "library", "torch", "module", "builtin"]
HOLE = -1  # among the calls inside a kind: Python ran here
NODES = ("engine", "node")  # the types of kinds that autograd's engine runs


class CallPath(Struct, frozen=True):
    """One path of Python calls: the call at its end, and how often it was made from the path before it."""

    kind: PathKind  # a function of `torch`, a `library` or the `user`, a `module`, a `builtin`, `imports`, a `thread`
    name: str  # the qualified name; for a module the name in the outermost module, for a builtin the name in Python
    calls: Count  # the number of calls; for `imports` the number of modules
    time: Nanoseconds  # nanoseconds from entry to exit, over all calls
    inside: Nanoseconds = 0  # the part of `time` that also counts for an operator, or a node, that called Python
    recording: Nanoseconds = 0  # the part of `time` that recording took; without the paths that follow
    error: Nanoseconds = 0  # the error of `recording`: a row's time below the sum of these is not known
    parent: Count | None = None  # the index in `paths` of the path before this one
    line: Count | None = None  # the line that led here in the function before, if it is in that file
    file: str | None = None  # the file of the function, or of the module's forward
    package: bool = False  # for a function of the `user`: the file is of Python or of an installed package
    first: Count | None = None  # the first line of its code, which is the line of its first decorator if it has one
    source: SourceRef | None = None  # the line of its `def`, if it has a row in the view of modules
    type: str | None = None  # for a module: its class
    table: str | None = None  # for a builtin: the PyMethodDef table that contains it
    method: str | None = None  # for a builtin: its name in that table
    at_least: bool = False  # further calls count for their caller, because there was no room for their paths
    compiled: bool = False  # for a function of the `user`: code that Dynamo made from it, which calls a compiled graph


class LocalSets(Struct, frozen=True):
    """A pair of thread-local dispatch key sets at calls, as it was read there."""

    include: Count  # the include set as a number
    exclude: Count  # the exclude set as a number
    transforms: tuple[Transform, ...] = ()  # the active function transforms, outermost first


class OperatorKind(Struct, frozen=True):
    """An operator, or a node of backward, with the calls inside it. All calls of a kind differ only in sizes.

    Also work that a device was given: a kernel, a copy.
    """

    type: Literal["op", "node", "engine", "user", "script", "launch"]  # what the profiler recorded
    name: str  # the name as the profiler records it
    through: str | None = None  # for a `launch`: the function of the device's runtime, if recorded
    overload: str | None = None  # for an `op`, if torch records overloads
    counted: bool = False  # for an `op`: autograd gave it a sequence number
    inputs: tuple[RecordedInput, ...] = ()  # for an `op`: the inputs of the first such call
    inside: tuple[tuple[int, int | None], ...] = ()  # the calls in it: index in `kinds` (-1: Python ran), and an offset
    # The offset: the call's sequence number minus that of the innermost counted call around it; null without one.
    sizes: tuple[tuple[tuple[int, ...], ...], ...] = ()  # the different sizes of its tensors, in the order seen


class OperatorRoute(Struct, frozen=True):
    """One way to an operator: its kind, the builtin that Python called, and the thread-local sets."""

    kind: Count  # the index in `kinds`
    sets: Count  # the index in `sets`
    table: str | None = None  # the PyMethodDef table of the builtin; null if operator syntax led to it
    method: str | None = None  # the builtin's name in that table
    guards: bool = False  # without a builtin: the function around it names a guard that changes the sets unseen
    recorded: Count | None = None  # for a node: the index in `routes` of the call that recorded it
    offset: int | None = None  # for a node: which of that call's sequence numbers it has
    observation: Count | None = None  # the first observation in the session that was made from this route
    hops: tuple[Count, ...] = ()  # the ids of the hops that show such a call
    read: tuple[tuple[tuple[Count, ...], ...], ...] = ()  # by operator and input: the key sets that were read
    # They were read before the first call from each path. The operators are those in such a call, the call itself
    # first. A list of tensors has the key sets of all its tensors. Tensors without a Python name were not read.
    represented: Count | None = None  # the index in `routes` of the route whose call was stepped: this or a similar one
    unstepped: AnyReason | None = None  # why no call was stepped, if stepping was asked for


class CopiedTensor(Struct, frozen=True, omit_defaults=True):
    """Copies of tensors' data that calls made, all with the same sizes and strides."""

    source: RecordedTensor  # the read tensor
    result: RecordedTensor  # the written tensor
    calls: Count  # the count
    inside: tuple[str, ...] = ()  # the operators around, outermost first
    argument: Count | None = None  # the index of the copied input
    is_view: bool = False  # a view of it was copied
    format: Count | None = None  # the wanted c10::MemoryFormat


class OperatorCalls(Struct, frozen=True):
    """The calls of one route with the same sizes from one path."""

    path: Count  # the index in `paths`
    route: Count  # the index in `routes`
    shape: Count  # the index in the kind's `sizes`
    calls: Count  # the number of calls
    time: Nanoseconds  # nanoseconds from entry to exit, over all calls, without imports during them
    python: Nanoseconds = 0  # the part of `time` in which they ran Python; it also counts for the paths of that Python
    recorded: Count | None = None  # for nodes of backward: the index in `calls` of the calls that recorded them
    line: Count | None = None  # for operator syntax (`a + b`) in a function of yours: its line there, if it is certain
    device: tuple[Nanoseconds, ...] = ()  # by launch, in order: nanoseconds on the device, over all calls
    copies: tuple[CopiedTensor, ...] = ()  # what the calls copied, at most 64 different copies
    weights: Mapping[str, Count] | None = None  # by name: `saved`, bytes saved for backward, each storage counted once


class SourceText(Struct, frozen=True):
    """The text of lines in one of your files: lines that made calls, and the first lines of functions.

    Only functions whose code equals what the file compiles to have lines here. A changed file has none.
    """

    file: str  # as in the paths
    lines: tuple[tuple[Count, str], ...]  # line numbers with the text, in order


class StepBudget(Struct, frozen=True):
    """How much of a program was stepped. One call of each kind is stepped, when the kind comes again."""

    most: Count = 0  # the budget of instructions; each fork costs 20,000 of them
    stepped: Count = 0  # the number of instructions that were stepped
    forks: Count = 0  # the number of calls that were stepped, each in a fork of the program
    reason: AnyReason | None = None  # why nothing was stepped, or why stepping ended early


class TimesElsewhere(Struct, frozen=True):
    """The origin of a program's times if torch.profiler measured them in another run of it.

    The times of paths are then only the times of their operators. Calls are outermost calls, with everything in them.
    """

    file: str  # the name of the file
    matched: Count  # how many of its operator calls and nodes are calls of this program
    unmatched: Count  # how many are not, or may belong to several places
    names: tuple[tuple[str, int], ...] = ()  # the unmatched ones: name and count, most frequent first
    unlike: Count = 0  # nodes whose sequence number belongs to different calls in the two runs
    device_events: Count = 0  # kernels and copies of devices in the file, which are not counted


class Program(Struct, frozen=True):
    """What a program ran, recorded in one run; equal calls are folded."""

    paths: tuple[CallPath, ...]  # the paths of calls, a caller's path before the paths inside it
    sets: tuple[LocalSets, ...]  # all pairs of thread-local sets that were read
    kinds: tuple[OperatorKind, ...]  # all kinds of operator calls
    routes: tuple[OperatorRoute, ...]  # all routes by which Python called an operator, or a node ran
    calls: tuple[OperatorCalls, ...]  # the number of calls of each route, by the path of the caller
    order: str  # the order of calls, packed: row numbers of `calls` from 1; 0 ends what Python ran inside a call
    ordered: Count  # how many numbers `order` has
    wall: Nanoseconds  # nanoseconds that the recorded run took, without waiting for stepped calls
    overhead: Nanoseconds  # about how many nanoseconds of `wall` recording took
    processor: Nanoseconds = 0  # CPU time of all its threads together, in nanoseconds; 0: not known
    threads: Count = 0  # how many threads torch used at the end; 0: not known
    folding: Nanoseconds = 0  # the part of `overhead` that no path's time includes: folding of observations
    profiling: Nanoseconds = 0  # about how much torch's profiler adds to an operator call; 0: not known
    backwards: Count = 0  # how many times backward was called
    saved_backwards: Count = 0  # for how many of these, the first ones, saved memory is known
    saved_elsewhere: Count = 0  # bytes first saved by nodes of operator calls that are not in the record
    saved_packed: Count = 0  # how many saved tensors a hook packed, as a checkpoint does: their bytes are not known
    saved_unread: Count = 0  # how many saved tensors have memory that cannot be queried
    saved_silent: Count = 0  # number of nodes that report no saved tensors, for example torch._foreach_*
    saved_slices: Count = 0  # number of CopySlices nodes: the saved bytes of the node inside are not known
    is_block: bool = False  # a recorded block of a process: tensors may have existed before it began
    named: bool = False  # a tensor had named dimensions when the recording ended
    forward_level: Count | None = None  # the level of forward-mode differentiation at the beginning, if it was on
    failed: Count | None = None  # if the program raised: the index in `paths` of the path whose builtin raised last
    cuts: tuple[AnyReason, ...] = ()  # what the record leaves out
    elsewhere: TimesElsewhere | None = None  # the origin of the times, if they are of another run
    stepping: StepBudget | None = None  # how much was stepped, if stepping was asked for
    last: tuple[OperatorKind, ...] = ()  # the operators in the last call, each with its own inputs
    sources: tuple[SourceText, ...] = ()  # the text of your lines


def short_names(files: Iterable[str]) -> dict[str, str]:
    """Returns for each file its name, after as many of its folders as distinguish it from the other files."""
    wanted = dict.fromkeys(files, 1)  # how many parts of the path
    while True:
        names = {file: "/".join(file.split("/")[-parts:]) for file, parts in wanted.items()}
        used = Counter(names.values())
        longer = [file for file, name in names.items() if used[name] > 1 and name != file]
        if not longer:
            return names
        for file in longer:
            wanted[file] += 1
