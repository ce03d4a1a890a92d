"""Exercises: a file with a hole, hints, what judges a solution, and a model solution. One Markdown file each."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from ptexplore.annotations import blocks
from ptexplore.annotations.files import names_in, read_bytes
from ptexplore.annotations.format import LARGEST, decode, front_matter, without_controls
from ptexplore.annotations.layers import Layer
from ptexplore.annotations.markdown import line_of, tokens, troubles
from ptexplore.annotations.names import ID, STOP
from ptexplore.annotations.records import Problem, Unreadable, Where, unread

FOLDER = "exercises"
_KEYS = ("id", "title", "tour", "summary", "baseline", "judge", "function")
_BLOCKS = ("start", "hint", "solution")


@dataclass(frozen=True, slots=True)
class Exercise:
    """One exercise. `tour` is the stop before it, `judge` names what judges it, `function` is what the reader writes.

    `start` is the file with the hole. `sha` is the hash of the exercise's bytes, which trust in its code is bound to.
    """

    where: Where
    id: str
    title: str
    tour: str
    summary: str
    baseline: str
    judge: str
    function: str
    text: str
    start: str
    hints: tuple[str, ...]
    solution: str
    sha: str
    shipped: bool


@dataclass
class Exercises:
    """Every exercise by id, and problems."""

    by_id: dict[str, Exercise] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


def load_exercises(layers: Sequence[Layer]) -> Exercises:
    """Returns the exercises of all layers. A later layer's exercise replaces an earlier one with its id."""
    loaded = Exercises()
    for layer in layers:
        try:
            names = names_in(layer.root / FOLDER, layer.root)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            loaded.problems.append(unread(f"{layer.shown}/{FOLDER}", error))
            continue
        for name in sorted(names):
            shown = f"{layer.shown}/{FOLDER}/{name}"
            if not name.endswith(".md"):
                continue
            try:
                data = read_bytes(layer.root / FOLDER / name, LARGEST)
                exercise = parse(data, shown, shipped=layer.shipped)
            except OSError as error:
                loaded.problems.append(unread(shown, error))
            except Unreadable as error:
                loaded.problems.append(Problem(Where(shown, error.line), str(error)))
            else:
                loaded.by_id[exercise.id] = exercise
    return loaded


@blocks.bounded()
def parse(data: bytes, shown: str, *, shipped: bool = False) -> Exercise:
    """Returns the exercise in a file. Raises Unreadable."""
    text, controls = without_controls(decode(data))
    for line, code in controls:
        raise Unreadable(line, f"the control character {code} is not allowed in an exercise")
    lines = text.split("\n")
    end, front = front_matter(lines, _KEYS, _KEYS)
    for key in ("id", "judge"):
        if not ID.fullmatch(front[key].text()):
            raise Unreadable(front[key].line, "an id has lower-case letters, digits and hyphens")
    if not front["function"].text().isidentifier():
        raise Unreadable(front["function"].line, "this is not the name of a function")
    if not STOP.fullmatch(front["tour"].text()):
        raise Unreadable(front["tour"].line, "an exercise names the stop before it: tour#stop")
    try:
        document = tokens("\n" * end + "\n".join(lines[end:]))
    except (RecursionError, ValueError) as error:
        raise Unreadable(end, "the Markdown cannot be read") from error
    for line, trouble in troubles(document):
        raise Unreadable(line, trouble)
    held: dict[str, list[str]] = {kind: [] for kind in _BLOCKS}
    first = len(lines)
    for token in document:
        kind = token.info.strip() if token.type == "fence" else ""
        if kind in held:
            held[kind].append(token.content)
            first = min(first, line_of(token) - 1)
    if len(held["start"]) != 1 or len(held["solution"]) != 1 or not held["hint"]:
        raise Unreadable(end, "an exercise has one `start` block, at least one `hint`, and one `solution`")
    name, title, tour, summary, baseline, judge, function = (front[key].text() for key in _KEYS)
    return Exercise(
        Where(shown, 1), name, title, tour, summary, baseline, judge, function, "\n".join(lines[end:first]).strip(),
        held["start"][0], tuple(" ".join(hint.split()) for hint in held["hint"]), held["solution"][0],
        hashlib.sha256(data).hexdigest(), shipped,
    )  # fmt: skip
