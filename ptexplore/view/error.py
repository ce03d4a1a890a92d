"""What a pasted error tells, as lines: for people who have the message and not the program."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ptexplore.resolve.error_message import ErrorMessage
from ptexplore.view.line import Line
from ptexplore.view.trace.ending import cause_lines, first_words, missing_lines, modified_lines, named, place_of_yours

_ERROR = re.compile(r"(?:[\w.]+\.)?\w*(?:Error|Exception|Warning): ")


def error_lines(message: ErrorMessage) -> tuple[Line, ...]:
    """What is known of an error by its text; () where nothing is."""
    known = tuple(_lines(message))
    if not known or message.yours is None:
        return known
    return (place_of_yours("your line    ", message.yours), *known)


def _lines(message: ErrorMessage) -> Iterator[Line]:
    if message.missing is not None and not message.is_known:
        yield Line(
            "text", f"{message.missing.op}: this torch has no operator of that name, so its table cannot be told"
        )
    elif message.missing is not None:
        yield from missing_lines(message.missing)
    if message.modified is not None:
        yield from modified_lines(message.modified)
    if message.source is not None:
        yield Line("place", f"thrown by     {message.function}", message.source, indent=1)
    for named_line in message.lines:
        yield Line("place", "it names     ", named_line.source, indent=1)
        if named_line.text:
            yield Line("text", f"its text is   {named_line.text}", indent=1)
    if message.operators:
        yield Line("text", f"operators     {', '.join(message.operators)}", indent=1)
    if message.innermost is not None:
        at = message.innermost.source
        yield Line(
            "text", f"Python left   {named(message.innermost)} {at.path}:{at.line} (as the text has it)", indent=1
        )
    yield from cause_lines(message.cause)
    is_explained = message.cause or message.missing or message.modified
    if not is_explained and (message.lines or message.operators or message.innermost or message.yours):
        yield Line("text", "why           no explanation of these words is written down here", indent=1)


def heading(message: ErrorMessage) -> str:
    """The error's first words: of a traceback those of its last line that names an error."""
    named = [line for line in message.text.splitlines() if _ERROR.match(line)]
    return first_words(named[-1] if named else message.text)
