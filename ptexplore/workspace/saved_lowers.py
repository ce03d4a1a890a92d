"""Saved runs of `ptexplore lower`."""

from __future__ import annotations

from msgspec.structs import replace

from ptexplore.model.rungs import LowerReport
from ptexplore.resolve.lowering import conclude_rungs
from ptexplore.saved.lowered import WRITE_ONE, lower_from_json, lower_to_json
from ptexplore.workspace.saved_runs import SavedRuns


def _concluded(data: bytes, name: str) -> LowerReport:
    """Returns the run in a file. The file may say anything: the steps follow from the rungs."""
    report = lower_from_json(data, name)
    return conclude_rungs(replace(report.run, ladder=replace(report.run.ladder, rungs=report.rungs)))


LOWERS = SavedRuns("lower", 'ptexplore lower "torch.relu(a @ b)"', WRITE_ONE, lower_to_json, _concluded)
