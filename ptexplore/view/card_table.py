"""An operator's card as a table: what each dispatch key runs, the derivative, the Python names, and where they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ptexplore.model.places import SourceRef
from ptexplore.view.card import Card, Stubbed

_COMMON_SPACES = ("torch::autograd::generated::", "torch::autograd::", "at::native::", "at::meta::", "at::")


@dataclass(frozen=True, slots=True)
class CardRow:
    """One row: `label` (a key, an input, a name), `what` runs or is computed, and its place. `level`: nested rows.

    `reason` says why the key has this kernel; it is "" for a kernel of the key itself. `registered` is the kernel's
    registration. `entry` is the operator's own registration, if somebody wrote it by hand.
    """

    label: str
    what: str
    ref: SourceRef | None = None
    level: int = 0
    reason: str = ""
    registered: SourceRef | None = None
    entry: SourceRef | None = None


@dataclass(frozen=True, slots=True)
class CardTable:
    """A part of the card: its heading, the heading of `what`, and its rows.

    `title` is the heading above the table, on the site.
    """

    heading: str
    what: str
    rows: tuple[CardRow, ...]
    title: str = ""


def card_tables(card: Card) -> tuple[CardTable, ...]:
    """Returns the tables of a card, for common dispatch keys. A table without rows is left out."""
    tables = (
        CardTable("dispatch key", "runs", tuple(_keys(card)), "What runs for each dispatch key"),
        CardTable("derivative", "formula", tuple(_derivative(card)), "Its derivative"),
        CardTable("Python name", "calls", tuple(_names(card)), "Its functions in Python"),
    )
    return tuple(table for table in tables if table.rows)


def left_out(card: Card) -> tuple[str, ...]:
    """Returns what the table of keys does not show: other keys, and keys that fall through."""
    parts = []
    if card.others:
        parts.append(f"kernels of {len(card.others)} more groups of keys")
    if card.fallthrough:
        parts.append(f"{len(card.fallthrough)} keys that fall through")
    return tuple(parts)


def only_in_yaml(card: Card) -> str:
    """Returns the dispatch keys that native_functions.yaml names and that have no kernel in this build."""
    return ", ".join(key for key, _kernel in card.not_built)


def short(name: str) -> str:
    """Removes the namespaces that most PyTorch functions are in."""
    return next((name[len(space) :] for space in _COMMON_SPACES if name.startswith(space)), name)


def _keys(card: Card) -> Iterator[CardRow]:
    for row in card.common:
        shown = row.shown_keys
        more = len(row.keys) - len(shown)
        label = ", ".join([*shown, f"+{more}"] if more else shown)
        yield CardRow(
            label,
            f"{short(row.kernel)}{' (the default)' if row.is_default else ''}",
            row.body if row.body.line else row.registration,
            reason="" if row.is_plain else row.full_reason,
            registered=row.registration if row.body.line else None,
            entry=row.entry,
        )
        yield from _stubs(row.stubs, 1)
        for target in row.targets:
            is_defined = target.source.line or target.source.candidates or target.declaration is None
            yield CardRow("", short(target.name), target.source if is_defined else target.declaration, 1)
            yield from _stubs(target.stubs, 2)


def _stubs(stubs: Sequence[Stubbed], level: int) -> Iterator[CardRow]:
    for stubbed in stubs:
        name = short(stubbed.stub.name)
        if not stubbed.stub.kernels:
            yield CardRow("", name, stubbed.stub.source, level)
        for kernel in stubbed.stub.kernels:
            yield CardRow("", f"{name} → {short(kernel.name)}", kernel.source, level)


def _derivative(card: Card) -> Iterator[CardRow]:
    derivative, entry = card.derivative, card.formulas
    if derivative is None or entry is None:
        return
    for formula in derivative.formulas:
        yield CardRow(formula.inputs, formula.text, replace(entry, line=formula.line))
    if card.node is not None:
        yield CardRow("node", str(derivative.node), card.node)


def _names(card: Card) -> Iterator[CardRow]:
    bound: dict[tuple[str, SourceRef], list[str]] = {}
    for name, binding, ref in card.bindings:
        bound.setdefault((binding.c_function, ref), []).append(name)
    for (function, ref), names in bound.items():
        table = f"{names[0].rpartition('.')[0]}."  # the other names are methods of the same class
        yield CardRow(", ".join([names[0], *(name.removeprefix(table) for name in names[1:])]), function, ref)
    for kernel, ref in card.python:
        key = f" for {kernel.key}" if kernel.key else ""
        yield CardRow(f"{kernel.role}{key}", kernel.function, ref)
