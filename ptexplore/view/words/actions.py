"""The spelling of an action: on a command line, or in Python."""

from __future__ import annotations

import shlex
from collections.abc import Callable

from msgspec import structs

from ptexplore.model import actions as to
from ptexplore.model.actions import Action
from ptexplore.model.options import asked_options
from ptexplore.view.words.templates import Catalogue, filled

AS_COMMANDS: Catalogue = {
    to.GiveLonger: "--timeout S gives it more time",
    to.ShowOutput: "PTEXPLORE_DEBUG=1 shows what it printed",
    to.TraceExpression: 'ptexplore trace "torch.add(a, b)"',
    to.LowerExpression: 'ptexplore lower "torch.relu(a @ b)"',
    to.DrawTensors: 'ptexplore tensor "x = torch.arange(12).view(3, 4); x.t()"',
    to.TraceScript: "ptexplore trace --script FILE",
    to.TraceSomething: 'ptexplore trace "a + b"',
    to.TraceAgain: "ptexplore trace[ --script {script}][ -m {module}] --again[ -- {arguments: }]",
    to.TraceScriptWith: "ptexplore trace --script FILE {option}",
    to.TraceExpressionWith: 'ptexplore trace "a + b" {option}',
    to.EndRecording: "end the other recording first",
    to.CallInMainThread: "call it in the main thread",
    to.EndProfiler: "end the other profiler first",
    to.ListOptions: "ptexplore trace --help",
    to.GiveStatements: "put statements into --setup, or a whole program into --script FILE",
    to.BindName: '--var NAME="torch.randn(3, 4)" binds a name',
    to.BindValue: '--var a="torch.randn(3, 4)"',
    to.Prepare: '--setup "m = nn.LSTM(3, 4)"',
    to.EnterContext: '--with "torch.inference_mode()"',
    to.LookUpOperator: "ptexplore op NAME looks up an operator of torch",
    to.UseNearName: "did you mean {names: or }?",
    to.ShowGraphOf: 'ptexplore graph "torch.mm(a, b).sum()"',
    to.ComputeFromInputs: (
        "compute the result from the values of a floating-point input: no comparison, index, detach() or "
        "torch.no_grad()"
    ),
    to.UseSmallerTensors: "trace it with smaller tensors",
    to.RunAlone: "run it in Python without ptexplore to see whether it raises there too",
    to.RunAloneOrOtherwise: (
        "run it in Python without ptexplore to see whether it raises there too; --var and --setup give it other values"
    ),
    to.RunAloneToEnd: (
        "run it in Python without ptexplore to see whether it ends there too; PTEXPLORE_DEBUG=1 shows what it printed"
    ),
    to.ImportFaster: "is the disk that holds it slow?",
    to.Diagnose: "ptexplore doctor",
    to.InstallTorch: "{python} -m pip install torch",
    to.CheckSearchPath: "check PYTHONPATH",
    to.StepOperator: "ptexplore trace[ --script {script}][ -m {module}] --native-op {op}[ -- {arguments: }]",
}
# For a call of `ptexplore.trace`: the actions that Python spells differently.
IN_PYTHON: Catalogue = {
    to.GiveLonger: "timeout=S gives it more time",
    to.TraceExpression: 'ptexplore.trace("torch.add(a, b)")',
    to.LowerExpression: 'ptexplore.lower("torch.relu(a @ b)")',
    to.DrawTensors: 'ptexplore.tensor("x = torch.arange(12).view(3, 4); x.t()")',
    to.TraceScript: 'ptexplore.trace(script="FILE")',
    to.ShowGraphOf: 'ptexplore.graph("torch.mm(a, b).sum()")',
    to.TraceSomething: 'ptexplore.trace("a + b")',
    to.TraceAgain: "ptexplore.trace([script={script}][module={module}][, arguments=({arguments:, },)], again=True)",
    to.TraceScriptWith: 'trace(script="FILE", {option}=…)',
    to.TraceExpressionWith: 'trace("a + b", {option}=…)',
    to.ListOptions: "",
    to.GiveStatements: "put statements into setup=, or a whole program into script=",
    to.BindName: 'variables={"NAME": "torch.randn(3, 4)"} binds a name',
    to.BindValue: 'variables={"a": "torch.randn(3, 4)"}',
    to.Prepare: 'setup=("m = nn.LSTM(3, 4)",)',
    to.EnterContext: 'contexts=("torch.inference_mode()",)',
    to.LookUpOperator: "ptexplore.op(NAME) looks up an operator of torch",
    to.RunAloneOrOtherwise: (
        "run it in Python without ptexplore to see whether it raises there too; variables= and setup= give it "
        "other values"
    ),
    to.StepOperator: (
        "ptexplore.trace([script={script}][module={module}][, arguments=({arguments:, },)], native_op={op})"
    ),
}


def as_command(action: Action) -> str:
    """Returns an action as it is typed on a command line."""
    return filled(AS_COMMANDS[type(action)], _quoted(action, shlex.quote, flag_of), str)


def in_python(action: Action) -> str:
    """Returns an action as it is typed in Python."""
    template = IN_PYTHON.get(type(action))
    return filled(template, _quoted(action, repr, keyword_of), str) if template is not None else as_command(action)


def flag_of(option: str) -> str:
    """Returns the command-line flag of a trace's option. The option is given by its field."""
    return asked_options()[option].flag


def keyword_of(option: str) -> str:
    """Returns the Python keyword of a trace's option. The option is given by its field."""
    known = asked_options()[option]
    return f"{known.python or option}{'=False' * known.off}"


def _quoted(action: Action, quote: Callable[[str], str], spelled: Callable[[str], str]) -> Action:
    """Returns the action with arguments quoted for typing. `spelled` returns the name of an option."""
    if isinstance(action, to.InstallTorch):
        return to.InstallTorch(quote(action.python))
    if isinstance(action, to.TraceScriptWith | to.TraceExpressionWith):
        return type(action)(spelled(action.option))
    if isinstance(action, to.TraceAgain | to.StepOperator):
        words = {name: quote(text) for name in ("script", "module", "op") if (text := getattr(action, name, ""))}
        return structs.replace(action, **words, arguments=tuple(map(quote, action.arguments)))
    return action
