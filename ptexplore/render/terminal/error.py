"""Prints the explanation of an error message in a terminal."""

from __future__ import annotations

import re
import shlex

from rich.console import Console
from rich.text import Text

from ptexplore.render.terminal.console import Locate, drawn, folded, print_next
from ptexplore.resolve.error_message import ErrorMessage
from ptexplore.safe_text import clean
from ptexplore.view.error import error_lines, heading
from ptexplore.view.line import Line


def _columns_of_label(line: Line) -> int:
    """Returns where the text of a line begins behind its label, which is filled up with blanks; 2 without a label."""
    label = re.match(r"\S.{0,18}?\s{2,}(?=\S)", "".join(span.text for span in line.spans))
    return label.end() if label is not None else 2


def print_error(console: Console, message: ErrorMessage, locate: Locate) -> None:
    """Print the error's first words, the known facts about it, and the next command."""
    folded(console, Text(clean(heading(message)), style="bold"), "", "  ")
    for line in error_lines(message):
        indent = "  " * line.indent
        folded(console, drawn(line.spans, locate), indent, f"{indent}{' ' * _columns_of_label(line)}")
    if message.missing is not None and message.is_known:
        print_next(console, f"ptexplore op {shlex.quote(message.missing.op)} --full", "\n")
