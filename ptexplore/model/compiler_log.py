"""What torch.compile recorded about its own decisions in one run: its structured log, in typed records.

`probe/compiling.py` makes these records from what torch's logger receives, and `resolve/compiler` concludes from them.
Texts are as this version of torch wrote them. A version that does not record something leaves the field empty.

A compilation has an id as torch writes it: "2/1" is the second compilation of the third function that Dynamo met.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

Count: TypeAlias = Annotated[int, Meta(ge=0)]


class CodeLine(Struct, frozen=True):
    """A line of Python in a stack: file, line, function, and the text of the line if it is known."""

    file: str  # the file.
    line: Count  # the line.
    function: str  # the function.
    text: str = ""  # the text of the line.


class CompileStart(Struct, frozen=True):
    """Dynamo began to compile the code of a function. An attempt that breaks is followed by the next attempt."""

    compilation: str  # its id.
    attempt: Count
    stack: tuple[CodeLine, ...]  # the frames above it, outermost first. The last one is the function, at its first line
    qualname: str = ""  # the qualified name of the function.
    wraps: str = ""  # the qualified name of the function or class that torch's own function only calls.


class CompileEnd(Struct, frozen=True):
    """The figures that torch records when a compilation ends."""

    compilation: str
    function: str | None = None  # the name of the code object, its file and its first line; null for a backward graph.
    file: str | None = None
    line: Count | None = None
    guards: Count | None = None  # how many guards Dynamo made.
    shape_guards: Count | None = None  # how many guards on symbolic sizes.
    operators: Count | None = None  # how many calls are in the graph.
    is_compiled: bool | None = None  # whether compiled code was installed.
    fail_type: str | None = None  # the class of the error that ended the compilation.
    fail_reason: str | None = None  # its message.
    is_raised: bool | None = None  # whether that error reaches the program; null if unknown.
    fail_file: str | None = None  # the line of the user's code that it came from.
    fail_line: Count | None = None
    restarts: tuple[str, ...] = ()  # why the analysis began again.
    seconds: float | None = None  # how long it took.
    guard_latency: float | None = None  # microseconds that checking all guards once took.
    is_backward: bool = False
    texts: Count = 0  # how many texts the log had by then.


class GuardLine(Struct, frozen=True):
    """The user's line behind a guard."""

    subject: str  # the guarded value, as torch names it: "L['x']".
    line: Count  # the line that made the guard, which may be torch's.
    at: CodeLine  # the innermost line of the user that led there.


class CompilerText(Struct, frozen=True):
    """A text of the log: guards, the reason of a break, the reasons of a recompilation, a graph, generated code."""

    name: str  # torch's name for it.
    compilation: str | None
    attempt: Count
    text: str
    file: str = ""  # for generated code: its file.
    values: Mapping[str, str] = {}  # for a recompilation: by guarded expression, its value at that time.
    made: tuple[GuardLine, ...] = ()  # for guards: the user's lines behind them.
    operators: Mapping[str, tuple[str, ...]] = {}  # for operators of kernels: by call, if the text has none.


class CompilePhase(Struct, frozen=True):
    """A phase of the compiler: torch's name for it, and how long it took."""

    name: str
    compilation: str | None
    begin: float  # microseconds, by the clock that torch's events have.
    seconds: float
    depth: Count  # how many phases of the same thread were around it.


class DynamicChange(Struct, frozen=True):
    """A value that became dynamic because it changed."""

    compilation: str  # the compilation that made it dynamic.
    name: str  # the value, as an expression of Dynamo: `L['x']`.
    reason: str  # what changed.
    before: str  # the value before.
    after: str  # the value that came.


class GraphRuns(Struct, frozen=True):
    """How often the compiled graph of a compilation ran."""

    compilation: str
    runs: Count


class EagerCalls(Struct, frozen=True):
    """How often Python ran a function that Dynamo had given up, from that time on."""

    compilation: str  # the compilation that was given up.
    calls: Count | None  # null if not every call could be counted.


class FusionRefusal(Struct, frozen=True):
    """Inductor's scheduler did not fuse two groups of nodes, and said why."""

    compilation: str | None
    first: tuple[str, ...]  # the nodes of the graph in one group.
    second: tuple[str, ...]  # the nodes in the other group.
    reason: str  # torch's words.
    texts: Count = 0  # how many texts the log had by then.


class CompilerLog(Struct, frozen=True):
    """The records that torch.compile wrote in one run."""

    starts: tuple[CompileStart, ...] = ()
    ends: tuple[CompileEnd, ...] = ()
    texts: tuple[CompilerText, ...] = ()
    phases: tuple[CompilePhase, ...] = ()
    changes: tuple[DynamicChange, ...] = ()
    runs: tuple[GraphRuns, ...] | None = None  # None: graphs were not counted.
    eager: tuple[EagerCalls, ...] = ()
    refusals: tuple[FusionRefusal, ...] = ()
    lost: Count = 0  # records that could not be read or kept.
    is_removed: bool = False  # whether the program removed our handler: records after that are missing.
