"""How true `ptexplore lower` is: its operators, links and differences, beside graphs that are read without ptexplore.

`lower_truth.py` makes the graphs again in a process without ptexplore. It counts their operators by a walk of its own,
reads torch's record of where a node comes from by the names of torch's passes, and adds noise to the value of an
operator and to the node that was made from it: both must change the results alike.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from lib.accuracy_report import Report

HERE = Path(__file__).resolve().parent
LINKED = ("functional", "core", "prims", "aot-forward", "aot-backward")
COMPARED = ("fx", "export", "functional", "core", "prims")


class Steps(Protocol):
    """Says each step."""

    def step(self, name: str) -> None: ...


def answers(cases: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Yields what ptexplore's probe answers for each case. The probe runs in a fork of this process for each case."""
    from ptexplore.capture.own_process import probe_module
    from ptexplore.capture.probing import TraceRequest, request_of
    from ptexplore.model.rungs import RUNGS, SLOW
    from ptexplore.source.runtime.describe import find_runtime

    ladder: Any = probe_module("ladder")
    isolate: Any = probe_module("isolate")
    ladder.rung_api.load(differentiates=True)  # each fork would import it again
    runtime = find_runtime()
    for case in cases:
        setup = f"import sys; sys.path.insert(0, {os.fspath(HERE)!r}); import lower_cases; "
        setup += f"m, given = lower_cases.made({case!r})"
        request = TraceRequest(
            expression="m(*given)", setup=(setup,), rungs=tuple(name for name in RUNGS if name not in SLOW),
            timeout=60.0 * (len(RUNGS) + 1), checks=False,
        )  # fmt: skip
        reader, guard = os.pipe()
        asked = request_of(request, "lower", runtime, {})
        outcome = isolate.isolated(lambda asked=asked: isolate.encoded(ladder.run(asked)), guard)
        os.close(reader)
        os.close(guard)
        if not outcome.answer:
            raise SystemExit(f"{case}: no answer. {outcome.printed[-2000:]}")
        yield {"case": case, **json.loads(outcome.answer)["ladder"]}


