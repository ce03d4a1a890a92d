"""Print what `refs` found: what bears the name, then its uses, each with its line and the function around it."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from ptexplore.render.terminal.console import folded
from ptexplore.render.terminal.places import LocateIn, path_line, where
from ptexplore.safe_text import clean
from ptexplore.view.search.refs import NameUse, RefsView, UseGroup

DEFINED = 12  # definitions named at the top


def print_refs(console: Console, view: RefsView, locate: LocateIn) -> None:
    """The whole answer: definitions, groups with their counts, remarks on what is certain and what was left out."""
    for name, kind, spot in view.defined[:DEFINED]:
        title = Text(clean(name), style="bold cyan")
        title.append(f"  {kind}", style="dim")
        folded(console, title, "", "    ")
        folded(console, where(spot, locate), "  ", "    ")
    more = view.more + max(0, len(view.defined) - DEFINED)
    if more:
        console.print(Text(f"{more} more of that name", style="dim"))
    if not view.defined:
        console.print(Text(f"{clean(view.asked)}: no symbol of these trees; its rows and uses", style="dim"))
    if not view.groups:
        console.print(Text("nothing here uses it", style="dim"))
    several = len({use.spot.tree.name for group in view.groups for use in group.found}) > 1
    for group in view.groups:
        _group(console, group, locate, several=several)
    if view.remarks:
        console.print()
    for remark in view.remarks:
        folded(console, Text(clean(remark), style="dim"), "", "  ")


def _group(console: Console, group: UseGroup, locate: LocateIn, *, several: bool) -> None:
    console.print()
    console.print(Text.assemble((group.name, "bold"), (f"  {group.total}", "dim")))
    for use in group.found:
        _use(console, use, locate, several=several)
    left = group.total - len(group.found)
    if left:
        console.print(Text(f"  {left} more: --limit 0 shows all, --kind {group.name} only these", style="dim"))


def _use(console: Console, use: NameUse, locate: LocateIn, *, several: bool) -> None:
    place = path_line(use.spot, locate)
    if several:
        place.append(f"  {clean(use.spot.tree.label)}", style="magenta")
    style = "green" if use.how == "resolved" else "yellow" if use.how == "name-matched" else "cyan"
    place.append(f"  {clean(use.how)}", style=style)
    if use.detail:
        place.append(f" {clean(use.detail)}")
    if use.inside:
        place.append(f"  in {clean(use.inside)}", style="dim")
    folded(console, place, "  ", "      ")
    if use.text:
        folded(console, Text(clean(use.text)), "      ", "        ")
