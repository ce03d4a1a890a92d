"""A run of `ptexplore compile` as JSON: written, and read back as untrusted data. Nothing in it is executed."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TypeVar

from ptexplore.errors import MISSING, USAGE, PtexploreError
from ptexplore.model.compiled import COMPILE_FORMAT, CompileReport, SavedCompile
from ptexplore.model.compiler_log import CompilerLog
from ptexplore.saved.document import from_json, known_format, to_json, unpacked

WRITE_ONE = "ptexplore compile --script train.py --save FILE writes one"

_Saved = TypeVar("_Saved")


@dataclass(frozen=True, slots=True)
class _Head:
    """The beginning of every saved run."""

    kind: str
    format: int


def compile_to_json(report: CompileReport) -> str:
    """Returns the report as JSON text in ASCII, without the log and without the folder of torch."""
    run = report.run
    log = CompilerLog(lost=run.log.lost, is_removed=run.log.is_removed)
    bare = replace(report, run=replace(run, torch=replace(run.torch, torch_dir=""), log=log))
    return without_folder(to_json(SavedCompile(bare)), run.torch.torch_dir)


def without_folder(text: str, torch_dir: str) -> str:
    """Returns a text. Paths of torch in it begin at the package."""
    above = os.path.dirname(torch_dir.rstrip(os.sep))
    return text.replace(f"{above}{os.sep}torch{os.sep}", f"torch{os.sep}") if above else text


def compile_from_json(data: bytes, name: str) -> CompileReport:
    """Returns the report in a file, packed or not. `name` is the file's, for messages.

    Raises PtexploreError: exit code USAGE for anything truncated or hostile, MISSING if a newer ptexplore wrote it.
    """
    return run_from_json(data, name, "compile", COMPILE_FORMAT, SavedCompile, WRITE_ONE).report


def run_from_json(data: bytes, name: str, command: str, newest: int, kind: type[_Saved], write_one: str) -> _Saved:
    """Returns the saved run of a command. `newest`: the newest known format. `write_one`: how to write such a file.

    Raises PtexploreError as `compile_from_json` does.
    """
    try:
        text = unpacked(data, name)
        head = from_json(text, _Head, name)
        if head.kind == command:
            known_format(head.format, name, newest)
        return from_json(text, kind, name)
    except PtexploreError as error:
        if error.exit_code == MISSING:
            raise
        message = f"{name} is not a saved run of ptexplore {command}"
        raise PtexploreError(message, error.why, write_one, USAGE) from error