def compared(documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns what `lower_truth.py` says of each document."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "answers")
        file.write_text("".join(json.dumps(document) + "\n" for document in documents), encoding="utf-8")
        command = [sys.executable, str(HERE / "lower_truth.py"), str(file)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]
    if len(lines) != len(documents):
        raise SystemExit(ended.stderr[-2000:])
    return lines


def state() -> dict[str, str]:
    """Returns what must be as before: tables of decompositions, configurations, caches, modes."""
    import hashlib

    import torch
    from torch import _dynamo, _functorch, _inductor
    from torch._decomp import core_aten_decompositions, decomposition_table
    from torch.overrides import _get_current_function_mode_stack
    from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

    def digest(value: object) -> str:
        return hashlib.sha256(repr(value).encode()).hexdigest()

    return {
        "decomposition_table": digest(sorted(map(str, decomposition_table))),
        "core_aten_decompositions": digest(sorted(map(str, core_aten_decompositions()))),
        "dynamo": digest(_dynamo.config.get_config_copy()),
        "functorch": digest(_functorch.config.get_config_copy()),
        "inductor": digest(_inductor.config.get_config_copy()),
        "modes": digest((_get_current_function_mode_stack(), _get_current_dispatch_mode_stack())),
        "grad": str(torch.is_grad_enabled()),
        "threads": str(torch.get_num_threads()),
        "dtype": str(torch.get_default_dtype()),
        "random": digest(torch.get_rng_state().tolist()),
    }


def states() -> tuple[dict[str, str], dict[str, str]]:
    """Returns the state of this process before and after graphs of all rungs were made in it, without a fork."""
    import torch
    from lib.lower_cases import made

    from ptexplore.capture.own_process import probe_module

    api: Any = probe_module("rung_api")
    api.load(differentiates=True)
    module, given = made("mlp")
    before = state()
    with api.function_calls(lambda *_: None):
        module(*given)
    api.symbolic_trace(module)
    torch.jit.trace(module, given, check_trace=False)
    torch.jit.script(module)
    api.dispatched_graph(module, given)
    export = api.exported(module, given, dynamic=False)
    core = api.core_program(api.functional_program(export))
    api.prims_graph(core.graph_module, api.flat_inputs(core, given))
    with api.keeping_origins():
        api.differentiated(api.interpreted_module(export.module()), lambda *_: None)(*given).sum().backward()
    return before, state()


def lower_report(python: str | None, steps: Steps) -> Report:
    """Measures both sides. `python` is not used: the torch of this environment is measured."""
    del python
    import torch._dynamo
    import torch._inductor.config
    from lib.accuracy_report import Figure, Report, machine
    from lib.lower_cases import CASES, MODULES

    from ptexplore import __version__

    steps.step(f"{len(CASES)} cases by ptexplore")
    documents = list(answers(CASES))
    before, after = states()
    steps.step("the same without ptexplore")
    truths = compared(documents)
    report = Report([("machine", machine()), ("ptexplore", __version__), ("torch", torch.__version__)])
    wrong = [f"{truth['case']}: {truth['failed']}" for truth in truths if "failed" in truth]
    good = [truth for truth in truths if "failed" not in truth]
    _counts(report, good, wrong)
    _links(report, [truth for truth in good if truth["case"] in MODULES], wrong)
    _results(report, good, documents, wrong)
    stays = sum(before[key] == after[key] for key in before)
    means = "tables of decompositions, configurations, modes, random state"
    report.figures.append(Figure("state left alone", stays, len(before), 100.0, means))
    failures = [
        (rung["name"], rung["failure"]) for document in documents for rung in document["rungs"] if "failure" in rung
    ]
    missing = Counter(f"{name}: {why['kind']} {why.get('exception', '')}".strip() for name, why in failures)
    report.details.append(("rungs that were not made", [f"{words}, {count} cases" for words, count in missing.items()]))
    if wrong:
        report.details.append(("different", wrong))
    return report


def _counts(report: Report, good: list[dict[str, Any]], wrong: list[str]) -> None:
    """Adds the figures of counted operators."""
    from lib.accuracy_report import Figure

    made: Counter[str] = Counter()
    equal: Counter[str] = Counter()
    for truth in good:
        for rung, words in truth["counts"].items():
            made[rung] += 1
            equal[rung] += words == "equal"
            if words != "equal":
                wrong.append(f"{truth['case']}, {rung}: {words}")
    for rung, total in made.items():
        means = "cases whose operators and counts are equal"
        report.figures.append(Figure(f"operators of {rung}", equal[rung], total, 100.0, means))


def _links(report: Report, good: list[dict[str, Any]], wrong: list[str]) -> None:
    """Adds the figures of links."""
    from lib.accuracy_report import Figure

    for rung in LINKED:
        links = [truth["links"][rung] for truth in good if rung in truth["links"]]
        nodes, bad = sum(link["nodes"] for link in links), sum(len(link["wrong"]) for link in links)
        wrong += [f"{rung}: {words}" for link in links for words in link["wrong"]]
        record = "torch's own record" if rung != "aot-backward" else "an operator with the same Python stack"
        means = f"operators of {len(links)} modules, whose links are {record}"
        report.figures.append(Figure(f"links of {rung}", nodes - bad, nodes, 100.0, means))
        if rung not in COMPARED:
            continue
        noise = [(truth["case"], truth["perturbed"][rung]) for truth in good if rung in truth["perturbed"]]
        tried, bad = sum(answer["tried"] for _, answer in noise), sum(len(answer["wrong"]) for _, answer in noise)
        wrong += [f"noise, {rung}, {case}: {words}" for case, answer in noise for words in answer["wrong"]]
        means = "operators whose value one linked node gives: noise in both changes the results alike"
        report.figures.append(Figure(f"noise in {rung}", tried - bad, tried, 100.0, means))


def _results(report: Report, good: list[dict[str, Any]], documents: list[dict[str, Any]], wrong: list[str]) -> None:
    """Adds the figures of differences to eager mode."""
    from lib.accuracy_report import Figure

    told = {document["case"]: {rung["name"]: rung for rung in document["rungs"]} for document in documents}
    for rung in COMPARED:
        near = {truth["case"]: truth["near"][rung] for truth in good if rung in truth["near"]}
        other = {case: is_near for case, is_near in near.items() if _said_close(told[case][rung]) is not is_near}
        wrong += [f"{case}, {rung}: eager mode is {'near' if is_near else 'far'}" for case, is_near in other.items()]
        means = "cases with the same answer about eager's result"
        report.figures.append(Figure(f"eager and {rung}, same answer", len(near) - len(other), len(near), 100.0, means))
        means = "cases whose result is eager's within torch.testing's tolerance"
        report.figures.append(Figure(f"eager and {rung}, close", sum(near.values()), len(near), 95.0, means))


def _said_close(rung: dict[str, Any]) -> bool | None:
    difference = rung.get("difference")
    return None if difference is None else bool(difference["is_close"])
