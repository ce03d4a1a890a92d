"""A trace as a tree of rows, like `trace` in the terminal. Each row opens the source at its line."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static, Tree
from textual.worker import Worker

from ptexplore.model.trace import walk
from ptexplore.safe_text import clean
from ptexplore.tui.key_line import KeyLine
from ptexplore.tui.messages import GoBack, OpenPlace, StepCall, message_for
from ptexplore.tui.open_file import OpenFile
from ptexplore.tui.places import TRACE, Place
from ptexplore.tui.widgets.colours import cut_to, label
from ptexplore.tui.widgets.source import SourceView
from ptexplore.view.line import Span, place_spans
from ptexplore.view.opening import first_to_open, in_words, permalink_of_place
from ptexplore.view.trace.columns import in_a_sentence
from ptexplore.view.trace.page import VIEW_NAMES, Options, ScreenRow, TraceRow, TraceView, ViewName, percent
from ptexplore.view.trace.views import available, stepped_by, suited, view

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.style import Style
    from textual.app import ComposeResult
    from textual.widgets.tree import TreeNode

    from ptexplore.capture.allowed import AllowedRun
    from ptexplore.model.places import SourceRef
    from ptexplore.model.trace import Session, Trace
    from ptexplore.tui.library import Library

_SIGN = 4  # columns of a node's fold sign and of the edge
WIDE = 120  # columns; a narrower screen shows only the rows
KEPT = 8  # files that are kept open
_LEAST = ("quit", "last_trace", "fetch", "palette", "full", "step", "leave")  # keys that the last line drops first
LEVELS = 200  # levels of nested nodes at most: Textual draws them by recursion
OPENED = 1500  # rows that are unfolded at once; rows inside them wait until the reader unfolds them


@dataclass(frozen=True)
class Node:
    """A line of the tree: a hop with everything inside it, or a further place or reason of a hop.

    `places` are the places that the line names, the first to open first. `spans` are its text. `row` is the row of the
    view, if the line is one. `reason` is the text of a line without a place.
    """

    places: Sequence[SourceRef]
    spans: Sequence[Span] = ()
    row: TraceRow | ScreenRow | None = None
    reason: str = ""

    @property
    def heading(self) -> str:
        """The row in words: name, kind, status, number."""
        row = self.row
        if row is None:
            return ""
        if isinstance(row, TraceRow):
            return f"{row.title}  {row.kind}, {row.status}  [{row.hop}]"
        number = f"  [{row.hop}]" if row.hop is not None else ""
        return f"{row.name}{f'  {row.what}' if row.what else ''}{number}"


class TraceTree(Tree[Node]):
    """The rows of one view of a trace. Enter opens, space folds. With `full`, it has every hop and reason."""

    DEFAULT_CSS = """
    TraceTree { height: 1fr; background: transparent; scrollbar-size-vertical: 1; scrollbar-size-horizontal: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", show=False),
        Binding("k", "cursor_up", show=False),
        Binding("l,right", "unfold", show=False),
        Binding("h,left", "fold", show=False),
        Binding("g", "scroll_home", show=False),
        Binding("G", "scroll_end", show=False),
        Binding("enter", "select_cursor", "Open", show=True),
        Binding("space", "toggle_node", "Fold", show=True),
    ]

    def __init__(self, trace: Trace, session: Session | None = None) -> None:
        super().__init__(Text(clean(trace.expression), style="bold"), id="trace")
        self.auto_expand = False
        self.guide_depth = 2
        self.trace = trace
        self.session = session
        self.shown: ViewName = suited(trace, Options())
        self.levels = LEVELS  # of nested nodes; the guides of more would fill the screen
        self._deepest = 0  # the deepest level of any row so far
        self._left = 0

    def on_mount(self) -> None:
        self.build(full=False)

    def build(self, *, full: bool) -> None:
        """Build the tree: with every hop, with the readable ones, or with the rows of another view."""
        self.full = full
        self.page = view(self.trace, Options(full=full, view="tree" if full else self.shown), self.session)
        self.levels, self._deepest = levels_for(self.app.size.width), 0
        self.clear()
        self._left = OPENED
        if self.page.view == "tree":
            self._add(self.root, self.page.rows)
        else:
            self._add_table(self.page)
        self.root.expand()

    def resized(self) -> bool:
        """Build a deep tree again, if the new width has room for more or fewer levels. Returns whether it did."""
        levels = levels_for(self.app.size.width)
        if self._deepest <= min(levels, self.levels):
            self.levels = levels
            return False
        if levels == self.levels:
            return False
        self.build(full=self.full)
        return True

    def _add_table(self, page: TraceView) -> None:
        """Add rows, each with a level, as nested nodes. If no row is inside another, their cells are columns."""
        around: list[tuple[int, TreeNode[Node]]] = []
        columns = _columns_of(page)
        if columns:
            head = (Span(f"{_in_columns(columns, tuple(heading for heading, _ in columns))}{page.name}", "dim"),)
            self.root.add_leaf(label(head), Node([], head))
        for row in page.table:
            while around and around[-1][0] >= row.level:
                around.pop()
            parent = around[-1][1] if around else self.root
            spans = tuple(_spans(row, page, columns))
            node = parent.add(label(spans), Node([row.place] if row.place else [], spans, row))
            node.allow_expand = bool(row.place is not None and row.place.candidates)
            self._add_candidates(node, row.place.candidates if row.place is not None else ())
            if parent is not self.root:
                parent.allow_expand = True
                parent.expand()
            around.append((row.level, node))

    def _add(self, parent: TreeNode[Node], rows: Iterable[TraceRow]) -> None:
        """Add rows and the rows inside them, while there is room. Rows that are too deep are put beside their parent.

        Those rows show their level. `depth` is the level of the node, `level` the level of the row.
        """
        first = _depth(parent)
        pending = [(parent, first, first, row) for row in rows][::-1]
        while pending:
            parent, depth, level, row = pending.pop()
            self._deepest = max(self._deepest, level)
            deep = [Span(f"⋯{level} ", "dim")] if level > self.levels else []
            beside = [Span("  "), *row.beside.spans] if row.beside is not None else []
            places = [line.ref for line in row.lines if line.ref is not None]
            spans = [*deep, *row.heading(counted=self.page.counted), *beside]
            node = parent.add(label(spans), Node(places, spans, row))
            node.allow_expand = bool(row.further or row.candidates or (row.children and depth < self.levels))
            self._left -= 1
            if self._left > 0 and node.allow_expand:
                self._fill_lines(node, row)
                node.expand()
            if depth >= self.levels:
                pending += [(parent, depth, level + 1, child) for child in reversed(row.children)]
            elif self._left > 0:
                pending += [(node, depth + 1, level + 1, child) for child in reversed(row.children)]

    def _fill(self, node: TreeNode[Node]) -> None:
        row = node.data.row if node.data is not None else None
        if not isinstance(row, TraceRow) or node.children:
            return
        self._fill_lines(node, row)
        if _depth(node) <= self.levels:
            self._add(node, row.children)

    def _fill_lines(self, node: TreeNode[Node], row: TraceRow) -> None:
        """Add the further lines of a row to its node."""
        for line in row.further:
            places = [line.ref] if line.ref is not None else []
            leaf = node.add_leaf(label(line.spans), Node(places, line.spans, reason="" if places else line.text))
            for ref in places:
                leaf.allow_expand = bool(ref.candidates)
                self._add_candidates(leaf, ref.candidates)
        self._add_candidates(node, row.candidates)

    def nodes(self) -> Iterator[TreeNode[Node]]:
        """Yields every node made so far, in order."""
        pending = [self.root]
        while pending:
            node = pending.pop()
            yield node
            pending += reversed(node.children)

    def _add_candidates(self, node: TreeNode[Node], candidates: Iterable[SourceRef]) -> None:
        for ref in candidates:
            spans = [Span("can be ", "dim"), *place_spans(ref)]
            node.add_leaf(label(spans), Node([ref], spans))

    def render_label(self, node: TreeNode[Node], base_style: Style, style: Style) -> Text:
        """Draw a row in the width of the tree. A path that is too long is cut to its end."""
        if node.data is not None and self.size.width:
            depth, above = 0, node
            while above.parent is not None:
                depth, above = depth + 1, above.parent
            room = self.size.width - depth * self.guide_depth - _SIGN
            node._label = label(cut_to(node.data.spans, room))
        return super().render_label(node, base_style, style)

    def on_tree_node_expanded(self, event: Tree.NodeExpanded[Node]) -> None:
        """Make the rows that waited inside the node."""
        self._left = OPENED
        self._fill(event.node)

    def action_unfold(self) -> None:
        """Unfold the node; if it is unfolded, go into it."""
        node = self.cursor_node
        if node is not None and node.allow_expand and not node.is_expanded:
            node.expand()
        else:
            self.action_cursor_down()

    def action_fold(self) -> None:
        """Fold the node; if it is folded, go to its parent."""
        node = self.cursor_node
        if node is not None and node.is_expanded and node is not self.root:
            node.collapse()
        else:
            self.action_cursor_parent()


