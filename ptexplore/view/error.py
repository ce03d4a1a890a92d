"""A pasted error message as lines, for users who have the message and not the program."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ptexplore.model import ending_remarks as told
from ptexplore.resolve.error_message import ErrorMessage
from ptexplore.view.line import Line
from ptexplore.view.trace.ending import (
    cause_lines,
    first_words,
    line_of,
    missing_lines,
    modified_lines,
    named,
    place_of_yours,
)

_ERROR = re.compile(r"(?:[\w.]+\.)?\w*(?:Error|Exception|Warning): ")


def error_lines(message: ErrorMessage) -> tuple[Line, ...]:
    """Returns the lines about what an error's text says; () if nothing is known."""
    known = tuple(_lines(message))
    if not known:
        return ()
    yours = (place_of_yours(message.yours),) if message.yours is not None else ()
    return (*yours, *known, *_of_ranks(message))


def _of_ranks(message: ErrorMessage) -> Iterator[Line]:
    """Yields the ranks that end with each error, if several ranks wrote the text."""
    if sum(len(some.ranks) for some in message.ranks) > 1:
        for some in message.ranks:
            yield line_of(told.OfRanks(some.ranks, error_named_in(some.text) if len(message.ranks) > 1 else ""))


def _lines(message: ErrorMessage) -> Iterator[Line]:
    if message.missing is not None and not message.is_known:
        yield line_of(told.NoSuchOperatorAtEnd(op=message.missing.op), indent=0)
    elif message.missing is not None:
        yield from missing_lines(message.missing)
    if message.modified is not None:
        yield from modified_lines(message.modified)
    if message.source is not None:
        yield line_of(told.ThrownBy(function=message.function), message.source)
    for named_line in message.lines:
        yield line_of(told.ItNames(), named_line.source)
        if named_line.text:
            yield line_of(told.ItsText(text=named_line.text))
    if message.operators:
        yield line_of(told.OperatorsNamed(names=tuple(message.operators)))
    if message.innermost is not None:
        at = message.innermost.source
        yield line_of(told.PythonLeftAt(function=named(message.innermost), path=at.path, line=at.line))
    yield from cause_lines(message.cause)
    is_explained = message.cause or message.missing or message.modified
    if not is_explained and (message.lines or message.operators or message.innermost or message.yours):
        yield line_of(told.NoExplanation())


def heading(message: ErrorMessage) -> str:
    """Returns the error's first words. In a traceback, they are on the last line that names an error."""
    return first_words(error_named_in(message.text) or message.text)


def error_named_in(text: str) -> str:
    """Returns the last line of a text that names an error; "" if there is none."""
    named = [line for line in text.splitlines() if _ERROR.match(line)]
    return named[-1] if named else ""
