"""A pasted error message as lines, for users who have the message and not the program."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ptexplore.model import ending_remarks as remarks
from ptexplore.model.trace import LeftFunction
from ptexplore.resolve.error_message import ErrorMessage, PastedFrame, error_in, error_line
from ptexplore.resolve.message_words import MessageWords
from ptexplore.view.line import Line
from ptexplore.view.trace.ending import (
    cause_lines,
    cut_in_the_middle,
    first_words,
    line_of,
    missing_lines,
    modified_lines,
    named,
    place_of_yours,
)

_PACKAGE = re.compile(r"^.*/(?:site|dist)-packages/")
WORDS = (50, 30)  # characters of the constant words that are shown: of their beginning, and of their end.
MOST_PLACES = 3  # places of a message's words that are shown.


def error_lines(message: ErrorMessage) -> tuple[Line, ...]:
    """Returns the lines about an error's text: its content, and the unknown parts."""
    return (*_lines(message), *_of_ranks(message))


def _of_ranks(message: ErrorMessage) -> Iterator[Line]:
    """Yields the ranks that end with each error, if several ranks wrote the text."""
    if sum(len(some.ranks) for some in message.ranks) > 1:
        for some in message.ranks:
            yield line_of(remarks.OfRanks(some.ranks, error_line(some.text) if len(message.ranks) > 1 else ""))


def _lines(message: ErrorMessage) -> Iterator[Line]:
    yield from _frames(message)
    if message.missing is not None and not message.is_known:
        yield line_of(remarks.NoSuchOperatorAtEnd(op=message.missing.op), indent=0)
    elif message.missing is not None:
        yield from missing_lines(message.missing)
    if message.modified is not None:
        yield from modified_lines(message.modified)
    yield from _places(message)
    yield from cause_lines(message.cause)
    if message.is_cut:
        yield line_of(remarks.CutOff())
    elif not (message.cause or message.missing or message.modified):
        yield line_of(remarks.NoExplanation())


def _frames(message: ErrorMessage) -> Iterator[Line]:
    """Yields your innermost function, and the innermost function of all."""
    if message.yours is not None:
        yield place_of_yours(LeftFunction(message.yours.name, message.yours.source), message.yours.text)
    if message.innermost is not None:
        yield _innermost(message.innermost)


def _places(message: ErrorMessage) -> Iterator[Line]:
    """Yields the places and operators that the message names, and the places of its words."""
    if message.source is not None:
        yield line_of(remarks.ThrownBy(function=message.function), message.source)
    for named_line in message.lines:
        yield line_of(remarks.ItNames(), named_line.source)
        if named_line.text:
            yield line_of(remarks.ItsText(text=named_line.text))
    if message.operators:
        yield line_of(remarks.OperatorsNamed(names=tuple(message.operators)))
    if message.source is None and message.words is not None:
        yield from _of_words(message.words)


def _of_words(words: MessageWords) -> Iterator[Line]:
    """Yields where the constant words of the message are."""
    several = len(words.places) + words.further if len(words.places) > 1 else 0
    for number, place in enumerate(words.places[:MOST_PLACES]):
        made = remarks.FurtherOut if number else remarks.WordsAt
        where = f"{place.function}()" if place.function else ""
        yield line_of(made(function=where), place.source)
    if several > MOST_PLACES:
        yield line_of(remarks.MoreAround(few=several - MOST_PLACES))
    if several:
        yield line_of(remarks.OneOfThese(words=cut_in_the_middle(words.words, *WORDS)))
    if not words.places and words.libraries:
        yield line_of(remarks.WordsInLibrary(libraries=words.libraries, words=cut_in_the_middle(words.words, *WORDS)))
    elif not words.places:
        yield line_of(remarks.WordsNowhere())


def _innermost(frame: PastedFrame) -> Line:
    """Returns the line about the innermost function of a traceback, with the text that the traceback has of it."""
    source = frame.source
    path = source.path or _PACKAGE.sub("", source.outside.replace("\\", "/"))
    function = named(LeftFunction(frame.name, source))
    place = remarks.PythonLeftAt(function=function, path=path, line=source.line)
    return line_of(remarks.WrittenAt(of=place, text=frame.text, function="") if frame.text else place)


def heading(message: ErrorMessage) -> str:
    """Returns the class of the error that a text ends with, and its first words."""
    exception, words = error_in(message.text)
    return first_words(f"{exception}: {words}" if exception and words else exception or words)
