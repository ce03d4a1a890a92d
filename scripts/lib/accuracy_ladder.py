"""How true `op --ladder` is: what it says becomes of operators, beside what torch does with them.

The truth is torch itself in a separate Python (`lib/ladder_worker.py`): an operator is in a graph afterwards or it is
not, and a profile function sees which decomposition was called for it. The tag core is read from native_functions.yaml
by a few lines of text reading, and asked of each operator.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ptexplore.model import ladder as says

if TYPE_CHECKING:
    from lib.accuracy_report import Figure, Report

    from ptexplore.model.ladder import LadderRung, RungState
    from ptexplore.workspace.workspace import Workspace

WORKER = Path(__file__).with_name("ladder_worker.py")
OPERATORS = 240
_PYTHON = (says.ReplacedByPython, says.TracedInPython)
_KEPT = (says.IsKept, says.IsKeptWhole)


class Steps(Protocol):
    """Says each step."""

    def step(self, name: str) -> None: ...


def ladder_report(python: str | None, steps: Steps, observed: str | None = None) -> Report:
    """Measures on the torch of `python`. `observed`: a file with the lines of an earlier run of the worker."""
    from lib.accuracy_report import Report, machine

    from ptexplore.workspace.workspace import Workspace

    with Workspace(python) as workspace:
        steps.step(f"asking torch what becomes of {OPERATORS} operators")
        lines = Path(observed).read_text() if observed else _observed(workspace.runtime.python)
        rows = [json.loads(line) for line in lines.splitlines() if line.startswith("{")]
        report = Report([("machine", machine()), ("torch", workspace.runtime.version)])
        compared = _Compared(workspace)
        for row in rows[:-1]:
            compared.operator(row)
        report.facts += [(f"at {rung}", text) for rung, text in compared.states()]
        report.figures += [*compared.figures(), *_tags(workspace, rows[-1])]
        report.details += [("different", compared.different), ("not compared", compared.left_out)]
    return report


def _observed(python: str) -> str:
    command = [python, "-I", str(WORKER), str(OPERATORS)]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout


class _Compared:
    """Counts, for each rung, how many states torch confirms."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.counts: dict[str, list[int]] = {}
        self.functions: list[int] = [0, 0]
        self.kinds: dict[str, Counter[str]] = {}
        self.different: list[str] = []
        self.left_out: list[str] = []

    def operator(self, row: Mapping[str, Any]) -> None:
        """Compares the rungs of one operator."""
        if self.workspace.torch.catalogue.operator(row["op"]) is None:
            self.left_out.append(f"{row['op']}: `import torch` does not register it")
            return
        ladder = self.workspace.operator(row["op"], ladder=True).ladder
        assert ladder is not None
        rungs = {rung.name: rung for rung in ladder.rungs}
        for name in ("export", "inductor", "prims"):
            seen = row[name]
            if "error" in seen:
                self.left_out.append(f"{row['op']} {name}: {seen['error'][:90]}")
                continue
            own = {table.function.rpartition(".")[2] for table in ladder.tables if table.function}
            self._count(name, row["op"], rungs[name].state, _agrees(rungs[name], seen, own), seen)
            if isinstance(rungs[name].state, _PYTHON) and not seen["kept"]:
                ran = _has_run(rungs[name], seen["by"])
                self._add(self.functions, ran)
                if not ran:
                    self.different.append(f"{row['op']} {name}: {rungs[name].state} is not among {_names(seen['by'])}")
        self._lowering(row, rungs)

    def _lowering(self, row: Mapping[str, Any], rungs: Mapping[Any, LadderRung]) -> None:
        called = row["inductor"].get("called")
        if isinstance(called, str):
            self.left_out.append(f"{row['op']} lowering: {called[:90]}")
        elif called is not None and "lowering" in rungs:
            state = rungs["lowering"].state
            is_called = isinstance(state, says.IsCalledWhole | says.IsNotLowered)
            agrees = called == is_called or (isinstance(state, says.IsLowered) and state.falls_back)
            self._count("lowering", row["op"], state, agrees, {"kept": called, "by": []})

    def _count(self, rung: str, op: str, state: RungState, agrees: bool, seen: Mapping[str, Any]) -> None:
        self._add(self.counts.setdefault(rung, [0, 0]), agrees)
        either = getattr(state, "declines", False) or getattr(state, "falls_back", False)
        kind = f"{type(state).__struct_config__.tag}{', or not' if either else ''}"
        self.kinds.setdefault(rung, Counter())[kind] += 1
        if not agrees:
            self.different.append(f"{op} {rung}: {state}, but kept is {seen['kept']}, by {_names(seen['by'])}")

    @staticmethod
    def _add(count: list[int], agrees: bool) -> None:
        count[0] += agrees
        count[1] += 1

    def states(self) -> Iterable[tuple[str, str]]:
        """How many operators have which state on each rung. "or not": the ladder allows both answers."""
        for rung, kinds in self.kinds.items():
            yield rung, ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())

    def figures(self) -> Iterable[Figure]:
        """A figure for each rung, and one for the functions."""
        from lib.accuracy_report import Figure

        means = {
            "export": "operators after run_decompositions(): gone or still there, as the ladder says",
            "inductor": "operators after AOTAutograd with Inductor's table",
            "prims": "operators called under TorchRefsMode",
            "lowering": "operators that reached Inductor's lowerings: its own record says whether it calls the kernel",
        }
        for rung, about in means.items():
            hit, total = self.counts.get(rung, [0, 0])
            yield Figure(f"rung {rung}", hit, total, 99.0, about)
        hit, total = self.functions
        yield Figure("function", hit, total, 99.0, "functions that the ladder names, seen when torch called them")


