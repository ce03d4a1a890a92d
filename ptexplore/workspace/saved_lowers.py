"""Saved runs of `ptexplore lower`: a file that the user named, or the newest runs in the cache."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from ptexplore.errors import PtexploreError
from ptexplore.model.rungs import LowerReport
from ptexplore.resolve.lowering import conclude_rungs
from ptexplore.saved.lowered import WRITE_ONE, lower_from_json, lower_to_json
from ptexplore.workspace.kept_traces import keep_data, kept_file
from ptexplore.workspace.saved_compiles import packed_text
from ptexplore.workspace.saved_traces import read_saved, write_file

ENDING = ".lower.gz"
_EXAMPLE = 'ptexplore lower "torch.relu(a @ b)"'


def load_lower(name: str) -> LowerReport:
    """Returns a saved run. Raises PtexploreError (USAGE) if the file is not one."""
    report = lower_from_json(read_saved(name, WRITE_ONE), name)
    # A file may say anything: the steps follow from the rungs.
    return conclude_rungs(replace(report.run, ladder=replace(report.run.ladder, rungs=report.rungs)))


def save_lower(path: Path, report: LowerReport) -> None:
    """Writes a run to a file. Raises PtexploreError if the file cannot be written."""
    write_file(path, _packed(report, str(path)))


def keep_lower(report: LowerReport) -> None:
    """Write a run into the cache for `--last`, if that is possible."""
    try:
        data = _packed(report, "the run")
    except PtexploreError:
        return
    keep_data(data, ENDING)


def last_lower(number: int = 1) -> Path:
    """Returns the file of the newest run, or of the `number`-th newest. Raises PtexploreError (missing) if none is."""
    return kept_file(number, ENDING, "lower", _EXAMPLE)


def _packed(report: LowerReport, name: str) -> bytes:
    return packed_text(lower_to_json(report), name, "ptexplore lower --json")
