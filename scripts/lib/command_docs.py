"""The tables of options in docs/commands.md, made from the command line as typer builds it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer.main
from typer.core import TyperOption

from ptexplore.cli.app import make_app
from ptexplore.cli.typer_commands import ProgramCommand, metavar_of
from ptexplore.model.options import asked_options

SECTION = re.compile(r"^##+ `ptexplore (?P<name>[\w-]+(?: [a-z]+)?)[^\n]*\n.*?(?=^##|\Z)", re.M | re.S)
TABLE = re.compile(r"^\| option \| what it does \|\n(?:\|[^\n]*\n)+", re.M)


def commands() -> dict[str, Any]:
    """Every command by the words that are typed, the actions of `notes` too."""
    whole: Any = typer.main.get_command(make_app())
    named = {name: command for name, command in whole.commands.items() if name != "notes"}
    return named | {f"notes {name}": action for name, action in whole.commands["notes"].commands.items()}


def with_tables(text: str) -> str:
    """Returns the document with the table of each command's options written anew."""
    known = commands()

    def section(found: re.Match[str]) -> str:
        command = known.get(found["name"])
        return found[0] if command is None else TABLE.sub(lambda _: table(command), found[0], count=1)

    return SECTION.sub(section, text)


def table(command: Any) -> str:
    """Returns the options of a command as a Markdown table."""
    return "".join(f"{line}\n" for line in _lines(command))


def _lines(command: Any) -> Iterator[str]:
    yield "| option | what it does |"
    yield "| --- | --- |"
    for option in command.params:
        if isinstance(option, TyperOption) and not option.hidden:
            names = ", ".join(sorted(option.opts, key=len))
            metavar = "" if option.is_flag else metavar_of(option)
            yield f"| `{_cell(f'{names} {metavar}'.strip())}` | {_cell(option.help or '')} |"
    if isinstance(command, ProgramCommand):
        known = asked_options()["arguments"]
        yield f"| `{known.flag} {known.metavar}` | {known.help} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
