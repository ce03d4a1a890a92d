"""The folder that a survey is saved in: about it, and for each operator its facts and its whole trace."""

from __future__ import annotations

import gzip
import json
import urllib.parse
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from ptexplore.capture.session import refused
from ptexplore.capture.survey import Surveyed
from ptexplore.errors import PtexploreError
from ptexplore.model.trace import Trail
from ptexplore.view.documents import FORMAT
from ptexplore.view.survey.rows import SurveyRow, row_from_document, row_of, row_to_document
from ptexplore.view.trace.document import trail_to_json
from ptexplore.view.trace.saved import trail_from_json
from ptexplore.writing import write_whole


@dataclass(frozen=True, slots=True)
class About:
    """What was surveyed: the runtime, forward alone or backward too, the trees resolved with, all operators there are.

    `wall` is how many seconds surveying took, all sittings together; `jobs` the workers of the last.
    """

    torch: str
    git_version: str
    python: str
    phase: str
    operators: tuple[str, ...] = ()
    trees: tuple[str, ...] = ()
    wall: float = 0.0
    jobs: int = 0


class Folder:
    """A survey on disk. A facts file is written last, and whole: what has one is done."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def about(self) -> About | None:
        """What this folder is about; None where it is empty or not ours."""
        data = _json(self.root / "survey.json")
        kinds: dict[str, Any] = dict.fromkeys(("torch", "git_version", "python", "phase"), str)
        kinds |= {"operators": list, "trees": list, "wall": (int, float), "jobs": int}
        if data is None or not all(isinstance(data.get(name), kind) for name, kind in kinds.items()):
            return None
        known: dict[str, Any] = {
            name: tuple(map(str, data[name])) if kind is list else data[name] for name, kind in kinds.items()
        }
        return About(**known)

    def tell(self, about: About) -> None:
        """Write what this folder is about."""
        _write(self.root / "survey.json", json.dumps({"format": FORMAT, **asdict(about)}).encode())

    def rows(self) -> dict[str, SurveyRow]:
        """The facts of every operator that is done, by name; damaged files count as not done."""
        found = (row_from_document((_json(file) or {}).get("row")) for file in (self.root / "facts").glob("*.json"))
        return {row.op: row for row in found if row is not None}

    def save(self, run: Surveyed, trail: Trail | None, why: str = "") -> SurveyRow:
        """Keep one operator's trace and facts; `why` says why there is no trail to a session."""
        row = row_of(run, trail)
        row = replace(row, why=why) if why else row
        if trail is not None:
            text = trail_to_json(replace(trail, expression=row.title), run.session)
            _write(self.trace(run.op), gzip.compress(text.encode(), 3))
        told = {one.name: getattr(run, one.name) for one in fields(run) if one.name != "session"}
        _write(self._facts(run.op), json.dumps({"row": row_to_document(row), "run": told}).encode())
        return row

    def load(self, op: str) -> Surveyed:
        """One operator's run with its session as it was saved. Raises PtexploreError where it cannot be read."""
        told = (_json(self._facts(op)) or {}).get("run")
        try:
            run = Surveyed(**told) if isinstance(told, dict) else None
        except TypeError:
            run = None
        if run is None or not isinstance(run.digests, dict):
            raise PtexploreError(
                f"what was saved of {op} cannot be read", str(self._facts(op)), "ptexplore survey --again"
            )
        file = self.trace(op)
        if file.exists():
            session = trail_from_json(file.read_bytes(), file.name)[1]
            if session is None:
                raise refused(file.name, "it has no session")
            # Paths in a saved session begin below site-packages.
            run.session = replace(session, torch=replace(session.torch, torch_dir="torch"))
        return run

    def forget(self, op: str) -> None:
        """Take one operator's facts and trace away."""
        for file in (self._facts(op), self.trace(op)):
            file.unlink(missing_ok=True)

    def trace(self, op: str) -> Path:
        """The file of an operator's whole trace, as `ptexplore trace --load` reads it."""
        return self.root / "traces" / f"{_name(op)}.json.gz"

    def _facts(self, op: str) -> Path:
        return self.root / "facts" / f"{_name(op)}.json"


def _name(op: str) -> str:
    return urllib.parse.quote(op, safe="")


def _json(file: Path) -> dict[str, Any] | None:
    try:
        data = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _write(file: Path, data: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, data)


def told(about: About, rows: Mapping[str, SurveyRow]) -> dict[str, str]:
    """What a report says of the survey as a whole."""
    seconds = sorted(row.seconds for row in rows.values())
    time = f"{about.wall / 60:.1f} minutes with {about.jobs} workers"
    if seconds:
        time += f"; half of the operators within {seconds[len(seconds) // 2]:.1f} s"
    return {
        "torch": f"{about.torch} ({about.git_version[:12]}), Python {about.python}",
        "run": about.phase,
        "resolved with": ", ".join(about.trees),
        "time": time,
    }
