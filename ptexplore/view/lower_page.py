"""The page of `ptexplore lower`: a row for each rung, then the two neighbours that differ most, side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ptexplore.model.rungs import (
    LowerReport,
    OperatorDifference,
    Rung,
    RungDifference,
    RungFailure,
    RungName,
    RungOperator,
    RungStep,
)
from ptexplore.view.compile_page import CompilePage, FileLabels, PageLine, PageRow, PageSection, seconds_words
from ptexplore.view.words.compiling import amount
from ptexplore.view.words.lowering import ABOUT, CHANGES, FAILURES, FLAGS, NOT_CORE, NOTES, UNCHECKED

MOST_ROWS = 14  # changed operators on the first screen
MOST_KINDS = 6
MOST_NOTES = 3
LONGEST = 160  # characters of a message of torch


def lower_page(report: LowerReport, *, on_site: bool = False) -> CompilePage:
    """Returns the first screen. On a site, it names no options of the command."""
    names = labels_of_run(report)
    sections = [_rungs(report, names, on_site=on_site)]
    step = most_changed(report.steps)
    if step is not None:
        sections.append(_changes(report, step, names, on_site=on_site))
    run = report.run
    return CompilePage(
        title=run.expression,
        version=f"torch {run.torch.version}",
        facts=tuple(_facts(report)),
        findings=tuple(_findings(report)),
        sections=tuple(sections),
    )


def labels_of_run(report: LowerReport) -> FileLabels:
    """Returns the short names of the files of a run."""
    return FileLabels(report.run.cwd, "", report.run.torch.torch_dir)


def short(operator: str) -> str:
    """Returns the name of an operator without the overload "default"."""
    return operator.removesuffix(".default")


def most_changed(steps: Sequence[RungStep]) -> RungStep | None:
    """Returns the step between two neighbours that changes most operators; None if none changes any."""
    changed = max(steps, key=lambda step: step.changed, default=None)
    return changed if changed is not None and changed.changed else None


# --- the first lines ---


def _facts(report: LowerReport) -> Iterator[str]:
    subject = report.run.ladder.subject
    inputs = ", ".join(f"{bound.name}: {bound.description}" for bound in subject.inputs) or "no input"
    kind = f"{subject.text}, " if subject.text else ""
    held = f"; {amount(subject.parameters, 'parameter')}" if subject.parameters else ""
    mode = ", in training mode" if subject.is_training else ""
    yield f"{kind}{inputs}{held}{mode}"
    made = [rung for rung in report.rungs if rung.failure is None]
    missing = [rung for rung in report.rungs if rung.failure is not None and rung.failure.kind != "nothing"]
    compared = [rung for rung in made if rung.difference is not None]
    equal = sum(rung.difference is not None and rung.difference.is_equal for rung in compared)
    close = sum(rung.difference is not None and rung.difference.is_close for rung in compared) - equal
    words = f"{amount(len(made), 'rung')} made" + (f", {len(missing)} not" if missing else "")
    if compared:
        far = len(compared) - equal - close
        counts = ((equal, "equal bit for bit"), (close, "within torch.testing's tolerance"), (far, "beyond it"))
        words += f"; {amount(len(compared), 'result')} compared with eager mode: "
        words += ", ".join(f"{count} {kind}" for count, kind in counts if count)
    yield words


def _findings(report: LowerReport) -> Iterator[str]:
    for rung in report.rungs:
        difference = rung.difference
        if difference is not None and not difference.is_close:
            far = difference.problem or f"differs by {figure(difference.absolute)}"
            yield f"{rung.name}: {difference.part} {far}, more than torch.testing's tolerance"
        writes = [op for op in rung.operators if op.writes]
        if rung.name in ("functional", "core") and writes:
            yield f"{rung.name}: {amount(len(writes), 'operator')} still writes to an input"


# --- the rungs ---


def _rungs(report: LowerReport, names: FileLabels, *, on_site: bool) -> PageSection:
    steps = {step.after: step for step in report.steps}
    rows = [_rung(rung, steps.get(rung.name), names, report, on_site=on_site) for rung in report.rungs]
    return PageSection(("operators", "difference", "time"), "rung", tuple(rows))


def _rung(rung: Rung, step: RungStep | None, names: FileLabels, report: LowerReport, *, on_site: bool) -> PageRow:
    about = ABOUT[rung.name]
    if rung.failure is not None:
        flag = FLAGS.get(rung.failure.kind) if not on_site else None
        text = f"{about}: {_failure_words(rung.failure, report)}{f' ({flag})' if flag is not None else ''}"
        return PageRow(("-", "-", "-"), rung.name, None, text, tuple(_failure(rung.failure, names)))
    time = seconds_words(rung.seconds) if rung.seconds is not None else "-"
    cells = (f"{rung.count:,}", _difference(rung), time)
    counts = f": {changes_words(step)}" if step is not None and (step.changed or step.operators) else ""
    return PageRow(cells, rung.name, None, f"{about}{counts}", tuple(_remarks(rung, names)))


def changes_words(step: RungStep) -> str:
    """Returns how many operators changed: "2 decomposed, 1 replaced"."""
    counts = {name: step.amount(name) for name in ("decomposed", "replaced", "removed")} | {"added": len(step.added)}
    words = [f"{count} {CHANGES[name]}" for name, count in counts.items() if count]
    return ", ".join(words) or f"the same as {step.before}"


def _difference(rung: Rung) -> str:
    difference = rung.difference
    if difference is None:
        return "?" if rung.unchecked is not None else "-"
    return "0" if difference.is_equal else figure(difference.absolute)


def figure(value: float | None) -> str:
    """Returns a difference with two digits: "2.4e-07"."""
    return "infinite" if value is None else "0" if value == 0 else f"{value:.1e}"


def _remarks(rung: Rung, names: FileLabels) -> Iterator[PageLine]:
    if rung.unchecked is not None:
        yield PageLine(UNCHECKED[rung.unchecked], label="not compared:")
    if rung.name == "core":
        yield from _not_core(rung)
    if rung.name == "prims":
        rest = Counter(short(op.operator) for op in rung.operators if not op.operator.startswith("prims."))
        if rest:
            yield PageLine(_counted(rest), label="without a prim:")
    for note in rung.notes[:MOST_NOTES]:
        place = names.place(note.at) if note.at is not None else None
        yield PageLine("  ".join(filter(None, (note.at.text if note.at else "", _note_text(note.text)))), 0, place,
                       f"{NOTES[note.kind]}:" if place is not None else NOTES[note.kind])  # fmt: skip
    if len(rung.notes) > MOST_NOTES:
        yield PageLine(f"and {amount(len(rung.notes) - MOST_NOTES, 'more place')}")
    if rung.compared:
        yield from _first(rung)


def _note_text(text: str) -> str:
    return "" if text.startswith("Converting a tensor") or text in ("If", "Loop") else text[:LONGEST]


def _first(rung: Rung) -> Iterator[PageLine]:
    """Yields the first operator that differs from eager mode: with the errors so far, and with eager's inputs."""
    if rung.first is None and rung.first_local is None:
        yield PageLine(f"{amount(rung.compared, 'operator')} compared with eager mode, all equal bit for bit")
        return
    labels = ("first to differ:", "first to differ with eager's inputs:")
    for label, first in zip(labels, (rung.first, rung.first_local), strict=True):
        text = _difference_at(first) if first is not None else f"none of {rung.compared}"
        if label == labels[0] or first != rung.first:
            yield PageLine(text, label=label)


