"""What a trace can be asked for: each option once. The command line, the Python API, checks and documents follow.

A field of `TraceOptions` is an option: its default, and in its metadata what it is called and what it is for.
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
    """An option as it is asked for: its flag on a command line, and what it does, in a few words.

    `metavar` is of its value; an option without one is on or off, and `off` where its flag turns it off. `python` is
    its name in Python, where that is not the field's. `only` says of what alone it is, for which reason.
    """

    flag: str
    help: str
    metavar: str = ""
    off: bool = False
    python: str = ""
    only: tuple[TracedSource, str] | None = None


def option(asked: AskedFor, default: Any) -> Any:
    """A field of `TraceOptions`."""
    return field(default=default, metadata={"asked": asked})


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceOptions:
    """What a trace was asked for."""

    variables: tuple[tuple[str, str], ...] = option(
        AskedFor("--var", "bind a name to the value of an expression", "NAME=EXPR"), ()
    )
    setup: tuple[str, ...] = option(AskedFor("--setup", "statements to run first, once in each process", "CODE"), ())
    contexts: tuple[str, ...] = option(
        AskedFor("--with", 'run inside this context manager, for example "torch.inference_mode()"', "CONTEXT"), ()
    )
    script: str | None = option(AskedFor("--script", "trace a script instead of an expression", "FILE"), None)
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
    seed: int = 0  # of the random numbers
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


class Excluded(NamedTuple):
    """Two options that do not go together, and why."""

    first: str
    second: str
    why: str


EXCLUDED = (
    Excluded("first", "script", "a script is never stepped whole"),
    Excluded("first", "native_op", "a single operator call is stepped after warm runs"),
    Excluded("first", "once", "a single run is not stepped"),
    Excluded("first", "native", "--first steps, and --no-native forbids stepping"),
    Excluded("native", "native_op", "--native-op steps a call, and --no-native forbids stepping"),
)


@cache
def asked_options() -> dict[str, AskedFor]:
    """The options that can be asked for, by field, in their order."""
    told = {known.name: known.metadata.get("asked") for known in fields(TraceOptions)}
    return {name: asked for name, asked in told.items() if asked is not None}


PLAIN = TraceOptions(native=True)  # of a trace for which no option is given: it is stepped


def given(options: TraceOptions) -> frozenset[str]:
    """The options that are not as they are where nobody gives them."""
    return frozenset(name for name in asked_options() if getattr(options, name) != getattr(PLAIN, name))


class Refusal(NamedTuple):
    """Why options cannot be asked for: what is wrong with them (the fields' names), and why that is so."""

    first: str
    second: str = ""  # that it does not go with
    only: TracedSource | None = None  # what alone it is for
    why: str = ""


def refused(asked: Collection[str], *, is_script: bool) -> Refusal | None:
    """The first reason for which these options cannot be asked for together; None where there is none."""
    return next(_refusals(asked, is_script=is_script), None)


def _refusals(asked: Collection[str], *, is_script: bool) -> Iterator[Refusal]:
    for first, second, why in EXCLUDED:
        if first in asked and second in asked:
            yield Refusal(first, second, why=why)
    for name, known in asked_options().items():
        if name in asked and known.only is not None and (known.only[0] == "script") != is_script:
            yield Refusal(name, only=known.only[0], why=known.only[1])
