"""The probe: imports torch once, then does what it is asked for; a trace's passes are forks of it.

So each pass sees fresh inputs and none disturbs another. Started by file path with the request on stdin; answers with
JSON lines on the descriptor of `--channel`.
"""

from __future__ import annotations

import builtins
import contextlib
import gc
import importlib.machinery
import json
import os
import signal
import sys
import time
import traceback
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from .messages import NoTorchData, ProbeBrokenData, ProbeEndsData, ProbeReadyData, RunRequestData, WrongTorchData

PACKAGE = "_ptexplore_probe"


class _OwnBuiltins(importlib.machinery.SourceFileLoader):
    """Loads a recorder with builtins of its own: a program may replace `len` or `open`, and see who calls them."""

    TAKEN: ClassVar[dict[str, Any]] = dict(vars(builtins))

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__builtins__"] = self.TAKEN
        super().exec_module(module)


def load_siblings() -> None:
    """Make the recorders importable under a name of their own, so that `import ops` of user code finds the user's."""
    folder = os.path.dirname(os.path.abspath(__file__))
    loaders = _OwnBuiltins, importlib.machinery.SOURCE_SUFFIXES
    sys.path_importer_cache[folder] = importlib.machinery.FileFinder(folder, loaders)
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != folder]
    package = ModuleType(PACKAGE)
    package.__path__ = [folder]
    sys.modules[PACKAGE] = package


def import_torch(request: RunRequestData, channel: Any) -> bool:
    """Import torch and see that it is the one that was meant; reports and returns False where not."""
    gc.disable()  # what torch makes while it is imported stays: looking for what does not takes a tenth of the time
    try:
        import torch
    except (Exception, SystemExit) as error:
        lacking: NoTorchData = {"type": "no-torch", "message": f"{type(error).__name__}: {error}"}
        channel.send(lacking)
        return False
    finally:
        gc.enable()
    folder = os.path.dirname(os.path.realpath(str(torch.__file__)))
    if folder != os.path.realpath(request["torch_dir"]):
        other: WrongTorchData = {"type": "wrong-torch", "folder": folder}
        channel.send(other)
        return False
    ready: ProbeReadyData = {"type": "ready", "varies": varies()}
    channel.send(ready)
    return True


def varies() -> list[str]:
    """What the system and Python draw at random in this process, so that its runs differ from those of another one.

    Whoever starts it asks for neither, which the system may refuse (personality(2), linux/personality.h).
    """
    drawn = ["Python's hashes"] if sys.flags.hash_randomization else []
    if not sys.platform.startswith("linux"):
        return ["addresses", *drawn]
    import ctypes

    now = ctypes.CDLL(None).personality(ctypes.c_ulong(0xFFFFFFFF))
    return drawn if now >= 0 and now & 0x0040000 else ["addresses", *drawn]


def end_with_parent(*, on: bool) -> None:
    """Have the system end this process when the one that started it is gone; no more if not `on`. Linux alone can.

    ptexplore tells its number. Where it tells none this process notices when it next writes.
    """
    parent = os.environ.get("PTEXPLORE_PARENT", "")
    if not parent.isdecimal() or not sys.platform.startswith("linux"):
        return
    import ctypes

    ctypes.CDLL(None).prctl(1, int(signal.SIGKILL) if on else 0, 0, 0, 0)  # PR_SET_PDEATHSIG
    if os.getppid() != int(parent):
        os._exit(1)


def work(request: RunRequestData, channel: Any) -> None:
    """Do what the request asks: the catalogue message, the passes of one trace or a survey's of many, C++'s stack."""
    if request["work"] == "catalogue":
        from _ptexplore_probe import catalogue  # type: ignore[import-not-found]

        channel.send(catalogue.record())
        return
    from _ptexplore_probe import isolate, trace

    isolate.adopt()
    with contextlib.suppress(OSError):  # a folder that is gone is no reason not to trace
        os.chdir(request["cwd"])
    sys.path.append(request["cwd"])  # last: a `torch/` that lies there must not be found first
    known = request.pop("digests", {})
    if request["work"] == "survey":
        from _ptexplore_probe import survey

        survey.serve(request, channel, lambda asked: trace.run_passes(asked, known, channel))
    elif request["work"] == "stack":
        trace.run_again_for_stack(request, channel)
    else:
        # A whole number: as text, which a child is sent, it is as long each time, and so is what is allocated for it.
        until = time.monotonic_ns() + round(float(request["timeout"]) * 1e9)
        trace.run_passes({**request, "until": until}, known, channel)


def main() -> None:
    """Read the request, import torch, work, and say that all is said."""
    load_siblings()
    from _ptexplore_probe.isolate import Channel  # type: ignore[import-not-found]

    channel = Channel(int(sys.argv[sys.argv.index("--channel") + 1]))
    end_with_parent(on=True)
    request = json.loads(sys.stdin.buffer.readline())  # a line: a survey's operators follow on others
    imported = import_torch(request, channel)
    if request.get("work") != "catalogue":  # of which nothing is written until all of it is read
        end_with_parent(on=False)  # from now on `isolate` notices, and takes along what the user's code started
    for ours in ("PTEXPLORE_PARENT", "PTEXPLORE_ROOM"):
        os.environ.pop(ours, None)
    if imported:
        try:
            work(request, channel)
        except BrokenPipeError:
            # Nobody listens any more (ptexplore was killed): end, and take along whatever the user's code started.
            if os.getpgid(0) == os.getpid():
                os.killpg(0, signal.SIGKILL)
        except Exception:
            broken: ProbeBrokenData = {"type": "broken", "message": traceback.format_exc()[-4000:]}
            channel.send(broken)
            return
    _end(channel)


def _end(channel: Any) -> None:
    """Say that all is said, and stay as long as ptexplore wants where something that the user's code started runs on.

    When this process is gone, what it has adopted can no longer be told from other processes.
    """
    from _ptexplore_probe.isolate import has_children

    left = has_children()
    ends: ProbeEndsData = {"type": "end", "left": left}
    channel.send(ends)
    if left:
        channel.wait_for_reader()


if __name__ == "__main__":
    main()
