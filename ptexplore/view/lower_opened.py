"""Two rungs side by side, and one operator on all rungs: `lower --to A,B` and `lower --open OP`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ptexplore.errors import USAGE, PtexploreError
from ptexplore.model.rungs import LowerReport, Rung, RungLink, RungName, RungOperator
from ptexplore.resolve.lowering import step_between
from ptexplore.view.compile_page import CompilePage, FileLabels, PageLine, PageRow, PageSection
from ptexplore.view.lower_page import changes_words, known_rungs, labels_of_run, lower_page, short
from ptexplore.view.words.compiling import amount
from ptexplore.view.words.lowering import ABOUT

MOST_ROWS = 2_000
MOST_NAMES = 12
MOST_FOLLOWED = 4  # operators of one name that are followed


# --- rungs side by side ---


def rungs_page(report: LowerReport, names: Sequence[RungName]) -> CompilePage:
    """Returns the page of one rung or two. Raises PtexploreError (USAGE) if one of them has no graph."""
    labels = labels_of_run(report)
    failed = tuple(rung for rung in report.rungs if rung.name in names and rung.failure is not None)
    if failed:  # the page of all rungs says why
        return lower_page(report)
    rungs = [_made(report, name) for name in names]
    section = _alone(rungs[0], labels) if len(rungs) == 1 else _pair(report, rungs[0], rungs[1], labels)
    return replace(lower_page(report), findings=(), sections=(section,))


def _made(report: LowerReport, name: RungName) -> Rung:
    rung = next((rung for rung in report.rungs if rung.name == name), None)
    if rung is None or rung.failure is not None:
        known = ", ".join(known_rungs(report))
        why = f"this run made {known}" if known else "this run made no rung"
        raise PtexploreError(f"this run has no graph of the rung {name}", why, "ptexplore lower --last", USAGE)
    return rung


def _alone(rung: Rung, labels: FileLabels) -> PageSection:
    rows = [_row(operator, "", labels) for operator in rung.operators[:MOST_ROWS]]
    return PageSection((), f"{rung.name}: {ABOUT[rung.name]}", tuple(rows), _cut(rung))


def _row(operator: RungOperator, text: str, labels: FileLabels) -> PageRow:
    return PageRow((), short(operator.operator), labels.place(operator.at) if operator.at is not None else None, text)


def _cut(rung: Rung) -> tuple[str, ...]:
    left = rung.count - min(len(rung.operators), MOST_ROWS)
    return (f"{left:,} more operators",) if left else ()


def _pair(report: LowerReport, before: Rung, after: Rung, labels: FileLabels) -> PageSection:
    """Returns two rungs side by side: by torch's links, else by your lines."""
    step = step_between(report.rungs, before.name, after.name)
    if step is None:
        return _by_lines(before, after, labels)
    lower = {operator.name: operator for operator in after.operators}
    upper = {operator.name: operator for operator in before.operators}
    rows = []
    for way in step.operators:
        made = [short(lower[name].operator) for name in way.into] or ["(removed)"]
        rows.append(_row(upper[way.name], made[0], labels))
        rows += [PageRow((), "", None, name) for name in made[1:]]
    for name in step.added:
        made_of_none = lower[name]
        place = labels.place(made_of_none.at) if made_of_none.at is not None else None
        rows.append(PageRow((), "(added)", place, short(made_of_none.operator)))
    heading = f"{before.name} → {after.name}: {changes_words(step)}"
    return PageSection((), heading, tuple(rows[:MOST_ROWS]), _cut(after))


def _by_lines(before: Rung, after: Rung, labels: FileLabels) -> PageSection:
    """Returns two rungs by your lines: torch keeps no record that links their operators."""
    groups: dict[tuple[str, int], tuple[list[RungOperator], list[RungOperator]]] = {}
    for side, rung in enumerate((before, after)):
        for operator in rung.operators:
            key = (operator.at.file, operator.at.line) if operator.at is not None else ("", 0)
            groups.setdefault(key, ([], []))[side].append(operator)
    rows = []
    for left, right in groups.values():
        for number in range(max(len(left), len(right))):
            first = left[number] if number < len(left) else None
            second = short(right[number].operator) if number < len(right) else ""
            at = (left or right)[0].at if number == 0 else None
            rows.append(PageRow((), short(first.operator) if first else "", labels.place(at) if at else None, second))
    heading = f"{before.name} | {after.name}, by line: torch keeps no link between their operators"
    return PageSection((), heading, tuple(rows[:MOST_ROWS]), _cut(after))


# --- one operator on all rungs ---


