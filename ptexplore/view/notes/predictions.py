"""Predictions of labs: the question, the answers to choose from, and the verdict, with the parts that differ."""

from __future__ import annotations

import ast
import math
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ptexplore.annotations.records import Lab
from ptexplore.errors import NOT_PYTHON
from ptexplore.view.line import Tone
from ptexplore.view.notes.labs import LabResult

Span = tuple[int, int]  # the first character, and the one after the last


@dataclass(frozen=True, slots=True)
class Verdict:
    """A prediction beside the result. `differs` are the parts of both texts that differ.

    `right` is None if nothing was predicted, or if only the reader can compare.
    """

    predicted: str
    result: str
    right: bool | None
    differs: tuple[tuple[Span, ...], tuple[Span, ...]] = ((), ())

    @property
    def in_words(self) -> str:
        """The verdict in words."""
        return _WORDS[self.right][0] if self.predicted else ""

    @property
    def tone(self) -> Tone:
        """The style of the words."""
        return _WORDS[self.right][1]


_WORDS: dict[bool | None, tuple[str, Tone]] = {
    True: ("as you predicted", "good"),
    False: ("not what you predicted", "doubt"),
    None: ("compare them yourself", ""),
}


def lab_question(lab: Lab) -> str:
    """Returns the question to the reader before a lab runs."""
    if lab.ask:
        return lab.ask
    if lab.value is not None:
        return "What will it give?"
    return "Which of these comes next in the trace?" if lab.choices else "Which steps will its trace have, in order?"


def given_steps(lab: Lab) -> tuple[str, ...]:
    """Returns the first steps of the trace, which a reader sees before choosing the next step."""
    if lab.value is not None or not lab.choices:
        return ()
    return tuple(f"{kind} {name}" for kind, name in lab.trace[: lab.given])


def choice_lines(lab: Lab) -> tuple[tuple[str, str], ...]:
    """Returns the answers to choose from, each with its letter. A letter cannot be taken for a number of the answer."""
    return tuple(zip(string.ascii_lowercase, lab.choices, strict=False))


def chosen(lab: Lab, typed: str) -> str:
    """Returns the prediction that was typed, or chosen by its letter."""
    text = typed.strip()
    return dict(choice_lines(lab)).get(text.lower().rstrip(")"), text)


def verdict(lab: Lab, typed: str, result: LabResult) -> Verdict:
    """Returns the verdict on what a reader typed."""
    predicted = chosen(lab, typed)
    if lab.value is not None:
        value = result.value
        right = is_right(predicted, value)
        spans = (tuple(differing(predicted, value)), tuple(differing(value, predicted))) if right is False else ((), ())
        return Verdict(predicted, value, right, spans)
    if lab.choices:
        right = _is_step(predicted, result.answer) if predicted and result.answer else None
        return Verdict(predicted, result.answer, right)
    return _verdict_on_steps(predicted, result.steps)


def is_right(predicted: str, value: str) -> bool | None:
    """Whether a predicted value is right; None if only the reader can tell.

    Literals are compared as Python values: a list may stand for a tuple, and a text needs no quotes.
    """
    typed, given = predicted.strip(), value.strip()
    if not typed or not given:
        return None
    known = _literal(given)
    if known is _NO_LITERAL:
        return True if typed == given else None
    read = _literal(typed)
    if read is _NO_LITERAL:
        return True if isinstance(known, str) and typed == known else None
    return _equal(read, known)


_NO_LITERAL = object()


def _literal(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return _NO_LITERAL


def _equal(predicted: object, value: object) -> bool:
    if isinstance(predicted, list | tuple) and isinstance(value, list | tuple):
        return len(predicted) == len(value) and all(map(_equal, predicted, value))
    if isinstance(predicted, int | float) and isinstance(value, int | float):
        return predicted == value or math.isclose(predicted, value, rel_tol=1e-6)
    return bool(predicted == value)


def differing(text: str, other: str) -> Iterator[Span]:
    """Yields the parts of a Python literal that differ from another one.

    Lists and tuples of the same length are compared part by part; anything else differs as a whole.
    """
    try:
        parsed = ast.parse(text, mode="eval").body, ast.parse(other, mode="eval").body
    except NOT_PYTHON:
        return
    pending: list[tuple[ast.expr, ast.expr]] = [parsed]
    while pending:
        node, against = pending.pop(0)
        many = ast.List | ast.Tuple
        if isinstance(node, many) and isinstance(against, many) and len(node.elts) == len(against.elts):
            pending = [*zip(node.elts, against.elts, strict=True), *pending]
        elif not _equal(_literal(ast.unparse(node)), _literal(ast.unparse(against))):
            yield _span(text, node)


def _span(text: str, node: ast.expr) -> Span:
    """Returns the characters of a node in a text of one line: Python counts bytes."""
    data = text.encode()
    ends = node.col_offset, node.end_col_offset or node.col_offset
    first, last = (len(data[:end].decode(errors="ignore")) for end in ends)
    return first, last


# --- steps of a trace ---


def _verdict_on_steps(predicted: str, steps: Sequence[str]) -> Verdict:
    """Returns the verdict on names of steps, separated by commas.

    It is right if all of them are expected steps, in order, and at least one is not the first.
    """
    shown = ", ".join(steps)
    names = [name.strip() for name in predicted.split(",") if name.strip()]
    if not names or not steps:
        return Verdict(predicted, shown, None)
    at, wrong = 0, []
    for name in names:
        place = next((number for number in range(at, len(steps)) if _is_step(name, steps[number])), None)
        if place is None:
            wrong.append(name)
        else:
            at = place + 1
    spans = tuple((begin, begin + len(name)) for name in wrong if (begin := predicted.find(name)) >= 0)
    return Verdict(predicted, shown, not wrong and at > 1, (spans, ()))


def _is_step(typed: str, step: str) -> bool:
    """Whether a reader's words name a step ("key CPU"): the kind may be missing, and the beginning of the name."""
    kind, _, name = step.partition(" ")
    words = typed.strip()
    words = words.removeprefix(f"{kind} ").strip()
    return name.lower() == words.lower() or name.lower().endswith((f"::{words.lower()}", f".{words.lower()}"))
