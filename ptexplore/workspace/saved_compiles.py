"""Saved runs of `ptexplore compile`: a file that the user named, or the newest runs in the cache."""

from __future__ import annotations

import gzip
from pathlib import Path

from ptexplore.errors import PtexploreError
from ptexplore.model.compiled import CompileReport
from ptexplore.saved.compiled import WRITE_ONE, compile_from_json, compile_to_json
from ptexplore.saved.document import costs_too_much
from ptexplore.workspace.kept_traces import keep_data, kept_file
from ptexplore.workspace.saved_traces import PACKED, read_saved, write_file

ENDING = ".compile.gz"
_EXAMPLE = "ptexplore compile --script train.py"


def load_compile(name: str) -> CompileReport:
    """Returns a saved run. Raises PtexploreError (USAGE) if the file is not one."""
    return compile_from_json(read_saved(name, WRITE_ONE), name)


def save_compile(path: Path, report: CompileReport) -> None:
    """Writes a run to a file. Raises PtexploreError if the file cannot be written."""
    write_file(path, _packed(report, str(path)))


def keep_compile(report: CompileReport) -> None:
    """Write a run into the cache for `--last`, if that is possible."""
    try:
        data = _packed(report, "the run")
    except PtexploreError:
        return
    keep_data(data, ENDING)


def last_compile(number: int = 1) -> Path:
    """Returns the file of the newest run, or of the `number`-th newest. Raises PtexploreError (missing) if none is."""
    return kept_file(number, ENDING, "compile", _EXAMPLE)


def _packed(report: CompileReport, name: str) -> bytes:
    return packed_text(compile_to_json(report), name, "ptexplore compile --json")


def packed_text(text: str, name: str, hint: str) -> bytes:
    """Returns a saved run, packed. Raises PtexploreError with the `hint` if it could not be loaded again."""
    data = text.encode()
    cost = costs_too_much(data)
    if cost is not None:
        raise PtexploreError(f"{name} was not written", f"{cost}: it could not be loaded again", hint)
    return gzip.compress(data, PACKED, mtime=0)
