"""Actions: what would help, or what you can look at next. An action is a verb with arguments.

The class is the verb, the fields are the arguments. `view/words/actions.py` spells an action as a command line for the
terminal, or as a call for Python.
"""

from typing import TYPE_CHECKING, TypeAlias, Union

from msgspec import Struct

from ptexplore.model.codes import code_of


class Action(Struct, frozen=True, tag_field="verb", tag=code_of):
    """An action that would help."""


class GiveLonger(Action, frozen=True):
    """Give all runs together more time."""


class ShowOutput(Action, frozen=True):
    """Look at the output of the probe."""


class TraceExpression(Action, frozen=True):
    """Trace an expression (an example)."""


class DrawTensors(Action, frozen=True):
    """Draw tensors in memory (an example)."""


class LowerExpression(Action, frozen=True):
    """Make all rungs of an expression (an example)."""


class TraceScript(Action, frozen=True):
    """Trace a script."""


class TraceSomething(Action, frozen=True):
    """Trace the shortest expression (an example)."""


class TraceAgain(Action, frozen=True):
    """Run a script or module a second time and watch the writes to saved tensors."""

    script: str = ""
    module: str = ""
    arguments: tuple[str, ...] = ()  # of the program


class TraceScriptWith(Action, frozen=True):
    """Trace a script with an option."""

    option: str  # the field in TraceOptions


class TraceExpressionWith(Action, frozen=True):
    """Trace an expression with an option."""

    option: str  # the field in TraceOptions


class EndRecording(Action, frozen=True):
    """End the other recording first."""


class CallInMainThread(Action, frozen=True):
    """Call it in the main thread."""


class EndProfiler(Action, frozen=True):
    """End another profiler that is running."""


class ListOptions(Action, frozen=True):
    """List the options."""


class GiveStatements(Action, frozen=True):
    """Pass statements, or a whole program, in another way than as the expression."""


class BindName(Action, frozen=True):
    """Bind a name of the expression."""


class BindValue(Action, frozen=True):
    """Bind a name to a value (an example)."""


class Prepare(Action, frozen=True):
    """Run statements before the expression (an example)."""


class EnterContext(Action, frozen=True):
    """Run the expression inside a context manager (an example)."""


class LookUpOperator(Action, frozen=True):
    """Look up an operator by name."""


class UseNearName(Action, frozen=True):
    """Use a similar name that exists."""

    names: tuple[str, ...]


class ShowGraphOf(Action, frozen=True):
    """Show the graph of an expression (an example)."""


class ComputeFromInputs(Action, frozen=True):
    """Compute the result of the expression from the values of a floating-point input."""


class UseSmallerTensors(Action, frozen=True):
    """Use smaller tensors."""


class RunAlone(Action, frozen=True):
    """Run the code without ptexplore, to see whether it raises there too."""


class RunAloneOrOtherwise(Action, frozen=True):
    """Run the code without ptexplore, or give it other values."""


class RunAloneToEnd(Action, frozen=True):
    """Run the code without ptexplore, to see whether its process ends there too."""


class ImportFaster(Action, frozen=True):
    """Find out why importing torch is slow."""


class Diagnose(Action, frozen=True):
    """Check the installation."""


class InstallTorch(Action, frozen=True):
    """Install torch for this Python."""

    python: str


class CheckSearchPath(Action, frozen=True):
    """Look at the folders that Python imports from."""


class StepOperator(Action, frozen=True):
    """Step through one operator call of a script or module."""

    script: str
    op: str
    module: str = ""
    arguments: tuple[str, ...] = ()  # of the program


if TYPE_CHECKING:
    AnyAction: TypeAlias = Action
else:
    AnyAction = Union[tuple(Action.__subclasses__())]  # noqa: UP007  (a tuple of classes has no other form)