def followed_page(report: LowerReport, name: str) -> CompilePage:
    """Returns the page of the operators with a name: "gelu", "aten.add.Tensor", "core:addmm", "train.py:12".

    Raises PtexploreError (USAGE) if no rung has such an operator.
    """
    labels = labels_of_run(report)
    anchors = list(_anchors(report, name.strip(), labels))
    if not anchors:
        known = list(dict.fromkeys(short(op.operator) for rung in report.rungs for op in rung.operators))
        why = f"this run has: {', '.join(known[:MOST_NAMES])}" if known else "this run has no operator"
        raise PtexploreError(f"no rung has an operator {name[:80]}", why, "ptexplore lower --last", USAGE)
    sections = [_followed(report, rung, operator, labels) for rung, operator in anchors[:MOST_FOLLOWED]]
    left = len(anchors) - len(sections)
    page = lower_page(report)
    facts: tuple[str, ...] = ()
    if left:
        rung, operator = anchors[-1]
        facts = (f"{left} more of this name: --open RUNG:NAME opens one, such as {rung.name}:{operator.name}",)
    return replace(page, facts=facts, findings=(), sections=tuple(sections))


def _anchors(report: LowerReport, name: str, labels: FileLabels) -> Iterator[tuple[Rung, RungOperator]]:
    """Yields the operators that a name means: of the highest rung with links if one has them, else of each rung."""
    given, _, rest = name.partition(":")
    is_rung = any(rung.name == given for rung in report.rungs)
    matches = [
        (rung, operator)
        for rung in report.rungs
        for operator in rung.operators
        if (rung.name == given and operator.name == rest if is_rung else _means(operator, name, labels))
    ]
    linked = [rung.name for rung, _ in matches if rung.name in _linked(report)]
    yield from (match for match in matches if not linked or match[0].name == linked[0])


def _linked(report: LowerReport) -> set[RungName]:
    """Returns the rungs that torch's links lead to or from."""
    return {rung.name for rung in report.rungs if rung.links_to} | {
        rung.links_to for rung in report.rungs if rung.links_to
    }


def _means(operator: RungOperator, name: str, labels: FileLabels) -> bool:
    plain = operator.operator.replace("::", ".")
    parts = plain.split(".")
    base = parts[1] if parts[0] in ("aten", "prims") and len(parts) > 1 else parts[-1]
    at = labels.place(operator.at).name if operator.at is not None else ""
    return name in (operator.name, operator.operator, plain, short(plain), base, at) or name.replace("::", ".") == plain


def _followed(report: LowerReport, rung: Rung, operator: RungOperator, labels: FileLabels) -> PageSection:
    by_name = {made.name: made for made in report.rungs}
    reached = _reached(by_name, rung, operator)
    rows: list[PageRow] = []
    has_lines = False  # whether operators are known only by their line
    for made in report.rungs:
        if made.failure is not None:
            continue
        names = reached.get(made.name)
        if names is not None:
            rows += _operators_of(made, names, "", operator)
        elif operator.at is not None and made.name not in _linked(report):
            same = {o.name for o in made.operators if o.at is not None and _line(o) == _line(operator)}
            rows += _operators_of(made, same, "same line:", operator)
            has_lines = has_lines or bool(same)
    place = labels.place(operator.at).name if operator.at is not None else "no line known"
    text = f"  {operator.at.text}" if operator.at is not None else ""
    after = () if operator.at is None else (f"same line: torch keeps no link there, so {place} is all that is known",)
    heading = f"{rung.name}:{operator.name}  {short(operator.operator)}  {place}{text}"
    return PageSection((), heading, tuple(rows), after if has_lines else ())


def _line(operator: RungOperator) -> tuple[str, int]:
    assert operator.at is not None
    return operator.at.file, operator.at.line


def _operators_of(rung: Rung, names: set[str], label: str, opened: RungOperator) -> Iterator[PageRow]:
    lines = []
    for operator in rung.operators:
        if operator.name in names:
            core = "" if operator.is_core is not False or rung.name != "core" else "not Core ATen"
            text = "  ".join(filter(None, (short(operator.operator), operator.name, operator.type, core)))
            lines.append(PageLine(text, label=label, is_strong=operator is opened))
    yield PageRow((), rung.name, None, amount(len(lines), "operator") if len(lines) != 1 else "", tuple(lines))


def _reached(rungs: Mapping[RungName, Rung], rung: Rung, operator: RungOperator) -> dict[RungName, set[str]]:
    """Returns the operators above and below one, by rung."""
    sources: dict[RungLink, list[RungLink]] = {}  # the operators that one was made from.
    made_from: dict[RungLink, list[RungLink]] = {}  # the operators that were made from one.
    for made in rungs.values():
        for known in made.operators:
            link = RungLink(made.name, known.name)
            sources.setdefault(link, []).extend(known.sources)
            for source in known.sources:
                made_from.setdefault(source, []).append(link)
    start = RungLink(rung.name, operator.name)
    links = _behind(start, sources) | _behind(start, made_from)
    reached: dict[RungName, set[str]] = {}
    for link in links:
        reached.setdefault(link.rung, set()).add(link.name)
    return reached


def _behind(start: RungLink, links: Mapping[RungLink, Sequence[RungLink]]) -> set[RungLink]:
    """Returns an operator with all operators behind its links."""
    reached, pending = {start}, [start]
    while pending:
        for link in links.get(pending.pop(), ()):
            if link not in reached:
                reached.add(link)
                pending.append(link)
    return reached
