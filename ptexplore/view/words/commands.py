"""The command line that asks for the same trace again."""

from __future__ import annotations

from ptexplore.model.options import TraceOptions, asked_options, given

NOT_REPEATED = frozenset(("script", "timeout", "native_most"))  # the script comes first; limits do not change the trace


def words_of(expression: str | None, options: TraceOptions) -> tuple[str, ...]:
    """Returns the words of a command line that asks for the same trace again, without its time limit."""
    words = ["--script", str(options.script)]
    if options.script is None and expression is not None:
        words = [f"({expression})" if expression.startswith("-") else expression]  # else it would look like an option
    left = NOT_REPEATED | ({"native"} if options.script is not None else set())  # for a script: one call of each kind
    left |= {"grad"} if options.backward else set()  # --backward includes it
    names = given(options) - left
    asked = [(known, getattr(options, name)) for name, known in asked_options().items() if name in names]
    flags = [known.flag for known, _ in asked if not known.metavar]
    for known, value in asked:
        values = value if isinstance(value, tuple) else (value,) if known.metavar else ()
        words += [word for part in values for word in (known.flag, _text(part))]
    return (*words, *flags)


def _text(value: object) -> str:
    """Returns a value of an option as it is typed."""
    return "=".join(value) if isinstance(value, tuple) else str(value)
