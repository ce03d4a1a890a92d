"""The options of a trace, each defined once. Command line, Python API, checks and docs are made from this.

An option is a field of `TraceOptions`. Its metadata has its name on the command line and its help text.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, Literal, NamedTuple, TypedDict

STEPPED_OF_A_SCRIPT = 10_000_000  # instructions
TracedSource = Literal["expression", "script"]


@dataclass(frozen=True, slots=True)
class AskedFor:
    """How you give an option: its flag on the command line, and a short help text.

    `metavar` names the value. An option without `metavar` is a switch; `off` means that its flag switches it off.
    `python` is the name in Python, if it differs from the field's name. `only` is the one source that the option is
    for, with the reason.
    """

    flag: str
    help: str
    metavar: str = ""
    off: bool = False
    python: str = ""
    only: tuple[TracedSource, str] | None = None


def option(asked: AskedFor, default: Any) -> Any:
    """Defines a field of `TraceOptions`."""
    return field(default=default, metadata={"asked": asked})


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceOptions:
    """The options of a trace."""

    variables: tuple[tuple[str, str], ...] = option(
        AskedFor("--var", "bind a name to the value of an expression", "NAME=EXPR"), ()
    )
    setup: tuple[str, ...] = option(AskedFor("--setup", "statements to run first, once in each process", "CODE"), ())
    contexts: tuple[str, ...] = option(
        AskedFor("--with", 'run inside this context manager, for example "torch.inference_mode()"', "CONTEXT"), ()
    )
    script: str | None = option(
        AskedFor("--script", "trace a script instead of an expression; its arguments follow --", "FILE"), None
    )
    module: str | None = option(AskedFor("-m", "trace a module as `python -m MODULE` runs it", "MODULE"), None)
    arguments: tuple[str, ...] = option(
        AskedFor(
            "--", "the arguments of the script or module, as in its sys.argv", "ARGS...",
            only=("script", "an expression has no arguments"),
        ),
        (),
    )  # fmt: skip
    grad: bool = option(AskedFor("--grad", "tensors bound to names require grad"), default=False)
    backward: bool = option(
        AskedFor("--backward", "also run backward; implies --grad (a result with several elements is summed)"),
        default=False,
    )
    once: bool = option(
        AskedFor("--once", "run only once, for code with side effects; nothing is stepped"), default=False
    )
    timeout: float = option(
        AskedFor(
            "--timeout", "time limit for all runs together, in seconds (60); looking up the source is not included", "S"
        ),
        60.0,
    )
    seed: int = 0  # the seed of the random numbers
    native: bool = option(AskedFor("--no-native", "do not step through the machine code", off=True), default=False)
    native_op: str | None = option(
        AskedFor("--native-op", "step only this operator call; add.Tensor#2 is the second one", "NAME[#N]"), None
    )
    native_most: int = option(
        AskedFor(
            "--native-budget", "for a script: how many instructions to step (500k, 3M; default 10M; 0: none)", "N",
            python="native_budget",
            only=("script", "an expression is stepped whole, or one call of it"),
        ),
        STEPPED_OF_A_SCRIPT,
    )  # fmt: skip
    first: bool = option(AskedFor("--first", "step the very first call instead of a warm one"), default=False)
    twice: bool = option(
        AskedFor(
            "--twice", "for a script: run it again without recording, and compare",
            only=("script", "the runs of an expression are always compared"),
        ),
        default=False,
    )  # fmt: skip
    again: bool = option(
        AskedFor(
            "--again", "for a script that fails because a saved tensor was modified: run it again to find the write",
            only=("script", "for an expression the write is always searched"),
        ),
        default=False,
    )  # fmt: skip
    vary: bool = option(
        AskedFor(
            "--vary", "use random addresses and hashes, to see which counts depend on them",
            only=(
                "expression",
                "a script always runs with random addresses and hashes, as it would without ptexplore",
            ),
        ),
        default=False,
    )  # fmt: skip

    @property
    def is_program(self) -> bool:
        """Whether a script or a module is traced, not an expression."""
        return self.script is not None or self.module is not None


class AskedOfTrace(TypedDict, total=False):
    """The same options by their names in Python, with the types that Python takes."""

    script: str | os.PathLike[str] | None
    module: str | None
    arguments: Sequence[str]
    variables: Mapping[str, str] | None
    setup: Sequence[str]
    contexts: Sequence[str]
    grad: bool
    backward: bool
    once: bool
    timeout: float
    native: bool
    native_op: str | None
    native_budget: int | str
    first: bool
    twice: bool
    again: bool
    vary: bool


class Excluded(NamedTuple):
    """A pair of options that exclude each other, and the reason."""

    first: str
    second: str
    why: str


EXCLUDED = (
    Excluded("first", "script", "a script is never stepped whole"),
    Excluded("first", "module", "a module is never stepped whole"),
    Excluded("script", "module", "a trace is of one program"),
    Excluded("first", "native_op", "a single operator call is stepped after warm runs"),
    Excluded("first", "once", "a single run is not stepped"),
    Excluded("first", "native", "--first steps, and --no-native forbids stepping"),
    Excluded("native", "native_op", "--native-op steps a call, and --no-native forbids stepping"),
)


@cache
def asked_options() -> dict[str, AskedFor]:
    """Returns the options that can be given, by field name, in their order."""
    options = {known.name: known.metadata.get("asked") for known in fields(TraceOptions)}
    return {name: asked for name, asked in options.items() if asked is not None}


def options_of(request: TraceOptions) -> TraceOptions:
    """Returns only the options of a request, which has further fields."""
    return TraceOptions(**{known.name: getattr(request, known.name) for known in fields(TraceOptions)})


PLAIN = TraceOptions(native=True)  # the options of a trace without any flag: it is stepped


def given(options: TraceOptions) -> frozenset[str]:
    """Returns the names of the options that differ from their defaults."""
    return frozenset(name for name in asked_options() if getattr(options, name) != getattr(PLAIN, name))


class Refusal(NamedTuple):
    """Why options cannot be given: the fields' names, and the reason."""

    first: str
    second: str = ""  # the option that excludes `first`
    only: TracedSource | None = None  # the one source that `first` is for
    why: str = ""


def refused(asked: Collection[str], *, is_script: bool) -> Refusal | None:
    """Returns the first reason why these options cannot be given together, or None."""
    return next(_refusals(asked, is_script=is_script), None)


def _refusals(asked: Collection[str], *, is_script: bool) -> Iterator[Refusal]:
    for first, second, why in EXCLUDED:
        if first in asked and second in asked:
            yield Refusal(first, second, why=why)
    for name, known in asked_options().items():
        if name in asked and known.only is not None and (known.only[0] == "script") != is_script:
            yield Refusal(name, only=known.only[0], why=known.only[1])
