"""An operator's card in lines, in the order a reader asks, for whoever draws it: texts, places, other operators."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from ptexplore.view.card import COMMON, Card, KeyRow, Stubbed, Target

if TYPE_CHECKING:
    from ptexplore.model import SourceRef

CardStyle = Literal["name", "heading", "text", "strong", "dim", "place"]


@dataclass(frozen=True, slots=True)
class CardLine:
    """One line: `text` is a place's label where there is a `ref`; `after` goes behind, dimmed.

    `operator` and `stop` are what the line leads to, where that is no place.
    """

    style: CardStyle
    text: str = ""
    indent: int = 2
    ref: SourceRef | None = None
    after: str = ""
    operator: str | None = None
    stop: str | None = None


HIDDEN = "not shown"  # where a renderer may say how to see them


def card_lines(card: Card, *, full: bool, listed: bool = True) -> Iterator[CardLine]:
    """Schema, YAML entry, kernels by key, derivative, bindings, Python implementations.

    With `listed` also the other overloads and the notes, a line each.
    """
    operator = card.operator
    yield CardLine("name", operator.name, 0)
    yield CardLine("text", operator.schema)
    facts = [operator.structured or "", *operator.variants, *operator.tags]
    if any(facts):
        yield CardLine("dim", ", ".join(one for one in facts if one))
    if operator.aliases:
        yield CardLine("dim", f"aliases: {', '.join(operator.aliases)}")
    yield _place(card.yaml, "entry in YAML")
    yield _place(card.entry, "at::_ops call")
    yield from _keys(card, full=full)
    yield from _derivative(card)
    yield from _python(card)
    if listed and card.siblings:
        yield CardLine("heading", "other overloads", 0)
        yield from (CardLine("text", name, operator=name) for name in card.siblings)
    if listed and card.notes:
        yield CardLine("heading", "to read", 0)
        yield from (CardLine("text", mark.title, after=mark.stop, stop=mark.stop) for mark in card.notes)


def _place(ref: SourceRef, label: str = "", indent: int = 2, after: str = "") -> CardLine:
    return CardLine("place", label, indent, ref, after)


def _python(card: Card) -> Iterator[CardLine]:
    if card.bindings:
        yield CardLine("heading", "Python bindings", 0)
    for names, row, ref in card.bindings:
        yield CardLine("text", f"{names} → torch::autograd::{row.c_function}")
        yield _place(ref, indent=4)
    if card.python:
        yield CardLine("heading", "in Python", 0)
    for kernel, ref in card.python:
        key = f" for {kernel.key}" if kernel.key else ""
        yield CardLine("text", f"{kernel.role}{key}: {kernel.function}")
        yield _place(ref, indent=4)


def _keys(card: Card, *, full: bool) -> Iterator[CardLine]:
    yield CardLine("heading", "what each dispatch key runs", 0)
    shown = [row for row in card.keys if full or any(key in COMMON for key in row.keys)] or list(card.keys)
    for row in shown:
        yield from _key(row, full=full)
    if card.fallthrough:
        names = ", ".join(card.fallthrough) if full else f"{len(card.fallthrough)} keys"
        yield CardLine("dim", f"fall through: {names}")
    left = len(card.keys) - len(shown)
    if left:
        yield CardLine("dim", f"{left} more kernels for other keys: {HIDDEN}")


def _key(row: KeyRow, *, full: bool) -> Iterator[CardLine]:
    keys = list(row.keys)
    if not full and len(keys) > 4:
        first = [key for key in keys if key in COMMON] or keys[:2]
        keys = [*first, f"+{len(keys) - len(first)} more"]
    yield CardLine("strong", ", ".join(keys), after=row.reason)
    yield CardLine("text", row.kernel, 4)
    if row.body.line:
        yield _place(row.body, indent=4)
    yield _place(row.registration, "registered at", 4)
    if row.entry is not None:
        yield _place(row.entry, "its own entry at", 4)
    yield from _stubs(row.stubs, 4)
    for target in row.targets:
        yield CardLine("text", f"calls {target.name}", 4)
        yield _target(target)
        yield from _stubs(target.stubs, 6)


def _target(target: Target) -> CardLine:
    if target.source.line is None and not target.source.candidates and target.declaration is not None:
        return _place(target.declaration, "declared at", 6)
    return _place(target.source, indent=6)


def _stubs(stubs: tuple[Stubbed, ...], indent: int) -> Iterator[CardLine]:
    for one in stubs:
        yield _place(one.stub.source, f"stub {one.stub.name.rsplit('::', 1)[-1]}", indent)
        for kernel in one.stub.kernels:
            yield _place(kernel.source, f"kernel {kernel.name.rsplit('::', 1)[-1]}", indent + 2)


def _derivative(card: Card) -> Iterator[CardLine]:
    derivative, entry = card.derivative, card.formulas
    yield CardLine("heading", "derivative", 0)
    if derivative is None or entry is None:
        yield CardLine("dim", "none of its own in derivatives.yaml")
        return
    matched = f"(entry of {derivative.source_op}; {derivative.matched})" if derivative.matched != "exact" else ""
    yield _place(entry, after=matched)
    for formula in derivative.formulas:
        yield CardLine("text", f"{formula.inputs}: {formula.text}")
        yield _place(replace(entry, line=formula.line), indent=4)
    if card.node is not None:
        yield CardLine("text", f"node: torch::autograd::generated::{derivative.node}")
        yield _place(card.node, "apply", 4)
