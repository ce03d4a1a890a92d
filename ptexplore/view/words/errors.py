"""The words of errors: what could not be captured."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ptexplore.capture.not_captured import NotCaptured, RefusedOptions
from ptexplore.model.actions import Action, ListOptions, TraceExpressionWith, TraceScriptWith
from ptexplore.model.options import Refusal
from ptexplore.view.words.actions import as_command, flag_of, in_python, keyword_of
from ptexplore.view.words.reasons import sentence

# What is wrong with a trace's options.
OPTIONS = {
    "together": "{} and {} do not go together",
    "script": "{} is for a script",
    "expression": "{} is for an expression",
}


@contextmanager
def in_words(spell: Callable[[Action], str] = as_command) -> Iterator[None]:
    """Adds the words to an error with codes that leaves the block. `spell` returns the remedy as it is typed."""
    try:
        yield
    except (NotCaptured, RefusedOptions) as error:
        give_words(error, spell)
        raise


def give_words(error: NotCaptured | RefusedOptions, spell: Callable[[Action], str] = as_command) -> None:
    """Adds the words to an error."""
    if isinstance(error, RefusedOptions):
        error.message, error.why, error.hint = _of_options(error.refusal, spell)
    else:
        error.message, error.why, error.hint = sentence(error.reason), sentence(error.because), spell(error.then)
    error.args = (error.message,)


def _of_options(refusal: Refusal, spell: Callable[[Action], str]) -> tuple[str, str, str]:
    """Returns what is wrong with options, why, and what helps."""
    name = keyword_of if spell is in_python else flag_of
    if refusal.second:
        message = OPTIONS["together"].format(name(refusal.first), name(refusal.second))
        return message, refusal.why, spell(ListOptions())
    is_script = refusal.only == "script"
    then = TraceScriptWith(refusal.first) if is_script else TraceExpressionWith(refusal.first)
    return OPTIONS["script" if is_script else "expression"].format(name(refusal.first)), refusal.why, spell(then)
