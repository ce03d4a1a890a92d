"""The command line that asks for a trace once more."""

from __future__ import annotations

from ptexplore.model.trace import TraceOptions


def words_of(expression: str | None, options: TraceOptions) -> tuple[str, ...]:
    """The words of a command line that ask for the same trace once more; of its time limit they say nothing."""
    words = ["--script", str(options.script)]
    if options.script is None and expression is not None:
        words = [f"({expression})" if expression.startswith("-") else expression]  # else it would be an option
    values = [("--var", f"{name}={value}") for name, value in options.variables]
    values += [*(("--setup", code) for code in options.setup), *(("--with", context) for context in options.contexts)]
    values += [("--native-op", options.native_op)] if options.native_op is not None else []
    flags = {"--grad": options.grad and not options.backward, "--backward": options.backward, "--once": options.once}
    flags |= {
        "--twice": options.twice,
        "--first": options.first,
        "--again": options.again,
        "--vary": options.vary,
        "--no-native": not options.native and options.script is None,
    }
    return (*words, *(part for pair in values for part in pair), *(flag for flag, given in flags.items() if given))
