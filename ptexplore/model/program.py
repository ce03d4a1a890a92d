"""A whole program as it was recorded: paths of Python calls, kinds of operator calls, and how often each was made.

What is kept grows with what differs, not with what repeats. `probe/fold.py` folds the calls; these records are
the schema of what it sends and of saved traces, and `scripts/json-docs` makes tables of docs/json.md from them.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from ptexplore.model.places import SourceRef
from ptexplore.model.reasons import AnyReason
from ptexplore.model.tensors import RecordedInput, Transform

Count: TypeAlias = Annotated[int, Meta(ge=0)]
Nanoseconds: TypeAlias = Annotated[int, Meta(ge=0)]
PathKind: TypeAlias = Literal["program", "thread", "imports", "user", "torch", "module", "builtin"]
HOLE = -1  # among what a kind called: Python ran there
NODES = ("engine", "node")  # the types of kinds that autograd's engine runs


class CallPath(Struct, frozen=True):
    """One path of Python calls: what is at its end, and how often it was taken from the path before it."""

    kind: PathKind  # a function of `torch`, of the `user`'s, a `module`, a `builtin`, `imports`, a `thread`
    name: str  # qualified: of a function its own, of a module that within the outermost one, of a builtin Python's
    calls: Count  # how often; of `imports` how many modules
    time: Nanoseconds  # from entry to exit, of all calls
    inside: Nanoseconds = 0  # the part of that which is in the time of an operator, or a node, that called Python
    recording: Nanoseconds = 0  # about how much of that, outside of what the path leads to, recording took: by samples
    parent: Count | None = None  # the number of the path that it goes on from
    line: Count | None = None  # the caller's line, where that is in the file of the path before it
    file: str | None = None  # where the function, or the module's forward, is written
    first: Count | None = None  # the first line of its code, that of its first decorator
    source: SourceRef | None = None  # the line of its `def`, of what has a row in the view of modules
    type: str | None = None  # of a module: its class
    table: str | None = None  # of a builtin: the PyMethodDef table that has it
    method: str | None = None  # of a builtin: its name in that table
    at_least: bool = False  # further calls of it are counted for what called it: there was no room for their paths


class LocalSets(Struct, frozen=True):
    """Thread-local sets of dispatch keys that calls were made with, as they were read at them."""

    include: Count  # the include set as a number
    exclude: Count  # the exclude set as a number
    transforms: tuple[Transform, ...] = ()  # the function transforms that were on, outermost first


class OperatorKind(Struct, frozen=True):
    """An operator, or a node of backward, with what it called: all calls of the kind differ by their sizes alone.

    Or what a device was given to do: a kernel, a copy.
    """

    type: Literal["op", "node", "engine", "user", "script", "launch"]  # what the profiler recorded
    name: str  # as the profiler has it
    through: str | None = None  # of a `launch`: the function of the device's runtime by which it came, if told
    overload: str | None = None  # of an `op`, where torch records it
    counted: bool = False  # of an `op`: autograd gave it a sequence number
    inputs: tuple[RecordedInput, ...] = ()  # of an `op`: those of the first such call
    inside: tuple[tuple[int, int | None], ...] = ()  # what it called: the kind (-1: Python ran), and sequence numbers
    # above that of the innermost counted call around it
    sizes: tuple[tuple[tuple[int, ...], ...], ...] = ()  # the sizes of its tensors that were seen, in this order


class OperatorRoute(Struct, frozen=True):
    """One way by which operators were called: the kind, the builtin that Python came by, the thread-local sets."""

    kind: Count  # the number of the kind
    sets: Count  # the number of the sets
    table: str | None = None  # the PyMethodDef table of the builtin; null where Python came by operator syntax
    method: str | None = None  # the builtin's name in that table
    guards: bool = False  # of no builtin: the function around names a guard that changes the sets unseen
    recorded: Count | None = None  # of a node: the number of the route of the call that recorded it
    offset: int | None = None  # and which of the sequence numbers of that call the node has
    observation: Count | None = None  # the first observation of the session that it was concluded from
    hops: tuple[Count, ...] = ()  # the ids of the hops that show what such a call does
    read: tuple[tuple[tuple[Count, ...], ...], ...] = ()  # key sets that were read before calls, the first from each
    # path: of each operator in such a call, itself first, by input the different ones (of a list those of its tensors
    # together); none of what no name of Python's held
    represented: Count | None = None  # the number of the route of which a call was stepped: this one, or one like it
    unstepped: AnyReason | None = None  # why none was, where calls were to be stepped


class OperatorCalls(Struct, frozen=True):
    """Calls of one route, of the same sizes, from one path."""

    path: Count  # the number of the path
    route: Count  # the number of the route
    shape: Count  # which of the kind's sizes
    calls: Count  # how many
    time: Nanoseconds  # from entry to exit, of all of them, less what was imported meanwhile
    python: Nanoseconds = 0  # the part of that in which they ran Python, whose paths have it too
    saved: Count = 0  # bytes of what they saved for backward, each storage counted once
    recorded: Count | None = None  # of nodes of backward: the number of the calls that recorded them
    device: tuple[Nanoseconds, ...] = ()  # of each launch in such a call, in order: how long the device took, for all


class StepBudget(Struct, frozen=True):
    """How far the stepping of a program's calls came: one call of each kind is stepped, as they come again."""

    most: Count = 0  # the instructions that it may step, with 20,000 for each fork
    stepped: Count = 0  # the instructions that were stepped
    forks: Count = 0  # how many calls were stepped, each in a fork of the program
    reason: AnyReason | None = None  # why there were none, or no more from some point on


