"""What ran, as a tree to walk: the rows of the terminal's `trace`; each opens the source at its line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static, Tree

from ptexplore.safe_text import clean
from ptexplore.tui.messages import OpenPlace
from ptexplore.tui.widgets.colours import label
from ptexplore.view.line import Span, place_spans
from ptexplore.view.trace.rows import Options, view
from ptexplore.view.trees import first_to_open, in_words

if TYPE_CHECKING:
    from textual.widgets.tree import TreeNode

    from ptexplore.model.places import SourceRef
    from ptexplore.model.trace import Trail
    from ptexplore.tui.library import Library
    from ptexplore.view.line import Line
    from ptexplore.view.trace.rows import TraceRow, TrailView

OPENED = 1500  # rows that are unfolded at once; those below wait until they are asked for


@dataclass(frozen=True)
class Node:
    """What a line of the tree is: a hop with all below it, or one more place or reason of one."""

    row: TraceRow | None = None
    line: Line | None = None
    ref: SourceRef | None = None

    @property
    def places(self) -> list[SourceRef]:
        """The places it names, the first to open first."""
        if self.ref is not None:
            return [self.ref]
        lines = self.row.lines if self.row is not None else [self.line] if self.line is not None else []
        return [one.ref for one in lines if one.ref is not None]


class TrailTree(Tree[Node]):
    """The rows of one Trail. Enter opens, space folds; `full` shows every hop with every reason."""

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
        Binding("space", "toggle_node", "Fold", show=True),
    ]

    def __init__(self, trail: Trail, *, full: bool = False) -> None:
        super().__init__(Text(clean(trail.expression), style="bold"), id="trail")
        self.auto_expand = False
        self.guide_depth = 2
        self.trail = trail
        self.full = full
        self.page: TrailView = view(trail, Options(full=full))
        self._left = OPENED

    def on_mount(self) -> None:
        self.build(full=self.full)

    def build(self, *, full: bool) -> None:
        """Every hop, or the readable ones."""
        self.full = full
        self.page = view(self.trail, Options(full=full))
        self.clear()
        self._left = OPENED
        self._add(self.root, self.page.rows)
        self.root.expand()

    def _add(self, parent: TreeNode[Node], rows: Iterable[TraceRow]) -> None:
        for row in rows:
            beside = [Span("  "), *row.beside.spans] if row.beside is not None else []
            node = parent.add(label([*row.heading(counted=self.page.counted), *beside]), Node(row=row))
            node.allow_expand = bool(row.children or row.further or row.candidates)
            self._left -= 1
            if self._left > 0 and node.allow_expand:
                self._open(node)
                node.expand()

    def _open(self, node: TreeNode[Node]) -> None:
        row = node.data.row if node.data is not None else None
        if row is None or node.children:
            return
        for line in row.further:
            leaf = node.add_leaf(label(line.spans), Node(line=line))
            self._candidates(leaf, line.ref)
        for ref in row.candidates:
            node.add_leaf(_candidate(ref), Node(ref=ref))
        self._add(node, row.children)

    def _candidates(self, leaf: TreeNode[Node], ref: SourceRef | None) -> None:
        if ref is not None and ref.candidates:
            leaf.allow_expand = True
            for one in ref.candidates:
                leaf.add_leaf(_candidate(one), Node(ref=one))

    def on_tree_node_expanded(self, event: Tree.NodeExpanded[Node]) -> None:
        """What waited is made now."""
        if not event.node.children:
            self._left = OPENED
            self._open(event.node)

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


class TrailPane(Vertical):
    """The tree with what is known of the whole above it, and of the row under the cursor below."""

    DEFAULT_CSS = """
    TrailPane > #facts { height: auto; max-height: 20%; color: $text-muted; padding: 0 1; }
    TrailPane > #row { height: auto; max-height: 6; padding: 0 1; border-top: solid $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("f", "full", "All hops")]

    def __init__(self, library: Library, trail: Trail) -> None:
        super().__init__()
        self._library = library
        self.trail = trail

    def compose(self) -> ComposeResult:
        yield Static(id="facts")
        yield TrailTree(self.trail)
        yield Static(id="row")

    def on_mount(self) -> None:
        self._facts()

    @property
    def tree_of_hops(self) -> TrailTree:
        return self.query_one(TrailTree)

    def _facts(self) -> None:
        page = self.tree_of_hops.page
        lines = [*page.facts, *page.left_out]
        parts = [(f"{clean(one)}\n", "") for one in lines] + [
            (f"! {clean(one)}\n", "$text-warning") for one in page.findings
        ]
        self.query_one("#facts", Static).update(Content.assemble(*parts).rstrip())

    def on_tree_node_highlighted(self, event: Tree.NodeHighlighted[Node]) -> None:
        """The whole of a row, which may be wider than the screen."""
        data = event.node.data
        if data is None:
            text = Content(clean(self.trail.expression))
        else:
            row = data.row
            head = [f"{row.title}  {row.kind}, {row.status}  [{row.hop}]\n"] if row is not None else []
            reason = [data.line.text] if data.line is not None and data.line.ref is None else []
            told = "\n".join(clean(one) for one in (*(in_words(ref) for ref in data.places[:3]), *reason))
            text = Content.assemble(*[(clean(one[:-1]) + "\n", "bold") for one in head], told)
        self.query_one("#row", Static).update(text)

    def on_tree_node_selected(self, event: Tree.NodeSelected[Node]) -> None:
        """Open the first place of the row that is at hand; say why where none is."""
        event.stop()
        data = event.node.data
        if data is None or (data.line is not None and data.line.ref is None):
            return  # the root, a reason: nothing that could be opened
        ref, why = first_to_open(data.places, self.trail, self._library.trees)
        if ref is not None and ref.path is not None:
            self.post_message(OpenPlace(ref.tree, ref.path, ref.line or 1))
        else:
            self.query_one("#row", Static).update(Content.styled(clean(why), "$text-warning"))

    def action_full(self) -> None:
        """Every hop, or the readable ones again."""
        self.tree_of_hops.build(full=not self.tree_of_hops.full)
        self._facts()


def _candidate(ref: SourceRef) -> Text:
    return label([Span("can be ", "dim"), *place_spans(ref)])
