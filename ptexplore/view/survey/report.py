"""What a whole survey came to: its shares, its exceptions by name, and one line an operator."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ptexplore.view.survey import rows as survey
from ptexplore.view.survey.rows import SurveyRow, row_to_document

SHOWN = 3  # operators named for each function that is neither registered nor located


@dataclass(frozen=True, slots=True)
class Share:
    """So many of so many, and the share that is asked for, None where none is."""

    name: str
    count: int
    total: int
    asked: float | None = None

    @property
    def percent(self) -> str:
        """One decimal, cut and not rounded: 99.96% is not 100.0%."""
        if not self.total:
            return "-"
        return f"{int(1000 * self.count / self.total) / 10:.1f}%"


@dataclass(frozen=True, slots=True)
class Exceptions:
    """Operators, or functions, that are not as the others, each with why."""

    title: str
    found: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Report:
    """A survey as every renderer shows it."""

    title: str
    about: Mapping[str, str]
    shares: tuple[Share, ...]
    exceptions: tuple[Exceptions, ...]
    rows: tuple[SurveyRow, ...]
    missing: tuple[str, ...]  # operators that were not surveyed yet


def report_of(
    about: Mapping[str, str], operators: Sequence[str], rows: Mapping[str, SurveyRow], trees: Sequence[str] = ()
) -> Report:
    """The report on `operators`; `rows` are those that were surveyed, by name, `trees` what they were resolved with."""
    found = tuple(rows[op] for op in operators if op in rows)
    return Report(
        title=f"{len(found)} of PyTorch's own operator samples, traced",
        about=about,
        shares=tuple(_shares(found, matched=any(tree.endswith("(matches)") for tree in trees))),
        exceptions=tuple(one for one in _exceptions(found) if one.found),
        rows=found,
        missing=tuple(op for op in operators if op not in rows),
    )


def _shares(rows: Sequence[SurveyRow], *, matched: bool) -> Iterator[Share]:
    ran = [row for row in rows if row.state != survey.NO_SAMPLE]
    native = [row for row in ran if row.state in survey.NATIVE]
    frames = sum((Counter(row.frames) for row in rows), Counter[str]())
    yield Share("operators with a sample for the CPU", len(ran), len(rows))
    yield Share("traced natively, of those", len(native), len(ran), 0.99)
    yield Share("the whole expression stepped, of those", sum(row.state == survey.WHOLE for row in ran), len(native))
    equal = sum(row.result == survey.EQUAL for row in ran)
    compared = sum(row.state != survey.FAILED and row.result != survey.EXEMPT for row in ran)
    yield Share("results equal to the untraced one, of those not exempt", equal, compared, 1.0)
    right = sum(row.prediction == survey.RIGHT for row in native)
    yield Share("predictions right, of those traced natively", right, len(native))
    placed = sum(frames[name] for name in survey.PLACED)
    asked = 0.95 if matched else None  # without the source of the very release there is no line to know
    yield Share("frames registered or located, of those kept", placed, frames.total(), asked)
    for name, count in frames.most_common():
        yield Share(f"frames: {name}", count, frames.total())


def _exceptions(rows: Sequence[SurveyRow]) -> Iterator[Exceptions]:
    def listed(title: str, found: Iterable[tuple[str, str]]) -> Exceptions:
        return Exceptions(title, tuple(found))

    yield listed("No sample for the CPU", ((row.op, row.why) for row in rows if row.state == survey.NO_SAMPLE))
    yield listed("Not traced", ((row.op, row.why) for row in rows if row.state == survey.FAILED))
    yield listed("Traced without the native pass", ((row.op, row.why) for row in rows if row.state == survey.DERIVED))
    yield listed(
        "One operator call stepped, not the whole expression",
        ((row.op, row.stepped) for row in rows if row.state == survey.CALL),
    )
    yield listed("Cut", ((row.op, "; ".join(row.cuts)) for row in rows if row.cuts))
    yield listed(
        "Another result when traced", ((row.op, _changed(row)) for row in rows if row.result == survey.DIFFERS)
    )
    yield listed(
        "Result not compared",
        (
            (row.op, "it has no plain bytes")
            for row in rows
            if row.result == survey.UNCOMPARED and row.state in (*survey.NATIVE, survey.DERIVED)
        ),
    )
    yield listed(
        "Exempt from comparison",
        ((row.op, survey.EXEMPTED[row.op.partition(".")[0]]) for row in rows if row.result == survey.EXEMPT),
    )
    yield listed("Predicted otherwise", ((row.op, "; ".join(row.differences)) for row in rows if row.differences))
    yield listed("Other findings", ((row.op, "; ".join(row.findings)) for row in rows if row.findings))
    yield listed("Functions neither registered nor located", _unplaced(rows))


def _changed(row: SurveyRow) -> str:
    return f"in the {' and '.join(row.changed)} pass{'es' if len(row.changed) > 1 else ''}"


def _unplaced(rows: Iterable[SurveyRow]) -> Iterator[tuple[str, str]]:
    """The functions without a line that is known, those that most operators meet first."""
    found: defaultdict[tuple[str, str, str], list[str]] = defaultdict(list)
    for row in rows:
        for one in row.unplaced:
            found[one].append(row.op)
    for (name, precision, reason), ops in sorted(found.items(), key=lambda item: (-len(item[1]), item[0])):
        more = f" and {len(ops) - SHOWN} more" if len(ops) > SHOWN else ""
        yield name, f"{precision}{f' ({reason})' if reason else ''}: {', '.join(ops[:SHOWN])}{more}"


def report_to_document(report: Report) -> dict[str, Any]:
    """The report as plain JSON data."""
    return {
        "format": 1,
        "about": dict(report.about),
        "shares": [{"name": s.name, "count": s.count, "total": s.total, "asked": s.asked} for s in report.shares],
        "exceptions": [
            {"title": one.title, "found": [{"name": name, "why": why} for name, why in one.found]}
            for one in report.exceptions
        ],
        "missing": list(report.missing),
        "operators": [row_to_document(row) for row in report.rows],
    }
