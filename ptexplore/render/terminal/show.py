"""Print the pages of `show`: a header that says what and where, then the source with its line numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Console
from rich.text import Text

from ptexplore.render.terminal.console import folded, precision
from ptexplore.render.terminal.highlight import highlighted
from ptexplore.render.terminal.marks import print_marks
from ptexplore.render.terminal.places import LocateIn, where
from ptexplore.safe_text import clean
from ptexplore.view.search.show import Candidate, Page, ShowView

TAB = 8  # columns


def page_lines(console: Console, pages: Iterable[Page], locate: LocateIn | None) -> Iterator[str]:
    """Every page as lines ready to print, coloured where the console is."""
    colour = console.is_terminal and not console.no_color
    for number, page in enumerate(pages):
        if number:
            yield ""
        with console.capture() as captured:
            _header(console, page, locate)
        yield from captured.get().split("\n")[:-1]
        yield from _body(page, colour=colour)
        if page.marks:
            with console.capture() as captured:
                print_marks(console, page.marks, "\nnotes")
            yield from captured.get().split("\n")[:-1]
        if page.kernels:
            with console.capture() as captured:
                _kernels(console, page)
            yield from captured.get().split("\n")[:-1]


def _header(console: Console, page: Page, locate: LocateIn | None) -> None:
    one = page.candidate
    title = Text(clean(one.name), style="bold cyan")
    detail = one.detail if one.symbol is not None else ""
    title.append(clean(detail), style="")
    title.append(f"  {one.kind}", style="dim")
    folded(console, title, "", "    ")
    place = where(page.spot, locate)
    if page.lines:
        last = page.first + len(page.lines) - 1
        place.append(f"  lines {page.first}-{last}" if last > page.first else f"  line {last}", style="dim")
    if page.spot.ref.layer:
        place.append(f", {page.spot.ref.layer} layer", style="dim")
    folded(console, place, "", "    ")
    if one.kind == "operator":
        folded(console, Text(clean(one.detail)), "", "    ")
    for fact in page.facts:
        folded(console, Text(clean(fact), style="yellow"), "", "    ")
    if page.lines:
        console.print()


def _body(page: Page, *, colour: bool) -> Iterator[str]:
    before, lines, after = (
        [clean(line.expandtabs(TAB)) for line in part] for part in (page.before, page.lines, page.after)
    )
    width = len(str(page.first + len(lines)))
    shown = highlighted(lines, page.language, before, after) if colour else iter(lines)
    noted = {mark.line for mark in page.marks}
    for number, line in enumerate(shown, page.first):
        sign = ">" if number == page.mark else " "
        note = "*" if number in noted else " "
        gutter = f"{sign}{number:>{width}}{note}"
        if colour:
            style = "1;33" if number == page.mark else "1;36" if number in noted else "90"
            gutter = f"\x1b[{style}m{gutter}\x1b[0m"
        yield f"{gutter} {line}".rstrip()


def _kernels(console: Console, page: Page) -> None:
    console.print(Text("\nwhat each dispatch key runs", style="bold"))
    for kernel in page.kernels:
        indent = "  " * (kernel.depth + 1)
        title = Text(overflow="fold")
        if kernel.keys:
            title.append(f"{clean(', '.join(kernel.keys))}  ", style="bold")
        title.append(("→ " if kernel.depth else "") + clean(kernel.name))
        folded(console, title, indent, indent + "  ")
        ref = kernel.ref
        place = Text(clean(f"{ref.path}:{ref.line}" if ref.line else ref.path or ""))
        place.append(f"  {clean(ref.tree)} " if ref.path else "", style="magenta")
        place.append_text(precision(ref))
        if ref.reason:
            place.append(f" ({clean(ref.reason)})", style="dim")
        folded(console, place, indent + "  ", indent + "    ")


def print_candidates(console: Console, view: ShowView, locate: LocateIn, limit: int) -> None:
    """What the target may mean, each with the command that shows it alone."""
    total = len(view.candidates)
    console.print(Text(f"{clean(view.target)} names {total} things:", style="bold"))
    shown = view.candidates[:limit]
    for one in shown:
        _candidate(console, one, locate)
    if total > limit:
        console.print(Text(f"  {total - limit} more: --limit 0 lists all", style="dim"))
    console.print(Text.assemble(("next: ", "dim"), (f"ptexplore show {next_target(shown[0])}", "cyan")))
    console.print(Text("      --all shows them all, --kind and --tree choose among them", style="dim"))


def next_target(one: Candidate) -> str:
    """A target that names this candidate alone, as the shell takes it."""
    import shlex

    ref = one.spot.ref
    if one.kind == "operator" or ref.path is None:
        return shlex.quote(one.name)
    if one.first is not None:
        return shlex.quote(f"{ref.path}:{one.first}" + (f"-{one.last}" if one.last is not None else ""))
    return shlex.quote(f"{ref.path}:{ref.line}" if ref.line else ref.path)


def _candidate(console: Console, one: Candidate, locate: LocateIn | None) -> None:
    title = Text(overflow="fold")
    title.append(clean(one.name), style="bold cyan")
    detail = one.detail[one.detail.find("(") :] if one.kind == "operator" and "(" in one.detail else one.detail
    title.append(clean(detail if detail.startswith("(") else f"  {detail}" if detail else ""))
    title.append(f"  {one.kind}", style="dim")
    if one.symbol is not None and one.symbol.macro:
        title.append(f"  by {clean(one.symbol.macro)}", style="dim")
    if one.symbol is not None and one.symbol.role == "declaration":
        title.append("  declared", style="dim")
    folded(console, title, "  ", "    ")
    folded(console, where(one.spot, locate), "    ", "      ")
    for guard in one.symbol.guards if one.symbol is not None else ():
        folded(console, Text(f"#if {clean(guard)}", style="dim"), "    ", "      ")
    for other in one.also:
        folded(console, where(other), "    ", "      ")
