"""The manual page, made from the help texts that typer has: `man ptexplore`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

from lib.command_docs import commands
from typer.core import TyperOption

from ptexplore import __version__
from ptexplore.cli.app import COMMANDS, EPILOG
from ptexplore.cli.typer_commands import metavar_of

_WORDS = "What really runs when you write a line of PyTorch, and where it is"


def man_page() -> str:
    """Returns the page in roff, with the macros of man(7)."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield '.\\" made by scripts/man-page from the help texts'
    yield f'.TH PTEXPLORE 1 "" "ptexplore {__version__}" "User Commands"'
    yield ".SH NAME"
    yield f"ptexplore \\- {_text(_WORDS[0].lower() + _WORDS[1:])}"
    yield ".SH SYNOPSIS"
    yield ".B ptexplore"
    yield "\\fICOMMAND\\fR [\\fIOPTIONS\\fR] ..."
    yield ".SH COMMANDS"
    for name, line in COMMANDS.items():
        yield ".TP"
        yield f".B {_text(name)}"
        yield _text(line)
    for name, command in commands().items():
        yield f'.SH "PTEXPLORE {_text(name.upper())}"'
        yield from _command(command)
    yield ".SH NOTES"
    yield ".nf"
    yield from map(_text, EPILOG.rstrip("\n").split("\n"))
    yield ".fi"


def _command(command: Any) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(command.help or "")):
        yield ".PP"
        yield _text(" ".join(paragraph.split()))
    for option in command.params:
        if not getattr(option, "hidden", False) and getattr(option, "help", None):
            is_option = isinstance(option, TyperOption)
            names = ", ".join(sorted(option.opts, key=len)) if is_option else ""
            metavar = "" if getattr(option, "is_flag", False) else metavar_of(option)
            yield ".TP"
            yield f"\\fB{_text(names)}\\fR \\fI{_text(metavar)}\\fR".replace("\\fB\\fR ", "").replace(" \\fI\\fR", "")
            yield _text(option.help)


def _text(text: str) -> str:
    """Returns plain text as roff: no backslash, hyphen or first character of a line has a meaning of its own."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("\n", " ")
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped
