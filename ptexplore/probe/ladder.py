"""Make the graphs of `ptexplore lower`, each in a fork of its own, and run each on the same inputs as eager mode.

Your code is prepared once. A rung that is made from another one is made in a fork of the process of that one: no graph
is made twice. A rung that hangs or dies leaves the others alone.
"""

from __future__ import annotations

import copy
import json
import os
import signal
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, cast

import torch
from torch import nn

from . import differences, isolate, rung_api
from .differences import Named
from .lowered_subject import Subject, prepared
from .operator_differences import compare_operators
from .raising import Raised
from .rung_graphs import (
    ReadGraphs,
    control_flow,
    failure_of,
    function_calls,
    innermost,
    linked_by_sequence,
    read_graphs,
    read_script,
)

if TYPE_CHECKING:
    from .messages import (
        CompilerLogData,
        LadderRungsData,
        RungData,
        RungFailureData,
        RungNoteData,
        RunRequestData,
        RunToldData,
    )

# The rungs, each with the rung that it is made from. AOTAutograd makes two graphs at once.
ABOVE = {
    "python": None, "fx": None, "jit-trace": None, "jit-script": None, "aten": None, "export": None,
    "functional": "export", "core": "functional", "prims": "core", "aot-forward": "export", "aot-backward": "export",
    "inductor": None,
}  # fmt: skip
GRACE = 5.0  # seconds that a process may take beside the making of its rung
MOST_NOTES = 20


@dataclass
class Eager:
    """What eager mode gave: results, the state after it, gradients, and copies of the random state."""

    results: list[Named] = field(default_factory=list)
    state: list[Named] = field(default_factory=list)
    gradients: list[Named] = field(default_factory=list)


@dataclass
class LoweredProgram:
    """An exported program with its operators by name."""

    made: Any
    read: ReadGraphs


def run(request: RunRequestData) -> RunToldData:
    """Prepare the code once, and make each requested rung. Raises Refused or Raised if the code cannot be run."""
    torch.set_num_threads(1)  # a fork of a process that computes in several threads may wait for a thread for ever
    with ExitStack() as stack:
        subject, bound = prepared(request, stack)
        ladder = Ladder(request, subject)
        told: LadderRungsData = {"subject": subject.data(), "rungs": ladder.rungs()}
        told["printed"], told["compiler"] = ladder.printed, ladder.compiler
    return {"observations": [], "bound": bound, "ladder": told}


