"""What backward ran again: a checkpoint keeps its inputs alone, and computes in a node what that node wants.

Source of the knowledge: torch/utils/checkpoint.py, whose unpack_hook and CheckpointFunction.backward call the function
anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ptexplore.model import trace_remarks as says
from ptexplore.model.nesting import outermost
from ptexplore.model.trace import Hop, Trail, walk
from ptexplore.model.trace_remarks import TraceRemark
from ptexplore.view.trace.screen import bare

RUNS_AGAIN = ("torch/utils/checkpoint.py",)  # files of torch whose functions compute in backward what was not kept
# Functions of theirs that run nothing again, each with what they do.
PREPARES = {"detach_variable": "gives the function inputs of its own: detached, so that they are leaves"}
MOST = 3  # nodes that are told one by one


def run_again(trail: Trail) -> tuple[TraceRemark, ...]:
    """A line for each node of backward in which a function of torch ran a part of forward again, with what that was.

    Returns nothing for a program: of its calls one of a route is known.
    """
    if not trail.traced.each_call:
        return ()
    told = [line for hop in walk(trail.hops) if _is_run(hop) for line in _in_node(hop)]
    rest = len(told) - MOST
    return (*told[:MOST], *([says.MoreRanAgain(few=rest)] if rest > 0 else ()))


def _in_node(node: Hop) -> Iterator[TraceRemark]:
    """What a node ran again; nodes inside of it, which another backward runs, tell their own."""
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
    """Whether it is a node that ran, and not one that stands where it was recorded."""
    return hop.kind == "node" and not (hop.node is not None and hop.node.recorded)


def _runs_again(hop: Hop) -> bool:
    return hop.kind == "python" and hop.source.path in RUNS_AGAIN


def _prepares(hop: Hop) -> bool:
    return _runs_again(hop) and hop.name in PREPARES


def _without_nodes(hop: Hop) -> Sequence[Hop]:
    """What a function called, without what is a node of its own, or holds nothing but these."""
    return [child for child in hop.children if not any(map(_is_run, walk((child,))))]
