"""Changes to typer's commands: options are read without pydantic, and help is plain text in groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import typer
from typer.core import TyperCommand, TyperOption

WIDTH = 100  # greatest width of a help text, in columns
AFTER = "--"  # the words behind it are no options of ours


class Command(TyperCommand):
    """A command with plain help, whose options may take several values or none, according to their metavar.

    `FILE ...` takes one value or more, `[PATH ...]` any number, `[PORT]` one or none. Without a value, it is "".
    """

    def get_params(self, ctx: Any) -> list[Any]:
        """Returns every parameter, including `--help`."""
        return converting(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Reads the command line of this command."""
        return super().parse_args(ctx, list(_spread(self.params, args)))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Returns the text behind the command's name in its usage line. A metavar says how often a value may occur."""
        arguments = [metavar_of(p) for p in self.get_params(ctx) if not isinstance(p, TyperOption)]
        return ["[OPTIONS]", *arguments]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes arguments and options, each group of options below its title."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            is_option = isinstance(parameter, TyperOption)
            if not getattr(parameter, "hidden", False):
                title = getattr(parameter, "rich_help_panel", None) or ("Options" if is_option else "Arguments")
                names = ", ".join(sorted(parameter.opts, key=len)) if is_option else ""
                metavar = "" if getattr(parameter, "is_flag", False) else metavar_of(parameter)
                sections.setdefault(title, []).append(
                    (f"{names} {metavar}".strip(), getattr(parameter, "help", None) or "")
                )
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows)


class ProgramCommand(Command):
    """A command that can run a program. Words behind `--` are the program's arguments, the context's `args`."""

    programs = ("--script", "-m")  # the options that name a program

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Reads the command line of this command, without the arguments of a program."""
        own = args[: args.index(AFTER)] if AFTER in args else args
        is_program = any(word == name or word.startswith(f"{name}=") for word in own for name in self.programs)
        read = super().parse_args(ctx, own if is_program else args)
        ctx.args = args[len(own) + 1 :] if is_program else []
        return read


def converting(parameters: list[Any]) -> list[Any]:
    """Makes the parameters use `_Conversion`: typer's own way imports pydantic, which is slower than most commands."""
    for parameter in parameters:
        parameter.get_runtime_param = _Conversion
    return parameters


def metavar_of(parameter: Any) -> str:
    """Returns the metavar of an option or argument; of a choice, its values."""
    choices = parameter.type_descriptor.choices
    return "|".join(choices) if choices else parameter.metavar or str(parameter.name).upper()


def _spread(parameters: Sequence[Any], arguments: Sequence[str]) -> Iterator[str]:
    """Yields `arguments` with an option's name before each of its several values, and "" if it has none."""
    many = {name: metavar_of(p) for p in parameters if isinstance(p, TyperOption) and not p.is_flag for name in p.opts}
    arity = {name: metavar for name, metavar in many.items() if metavar.endswith("...") or metavar[:1] == "["}
    position = 0
    while position < len(arguments):
        name = arguments[position]
        position += 1
        if name == AFTER:
            yield from arguments[position - 1 :]
            return
        if name not in arity:
            yield name
            continue
        most = len(arguments) if "..." in arity[name] else position + 1
        end = next((n for n in range(position, len(arguments)) if arguments[n].startswith("-")), len(arguments))
        values = list(arguments[position : min(end, most)])
        position += len(values)
        if not values and arity[name][0] != "[":
            yield name  # typer reports that a value is missing
        for value in values or ([""] if arity[name][0] == "[" else []):
            yield from (name, value)


class _Conversion:
    """typer's conversion of a parameter's text: str, int, float, a choice, and lists and pairs of str."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Returns the value of `param` for the text `value`, or None if nothing was given.

        Raises typer.BadParameter.
        """
        if value is None or isinstance(value, list | tuple):
            return value
        described = param.type_descriptor
        if described.choices and value not in described.choices:
            raise typer.BadParameter(f"{value!r} is not one of {', '.join(described.choices)}", ctx, param)
        if described.annotation not in (int, float):
            return value
        try:
            number = described.annotation(value)
        except ValueError:
            kind = "a whole number" if described.annotation is int else "a number"
            raise typer.BadParameter(f"{value!r} is not {kind}", ctx, param) from None
        least, most = described.parameter_info.min, described.parameter_info.max
        if (least is not None and number < least) or (most is not None and number > most):
            bounds = f"from {least} to {most}" if most is not None else f"{least} or more"
            raise typer.BadParameter(f"{value} is not {bounds}", ctx, param)
        return number


def verbatim(text: str) -> str | None:
    """Formats `text` so that typer shows it unchanged, line by line. None if there is none."""
    return "\n\n".join(f"\b\n{paragraph}" for paragraph in text.strip().split("\n\n")) if text else None
