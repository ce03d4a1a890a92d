"""The screen of an autograd graph: the facts above the rows, and the rows."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from ptexplore.errors import USAGE, PtexploreError
from ptexplore.model.autograd_graph import AutogradNode, KeptStorage, KeptValue, LocatedGraph
from ptexplore.model.gradient_reasons import why_gradient
from ptexplore.model.places import SourceRef
from ptexplore.model.trace_remarks import InOneLine, TorchRan
from ptexplore.view.graph.layout import LaidOut, LayoutEdge, lay_out
from ptexplore.view.graph.memory import MemoryTable, leak_view, memory_view
from ptexplore.view.graph.repeats import RepeatedPart, fold
from ptexplore.view.graph.run import RunView, run_view
from ptexplore.view.notes.prose import Edge
from ptexplore.view.trace.amounts import size
from ptexplore.view.trace.screen import bound_names
from ptexplore.view.words import graph as says
from ptexplore.view.words.trace_remarks import worded

MOST_ROWS = 80  # rows of a screen
NAMED = 4  # names in a list
SHOWN_TEXT = 26  # columns of the code that made a node


@dataclass(frozen=True, slots=True)
class GraphOptions:
    """The options of the screen: at most `depth` levels, only rows with the text `only`, or all rows (`full`)."""

    depth: int | None = None
    only: str | None = None
    full: bool = False
    why: tuple[str, ...] = ()  # the names of tensors whose gradient is explained
    run: bool = False  # the rows show a backward
    memory: bool = False  # tables show who holds memory
    leak: bool = False  # a table shows what steps left behind


@dataclass(frozen=True, slots=True)
class GraphRow:
    """One row. `lead` are the lines on the left, `hanging` the lines on the left of the next line."""

    name: str
    lead: str = ""
    hanging: str = ""
    kept: str = ""  # the bytes that this node keeps
    made: str = ""  # the code or the module that made it
    keeps: str = ""  # what it saved, or facts about a leaf
    place: SourceRef | None = None
    node: int | None = None
    heading: bool = False  # it stands for several rounds of the rows below it


@dataclass(frozen=True, slots=True)
class GraphView:
    """A graph as a screen shows it."""

    title: str
    facts: tuple[str, ...]
    rows: tuple[GraphRow, ...]
    why: tuple[tuple[str, str], ...] = ()  # by name of a tensor: why it gets a gradient, or none
    left_out: tuple[str, ...] = ()
    has_code: bool = True  # whether the code that made nodes is known
    run: RunView | None = None  # what backward did, instead of the rows
    memory: tuple[MemoryTable, ...] = ()  # who holds memory, instead of the rows


def graph_view(located: LocatedGraph, options: GraphOptions) -> GraphView:
    """Returns the screen of a graph."""
    page = _Page(located)
    ran = run_view(located, options.only, full=options.full) if options.run else None
    memory = memory_view(located, options.only, full=options.full) if options.memory else ()
    memory += leak_view(located, options.only, full=options.full) if options.leak else ()
    rows = page.rows(options) if ran is None and not memory else []
    most = len(rows) if options.full or options.only else MOST_ROWS
    left_out = (says.MORE.format(rows=len(rows) - most),) if len(rows) > most else ()
    session = located.session
    return GraphView(
        title=session.expression,
        facts=tuple(page.facts()),
        rows=tuple(rows[:most]),
        why=tuple(page.reasons(options.why)),
        left_out=left_out,
        has_code=session.no_lines is None,
        run=ran,
        memory=memory,
    )


def flow_of(located: LocatedGraph) -> list[Edge]:
    """Returns the edges of a graph for a drawing. The name of a box is the number of its node."""
    nodes = located.session.graph.nodes
    texts = [" = ".join(node.leaf.names) if node.leaf is not None else "" for node in nodes]
    texts = [text or says.short_node(node.name) for text, node in zip(texts, nodes, strict=True)]
    flow = []
    for number, (node, source) in enumerate(zip(nodes, located.sources, strict=True)):
        for at, edge in enumerate(node.edges):
            if edge.node is not None:
                label = source.inputs[at] if at < len(source.inputs) else ""
                flow.append(Edge(str(number), str(edge.node), texts[number], texts[edge.node], label))
    return flow


def check_names(located: LocatedGraph, names: Sequence[str]) -> None:
    """Raises PtexploreError (usage) if no tensor has one of the names."""
    tensors = [tensor.name for tensor in located.session.graph.tensors]
    for name in names:
        if name not in tensors:
            close = difflib.get_close_matches(name, tensors, 3) or tensors[:NAMED]
            why = f"the tensors with a name are {says.listed(tensors, NAMED)}" if tensors else "no tensor has a name"
            raise PtexploreError(f"there is no tensor {name}", why, f"--why {close[0]}" if close else "--var", USAGE)


@dataclass
class _Page:
    """One graph on its way to a screen."""

    located: LocatedGraph
    numbers: dict[int, int] = field(default_factory=dict)  # of the nodes that several edges lead to

    def __post_init__(self) -> None:
        self.session = self.located.session
        self.graph = self.session.graph
        self.nodes = self.graph.nodes

    # --- saved tensors ---

    @cached_property
    def counted_at(self) -> Mapping[int, int]:
        """By storage: the node that counts it. The first node that saved it in forward counts it."""
        order = sorted(range(len(self.nodes)), key=self._made_as)
        first: dict[int, int] = {}
        for number in order:
            for value in self.nodes[number].saved:
                for storage in value.storages:
                    first.setdefault(storage, number)
        return first

    def _made_as(self, number: int) -> tuple[int, int]:
        sequence = self.nodes[number].sequence
        return (sequence if sequence is not None and sequence >= 0 else 1 << 62, -number)

    def kept(self, number: int) -> int:
        """Returns the bytes that only the graph holds and that a node counts."""
        storages = {storage for value in self.nodes[number].saved for storage in value.storages}
        own = (s for s in storages if self.counted_at[s] == number and not self._storage(s).holders)
        return sum(self._storage(storage).bytes for storage in own)

    def _storage(self, number: int) -> KeptStorage:
        return self.graph.storages[number]

    def _saved(self, number: int, value: KeptValue) -> str:
        holder, counted_at = "", ""
        for storage in value.storages:
            names = [name or says.THE_RESULT for _, name in self._storage(storage).holders]
            holder = holder or next(iter(names), "")
            first = self.counted_at[storage]
            counted_at = counted_at or (says.short_node(self.nodes[first].name) if first != number else "")
        return says.saved_text(value, holder, counted_at)

    # --- above the rows ---

    def facts(self) -> Iterator[str]:
        """Yields the facts above the rows."""
        leaves = sum(node.leaf is not None for node in self.nodes)
        if not self.nodes:
            yield says.NO_GRAPH.format(result=self.session.result.description)
        else:
            counted = says.COUNTED.format(
                nodes=says.many(says.NODES, len(self.nodes) - leaves), leaves=says.many(says.LEAVES, leaves)
            )
            yield f"{counted}; {self._memory()}"
        yield from self._uncounted()
        if self.graph.cut:
            yield says.CUT.format(count=len(self.nodes))
        if self.session.no_lines is not None and self.nodes:
            yield says.NO_LINES[self.session.no_lines]
        left = [t.name for t in self.graph.tensors if t.is_leaf and t.needs_grad and t.node is None]
        if left and self.nodes and not self.graph.cut:
            yield says.NO_GRADIENT.format(names=says.listed(left, NAMED))
        given = bound_names(self.session.bound, self.session.result)
        yield worded(InOneLine(remarks=(*given, TorchRan(version=self.session.torch.version))))

    def _memory(self) -> str:
        if not self.graph.reads_saved:
            return says.UNKNOWN_SAVED.format(version=self.session.torch.version)
        storages = self.graph.storages
        own = sum(storage.bytes for storage in storages if not storage.holders)
        others = [storage for storage in storages if storage.holders]
        counts = self._uncounted_tensors
        if counts["packed"] or counts["unread"] or counts["silent"]:
            parts = [says.KEEPS_AT_LEAST.format(bytes=size(own)) if own else says.KEEPS_UNKNOWN]
        else:
            parts = [says.KEEPS_ALL.format(bytes=size(own)) if own else says.KEEPS_NOTHING]
        if others:
            others_names = {next((n or says.THE_RESULT) for _, n in storage.holders) for storage in others}
            order = [tensor.name for tensor in self.graph.tensors]
            names = [*(name for name in order if name in others_names), *sorted(others_names - set(order))]
            shared = size(sum(storage.bytes for storage in others))
            parts.append(says.KEEPS_ALSO.format(bytes=shared, names=says.listed(names, NAMED)))
        return " ".join(parts)

    def _uncounted(self) -> Iterator[str]:
        counts = self._uncounted_tensors
        for kind, forms in says.UNCOUNTED.items():
            if counts[kind]:
                yield says.many(forms, counts[kind])

    @cached_property
    def _uncounted_tensors(self) -> Counter[str]:
        """How many saved tensors have bytes that no sum contains, by reason; and how many Python numbers are saved."""
        counts: Counter[str] = Counter()
        for node in self.nodes:
            counts["silent"] += node.silent
            for value in node.saved:
                counts["packed"] += value.kept == "packed" and not value.storages
                counts["unread"] += value.kept == "unread" or (
                    value.kept == "tensor" and not value.storages and not value.is_number
                )
                counts["freed"] += value.kept == "freed"
                counts["numbers"] += value.is_number
        return counts

    def reasons(self, names: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yields why the named tensors get a gradient, or none."""
        tensors = {tensor.name: tensor for tensor in self.graph.tensors}
        for name in names:
            yield name, says.why_text(why_gradient(self.graph, tensors[name]), tensors[name], self.graph.results)

    # --- the rows ---

    def rows(self, options: GraphOptions) -> list[GraphRow]:
        """Returns all rows that the options ask for."""
        edges = [self._defined(node) for node in self.nodes]
        roots = [result.node for result in self.graph.results if result.node is not None]
        leaves = frozenset(number for number, node in enumerate(self.nodes) if node.leaf is not None)
        laid = lay_out(edges, roots, leaves)
        if options.depth is not None:
            laid = tuple(row for row in laid if row.level < 2 * options.depth)
        parts: list[RepeatedPart | LaidOut] = list(laid if options.full or options.only else fold(laid, self._shape))
        for part in parts:
            for row in (part,) if isinstance(part, LaidOut) else part.rounds[0]:
                if row.kind == "again" and not _leads_out(row, part):
                    self.numbers.setdefault(row.node, len(self.numbers) + 1)
        rows = [row for part in parts for row in self._shown(part)]
        return [row for row in rows if options.only is None or _has(row, options.only)]

    def _defined(self, node: AutogradNode) -> list[LayoutEdge]:
        return [LayoutEdge(number, edge.node) for number, edge in enumerate(node.edges) if edge.node is not None]

    def _shape(self, row: LaidOut) -> object:
        """Returns everything about a row that is equal in each round of a repeated part."""
        node = self.nodes[row.node]
        saved = tuple((v.name, v.sizes, v.dtype, v.kept, v.is_number) for v in node.saved)
        made = node.made
        where = (made.file, made.line, made.column, made.module_type) if made is not None else None
        leaf = node.leaf.sizes if node.leaf is not None else None
        edge = row.edge if row.lead else None  # the edge from the round before: the first round has none
        return row.kind, row.lead, edge, node.name, saved, where, leaf, self._inputs_without_edge(row.node)

    def _shown(self, part: RepeatedPart | LaidOut) -> Iterator[GraphRow]:
        if isinstance(part, LaidOut):
            yield self._row(part)
            return
        kept = sum(self.kept(row.node) for rows in part.rounds for row in rows if row.kind == "node")
        modules = [self._module_of(rows) for rows in part.rounds]
        named = modules[0] if modules[0] == modules[-1] else says.ROUNDS.format(first=modules[0], last=modules[-1])
        name = says.TIMES.format(times=len(part.rounds))
        yield GraphRow(name, made=named, kept=size(kept) if kept else "", heading=True)
        for row in part.rounds[0]:
            shown = self._next(row) if _leads_out(row, part) else self._row(row)
            yield replace(shown, lead=f"  {row.lead}", hanging=f"  {row.hanging}")

    def _next(self, row: LaidOut) -> GraphRow:
        """Returns the row of an edge to the next round of a repeated part."""
        name = says.NEXT.format(name=says.short_node(self.nodes[row.node].name))
        return GraphRow(f"{self._label(row)}{name}", node=row.node)

    def _module_of(self, rows: Sequence[LaidOut]) -> str:
        """Returns the module that all nodes of some rows have in common: its name is the start of each one's name."""
        made = [self.nodes[row.node].made for row in rows if row.kind == "node"]
        names = [code.module for code in made if code is not None and code.module]
        parts = [name.split(".") for name in names]
        common = [same[0] for same in zip(*parts, strict=False) if len(set(same)) == 1]
        return ".".join(common)

    def _row(self, row: LaidOut) -> GraphRow:
        node, source = self.nodes[row.node], self.located.sources[row.node]
        label = self._label(row)
        if row.kind == "again":
            name = says.AGAIN.format(number=self.numbers[row.node], name=says.short_node(node.name))
            return GraphRow(f"{label}{name}", row.lead, row.hanging, node=row.node)
        number = says.NUMBER.format(number=self.numbers[row.node]) if row.node in self.numbers else ""
        if node.leaf is not None:
            return self._leaf_row(row, label)
        kept = self.kept(row.node)
        keeps = [self._saved(row.node, value) for value in node.saved]
        keeps += [says.SILENT] if node.silent else []
        keeps += self._without_edge(row.node)
        place = source.derivative.source if source.derivative is not None else source.apply
        return GraphRow(
            f"{label}{number}{says.short_node(node.name)}",
            row.lead,
            row.hanging,
            kept=size(kept) if kept else "",
            made=self._made(node),
            keeps=", ".join(keeps),
            place=place if place.path is not None or place.candidates else None,
            node=row.node,
        )

    def _leaf_row(self, row: LaidOut, label: str) -> GraphRow:
        leaf = self.nodes[row.node].leaf
        assert leaf is not None
        name = " = ".join(leaf.names) or says.short_node(self.nodes[row.node].name)
        facts = [says.LEAF.format(sizes=says.sizes_text(leaf.sizes, leaf.dtype))]
        facts += [says.HAS_GRAD] if leaf.has_grad else []
        facts += map(says.hook_text, leaf.hooks)
        return GraphRow(f"{label}{name}", row.lead, row.hanging, keeps=", ".join(facts), node=row.node)

    def _label(self, row: LaidOut) -> str:
        """Returns the input that an edge belongs to, before the name of the node that it leads to."""
        if row.edge is None or row.parent is None:
            return ""
        return f"{self._input(row.parent, row.edge)}: "

    def _input(self, number: int, edge: int) -> str:
        inputs = self.located.sources[number].inputs
        return inputs[edge] if edge < len(inputs) else str(edge)

    def _inputs_without_edge(self, number: int) -> tuple[int, ...]:
        return tuple(n for n, edge in enumerate(self.nodes[number].edges) if edge.node is None and not edge.unread)

    def _without_edge(self, number: int) -> list[str]:
        missing = self._inputs_without_edge(number)
        if not missing:
            return []
        inputs = self.located.sources[number].inputs
        names = [inputs[edge] if inputs else says.INPUT.format(number=edge) for edge in missing]
        return [says.NO_EDGE.format(inputs=says.listed(names, NAMED))]

    def _made(self, node: AutogradNode) -> str:
        made = node.made
        if made is None:
            return ""
        if made.module:
            return made.module
        return shortened(made.text) if made.file.startswith("<") else f"{made.file.rpartition('/')[2]}:{made.line}"


def _leads_out(row: LaidOut, part: RepeatedPart | LaidOut) -> bool:
    """Whether a row of a repeated part refers to a row outside of its round, which is the next round."""
    return (
        isinstance(part, RepeatedPart)
        and row.kind == "again"
        and all(inner.node != row.node for inner in _rows_shown(part))
    )


def _rows_shown(part: RepeatedPart) -> Iterator[LaidOut]:
    """Yields the rows of the round that is shown, except those that refer to other rows."""
    return (row for row in part.rounds[0] if row.kind != "again")


_CALL = re.compile(r"\.\w+(\([^()]*\))?$")


def shortened(text: str) -> str:
    """Returns the code that made a node, short: of a chain of methods the last one."""
    if len(text) <= SHOWN_TEXT:
        return text
    last = _CALL.search(text)
    if last is not None and len(last[0]) < SHOWN_TEXT:
        return f"…{last[0]}"
    return f"{text[: SHOWN_TEXT - 1]}…"


def _has(row: GraphRow, text: str) -> bool:
    return any(text.lower() in part.lower() for part in (row.name, row.made, row.keeps))
