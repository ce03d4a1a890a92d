"""Stepping within a recorded program: before a call is made it is asked whether a fork of the process steps it."""

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
    """Asks between which calls to fork, where the profiler can be stopped. `stepping` knows what is worth it.

    Raises Unavailable if this process cannot be stepped.
    """

    __slots__ = ("_called_before", "_graphs", "_most", "_slices", "stepping")

    def __init__(self, most: int, seconds: float | None, slices: Slices, graphs: Graphs) -> None:
        self._most = most  # instructions that may be stepped
        self._slices, self._graphs = slices, graphs
        self.stepping = Stepping(most, seconds)
        self._called_before: set[tuple[Label, int]] = set()  # builtins, with the sets

    def before_builtin(self, path: Path, label: Label, sets: int, builtin: Any) -> bool:
        """Before a builtin: have it stepped in a fork, if that is worth it. True in the fork, which goes on to it."""
        if (label, sets) not in self._called_before:  # its kind may come again soon, and be known then
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
        """Something ended, or a function begins: where operator syntax came next before, it is stepped in a fork."""
        stepping = self.stepping
        if not stepping.syntax:
            return
        slot = thread.stack[-1]
        some = stepping.syntax.get(((slot.path.site, left.site if left is not None else None), thread.sets))
        if some and not slot.builtin and self._slices.safety.is_safe():
            self._slices.slice(lambda: stepping.operators(some))

    def told(self) -> StepBudgetData:
        """What was spent, and why no more was."""
        stepping = self.stepping
        told: StepBudgetData = {"most": self._most, "stepped": stepping.stepped, "forks": stepping.forks}
        if stepping.reason is not None:
            told["reason"] = stepping.reason
        return told