class Ladder:
    """Makes the requested rungs of one subject."""

    def __init__(self, request: RunRequestData, subject: Subject) -> None:
        self._subject, self._checks = subject, bool(request.get("checks"))
        self._dynamic = bool(request.get("dynamic"))
        self._wanted = set(_with_needed(request.get("rungs") or ()))
        self._seconds = float(request["timeout"]) / max(len(ABOVE) + 1, 1)
        self.printed = ""
        self.compiler: CompilerLogData | None = None
        self._eager: Eager | None = None

    def rungs(self) -> list[RungData]:
        """Return the rungs in the order of the ladder. Raises Raised if the code itself raises."""
        self._see_eager()
        if self._wanted & {"aten", "export", "inductor"}:
            rung_api.load(differentiates="aot-forward" in self._wanted or "aot-backward" in self._wanted)
        made: list[RungData] = []
        made += self._apart(("python",), self._python)
        made += self._apart(("fx",), self._fx)
        made += self._apart(("jit-trace",), self._traced)
        made += self._apart(("jit-script",), self._scripted)
        made += self._apart(("aten",), self._dispatched)
        made += self._apart(("export", "functional", "core", "prims", "aot-forward", "aot-backward"), self._exported)
        made += self._apart(("inductor",), self._compiled)
        made = self._with_direct(made)
        order = list(ABOVE)
        return sorted(made, key=lambda rung: order.index(rung["name"]))

    def _with_direct(self, made: list[RungData]) -> list[RungData]:
        """Return the rungs; AOTAutograd gets the module itself, if it has no graph of the exported program."""
        names = ("aot-forward", "aot-backward")
        failed = next((rung for rung in made if rung["name"] == names[0] and "failure" in rung), None)
        if failed is None:
            return made
        direct = self._apart(names, lambda: self._differentiated(None))
        is_better = failed["failure"]["kind"] == "needs" or any("failure" not in rung for rung in direct)  # type: ignore[index]
        return [*(rung for rung in made if rung["name"] not in names), *direct] if is_better else made

    # --- processes ---

    def _apart(self, names: Sequence[str], work: Callable[[], list[RungData]]) -> list[RungData]:
        """Do the work in a fork. Return the wanted rungs among `names`, with the reason if one is not made."""
        wanted = [name for name in names if name in self._wanted]
        if not wanted:
            return []
        reader, guard = os.pipe()
        try:
            limit = isolate.TimeLimit((self._seconds + GRACE) * len(wanted))
            outcome = isolate.isolated(lambda: self._encoded(names[0], work), guard, limit)
        finally:
            os.close(reader)
            os.close(guard)
        self.printed = self.printed or (outcome.printed if names[0] == "python" else "")
        if outcome.answer:
            answer = json.loads(outcome.answer)
            made: list[RungData] = answer["rungs"]
            self.compiler = self.compiler or answer.get("compiler")
        else:
            is_late = outcome.late or outcome.signal == "SIGALRM"
            ending = outcome.signal or f"status {outcome.exit_code}"
            made = [_failed(names[0], {"kind": "late" if is_late else "died", "signal": ending})]
        done: set[str] = {rung["name"] for rung in made}
        needs = cast("Any", names[0])
        made += [_failed(name, {"kind": "needs", "needs": needs}) for name in wanted if name not in done]
        return [rung for rung in made if rung["name"] in wanted]

    def _encoded(self, name: str, work: Callable[[], list[RungData]]) -> bytes:
        rungs = self._timed(name, work)
        return isolate.encoded({"rungs": rungs, "compiler": self.compiler})

    def _timed(self, name: str, work: Callable[[], list[RungData]]) -> list[RungData]:
        """Do the work; an error of it is the failure of the rung `name`."""
        try:
            return work()
        except rung_api.Lacking as error:
            return [_failed(name, {"kind": "lacks", "message": str(error)})]
        except Exception as error:
            return [_failed(name, failure_of(error))]

    @contextmanager
    def _limited(self) -> Iterator[list[float]]:
        """Limit the time of a rung: SIGALRM ends this process. Yields a list that gets the seconds that it took."""
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, self._seconds)
        began = time.perf_counter()
        took: list[float] = []
        try:
            yield took
        finally:
            took.append(time.perf_counter() - began)
            signal.setitimer(signal.ITIMER_REAL, 0)

    # --- eager mode, and the comparison with it ---

    def _see_eager(self) -> None:
        """Run the code in eager mode in a fork, so that an error of it is known before a rung is made."""
        reader, guard = os.pipe()
        try:
            limit = isolate.TimeLimit(self._seconds + GRACE)
            outcome = isolate.isolated(self._eager_error, guard, limit)
        finally:
            os.close(reader)
            os.close(guard)
        if outcome.answer:
            return
        self._run_eager()

    def _eager_error(self) -> bytes:
        self._run_eager()
        return b"{}\n"

    def _run_eager(self) -> Any:
        """Run the code in eager mode in this process. Raises Raised."""
        try:
            module, given = self._subject.copied()
        except Exception:
            module, given = self._subject.module, self._subject.given
        self._subject.seeded()
        try:
            return module(*given)
        except Exception as error:
            raise Raised("expression", error) from error

    def _eager_once(self) -> Eager:
        """Return what eager mode gives, on copies of the inputs."""
        if self._eager is None:
            module, given = self._subject.copied()
            self._subject.seeded()
            result = module(*given)
            eager = Eager(differences.snapshot(differences.results(result)))
            eager.state = differences.snapshot(differences.state(module, given, self._subject.names))
            with suppress(Exception):  # then backward has no graph either
                eager.gradients = differences.parameter_gradients(result, module, given, self._subject.names)
            self._eager = eager
        return self._eager

    def _compare(
        self, rung: RungData, made: Callable[[], list[Named]], expected: Callable[[Eager], list[Named]]
    ) -> None:
        """Run a graph, and put the difference of its result to `expected` of eager mode into the rung."""
        try:
            eager = self._eager_once()
        except Exception:
            rung["unchecked"] = "copies"
            return
        self._subject.seeded()
        try:
            values, wanted = made(), expected(eager)
            far = differences.difference(*_aligned(values, wanted))
        except Exception:
            rung["unchecked"] = "raised"
            return
        is_random = any(operator.get("is_random") for operator in rung.get("operators", ()))
        if is_random and not far["is_close"]:
            rung["unchecked"] = "random"
            return
        rung["difference"] = far

    def _compare_module(self, rung: RungData, module: Any, given: Sequence[Any]) -> None:
        """Compare a module with the same parameters and buffers as the original."""

        def made() -> list[Named]:
            result = module(*given)
            parts = differences.results(result)
            if isinstance(module, nn.Module) and dict(module.named_buffers()):
                return [*parts, *differences.state(module, given, self._subject.names)]
            return [*parts, *differences.inputs(given, self._subject.names)]

        self._compare(rung, made, lambda eager: [*eager.results, *eager.state])

    # --- the rungs ---

    def _python(self) -> list[RungData]:
        module, given = self._subject.copied()
        read = ReadGraphs("python")
        self._subject.seeded()
        with self._limited() as took, rung_api.function_calls(function_calls(read)):
            module(*given)
        return [{**read.data(), "seconds": took[0]}]

    def _fx(self) -> list[RungData]:
        module, given = self._subject.copied()
        with self._limited() as took:
            graph = rung_api.symbolic_trace(module)
        rung: RungData = {**read_graphs(graph, "fx").data(), "seconds": took[0]}
        self._compare_module(rung, graph, given)
        return [rung]

    def _traced(self) -> list[RungData]:
        module, given = self._subject.copied()
        _, fresh = self._subject.copied()
        with warnings.catch_warnings(record=True) as caught, self._limited() as took:
            warnings.simplefilter("always")
            self._subject.seeded()
            traced = torch.jit.trace(module, given, check_trace=False)
        rung: RungData = {**read_script(traced, "jit-trace").data(), "seconds": took[0]}
        rung["notes"] = _different(_tracer_notes(caught))
        self._restore(module)
        self._compare_module(rung, traced, fresh)
        return [rung]

    def _scripted(self) -> list[RungData]:
        module, given = self._subject.copied()
        with warnings.catch_warnings(), self._limited() as took:
            warnings.simplefilter("ignore")
            scripted = torch.jit.script(module)
        rung: RungData = {**read_script(scripted, "jit-script").data(), "seconds": took[0]}
        rung["notes"] = _different(control_flow(scripted))
        self._compare_module(rung, scripted, given)
        return [rung]

    def _dispatched(self) -> list[RungData]:
        module, given = self._subject.copied()
        _, fresh = self._subject.copied()
        self._subject.seeded()
        with self._limited() as took:
            graph = rung_api.dispatched_graph(module, given)
        rung: RungData = {**read_graphs(graph, "aten").data(), "seconds": took[0]}
        self._restore(module)

        def made() -> list[Named]:
            parts = differences.results(rung_api.run_flat(graph, fresh))
            return [*parts, *differences.state(module, fresh, self._subject.names)]

        self._compare(rung, made, lambda eager: [*eager.results, *eager.state])
        return [rung]

    def _restore(self, module: nn.Module) -> None:
        """Give parameters and buffers of a copy their first values: tracing ran it once."""
        with torch.no_grad():
            for (_, mine), (_, first) in zip(_held(module), _held(self._subject.module), strict=False):
                mine.copy_(first)

    def _exported(self) -> list[RungData]:
        module, given = self._subject.copied()
        with warnings.catch_warnings(), self._limited() as took:
            warnings.simplefilter("ignore")
            program = rung_api.exported(module, given, dynamic=self._dynamic)
        read = read_graphs(program.graph_module, "export")
        made = LoweredProgram(program, read)
        rung: RungData = {**read.data(), "seconds": took[0]}
        self._compare_program(rung, program)
        lower = self._apart(("functional", "core", "prims"), lambda: self._functional(made))
        lower += self._apart(("aot-forward", "aot-backward"), lambda: self._differentiated(made))
        return [rung, *lower]

    def _functional(self, export: LoweredProgram) -> list[RungData]:
        rung, made = self._decomposed("functional", rung_api.functional_program, "export", export, export)
        return [rung, *self._apart(("core", "prims"), lambda: self._core(made, export))]

    def _core(self, functional: LoweredProgram, export: LoweredProgram) -> list[RungData]:
        rung, made = self._decomposed("core", rung_api.core_program, "functional", functional, export)
        return [rung, *self._apart(("prims",), lambda: self._prims(made, export))]

    def _decomposed(
        self,
        name: Literal["functional", "core"],
        make: Callable[[Any], Any],
        of: Literal["export", "functional"],
        given: LoweredProgram,
        export: LoweredProgram,
    ) -> tuple[RungData, LoweredProgram]:
        """Make a program of the program of the rung `of`. Returns its rung, and the program."""
        with warnings.catch_warnings(), self._limited() as took:
            warnings.simplefilter("ignore")
            program = make(given.made)
        read = read_graphs(program.graph_module, name, given.read)
        rung: RungData = {**read.data(), "seconds": took[0]}
        _link(rung, of)
        self._compare_program(rung, program)
        self._compare_operators(rung, program.graph_module, program, export)
        return rung, LoweredProgram(program, read)

    def _prims(self, core: LoweredProgram, export: LoweredProgram) -> list[RungData]:
        _, given = self._subject.copied()
        values = rung_api.flat_inputs(core.made, given)
        self._subject.seeded()
        with warnings.catch_warnings(), self._limited() as took:
            warnings.simplefilter("ignore")
            graph = rung_api.prims_graph(core.made.graph_module, values)
        read = read_graphs(graph, "prims", core.read)
        rung: RungData = {**read.data(), "seconds": took[0]}
        _link(rung, "core")

        def made() -> list[Named]:
            _, fresh = self._subject.copied()
            with torch.no_grad():
                outputs = graph(*rung_api.flat_inputs(core.made, fresh))
            given_back = rung_api.user_outputs(core.made, outputs)
            return differences.results([value for kind, _, value in given_back if kind == "result"])

        self._compare(rung, made, lambda eager: eager.results)
        self._compare_operators(rung, graph, core.made, export)
        return [rung]

    def _compare_program(self, rung: RungData, program: Any) -> None:
        try:
            _, given = self._subject.copied()
            module = copy.deepcopy(program.module())  # a run writes to buffers, which the rungs below need as they are
        except Exception:
            rung["unchecked"] = "copies"
            return
        self._compare_module(rung, module, given)

    def _compare_operators(
        self, rung: RungData, graph: torch.fx.GraphModule, program: Any, export: LoweredProgram
    ) -> None:
        """With --check: compare single operators of a rung with eager mode, which runs the exported program."""
        if not self._checks or "difference" not in rung:
            return
        _, given = self._subject.copied()
        self._subject.seeded()
        try:
            compared = compare_operators(
                rung["name"], graph, rung_api.flat_inputs(program, given), export.made,
                rung_api.flat_inputs(export.made, self._subject.copied()[1]), export.read,
            )  # fmt: skip
        except Exception:
            return
        rung["compared"] = compared[0]
        for key, value in (("first", compared[1]), ("first_local", compared[2])):
            if value is not None:
                rung[key] = value  # type: ignore[literal-required]

    def _differentiated(self, export: LoweredProgram | None) -> list[RungData]:
        """Return the forward and the backward graph of AOTAutograd: of the exported program, else of the module."""
        module, given = self._subject.copied()
        if export is not None:
            program = export.made.module()
            module = rung_api.interpreted_module(program)
        graphs: dict[str, torch.fx.GraphModule] = {}
        differentiated = rung_api.differentiated(module, graphs.setdefault)
        self._subject.seeded()
        with warnings.catch_warnings(), rung_api.keeping_origins(), self._limited() as took:
            warnings.simplefilter("ignore")
            result = differentiated(*given)
            gradients = [
                (name.replace("gradient of graph.", "gradient of "), value)
                for name, value in differences.parameter_gradients(result, module, given, self._subject.names)
            ]
        before = export.read if export is not None else None
        if "aot-forward" not in graphs:
            raise rung_api.Lacking("AOTAutograd made no graph")
        forward = read_graphs(graphs["aot-forward"], "aot-forward", before)
        made: RungData = {**forward.data(), "seconds": took[0]}
        if export is None:
            made["notes"] = [{"kind": "direct"}]
        else:
            _link(made, "export")
        parts = differences.snapshot(differences.results(result))
        self._compare(made, lambda: parts, lambda eager: eager.results)
        if "aot-backward" not in graphs:
            return [made, _failed("aot-backward", {"kind": "nothing"})]
        backward = read_graphs(graphs["aot-backward"], "aot-backward", before)
        linked_by_sequence(backward, forward)
        lower: RungData = backward.data()
        if any(operator.get("sources") for operator in backward.operators):
            lower["links_to"] = "aot-forward"
        self._compare(lower, lambda: gradients, lambda eager: eager.gradients)
        return [made, lower]

    def _compiled(self) -> list[RungData]:
        """Return torch.compile's log, from which the parent concludes the kernels of Inductor."""
        from .compiler_log import LogReader

        module, given = self._subject.copied()
        log = LogReader()
        with warnings.catch_warnings(), log.reading(), self._limited() as took:
            warnings.simplefilter("ignore")
            compiled = torch.compile(module)
            self._subject.seeded()
            result = compiled(*given)
        rung: RungData = {"name": "inductor", "seconds": took[0]}
        self.compiler = log.data()
        parts = differences.snapshot(differences.results(result))
        self._compare(rung, lambda: parts, lambda eager: eager.results)
        return [rung]


