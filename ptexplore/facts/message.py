"""A row of the tables of error messages."""

from __future__ import annotations

import re
from typing import NamedTuple

from ptexplore.facts.source import FactSource


class Message(NamedTuple):
    """A message: the cause, the pattern for an error's class and text, and the places of its words.

    A named group of the pattern is a value that the sentences of the cause may use.
    """

    cause: str
    pattern: re.Pattern[str]
    sources: tuple[FactSource, ...]  # empty if the message is not PyTorch's
    anywhere: bool = False  # the words are in another line than the error: a kernel on the GPU prints its own
