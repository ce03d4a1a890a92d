"""The words of what could not be captured."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ptexplore.capture.not_captured import NotCaptured
from ptexplore.model.actions import Action
from ptexplore.view.words.actions import as_command
from ptexplore.view.words.reasons import sentence


@contextmanager
def in_words(spell: Callable[[Action], str] = as_command) -> Iterator[None]:
    """Give the error that leaves a block its words, if it has codes; `spell` says how what would help is typed."""
    try:
        yield
    except NotCaptured as error:
        give_words(error, spell)
        raise


def give_words(error: NotCaptured, spell: Callable[[Action], str] = as_command) -> None:
    """Give an error its words."""
    error.message, error.why, error.hint = sentence(error.told), sentence(error.because), spell(error.then)
    error.args = (error.message,)
