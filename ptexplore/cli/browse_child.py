"""Traces, labs and indexes that a screen asks for, as commands of their own: they can be stopped and block nothing."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ptexplore.cli.notes import add_folders, library_of
from ptexplore.errors import FAILED, USAGE, PtexploreError

if TYPE_CHECKING:
    from ptexplore.model import Trail
    from ptexplore.tui.library import Job
    from ptexplore.view.labs import LabResult

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


def run_trace(arguments: Sequence[str], job: Job) -> Trail:
    """Trace an expression; its Trail."""
    from ptexplore.cli.trace import load

    with tempfile.TemporaryDirectory(prefix="ptexplore-browse-") as folder:
        file = Path(folder) / "trace.json"
        run_child(["trace", *arguments, "--save", str(file)], job)
        return load(str(file))[0]


# --- labs ---


def run_lab(arguments: Sequence[str], job: Job) -> tuple[LabResult, Trail | None]:
    """Run one lab, "tour#stop" and its id; how it ended, and its Trail where it has one."""
    from ptexplore.annotations.records import Where
    from ptexplore.cli.trace import load
    from ptexplore.view.labs import LabResult

    with tempfile.TemporaryDirectory(prefix="ptexplore-browse-") as folder:
        file = Path(folder) / "trail.json"
        told: dict[str, Any] = json.loads(run_child(["__lab", *arguments, "--save", str(file)], job))
        trail = load(str(file))[0] if file.is_file() else None
    where = Where(told["file"], told["line"])
    return LabResult(told["name"], where, told["outcome"], told["why"], told["seconds"]), trail


def lab_main(arguments: Sequence[str]) -> int:
    """The command behind `run_lab`: runs the lab, prints how it ended as JSON, writes its Trail into a file."""
    parser = argparse.ArgumentParser("ptexplore __lab")
    parser.add_argument("stop")
    parser.add_argument("lab")
    parser.add_argument("--python")
    parser.add_argument("--save", required=True)
    add_folders(parser)
    options = parser.parse_args(arguments)
    library = library_of(options)
    found = library.stop(options.stop)
    lab = next((one for one in found[1].labs if one.id == options.lab), None) if found is not None else None
    if found is None or lab is None:
        why = "the notes were changed meanwhile"
        raise PtexploreError(f"there is no lab {options.stop}/{options.lab}", why, "ptexplore notes check", USAGE)
    from ptexplore.annotations.trust import may_run, trusted

    told = {"name": f"{options.stop}/{lab.id}", "file": lab.where.file, "line": lab.where.line, "seconds": 0.0}
    if not may_run(found[0], trusted()):
        why = f"its file is not trusted: ptexplore notes trust {found[0].where.file}"
        told |= {"outcome": "untrusted", "why": why}
    else:
        told |= _run(lab, options)
    json.dump(told, sys.stdout)
    return 0


def _run(lab: Any, options: argparse.Namespace) -> dict[str, Any]:
    from ptexplore.cli.labs import judge, run
    from ptexplore.cli.looking import look
    from ptexplore.cli.ready import ready
    from ptexplore.resolve.trail import resolve
    from ptexplore.view.document import trail_to_document

    here = ready(options.python)
    lookup = look(here)
    ran = run(lab, here)
    failed = judge(lab, ran, lookup)
    if ran.session is not None:
        document = trail_to_document(resolve(ran.session, lookup))
        Path(options.save).write_text(json.dumps(document), encoding="utf-8")
    return {"outcome": "failed" if failed else "passed", "why": failed or "", "seconds": ran.seconds}
