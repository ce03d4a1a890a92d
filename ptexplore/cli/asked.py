"""The options of a trace on the command line: their parameters, and the values that were typed.

A row of `model/options.py` becomes a parameter of the command. This module only adds how the text of a value is read.
"""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Annotated, Any

from typer import Context, Option

from ptexplore.cli.typer_commands import AFTER
from ptexplore.errors import USAGE, PtexploreError
from ptexplore.model.options import PLAIN, AskedFor, asked_options

DAY = 86400  # seconds
RUN = "What is run"


def with_trace_options(command: Callable[..., int]) -> Callable[..., int]:
    """Returns the command with all options of a trace after its first argument. It receives them by field, as typed."""
    return with_options_of(*asked_options())(command)


def with_options_of(*names: str, **helps: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Returns a decorator that gives a command some options of a trace, by field, after its first argument.

    `helps` are help texts, by field, that differ from the help of `trace`.
    The arguments of a program, if they are among them, are the words that are left (`ProgramCommand`).
    """

    def decorated(command: Callable[..., int]) -> Callable[..., int]:
        first, *own, _rest = inspect.signature(command, eval_str=True).parameters.values()
        options = {name: asked_options()[name] for name in names}
        known = {name: replace(option, help=helps.get(name, option.help)) for name, option in options.items()}
        asked = [_parameter(name, option) for name, option in known.items() if option.flag != AFTER]
        context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=Context)
        keyword_only = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in (context, *asked, *own)]
        signature = inspect.Signature([first, *keyword_only], return_annotation=int)

        def with_options(*arguments: Any, context: Context, **options: Any) -> int:
            left = {"arguments": context.args} if "arguments" in known else {}
            return command(*arguments, **options, **left)

        with_options.__doc__, with_options.__name__ = command.__doc__, command.__name__
        with_options.__signature__ = signature  # type: ignore[attr-defined] # typer reads it
        with_options.__annotations__ = {name: parameter.annotation for name, parameter in signature.parameters.items()}
        return with_options

    return decorated


def _parameter(name: str, known: AskedFor) -> inspect.Parameter:
    """Returns the parameter of one option: a flag, a text, or a list of texts."""
    default = getattr(PLAIN, name)
    kind: Any = bool if not known.metavar else list[str] | None if isinstance(default, tuple) else str | None
    option = Option(known.flag, metavar=known.metavar or None, help=known.help, rich_help_panel=RUN)
    value = False if not known.metavar else None
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value, annotation=Annotated[kind, option])


def given(asked: Mapping[str, Any]) -> frozenset[str]:
    """Returns the options that were typed."""
    return frozenset(name for name, value in asked.items() if value not in (None, False, []))


def read(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the values of the typed options. Raises PtexploreError for a text that is not a valid value."""
    typed = given(asked)
    return {name: _value(name, asked[name]) for name in asked_options() if name in typed}


def _value(name: str, text: Any) -> Any:
    known = asked_options()[name]
    if not known.metavar:
        return not known.off
    if isinstance(getattr(PLAIN, name), tuple):
        return tuple(_READ[name](part) if name in _READ else part for part in text)
    return _READ[name](text) if name in _READ else text


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= DAY:
        why = f"{text!r} is not a number above 0 and up to {DAY}"
        raise PtexploreError("--timeout must be a number of seconds", why, "--timeout 60", USAGE)
    return value


def _budget(text: str) -> int:
    """Returns the number of instructions of --native-budget."""
    from ptexplore.capture.probing import BUDGET, native_budget

    wanted = native_budget(text)
    if wanted is None:
        message = f"--native-budget cannot be {text}"
        raise PtexploreError(message, f"it must be {BUDGET}", "--native-budget 10M", USAGE)
    return wanted


def _variable(text: str) -> tuple[str, str]:
    """Returns the name and the expression of `--var NAME=EXPR`."""
    name, equals, value = text.partition("=")
    name = name.strip()
    if not equals or not name.isidentifier() or keyword.iskeyword(name):
        why = "the text before the first = must be a name that Python allows"
        raise PtexploreError(f"--var {text!r} is not NAME=EXPR", why, '--var a="torch.randn(3, 4)"', USAGE)
    return name, value


_READ: dict[str, Callable[[str], Any]] = {"timeout": _seconds, "native_most": _budget, "variables": _variable}
