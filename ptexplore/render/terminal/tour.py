"""Draw one stop of a tour: what it is and where, then its prose with the source beside it or under it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.padding import Padding
from rich.segment import Segment, Segments
from rich.table import Table
from rich.text import Text

from ptexplore.render.terminal.console import folded, precision
from ptexplore.render.terminal.highlight import highlighted
from ptexplore.render.terminal.prose import THEME, prose
from ptexplore.safe_text import clean
from ptexplore.view.notes.labs import lab_code, lab_facts, trace_command

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ptexplore.annotations.records import Lab, Tour
    from ptexplore.view.notes.labs import LabResult
    from ptexplore.view.notes.tour import Excerpt, StopView

WIDE = 120  # columns from which the source stands beside the prose
TAB = 8
_OUTCOME = {"exact": "green", "moved": "cyan", "changed": "yellow", "unpinned": "yellow", "absent": "yellow"}
_LAB = {"passed": "green", "failed": "red", "untrusted": "yellow"}
_LONGEST = 100  # columns of prose that is not beside anything


def prose_width(console: Console) -> int:
    """How wide the prose is: a part of a wide terminal, all of a narrow one."""
    if console.is_terminal and console.width >= WIDE:
        return min(76, console.width * 42 // 100)
    return min(console.width, _LONGEST)


def stop_lines(console: Console, view: StopView, excerpt: Excerpt | None, *, reveal: bool) -> list[str]:
    """The whole stop as lines ready to print. `reveal` says whether labs tell what is expected of them."""
    with console.use_theme(THEME):
        beside = console.is_terminal and console.width >= WIDE
        width = prose_width(console)
        text = console.render_lines(
            _text(view, reveal=reveal), console.options.update(width=width, height=None), pad=beside
        )
        source = _source(console, excerpt)
        with console.capture() as captured:
            _header(console, view)
            if excerpt is not None and excerpt.cut:
                folded(console, Text(excerpt.cut, style="dim"), "  ", "    ")
            console.print()
            if beside:
                _columns(console, text, source, width)
            else:
                _rows(console, text)
                if source:
                    console.print()
                    console.print(Text("source", style="bold"))
                for line in source:
                    console.print(line, soft_wrap=True)
            _footer(console, view)
    return [line.rstrip() for line in captured.get().split("\n")[:-1]]


def source_height(console: Console, excerpt: Excerpt | None) -> int:
    """How many lines of the screen the source takes: long ones are folded."""
    return len(_source(console, excerpt))


def prose_height(console: Console, view: StopView) -> int:
    """How many lines the stop's prose takes: as much source can stand beside it."""
    with console.use_theme(THEME):
        options = console.options.update(width=prose_width(console), height=None)
        return len(console.render_lines(_text(view, reveal=False), options, pad=False))


# --- the parts ---


def _header(console: Console, view: StopView) -> None:
    title = Text(f"{view.number}/{view.total}  ", style="dim")
    title.append(clean(view.stop.title), style="not dim bold cyan")
    title.append(f"  {clean(view.name)}", style="dim")
    folded(console, title, "", "     ")
    one = view.resolved
    place = Text(view.outcome, style=_OUTCOME.get(one.outcome, "bold red"))
    if view.spot is not None:
        lines = f"{one.line}-{one.end_line}" if one.end_line > one.line else f"{one.line}"
        place.append(f"  {clean(one.path)}:{lines}  ", style="default not bold")
        place.append(clean(view.spot.tree.label), style="not bold magenta")
        place.append(" ").append_text(precision(view.spot.ref))
    else:
        place.append(f"  {clean(one.anchor.path)}  {clean(one.anchor.symbol)}", style="default not bold")
    folded(console, place, "  ", "    ")
    for fact in view.facts:
        folded(console, Text(clean(fact), style="yellow" if view.spot is None else "dim"), "  ", "    ")
    if view.url:
        folded(console, Text(f"to read it: {clean(view.url)}", style="dim"), "  ", "    ")


def _footer(console: Console, view: StopView) -> None:
    if view.see:
        console.print()
        folded(console, Text(f"see also: {clean(', '.join(map(_seen, view.see)))}", style="dim"), "", "  ")


def _seen(see: str) -> str:
    """A link as the command that follows it."""
    if see.startswith("op:"):
        return f"ptexplore op {see[3:]}"
    if see.startswith("src:"):
        path, _, symbol = see[4:].partition("::")
        return f"{symbol} in {path}"
    return f"ptexplore tour {see.replace('#', ' ')}"


def _text(view: StopView, *, reveal: bool) -> Group:
    ids = [stop.id for stop in view.tour.stops]

    def number(name: str) -> int | None:
        return ids.index(name) + 1 if name in ids else None

    parts: list[RenderableType] = []
    for at, part in enumerate(view.stop.parts):
        if at:
            parts.append(Text(""))
        parts.append(_lab(part.lab, reveal=reveal) if part.lab is not None else prose(part.text, number))
    return Group(*parts)


def intro_lines(console: Console, tour: Tour) -> list[str]:
    """The tour's title and introduction."""
    with console.use_theme(THEME), console.capture() as captured:
        folded(console, Text(clean(tour.title), style="bold cyan"), "", "  ")
        if tour.intro:
            options = console.options.update(width=min(console.width, _LONGEST), height=None)
            console.print()
            _rows(console, console.render_lines(prose(tour.intro), options, pad=False))
    return [line.rstrip() for line in captured.get().split("\n")[:-1]]


