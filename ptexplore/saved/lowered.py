"""A run of `ptexplore lower` as JSON: written, and read back as untrusted data. Nothing in it is executed."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from msgspec.structs import replace

from ptexplore.errors import MISSING, USAGE, PtexploreError
from ptexplore.model.rungs import LOWER_FORMAT, LowerReport, SavedLower
from ptexplore.saved.compiled import without_folder
from ptexplore.saved.document import from_json, known_format, to_json, unpacked

WRITE_ONE = 'ptexplore lower "torch.relu(a @ b)" --save FILE writes one'


@dataclass(frozen=True, slots=True)
class _Head:
    """The beginning of every saved run."""

    kind: str
    format: int


def lower_to_json(report: LowerReport) -> str:
    """Returns the report as JSON text in ASCII, without the folder of torch."""
    run = report.run
    bare = replace(report, run=replace(run, torch=dataclasses.replace(run.torch, torch_dir="")))
    return without_folder(to_json(SavedLower(bare)), run.torch.torch_dir)


def lower_from_json(data: bytes, name: str) -> LowerReport:
    """Returns the report in a file, packed or not. `name` is the file's, for messages.

    Raises PtexploreError: exit code USAGE for anything truncated or hostile, MISSING if a newer ptexplore wrote it.
    """
    try:
        text = unpacked(data, name)
        head = from_json(text, _Head, name)
        if head.kind == "lower":
            known_format(head.format, name, LOWER_FORMAT)
        return from_json(text, SavedLower, name).report
    except PtexploreError as error:
        if error.exit_code == MISSING:
            raise
        message = f"{name} is not a saved run of ptexplore lower"
        raise PtexploreError(message, error.why, WRITE_ONE, USAGE) from error
