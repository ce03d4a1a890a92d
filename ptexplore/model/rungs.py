"""The same code on each rung: Python, torch.fx, TorchScript, ATen, Core ATen, Prims.

A `Rung` is one graph as torch made it. A `LowerRun` has all rungs of one expression. A `LowerReport` adds conclusions
about neighbours. Links between operators are torch's own record. A rung without a record has no links.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from msgspec import Struct

from ptexplore.model.compiler_log import CodeLine, CompilerLog, Count
from ptexplore.model.options import TraceOptions
from ptexplore.model.trace import BoundName, TorchInfo

# In the order of the ladder, from your code down.
RungName: TypeAlias = Literal[
    "python", "fx", "jit-trace", "jit-script", "aten", "export", "functional", "core", "prims", "aot-forward",
    "aot-backward", "inductor",
]  # fmt: skip
RUNGS: tuple[RungName, ...] = get_args(RungName)
SLOW: tuple[RungName, ...] = ("inductor",)  # rungs that are made only if they are asked for
# raised: making the rung, or running it, raised an error. late: its time was over. died: its process ended.
# needs: another rung was not made. nothing: no input requires grad, and backward has no graph. lacks: this torch
# has no such rung. unread: its graph could not be read.
FailureKind: TypeAlias = Literal["raised", "late", "died", "needs", "nothing", "lacks"]
# What could not be compared with eager. random: the code draws random numbers, and this rung draws others.
# kernels: torch returned no result. copies: the inputs cannot be copied. raised: running the graph raised.
UncheckedKind: TypeAlias = Literal["random", "copies", "raised", "structure", "asked"]
# traced-value: tracing made a constant of a value. control-flow: the graph has branches or loops. no-grad: the graph is
# made without autograd.
NoteKind: TypeAlias = Literal["traced-value", "control-flow", "direct"]


# same: it is the same operator. replaced: it became one other operator. decomposed: it became several. removed: nothing
# was made from it.
Outcome: TypeAlias = Literal["same", "replaced", "decomposed", "removed"]


class RungLink(Struct, frozen=True):
    """An operator of another rung."""

    rung: RungName  # the other rung.
    name: str  # the name of the operator in the graph of that rung.


class RungOperator(Struct, frozen=True, omit_defaults=True):
    """One call in the graph of a rung."""

    name: str  # its name in the graph.
    operator: str  # the called function: "aten.add.Tensor", "torch.relu", "aten::add".
    inputs: tuple[str, ...] = ()  # the names of the values that it takes.
    type: str = ""  # dtype and sizes of its result; empty if unknown.
    at: CodeLine | None = None  # your line; torch's line if no line of yours led there; null if unknown.
    sources: tuple[RungLink, ...] = ()  # the operators that it was made from, by torch's own record.
    module: str = ""  # the module that called it, by its path; empty if unknown.
    is_core: bool | None = None  # whether torch tags it as Core ATen; null if it is no operator of the dispatcher.
    is_custom: bool = False  # whether torch does not have its namespace.
    writes: bool = False  # whether its schema says that it writes to an input.
    is_random: bool = False  # whether it draws random numbers.


class RungDifference(Struct, frozen=True):
    """How far a result is from eager's."""

    absolute: float | None  # the largest difference of two elements; null if it is no finite number.
    relative: float | None  # the largest quotient of a difference and eager's element; null if it is not finite.
    ulps: float | None = None  # the largest difference in units in the last place; null for numbers that have none.
    is_equal: bool = False  # whether all elements are equal bit for bit.
    is_close: bool = True  # whether torch.testing.assert_close accepts it.
    part: str = ""  # the part with the largest difference: "result", "gradient of weight", "input 0".
    problem: str = ""  # what cannot be subtracted, such as another size or dtype; empty if nothing.


class OperatorDifference(Struct, frozen=True):
    """The first operator whose value differs from eager mode."""

    operator: RungLink  # the operator.
    source: RungLink  # the operator of torch.export's program whose value it gives, which runs as in eager mode.
    difference: RungDifference  # how far it is from eager's value.


