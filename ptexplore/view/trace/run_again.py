"""What backward computed again: a checkpoint keeps only its inputs, and recomputes inside a node what that node needs.

From torch/utils/checkpoint.py: its unpack_hook and CheckpointFunction.backward call the function again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ptexplore.model import trace_remarks as says
from ptexplore.model.nesting import outermost
from ptexplore.model.trace import Hop, Trace, walk
from ptexplore.model.trace_remarks import TraceRemark
from ptexplore.view.trace.screen import bare

RUNS_AGAIN = ("torch/utils/checkpoint.py",)  # files of torch that recompute in backward
# Functions in these files that recompute nothing, with what they do.
PREPARES = {"detach_variable": "gives the function its own inputs: detached, so that they are leaves"}
MOST = 3  # nodes that get a line of their own


def run_again(trace: Trace) -> tuple[TraceRemark, ...]:
    """Returns a line for each node of backward in which torch recomputed a part of forward, and which part.

    Returns nothing for a program: only one call of each route is known.
    """
    if not trace.traced.each_call:
        return ()
    lines = [line for hop in walk(trace.hops) if _is_run(hop) for line in _in_node(hop)]
    rest = len(lines) - MOST
    return (*lines[:MOST], *([says.MoreRanAgain(few=rest)] if rest > 0 else ()))


def _in_node(node: Hop) -> Iterator[TraceRemark]:
    """Yields what a node recomputed.

    Nodes inside it, which another backward runs, are left out: they have their own lines.
    """
    for function in outermost(node.children, lambda hop: _is_run(hop) or _runs_again(hop)):
        again = _without_nodes(function) if function.kind == "python" else ()
        work = outermost(again, lambda hop: hop.kind == "op" or _prepares(hop))
        calls = sum(hop.calls for hop in work if hop.kind == "op")
        if not calls:
            continue
        modules = [hop.module for hop in outermost(again, lambda hop: hop.module is not None) if hop.module is not None]
        names = tuple(dict.fromkeys(module.name or module.bound or module.type for module in modules))
        yield says.RanAgain(
            modules=names or (says.NotKept(),),
            function=f"{function.name}()",
            path=function.source.path,
            node=bare(node.name).removesuffix("::apply"),
            few=calls,
            cost=node.instructions is not None,
        )


def _is_run(hop: Hop) -> bool:
    """Whether a hop is a node that ran, rather than a node shown where it was recorded."""
    return hop.kind == "node" and not (hop.node is not None and hop.node.recorded)


def _runs_again(hop: Hop) -> bool:
    return hop.kind == "python" and hop.source.path in RUNS_AGAIN


def _prepares(hop: Hop) -> bool:
    return _runs_again(hop) and hop.name in PREPARES


def _without_nodes(hop: Hop) -> Sequence[Hop]:
    """Returns what a function called, except nodes and calls with a node inside."""
    return [child for child in hop.children if not any(map(_is_run, walk((child,))))]
