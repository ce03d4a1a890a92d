"""Lays out a directed graph without circles as rows: each node once, in a column that lines on the left connect.

A chain of nodes stays in one column. Where a node leads to several nodes, the branches are indented below it, and the
largest one continues in the column of the node. If branches join again, the node where they join continues there: so a
network with residual connections is a column, too. Other rows refer to it by a number.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

RowKind = Literal["node", "leaf", "again"]  # again: the row refers to a node that another row shows


class LayoutEdge(NamedTuple):
    """An edge of a node: its number among the edges of the node, and the node that it leads to."""

    number: int
    target: int


@dataclass(frozen=True, slots=True)
class LaidOut:
    """One row. `lead` are the lines on the left; the first row of a branch ends with ├ or └."""

    node: int
    kind: RowKind = "node"
    lead: str = ""
    edge: int | None = None  # the number of the edge to this row, if its node has several edges
    parent: int | None = None  # the node of the edge
    hanging: str = ""  # the lines on the left, for further lines of this row

    @property
    def level(self) -> int:
        """How many columns the row is indented."""
        return len(self.hanging)


def lay_out(edges: Sequence[Sequence[LayoutEdge]], roots: Sequence[int], leaves: frozenset[int]) -> tuple[LaidOut, ...]:
    """Returns the rows of a graph. `edges` are in topological order: each node comes before the nodes it leads to.

    A leaf is shown below each node that leads to it.
    """
    return tuple(_Layout(edges, roots, leaves).rows())


Rows = Iterator["LaidOut | Rows"]  # rows, and rows of a branch in their place


class _Layout:
    """The dominator tree of the graph. The start, which leads to all roots, has the number -1.

    A node dominates another node if all ways from the start to the other node lead through the first one. Branches that
    join in a node come from its nearest dominator.
    """

    def __init__(self, edges: Sequence[Sequence[LayoutEdge]], roots: Sequence[int], leaves: frozenset[int]) -> None:
        self._edges, self._roots, self._leaves = edges, list(dict.fromkeys(roots)), leaves
        self._users = [0] * len(edges)
        self._joins: defaultdict[int, list[int]] = defaultdict(list)
        self._above: list[int | None] = [None] * len(edges)  # the immediate dominator; None: not reached
        self._dominate()
        self._size = self._sizes()

    def rows(self) -> Iterator[LaidOut]:
        """Yields the rows. Branches may be nested deeper than Python's functions can be."""
        pending: list[Rows] = [self._start()]
        while pending:
            row = next(pending[-1], None)
            if row is None:
                pending.pop()
            elif isinstance(row, LaidOut):
                yield row
            else:
                pending.append(row)

    # --- the dominator tree ---

    def _dominate(self) -> None:
        tree = _Ancestors(len(self._edges))
        for root in self._roots:
            self._users[root] += 1
            self._above[root] = -1
        for node, edges in enumerate(self._edges):
            above = self._above[node]
            if above is None or node in self._leaves:
                continue
            tree.add(node, above)
            if self._users[node] > 1:
                self._joins[above].append(node)
            for _, target in edges:
                self._users[target] += 1
                known = self._above[target]
                if target not in self._leaves:
                    self._above[target] = node if known is None else tree.common(known, node)

    def _sizes(self) -> list[int]:
        """Returns how many nodes each node dominates, itself included."""
        sizes = [1] * len(self._edges)
        for node in range(len(self._edges) - 1, -1, -1):
            above = self._above[node]
            if above is not None and above >= 0:
                sizes[above] += sizes[node]
        return sizes

    # --- the rows ---

    def _start(self) -> Rows:
        for root in self._roots:
            if self._above[root] == -1 and self._users[root] == 1:
                yield self._chain(LaidOut(root, "leaf" if root in self._leaves else "node"))
        for join in self._joins[-1]:
            yield self._chain(LaidOut(join))

    def _chain(self, first: LaidOut) -> Rows:
        """Yields the row of a node, its branches, and the nodes that continue its column."""
        yield first
        node, column = first.node, first.hanging
        while first.kind == "node":
            branches, following = self._following(node)
            defined = self._edges[node]
            for number, (edge, target) in enumerate(branches):
                is_alone = len(defined) == 1
                is_last = number == len(branches) - 1 and not following
                sign, line = ("", "") if is_alone else ("└ ", "  ") if is_last else ("├ ", "│ ")
                label = None if is_alone else edge
                row = LaidOut(target, self._kind(target, node), column + sign, label, node, column + line)
                if row.kind == "node":
                    yield self._chain(row)
                else:
                    yield row
            if not following:
                return
            for joined in following[:-1]:
                yield self._chain(LaidOut(joined.target, "node", column, None, node, column))
            last = following[-1]
            label = last.number if last.number >= 0 and len(defined) > 1 else None
            yield LaidOut(last.target, "node", column, label, node, column)
            node = last.target

    def _following(self, node: int) -> tuple[list[LayoutEdge], list[LayoutEdge]]:
        """Returns the edges that become branches, and the nodes that continue the column of a node."""
        edges, joins = list(self._edges[node]), self._joins[node]
        if joins:
            return edges, [LayoutEdge(-1, join) for join in joins]
        own = [edge for edge in edges if self._kind(edge.target, node) == "node"]
        if not own:
            return edges, []
        largest = max(own, key=lambda edge: (self._size[edge.target], edge.number))
        return [edge for edge in edges if edge != largest], [largest]

    def _kind(self, target: int, node: int) -> RowKind:
        if target in self._leaves:
            return "leaf"
        return "node" if self._above[target] == node and self._users[target] == 1 else "again"


class _Ancestors:
    """A tree that grows at its leaves. It finds the deepest common ancestor of two nodes in logarithmic time.

    Each node knows its parent and one ancestor further up (Myers, "An applicative random-access stack", 1983). The root
    has the number -1, which is the last place of each list.
    """

    def __init__(self, size: int) -> None:
        self._parent = [-1] * (size + 1)
        self._jump = [-1] * (size + 1)
        self._depth = [0] * (size + 1)

    def add(self, node: int, parent: int) -> None:
        """Add a node below another one."""
        depth, jump = self._depth, self._jump
        self._parent[node], depth[node] = parent, depth[parent] + 1
        further = jump[parent]
        is_even = depth[parent] - depth[further] == depth[further] - depth[jump[further]]
        jump[node] = jump[further] if is_even else parent

    def common(self, first: int, second: int) -> int:
        """Returns the deepest node that is an ancestor of both, or one of them."""
        depth, jump, parent = self._depth, self._jump, self._parent
        if depth[first] < depth[second]:
            first, second = second, first
        while depth[first] > depth[second]:
            first = jump[first] if depth[jump[first]] >= depth[second] else parent[first]
        while first != second:
            is_far = jump[first] != jump[second]
            first, second = (jump[first], jump[second]) if is_far else (parent[first], parent[second])
        return first
