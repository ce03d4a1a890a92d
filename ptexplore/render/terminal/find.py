"""Print what `find` found: grouped, best first, each with its place, tree and precision."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from ptexplore.render.terminal.console import folded
from ptexplore.render.terminal.places import LocateIn, path_line, where
from ptexplore.safe_text import clean
from ptexplore.view.search.find import FindView, HitGroup, SearchHit


def print_find(console: Console, view: FindView, locate: LocateIn) -> None:
    """Every group under its name, what was left out, and what to type next."""
    for number, group in enumerate(view.groups):
        if number:
            console.print()
        console.print(Text(group.name, style="bold"))
        for one in group.found:
            _PRINT.get(one.kind, _result)(console, one, locate)
        _more(console, group)
    for remark in view.remarks:
        folded(console, Text(clean(remark), style="dim"), "", "")


def _more(console: Console, group: HitGroup) -> None:
    if group.more:
        console.print(Text(f"  {group.more} more: --limit 0 shows all", style="dim"))
    elif group.more is None:
        console.print(Text("  there are more: --limit N shows more", style="dim"))


def _result(console: Console, one: SearchHit, locate: LocateIn) -> None:
    title = Text.assemble((clean(one.name), "bold cyan"), overflow="fold")
    # A schema begins with the operator's own name.
    detail = one.detail[one.detail.find("(") :] if one.kind == "operator" and "(" in one.detail else one.detail
    title.append(clean(detail if detail.startswith("(") else f"  {detail}" if detail else ""))
    title.append(f"  {one.kind}" + (" (declared)" if one.role == "declaration" else ""), style="dim")
    if one.macro:
        title.append(f"  by {clean(one.macro)}", style="dim")
    folded(console, title, "  ", "    ")
    folded(console, where(one.spot, locate), "    ", "      ")
    for guard in one.guards:
        folded(console, Text(f"#if {clean(guard)}", style="dim"), "    ", "      ")
    for other in one.others:
        folded(console, where(other, locate), "    ", "      ")


def _text_line(console: Console, one: SearchHit, locate: LocateIn) -> None:
    place = path_line(one.spot, locate)
    place.append(f"  {clean(one.spot.tree.label)}", style="magenta")
    folded(console, place, "  ", "    ")
    folded(console, Text(clean(one.detail)), "      ", "        ")


def _file(console: Console, one: SearchHit, locate: LocateIn) -> None:
    out = path_line(one.spot, locate)
    out.append(f"  {clean(one.detail)}", style="dim")
    out.append(f"  {clean(', '.join(spot.tree.label for spot in (one.spot, *one.others)))}", style="magenta")
    folded(console, out, "  ", "    ")


def _note(console: Console, one: SearchHit, locate: LocateIn) -> None:
    title = Text.assemble((clean(one.name), "bold cyan"), (f"  {clean(one.detail)}", ""), overflow="fold")
    folded(console, title.append(f"  {clean(one.command)}", style="cyan"), "  ", "    ")
    folded(console, where(one.spot, locate), "    ", "      ")


_PRINT = {"line": _text_line, "file": _file, "note": _note}
