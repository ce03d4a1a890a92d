"""Finds the notes about the hops of a trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from operator import is_
from typing import TYPE_CHECKING

from ptexplore.annotations.about import MarksByTree, about_operator, holds

if TYPE_CHECKING:
    from ptexplore.annotations.marks import Mark
    from ptexplore.model.trace import Hop, Trace


def with_notes(trace: Trace, marks_by_tree: MarksByTree) -> Trace:
    """Adds to each hop the stops about its place, and about its operator's entry."""
    by_path: dict[tuple[str, str], list[Mark]] = {}
    for tree, marks in marks_by_tree.items():
        for mark in marks:
            if mark.placed:
                by_path.setdefault((tree, mark.path), []).append(mark)
    if not by_path:
        return trace
    from ptexplore.model.nesting import folded

    return replace(trace, hops=folded(trace.hops, lambda hop, children: _with_stops(hop, children, by_path)))


_ByPath = Mapping[tuple[str, str], Sequence["Mark"]]  # by tree and path, since a trace may have a hundred thousand hops


def _with_stops(hop: Hop, children: tuple[Hop, ...], by_path: _ByPath) -> Hop:
    """Returns the hop with its stops and the new children; the same object if nothing changes."""
    names = dict.fromkeys(hop.notes)
    for ref in (hop.source, hop.declaration):
        if ref is not None:
            marks = by_path.get((ref.tree, ref.path or ""), ())
            names |= dict.fromkeys(mark.stop for mark in marks if holds(mark, ref.path, ref.line))
    if hop.kind == "op" and hop.op:
        every = chain.from_iterable(by_path.values())
        names |= dict.fromkeys(mark.stop for mark in every if about_operator(mark, hop.op))
    if len(names) == len(hop.notes) and all(map(is_, children, hop.children)):
        return hop
    return replace(hop, notes=tuple(names), children=children)
