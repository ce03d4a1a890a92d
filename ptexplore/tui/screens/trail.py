"""What ran, as a tree to walk: the rows of the terminal's `trace`; each opens the source at its line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Footer, Static, Tree

from ptexplore.model.trace import walk
from ptexplore.safe_text import clean
from ptexplore.tui.messages import OpenPlace, message_for
from ptexplore.tui.places import TRAIL, Place
from ptexplore.tui.widgets.colours import cut_to, label
from ptexplore.view.line import Span, place_spans
from ptexplore.view.opening import first_to_open, in_words
from ptexplore.view.trace.page import Options, TraceRow
from ptexplore.view.trace.views import view

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.style import Style
    from textual.app import ComposeResult
    from textual.widgets.tree import TreeNode

    from ptexplore.model.places import SourceRef
    from ptexplore.model.trace import Trail
    from ptexplore.tui.library import Library

_SIGN = 4  # columns of the sign of a node that folds, and of the edge
OPENED = 1500  # rows that are unfolded at once; those inside them wait until they are asked for


@dataclass(frozen=True)
class Node:
    """What a line of the tree is: a hop with all inside it, or one more place or reason of one.

    `places` are those that it names, the first to open first; `spans` are its text.
    """

    places: Sequence[SourceRef]
    spans: Sequence[Span] = ()
    row: TraceRow | None = None
    reason: str = ""


class TrailTree(Tree[Node]):
    """The rows of one Trail. Enter opens, space folds; `full` says whether it has every hop with every reason."""

    DEFAULT_CSS = """
    TrailTree { height: 1fr; background: transparent; scrollbar-size-vertical: 1; scrollbar-size-horizontal: 1; }
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

    def __init__(self, trail: Trail) -> None:
        super().__init__(Text(clean(trail.expression), style="bold"), id="trail")
        self.auto_expand = False
        self.guide_depth = 2
        self.trail = trail
        self._left = 0

    def on_mount(self) -> None:
        self.build(full=False)

    def build(self, *, full: bool) -> None:
        """Every hop, or the readable ones."""
        self.full = full
        self.page = view(self.trail, Options(full=full, view="tree"))
        self.clear()
        self._left = OPENED
        self._add(self.root, self.page.rows)
        self.root.expand()

    def _add(self, parent: TreeNode[Node], rows: Iterable[TraceRow]) -> None:
        for row in rows:
            beside = [Span("  "), *row.beside.spans] if row.beside is not None else []
            places = [line.ref for line in row.lines if line.ref is not None]
            spans = [*row.heading(counted=self.page.counted), *beside]
            node = parent.add(label(spans), Node(places, spans, row))
            node.allow_expand = bool(row.children or row.further or row.candidates)
            self._left -= 1
            if self._left > 0 and node.allow_expand:
                self._fill(node)
                node.expand()

    def _fill(self, node: TreeNode[Node]) -> None:
        row = node.data.row if node.data is not None else None
        if row is None or node.children:
            return
        for line in row.further:
            places = [line.ref] if line.ref is not None else []
            leaf = node.add_leaf(label(line.spans), Node(places, line.spans, reason="" if places else line.text))
            for ref in places:
                leaf.allow_expand = bool(ref.candidates)
                self._add_candidates(leaf, ref.candidates)
        self._add_candidates(node, row.candidates)
        self._add(node, row.children)

    def nodes(self) -> Iterator[TreeNode[Node]]:
        """Every node that was made, in order."""
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
        """The row as wide as the tree is: of a path that is too long its end is shown."""
        if node.data is not None and self.size.width:
            depth, above = 0, node
            while above.parent is not None:
                depth, above = depth + 1, above.parent
            room = self.size.width - depth * self.guide_depth - _SIGN
            node._label = label(cut_to(node.data.spans, room))
        return super().render_label(node, base_style, style)

    def on_tree_node_expanded(self, event: Tree.NodeExpanded[Node]) -> None:
        """What waited is made now."""
        self._left = OPENED
        self._fill(event.node)

    def action_unfold(self) -> None:
        """Into the node; unfolds it first."""
        node = self.cursor_node
        if node is not None and node.allow_expand and not node.is_expanded:
            node.expand()
        else:
            self.action_cursor_down()

    def action_fold(self) -> None:
        """Fold the node; of a folded one go to where it hangs."""
        node = self.cursor_node
        if node is not None and node.is_expanded and node is not self.root:
            node.collapse()
        else:
            self.action_cursor_parent()


