"""What stands around the parts of a recorded program: how its run went, what its times are of, what was stepped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ptexplore.model.program import Program
from ptexplore.model.reasons import BudgetSpent, KindsStepped, TreeEnds
from ptexplore.model.run import Run
from ptexplore.model.trace import Session, Trail
from ptexplore.model.traced import TracedName
from ptexplore.view.trace.amounts import seconds
from ptexplore.view.trace.around import findings
from ptexplore.view.trace.modules import AroundParts, modules_view, saved_for_backward
from ptexplore.view.trace.native_names import kernel_name
from ptexplore.view.trace.page import Options, TrailView
from ptexplore.view.trace.program_parts import calls_python, kernels, operator_kinds, program_run, times_elsewhere
from ptexplore.view.words.reasons import sentence

ROWS = 84  # of the table: a program's first screen has a hundred, with what stands around it
TWICE = "twice"  # the kind of finding that tells that a second run did the same
WAITED = 0.2  # the share of a run from which on it is said how long it waited
KERNELS = 3  # of a device that the line about them names
MORE_BUDGET: Mapping[TracedName, str] = {"script": "--native-budget N", "block": "record(native_budget=N)"}


def program_modules(trail: Trail, options: Options, session: Session | None) -> TrailView | None:
    """The parts of a program, and what is told of its run."""
    program = trail.recorded
    run = program_run(trail, session)
    around = AroundParts(
        most=ROWS,
        facts=tuple(_facts(trail, program, run)),
        findings=(*_findings(trail, options), *(f"cut: {sentence(cut)}" for cut in program.cuts)),
        measured=tuple(_how_timed(program)),
        further=(*on_device(program), *_stepped(trail, options)),
    )
    return modules_view(trail, options, run, lambda _root: around)


def _how_timed(program: Program) -> Iterator[str]:
    if program.elsewhere is None:
        told = "less recording (by samples)" if any(path.recording for path in program.paths) else "recording included"
        but = " (an operator's without the Python that it called)" if calls_python(program) else ""
        yield f"share, time: of this one run by the clock, with all that a row called{but}, {told}"


def _facts(trail: Trail, program: Program, run: Run) -> Iterator[str]:
    whole = run.whole
    yield f"torch {trail.torch.version}"
    imports = next((part for part in whole.parts if part.kind == "imports"), None)
    if program.elsewhere is not None:
        yield from times_elsewhere(program)
    else:
        threads = f" on {program.threads} thread{'s' * (program.threads != 1)}" if program.threads else ""
        is_off = any(path.recording for path in program.paths)
        apart = ["imports"] if imports is not None else []
        apart += [f"about {seconds(program.overhead)} of recording"] if is_off else []
        beside = f"; not in it: {' and '.join(apart)}" if apart else ""
        beside += "" if is_off else f"; about {seconds(max(program.overhead - program.folding, 0))} of it recording"
        yield f"one run of {seconds(whole.cost)}{threads}{beside}"
        waited = program.wall - program.processor
        if program.processor and waited > WAITED * program.wall:
            of = f"{seconds(waited)} of {seconds(program.wall)}, imports and recording included"
            yield f"it waited, for other programs or a disk, which is in the times: no thread of it ran for {of}"
    different = len({program.kinds[number].name for number in operator_kinds(program)})
    count = whole.operators
    told = f"{count:,} calls of {different} different operators" if different > 1 else f"{count:,} operator call"
    told += "s" * (different < 2 and count != 1)
    yield f"{told}{', without those that operators make' if count else ''}{saved_for_backward(run)}"
    yield from (sentence(finding.told) for finding in trail.findings if finding.kind == TWICE)
    transforms = dict.fromkeys(layer.kind for sets in program.sets for layer in sets.transforms)
    if transforms:
        yield f"function transforms in force: {', '.join(transforms)}"


def on_device(program: Program) -> Iterator[str]:
    """What was launched on devices, in one line, and what its times mean."""
    told = kernels(program)
    whole = sum(time for _, _, time in told)
    if told:
        yield "device: how long it ran what a row launched, beside the program, which goes on; no part of its time"
        first = ", ".join(f"{kernel_name(name)} {time / max(whole, 1):.0%}" for name, _, time in told[:KERNELS])
        count = sum(count for _, count, _ in told)
        kinds = f" of {len(told)} kinds" if len(told) > 1 else ""
        yield f"on the device: {seconds(whole)} in {count:,} launch{'es' * (count != 1)}{kinds}: {first}"


def _findings(trail: Trail, options: Options) -> tuple[str, ...]:
    """What must be known beside the rows; what was not stepped, or not to its end, only in a verbose view.

    No figure of these rows is of a stepped call.
    """
    beside = (f for f in trail.findings if f.kind != TWICE)
    told = (f for f in beside if options.verbose or not isinstance(f.told, KindsStepped | TreeEnds))
    return findings(replace(trail, findings=tuple(told)))


def _stepped(trail: Trail, options: Options) -> Iterator[str]:
    """How much of the program was stepped, in one line."""
    for finding in trail.findings:
        if isinstance(finding.told, KindsStepped) and not options.verbose:
            told = f"{finding.told.kinds:,} of {finding.told.all_kinds:,} kinds"
            more = MORE_BUDGET[trail.traced.name]
            reasons = Counter(route.unstepped for route in trail.recorded.routes if route.unstepped is not None)
            would_help = BudgetSpent() in reasons or not reasons
            why = f"{more} for more" if would_help else f"of others none: {sentence(reasons.most_common(1)[0][0])}"
            yield f"C++ inside operators: --view tree has it for {told}; {why}"
