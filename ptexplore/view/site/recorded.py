"""A trace as a page of the site has it: without the commands that a reader of the site cannot type."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from msgspec import structs

from ptexplore.model.reasons import KindsStepped
from ptexplore.model.trace import Finding, Trace
from ptexplore.view.line import Line
from ptexplore.view.words.ending import MARGIN
from ptexplore.view.words.legend import SIGNS

_OF_TERMINALS = frozenset(SIGNS[name][0] for name in ("open", "number"))  # signs that an option explains


class LabelledLine(NamedTuple):
    """A line about how the code ended: its label, and the line without it."""

    label: str
    line: Line


def on_page(trace: Trace) -> Trace:
    """Returns a trace whose findings offer no command: it would have the path of the script on another machine."""
    return replace(trace, findings=tuple(map(_without_command, trace.findings)))


def _without_command(finding: Finding) -> Finding:
    if not isinstance(finding.told, KindsStepped):
        return finding
    return replace(finding, told=structs.replace(finding.told, then=None, op=""))


def meanings_on_page(legend: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Returns a legend without the signs that only an option of the command explains."""
    return tuple((sign, means) for sign, means in legend if sign not in _OF_TERMINALS)


def labelled(line: Line) -> LabelledLine:
    """Splits a line about the end of a run into its label and its text. The label is "" in a drawing."""
    text = line.text
    if text[MARGIN : MARGIN + 1].strip():
        return LabelledLine("", line)  # a label longer than the margin
    return LabelledLine(text[:MARGIN].strip(), replace(line, text=text[MARGIN + 1 :]))
