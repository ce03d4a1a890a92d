"""A pasted error message as lines, for users who have the message and not the program."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ptexplore.model import ending_remarks as remarks
from ptexplore.model.places import SourceRef
from ptexplore.model.trace import LeftFunction
from ptexplore.resolve.error_message import ErrorMessage, PastedFrame, first_paragraph
from ptexplore.resolve.message_words import MessageWords, WordsPlace
from ptexplore.view.line import Line
from ptexplore.view.trace.ending import (
    cause_lines,
    cut_in_the_middle,
    earlier_line,
    first_words,
    line_of,
    missing_lines,
    modified_lines,
    named,
    place_of_yours,
)

_PACKAGE = re.compile(r"^.*/(?:site|dist)-packages/")
# What follows the words of a message: a rule in a terminal, what CUDAException.cpp adds to every error, and the list of
# torchrun.
_RULE = re.compile(r"^[=_*-]{5,}$", re.MULTILINE)
_BEHIND = re.compile(r"\n(?:CUDA kernel errors might be|Failures:\n|Root Cause \().*", re.DOTALL)
_EXACT = ("registered", "located")
WORDS = (50, 30)  # characters of the constant words that are shown: of their beginning, and of their end.
MOST_PLACES = 3  # places of a message's words that are shown.
NEAR = 3  # lines: a place so near to the innermost function of the traceback is the same statement.


def error_lines(message: ErrorMessage) -> tuple[Line, ...]:
    """Returns the lines about an error's text: the cause, your line and torch's line, and what else it says."""
    answer = tuple(_answer(message))
    lines = (*_before(message), *answer, *_frames(message), *_places(message))
    unknown = () if answer else (line_of(remarks.NoExplanation()),)
    return (*lines, *unknown, *_of_ranks(message))


def _before(message: ErrorMessage) -> Iterator[Line]:
    """Yields the error that led to this one, if the cause is that error's."""
    if message.before is not None:
        yield earlier_line(replace(message.before, message=first_words(message.before.message)))


def _answer(message: ErrorMessage) -> Iterator[Line]:
    """Yields the cause of the error, and how to fix it."""
    if message.missing is not None and message.cause is None:
        if message.is_known:
            yield from missing_lines(message.missing)
        else:
            yield line_of(remarks.NoSuchOperatorAtEnd(op=message.missing.op), indent=0)
    if message.modified is not None:
        yield from modified_lines(message.modified)
    yield from cause_lines(message.cause)
    if message.check is not None:
        made = remarks.RaisedWhere if message.check.holds else remarks.RaisedUnless
        yield line_of(made(function=message.check.function, condition=message.check.condition))
    if message.is_cut:
        yield line_of(remarks.CutOff())


def _of_ranks(message: ErrorMessage) -> Iterator[Line]:
    """Yields the ranks that end with each error, if several ranks wrote the text."""
    if sum(len(some.ranks) for some in message.ranks) > 1:
        for some in message.ranks:
            yield line_of(remarks.OfRanks(some.ranks, some.error if len(message.ranks) > 1 else ""))


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
        known = named_line.source.path is not None
        yield line_of(remarks.ItNames(name="" if known else named_line.name), named_line.source if known else None)
        if named_line.text:
            yield line_of(remarks.ItsText(text=named_line.text))
    if message.operators:
        yield line_of(remarks.OperatorsNamed(names=tuple(message.operators)))
    if message.source is None and message.words is not None:
        is_known = message.cause is not None or message.innermost is not None or bool(message.lines)
        yield from _of_words(message.words, message.innermost, is_needed=not is_known)


def _of_words(words: MessageWords, innermost: PastedFrame | None, *, is_needed: bool) -> Iterator[Line]:
    """Yields where the constant words of the message are, without the place that is the innermost function's line.

    `is_needed`: nothing else is known of the message, so that it is said if they are nowhere.
    """
    if len(words.places) == 1 and innermost is not None and _is_near(words.places[0], innermost):
        return
    several = len(words.places) + words.further
    yield from _places_of(words.places[:MOST_PLACES])
    if several > MOST_PLACES:
        yield line_of(remarks.MoreAround(few=several - MOST_PLACES))
    if words.places and words.libraries:
        yield line_of(remarks.LibraryToo(libraries=words.libraries))
    if several > 1 or (words.places and words.libraries):
        yield line_of(remarks.OneOfThese(words=cut_in_the_middle(words.words, *WORDS)))
    if not words.places and words.libraries:
        yield line_of(remarks.WordsInLibrary(libraries=words.libraries, words=cut_in_the_middle(words.words, *WORDS)))
    elif not words.places and is_needed:
        yield line_of(remarks.WordsNowhere())


def _places_of(places: Sequence[WordsPlace]) -> Iterator[Line]:
    """Yields the places, each precision once."""
    earlier: list[SourceRef] = []
    for number, place in enumerate(places):
        made = remarks.FurtherOut if number else remarks.WordsAt
        line = line_of(made(function=f"{place.function}()" if place.function else ""), place.source)
        known = any((ref.precision, ref.reason) == (place.source.precision, place.source.reason) for ref in earlier)
        yield replace(line, says_precision=not known and place.source.precision not in _EXACT)
        earlier.append(place.source)


def _is_near(place: WordsPlace, frame: PastedFrame) -> bool:
    """Whether the place of a message's words is the line of a frame."""
    distance = (place.source.line or 0) - (frame.source.line or 0)
    return place.source.path == frame.source.path and abs(distance) <= NEAR


def _innermost(frame: PastedFrame) -> Line:
    """Returns the line about the innermost function of a traceback, with the text that the traceback has of it."""
    source = frame.source
    path = source.path or _PACKAGE.sub("", source.outside.replace("\\", "/"))
    function = named(LeftFunction(frame.name, source))
    place = remarks.PythonLeftAt(function=function, path=path, line=source.line)
    return line_of(remarks.WrittenAt(of=place, text=frame.text, function="") if frame.text else place)


def heading(message: ErrorMessage) -> str:
    """Returns the class of the error that ended the program, and the first words of its message."""
    words = first_words(first_paragraph(_RULE.sub("", _BEHIND.sub("", message.says)).strip()))
    return f"{message.exception}: {words}" if message.exception and words else message.exception or words
