"""Commands of ptexplore in processes of their own, which the front ends that read can stop; the index among them."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from ptexplore.errors import FAILED, PtexploreError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ptexplore.tui.jobs import Job

_PATIENCE = 3.0  # seconds that a stopped command gets to end its children
# The current folder is not on the path, since it may have a `torch/`; the folder of ptexplore comes last.
_RUN = """import sys
sys.path[:] = [*filter(None, sys.path), sys.argv.pop(1)]
from ptexplore.cli.app import entry
entry()"""
_MESSAGE = re.compile(r"^(error|why|try): +(.*)$")


def run_child(arguments: Sequence[str], job: Job) -> str:
    """Runs a ptexplore command and returns its output. Each line that it writes to stderr becomes a step of the job.

    Raises PtexploreError with the command's own message if it fails, and if the reader stops it.
    """
    command = [sys.executable, "-c", _RUN, str(Path(__file__).resolve().parent.parent.parent), *arguments]
    # Its output goes to a file: with a pipe, it would wait while the pipe is full.
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as printed:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=printed, stderr=subprocess.PIPE, text=True, errors="replace",
            env=os.environ | {"PTEXPLORE_DEBUG": ""}, start_new_session=True,
        )  # fmt: skip
        job.watch(lambda: _stop(child))
        parts: dict[str, str] = {}
        assert child.stderr is not None
        for line in child.stderr:
            match = _MESSAGE.match(line)
            if match is not None:
                parts[match[1]] = match[2].strip()
            elif line.strip():
                job.step(line.strip())
        status = child.wait()
        printed.seek(0)
        text = printed.read()
    if job.stopped:
        raise PtexploreError("stopped", "you stopped it", "", FAILED)
    if status:
        message = parts.get("error", f"{' '.join(arguments[:2])} ended with status {status}")
        raise PtexploreError(message, parts.get("why", ""), parts.get("try", ""), status if status > 0 else FAILED)
    return text


def _stop(child: subprocess.Popen[str]) -> None:
    """Stops a command like Ctrl-C, so that its children end, too; then kills it."""
    if child.returncode is not None:  # after its end, another process may get its number
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGINT)
    try:
        child.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)


class BackgroundIndex:
    """Builds the catalogue of operators and the missing indexes while you read. `options` go to each command."""

    def __init__(self, options: Sequence[str] = ()) -> None:
        self._options = tuple(options)
        self._job: Job | None = None
        self._stopped = False
        self.step = ""  # what it does now
        self.failure: PtexploreError | None = None
        self._thread = Thread(target=self._build, name="index", daemon=True)
        self._thread.start()

    @property
    def is_running(self) -> bool:
        """Whether the indexes are still being built."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """Stops the commands and their children."""
        self._stopped = True
        if self._job is not None:
            self._job.stop()

    def _build(self) -> None:
        from ptexplore.tui.jobs import Job  # it loads the screens, and nothing waits for this thread

        self._job = job = Job("indexing", self._begins)
        if self._stopped:
            return
        # The catalogue comes first: the generated C++ that it reads is not read again for the index.
        for command in (["op", "aten::add.Tensor"], ["index"]):
            try:
                run_child([*command, *self._options], job)
            except PtexploreError as error:
                if job.stopped:
                    return
                self.failure = error if command == ["index"] else None  # without torch, source is still indexed

    def _begins(self, step: str) -> None:
        self.step = step
