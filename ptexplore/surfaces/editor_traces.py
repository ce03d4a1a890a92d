"""Traces an expression of an open file, after the user saw all of it and agreed.

A file in an editor may be somebody else's. So the expression passes workspace/consent.py, as a lab of a tour does. The
question is the editor's own dialog. Editors cut long messages (VS Code after 1,000 letters), so a longer expression is
not asked about: it can be traced in a terminal.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ptexplore.errors import NOT_PYTHON, USAGE, PtexploreError
from ptexplore.safe_text import clean_lines, revealed
from ptexplore.surfaces.editor_markup import message_text
from ptexplore.view.words.editor import editor_remark

if TYPE_CHECKING:
    from ptexplore.workspace.consent import NotYours
    from ptexplore.workspace.workspace import Workspace

RUN, DO_NOT_RUN = "Run it", "Do not run it"
LONGEST = 900  # letters of the question


def expression_at(text: str, first: tuple[int, int], last: tuple[int, int]) -> str | None:
    """Returns the expression of a Python text that is selected, or the call around a cursor; None if there is none.

    `first` and `last` are lines from 0 and columns in characters. A selection counts without the blanks around it.
    """
    try:
        module = ast.parse(text)
    except NOT_PYTHON:
        return None
    lines = text.split("\n")
    around: list[tuple[tuple[int, int], tuple[int, int]]] = []
    for node in ast.walk(module):
        if not isinstance(node, ast.expr) or node.end_lineno is None or node.end_col_offset is None:
            continue
        if not node.lineno - 1 <= first[0] <= last[0] <= node.end_lineno - 1:
            continue  # columns are counted only on lines that matter
        begin = (node.lineno - 1, _characters(lines, node.lineno, node.col_offset))
        end = (node.end_lineno - 1, _characters(lines, node.end_lineno, node.end_col_offset))
        is_whole = first != last and (begin, end) == (first, last)
        is_around = first == last and begin <= first <= end and isinstance(node, ast.Call)
        if is_whole or is_around:
            around.append((begin, end))
    if not around:
        return None
    # All of them are around one place, so the shortest begins last and ends first. `ast.get_source_segment` reads the
    # whole file for each of them, letter by letter.
    begin, end = max(around, key=lambda each: (each[0], (-each[1][0], -each[1][1])))
    return _between(lines, begin, end)


def _between(lines: list[str], begin: tuple[int, int], end: tuple[int, int]) -> str:
    """Returns the text from one place up to another one."""
    (first, at), (last, to) = begin, end
    if first == last:
        return lines[first][at:to]
    return "\n".join((lines[first][at:], *lines[first + 1 : last], lines[last][:to]))


def _characters(lines: list[str], line: int, offset: int) -> int:
    """Returns a column in characters for one in bytes of UTF-8, which `ast` counts."""
    return len(lines[line - 1].encode()[:offset].decode("utf-8", "replace"))


def question(asked: NotYours) -> str:
    """Returns the question before a run, with all code in it. Raises PtexploreError if it is too long for a dialog."""
    code = "\n".join(asked.lines())
    # A name of a file may have ends of lines, and letters that look like others.
    text = message_text(editor_remark("question", " ".join(revealed(asked.origin)), code))
    if len(text) > LONGEST:
        why = f"an editor may cut a question of {len(text):,} letters, so you would not see all of the code"
        raise PtexploreError("the expression is not run from here", why, "trace it in a terminal", USAGE)
    return text


def to_trace(expression: str, file: str) -> NotYours:
    """Returns the run that an expression of a file needs consent for. Raises PtexploreError if it is no expression."""
    from ptexplore.capture.probing import TraceRequest
    from ptexplore.workspace.consent import of_text

    try:
        ast.parse(expression, mode="eval")
    except NOT_PYTHON as error:
        hint = "select one whole expression"
        raise PtexploreError("this is not an expression", f"Python cannot read it: {error}", hint, USAGE) from error
    return of_text(expression, file, TraceRequest(native=True))


def traced(workspace: Workspace, asked: NotYours) -> str:
    """Runs an allowed expression and returns its trace as text; the workspace is closed after it.

    Raises PtexploreError if nobody allowed it, or if it cannot be traced.
    """
    from ptexplore.api.trace import PublicTrace

    run = asked.allowed()
    with workspace:
        return clean_lines(PublicTrace(*workspace.trace(run)).text())