def _difference_at(first: OperatorDifference) -> str:
    return f"{first.operator.name}, for {first.source.name} of export, by {difference_words(first.difference)}"


def difference_words(difference: RungDifference) -> str:
    """Returns a difference: absolute, relative, and in units in the last place."""
    if difference.problem:
        return difference.problem
    ulps = f", {difference.ulps:,.0f} ulp" if difference.ulps is not None else ""
    return f"{figure(difference.absolute)} absolute, {figure(difference.relative)} relative{ulps}"


def not_core_reason(operator: RungOperator) -> str:
    """Returns why an operator in the rung of Core ATen is not Core ATen."""
    return NOT_CORE["custom" if operator.is_custom else "writes" if operator.writes else "untagged"]


def _not_core(rung: Rung) -> Iterator[PageLine]:
    """Yields the operators that torch does not tag as Core ATen, by the reason."""
    by_reason: dict[str, Counter[str]] = {}
    for operator in rung.operators:
        if operator.is_core is False:
            by_reason.setdefault(not_core_reason(operator), Counter())[short(operator.operator)] += 1
    for reason, kinds in by_reason.items():
        yield PageLine(f"{_counted(kinds)} ({reason})", label="not Core ATen:")


def _counted(kinds: Counter[str]) -> str:
    words = [f"{name} ×{count}" if count > 1 else name for name, count in list(kinds.items())[:MOST_KINDS]]
    return ", ".join(words) + (f" and {len(kinds) - MOST_KINDS} more" if len(kinds) > MOST_KINDS else "")