class TrailScreen(Screen[None]):
    """One Trail: what is known of the whole, its tree, and the row under the cursor.

    Opening a row leads to the reading screen, and T back, where the cursor was.
    """

    DEFAULT_CSS = """
    TrailScreen > #facts { height: auto; max-height: 20%; color: $text-muted; padding: 0 1; }
    TrailScreen > #row { height: auto; max-height: 6; padding: 0 1; border-top: solid $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,backspace", "leave", "Source"),
        Binding("f", "full", "All hops"),
    ]

    def __init__(self, library: Library, trail: Trail) -> None:
        super().__init__()
        self._library = library
        self.trail = trail
        self.tree_of_hops = TrailTree(trail)

    def compose(self) -> ComposeResult:
        yield Static(id="facts")
        yield self.tree_of_hops
        yield Static(id="row")
        yield Footer()

    def on_mount(self) -> None:
        self._show_facts()

    def _show_facts(self) -> None:
        page = self.tree_of_hops.page
        told = ["".join(span.text for span in line.spans) for line in page.ending]
        parts = [(f"{clean(text)}\n", "$text-warning" if number == 0 else "") for number, text in enumerate(told)]
        parts += [(f"{clean(text)}\n", "") for text in (*page.facts, *page.left_out)]
        parts += [(f"! {clean(text)}\n", "$text-warning") for text in page.findings]
        self.query_one("#facts", Static).update(Content.assemble(*parts).rstrip())

    def on_tree_node_highlighted(self, event: Tree.NodeHighlighted[Node]) -> None:
        """The whole of a row, which may be wider than the screen."""
        node = event.node.data
        heading, lines = "", [self.trail.expression]
        if node is not None:
            row = node.row
            heading = f"{clean(row.title)}  {row.kind}, {row.status}  [{row.hop}]\n" if row is not None else ""
            lines = [node.reason] if node.reason else [in_words(ref) for ref in node.places[:3]]
        self.query_one("#row", Static).update(Content.assemble((heading, "bold"), "\n".join(map(clean, lines))))

    def on_tree_node_selected(self, event: Tree.NodeSelected[Node]) -> None:
        """Open the first place of the row that is at hand; say why where none is."""
        event.stop()
        node = event.node.data
        if node is None or node.reason:
            return  # the root, a reason: nothing that could be opened
        opening = first_to_open(node.places, self.trail, self._library.trees)
        message = message_for(opening)
        if isinstance(message, OpenPlace):
            message.origin = Place("", "", TRAIL)
        if message is not None:
            self.post_message(message)
        else:
            self.query_one("#row", Static).update(Content.styled(clean(opening.why), "$text-warning"))

    def go_to(self, hop: int) -> None:
        """Put the cursor on the row of a hop; of one that no row shows, on the innermost row around it."""
        around: dict[int, int] = {child.id: parent.id for parent in walk(self.trail.hops) for child in parent.children}
        rows = {node.data.row.hop: node for node in self.tree_of_hops.nodes() if node.data and node.data.row}
        at: int | None = hop
        while at is not None and at not in rows:
            at = around.get(at)
        if at is not None:
            self.tree_of_hops.move_cursor(rows[at])
            self.tree_of_hops.scroll_to_node(rows[at], animate=False)

    def action_full(self) -> None:
        """Every hop, or the readable ones again."""
        self.tree_of_hops.build(full=not self.tree_of_hops.full)
        self._show_facts()

    def action_leave(self) -> None:
        """Back to the source."""
        self.app.pop_screen()
