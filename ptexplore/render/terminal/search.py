"""Prints the results of `find` and the candidates of `show`: each with its place, its tree, its precision."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from ptexplore.render.terminal.console import drawn, folded, linked, place_text, print_next, styled
from ptexplore.safe_text import clean
from ptexplore.view.line import after_name, place_spans
from ptexplore.view.place_marks import mark_of
from ptexplore.view.words.headings import heading
from ptexplore.view.words.remarks import remark_in_words

if TYPE_CHECKING:
    from ptexplore.lookup.find import FindView, HitGroup
    from ptexplore.lookup.trees import Candidate, Spot
    from ptexplore.model.places import SourceRef
    from ptexplore.view.search.show import ShowView

LocateIn = Callable[["Spot"], "str | None"]  # a place in a tree -> the address of its line on this machine


def path_line(ref: SourceRef, link: str = "") -> Text:
    """Returns `path:line` in the style `link`."""
    return styled((f"{ref.path}:{ref.line}" if ref.line else ref.path or "", link))


def where(spot: Spot, locate: LocateIn | None = None) -> Text:
    """Returns `path:line  tree precision (reason)`, with a link if the file is on this machine."""
    return placed(located(spot, locate), spot.tree.label, spot.ref)


def placed(place: Text, tree: str, ref: SourceRef) -> Text:
    """Returns a place, its tree, and its precision if the place is not certain."""
    lead = styled(("  " if place else "", ""), (tree, "magenta"))
    if ref.reason is None and not mark_of(ref):
        return Text.assemble(place, lead)
    return Text.assemble(place, lead, " " if tree else "", drawn(place_spans(ref)[2 if ref.path is not None else 0 :]))


def located(spot: Spot, locate: LocateIn | None) -> Text:
    """Returns `path:line`, with a link if the file is on this machine."""
    return path_line(spot.ref, linked(locate(spot)) if locate is not None else "")


# --- find, and the candidates of show ---


def print_find(
    console: Console, view: FindView, locate: LocateIn, *, full: bool = False, few: int | None = None
) -> None:
    """Print the best of all sorts, every group under its name, what is left out, and how it was searched.

    A symbol or an operator is one row. With `full`, its whole signature and all its places are printed. `few`: at most
    so many results of each group below the best.
    """
    further = [_first(group, few if view.best else None) for group in view.further]
    shown = [*view.best, *(hit for group in further for hit in group.hits)]
    rows = [hit for hit in shown if not full and hit.kind not in _PRINT]
    names = Counter(hit.name for hit in rows)
    sizes = _sizes(rows, min(console.width, _WIDEST) if console.is_terminal else UNCUT)

    def show(hits: Sequence[Candidate]) -> None:
        for hit in hits:
            if hit.kind in _NOTES and not full:
                _brief_note(console, hit)
            elif hit.kind in _PRINT:
                _PRINT[hit.kind](console, hit, locate)
            elif full:
                _symbol(console, hit, locate)
            else:
                _row(console, hit, sizes, locate, signed=names[hit.name] > 1)

    if view.best:
        console.print(Text("best", style="bold"))
    show(view.best)
    for number, group in enumerate(further):
        if number or view.best:
            console.print()
        console.print(Text(heading(group, further=bool(view.best)), style="bold"))
        show(group.hits)
        if group.more != 0:
            more = f"{group.more} more: --limit 0 shows all" if group.more else "there are more: --limit N shows more"
            console.print(Text(f"  {more}", style="dim"))
    for remark in map(remark_in_words, view.remarks):
        folded(console, styled((remark, "dim")))
    if rows:
        _foot(console, rows)


_WIDEST = 130  # columns of a row in a terminal
UNCUT = 10_000  # columns of a row in a pipe: nothing is cut there
_PLACE = 0.45  # the widest place, as a part of a row
_MEANS = {"~": "a line of another version, found by name", "?": "several places are possible, or none is known"}


def _sizes(hits: Sequence[Candidate], width: int) -> tuple[int, int, int]:
    """Returns the columns of a name, a kind and a place, such that the rows line up."""
    kind = max((len(_kind(hit)) for hit in hits), default=0)
    longest = max((len(place_text(best_spot(hit).ref, width)) for hit in hits), default=0)
    place = min(longest, int(width * _PLACE))
    name = max((cell_len(hit.name) for hit in hits), default=0)
    return (width - kind - place - 8 if width < UNCUT else name), kind, place


def _first(group: HitGroup, few: int | None) -> HitGroup:
    """Returns a group with its first results."""
    if few is None or len(group.hits) <= few:
        return group
    more = None if group.more is None else group.more + len(group.hits) - few
    return replace(group, hits=group.hits[:few], more=more)


def best_spot(hit: Candidate) -> Spot:
    """Returns the place to name first: one that is certain, if there is any."""
    return next((spot for spot in (hit.spot, *hit.also) if not mark_of(spot.ref)), hit.spot)


def _row(console: Console, hit: Candidate, sizes: tuple[int, int, int], locate: LocateIn, *, signed: bool) -> None:
    """Print a name, its kind, and its best place. A long name has its own line.

    If `signed`, several rows have this name. Then the conditions and the signature follow, on a line below if they do
    not fit.
    """
    room, kind, place = sizes
    spot = best_spot(hit)
    apart = "".join(f"  #if {guard}" for guard in hit.guards) + after_name(hit.kind, hit.detail) if signed else ""
    name = styled((hit.name, "bold cyan"), (apart, "dim"))
    signature = None
    if name.cell_len > room and apart:
        name, signature = styled((hit.name, "bold cyan")), styled((apart.strip(), "dim"))
    if name.cell_len > room:
        console.print(Text.assemble("  ", name), soft_wrap=True)
        name = Text("")
    name.truncate(room, overflow="ellipsis", pad=True)
    where = Text(clean(place_text(spot.ref, place)), style=linked(locate(spot)) or "")
    mark = mark_of(spot.ref)
    row = Text.assemble("  ", name, (f"  {_kind(hit):<{kind}}  ", "dim"), where, (f" {mark}" if mark else "", "yellow"))
    console.print(row, soft_wrap=True)
    if signature is not None:
        signature.truncate(room + kind + place, overflow="ellipsis")
        console.print(Text.assemble("    ", signature), soft_wrap=True)


def _kind(hit: Candidate) -> str:
    return "declaration" if hit.declared else hit.kind


def _foot(console: Console, rows: Sequence[Candidate]) -> None:
    """Print what the signs mean, and the commands that say more."""
    console.print()
    marks = {mark_of(best_spot(hit).ref) for hit in rows}
    for mark, means in _MEANS.items():
        if mark in marks:
            folded(console, Text(f"{mark} {means}", style="dim"), "", "  ")
    folded(console, Text("--full shows whole signatures and every place", style="dim"), "", "  ")
    print_next(console, f"ptexplore show {next_target(rows[0])}")


def _symbol(console: Console, hit: Candidate, locate: LocateIn) -> None:
    declared = " (declared)" if hit.declared else ""
    title = _title(hit, (f"  {hit.kind}{declared}", "dim"), (_made_by(hit), "dim"))
    _with_places(console, title, [hit.spot, *hit.also], hit.guards, locate)


def _made_by(result: Candidate) -> str:
    return f"  by {result.symbol.macro}" if result.symbol is not None and result.symbol.macro else ""


def _title(result: Candidate, *facts: tuple[str, str]) -> Text:
    """Returns the name with its signature or schema."""
    return styled((result.name, "bold cyan"), (after_name(result.kind, result.detail), ""), *facts)


def _with_places(
    console: Console, title: Text, spots: Sequence[Spot], guards: Sequence[str], locate: LocateIn | None
) -> None:
    """Print a title, its place, the conditions around it, and its places in other trees."""
    folded(console, title, "  ", "    ")
    first, *others = [where(spot, locate) for spot in spots]
    for line in (first, *(styled((f"#if {guard}", "dim")) for guard in guards), *others):
        folded(console, line, "    ", "      ")


def _text_line(console: Console, hit: Candidate, locate: LocateIn) -> None:
    place = located(hit.spot, locate).append_text(styled((f"  {hit.spot.tree.label}", "magenta")))
    folded(console, place, "  ", "    ")
    folded(console, styled((hit.detail, "")), "      ", "        ")


def _file(console: Console, hit: Candidate, locate: LocateIn) -> None:
    trees = ", ".join(spot.tree.label for spot in (hit.spot, *hit.also))
    facts = styled((f"  {hit.detail}", ""), (f"  {hit.kind}", "dim"), (f"  {trees}", "magenta"))
    folded(console, located(hit.spot, locate).append_text(facts), "  ", "    ")


def _folder(console: Console, hit: Candidate, locate: LocateIn) -> None:
    del locate  # a folder has no line to open
    trees = ", ".join(spot.tree.label for spot in (hit.spot, *hit.also))
    title = styled((hit.name, "bold cyan"), ("  folder", "dim"), (f"  {trees}", "magenta"))
    folded(console, title, "  ", "    ")
    if hit.detail:
        folded(console, styled((hit.detail, "")), "    ", "      ")
    folded(console, styled((hit.command, "cyan")), "    ", "      ")


def _brief_note(console: Console, hit: Candidate) -> None:
    """Print a stop, a tour or a concept, and the command that opens it; its place is shown there."""
    title, command = _titled(hit), styled((hit.command, "cyan"))
    if title.cell_len + command.cell_len + 4 <= console.width:
        console.print(Text.assemble("  ", title, "  ", command), soft_wrap=True)
    else:
        folded(console, title, "  ", "    ")
        folded(console, command, "    ", "      ")


def _titled(hit: Candidate) -> Text:
    kind = "stop" if "#" in hit.name else hit.kind
    return styled((hit.name, "bold cyan"), (f"  {hit.detail}", ""), (f"  {kind}", "dim"))


def _note(console: Console, hit: Candidate, locate: LocateIn) -> None:
    title, command = _titled(hit), styled((hit.command, "cyan"))
    beside = title.cell_len + command.cell_len + 4 <= console.width
    _with_places(console, Text.assemble(title, "  ", command) if beside else title, [hit.spot], (), locate)
    if not beside:
        folded(console, command, "    ", "      ")  # unbroken, so that you can copy it


_NOTES = frozenset(("note", "tour", "concept"))
_PRINT = {"line": _text_line, "file": _file, "folder": _folder, "note": _note, "tour": _note, "concept": _note}


def print_candidates(console: Console, view: ShowView, locate: LocateIn, limit: int) -> None:
    """Print the candidates for the target, each with the command that shows only this candidate."""
    total = len(view.candidates)
    console.print(styled((f"{view.target} names {total} things:", "bold")))
    for candidate in view.candidates[:limit]:
        declared = "  declared" if candidate.declared else ""
        title = _title(candidate, (f"  {candidate.kind}{_made_by(candidate)}{declared}", "dim"))
        _with_places(console, title, [candidate.spot, *candidate.also], candidate.guards, locate)
    if total > limit:
        console.print(Text(f"  {total - limit} more: --limit 0 lists all", style="dim"))
    print_next(console, f"ptexplore show {next_target(view.candidates[0])}")
    console.print(Text("      --all shows all of them, --kind and --tree select some", style="dim"))


def next_target(candidate: Candidate) -> str:
    """Returns a target that names only this candidate, quoted for the shell."""
    ref = candidate.spot.ref
    if candidate.kind == "operator" or ref.path is None:
        return shlex.quote(candidate.name)
    if candidate.first is not None:
        last = f"-{candidate.last}" if candidate.last is not None else ""
        return shlex.quote(f"{ref.path}:{candidate.first}{last}")
    return shlex.quote(f"{ref.path}:{ref.line}" if ref.line else ref.path)
