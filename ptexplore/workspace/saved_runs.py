"""Saved runs of `compile`, `lower` and `graph`: a file that the user named, or the newest runs in the cache."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from ptexplore.errors import PtexploreError
from ptexplore.saved.document import costs_too_much
from ptexplore.workspace.kept_traces import keep_data, kept_file
from ptexplore.workspace.saved_traces import PACKED, read_saved, write_file

Report = TypeVar("Report")


@dataclass(frozen=True, slots=True)
class SavedRuns(Generic[Report]):
    """The saved runs of one command: its name, a command that makes one, and its form as JSON text.

    `write_one` is a sentence for the error about a file that is not such a run.
    """

    command: str
    example: str
    write_one: str
    to_json: Callable[[Report], str]
    from_json: Callable[[bytes, str], Report]

    @property
    def _ending(self) -> str:
        return f".{self.command}.gz"

    def load(self, name: str) -> Report:
        """Returns a saved run. Raises PtexploreError (USAGE) if the file is not one."""
        return self.from_json(read_saved(name, self.write_one), name)

    def save(self, name: str, report: Report) -> None:
        """Writes a run to a file. Raises PtexploreError if the file cannot be written."""
        write_file(Path(name), self._packed(report, name))

    def keep(self, report: Report) -> None:
        """Write a run into the cache for `--last`, if that is possible."""
        try:
            data = self._packed(report, "the run")
        except PtexploreError:
            return
        keep_data(data, self._ending)

    def last(self, number: int = 1) -> str:
        """Returns the file of the `number`-th newest run. Raises PtexploreError (missing) if there is none."""
        return str(kept_file(number, self._ending, self.command, self.example))

    def _packed(self, report: Report, name: str) -> bytes:
        """Returns what a file of the run holds. Raises PtexploreError if it could not be loaded again."""
        data = self.to_json(report).encode()
        cost = costs_too_much(data)
        if cost is not None:
            hint = f"ptexplore {self.command} --json"
            raise PtexploreError(f"{name} was not written", f"{cost}: it could not be loaded again", hint)
        return gzip.compress(data, PACKED, mtime=0)
