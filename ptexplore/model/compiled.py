"""What torch.compile did to a program: functions that were compiled, breaks, recompilations, guards, kernels, times.

A `CompileRun` is one run with its log. A `CompileReport` is concluded from it by `resolve/compiler`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ptexplore.model.compiler_log import CodeLine, CompilerLog, DynamicChange
from ptexplore.model.observed import LeftProcess, RaisedError
from ptexplore.model.options import TraceOptions
from ptexplore.model.trace import BoundName, TorchInfo

# What a guard checks, as far as its text says it.
CheckedProperty = Literal[
    "size", "stride", "rank", "dtype", "requires_grad", "device", "keys", "value", "class", "object", "length",
    "bounds", "falsy", "state", "other",
]  # fmt: skip
# whole: compiled without a break. broken: at least one break, and a part of it is compiled. unbroken parts that have
# no operator have no graph. skipped: Dynamo gave up, and Python runs it. failed: the compilation raised.
# empty: nothing to compile. unknown: the record of its end is missing.
FunctionOutcome = Literal["whole", "broken", "skipped", "failed", "empty", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileRun:
    """One run of an expression or script, with the compiler's log."""

    expression: str  # the expression, or `--script FILE`.
    torch: TorchInfo
    options: TraceOptions
    wraps: bool  # whether ptexplore gave the expression to torch.compile.
    bound: tuple[BoundName, ...]
    log: CompilerLog
    raised: RaisedError | None = None  # what ended the run.
    printed: str = ""
    printed_cut: bool = False
    left: tuple[LeftProcess, ...] = ()
    cwd: str = "/"


@dataclass(frozen=True, slots=True)
class BreakReason:
    """Why Dynamo could not go on, in torch's words. Parts that this version does not write are empty."""

    kind: str  # the kind of break.
    explanation: str = ""  # its explanation.
    hints: tuple[str, ...] = ()  # what to do.
    situation: str = ""  # the step at which Dynamo met the break.
    context: str = ""  # further words for developers of PyTorch.
    number: str = ""  # the number of the kind: "GB0170".
    link: str = ""  # its page.
    operator: str = ""  # the higher-order operator, such as checkpoint, whose function Dynamo traced; empty if none.


@dataclass(frozen=True, slots=True)
class GraphBreak:
    """A line where a graph ended, and why. The same break may be met by several compilations."""

    at: CodeLine | None  # your line; null if the log does not say.
    reason: BreakReason  # why.
    stack: tuple[CodeLine, ...] = ()  # the frames of your code that led there, outermost first.
    gave_up: CodeLine | None = None  # the line of Dynamo that gave up.
    compilations: tuple[str, ...] = ()  # the compilations that met it.
    times: int = 1  # how often torch's log has it.


@dataclass(frozen=True, slots=True)
class MetFunction:
    """A function that Dynamo tried to compile, with the functions that continue it after its breaks."""

    name: str  # its qualified name.
    file: str  # its file.
    line: int  # its first line.
    outcome: FunctionOutcome  # what became of it.
    is_call: bool = False  # whether file and line say where it is called: the function itself is torch's.
    is_backward: bool = False  # whether compiled autograd generated it.
    called_from: CodeLine | None = None  # your innermost line above the function at its first compilation.
    parts: int = 0  # how many parts of it have a graph.
    graphs: int = 0  # how many graphs were compiled, in recompilations too.
    again: int = 0  # how many compilations were recompilations.
    runs: int | None = None  # how often its graphs ran; null if that was not counted.
    eager: int | None = None  # calls that Python ran after Dynamo gave up; null if it did not, or not all were counted.
    operators: int = 0  # calls in its graphs, of the first compilation of each part.
    guards: int | None = None  # guards of the first compilation of each part; null if the log does not say.
    seconds: float | None = None  # time of its compilations.
    breaks: tuple[GraphBreak, ...] = ()  # its breaks.
    failure: BreakReason | None = None  # why it is skipped, or failed.
    failed_at: CodeLine | None = None  # the line where that happened.
    at_limit: bool = False  # whether Dynamo stopped at the limit of recompilations.


@dataclass(frozen=True, slots=True)
class FailedCheck:
    """A guard of a version that was compiled before, and that did not hold."""

    version: str  # the compilation whose guard it is.
    text: str  # the guard, as torch writes it.
    checks: CheckedProperty  # the property that differed.
    subject: str = ""  # the checked expression.
    index: int | None = None  # for a size or stride: the dimension.
    old: str = ""  # the value that was compiled for; empty if unknown.
    new: str = ""  # the value that came; empty if unknown.
    new_class: str = ""  # for another object: its class; empty if unknown.
    least: str = ""  # for bounds: the least value that fits; empty if there is none.
    most: str = ""  # for bounds: the greatest value that fits; empty if there is none.
    at: CodeLine | None = None  # the line of yours, or of torch, that made the guard; null if the log does not say.
    is_first_use: bool = False  # `at` only is the first use of the value.
    hint: str = ""  # what torch adds.
    stack: tuple[CodeLine, ...] = ()  # the frames of your code that led to `at`.


