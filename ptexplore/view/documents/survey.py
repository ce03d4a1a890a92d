"""The document of `survey`."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from ptexplore.view.documents.parts import FORMAT
from ptexplore.view.survey import OperatorFacts, Report, operator_facts


class ShareEntry(Struct, frozen=True):
    """A count and its total."""

    name: str  # the name of the figure
    count: int  # the count
    total: int  # the total
    asked: float | None  # the required share; null if none is required


class ExceptionEntry(Struct, frozen=True):
    """An operator or function that differs from the others."""

    name: str  # its name
    why: str  # the reason


class ExceptionsOfSort(Struct, frozen=True):
    """The exceptions of one sort."""

    title: str  # the sort
    entries: tuple[ExceptionEntry, ...] = field(name="found")  # each operator or function


class SurveyDocument(Struct, frozen=True):
    """`survey --json`."""

    format: int  # 1
    about: Mapping[str, str]  # the torch, the run, the trees it was resolved with, the time it took
    shares: tuple[ShareEntry, ...]  # how many are as they should be
    exceptions: tuple[ExceptionsOfSort, ...]  # operators with an unexpected result
    missing: tuple[str, ...]  # operators that were asked for but not surveyed yet
    operators: tuple[OperatorFacts, ...]  # the operators that were surveyed


def survey_document(report: Report) -> SurveyDocument:
    """Returns the report with the facts of every operator."""
    return SurveyDocument(
        format=FORMAT,
        about=report.about,
        shares=tuple(ShareEntry(share.name, share.count, share.total, share.asked) for share in report.shares),
        exceptions=tuple(
            ExceptionsOfSort(sort.title, tuple(ExceptionEntry(name, why) for name, why in sort.entries))
            for sort in report.exceptions
        ),
        missing=report.missing,
        operators=tuple(map(operator_facts, report.rows)),
    )