class RungNote(Struct, frozen=True):
    """A remark about a rung."""

    kind: NoteKind  # its subject.
    text: str = ""  # torch's words, or a count.
    at: CodeLine | None = None  # your line.


class RungFailure(Struct, frozen=True):
    """Why there is no graph of a rung."""

    kind: FailureKind  # what happened.
    exception: str = ""  # the class of the error.
    message: str = ""  # its message.
    at: CodeLine | None = None  # your line; null if the error came from no line of yours.
    by: CodeLine | None = None  # the line of torch that raised it; null if unknown.
    needs: RungName | None = None  # the rung that is missing.
    signal: str = ""  # the signal that ended the process.


class Rung(Struct, frozen=True):
    """One graph."""

    name: RungName  # its name.
    count: Count = 0  # how many operators it has.
    operators: tuple[RungOperator, ...] = ()  # the operators; at most 5,000 of them.
    links_to: RungName | None = None  # the rung that `sources` refer to; null if torch keeps no record.
    seconds: float | None = None  # how long torch took to make it, from the rung that it was made from.
    difference: RungDifference | None = None  # how far its result is from eager's; null if it was not compared.
    unchecked: UncheckedKind | None = None  # why it was not compared.
    first: OperatorDifference | None = None  # with `--check`: the first operator that differs, run on from there.
    first_local: OperatorDifference | None = None  # the same, if each operator gets eager's inputs.
    compared: Count = 0  # with `--check`: how many operators were compared with eager's.
    notes: tuple[RungNote, ...] = ()  # remarks.
    failure: RungFailure | None = None  # why the graph is missing; null if it was made.


class LoweredSubject(Struct, frozen=True):
    """The module or the expression."""

    text: str  # the class of the module, or "" for an expression.
    inputs: tuple[BoundName, ...] = ()  # its inputs.
    parameters: Count = 0  # how many parameters it has.
    is_training: bool = False  # whether the module is in training mode.


class LadderRungs(Struct, frozen=True):
    """All rungs of one run, as the probe sends them."""

    subject: LoweredSubject
    rungs: tuple[Rung, ...]
    printed: str = ""  # what your code printed in one run.
    compiler: CompilerLog | None = None  # for Inductor: torch's log, from which its kernels are concluded.


class LowerRun(Struct, frozen=True, kw_only=True):
    """One expression on all rungs."""

    expression: str  # the expression.
    torch: TorchInfo
    options: TraceOptions
    bound: tuple[BoundName, ...]
    ladder: LadderRungs
    cwd: str = "/"


class LoweredOperator(Struct, frozen=True):
    """What became of one operator on the next rung."""

    name: str  # its name in its own graph.
    into: tuple[str, ...]  # the names of the operators that were made from it.
    outcome: Outcome  # what became of it.


class RungStep(Struct, frozen=True):
    """The way from one rung to a rung that was made from it, by torch's own record."""

    before: RungName  # the rung above.
    after: RungName  # the rung that was made from it.
    operators: tuple[LoweredOperator, ...]  # the operators of the first rung, in order.
    added: tuple[str, ...] = ()  # operators of the second rung that were made from none of the first.

    def amount(self, outcome: str) -> int:
        """Returns how many operators had this outcome."""
        return sum(operator.outcome == outcome for operator in self.operators)

    @property
    def changed(self) -> int:
        """How many operators are not the same on both rungs."""
        return len(self.operators) - self.amount("same") + len(self.added)


LOWER_FORMAT = 1  # the format of saved reports; within a format keys are only added


class LowerReport(Struct, frozen=True):
    """Everything that is concluded from one run."""

    run: LowerRun
    rungs: tuple[Rung, ...]
    steps: tuple[RungStep, ...]


class SavedLower(Struct, frozen=True):
    """A report in a file."""

    report: LowerReport
    kind: Literal["lower"] = "lower"
    format: int = LOWER_FORMAT
