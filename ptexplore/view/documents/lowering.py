"""The same code on each rung."""

from __future__ import annotations

from msgspec import Struct

from ptexplore.model.rungs import LoweredSubject, LowerReport, Rung, RungStep
from ptexplore.view.documents.parts import FORMAT


class LowerDocument(Struct, frozen=True):
    """`lower --json`."""

    format: int  # 1.
    expression: str  # the expression.
    torch: str  # the version of torch.
    subject: LoweredSubject  # the module or the expression.
    rungs: tuple[Rung, ...]  # the rungs, from your Python down.
    steps: tuple[RungStep, ...]  # what became of each operator on the next rung, by torch's own record.


def lower_document(report: LowerReport) -> LowerDocument:
    """Returns the document of a report."""
    run = report.run
    return LowerDocument(FORMAT, run.expression, run.torch.version, run.ladder.subject, report.rungs, report.steps)
