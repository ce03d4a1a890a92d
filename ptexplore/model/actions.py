"""What would help, or what may be looked at next: a verb with arguments. `view/words/actions.py` spells it.

A class is a verb, its fields are the arguments: the same action is a command line in a terminal, a call in Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, Union

from msgspec import Struct

from ptexplore.model.codes import code_of


class Action(Struct, frozen=True, tag_field="verb", tag=code_of):
    """What would help."""


class GiveLonger(Action, frozen=True):
    """Give all runs together more time."""


class ShowOutput(Action, frozen=True):
    """Look at what the probe printed."""


class TraceExpression(Action, frozen=True):
    """Trace an expression: an example."""


class TraceScript(Action, frozen=True):
    """Trace a whole program."""


class TraceSomething(Action, frozen=True):
    """Trace the shortest expression: an example."""


class TraceAgain(Action, frozen=True):
    """Run a program a second time, watching who writes to saved tensors."""

    script: str = ""


class TraceScriptWith(Action, frozen=True):
    """Trace a whole program with an option."""

    option: str  # its field in TraceOptions


class TraceExpressionWith(Action, frozen=True):
    """Trace an expression with an option."""

    option: str  # its field in TraceOptions


class EndRecording(Action, frozen=True):
    """End a recording that goes on."""


class CallInMainThread(Action, frozen=True):
    """Ask for it in the main thread."""


class EndProfiler(Action, frozen=True):
    """End another profiler that is at work."""


class ListOptions(Action, frozen=True):
    """Look at which options there are."""


class GiveStatements(Action, frozen=True):
    """Give statements, or a whole program, in another way than as the expression."""


class BindName(Action, frozen=True):
    """Bind a name that the expression has."""


class BindValue(Action, frozen=True):
    """Give a value for a name: an example."""


class Prepare(Action, frozen=True):
    """Run statements before the expression: an example."""


class EnterContext(Action, frozen=True):
    """Run the expression inside of a context manager: an example."""


class LookUpOperator(Action, frozen=True):
    """Look an operator up by its name."""


class UseNearName(Action, frozen=True):
    """Use a name that there is."""

    names: tuple[str, ...]


class ComputeFromInputs(Action, frozen=True):
    """Have the expression give what is computed from the values of a floating-point input."""


class UseSmallerTensors(Action, frozen=True):
    """Use smaller tensors."""


class RunAlone(Action, frozen=True):
    """Run it without a trace, to see whether it raises there too."""


class RunAloneOrOtherwise(Action, frozen=True):
    """The same, of what can be given other values."""


class RunAloneToEnd(Action, frozen=True):
    """Run it without a trace, to see whether it ends its process there too."""


class ImportFaster(Action, frozen=True):
    """See why torch is imported slowly."""


class Diagnose(Action, frozen=True):
    """Look at what of the installation is wrong."""


class InstallTorch(Action, frozen=True):
    """Install torch for a Python."""

    python: str


class CheckSearchPath(Action, frozen=True):
    """Look at which folders Python imports from."""


class StepOperator(Action, frozen=True):
    """Step a call of an operator of a program."""

    script: str
    op: str


if TYPE_CHECKING:
    AnyAction: TypeAlias = Action
else:
    AnyAction = Union[tuple(Action.__subclasses__())]  # noqa: UP007  (it has no other form for classes in a tuple)
