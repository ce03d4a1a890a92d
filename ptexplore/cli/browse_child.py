"""The commands behind the screens: each runs in a process of its own, so that it can be stopped and blocks nothing."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from ptexplore.cli.command_workspace import open_workspace
from ptexplore.errors import FAILED, USAGE, PtexploreError

if TYPE_CHECKING:
    from ptexplore.tui.library import Job

_PATIENCE = 3.0  # seconds that a stopped command has to end what it started
# The current folder is not looked into (a `torch/` may lie there); where we ourselves lie comes last.
_RUN = """import sys
sys.path[:] = [*filter(None, sys.path), sys.argv.pop(1)]
from ptexplore.cli.app import entry
entry()"""
_SAID = re.compile(r"^(error|why|try): +(.*)$")


def run_child(arguments: Sequence[str], job: Job) -> str:
    """Run a ptexplore command; each line that it says on stderr is a step of the job. What it printed.

    Raises PtexploreError with what it said where it failed, and where the reader stopped it.
    """
    command = [sys.executable, "-c", _RUN, str(Path(__file__).resolve().parent.parent.parent), *arguments]
    # Its files, not our pipes' fullness, hold what it prints: nothing waits for us.
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as printed:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=printed, stderr=subprocess.PIPE, text=True, errors="replace",
            env=os.environ | {"PTEXPLORE_DEBUG": ""}, start_new_session=True,
        )  # fmt: skip
        job.watch(lambda: _stop(child))
        said: dict[str, str] = {}
        assert child.stderr is not None
        for line in child.stderr:
            match = _SAID.match(line)
            if match is not None:
                said[match[1]] = match[2].strip()
            elif line.strip():
                job.step(line.strip())
        status = child.wait()
        printed.seek(0)
        text = printed.read()
    if job.stopped:
        raise PtexploreError("stopped", "you asked for it", "", FAILED)
    if status:
        message = said.get("error", f"{' '.join(arguments[:2])} ended with status {status}")
        raise PtexploreError(message, said.get("why", ""), said.get("try", ""), status if status > 0 else FAILED)
    return text


def _stop(child: subprocess.Popen[str]) -> None:
    """As ctrl-c does it, so that what it started ends, too; then without asking."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGINT)
    try:
        child.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)


def run_lab_here(
    stop_name: str,
    lab_id: str,
    save: Annotated[str, Option()],
    python: Annotated[str | None, Option()] = None,
    notes: Annotated[list[str] | None, Option()] = None,
) -> int:
    """The hidden command behind `run_lab`: runs a lab, prints how it ended as JSON, writes its Trail into a file."""
    with open_workspace(python, notes=notes or ()) as workspace:
        entry = workspace.library.stop(stop_name)
        lab = next((lab for lab in entry[1].labs if lab.id == lab_id), None) if entry is not None else None
        if entry is None or lab is None:
            why = "the notes were changed meanwhile"
            raise PtexploreError(f"there is no lab {stop_name}/{lab_id}", why, "ptexplore notes check", USAGE)
        result, trail = workspace.run_lab(*entry, lab)
    if trail is not None:
        from ptexplore.view.trace.saved import trail_to_json

        Path(save).write_text(trail_to_json(trail), encoding="utf-8")
    json.dump(asdict(result), sys.stdout)
    return 0
