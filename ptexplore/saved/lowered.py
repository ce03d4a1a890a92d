"""A run of `ptexplore lower` as JSON: written, and read back as untrusted data. Nothing in it is executed."""

from __future__ import annotations

import dataclasses

from msgspec.structs import replace

from ptexplore.errors import USAGE, PtexploreError
from ptexplore.model.rungs import LOWER_FORMAT, LowerReport, SavedLower
from ptexplore.saved.compiled import run_from_json, without_folder
from ptexplore.saved.document import to_json

WRITE_ONE = 'ptexplore lower "torch.relu(a @ b)" --save FILE writes one'


def lower_to_json(report: LowerReport) -> str:
    """Returns the report as JSON text in ASCII, without the folder of torch."""
    run = report.run
    bare = replace(report, run=replace(run, torch=dataclasses.replace(run.torch, torch_dir="")))
    return without_folder(to_json(SavedLower(bare)), run.torch.torch_dir)


def lower_from_json(data: bytes, name: str) -> LowerReport:
    """Returns the report in a file, packed or not. `name` is the file's, for messages.

    Raises PtexploreError: exit code USAGE for anything truncated or hostile, MISSING if a newer ptexplore wrote it.
    """
    report = run_from_json(data, name, "lower", LOWER_FORMAT, SavedLower, WRITE_ONE).report
    names = [rung.name for rung in report.rungs]
    if not names or len({*names}) < len(names):
        why = "it has a rung twice" if names else "it has no rung"
        raise PtexploreError(f"{name} is not a saved run of ptexplore lower", why, WRITE_ONE, USAGE)
    return report