def _agrees(rung: LadderRung, seen: Mapping[str, Any], own: set[str]) -> bool:
    """Whether an operator is gone or still there as the state says.

    If the state is that no table is asked, none of the functions that tables have for it (`own`) was called.
    """
    state, kept = rung.state, seen["kept"]
    if isinstance(state, _KEPT):
        return bool(kept)
    if isinstance(state, says.ReplacedByPython) and state.declines and kept:
        return _has_run(rung, seen["by"])  # it was asked, and declined
    if isinstance(state, says.DecomposedBefore | says.MadeFunctional):
        return not kept and own.isdisjoint(name for _file, name, _line in seen["by"])
    return not kept


def _has_run(rung: LadderRung, by: Iterable[tuple[str, str, int]]) -> bool:
    """Whether torch called the function of a state: file, name, and a `def` line at or a few decorators below."""
    state, place = rung.state, rung.place
    assert isinstance(state, says.ReplacedByPython | says.TracedInPython)
    if place is None or place.path is None or place.line is None:
        return False
    name = state.function.rpartition(".")[2]
    return any(
        file.endswith(f"/{place.path}") and ran == name and line <= place.line <= line + 60 for file, ran, line in by
    )


def _names(by: Iterable[tuple[str, str, int]]) -> str:
    return ", ".join(sorted({name for _file, name, _line in by})) or "no decomposition"


_FUNC = re.compile(r"- func: ([\w.]+)\(")
_TAGS = re.compile(r"\s+tags: \[?([^\]#]*)\]?")


def _tags(workspace: Workspace, known: Mapping[str, list[str]]) -> Iterable[Figure]:
    """The operators that are Core ATen and those that are composite, beside YAML and torch's own answers."""
    from lib.accuracy_report import Figure

    text = workspace.torch.tree.read("aten/src/ATen/native/native_functions.yaml")
    assert text is not None
    in_yaml, name = set(), ""
    for line in text.text.splitlines():
        if (func := _FUNC.match(line)) is not None:
            name = f"aten::{func[1]}"
        elif (tags := _TAGS.match(line)) is not None and "core" in re.split(r"[, ]+", tags[1]):
            in_yaml.add(name)
    operators = [operator.name for operator in workspace.torch.catalogue.operators()]
    answers = {answer.name: answer for answer in workspace.core_aten(operators)}
    core = {name for name, answer in answers.items() if answer.is_core}
    tagged = set(known["core"]) & set(operators)
    yield Figure("core", len(core & in_yaml), len(core | in_yaml), 100.0, "operators with the tag in the YAML or here")
    yield Figure("core, torch", len(core & tagged), len(core | tagged), 100.0, "operators that say so themselves")
    ours = workspace.decompositions.composite & set(operators)
    theirs = set(known["composite"]) & set(operators)
    yield Figure("composite", len(ours & theirs), len(ours | theirs), 100.0, "operators with a composite kernel")


def main() -> int:
    """Prints a report of lines that were observed before: to work on this file. A second argument is the Python."""
    from lib.accuracy_report import text

    python = sys.argv[2] if len(sys.argv) > 2 else None
    print(text(ladder_report(python, _Silent(), sys.argv[1])))
    return 0


class _Silent:
    def step(self, name: str) -> None:
        """Says nothing."""


if __name__ == "__main__":
    sys.exit(main())