class TimesElsewhere(Struct, frozen=True):
    """Whose times a program has, where they are not its own: those that torch.profiler wrote in another run of it.

    The times of paths are then those of their operators alone. Calls are outermost ones, with all that is in them.
    """

    file: str  # the name of the file
    matched: Count  # how many of its operator calls, and nodes of backward, are calls of this program
    unmatched: Count  # how many are none, or may be of several places
    names: tuple[tuple[str, int], ...] = ()  # of those that are not matched: the names, and how often, most first
    unlike: Count = 0  # nodes whose sequence number leads to another call than the one that recorded them here
    device_events: Count = 0  # kernels and copies of devices in it, which are not counted


class Program(Struct, frozen=True):
    """What a program ran, recorded in one run and folded by what differs."""

    paths: tuple[CallPath, ...]  # every path, each behind the one that it goes on from
    sets: tuple[LocalSets, ...]  # every pair of thread-local sets that was read
    kinds: tuple[OperatorKind, ...]  # every kind of operator call
    routes: tuple[OperatorRoute, ...]  # every route by which an operator was called from Python, or a node ran
    calls: tuple[OperatorCalls, ...]  # how often each route was taken, from where
    order: str  # in which order, packed: row numbers of `calls` from 1, 0 where what Python ran inside a call ends
    ordered: Count  # how many numbers that are
    wall: Nanoseconds  # how long the recorded run took, without the time that it waited for calls to be stepped
    overhead: Nanoseconds  # about how much of that recording took
    processor: Nanoseconds = 0  # how long its threads were on processors in that time, all together; 0: not told
    threads: Count = 0  # how many threads torch computed with at the end; 0: not told
    folding: Nanoseconds = 0  # the part of the overhead that is in no path's time: what was seen was folded meanwhile
    backwards: Count = 0  # how often backward was called
    saved_backwards: Count = 0  # of how many of these what was saved is told: of the first ones
    saved_elsewhere: Count = 0  # bytes that were saved first by nodes of no operator call that is told of
    saved_packed: Count = 0  # how many saved tensors a hook packed, as a checkpoint's does: their bytes are not told
    saved_unread: Count = 0  # how many saved tensors have memory that cannot be asked for
    saved_silent: Count = 0  # how many nodes do not tell what they saved, as those of torch._foreach_*
    saved_slices: Count = 0  # how many nodes CopySlices there were: what the node inside of each saved is not told
    is_block: bool = False  # it is a part of a process: there may have been tensors before it began
    named: bool = False  # a tensor had names for its dimensions when the recording ended
    forward_level: Count | None = None  # of forward-mode differentiation, where that was on when the recording began
    failed: Count | None = None  # of what raised: the number of the path whose builtin raised last
    cuts: tuple[AnyReason, ...] = ()  # what is not told
    elsewhere: TimesElsewhere | None = None  # whose times these are, where they are of another run
    stepping: StepBudget | None = None  # where calls were to be stepped
