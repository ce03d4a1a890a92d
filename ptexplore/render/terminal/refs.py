"""Prints the results of `refs`: the definitions, then each group of uses with its certainty."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from ptexplore.render.terminal.console import folded, linked, styled
from ptexplore.render.terminal.search import UNCUT, LocateIn, located, where
from ptexplore.safe_text import clean
from ptexplore.view.search.override_lines import overridden_lines
from ptexplore.view.words.remarks import remark_in_words
from ptexplore.view.words.uses import certainty_in_words, group_in_words, overridden_in_words, used_on

if TYPE_CHECKING:
    from ptexplore.lookup.refs import NameUse, RefsView, UseGroup

DEFINED = 12  # definitions named at the top
_WIDEST = 130  # columns of a row
_AROUND = 0.3  # the widest function around a use, as a part of a row


def print_refs(console: Console, view: RefsView, locate: LocateIn, *, full: bool = False) -> None:
    """Print the whole answer: definitions, groups with their counts, remarks on certainty and on left-out lines.

    The uses of a file are rows below its path. With `full`, each use has its whole place and how it is known.
    """
    for name, kind, spot in view.defined[:DEFINED]:
        folded(console, styled((name, "bold cyan"), (f"  {kind}", "bold dim cyan")), "", "    ")
        folded(console, where(spot, locate), "  ", "    ")
    for overridden in view.overrides:
        for text, at in overridden_lines(overridden):
            line = styled((f"{overridden.name} " if len(view.overrides) > 1 else "", "dim"), (text, "bold"))
            if at is not None:
                line = Text.assemble(line, "  ", located(at, locate))
            folded(console, line, "", "    ")
    more = view.more + max(0, len(view.defined) - DEFINED)
    if more:
        console.print(Text(f"{more} more with this name", style="dim"))
    if not view.defined:
        console.print(styled((f"{view.asked}: not a symbol of these trees; rows and uses of the name", "dim")))
    apart = certainty_in_words(view.lines, view.certain, view.definitions)
    used = f"{used_on(view.lines)}{f': {apart}' if apart else ''}" if view.lines else "no use is indexed here"
    summary = "; ".join(filter(None, (used if view.lines or not view.overridden else "", overridden_in_words(view))))
    folded(console, styled((summary, "")), "", "  ")
    several = len({use.spot.tree.name for group in view.groups for use in group.uses}) > 1
    for group in view.groups:
        _group(console, group, group_in_words(group, view), locate, several=several, full=full)
    if view.remarks:
        console.print()
    for remark in map(remark_in_words, view.remarks):
        folded(console, styled((remark, "dim")), "", "  ")


def _group(console: Console, group: UseGroup, heading: str, locate: LocateIn, *, several: bool, full: bool) -> None:
    console.print(Text.assemble((f"\n{heading}", "bold"), (f"  {group.total}", "dim")))
    if full:
        for use in group.uses:
            _use(console, use, locate, several=several)
    else:
        _rows(console, group.uses, locate, several=several)
    left = group.total - len(group.uses)
    if left:
        console.print(
            Text(f"  {left} more: --limit 0 shows all, --kind {group.name} shows only this group", style="dim")
        )


def _rows(console: Console, uses: Sequence[NameUse], locate: LocateIn, *, several: bool) -> None:
    """Print the uses of each file below its path: the line, the function around it or the row's name, the text."""
    width = min(console.width, _WIDEST) if console.is_terminal else UNCUT
    number = max((len(str(use.spot.ref.line or "")) for use in uses), default=0)
    around = min(max((cell_len(_around(use)) for use in uses), default=0), int(width * _AROUND))
    for (path, tree), of_file in groupby(uses, lambda use: (use.spot.ref.path or "", use.spot.tree.label)):
        console.print(styled((f"  {path}", ""), (f"  {tree}" if several else "", "magenta")), soft_wrap=True)
        for use in of_file:
            line = Text(f"    {use.spot.ref.line or '':>{number}}", style=linked(locate(use.spot)) or "cyan")
            inside = Text(_around(use), style="dim" if not use.detail else "")
            inside.truncate(around, overflow="ellipsis", pad=True)
            text = styled((use.text, ""))
            text.truncate(max(20, width - number - around - 8), overflow="ellipsis")
            console.print(Text.assemble(line, "  ", inside, "  ", text), soft_wrap=True)


def _around(use: NameUse) -> str:
    """Returns the registered name of a row, or the last part of the name of the function around a use."""
    return clean(use.detail or (use.inside or "").rpartition("::")[2])


def _use(console: Console, use: NameUse, locate: LocateIn, *, several: bool) -> None:
    known = {"resolved": "green", "name-matched": "yellow"}.get(use.how, "cyan")
    facts = styled(
        (f"  {use.spot.tree.label}" if several else "", "magenta"), (f"  {use.how}", known),
        (f" {use.detail}" if use.detail else "", ""), (f"  in {use.inside}" if use.inside else "", "dim"),
    )  # fmt: skip
    folded(console, located(use.spot, locate).append_text(facts), "  ", "      ")
    if use.text:
        folded(console, styled((use.text, "")), "      ", "        ")
