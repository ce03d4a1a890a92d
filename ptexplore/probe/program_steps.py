"""Stepping within a recorded program: before a call, this decides whether a fork of the process steps it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .graphs import Graphs
from .paths import Label, Path
from .slices import Slices
from .stacks import Thread
from .stepping import Stepping

if TYPE_CHECKING:
    from .messages import StepBudgetData


class ProgramSteps:
    """Decides before which calls to fork, if the profiler can stop there. `stepping` knows which calls are worth it.

    Raises Unavailable if this process cannot be stepped.
    """

    __slots__ = ("_called_before", "_graphs", "_most", "_slices", "stepping")

    def __init__(self, most: int, seconds: float | None, slices: Slices, graphs: Graphs) -> None:
        self._most = most  # instructions that may be stepped
        self._slices, self._graphs = slices, graphs
        self.stepping = Stepping(most, seconds)
        self._called_before: set[tuple[Label, int]] = set()  # builtins, with the number of the thread-local sets

    def before_builtin(self, path: Path, label: Label, sets: int, builtin: Any) -> bool:
        """Step the next builtin in a fork, if it is worth it. Return True in the fork, which goes on to the builtin."""
        if (label, sets) not in self._called_before:  # fold soon: the next call of this kind then has a known kind
            self._called_before.add((label, sets))
            self._slices.come_closer(len(self._called_before))
        stepping = self.stepping
        label = path.label
        of = label.called
        candidate = stepping.wanted(path.index, of, sets) if of is not None else None
        is_backward = label.is_backward and bool(stepping.nodes or self._graphs.nodes)
        if (candidate is None and not is_backward) or not self._slices.safety.is_safe():
            return False
        if candidate is not None:
            self._slices.slice(lambda: stepping.builtin(path.index, builtin, candidate))
        else:
            graph, self._graphs.nodes = self._graphs.nodes, {}
            self._slices.slice(lambda: stepping.backward(graph))
        return stepping.in_child

    def before_syntax(self, thread: Thread, left: Path | None) -> None:
        """Step operator syntax in a fork, if it came next here before: after an end, or at a function's start."""
        stepping = self.stepping
        if not stepping.syntax:
            return
        slot = thread.stack[-1]
        some = stepping.syntax.get(((slot.path.site, left.site if left is not None else None), thread.sets))
        if some and not slot.builtin and self._slices.safety.is_safe():
            self._slices.slice(lambda: stepping.operators(some))

    def data(self) -> StepBudgetData:
        """Return how much of the budget was used, and why stepping stopped."""
        stepping = self.stepping
        data: StepBudgetData = {"most": self._most, "stepped": stepping.stepped, "forks": stepping.forks}
        if stepping.reason is not None:
            data["reason"] = stepping.reason
        return data