def _failed(name: str, failure: RungFailureData) -> RungData:
    """Return a rung that was not made."""
    return cast("RungData", {"name": name, "failure": failure})


def _link(rung: RungData, above: Literal["export", "functional", "core"]) -> None:
    """Note that the operators of a rung are linked to another rung, if torch has kept the record.

    torch 2.6 keeps no record in most cases. Without any link, nothing is known of the step.
    """
    operators = rung.get("operators", ())
    if not operators or any(operator.get("sources") for operator in operators):
        rung["links_to"] = above


def _held(module: nn.Module) -> list[Named]:
    return [*module.named_parameters(), *module.named_buffers()]


def _aligned(made: list[Named], eager: list[Named]) -> tuple[list[Named], list[Named]]:
    """Return the parts that both have: the results by their order, everything else by name."""
    results = [part for part in made if part[0].startswith("result")]
    expected = [part for part in eager if part[0].startswith("result")]
    others, wanted = (dict(part for part in parts if not part[0].startswith("result")) for parts in (made, eager))
    shared = [name for name in wanted if name in others]
    return [*results, *((name, others[name]) for name in shared)], [*expected, *((n, wanted[n]) for n in shared)]


def _with_needed(names: Sequence[str]) -> Iterator[str]:
    """Yield the wanted rungs, and those that they are made from."""
    for name in names:
        above: str | None = name
        while above is not None:
            yield above
            above = ABOVE[above]


def _different(notes: Iterable[RungNoteData]) -> list[RungNoteData]:
    """Return remarks, each once: a line in a loop, or in a function that is called often, makes several."""
    known: list[RungNoteData] = []
    for note in notes:
        if note not in known and len(known) < MOST_NOTES:
            known.append(note)
    return known


def _tracer_notes(caught: Sequence[warnings.WarningMessage]) -> Iterator[RungNoteData]:
    """Yield what torch.jit.trace warned of: a value that became a constant."""
    for warning in caught:
        if warning.category.__name__ == "TracerWarning":
            at = innermost([(warning.filename, warning.lineno, "")])
            yield {"kind": "traced-value", "text": str(warning.message)[:400], "at": at}
