"""The probe: imports torch once, then forks one child a pass, so that each sees fresh inputs and none disturbs another.

Started by file path with the request on stdin; answers with JSON lines on the descriptor of `--channel`.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import signal
import sys
import traceback
from typing import Any

PACKAGE = "_ptexplore_probe"
PASSES = ("ops", "frames", "dispatch")
TEXT = 300  # characters kept of an error's own message
NATIVE = "native"  # the last: it may die of what it does, and nothing else is lost then
PASSED = re.compile(rb'\{"type":"pass","recorder":"\w+","sequence":"(\w+)"(?:,"imported":(\d+))?')  # a good answer


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

    def pass_on(self, data: bytes | bytearray) -> None:
        """Write a message that a child has encoded already."""
        view = memoryview(data)
        while view:
            view = view[os.write(self.descriptor, view) :]


def import_torch(request: dict[str, Any], channel: Channel) -> bool:
    """Import torch and see that it is the one that was meant; reports and returns False where not."""
    try:
        import torch
    except (Exception, SystemExit) as error:
        channel.send({"type": "no-torch", "message": f"{type(error).__name__}: {error}"})
        return False
    found = os.path.dirname(os.path.realpath(str(torch.__file__)))
    if found != os.path.realpath(request["torch_dir"]):
        channel.send({"type": "wrong-torch", "found": found})
        return False
    version = torch.version
    channel.send({"type": "ready", "torch": {"version": torch.__version__, "git_version": version.git_version}})
    return True


def fork_pass(
    recorder: str, request: dict[str, Any], known: dict[str, str], channel: Channel, limit: float | None = None
) -> Any:
    """Fork a child for one pass: its outcome, of which nothing is told yet. `limit`: seconds until it is ended."""
    from _ptexplore_probe import answers, isolate  # type: ignore[import-not-found]

    channel.send({"type": "begin" if limit is None else "second", "recorder": recorder})
    return isolate.isolated(lambda: answers.answer(recorder, request, known), channel.descriptor, limit)


def tell_pass(recorder: str, outcome: Any, channel: Channel) -> str | None:
    """Pass a pass's answer on: the digest of the operators it saw, None where it failed."""
    channel.send({"type": "output", "recorder": recorder, "text": outcome.printed, "cut": outcome.is_cut})
    whole = outcome.answer.endswith(b"\n") and outcome.answer.count(b"\n") == 1
    if outcome.signal is not None or not whole:
        how = {"signal": outcome.signal, "exit": outcome.exit_code}
        channel.send({"type": "died", "recorder": recorder, **how})
        return None
    channel.pass_on(outcome.answer)
    passed = PASSED.match(outcome.answer)
    return passed[1].decode() if passed else None


def warmed(
    recorder: str, request: dict[str, Any], known: dict[str, str], channel: Channel
) -> tuple[Any, dict[str, Any]]:
    """The first pass's outcome, and the request for all further ones.

    An expression whose first call imports modules, which may call thousands of operators of their own, is called once
    before every pass, so that all of them see the second call, as the native pass does. What cannot run twice is not:
    its first call is told, and why; the native pass, which runs it again and again, is then left out.
    """
    outcome = fork_pass(recorder, request, known, channel)
    passed = PASSED.match(outcome.answer)
    imported = int(passed[2] or 0) if passed else 0
    if not imported or request["once"] or request.get("script") is not None:
        return outcome, request
    limit = float(request["timeout"])
    second = fork_pass(recorder, {**request, "warm": imported}, known, channel, limit)
    if not PASSED.match(second.answer):
        why = f"does not end within {limit:g} s" if second.late else failed(second)
        channel.send({"type": "first", "imported": imported, "why": why})
        return outcome, {**request, "native": False}
    outcome.answer = second.answer  # what the first printed stays: the second printed all of it twice
    return outcome, {**request, "warm": imported}


def failed(outcome: Any) -> str:
    """What a pass without a good answer does, in a few words."""
    if not outcome.answer.endswith(b"\n"):
        return f"ends its process by {outcome.signal or f'itself, with status {outcome.exit_code}'}"
    said = json.loads(outcome.answer)
    text = str(said.get("message") or "").strip().partition("\n")[0][:TEXT]
    return f"raises {said['exception']}: {text}" if "exception" in said else f"cannot be run: {text}"


def run_passes(request: dict[str, Any], known: dict[str, str], channel: Channel) -> None:
    """Every pass, until one fails; where they saw different operators, the first again, to tell whose doing it is."""
    wanted = ("once",) if request["once"] else PASSES if request.get("script") is None else PASSES[:2]
    first, request = warmed(wanted[0], request, known, channel)
    digests = []
    for recorder in wanted:
        outcome = first if recorder == wanted[0] else fork_pass(recorder, request, known, channel)
        digest = tell_pass(recorder, outcome, channel)
        if digest is None:
            return
        digests.append(digest)
    if len(set(digests)) > 1:
        tell_pass("again", fork_pass("again", request, known, channel), channel)
    if request.get("native"):
        tell_pass(NATIVE, fork_pass(NATIVE, request, known, channel), channel)


def work(request: dict[str, Any], channel: Channel) -> None:
    """Do what the request asks: the catalogue message, the passes of one trace, or a survey's of many."""
    if request["work"] == "catalogue":
        from _ptexplore_probe import catalogue

        channel.send({"type": "catalogue", **catalogue.record()})
        return
    from _ptexplore_probe import answers  # noqa: F401 -- once, before the forks

    with contextlib.suppress(OSError):  # a folder that is gone is no reason not to trace
        os.chdir(request["cwd"])
    sys.path.append(request["cwd"])  # last: a `torch/` that lies there must not be found first
    known = request.pop("digests", {})
    if request["work"] == "survey":
        from _ptexplore_probe import survey

        survey.serve(request, channel, lambda asked: run_passes(asked, known, channel))
        return
    run_passes(request, known, channel)


def abandon() -> None:
    """Nobody listens any more (ptexplore was killed): end, and take along whatever the user's code started."""
    if os.getpgid(0) == os.getpid():
        os.killpg(0, signal.SIGKILL)


def main() -> None:
    """Read the request, import torch, work, and say that all is said."""
    channel = Channel(int(sys.argv[sys.argv.index("--channel") + 1]))
    request = json.loads(sys.stdin.buffer.readline())  # a line: a survey's operators follow on others
    load_siblings()
    if import_torch(request, channel):
        try:
            work(request, channel)
        except BrokenPipeError:
            abandon()
        except Exception:
            channel.send({"type": "broken", "message": traceback.format_exc()[-4000:]})
            return
    channel.send({"type": "end"})


if __name__ == "__main__":
    main()
