"""The command line that asks for a trace once more."""

from __future__ import annotations

from ptexplore.model.options import TraceOptions, asked_options, given

NOT_REPEATED = frozenset(("script", "timeout", "native_most"))  # it stands first; what these limit is no other trace


def words_of(expression: str | None, options: TraceOptions) -> tuple[str, ...]:
    """The words of a command line that ask for the same trace once more; of its time limit they say nothing."""
    words = ["--script", str(options.script)]
    if options.script is None and expression is not None:
        words = [f"({expression})" if expression.startswith("-") else expression]  # else it would be an option
    left = NOT_REPEATED | ({"native"} if options.script is not None else set())  # of a script one call of each kind
    left |= {"grad"} if options.backward else set()  # which --backward has in it
    names = given(options) - left
    asked = [(known, getattr(options, name)) for name, known in asked_options().items() if name in names]
    flags = [known.flag for known, _ in asked if not known.metavar]
    for known, value in asked:
        values = value if isinstance(value, tuple) else (value,) if known.metavar else ()
        words += [word for part in values for word in (known.flag, _text(part))]
    return (*words, *flags)


def _text(value: object) -> str:
    """A value of an option as it is typed."""
    return "=".join(value) if isinstance(value, tuple) else str(value)