def _failure_words(failure: RungFailure, report: LowerReport) -> str:
    seconds = f"{report.run.options.timeout:g}"
    return FAILURES[failure.kind].format(seconds=seconds, signal=failure.signal, needs=failure.needs)


def _failure(failure: RungFailure, names: FileLabels) -> Iterator[PageLine]:
    if failure.kind in ("raised", "lacks"):
        yield PageLine(": ".join(filter(None, (failure.exception, first_line(failure.message)))))
    if failure.at is not None:
        yield PageLine(failure.at.text, 1, names.place(failure.at), "at")
    elif failure.by is not None:
        yield PageLine("", 1, names.place(failure.by), "raised in")


def first_line(message: str) -> str:
    """Returns the first line of a message that says something."""
    line = next((line.strip() for line in message.split("\n") if line.strip()), "")
    return line if len(line) <= LONGEST else f"{line[:LONGEST]} …"


# --- two rungs side by side ---


def _changes(report: LowerReport, step: RungStep, names: FileLabels, *, on_site: bool) -> PageSection:
    """Returns the operators that the step changes; the others are counted."""
    rungs = {rung.name: rung for rung in report.rungs}
    before = {operator.name: operator for operator in rungs[step.before].operators}
    after = {operator.name: operator for operator in rungs[step.after].operators}
    changed = [row for row in step.operators if row.outcome != "same"]
    rows = [_side_by_side(before[row.name], [after[name] for name in row.into], names) for row in changed[:MOST_ROWS]]
    if step.added:
        rows.append(PageRow((), "(added)", None, _kinds([short(after[name].operator) for name in step.added])))
    lines = []
    left = len(changed) - MOST_ROWS
    same = step.amount("same")
    if left > 0:
        lines.append(f"{left} more changed{'' if on_site else f': --to {step.before},{step.after} shows all'}")
    if same:
        lines.append(f"{amount(same, 'operator')} the same on both")
    pair = f"{step.before} → {step.after}"
    return PageSection(
        (), f"{pair}, the neighbours that differ most", tuple(rows), tuple(lines), title=f"What {pair} changes"
    )


def _side_by_side(operator: RungOperator, into: Sequence[RungOperator], names: FileLabels) -> PageRow:
    made = _kinds([short(other.operator) for other in into])
    return PageRow((), short(operator.operator), names.place(operator.at) if operator.at else None, made or "(removed)")


def _kinds(into: Sequence[str]) -> str:
    """Returns operators by kind, each counted. A namespace that all of them have in common is written once."""
    namespaces = {name.partition(".")[0] for name in into}
    prefix = f"{namespaces.pop()}." if len(namespaces) == 1 and len(into) > 1 else ""
    kinds = Counter(name.removeprefix(prefix) for name in into)
    words = ", ".join(f"{name} ×{count}" if count > 1 else name for name, count in kinds.items())
    return f"{prefix.removesuffix('.')}: {words}" if prefix else words


def known_rungs(report: LowerReport) -> tuple[RungName, ...]:
    """Returns the rungs of a report that have a graph."""
    return tuple(rung.name for rung in report.rungs if rung.failure is None)
