"""Prints a view that fits a screen, in columns or plain: shares as bars, names, facts, places."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from ptexplore.render.terminal.console import (
    PIPE_WIDTH,
    Locate,
    drawn,
    folded_within,
    guides,
    linked,
    place_text,
    print_command,
)
from ptexplore.safe_text import clean
from ptexplore.view.trace.page import IN_CALL, NextStep, ScreenRow, TraceView, percent
from ptexplore.view.trace.screen import MADE_INSIDE

WIDEST = 100  # columns of a row in a pipe, which has no width of its own
WIDE = 110  # columns; a wider terminal shows places in their own column
SHORTEST, SHORTEST_OF_NARROW = 14, 12  # columns of a place
SOURCE = 40  # columns that a line of your source needs at least.
COUNTS = ("ops", "calls")  # a narrow terminal leaves these columns out first.
_WORDS = 30  # columns; with fewer, facts are below their row.
NARROW = 92  # columns; a narrower terminal shows no bars
WIDE_LEVELS = 5  # levels; if a row is deeper, each level is one column wide, else two
BAR = 6  # columns
OWN = 6  # columns of a row's share without the rows inside it
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_GAP = "  "


def print_screen(console: Console, view: TraceView, locate: Locate, *, plain: bool) -> None:
    """Print the whole view: title and facts, the ending, the rows, what is left out, and the next commands."""
    width = WIDEST if console.width >= PIPE_WIDTH else console.width
    _header(console, view, locate, width)
    if width >= NARROW:  # a small terminal has no line to spare
        console.print()
    if plain:
        _print_plain(console, view)
    else:
        _Columns(console, view, locate, width).draw()
    _footer(console, view, width, plain=plain)


def _header(console: Console, view: TraceView, locate: Locate, width: int) -> None:
    title, facts = Text(clean(view.title), style="bold"), list(view.facts)
    if facts and cell_len(title.plain) + 3 + cell_len(facts[0]) <= width:
        title.append(f"   {clean(facts.pop(0))}", "not bold dim")
    folded_within(console, title, "", "  ", width)
    for fact in facts:
        folded_within(console, Text(clean(fact), style="dim"), "", "  ", width)
    for line in view.ending:
        indent = "  " * line.indent
        folded_within(console, drawn(line.spans, locate), indent, f"{indent}  ", width)
    for finding in view.findings:
        folded_within(console, Text(f"! {clean(finding)}", style="yellow"), "", "  ", width)


def _footer(console: Console, view: TraceView, width: int, *, plain: bool) -> None:
    if width >= NARROW:
        console.print()
    for sign, meaning in view.legend:
        explanation = f"{'places' if plain and sign == '~' else sign} {meaning}"
        folded_within(console, Text(explanation, style="dim"), "", "  ", width)
    for line in view.left_out:
        folded_within(console, Text(clean(line), style="dim"), "", "  ", width)
    steps = [*view.next_steps, *(NextStep(command, "read about it") for command in view.read)]
    label_width = max((len(step.shows or "next") for step in steps), default=0)
    for step in steps:
        print_step(console, step, f"{step.shows or 'next':<{label_width}}  ")


def print_step(console: Console, step: NextStep, label: str) -> None:
    """Print a next step after a label: a command as you type it, or a call in Python."""
    if step.in_python:
        console.print(Text.assemble((label, "dim"), (clean(step.command), "cyan")))
    else:
        print_command(console, step.command, label)


def print_legend(console: Console, signs: Iterable[tuple[str, str]]) -> None:
    """Print signs and words, each with its meaning."""
    rows = list(signs)
    size = max(cell_len(sign) for sign, _ in rows)
    for sign, means in rows:
        text = Text.assemble((f"{sign:<{size}}", "bold"), f"  {clean(means)}")
        folded_within(console, text, "", " " * (size + 2), min(console.width, WIDEST))


class _Columns:
    """The rows in columns: share, bar, name, cells, facts, place."""

    def __init__(self, console: Console, view: TraceView, locate: Locate, width: int) -> None:
        self.console = console
        self.view = view
        self.rows = [replace(row, place=None) for row in view.table] if view.places_in_names else view.table
        self.locate = locate
        self.width = width
        self.has_shares = any(row.share is not None for row in self.rows)
        self.has_own = any(row.own is not None for row in self.rows)
        self.headings = list(view.columns)
        self.left_out: list[str] = []
        self.cells = [
            max([len(heading), *(len(row.cells[n]) for row in self.rows if n < len(row.cells))])
            for n, heading in enumerate(view.columns)
        ]
        self.bar = BAR + 1 if width >= NARROW else 0
        if view.places_in_names:
            self._leave_out_counts(width)
        left = (7 + self.bar + OWN * self.has_own if self.has_shares else 2) + sum(size + 2 for size in self.cells)
        self.step = columns_of_a_level(self.rows, width)
        self.shortest = SHORTEST if width >= NARROW else SHORTEST_OF_NARROW
        self.guides = dict(zip(map(id, self.rows), guides(self.rows, self.step), strict=True))
        self.left = left
        longest = max((cell_len(self._named(row)) for row in self.rows if row.what or row.place), default=0)
        self.name = min(longest, max(24, (width - left) * (40 if self.has_own else 44) // 100))
        self.hanging = left + self.name + 2

    def _leave_out_counts(self, width: int) -> None:
        """Leave out columns of counts while the lines of your source have too little room."""
        for heading in COUNTS:
            if heading in self.headings and width - 2 - sum(size + 2 for size in self.cells) < SOURCE:
                at = self.headings.index(heading)
                self.left_out.append(self.headings.pop(at))
                del self.cells[at]
                self.rows = [replace(row, cells=(*row.cells[:at], *row.cells[at + 1 :])) for row in self.rows]

    def _named(self, row: ScreenRow) -> str:
        return self.guides[id(row)] + self._shown(row)

    def _shown(self, row: ScreenRow) -> str:
        """Returns a row's name. If it is too long for a line, outer functions of Python at its front are left out."""
        name, room = _name(row), self.width - self.left - cell_len(self.guides[id(row)])
        while cell_len(name) > room and MADE_INSIDE in name.removeprefix(f"…{MADE_INSIDE}"):
            name = f"…{MADE_INSIDE}{name.removeprefix(f'…{MADE_INSIDE}').partition(MADE_INSIDE)[2]}"
        return name

    def draw(self) -> None:
        """Draw the headings, then each row on one line, or on as many as it needs."""
        if self.has_shares or self.headings:
            cells = "".join(f"{name:>{size}}{_GAP}" for name, size in zip(self.headings, self.cells, strict=True))
            own = f"{'self':>{OWN}}" if self.has_own else ""
            share = f" {'share':>5}{own} {' ' * self.bar}" if self.has_shares else "  "
            heading = f"{share}{cells}{self.view.name:<{self.name}}"
            where = "where" if not self.view.places_in_names else ""
            room = self.width - len(heading) - 2 * len(_GAP) - len(where)
            details = self.view.told
            heading += f"{_GAP}{details:<{room}}{_GAP}{where}" if room >= len(details) else ""
            self._print(Text(heading.rstrip(), style="dim"))
        for row in self.rows:
            self._row(row)
        if self.left_out:
            names = " and ".join(reversed(self.left_out))
            self._print(Text(f"{names}: shown in a wider terminal", style="dim"))

    def _row(self, row: ScreenRow) -> None:
        out = Text("  ")
        if self.has_shares:
            out.append(f"{percent(row.share):>4}{f'{percent(row.own):>{OWN}}' if self.has_own else ''} ", "")
            out.append(f"{bar(row.own if self.has_own else row.share):<{self.bar}}" if self.bar else "", "cyan")
        for number, size in enumerate(self.cells):
            out.append(f"{row.cells[number] if number < len(row.cells) else '':>{size}}{_GAP}")
        style = "bold" if row.heading or row.is_operator else ""
        name = Text.assemble((self.guides[id(row)], "dim"), (self._shown(row), style))
        if cell_len(name.plain) > self.name:
            out.append_text(name)
            self._behind_a_long_name(row, out)
        else:
            out.append_text(name)
            out.append(" " * (self.hanging - out.cell_len))
            self._rest(row, out)
        for line in row.lines:
            start = self.hanging - self.name + self.step * row.level
            folded_within(self.console, drawn(line.spans, self.locate), " " * start, " " * (start + 2), self.width)

    def _behind_a_long_name(self, row: ScreenRow, out: Text) -> None:
        """Draw a row whose name is long: on one line if all of it fits, else the facts, or all but the name, below."""
        if not (row.what or row.place):
            self._print(out)
        elif row.place is None and self.width - self.hanging < _WORDS:
            self._print(out)
            self._under_it(row)
        elif out.cell_len + 2 <= self.width - self._least(row):
            self._rest(row, out.append(_GAP))
        elif row.what and row.place is not None and out.cell_len + 2 + cell_len(_file(row)) <= self.width:
            out.append(_GAP)
            room = self.width - out.cell_len
            self._print(self._right(out, self._place(row, room), room))
            self._under_it(row)
        else:
            self._print(out)
            self._rest(row, self._margin(row, self.hanging), is_further=True)

    def _least(self, row: ScreenRow) -> int:
        """Returns the number of columns that the text after a name needs at least."""
        place = min(cell_len(_file(row)), self.shortest) if row.place is not None else 0
        return min(30, cell_len(row.what)) + 2 + place

    def _rest(self, row: ScreenRow, out: Text, *, is_further: bool = False) -> None:
        """Draw the facts of a row, and its place at the right edge: side by side if both fit, else one below the other.

        `is_further` says that the row's name is on a line above, so that `out` is still blank.
        """
        room = self.width - out.cell_len
        what = Text(clean(row.what))
        if row.known is not None:  # the text begins with the status
            what.stylize("yellow" if row.known != "derived" else "cyan", 0, len(row.known))
        if row.place is None and room < min(_WORDS, what.cell_len):
            self._print(out)
            self._under_it(row)
            return
        if row.place is None or (row.is_closed and what.cell_len + 2 + cell_len(_file(row)) > room):
            lines = _wrapped(self.console, what, room)
            self._print(out + lines[0] if lines else out)
            for line in lines[1:]:
                self._print(self._margin(row, self.hanging) + line)
            return
        short = _file(row)
        if what.cell_len + 2 + cell_len(short) <= room:
            place = self._place(row, room - what.cell_len - 2 if what.plain else room)
            gap = room - what.cell_len - place.cell_len
            gap = min(gap, max(2, 42 - what.cell_len)) if self.width > WIDE else gap
            self._print(Text.assemble(out, what, " " * gap, place))
            return
        kept = room - what.cell_len - 2
        # In a narrow terminal a place is cut from the left, while the name of its file can still be known.
        if what.plain and self.width < NARROW and kept >= max(self.shortest, cell_len(short) * 3 // 4):
            place = self._place(row, cell_len(short))
            place = Text.assemble(("…", "dim"), place[what.cell_len + 3 - room :])
            self._print(Text.assemble(out, what, "  ", place))
            return
        if room < cell_len(short):  # the blanks before the place are room for it, too
            out.rstrip()
            out.append(_GAP if out.plain else "")
            room = self.width - out.cell_len
        if what.plain and room < cell_len(short):
            if not is_further:
                self._print(out)
            out, room = self._margin(row, self.hanging), self.width - self.hanging
        self._print(self._right(out, self._place(row, room), room))
        if what.plain:
            self._under_it(row)

    def _under_it(self, row: ScreenRow) -> None:
        """Draw the facts of a row below it, in the full width: a narrow column would break words."""
        start = self.hanging - self.name + self.step * row.level
        for line in _wrapped(self.console, Text(clean(row.what)), self.width - start):
            line.stylize("dim")
            self._print(self._margin(row, start) + line)

    def _margin(self, row: ScreenRow, columns: int) -> Text:
        """Returns the margin before a further line of a row: the guides that continue past it."""
        bars = self.guides[id(row)].replace("├", "│").replace("└", " ")
        return Text.assemble(
            " " * (self.hanging - self.name - 2), (f"{bars:<{columns - self.hanging + self.name + 2}}", "dim")
        )

    def _right(self, out: Text, place: Text, room: int) -> Text:
        return Text.assemble(out, " " * max(0, room - place.cell_len), place)

    def _place(self, row: ScreenRow, room: int) -> Text:
        """Returns a place in that many columns. Folders at the front of its path are dropped if they do not fit."""
        assert row.place is not None
        mark = f" {row.mark}" if row.mark else ""
        text = place_text(row.place, room - len(mark))
        if cell_len(text) > room - len(mark) >= self.shortest:  # the line number counts most
            text = f"…{text[len(text) + len(mark) - room + 1 :]}"
        style = linked(self.locate(row.place)) or ("yellow" if row.mark else "green")
        return Text.assemble((clean(text), style), (mark, "yellow"))

    def _print(self, text: Text) -> None:
        text.rstrip()
        text.truncate(self.width, overflow="ellipsis")  # a single name can be wider than the terminal
        self.console.print(text, soft_wrap=True)


def _file(row: ScreenRow) -> str:
    """Returns the shortest form of a row's place, with its mark."""
    return (place_text(row.place, 0) if row.place is not None else "") + (f" {row.mark}" if row.mark else "")


def _name(row: ScreenRow) -> str:
    times = f" ×{row.times}" if row.times > 1 else ""
    number = f"  [{row.hop}]" if row.lines else ""
    return f"{clean(row.name)}{times}{number}"


def columns_of_a_level(rows: Iterable[ScreenRow], width: int) -> int:
    """Returns the width of a level in this table, the same for all rows: two columns if there is room."""
    return 2 if width >= NARROW and max((row.level for row in rows), default=0) <= WIDE_LEVELS else 1


def _wrapped(console: Console, text: Text, room: int) -> list[Text]:
    return list(text.wrap(console, max(room, 20))) or [Text()]


def bar(share: float | None) -> str:
    """Returns a share as a bar of full and eighth blocks; empty for less than half an eighth."""
    eighths = round(min(1.0, share or 0.0) * BAR * 8)
    full, part = divmod(eighths, 8)
    return "█" * full + (_EIGHTHS[part] if part else "")


def _print_plain(console: Console, view: TraceView) -> None:
    """Print the rows as sentences: level, name, facts, cost, place, certainty. Nothing is shown by looks alone."""
    of = "time" if {"time", IN_CALL} & {*view.columns} else "instructions"
    for row in view.table:
        parts = [f"level {row.level + 1}: {clean(row.name)}{f', {row.times} times' if row.times > 1 else ''}"]
        parts += [clean(row.what)] if row.what else []
        parts += [f"{percent(row.share)} of the {of}"] if row.share is not None else []
        parts += [f"{percent(row.own)} not in any row inside"] if row.own is not None else []
        parts += [f"{name} {cell}" for name, cell in zip(view.columns, row.cells, strict=False) if cell]
        if row.place is not None:
            sure = {"~": ", found by name in another version", "?": ", not certain"}.get(row.mark, "")
            parts.append(f"at {place_text(row.place, 200)}{sure}")
        console.print(Text("; ".join(parts)), soft_wrap=True)
        for line in row.lines:
            console.print(drawn(line.spans), soft_wrap=True)
