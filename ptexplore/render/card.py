"""Print an operator's card in a terminal."""

from __future__ import annotations

from dataclasses import replace

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from ptexplore.render.console import Locate, place
from ptexplore.render.notes import print_marks
from ptexplore.render.plain import clean
from ptexplore.view.card import COMMON, Card, KeyRow, Stubbed, Target


def print_card(console: Console, card: Card, locate: Locate, *, full: bool) -> None:
    """Schema, YAML entry, kernels by key, derivative, bindings, Python implementations, other overloads."""
    operator = card.operator
    console.print(Text(clean(operator.name), style="bold"))
    _line(console, Text(clean(operator.schema)))
    facts = [operator.structured or "", *operator.variants, *operator.tags]
    if any(facts):
        _line(console, Text(", ".join(f for f in facts if f), style="dim"))
    if operator.aliases:
        _line(console, Text(f"aliases: {', '.join(operator.aliases)}", style="dim"))
    _line(console, place(card.yaml, locate, "entry in YAML"))
    _line(console, place(card.entry, locate, "at::_ops call"))
    _keys(console, card, locate, full=full)
    _derivative(console, card, locate)
    if card.bindings:
        console.print(Text("\nPython bindings", style="bold"))
    for names, row, ref in card.bindings:
        _line(console, Text(f"{clean(names)} → torch::autograd::{row.c_function}"))
        _line(console, place(ref, locate), 4)
    if card.python:
        console.print(Text("\nin Python", style="bold"))
    for kernel, ref in card.python:
        key = f" for {kernel.key}" if kernel.key else ""
        _line(console, Text(f"{kernel.role}{key}: {clean(kernel.function)}"))
        _line(console, place(ref, locate), 4)
    if card.siblings:
        console.print(Text("\nother overloads", style="bold"))
        _line(console, Text(", ".join(card.siblings)))
    if card.notes:
        print_marks(console, [replace(mark, line=0) for mark in card.notes], "\nto read")
    console.print(Text.assemble(("\nnext: ", "dim"), (f"ptexplore op {operator.name} --json", "cyan")))


def _line(console: Console, text: Text, indent: int = 2) -> None:
    console.print(Padding.indent(text, indent))


def _keys(console: Console, card: Card, locate: Locate, *, full: bool) -> None:
    console.print(Text("\nwhat each dispatch key runs", style="bold"))
    shown = [r for r in card.keys if full or any(k in COMMON for k in r.keys)] or list(card.keys)
    for row in shown:
        _key(console, row, locate, full=full)
    left = len(card.keys) - len(shown)
    if card.fallthrough:
        names = ", ".join(card.fallthrough) if full else f"{len(card.fallthrough)} keys"
        _line(console, Text(f"fall through: {names}", style="dim"))
    if left:
        _line(console, Text(f"{left} more kernels for other keys: --full shows them", style="dim"))


def _key(console: Console, row: KeyRow, locate: Locate, *, full: bool) -> None:
    keys = list(row.keys)
    if not full and len(keys) > 4:
        first = [k for k in keys if k in COMMON] or keys[:2]
        keys = [*first, f"+{len(keys) - len(first)} more"]
    title = Text.assemble((clean(", ".join(keys)), "bold"), (f"  {clean(row.reason)}", "dim"))
    _line(console, title)
    _line(console, Text(clean(row.kernel)), 4)
    if row.body.line:
        _line(console, place(row.body, locate), 4)
    _line(console, place(row.registration, locate, "registered at"), 4)
    if row.entry is not None:
        _line(console, place(row.entry, locate, "its own entry at"), 4)
    _stubs(console, row.stubs, locate, 4)
    for target in row.targets:
        _line(console, Text(f"calls {clean(target.name)}"), 4)
        _line(console, _target(target, locate), 6)
        _stubs(console, target.stubs, locate, 6)


def _target(target: Target, locate: Locate) -> Text:
    if target.source.line is None and not target.source.candidates and target.declaration is not None:
        return place(target.declaration, locate, "declared at")
    return place(target.source, locate)


def _stubs(console: Console, stubs: tuple[Stubbed, ...], locate: Locate, indent: int) -> None:
    for one in stubs:
        _line(console, place(one.stub.source, locate, f"stub {one.stub.name.rsplit('::', 1)[-1]}"), indent)
        for kernel in one.stub.kernels:
            _line(console, place(kernel.source, locate, f"kernel {clean(kernel.name.rsplit('::', 1)[-1])}"), indent + 2)


def _derivative(console: Console, card: Card, locate: Locate) -> None:
    derivative = card.derivative
    console.print(Text("\nderivative", style="bold"))
    entry = card.formulas
    if derivative is None or entry is None:
        _line(console, Text("none of its own in derivatives.yaml", style="dim"))
        return
    matched = f" (entry of {derivative.source_op}; {derivative.matched})" if derivative.matched != "exact" else ""
    _line(console, place(entry, locate).append(matched, style="dim"))
    for formula in derivative.formulas:
        _line(console, Text(f"{clean(formula.inputs)}: {clean(formula.text)}"))
        _line(console, place(replace(entry, line=formula.line), locate), 4)
    if card.node is not None:
        _line(console, Text(f"node: torch::autograd::generated::{derivative.node}"))
        _line(console, place(card.node, locate, "apply"), 4)