@dataclass(frozen=True, slots=True)
class Recompilation:
    """A function was compiled again, since no version that was compiled before fits."""

    compilation: str  # its id.
    function: str  # the function.
    file: str  # its file.
    line: int  # its first line.
    checks: tuple[FailedCheck, ...]  # the guard of each version that was tried.
    changes: tuple[DynamicChange, ...] = ()  # what became dynamic.
    in_part_at: int | None = None  # for a part after a break: the line of the break.


@dataclass(frozen=True, slots=True)
class LineGuards:
    """The guards that one line made: their number by kind, and the texts of some of them."""

    at: CodeLine | None  # the line; null: the environment, or a line that the log does not say.
    kinds: tuple[tuple[str, int], ...]  # torch's name of the kind, and how many.
    texts: tuple[str, ...] = ()  # some of them, as torch writes them.
    is_first_use: bool = False  # `at` only is the first use of the sizes that are checked.


@dataclass(frozen=True, slots=True)
class PhaseTime:
    """The time of one phase of the compiler, over all compilations."""

    name: str  # torch's name.
    seconds: float  # with the phases inside it.
    times: int  # how often it ran.
    own: float = 0.0  # seconds without the phases inside it.


@dataclass(frozen=True, slots=True)
class NotFused:
    """Another kernel of the same graph, and why Inductor's scheduler did not fuse the two."""

    kernel: str  # the name of the other kernel.
    reason: str  # torch's words.


@dataclass(frozen=True, slots=True)
class GeneratedKernel:
    """A kernel that Inductor generated, or a call into a library, with the operators that it computes."""

    name: str  # its name.
    compilation: str  # the compilation that generated it.
    operators: tuple[str, ...]  # the nodes of the graph that are in it, in its order; empty if unknown.
    lines: tuple[CodeLine, ...]  # your lines that it computes.
    is_backward: bool = False  # whether it is of a backward graph.
    file: str = ""  # the file of generated code that calls it.
    calls: tuple[str, ...] = ()  # the operators of these nodes, as far as the graph is known: "aten.mul.Tensor".
    not_fused: tuple[NotFused, ...] = ()  # kernels that the scheduler did not fuse with it, with torch's reason.


@dataclass(frozen=True, slots=True)
class ValueForBackward:
    """A value of a forward graph that backward uses."""

    name: str  # its name in the graph.
    type: str = ""  # dtype, sizes, strides and device, as torch writes them.
    bytes: int | None = None  # its size; null if a size is symbolic or the type is unknown.
    operator: str = ""  # the operator that computed it; "" for an input of the graph.
    at: CodeLine | None = None  # your line that computed it; null if the graph does not say.


@dataclass(frozen=True, slots=True)
class CompiledGraph:
    """A graph as torch prints it, and the code that Inductor generated for it."""

    compilation: str  # the compilation that made it.
    function: str  # the function.
    is_backward: bool = False  # whether backward runs this graph.
    text: str = ""  # the graph.
    code: str = ""  # the generated code; "" with another backend.
    file: str = ""  # the file of the generated code.
    is_cut: bool = False  # whether only the first part of a text is kept.
    has_partition: bool = False  # whether the log has the graphs of forward and backward, for the next two.
    kept: tuple[ValueForBackward, ...] = ()  # values that forward keeps for backward.
    again: tuple[ValueForBackward, ...] = ()  # values that backward computes again.


COMPILE_FORMAT = 1  # the format of saved reports; within a format keys are only added


@dataclass(frozen=True, slots=True)
class CompileReport:
    """Everything that is concluded from one run."""

    run: CompileRun
    functions: tuple[MetFunction, ...]
    recompilations: tuple[Recompilation, ...]
    guards: tuple[LineGuards, ...]
    kernels: tuple[GeneratedKernel, ...] = ()
    compiled: tuple[CompiledGraph, ...] = ()
    phases: tuple[PhaseTime, ...] = ()
    seconds: float | None = None  # time of all compilations.
    graphs: int = 0
    backward_graphs: int = 0
    guard_count: int | None = None  # guards that Dynamo made, over all compilations; None if the log does not say.
    further: tuple[str, ...] = field(default=())  # compilations without a function, as in autograd.


@dataclass(frozen=True, slots=True)
class SavedCompile:
    """A report in a file, without the log that it was concluded from."""

    report: CompileReport
    kind: Literal["compile"] = "compile"
    format: int = COMPILE_FORMAT