def _lab(lab: Lab, *, reveal: bool) -> RenderableType:
    code = list(map(clean, lab_code(lab)))
    first = len(code) - len(lab.run.strip().split("\n"))
    text = Text("\n".join(code[first:]), style="cyan", overflow="fold")
    facts = lab_facts(lab)
    if facts:
        text.append(f"\n({facts})", style="default dim")
    for line in expected(lab) if reveal else ():
        text.append(f"\n{line}", style="default dim")
    title = Text(f"lab {clean(lab.id)}", style="bold")
    if not first:
        return Group(title, Padding(text, (0, 0, 0, 2)))
    before = Text("\n".join(code[:first]), style="cyan", overflow="fold")
    return Group(title, Padding(before, (0, 0, 0, 2)), _pointed(text))


def _pointed(text: Text) -> Table:
    """What a lab is about, told apart from what only comes before it."""
    grid = Table.grid()
    grid.add_column(width=2)
    grid.add_column(overflow="fold")
    grid.add_row(Text(">", style="bold yellow"), text)
    return grid


def expected(lab: Lab) -> list[str]:
    """What must come of a lab, in lines."""
    lines = ["its trail holds, in this order:"] if lab.trail else []
    lines += [f"  {clean(kind)} {clean(name)}" for kind, name in lab.trail]
    return [*lines, f"its value is {clean(lab.value)}"] if lab.value is not None else lines


def lab_lines(console: Console, lab: Lab, result: LabResult) -> list[str]:
    """How a lab ended, what came of it, and the command that shows more."""
    with console.capture() as captured:
        title = Text(f"lab {lab.id}: {result.outcome}", style=_LAB[result.outcome])
        title.append(f" ({result.seconds:.1f} s)" if result.outcome != "untrusted" else "", style="dim")
        folded(console, title, "", "  ")
        if result.why:
            folded(console, Text(clean(result.why), style="yellow"), "  ", "    ")
        for line in expected(lab) if result.outcome == "passed" else ():
            folded(console, Text(line), "  ", "      ")
        command = trace_command(lab)
        if command is not None and result.outcome != "untrusted":
            folded(console, Text.assemble(("all of it: ", "dim"), (clean(command), "cyan")), "  ", "    ")
    return captured.get().split("\n")[:-1]


# --- source ---


def _source(console: Console, excerpt: Excerpt | None) -> list[Text]:
    if excerpt is None:
        return []
    beside = console.is_terminal and console.width >= WIDE
    width = console.width - prose_width(console) - 3 if beside else console.width
    colour = console.is_terminal and not console.no_color
    before, lines, after = (
        [clean(line.expandtabs(TAB)) for line in part] for part in (excerpt.before, excerpt.lines, excerpt.after)
    )
    shown: Iterable[str] = highlighted(lines, excerpt.language, before, after) if colour else lines
    digits = len(str(excerpt.first + len(lines)))
    out: list[Text] = []
    for number, (plain, line) in enumerate(zip(lines, shown, strict=True), excerpt.first):
        marked = excerpt.marked[0] <= number <= excerpt.marked[1]
        text = Text.from_ansi(line) if colour else Text(line)
        start = number == excerpt.marked[0]
        at = re.search(rf"\b{excerpt.token}\b", plain) if start and excerpt.token else None
        if at is not None:
            text.stylize("bold reverse", *at.span())
        gutter = Text(f"{'>' if marked else ' '}{number:>{digits}} ", style="bold yellow" if marked else "bright_black")
        pieces = _pieces(text, width - len(gutter)) if console.is_terminal else [text]
        out += [Text.assemble(gutter if not n else " " * len(gutter), piece) for n, piece in enumerate(pieces)]
        if at is not None and not colour and len(pieces) == 1:
            out.append(Text(" " * (len(gutter) + at.start()) + "^" * (at.end() - at.start())))
    return out


def _pieces(text: Text, room: int) -> Sequence[Text]:
    """A line folded to the room, the rest set in a little."""
    room = max(room, 8)
    plain, cuts, start = text.plain, [], 0
    while len(plain) - start > room - (2 if start else 0):
        end = start + room - (2 if start else 0)
        space = plain.rfind(" ", start, end) + 1
        start = space if space > start + room // 2 else end
        cuts.append(start)
    first, *rest = text.divide(cuts)
    return [first, *(Text.assemble("  ", piece) for piece in rest)]


# --- putting together ---


def _rows(console: Console, lines: Sequence[Sequence[Segment]]) -> None:
    for line in lines:
        console.print(Segments([*line, Segment.line()]), soft_wrap=True, end="")


def _columns(console: Console, text: Sequence[Sequence[Segment]], source: Sequence[Text], width: int) -> None:
    bar = Segment(" │ ", console.get_style("dim"))
    for at in range(max(len(text), len(source))):
        left = list(text[at]) if at < len(text) else [Segment(" " * width)]
        right = source[at].render(console, end="") if at < len(source) else ()
        console.print(Segments([*left, bar, *right, Segment.line()]), soft_wrap=True, end="")
