"""The command line that asks for the same trace again."""

from __future__ import annotations

from collections.abc import Sequence

from ptexplore.model.options import TraceOptions, asked_options, given

AFTER = asked_options()["arguments"].flag
# The program comes first, and its arguments last. Limits do not change the trace.
NOT_REPEATED = frozenset(("script", "module", "arguments", "timeout", "native_most"))


def words_of(expression: str | None, options: TraceOptions) -> tuple[str, ...]:
    """Returns the words of a command line that asks for the same trace again, without its time limit."""
    words = ["--script", str(options.script)] if options.module is None else ["-m", options.module]
    if not options.is_program and expression is not None:
        words = [f"({expression})" if expression.startswith("-") else expression]  # else it would look like an option
    left = NOT_REPEATED | ({"native"} if options.is_program else set())  # of a program one call of each kind is stepped
    left |= {"grad"} if options.backward else set()  # --backward includes it
    names = given(options) - left
    asked = [(known, getattr(options, name)) for name, known in asked_options().items() if name in names]
    flags = [known.flag for known, _ in asked if not known.metavar]
    for known, value in asked:
        values = value if isinstance(value, tuple) else (value,) if known.metavar else ()
        words += [word for part in values for word in (known.flag, _text(part))]
    return (*words, *flags, *((AFTER, *options.arguments) if options.arguments else ()))


def with_options(command: Sequence[str], options: Sequence[str]) -> tuple[str, ...]:
    """Returns a command line with more options: before the arguments of a program, which come last."""
    end = command.index(AFTER) if AFTER in command else len(command)
    return (*command[:end], *options, *command[end:])


def _text(value: object) -> str:
    """Returns a value of an option as it is typed."""
    return "=".join(value) if isinstance(value, tuple) else str(value)