def levels_for(width: int) -> int:
    """Returns how many levels fit a screen of that width: their guides take at most half of the tree's width."""
    tree = width // 2 if width >= WIDE else width
    return min(max(tree // 4, 6), LEVELS)


def _depth(node: TreeNode[Node]) -> int:
    """Returns the number of nodes around a node."""
    depth = 0
    while node.parent is not None:
        node, depth = node.parent, depth + 1
    return depth


_Columns = tuple[tuple[str, int], ...]  # headings with the widths of their columns


def _columns_of(page: TraceView) -> _Columns:
    """Returns the columns of a view; none if rows are inside others, because a tree indents these."""
    if any(row.level for row in page.table):
        return ()
    shares = [percent(row.share) for row in page.table]
    cells: list[tuple[str, list[str]]] = [("share", shares)] if any(shares) and page.columns else []
    cells += [(name, [row.cells[n] for row in page.table if n < len(row.cells)]) for n, name in enumerate(page.columns)]
    return tuple((name, max(len(name), *map(len, column))) for name, column in cells if any(column))


def _in_columns(columns: _Columns, cells: tuple[str, ...]) -> str:
    return "".join(f"{cell:>{size}}  " for (_, size), cell in zip(columns, cells, strict=True))


def _spans(row: ScreenRow, page: TraceView, columns: _Columns) -> Iterator[Span]:
    """Yields a row of a view that fits a screen, as spans: share, cells in columns, name, other cells, facts, place."""
    cells = dict(zip(page.columns, row.cells, strict=False))
    if columns:
        shown = {"share": percent(row.share), **cells}
        yield Span(_in_columns(columns, tuple(shown.get(heading, "") for heading, _ in columns)), "count")
    elif row.share is not None:
        own = f" {percent(row.own):>4} self " if row.own is not None else " "
        yield Span(f"{percent(row.share):>4}{own}", "count")
    times = f" ×{row.times}" if row.times > 1 else ""
    yield Span(f"{row.name}{times}", "title")
    beside = () if columns else tuple(in_a_sentence(heading, cell) for heading, cell in cells.items())
    facts = "  ".join(filter(None, (*beside, row.what)))
    if facts:
        yield Span(f"  {facts}", "note")
    if page.places_in_names:
        return
    if row.place is not None and row.place.path is not None:
        line = f":{row.place.line}" if row.place.line else ""
        yield Span("  ")
        yield Span(f"{row.place.path}{line}", "place", row.place)
    if row.place is not None and row.mark:
        several = f"  {len(row.place.candidates)} places possible" if row.place.path is None else ""
        yield Span(f"{several} {row.mark}", row.place.precision)


class TraceScreen(Screen[None]):
    """One trace: facts about the whole, one view of it, and the source of the row under the cursor.

    Opening a row leads to the reading screen; T leads back, with the cursor in its place. `v` changes the view. `N`
    runs the trace again and steps only the operator call under the cursor. `y` copies the permalink of its line.
    """

    DEFAULT_CSS = """
    TraceScreen > #above { height: auto; max-height: 20%; }
    TraceScreen > #above.raised { max-height: 55%; }
    TraceScreen #facts { height: auto; color: $text-muted; padding: 0 1; }
    TraceScreen > #row { height: auto; max-height: 6; padding: 0 1; border-top: solid $panel; }
    TraceScreen Horizontal { height: 1fr; }
    TraceScreen #trace { width: 1fr; }
    TraceScreen #beside { width: 1fr; border-left: solid $panel; }
    TraceScreen #beside > Static { height: 1; padding: 0 1; color: $text-muted; }
    """
    AUTO_FOCUS = "#trace"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Source"),
        Binding("v", "view", "View"),
        Binding("f", "full", "All hops"),
        Binding("N", "step", "Step call", key_display="N"),
        Binding("y", "permalink", "Permalink", show=False),
        Binding("ctrl+o,alt+left,backspace", "back", "Back", key_display="^o"),
    ]

    def __init__(
        self, library: Library, trace: Trace, session: Session | None = None, ran: AllowedRun | None = None
    ) -> None:
        super().__init__()
        self.ran = ran
        self._library = library
        self.trace = trace
        self.session = session
        self.went_back = False  # whether going back led here; then going back leads further back
        self.tree_of_hops = TraceTree(trace, session)
        self.source = SourceView()
        self._files: dict[tuple[str, str], OpenFile] = {}

    def compose(self) -> ComposeResult:
        # The text of an exception may need many lines: Tab goes to it, and the arrows scroll it.
        above = VerticalScroll(Static(id="facts"), id="above", classes="raised" if self.trace.ending else "")
        above.can_focus = self.trace.ending is not None
        yield above
        with Horizontal():
            yield self.tree_of_hops
            with Vertical(id="beside"):
                yield Static(id="where")
                yield self.source
        yield Static(id="row")
        yield KeyLine(_LEAST)

    def on_mount(self) -> None:
        self.query_one("#beside").display = False
        self._show_facts()

    def on_resize(self, event: events.Resize) -> None:
        """Show the source only beside wide trees, and fit the levels to the width."""
        del event
        node = self._node
        if self.tree_of_hops.resized() and node is not None and node.row is not None and node.row.hop is not None:
            self.call_after_refresh(self.go_to, node.row.hop)
        self._follow(self._node)

    @property
    def _node(self) -> Node | None:
        node = self.tree_of_hops.cursor_node
        return node.data if node is not None else None

    def _follow(self, node: Node | None) -> None:
        """Show the source of a row beside the tree, if its text is here and there is room."""
        beside = self.query_one("#beside")
        opening = first_to_open(node.places, self.trace, self._library.trees) if node is not None else None
        ref = opening.ref if opening is not None else None
        indexed = self._library.tree(ref.tree) if ref is not None else None
        if ref is None or indexed is None or ref.path is None or self.size.width < WIDE:
            beside.display = False
            return
        key = (ref.tree, ref.path)
        if key not in self._files:
            if len(self._files) >= KEPT:
                self._files.pop(next(iter(self._files)))
            self._files[key] = OpenFile(self._library, indexed, ref.path)
            indexed.tree.forget()
        file, line = self._files[key], ref.line or 1
        beside.display = True
        path, room = f"{ref.path}:{line}", max(self.size.width // 2 - 4, 8)
        shown = path if len(path) <= room else f"…{path[1 - room :]}"
        self.query_one("#where", Static).update(Content(clean(shown)))
        self.source.show(file, line, lit=(line, ref.end_line or line))
        if not file.parsed:
            self.run_worker(file.parse, thread=True, exclusive=True, group="colours")

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Draw the colours when they are ready."""
        if event.worker.group == "colours" and event.worker.is_finished:
            self.source.refresh()

    def _show_facts(self) -> None:
        page = self.tree_of_hops.page
        lines = ["".join(span.text for span in line.spans) for line in page.ending]
        parts = [(f"{clean(text)}\n", "$text-warning" if number == 0 else "") for number, text in enumerate(lines)]
        parts += [(f"{clean(text)}\n", "") for text in (*page.facts, *page.left_out)]
        parts += [(f"! {clean(text)}\n", "$text-warning") for text in page.findings]
        self.query_one("#facts", Static).update(Content.assemble(*parts).rstrip())

    def on_tree_node_highlighted(self, event: Tree.NodeHighlighted[Node]) -> None:
        """Show the whole text of a row, which may be wider than the screen."""
        node = event.node.data
        heading, lines = "", [self.trace.expression]
        self._follow(node)
        if node is not None:
            heading = f"{clean(node.heading)}\n" if node.row is not None else ""
            lines = [node.reason] if node.reason else [in_words(ref) for ref in node.places[:3]]
        self.query_one("#row", Static).update(Content.assemble((heading, "bold"), "\n".join(map(clean, lines))))

    def on_tree_node_selected(self, event: Tree.NodeSelected[Node]) -> None:
        """Open the first place of the row whose text is here. If there is none, say why."""
        event.stop()
        node = event.node.data
        if node is None or node.reason:
            return  # the root, or a reason: nothing to open
        opening = first_to_open(node.places, self.trace, self._library.trees)
        message = message_for(opening)
        if isinstance(message, OpenPlace):
            message.origin = Place("", "", TRACE)
        if message is not None:
            self.post_message(message)
        else:
            self._tell(opening.why)

    def go_to(self, hop: int) -> None:
        """Put the cursor on the row of a hop. If it has no row, use the innermost row around it."""
        around: dict[int, int] = {child.id: parent.id for parent in walk(self.trace.hops) for child in parent.children}
        nodes = (node for node in self.tree_of_hops.nodes() if node.data and node.data.row)
        rows = {node.data.row.hop: node for node in nodes if node.data and node.data.row}
        at: int | None = hop
        while at is not None and at not in rows:
            at = around.get(at)
        if at is not None:
            self.tree_of_hops.move_cursor(rows[at])
            self.tree_of_hops.scroll_to_node(rows[at], animate=False)

    def action_full(self) -> None:
        """Switch between every hop and the readable ones."""
        self.tree_of_hops.build(full=not self.tree_of_hops.full)
        self._show_facts()

    def action_view(self) -> None:
        """Show the next view of the trace, with the cursor on the same hop if it has a row."""
        node = self._node
        names = [name for name in VIEW_NAMES if name in available(self.trace)]
        tree = self.tree_of_hops
        tree.shown = names[(names.index(tree.shown) + 1) % len(names)]
        tree.build(full=False)
        self._show_facts()
        if node is not None and node.row is not None and node.row.hop is not None:
            self.go_to(node.row.hop)

    def action_step(self) -> None:
        """Run the trace again and step only the operator call under the cursor."""
        name = stepped_by(self.trace, self._node.row.hop if self._node is not None and self._node.row else None)
        if name is None:
            self._tell("N steps an operator call: put the cursor on its row, or on a row inside it")
        elif self.session is None:
            self._tell(f"the command of this trace is not known: ptexplore trace … --native-op {shlex.quote(name)}")
        elif self.ran is None:  # code from a file never runs by a key
            step = f"--rerun --native-op {shlex.quote(name)}"
            self._tell(f"this trace was not made here: ptexplore trace --load FILE {step} shows the code and asks")
        else:
            self.post_message(StepCall(self.ran, name))

    def action_permalink(self) -> None:
        """Copy the address of the row's line in PyTorch's repository. The address is also shown, with a remark."""
        places = self._node.places if self._node is not None else ()
        url, remark = permalink_of_place(next(iter(places), None), self.trace, self._library.trees)
        if url is None:
            self._tell(remark)
            return
        self.app.copy_to_clipboard(url)
        shown = f"{url}\n{remark}" if remark else url
        self.app.notify(clean(shown), title="copied, if the terminal can copy", timeout=12, markup=False)

    def _tell(self, text: str) -> None:
        self.query_one("#row", Static).update(Content.styled(clean(text), "$text-warning"))

    def action_leave(self) -> None:
        """Go back to the source."""
        self.app.pop_screen()

    def action_back(self) -> None:
        """Go back: to the source below, or further, if going back led here."""
        self.app.pop_screen()
        if self.went_back:
            self.app.post_message(GoBack(Place("", "", TRACE)))
