"""The source of one file. Only the lines on the screen are drawn. The cursor moves over lines and names."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from ptexplore.tui.messages import Left, Moved, OpenDefinition, OpenUses, Tell
from ptexplore.tui.open_file import FileSearch, OpenFile
from ptexplore.tui.places import Place
from ptexplore.tui.widgets import colours
from ptexplore.tui.widgets.folding import INSET, Folding

_MARGIN = 3  # lines that stay visible above and below the cursor
_WIDE_MARGIN = 8  # columns
NO_NAME = "no name at or after the cursor on this line"
A_WORD = "this is a word in a comment or string, not a name: ctrl+p searches for it"
_MORE = "›"  # the line continues to the right


class SourceView(ScrollView, can_focus=True):
    """A file and a cursor in it. `place` is the cursor's place; None before a file is shown."""

    DEFAULT_CSS = """
    SourceView { scrollbar-size-horizontal: 0; scrollbar-size-vertical: 1; scrollbar-gutter: stable; overflow-x: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "definition", "Go to"),
        Binding("r", "uses", "Uses"),
        Binding("n", "note(1)", "To a stop"),
        Binding("right,l", "word(1)", "Name", key_display="← →"),
        Binding("p,N", "note(-1)", "Previous note", show=False),
        Binding("down,j", "line(1)", show=False),
        Binding("up,k", "line(-1)", show=False),
        Binding("left,h", "word(-1)", show=False),
        Binding("w", "wrap", show=False),
        Binding("ctrl+d", "screen(0.5)", show=False),
        Binding("ctrl+u", "screen(-0.5)", show=False),
        Binding("pagedown,ctrl+f,space", "screen(1)", show=False),
        Binding("pageup,ctrl+b", "screen(-1)", show=False),
        Binding("home,0,^", "edge(-1)", show=False),
        Binding("end,$", "edge(1)", show=False),
        Binding("ctrl+home", "first", show=False),
        Binding("G,ctrl+end", "last", show=False),
        Binding("right_square_bracket,}", "symbol(1)", show=False),
        Binding("left_square_bracket,{", "symbol(-1)", show=False),
        Binding("full_stop", "found(1)", show=False),
        Binding("comma", "found(-1)", show=False),
        Binding("g", "chord", show=False),
    ]

    def __init__(self) -> None:
        super().__init__(id="source")
        self.file: OpenFile | None = None
        self.line = 1
        self.column = 0
        self.finding = FileSearch()
        self._lit: tuple[int, int] | None = None  # the lines that a note or a stop is about
        self._chord = False
        self._placed = False
        self._wraps = False
        self._folding = Folding((), None)

    # --- the shown file ---

    @property
    def place(self) -> Place | None:
        """The cursor's place."""
        if self.file is None:
            return None
        top, _part = self._folding.at(self.scroll_offset.y)
        return Place(self.file.indexed.tree.info.name, self.file.path, self.line, self.column, top)

    def show(
        self, file: OpenFile, line: int, column: int = 0, lit: tuple[int, int] | None = None, top: int = 0
    ) -> None:
        """Show a file, the cursor at a line. `lit` are lines to highlight, `top` is the first line on the screen."""
        if self.file is not None and self.file is not file:
            self.file.rest()
        self.file = file
        self._lit = lit
        self._fold()
        self.line = max(1, min(line, len(file.raw)))
        self.column = column or file.landing(self.line)
        if top:
            self.scroll_to(0, self._folding.first(top), animate=False, immediate=True, force=True)
        else:
            self._aim()
            self.scroll_to(x=0, animate=False, immediate=True, force=True)
        self._keep_in_view()
        self.refresh()
        self._moved()

    def _fold(self) -> None:
        """Lay out the lines again, for another file or another width."""
        if self.file is not None:
            room = max(self._wide - self._gutter, 1) if self._wraps and self._wide else None
            self._folding = Folding(self.file.raw, room)
            self.virtual_size = Size(0 if room is not None else self.file.widest + self._gutter + 1, self._folding.rows)

    def action_wrap(self) -> None:
        """Switch between folding long lines and cutting them at the right edge."""
        self._wraps = not self._wraps
        self._fold()
        self._aim()
        self._keep_in_view()
        self.refresh()
        message = (
            "long lines are folded: w cuts them at the edge"
            if self._wraps
            else "long lines are cut at the edge: w folds them"
        )
        self.post_message(Tell(message))

    def unlight(self) -> None:
        """Remove the highlight of lines."""
        self._lit = None
        self.refresh()

    @property
    def _wide(self) -> int:
        """The number of visible columns: the scroll bar is in the last one."""
        return self.scrollable_content_region.width

    @property
    def _gutter(self) -> int:
        """The width of the line numbers, with the note marks before them and a space after them."""
        return len(str(len(self.file.raw) if self.file is not None else 0)) + 3

    def render_line(self, y: int) -> Strip:
        """Draw one line of the screen: note mark and number, then the text from the first visible column on."""
        file, width, dark = self.file, self.size.width, self.app.current_theme.dark
        number, part = self._folding.at(self.scroll_offset.y + y)
        base = colours.part("base", dark=dark)
        if file is None or number > len(file.raw):
            return Strip.blank(width, base)
        current = number == self.line
        if current:
            base += colours.part("here", dark=dark)
        elif self._lit is not None and self._lit[0] <= number <= self._lit[1]:
            base += colours.part("span", dark=dark)
        left, room = self.scroll_offset.x, max(self._wide - self._gutter, 1)
        if self._wraps:
            left, end = self._folding.span(number, part)
            room = end - left
        notes = file.notes.get(number, 0) if not part else 0
        mark = " ●"[notes] if notes < 2 else str(min(notes, 9))
        shown = f"{number:>{self._gutter - 2}} " if not part else " " * (self._gutter - 1 + INSET)
        coloured = self._coloured(file, number, left, room, base).render(self.app.console)
        segments = [
            Segment(mark, colours.part("mark", dark=dark)),
            Segment(shown, colours.part("number-here" if current else "number", dark=dark)),
            *(Segment(text, style or base) for text, style, _ in coloured),  # a line without colours has no style
        ]
        line = Strip(segments).adjust_cell_length(width, base)
        if not self._wraps and file.length(number) > left + room:
            line = Strip.join([line.crop(0, self._wide - 1), Strip([Segment(_MORE, base + Style(bold=True))])])
        return line

    def _coloured(self, file: OpenFile, number: int, left: int, room: int, base: Style) -> Text:
        """Returns the visible columns of a line, with the colours of words, matches, and the name at the cursor."""
        dark = self.app.current_theme.dark
        spans = [(begin, end, colours.word(kind, dark=dark)) for begin, end, kind in file.spans(number)]
        lit = colours.part("found", dark=dark)
        spans += [(begin, end, lit) for begin, end in self.finding.on_line(file, number)]
        word = file.word(number, self.column) if number == self.line else None
        if word is not None:
            begin, end = word if word[0] <= self.column else (self.column, self.column + 1)
            spans.append((begin, end, colours.part("word", dark=dark)))
        text = Text(file.line(number, left, left + room), base, end="")
        for begin, end, style in spans:
            text.stylize(style, max(begin - left, 0), max(end - left, 0))
        return text

    # --- the cursor ---

    def move(self, line: int, column: int | None = None, *, far: bool = False, seen: bool = False) -> None:
        """Move the cursor to a line in the file and a column.

        `far` scrolls so that the following lines are visible; `seen` does not scroll at all.
        """
        if self.file is None:
            return
        before = self.place
        left, self.line = self.line, max(1, min(line, len(self.file.raw)))
        if column is not None:
            self.column = max(0, column)
        elif left != self.line:
            self.column = self._same_column()
        if far:
            self._aim()
        if not seen:
            self._keep_in_view()
        for line in (left, self.line):
            self.refresh_lines(self._folding.first(line), self._folding.count(line))
        if before != self.place:
            self._moved()

    def _same_column(self) -> int:
        """Returns the column of the name at or after the cursor's column; in a shorter line, of the last name."""
        assert self.file is not None
        word = self.file.word(self.line, self.column)
        if word is not None:
            return max(word[0], min(self.column, word[1] - 1))
        words = self.file.words(self.line)
        return words[-1] if words else 0

    def _aim(self) -> None:
        """Scroll to a line that was out of sight. More lines after it are visible than before it."""
        at = self._folding.first(self.line)
        top = max(0, at - self.size.height // 3)
        row = at + 1 - self.scroll_offset.y
        if not _MARGIN < row <= self.size.height - _MARGIN:
            # With force: without it, a widget without a layout cannot be scrolled.
            self.scroll_to(y=top, animate=False, immediate=True, force=True)

    def _keep_in_view(self) -> None:
        assert self.file is not None
        height = self.size.height
        if not height:
            return  # it is shown in a moment, and on_resize has the size
        margin = min(_MARGIN, max(0, (height - 1) // 2))
        top = self.scroll_offset.y
        row = self._folding.first(self.line) + self._folding.part(self.line, self.column)
        top = min(top, max(0, row - margin))
        top = max(top, row + 1 - height + margin)
        width = self._wide  # 0 before the first layout
        room = max(width - self._gutter - 1, 1)
        left = self.scroll_offset.x
        margin = min(_WIDE_MARGIN, room // 3)
        word = self.file.word(self.line, self.column)
        end = word[1] if word is not None else self.column + 1
        if end + margin <= room or not width or self._wraps:
            left = 0  # the indentation matters more than text further right
        elif self.column < left or end > left + room:
            left = max(0, min(self.column - margin, end + margin - room))
        if (left, top) != (self.scroll_offset.x, self.scroll_offset.y):
            self.scroll_to(left, max(0, top), animate=False, immediate=True, force=True)

    def _moved(self) -> None:
        if (place := self.place) is not None:
            self.post_message(Moved(place))

    def action_line(self, step: int) -> None:
        """Move up or down."""
        self.move(self.line + step)

    def action_screen(self, share: float) -> None:
        """Move half a screen or a whole one."""
        if self.file is None:
            return
        step = int((self.size.height - 1) * share)
        self.scroll_to(y=self.scroll_offset.y + step, animate=False, immediate=True)
        row = self._folding.first(self.line) + step
        self.move(self._folding.at(max(0, min(row, self._folding.rows - 1)))[0])

    def action_word(self, step: int) -> None:
        """Move to the next name, or the one before; past the end of a line, to the next line with a name."""
        if self.file is None:
            return
        words = self.file.words(self.line)
        beside = [c for c in words if c > self.column] if step > 0 else [c for c in words if c < self.column][::-1]
        line = self.line
        while not beside:
            line += step
            if not 1 <= line <= len(self.file.raw):
                return
            beside = self.file.words(line)[::step]
        self.move(line, beside[0])

    def action_edge(self, side: int) -> None:
        """Move to the start or the end of the line."""
        if self.file is not None:
            words = self.file.words(self.line) or [0]
            self.move(self.line, words[0] if side < 0 else max(words[-1], self.file.length(self.line) - 1))
            if side < 0:
                self.scroll_to(x=0, animate=False, immediate=True)

    def action_first(self) -> None:
        """Move to the first line."""
        self.move(1, far=True)

    def action_last(self) -> None:
        """Move to the last line."""
        self.move(len(self.file.raw) if self.file is not None else 1, far=True)

    def action_symbol(self, step: int) -> None:
        """Move to the next definition, or the one before."""
        line = self.file.beside(self.line, step) if self.file is not None else None
        if self.file is None or line is None:
            self.post_message(Tell("no further definition in this file"))
        else:
            self.move(line, self.file.landing(line), far=True)

    # --- notes, searching, names ---

    def action_note(self, step: int) -> None:
        """Move to the next line with a note, or the one before; it wraps around at the end of the file."""
        lines = sorted(self.file.notes) if self.file is not None else []
        if not lines:
            self.post_message(Tell(self.file.noteless if self.file is not None else "no file is open"))
            return
        beside = [n for n in lines if n > self.line] if step > 0 else [n for n in lines if n < self.line][::-1]
        if self.place is not None:
            self.post_message(Left(self.place))
        self.move(beside[0] if beside else lines[0 if step > 0 else -1], far=True)

    def action_found(self, step: int) -> None:
        """Move to the next match of the search."""
        if self.file is None:
            return
        place = self.finding.beside(self.file, self.line, self.column, step)
        if place is None:
            text = self.finding.text
            self.post_message(Tell(f"{text!r} is not in this file" if text else "/ finds"))
        else:
            self.move(*place, far=True)
        self.refresh()

    def _meant(self) -> str | None:
        """Returns the name under the cursor; for a symbol's own name, the full qualified name."""
        return self.file.meant(self.line, self.column) if self.file is not None else None

    def action_definition(self) -> None:
        """Ask for the definition of the name under the cursor."""
        name, place = self._meant(), self.place
        self.post_message(OpenDefinition(name, place) if name and place is not None else Tell(self._nameless()))

    def action_uses(self) -> None:
        """Ask for the uses of the name under the cursor."""
        name = self._meant()
        self.post_message(OpenUses(name) if name else Tell(self._nameless()))

    def _nameless(self) -> str:
        """Returns the reason why there is no name under the cursor."""
        return A_WORD if self.file is not None and self.file.is_prose(self.line, self.column) else NO_NAME

    # --- keys of two, and the mouse ---

    def action_chord(self) -> None:
        """Begin a key of two letters: gg, gd, gr, ge."""
        self._chord = True

    def on_key(self, event: events.Key) -> None:
        """Handle the second letter of a key."""
        if not self._chord:
            return
        self._chord = False
        event.stop()
        event.prevent_default()
        actions = {
            "g": self.action_first,
            "d": self.action_definition,
            "r": self.action_uses,
            "e": self.action_last,
        }
        if event.key in actions:
            actions[event.key]()

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the mouse. A double click opens the definition."""
        if self.file is None:
            return
        at = event.offset + self.scroll_offset
        line, part = self._folding.at(at.y)
        column = at.x - self._gutter
        if self._wraps and line <= len(self.file.raw):
            column += self._folding.span(line, part)[0] - (INSET if part else 0)
        self.move(line, column, seen=True)  # the second click must hit the same text
        if event.chain == 2 or event.ctrl:
            self.action_definition()

    def on_resize(self) -> None:
        """Keep the cursor visible."""
        if self.file is not None:
            if self._wraps:
                self._fold()
            if not self._placed:
                self._aim()  # the file was shown before the first layout
            self._placed = True
            self._keep_in_view()
