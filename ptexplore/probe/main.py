"""The probe: imports torch once, then does the requested work. The passes of a trace are forks of the probe.

So each pass gets fresh inputs, and no pass disturbs another. The probe is started by file path, with the request on
stdin. It answers with JSON lines on the descriptor of `--channel`.
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
    """Loads a recorder with its own copy of the builtins: a program may replace `len` and see its calls."""

    TAKEN: ClassVar[dict[str, Any]] = dict(vars(builtins))

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__builtins__"] = self.TAKEN
        super().exec_module(module)


def load_siblings() -> None:
    """Make the recorders importable under their own package name: `import ops` in user code finds the user's `ops`."""
    folder = os.path.dirname(os.path.abspath(__file__))
    loaders = _OwnBuiltins, importlib.machinery.SOURCE_SUFFIXES
    sys.path_importer_cache[folder] = importlib.machinery.FileFinder(folder, loaders)
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != folder]
    package = ModuleType(PACKAGE)
    package.__path__ = [folder]
    sys.modules[PACKAGE] = package


def import_torch(request: RunRequestData, channel: Any) -> bool:
    """Import torch and check that it is the expected one. If not, report that and return False."""
    gc.disable()  # the objects of an import stay, and the search for garbage would take a tenth of the import's time
    try:
        import torch
    except (Exception, SystemExit) as error:
        lacking: NoTorchData = {"type": "no-torch", "message": f"{type(error).__name__}: {error}"}
        channel.send(lacking)
        return False
    finally:
        # Into the oldest generation, as after collections: the next allocations would make Python search all objects.
        gc.freeze()
        gc.unfreeze()
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
    """Returns what the system and Python choose at random in this process, so that its runs differ from another one's.

    ptexplore asks for a process without randomness, which the system may refuse (personality(2), linux/personality.h).
    """
    drawn = ["Python's hashes"] if sys.flags.hash_randomization else []
    if not sys.platform.startswith("linux"):
        return ["addresses", *drawn]
    import ctypes

    now = ctypes.CDLL(None).personality(ctypes.c_ulong(0xFFFFFFFF))
    return drawn if now >= 0 and now & 0x0040000 else ["addresses", *drawn]


def end_with_parent(*, on: bool) -> None:
    """Let the system end this process when its parent is gone, or no longer if not `on`. Only Linux can.

    ptexplore passes the parent's number. Without the number, this process only notices at its next write that the
    reader is gone.
    """
    parent = os.environ.get("PTEXPLORE_PARENT", "")
    if not parent.isdecimal() or not sys.platform.startswith("linux"):
        return
    import ctypes

    ctypes.CDLL(None).prctl(1, int(signal.SIGKILL) if on else 0, 0, 0, 0)  # PR_SET_PDEATHSIG
    if os.getppid() != int(parent):
        os._exit(1)


def work(request: RunRequestData, channel: Any) -> None:
    """Do what the request asks: a catalogue, decompositions, a trace, a survey, a stack, tensors, a graph, …."""
    if request["work"] == "catalogue":
        from _ptexplore_probe import catalogue  # type: ignore[import-not-found]

        channel.send(catalogue.record())
        return
    if request["work"] == "decompositions":
        from _ptexplore_probe import decompositions

        channel.send(decompositions.record())
        return
    from _ptexplore_probe import isolate, recorders, trace

    isolate.adopt()
    with contextlib.suppress(OSError):  # the trace does not need the folder to exist
        os.chdir(request["cwd"])
    sys.path.append(request["cwd"])  # last: a folder `torch/` in it must not be found first
    known = request.pop("digests", {})
    if request["work"] == "survey":
        from _ptexplore_probe import survey

        survey.serve(request, channel, lambda asked: trace.run_passes(asked, known, channel))
        return
    if request["work"] == "stack":
        trace.run_again_for_stack(request, channel)
        return
    # A whole number: as text in a request to a child it has the same length each time, and so have allocations.
    until = time.monotonic_ns() + round(float(request["timeout"]) * 1e9)
    if request["work"] == "tensors":
        trace.run_once(recorders.TENSORS, {**request, "until": until}, channel)
    elif request["work"] == "graph":
        trace.read_graph({**request, "until": until}, channel)
    elif request["work"] == "judge":
        from _ptexplore_probe import judging

        channel.send(judging.judge(request))
    elif request["work"] == "lower":
        trace.run_once(recorders.LADDER, {**request, "until": until}, channel)
    elif request["work"] == "compile":
        trace.run_compiler({**request, "until": until}, channel)
    else:
        trace.run_passes({**request, "until": until}, known, channel)


def main() -> None:
    """Read the request, import torch, work, and report the end."""
    load_siblings()
    from _ptexplore_probe.isolate import Channel  # type: ignore[import-not-found]

    channel = Channel(int(sys.argv[sys.argv.index("--channel") + 1]))
    end_with_parent(on=True)
    request = json.loads(sys.stdin.buffer.readline())  # one line: a survey's operators follow on other lines
    imported = import_torch(request, channel)
    # Of a catalogue and of decompositions, nothing is written until all of it is read.
    if request.get("work") not in ("catalogue", "decompositions"):
        end_with_parent(on=False)  # from now on `isolate` notices, and also ends what the user's code started
    for ours in ("PTEXPLORE_PARENT", "PTEXPLORE_ROOM"):
        os.environ.pop(ours, None)
    if imported:
        try:
            work(request, channel)
        except BrokenPipeError:
            # The reader is gone (ptexplore was killed): end, together with all that the user's code started.
            if os.getpgid(0) == os.getpid():
                os.killpg(0, signal.SIGKILL)
        except Exception:
            broken: ProbeBrokenData = {"type": "broken", "message": traceback.format_exc()[-4000:]}
            channel.send(broken)
            return
    _end(channel)


def _end(channel: Any) -> None:
    """Report the end. If processes started by the user's code still run, stay as long as ptexplore wants.

    After the end of this process, its adopted processes could not be distinguished from others.
    """
    from _ptexplore_probe.isolate import has_children

    left = has_children()
    ends: ProbeEndsData = {"type": "end", "left": left}
    channel.send(ends)
    if left:
        channel.wait_for_reader()


if __name__ == "__main__":
    main()
