"""Run torchgen's two generators in parallel children, under our interpreter, with the target's own torchgen."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path

from ptexplore import processes
from ptexplore.model import Runtime
from ptexplore.source.progress import Progress

_CHILD = Path(__file__).resolve().parent.parent / "probe" / "torchgen_child.py"
_TIMEOUT = 300.0  # seconds; a run takes about seven
_USUAL_FILES = 110  # files both children write together; only the progress bar depends on it


Callback = Callable[[str], None]


class GeneratorError(Exception):
    """A generator failed; the message says which and why."""


def run_generators(runtime: Runtime, out: Path, progress: Progress) -> None:
    """Write the generated C++ of `runtime` and torchgen's model below `out`.

    Raises GeneratorError, and OSError when `out` cannot be written.
    """
    runs = [_Run("ATen", "aten", _flags(runtime)), _Run("autograd", "autograd", [])]
    done: list[str] = []

    def wrote(file: str) -> None:
        done.append(file)
        progress.step("regenerating the generated C++ (first run only)", min(len(done) / _USUAL_FILES, 0.99))

    progress.step("regenerating the generated C++ (first run only)", 0.0)
    threads = [threading.Thread(target=run.work, args=(runtime, out, wrote), daemon=True) for run in runs]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        for run in runs:
            run.stop()
    for run in runs:
        if run.failure is not None:
            raise run.failure


def _flags(runtime: Runtime) -> list[str]:
    """What cmake/Codegen.cmake adds for this build."""
    flags = [("hip", "rocm"), ("xpu", "xpu")]
    chosen = [flag for accelerator, flag in flags if accelerator in runtime.accelerators]
    return [*chosen, "mps"] if sys.platform == "darwin" else chosen


class _Run:
    """One generator child, its progress and its outcome."""

    def __init__(self, name: str, work: str, flags: list[str]) -> None:
        self.name = name
        self.arguments = ["--work", work, *(part for flag in flags for part in ("--flag", flag))]
        self.failure: Exception | None = None
        self._child: processes.Child | None = None

    def work(self, runtime: Runtime, out: Path, wrote: Callback) -> None:
        """Run the child to its end; the outcome is in `failure`."""
        import tempfile

        with tempfile.TemporaryFile() as errors:
            try:
                where = ["--torchgen", str(runtime.torchgen_dir), "--packaged", str(runtime.packaged_dir)]
                arguments = [*self.arguments, *where, "--out", str(out)]
                self._child = processes.start(sys.executable, _CHILD, arguments, stderr=errors)
                finished = self._listen(self._child, wrote)
                if not finished:
                    errors.seek(0)
                    tail = errors.read()[-400:].decode(errors="replace").strip().rsplit("\n", 1)[-1]
                    raise GeneratorError(f"the {self.name} generator ended early: {tail or 'it was killed'}")
            except (OSError, GeneratorError) as error:
                self.failure = error
            except processes.ChannelTimeout:
                self.failure = GeneratorError(f"the {self.name} generator did not end within {_TIMEOUT:.0f} s")
            except processes.ChannelError as error:
                self.failure = GeneratorError(f"the {self.name} generator broke its channel: {error}")
            finally:
                self.stop()

    def _listen(self, child: processes.Child, wrote: Callback) -> bool:
        finished = False
        for message in child.messages(_TIMEOUT):
            if "file" in message:
                wrote(str(message["file"]))
            elif "errno" in message:
                raise OSError(message["errno"], message["strerror"], message["filename"])
            elif "error" in message:
                raise GeneratorError(f"the {self.name} generator failed: {message['error']}")
            finished = finished or bool(message.get("finished"))
        return finished

    def stop(self) -> None:
        """End the child if it still runs."""
        child, self._child = self._child, None
        if child is not None:
            child.stop()
