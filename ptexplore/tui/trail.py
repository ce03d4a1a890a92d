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

from ptexplore.index.relation import permalink_commit
from ptexplore.tui.messages import OpenPlace
from ptexplore.view.plain import clean
from ptexplore.view.rows import Options, view

if TYPE_CHECKING:
    from textual.widgets.tree import TreeNode

    from ptexplore.model import SourceRef, Trail
    from ptexplore.tui.library import Library
    from ptexplore.view.lines import Line
    from ptexplore.view.row import Row
    from ptexplore.view.rows import TrailView

STATUS = {"observed": "green", "derived": "cyan", "predicted": "yellow", "inlined": "magenta", "cut": "red"}
PRECISION = {"registered": "green", "located": "green", "consistent": "cyan"}
OPENED = 1500  # rows that are unfolded at once; those below wait until they are asked for


@dataclass(frozen=True)
class Node:
    """What a line of the tree is: a hop with all below it, or one more place or reason of one."""

    row: Row | None = None
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

    def _add(self, parent: TreeNode[Node], rows: Iterable[Row]) -> None:
        for row in rows:
            node = parent.add(_title(row, counted=self.page.counted), Node(row=row))
            node.allow_expand = bool(row.children or _further(row) or _candidates(row))
            self._left -= 1
            if self._left > 0 and node.allow_expand:
                self._open(node)
                node.expand()

    def _open(self, node: TreeNode[Node]) -> None:
        row = node.data.row if node.data is not None else None
        if row is None or node.children:
            return
        for line in _further(row):
            leaf = node.add_leaf(_line(line), Node(line=line))
            self._candidates(leaf, line.ref)
        for ref in _candidates(row):
            node.add_leaf(Text.assemble(("can be ", "dim"), _place(ref)), Node(ref=ref))
        self._add(node, row.children)

    def _candidates(self, leaf: TreeNode[Node], ref: SourceRef | None) -> None:
        if ref is not None and ref.candidates:
            leaf.allow_expand = True
            for one in ref.candidates:
                leaf.add_leaf(Text.assemble(("can be ", "dim"), _place(one)), Node(ref=one))

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
            told = "\n".join(clean(one) for one in (*(whole(ref) for ref in data.places[:3]), *reason))
            text = Content.assemble(*[(clean(one[:-1]) + "\n", "bold") for one in head], told)
        self.query_one("#row", Static).update(text)

    def on_tree_node_selected(self, event: Tree.NodeSelected[Node]) -> None:
        """Open the first place of the row that is at hand; say why where none is."""
        event.stop()
        data = event.node.data
        if data is None or (data.line is not None and data.line.ref is None):
            return  # the root, a reason: nothing that could be opened
        refs = data.places
        troubles = []
        for ref in refs:
            why = trouble(ref, self.trail, self._library)
            if why is None and ref.path is not None:
                self.post_message(OpenPlace(ref.tree, ref.path, ref.line or 1))
                return
            troubles.append(why or "")
        told = troubles[0] if troubles else "nothing says where this is"
        self.query_one("#row", Static).update(Content.styled(clean(told), "$text-warning"))

    def action_full(self) -> None:
        """Every hop, or the readable ones again."""
        self.tree_of_hops.build(full=not self.tree_of_hops.full)
        self._facts()


# --- what a row says ---


def trouble(ref: SourceRef, trail: Trail, library: Library) -> str | None:
    """Why a place cannot be opened here; None where it can: only in the very tree that the trace speaks of."""
    if ref.path is None or (ref.line is None and ref.precision in ("unknown", "ambiguous")):
        return ref.reason or f"its place is {ref.precision}"
    known = next((one for one in trail.trees if one.name == ref.tree), None)
    here = library.tree(ref.tree)
    if ref.layer == "atlas" or (known is not None and known.layers == ("atlas",)):
        return f"{ref.path}:{ref.line} is known by name and line alone: ptexplore fetch brings its text"
    if here is None:
        return f"{ref.path}:{ref.line} is in {ref.tree}, which is not at hand"
    info, checkout = here.tree.info, here.checkout
    commit = (permalink_commit(checkout) if checkout is not None else None) or info.commit  # as a Trail has it
    if known is None or (known.version, known.commit) != (info.version, commit):
        was, now = (known.version if known is not None else "another version"), info.version
        if known is not None and was == now:
            was, now = (f"{now} ({(one or 'no known commit')[:15]})" for one in (known.commit, commit))
        return f"the trace is of {ref.tree} {was}, and {now} is at hand: line {ref.line} is another one there"
    return None


def whole(ref: SourceRef) -> str:
    """A place with all that is known of it, in words."""
    where = f"{ref.path}:{ref.line}" if ref.path and ref.line else ref.path or "no place"
    reason = f" ({ref.reason})" if ref.reason else ""
    return f"{where}  {ref.tree} {ref.precision}{reason}"


def _title(row: Row, *, counted: bool) -> Text:
    """As the terminal's: its name, what it is, how it is known where it was not seen, its number, its first place."""
    title = Text(clean(row.title), style="bold" if not counted or row.kind != "native" else "", no_wrap=True)
    if row.times > 1:
        title.append(f" ×{row.times}", "not bold")
    if not counted or row.kind != "native":
        title.append(f"  {row.kind}", "not bold dim")
    if not counted or row.status != "observed":
        title.append(f" {row.status}", f"not bold {STATUS.get(row.status, '')}")
    title.append(f"  [{row.hop}]", "not bold dim")
    if row.inside:
        title.append(f"  +{row.inside}", "not bold dim")
    if row.hidden:
        title.append(f"  +{row.hidden} below", "not bold dim")
    if row.instructions is not None:
        title.append(f"  {row.instructions:,} instr", "not bold dim")
    if row.lines and row.lines[0].ref is not None:
        title.append("  ", "not bold").append_text(_line(row.lines[0]))
    return title


def _further(row: Row) -> tuple[Line, ...]:
    """The lines that do not stand beside the title."""
    return row.lines[1:] if row.lines and row.lines[0].ref is not None else row.lines


def _candidates(row: Row) -> tuple[SourceRef, ...]:
    ref = row.lines[0].ref if row.lines else None
    return ref.candidates if ref is not None else ()


def _line(line: Line) -> Text:
    if line.ref is None:
        return Text(clean(line.text), "not bold dim" if line.style in ("reason", "note") else "not bold yellow")
    shown = Text(f"{clean(line.text)} " if line.text else "", "not bold dim").append_text(_place(line.ref))
    if line.also is not None and line.also.ref is not None:
        label = f"  {clean(line.also.text)} " if line.also.text else "  "
        shown.append(f"{label}:{line.also.ref.line}", "not bold dim").append_text(_precision(line.also.ref))
    return shown


def _place(ref: SourceRef) -> Text:
    where = f"{ref.path}:{ref.line}" if ref.path and ref.line else ref.path or ""
    return Text(clean(where), "not bold not dim").append_text(_precision(ref))


def _precision(ref: SourceRef) -> Text:
    text = Text("  " if ref.path else "", "not bold").append(
        ref.precision, f"not bold {PRECISION.get(ref.precision, 'yellow')}"
    )
    return text.append(f" ({clean(ref.reason)})", "not bold dim") if ref.reason else text
