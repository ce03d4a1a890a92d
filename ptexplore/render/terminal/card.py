"""Prints an operator's card in a terminal: tables of its common keys, or with `full` everything that is known."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from ptexplore.render.terminal.console import (
    Locate,
    drawn,
    folded,
    guides,
    linked,
    place_text,
    print_command,
    print_marks,
    print_next,
    styled,
)
from ptexplore.safe_text import clean
from ptexplore.view.card import ONLY_IN_YAML, Card, card_lines, core_line
from ptexplore.view.card_table import CardRow, CardTable, card_tables, left_out, only_in_yaml
from ptexplore.view.place_marks import mark_of

WIDEST = 110  # columns of a table: a wider one is hard to follow from left to right
_LABEL, _PLACE = 0.3, 0.4  # the widest label and place, as parts of a row
_GAP = 2
_STEPS = ("what decomposes it", "everything")  # the labels of the next commands


def print_card(console: Console, card: Card, locate: Locate, *, full: bool) -> None:
    """Print a card: the answer first, each place with a sign if it is not exact. With `full`, print every detail."""
    if full:
        _print_lines(console, card, locate)
    else:
        _print_tables(console, card, locate)


def _print_tables(console: Console, card: Card, locate: Locate) -> None:
    width = min(console.width, WIDEST)
    operator = card.operator
    folded(console, Text(clean(operator.schema), style="bold"), "", "    ")
    if card.doc is not None:
        folded(console, Text(clean(card.doc.text)), "  ", "  ")
    facts = [operator.structured or "", *operator.variants, *operator.tags]
    if any(facts):
        folded(console, Text(", ".join(filter(None, facts)), style="dim"), "  ", "  ")
    if card.core is not None:
        folded(console, Text(clean(core_line(card.core)), style="dim"), "  ", "  ")
    declared = card.yaml if card.yaml.line else card.entry
    if declared.line:
        place = Text(place_text(declared, width - 20), style=linked(locate(declared)) or "cyan")
        console.print(Text.assemble(("  declared in ", "dim"), place, mark_of(declared)), soft_wrap=True)
    tables = card_tables(card)
    for table in tables:
        console.print()
        print_table(console, table, width, locate)
    console.print()
    refs = [row.ref for table in tables for row in table.rows]
    marks = {mark_of(ref) for ref in refs}
    if "~" in marks:
        version = next((tree.version for tree in card.trees if tree.relation == "version-skew" and tree.version), None)
        meaning = (
            f"~ a line of {version or 'another version'}, found by name; `ptexplore fetch` gets your torch's source"
        )
        folded(console, Text(meaning, style="dim"), "", "  ")
    if "?" in marks:
        meaning = "? several places are possible, or none is known: --full lists them"
        folded(console, Text(meaning, style="dim"), "", "  ")
    if card.siblings:
        folded(console, styled(("other overloads: ", "dim"), (", ".join(card.siblings), "")), "", "  ")
    if card.notes:
        print_marks(console, [replace(mark, line=0) for mark in card.notes], "to read")
    in_yaml = only_in_yaml(card)
    if in_yaml:
        folded(console, styled((f"{ONLY_IN_YAML}: ", "dim"), (in_yaml, "")), "", "  ")
    hidden = ", ".join(left_out(card))
    if hidden:
        folded(console, Text(f"not shown: {hidden}", style="dim"), "", "  ")
    print_command(console, f"ptexplore op {shlex.quote(operator.name)} --ladder", f"{_STEPS[0]}  ")
    print_command(console, f"ptexplore op {shlex.quote(operator.name)} --full", f"{_STEPS[1]:<{len(_STEPS[0])}}  ")


def print_table(console: Console, table: CardTable, width: int, locate: Locate) -> None:
    """Print label, what it runs, and place in columns. A long label has a line of its own; places are cut in front."""
    rows = table.rows
    label = min(max(cell_len(row.label) for row in rows), int(width * _LABEL))
    label = max(label, cell_len(table.heading))
    longest = max((cell_len(_place(row, width)) for row in rows), default=0)
    place = min(longest, int(width * _PLACE))
    room = width - label - place - 2 * _GAP - 1
    heading = f" {table.heading:<{label}}{' ' * _GAP}{table.what:<{room}}{' ' * _GAP}{'where':>{place}}"
    console.print(Text(heading, style="bold"), soft_wrap=True)
    for row, guide in zip(rows, guides(rows, 2), strict=True):
        _print_row(console, row, guide, (label, room, place), locate)


def _print_row(console: Console, row: CardRow, guide: str, sizes: tuple[int, int, int], locate: Locate) -> None:
    label, room, place = sizes
    text = Text(f" {clean(row.label)}", style="green")
    if cell_len(row.label) > label:
        console.print(text, soft_wrap=True)
        text = Text(" " * (label + 1))
    else:
        text.pad_right(label - cell_len(row.label))
    style = (linked(locate(row.ref)) if row.ref is not None else "") or "cyan"
    whole = room + place + _GAP - cell_len(guide)  # a long name takes the room of the place too
    parts = _folded(clean(row.what), whole)
    where = _place(row, min(place, whole - cell_len(parts[-1]) - _GAP))
    if cell_len(where) > whole - cell_len(parts[-1]) - _GAP:
        parts.append("")  # the place has a line of its own
    for number, part in enumerate(parts):
        line = Text.assemble(text if not number else " " * (label + 1), " " * _GAP, (guide, "dim"), part)
        if number == len(parts) - 1 and where:
            line.pad_right(label + 1 + room + place + 2 * _GAP - cell_len(where) - cell_len(line.plain))
            line.append(where, style=style)
        guide = " " * len(guide)
        console.print(line, soft_wrap=True)


def _place(row: CardRow, room: int) -> str:
    if row.ref is None:
        return ""
    mark = mark_of(row.ref)
    return f"{clean(place_text(row.ref, room - 2))} {mark}".rstrip()


def _folded(text: str, room: int) -> list[str]:
    """Returns a text in parts of at most `room` columns."""
    return list(_parts(text, max(room, 20))) or [""]


def _parts(text: str, room: int) -> Iterator[str]:
    while cell_len(text) > room:
        cuts = (text.rfind(" ", 1, room + 1), text.rfind("::", 1, room - 1) + 2, text.rfind("_", 1, room) + 1)
        cut = next((cut for cut in cuts if cut > 2), room)
        yield text[:cut].rstrip()
        text = text[cut:].lstrip()
    yield text


def _print_lines(console: Console, card: Card, locate: Locate) -> None:
    """Print every line of a card, with the precision of each place in words."""
    for line in card_lines(card, full=True, listed=False):
        if line.style == "heading":
            console.print()
        text = drawn(line.spans, locate)
        console.print(Padding.indent(text, line.indent) if line.indent else text)
    if card.siblings:
        console.print(Text("\nother overloads", style="bold"))
        console.print(Padding.indent(styled((", ".join(card.siblings), "")), 2))
    if card.notes:
        print_marks(console, [replace(mark, line=0) for mark in card.notes], "\nto read")
    print_next(console, f"ptexplore op {shlex.quote(card.operator.name)} --json", "\n")
