"""One symbol in a few lines: its definition, its uses, the operators that it implements, and hops of a trace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ptexplore.lookup.calls import CallNode, CallsView
from ptexplore.lookup.refs import VALUES
from ptexplore.lookup.symbol_facts import SymbolFacts
from ptexplore.model.places import SourceRef
from ptexplore.model.symbols import Symbol
from ptexplore.model.trace import Hop, Trace, walk
from ptexplore.view.line import Line
from ptexplore.view.search.override_lines import overridden_lines
from ptexplore.view.words.uses import certainty_in_words, counted, otherwise_in_words, overridden_in_words, used_on

_FEW = 6  # operators that are named
_NEXT = 3  # functions of the second level that are named below one of the first
_TYPES = ("class", "struct", "union", "enum", "typedef")
_OTHERS = 3  # keys of an operator, stubs and hops that are named


def seen_in(trace: Trace, facts: SymbolFacts) -> list[Hop]:
    """Returns the hops of a trace that ran inside a symbol, if the trace has the same tree."""
    symbol, tree = facts.symbol, facts.spot.tree
    known = next((info for info in trace.trees if info.name == tree.name), None)
    if known is None or known.version != tree.version:
        return []
    return [
        hop
        for hop in walk(trace.hops)
        if (hop.source.tree, hop.source.path) == (tree.name, symbol.path)
        and hop.source.line is not None
        and symbol.begin <= hop.source.line <= symbol.end_line
    ]


def head_lines(facts: SymbolFacts) -> Iterator[Line]:
    """Yields the symbol's name, signature, kind and place, and its comment."""
    symbol = facts.symbol
    yield Line("name", symbol.qualified)
    if symbol.signature:
        yield Line("text", symbol.signature)
    ref = facts.spot.ref
    same = f"{facts.same} have this name" if facts.same > 1 else ""
    made = f"made by {symbol.macro}" if symbol.macro else ""
    only = f"only where {' and '.join(symbol.guards)}" if symbol.guards else ""
    declared = "declared; no definition here" if symbol.role == "declaration" else ""
    yield Line("dim", ", ".join(filter(None, (symbol.kind, made, only, declared, same))))
    yield Line("place", "", ref)
    for overridden in facts.overrides:
        for text, spot in overridden_lines(overridden):
            yield Line("text", text, spot.ref if spot is not None else None)
    if facts.comment:
        yield Line("text", facts.comment)


def is_structured(symbol: Symbol) -> bool:
    """Whether a symbol is a structured kernel.

    Thousands of calls are written with its name, so the name identifies none.
    """
    return symbol.macro is not None and symbol.name in ("impl", "meta")


def uses_in_words(facts: SymbolFacts) -> str:
    """Returns how often a symbol is used: "used on 24 lines: 20 mean this, 4 may mean something else of that name"."""
    if is_structured(facts.symbol):
        return "the generated wrapper of its operator calls it; its name alone does not identify its uses"
    if facts.symbol.kind in VALUES:
        sorts = ", ".join(counted(count, group) for group, count in facts.uses)
        apart = certainty_in_words(facts.lines, facts.certain, facts.definitions)
        other = f"; otherwise {used_on(facts.lines)} ({sorts}){f': {apart}' if apart else ''}" if facts.lines else ""
        return f"reads and writes are not indexed (/ searches this file){other}"
    if not facts.lines and facts.overridden:
        return overridden_in_words(facts)
    if not facts.lines:
        types = "; uses as a type name only are not searched" if facts.symbol.kind in _TYPES else ""
        return f"no use was found in these trees{types}"
    apart = certainty_in_words(facts.lines, facts.certain, facts.definitions)
    sorts = ", ".join(counted(count, group) for group, count in facts.uses)
    by_sort = f"\nthese are: {sorts}" if len(facts.uses) > 1 else f" ({sorts})"
    types = "\nuses as a type name only are not counted" if facts.symbol.kind in _TYPES else ""
    overriders = f"\n{overridden_in_words(facts)}" if facts.overridden else ""
    return f"{used_on(facts.lines)}{f': {apart}' if apart else ''}{by_sort}{types}{overriders}"


def closing_remark(facts: SymbolFacts) -> str:
    """Returns a closing remark on lines that have the symbol's name and are not counted; "" if there are none."""
    counted = facts.lines and facts.symbol.kind not in VALUES and not is_structured(facts.symbol)
    return otherwise_in_words(facts.otherwise, facts.unknown) if counted and facts.otherwise + facts.unknown else ""


def operator_lines(facts: SymbolFacts) -> Iterator[Line]:
    """Yields the operators that have this kernel, each with its keys, and the stubs that it is registered for."""
    keys: dict[str, list[str]] = {}
    for record in facts.operators:
        keys.setdefault(record.op, []).append(record.key or "every key")
    for name, some in list(keys.items())[:_FEW]:
        more = f", +{len(some) - _OTHERS}" if len(some) > _OTHERS else ""
        yield Line("text", name, operator=name, after=f"{', '.join(some[:_OTHERS])}{more}")
    if len(keys) > _FEW:
        yield Line("dim", f"and {len(keys) - _FEW} more")
    for row in facts.stubs[:_OTHERS]:
        context = f"{row.context}" if row.context else ""
        yield Line("text", f"stub {row.name}", after=context)


def caller_lines(calls: CallsView) -> Iterator[tuple[Line, SourceRef]]:
    """Yields the callers, each with its own callers indented below. Each line leads to the call.

    Yields nothing for a structured kernel, whose name identifies no call.
    """
    for node in calls.callers if not is_structured(calls.symbol) else ():
        yield _call_line(node, 0), node.call.ref
        yield from ((_call_line(further, 2), further.call.ref) for further in node.further[:_NEXT])


def callee_lines(calls: CallsView) -> Iterator[tuple[Line, SourceRef]]:
    """Yields the callees, each with its own callees indented below.

    Each line leads to the definition if there is one, else to the call.
    """
    for node in calls.callees:
        yield _call_line(node, 0), _callee(node)
        yield from ((_call_line(further, 2), _callee(further)) for further in node.further[:_NEXT])


def is_sure(nodes: Sequence[CallNode]) -> bool:
    """Whether the lines of these nodes name only functions that the calls are known to mean."""
    return not any(shown.is_choice for node in nodes for shown in (node, *node.further[:_NEXT]))


def _callee(node: CallNode) -> SourceRef:
    return node.places[0].ref if len(node.places) == 1 and not node.is_choice else node.call.ref


def _call_line(node: CallNode, indent: int) -> Line:
    """Returns a line with the last two parts of a name. A question mark says that only the name is known."""
    separator = "::" if "::" in node.name else "." if "/" not in node.name else "/"
    parts = node.name.split(separator)
    times = f"×{node.times}" if node.times > 1 else ""
    return Line("text", f"{separator.join(parts[-2:])}{' ?' * node.is_choice}", indent=indent, after=times)


def hop_lines(hops: Sequence[Hop]) -> Iterator[tuple[Line, int]]:
    """Yields a line for each of the first hops in which a trace saw a symbol, with the hop's number."""
    for hop in hops[:_OTHERS]:
        instructions = f", {hop.instructions:,} instructions" if hop.instructions is not None else ""
        yield Line("text", f"hop {hop.id}", after=f"{hop.kind} {hop.status}{instructions}"), hop.id
    if len(hops) > _OTHERS:
        yield Line("dim", f"and {len(hops) - _OTHERS} more hops"), hops[_OTHERS].id
