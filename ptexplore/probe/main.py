"""The probe: imports torch once, then forks one child a pass, so that each sees fresh inputs and none disturbs another.

Started by file path with the request on stdin; answers with JSON lines on the descriptor of `--channel`.
"""

from __future__ import annotations

import importlib.util
import json
import os
import resource
import signal
import sys
import tempfile
import traceback
from typing import Any

PACKAGE = "_ptexplore_probe"
OUTPUT_LIMIT = 64 * 1024  # bytes of what the user's code printed that are kept
NOISE = (b"USDT:", b"ERROR:", b"WARNING:", b"INFO:")  # how the profiler's own lines begin
PASSES = ("ops", "frames", "dispatch")
PASSED = b'{"type":"pass"'  # how a child's good answer begins


def load_siblings() -> Any:
    """Import the recorders under a name of their own, so that `import ops` of user code finds the user's."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]
    spec = importlib.util.spec_from_file_location(
        PACKAGE, os.path.join(here, "__init__.py"), submodule_search_locations=[here]
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE] = module
    spec.loader.exec_module(module)


class Channel:
    """Our end of the private channel."""

    def __init__(self, descriptor: int) -> None:
        os.set_inheritable(descriptor, False)
        self.descriptor = descriptor

    def send(self, message: dict[str, Any]) -> None:
        """Write one message whole."""
        self.pass_on(json.dumps(message, separators=(",", ":"), default=str).encode() + b"\n")

    def pass_on(self, data: bytes) -> None:
        """Write a message that a child has encoded already."""
        while data:
            data = data[os.write(self.descriptor, data) :]


def import_torch(request: dict[str, Any], channel: Channel) -> bool:
    """Import torch and see that it is the one that was meant; reports and returns False where not."""
    try:
        import torch
    except Exception as error:
        channel.send({"type": "no-torch", "message": f"{type(error).__name__}: {error}"})
        return False
    found = os.path.dirname(os.path.realpath(torch.__file__))
    if found != os.path.realpath(request["torch_dir"]):
        channel.send({"type": "wrong-torch", "found": found})
        return False
    version = torch.version
    channel.send({"type": "ready", "torch": {"version": torch.__version__, "git_version": version.git_version}})
    return True


def limit_memory() -> None:
    """Let an allocation beyond what the machine has fail in the child, instead of the kernel killing something."""
    try:
        with open("/proc/meminfo") as info:
            available = next(int(line.split()[1]) * 1024 for line in info if line.startswith("MemAvailable"))
        with open("/proc/self/statm") as status:
            used = int(status.read().split()[0]) * resource.getpagesize()
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        limit = used + int(available * 0.9)
        resource.setrlimit(resource.RLIMIT_AS, (limit if hard < 0 else min(limit, hard), hard))
    except (OSError, StopIteration, ValueError):
        return  # not Linux: the system's own limits hold


def redirect_output() -> Any:
    """Send descriptors 1 and 2 into a file that outlives the child; stdin becomes empty."""
    kept = tempfile.TemporaryFile()  # noqa: SIM115 -- it must stay open for as long as the descriptors point at it
    sys.stdout.flush()
    os.dup2(kept.fileno(), 1)
    os.dup2(kept.fileno(), 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    return kept


def printed(kept: Any) -> str:
    """What was printed, without the profiler's own lines."""
    kept.seek(0)
    lines = [line for line in kept.read(OUTPUT_LIMIT).splitlines() if not line.startswith(NOISE)]
    return b"\n".join(lines).decode(errors="replace")


def child(recorder: str, request: dict[str, Any], known: dict[str, str], writer: int) -> None:
    """In the forked child: run the pass and write what came of it. Never returns."""
    status = 1
    try:
        from _ptexplore_probe import names, passes  # type: ignore[import-not-found]

        limit_memory()
        try:
            answer = {"type": "pass", "recorder": recorder, **passes.run(recorder, request, known)}
        except names.Refused as error:
            where = list(error.where) if error.where else None
            answer = {
                "type": "refused",
                "kind": error.kind,
                "message": str(error),
                "where": where,
                "close": error.close,
            }
        except passes.Raised as raised:
            answer = _raised(raised)
        except MemoryError:
            answer = {"type": "raised", "stage": "expression", "exception": "MemoryError", "message": "", "close": []}
        Channel(writer).send(answer)
        status = 0
    except BaseException:
        Channel(writer).send({"type": "broken", "message": traceback.format_exc()[-4000:]})
    finally:
        os._exit(status)  # no atexit handlers: this is a fork of a process that goes on


def _raised(raised: Any) -> dict[str, Any]:
    import difflib

    error = raised.error
    close: list[str] = []
    if isinstance(error, AttributeError) and error.name:
        close = difflib.get_close_matches(error.name, dir(error.obj), 3, 0.6)
    lines = traceback.format_exception(type(error), error, error.__traceback__)
    return {
        "type": "raised",
        "stage": raised.stage,
        "exception": type(error).__name__,
        "message": str(error)[:4000],
        "close": close,
        "traceback": "".join(lines)[-8000:],
    }


def run_pass(recorder: str, request: dict[str, Any], known: dict[str, str], channel: Channel) -> bool:
    """Fork a child for one pass and pass its answer on; False when nothing more should be run."""
    reader, writer = os.pipe()
    kept = redirect_output()
    process = os.fork()
    if process == 0:
        os.close(reader)
        child(recorder, request, known, writer)
    os.close(writer)
    chunks = []
    while chunk := os.read(reader, 1 << 20):
        chunks.append(chunk)
    os.close(reader)
    _, status = os.waitpid(process, 0)
    channel.send({"type": "output", "recorder": recorder, "text": printed(kept)})
    data = b"".join(chunks)
    if os.WIFSIGNALED(status) or not data.endswith(b"\n"):
        how = {"signal": signal.Signals(os.WTERMSIG(status)).name} if os.WIFSIGNALED(status) else {}
        code = None if how else os.waitstatus_to_exitcode(status)
        channel.send({"type": "died", "recorder": recorder, "exit": code, **how})
        return False
    channel.pass_on(data)
    return data.startswith(PASSED)


def work(request: dict[str, Any], channel: Channel) -> None:
    """Do what the request asks: the catalogue message, or the passes of one trace."""
    if request["work"] == "catalogue":
        from _ptexplore_probe import catalogue

        channel.send({"type": "catalogue", **catalogue.record()})
        return
    import _ptexplore_probe.passes  # type: ignore[import-not-found]  # noqa: F401 -- once, before the forks

    os.chdir(request["cwd"])
    sys.path.append(request["cwd"])  # last: a `torch/` that lies there must not be found first
    known: dict[str, str] = {}
    if request.get("digests"):
        try:
            with open(request["digests"], encoding="utf-8") as file:
                known = json.load(file)
        except (OSError, ValueError):
            known = {}
    for recorder in ("once",) if request["once"] else PASSES if request.get("script") is None else PASSES[:2]:
        if not run_pass(recorder, request, known, channel):
            return


def main() -> None:
    """Read the request, import torch, work, and say that all is said."""
    channel = Channel(int(sys.argv[sys.argv.index("--channel") + 1]))
    request = json.loads(sys.stdin.buffer.read())
    load_siblings()
    if import_torch(request, channel):
        try:
            work(request, channel)
        except Exception:
            channel.send({"type": "broken", "message": traceback.format_exc()[-4000:]})
            return
    channel.send({"type": "end"})


if __name__ == "__main__":
    main()
