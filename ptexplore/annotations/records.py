"""Frozen records of the notes: tours, notes, stops, anchors, labs, each with its file and line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ptexplore.errors import BROKEN

Level = Literal["basic", "core", "advanced"]
LEVELS: tuple[Level, ...] = ("basic", "core", "advanced")


@dataclass(frozen=True, slots=True)
class Where:
    """A place in a file of notes: `file` as shown to the reader, `line` 1-based."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that could not be read or is not allowed. The rest of its file still loads."""

    where: Where
    text: str


@dataclass(frozen=True, slots=True)
class UnreadNotes(Problem):
    """A file or folder that the system could not read this time. Results that lack it are not cached."""


def unread(shown: str, error: OSError) -> Problem:
    """Returns the problem for a file or folder that cannot be read, now or ever. A link, for example, is never read."""
    kind = UnreadNotes if error.errno in BROKEN else Problem
    return kind(Where(shown, 1), f"it cannot be read: {error.strerror or error}")


class Unreadable(ValueError):
    """A file of notes, or a part of it, that cannot be used. `line` is its place."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


@dataclass(frozen=True, slots=True)
class See:
    """A link to another place. `stop`: "tour#stop"; `op`: an operator; `src`: `path` and `symbol` in the source."""

    where: Where
    kind: Literal["stop", "op", "src"]
    text: str  # as written
    path: str = ""
    symbol: str = ""


@dataclass(frozen=True, slots=True)
class Anchor:
    """The target of a stop, by name. Nothing here is a line of PyTorch's text.

    `symbol` is a qualified name, or its ending if that is unique in `path`. It may also be the name of a YAML entry, or
    a registration block such as "TORCH_LIBRARY_IMPL(aten, CPU)". `signature` has parameter types in brackets. `inside`
    is the enclosing symbol (`in:`). `token` is an identifier inside the symbol, its `occurrence`-th; `lines` are
    offsets from the symbol's line. At most one of these two is set.
    """

    where: Where
    path: str
    symbol: str
    signature: str | None = None
    inside: str | None = None
    token: str | None = None
    occurrence: int = 1
    lines: tuple[int, int] | None = None
    see: tuple[See, ...] = ()


@dataclass(frozen=True, slots=True)
class Lab:
    """An expression to run, and the expected result: hops of its trace in reading order, or a value.

    `trace` are pairs of a hop's kind and its name, or the last part of the name. `value` is a Python literal as text.

    The reader predicts first: `ask` is the question, `choices` are possible answers. For a value they are Python
    literals. For a trace they are steps ("key CPU"): the answer is the one that comes first after the `given` first
    steps of `trace`, which the reader is shown. `why` is one sentence that explains the result.
    """

    where: Where
    id: str
    run: str
    grad: bool = False
    backward: bool = False
    variables: tuple[tuple[str, str], ...] = ()
    setup: tuple[str, ...] = ()
    contexts: tuple[str, ...] = ()
    trace: tuple[tuple[str, str], ...] = ()
    value: str | None = None
    ask: str = ""
    choices: tuple[str, ...] = ()
    given: int = 1
    why: str = ""

    @property
    def asks_for_step(self) -> bool:
        """Whether the reader predicts a step of the trace, not the value."""
        return self.value is None


@dataclass(frozen=True, slots=True)
class StopPart:
    """A part of a stop: Markdown, or a lab. `line` is its first line."""

    line: int
    text: str = ""
    lab: Lab | None = None


@dataclass(frozen=True, slots=True)
class Stop:
    """One heading with its anchor and the content below. `end_line` is the last line of the stop in its file."""

    where: Where
    id: str
    title: str
    anchor: Anchor
    parts: tuple[StopPart, ...]
    end_line: int

    @property
    def labs(self) -> tuple[Lab, ...]:
        return tuple(part.lab for part in self.parts if part.lab is not None)

    @property
    def prose(self) -> str:
        """The Markdown without the labs."""
        return "\n\n".join(part.text for part in self.parts if part.lab is None)


@dataclass(frozen=True, slots=True)
class Tour:
    """One file: a tour, whose stops form a sequence, or a note, whose stops are independent.

    `folder` is the folder of the file, for pictures. `sha` is the hash of its bytes, which trust in its labs is bound
    to. `shipped`: it came with ptexplore.
    """

    where: Where
    kind: Literal["tour", "note"]
    id: str
    title: str
    baseline: str
    intro: str
    stops: tuple[Stop, ...]
    folder: str
    sha: str
    level: Level | None = None
    summary: str = ""
    prerequisites: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()
    shipped: bool = False

    def name_of(self, stop: Stop) -> str:
        """Returns the name of a stop: "tour#stop"."""
        return f"{self.id}#{stop.id}"
