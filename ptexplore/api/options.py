"""The options of a trace in Python: their signature and their values. `model/options.py` defines them."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_type_hints

from ptexplore.api.recording import instructions
from ptexplore.model.options import PLAIN, AskedOfTrace, asked_options, given

if TYPE_CHECKING:
    from ptexplore.capture.probing import TraceRequest

Traces = TypeVar("Traces", bound=Callable[..., Any])
LIMITS = frozenset(("native", "native_budget", "timeout"))  # unused for a function: nothing is stepped


def names() -> tuple[str, ...]:
    """Returns the names of the options, as Python spells them."""
    return tuple(_fields())


def _fields() -> dict[str, str]:
    """Returns a dict: the name of an option in Python -> the name of its field."""
    return {known.python or name: name for name, known in asked_options().items()}


def signed(function: Traces) -> Traces:
    """Returns the function. `help` shows its signature with every option of a trace."""
    own = list(inspect.signature(function).parameters.values())[:-1]
    kinds = get_type_hints(AskedOfTrace)
    asked = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=_shown(name, getattr(PLAIN, field)),
            annotation=inspect.formatannotation(kinds[name]).replace("collections.abc.", ""),
        )
        for name, field in _fields().items()
    ]  # fmt: skip
    first = [parameter for parameter in own if parameter.kind is not inspect.Parameter.KEYWORD_ONLY]
    signature = inspect.signature(function).replace(parameters=[*first, *asked, *own[len(first) :]])
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


def _shown(name: str, default: Any) -> Any:
    """Returns the default of an option as the signature shows it."""
    return {"native_budget": "10M", "variables": None}.get(name, default)


def check_names(options: AskedOfTrace) -> None:
    """Raises TypeError, as Python does, if an option does not exist."""
    unknown = next((name for name in options if name not in _fields()), None)
    if unknown is not None:
        raise TypeError(f"trace() got an unexpected keyword argument {unknown!r}")


def request_of(expression: str | None, options: AskedOfTrace) -> TraceRequest:
    """Makes a request of the expression and the options.

    Raises PtexploreError (usage) if the options do not fit together.
    """
    from ptexplore.capture.probing import asked_for, check_options
    from ptexplore.view.words.actions import in_python
    from ptexplore.view.words.errors import in_words

    request = asked_for(expression, {_fields()[name]: _value(name, value) for name, value in options.items()})
    with in_words(in_python):
        check_options(given(request), is_script=request.is_program)
    return request


def _value(name: str, value: Any) -> Any:
    """Converts the value of an option to the type of its field."""
    if name == "variables":
        return tuple((cast("Mapping[str, str] | None", value) or {}).items())
    if name in ("setup", "contexts", "arguments"):
        return tuple(value)
    if name == "native_budget":
        return instructions(value)
    if name == "script" and value is not None:
        return os.fspath(value)
    return value
