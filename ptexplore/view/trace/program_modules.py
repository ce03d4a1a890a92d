"""The text around the parts of a recorded program: how the run went, what its times measure, and what was stepped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ptexplore.facts.recorded_python import slower_python
from ptexplore.model import trace_remarks as says
from ptexplore.model.program import Program
from ptexplore.model.reasons import BudgetSpent, KindsStepped, TreeEnds
from ptexplore.model.run import Part, Run
from ptexplore.model.trace import Session, Trace
from ptexplore.model.trace_remarks import TraceRemark
from ptexplore.model.traced import TracedName
from ptexplore.view.trace.amounts import seconds
from ptexplore.view.trace.around import findings
from ptexplore.view.trace.columns import columns_of
from ptexplore.view.trace.modules import AroundParts, modules_view, saved_for_backward
from ptexplore.view.trace.native_names import kernel_name
from ptexplore.view.trace.page import Options, TraceView
from ptexplore.view.trace.program_findings import findings_of, time_outside
from ptexplore.view.trace.program_parts import calls_python, kernels, operator_kinds, program_run, times_elsewhere

ROWS = 84  # a program's first screen has a hundred lines, with the text around the table
TWICE = "twice"  # the kind of finding which says that a second run did the same
WAITED = 0.2  # from this share of a run on, the waiting time is shown
NOTABLE = 0.1  # the smallest part of a run that may be too long for it to be said.
KERNELS = 3  # kernels that the line about a device names
MORE_BUDGET: Mapping[TracedName, str] = {"script": "--native-budget N", "block": "record(native_budget=N)"}


def program_modules(trace: Trace, options: Options, session: Session | None) -> TraceView | None:
    """Returns the parts of a program, with the facts about its run."""
    program = trace.recorded
    run = program_run(trace, session)
    further_rows = findings_of(program, trace.torch.python, run, columns_of(run)) if options.opened is None else ()
    around = AroundParts(
        most=ROWS - len(further_rows),
        further_rows=further_rows,
        facts=tuple(_facts(trace, program, run)),
        findings=(*_findings(trace, options), *(says.RunCut(why=cut) for cut in program.cuts)),
        measured=tuple(_how_timed(program)),
        further=(*on_device(program), *_stepped(trace, options)),
    )
    return modules_view(trace, options, run, lambda _root: around)


def _how_timed(program: Program) -> Iterator[TraceRemark]:
    if program.elsewhere is None:
        by_samples = any(path.recording for path in program.paths)
        yield says.HowProgramTimed(python=calls_python(program), samples=by_samples)


def _facts(trace: Trace, program: Program, run: Run) -> Iterator[TraceRemark]:
    whole = run.whole
    yield says.TorchRan(version=trace.torch.version)
    imports = next((part for part in whole.parts if part.kind == "imports"), None)
    if program.elsewhere is not None:
        yield from times_elsewhere(program)
    else:
        yield _one_run(program, whole, with_imports=imports is not None)
        waited = program.wall - program.processor
        if program.processor and waited > WAITED * program.wall:
            yield says.Waited(waited=seconds(waited), of=seconds(program.wall))
        yield from _slower_python(trace, whole)
    different = len({program.kinds[number].name for number in operator_kinds(program)})
    count = whole.operators
    of_one = says.CallsOfOperator(count=count)
    calls = says.CallsOfDifferent(count=count, few=different) if different > 1 else of_one
    yield says.OperatorsCalled(calls=calls, inner=count > 0, saved=saved_for_backward(run))
    yield from (says.ConcludedBeside(conclusion=finding.told) for finding in trace.findings if finding.kind == TWICE)
    transforms = dict.fromkeys(layer.kind for sets in program.sets for layer in sets.transforms)
    if transforms:
        yield says.TransformsInForce(kinds=tuple(transforms))


def _one_run(program: Program, whole: Part, *, with_imports: bool) -> TraceRemark:
    """Returns how long the program ran; a bound, if the time of recording in it is not known well enough."""
    if whole.at_most:
        most = seconds(min(program.overhead, whole.cost))
        return says.OneRunUnsure(time=seconds(whole.cost), threads=program.threads, recording=most)
    is_off = any(path.recording for path in program.paths)
    apart: list[TraceRemark] = [says.ImportsBeside()] if with_imports else []
    apart += [says.RecordingTook(time=seconds(program.overhead))] if is_off else []
    return says.OneRun(
        time=seconds(whole.cost),
        threads=program.threads,
        apart=tuple(apart),
        recording="" if is_off else seconds(max(program.overhead - program.folding, 0)),
    )


def _slower_python(trace: Trace, whole: Part) -> Iterator[TraceRemark]:
    """Says how much of the run may be too long, because Python runs slower while it is recorded."""
    slower, outside = slower_python(trace.torch.python), time_outside(whole).cost
    if slower is not None and not whole.at_most and outside * (1 - 1 / slower.times) >= NOTABLE * whole.cost:
        yield says.PythonWasSlower(release=slower.release, times=slower.times, outside=seconds(outside))


def on_device(program: Program) -> Iterator[TraceRemark]:
    """Yields one line about everything launched on devices, and an explanation of its times."""
    launched = kernels(program)
    whole = sum(time for _, _, time in launched)
    if launched:
        yield says.DeviceMeans()
        yield says.OnDevices(
            time=seconds(whole),
            count=sum(count for _, count, _ in launched),
            few=len(launched) if len(launched) > 1 else 0,
            first=tuple(
                says.ShareOf(name=kernel_name(name), share=f"{time / max(whole, 1):.0%}")
                for name, _, time in launched[:KERNELS]
            ),
        )


def _findings(trace: Trace, options: Options) -> tuple[TraceRemark, ...]:
    """Returns what a reader must know beside the rows. Remarks on incomplete stepping are only in a verbose view.

    The figures of these rows do not come from stepped calls.
    """
    beside = (f for f in trace.findings if f.kind != TWICE)
    wanted = (f for f in beside if options.verbose or not isinstance(f.told, KindsStepped | TreeEnds))
    return findings(replace(trace, findings=tuple(wanted)))


def _stepped(trace: Trace, options: Options) -> Iterator[TraceRemark]:
    """Says in one line how much of the program was stepped."""
    for finding in trace.findings:
        if isinstance(finding.told, KindsStepped) and not options.verbose:
            reasons = Counter(route.unstepped for route in trace.recorded.routes if route.unstepped is not None)
            would_help = BudgetSpent() in reasons or not reasons
            more = says.MoreWith(option=MORE_BUDGET[trace.traced.name])
            why = more if would_help else says.OfOthersNone(why=reasons.most_common(1)[0][0])
            yield says.KindsSteppedOf(kinds=finding.told.kinds, of=finding.told.all_kinds, why=why)
