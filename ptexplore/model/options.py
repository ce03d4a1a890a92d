"""The options of a trace, each defined once. Command line, Python API, checks and docs are made from this.

An option is a field of `TraceOptions`. Its metadata has its name on the command line and its help text.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, Literal, NamedTuple

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

    variables: tuple[tuple[str, str], ...] = option(AskedFor("--var", "bind a name", "NAME=EXPR"), ())
    setup: tuple[str, ...] = option(AskedFor("--setup", "statements to run first", "CODE"), ())
    contexts: tuple[str, ...] = option(
        AskedFor("--with", 'a context manager to run it in, as "torch.inference_mode()"', "CONTEXT"), ()
    )
    script: str | None = option(AskedFor("--script", "trace a script instead of an expression", "FILE"), None)
    grad: bool = option(AskedFor("--grad", "tensors that are bound require grad"), default=False)
    backward: bool = option(
        AskedFor("--backward", "run backward too, with --grad (a non-scalar result is summed)"), default=False
    )
    once: bool = option(AskedFor("--once", "run once only: for code with side effects"), default=False)
    timeout: float = option(
        AskedFor(
            "--timeout", "seconds that all runs of it together may take (60); looking up its source comes on top", "S"
        ),
        60.0,
    )
    seed: int = 0  # the seed of the random numbers
    native: bool = option(AskedFor("--no-native", "don't step through its machine code", off=True), default=False)
    native_op: str | None = option(
        AskedFor("--native-op", "step this operator call of it alone: add.Tensor#2", "NAME[#N]"), None
    )
    native_most: int = option(
        AskedFor(
            "--native-budget", "of a script: instructions to step, of one call of each kind (10M; 0: none)", "N",
            python="native_budget",
            only=("script", "an expression is stepped whole, or one call of it; a budget is for a script's many calls"),
        ),
        STEPPED_OF_A_SCRIPT,
    )  # fmt: skip
    first: bool = option(
        AskedFor("--first", "step the very first call, not a warm one: what only that does"), default=False
    )
    twice: bool = option(
        AskedFor(
            "--twice", "of a script: run it again, unrecorded, and say whether both did the same",
            only=("script", "the passes of an expression are compared anyway: a finding says where they differ"),
        ),
        default=False,
    )  # fmt: skip
    again: bool = option(
        AskedFor(
            "--again", "run a script that fails over a saved tensor twice: who wrote",
            only=("script", "an expression that fails over a saved tensor is watched anyway"),
        ),
        default=False,
    )  # fmt: skip
    vary: bool = option(
        AskedFor(
            "--vary", "draw addresses and Python's hashes at random: which counts depend on them",
            only=(
                "expression",
                "a script runs as it would without ptexplore: its addresses and hashes are always drawn at random",
            ),
        ),
        default=False,
    )  # fmt: skip


class Excluded(NamedTuple):
    """A pair of options that exclude each other, and the reason."""

    first: str
    second: str
    why: str


EXCLUDED = (
    Excluded("first", "script", "the very first call is stepped whole, and a script never is"),
    Excluded("first", "native_op", "the very first call is stepped whole, and one call alone after runs before it"),
    Excluded("first", "once", "the very first call is stepped, and of a single run nothing is"),
    Excluded("first", "native", "the very first call is to be stepped, and nothing is to be"),
    Excluded("native", "native_op", "nothing is to be stepped, and one call is to be"),
)


@cache
def asked_options() -> dict[str, AskedFor]:
    """Returns the options that can be given, by field name, in their order."""
    told = {known.name: known.metadata.get("asked") for known in fields(TraceOptions)}
    return {name: asked for name, asked in told.items() if asked is not None}


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
