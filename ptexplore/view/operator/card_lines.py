"""An operator's card in lines, in the order a reader asks, for whoever draws it: texts, places, other operators."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from ptexplore.view.line import Line
from ptexplore.view.operator.card import CalledFunction, Card, KeyRow, Stubbed

if TYPE_CHECKING:
    from ptexplore.model.places import SourceRef

HIDDEN = "not shown"  # where a renderer may say how to see them


def card_lines(card: Card, *, full: bool, listed: bool = True) -> Iterator[Line]:
    """Schema, YAML entry, kernels by key, derivative, bindings, Python implementations.

    With `listed` also the other overloads and the notes, a line each.
    """
    operator = card.operator
    yield Line("name", operator.name)
    yield Line("text", operator.schema, indent=2)
    facts = [operator.structured or "", *operator.variants, *operator.tags]
    if any(facts):
        yield Line("dim", ", ".join(one for one in facts if one), indent=2)
    if operator.aliases:
        yield Line("dim", f"aliases: {', '.join(operator.aliases)}", indent=2)
    yield _place(card.yaml, "entry in YAML")
    yield _place(card.entry, "at::_ops call")
    yield from _keys(card, full=full)
    yield from _derivative(card)
    yield from _python(card)
    if listed and card.siblings:
        yield Line("heading", "other overloads")
        yield from (Line("text", name, indent=2, operator=name) for name in card.siblings)
    if listed and card.notes:
        yield Line("heading", "to read")
        yield from (Line("text", mark.title, indent=2, after=mark.stop, stop=mark.stop) for mark in card.notes)


def _place(ref: SourceRef, label: str = "", indent: int = 2, after: str = "") -> Line:
    return Line("place", label, ref, indent=indent, after=after)


def _python(card: Card) -> Iterator[Line]:
    if card.bindings:
        yield Line("heading", "Python bindings")
    for names, row, ref in card.bindings:
        yield Line("text", f"{names} → torch::autograd::{row.c_function}", indent=2)
        yield _place(ref, indent=4)
    if card.python:
        yield Line("heading", "in Python")
    for kernel, ref in card.python:
        key = f" for {kernel.key}" if kernel.key else ""
        yield Line("text", f"{kernel.role}{key}: {kernel.function}", indent=2)
        yield _place(ref, indent=4)


def _keys(card: Card, *, full: bool) -> Iterator[Line]:
    yield Line("heading", "what each dispatch key runs")
    shown = card.keys if full else card.common
    for row in shown:
        yield from _key(row, full=full)
    if card.fallthrough:
        names = ", ".join(card.fallthrough) if full else f"{len(card.fallthrough)} keys"
        yield Line("dim", f"fall through: {names}", indent=2)
    left = len(card.keys) - len(shown)
    if left:
        yield Line("dim", f"{left} more kernels for other keys: {HIDDEN}", indent=2)


def _key(row: KeyRow, *, full: bool) -> Iterator[Line]:
    keys = row.keys if full else row.shown_keys
    more = len(row.keys) - len(keys)
    names = ", ".join([*keys, f"+{more} more"] if more else keys)
    yield Line("strong", names, indent=2, after=row.reason)
    yield Line("text", row.kernel, indent=4)
    if row.body.line:
        yield _place(row.body, indent=4)
    yield _place(row.registration, "registered at", 4)
    if row.entry is not None:
        yield _place(row.entry, "its own entry at", 4)
    yield from _stubs(row.stubs, 4)
    for target in row.targets:
        yield Line("text", f"calls {target.name}", indent=4)
        yield _target(target)
        yield from _stubs(target.stubs, 6)


def _target(target: CalledFunction) -> Line:
    if target.source.line is None and not target.source.candidates and target.declaration is not None:
        return _place(target.declaration, "declared at", 6)
    return _place(target.source, indent=6)


def _stubs(stubs: tuple[Stubbed, ...], indent: int) -> Iterator[Line]:
    for one in stubs:
        yield _place(one.stub.source, f"stub {one.stub.name.rsplit('::', 1)[-1]}", indent)
        for kernel in one.stub.kernels:
            yield _place(kernel.source, f"kernel {kernel.name.rsplit('::', 1)[-1]}", indent + 2)


def _derivative(card: Card) -> Iterator[Line]:
    derivative, entry = card.derivative, card.formulas
    yield Line("heading", "derivative")
    if derivative is None or entry is None:
        yield Line("dim", "none of its own in derivatives.yaml", indent=2)
        return
    matched = f"(entry of {derivative.source_op}; {derivative.matched})" if derivative.matched != "exact" else ""
    yield _place(entry, after=matched)
    for formula in derivative.formulas:
        yield Line("text", f"{formula.inputs}: {formula.text}", indent=2)
        yield _place(replace(entry, line=formula.line), indent=4)
    if card.node is not None:
        yield Line("text", f"node: torch::autograd::generated::{derivative.node}", indent=2)
        yield _place(card.node, "apply", 4)
