"""Turn a pass that failed into the three-part error that its user needs."""

from __future__ import annotations

from typing import Any

from ptexplore.capture.probing import TraceRequest
from ptexplore.errors import FAILED, USAGE, PtexploreError

EXAMPLE = 'ptexplore trace "torch.add(a, b)"'
NAMES = "names of one letter (or a letter and digits) used as values become tensors; others must be bound"

# Of each kind of refusal: why, and what to type.
REFUSED = {
    "empty": ("there is nothing to run", EXAMPLE),
    "syntax": ("Python's own parser refuses it", EXAMPLE),
    "statements": (
        "a trace is of one expression",
        "put statements into --setup, or a whole program into --script FILE",
    ),
    "name": (NAMES, '--var NAME="torch.randn(3, 4)" binds a name'),
    "attribute": ("it was looked for before anything ran", "ptexplore op NAME knows torch's operators"),
    "variable": ("a --var is evaluated once, before the expression", '--var a="torch.randn(3, 4)"'),
    "setup": ("--setup is run before the expression, in each run anew", '--setup "m = nn.LSTM(3, 4)"'),
    "script": ("Python's own parser refuses it", "ptexplore trace --script FILE"),
    "context": ("--with takes an expression that gives a context manager", '--with "torch.inference_mode()"'),
    "profiler": ("torch has one profiler at a time, and a trace runs under it", "ptexplore trace --script FILE"),
    "backward": (
        "backward needs a floating-point result that depends on a tensor that requires grad",
        "a result computed from a floating-point input's values: no comparison, index, detach() or torch.no_grad()",
    ),
}
OUT_OF_MEMORY = ("can't allocate memory", "not enough memory", "out of memory", "bad_alloc", "Cannot allocate memory")
TYPED = ("<--", "<expression")  # how the probe names the files of what was typed
TEXT_LIMIT = 1000  # characters shown of an error's own message


def failure(message: dict[str, Any], request: TraceRequest) -> PtexploreError:
    """The error for a message of type "refused", "raised" or "died"."""
    if message["type"] == "refused":
        why, hint = REFUSED.get(message["kind"], ("it cannot be run", EXAMPLE))
        text = str(message["message"])[:TEXT_LIMIT]
        return PtexploreError(text, _caret(message) or why, _near(message) or hint, USAGE)
    return _raised(message, request) if message["type"] == "raised" else _died(message, request)


def _near(message: dict[str, Any]) -> str:
    return f"did you mean {' or '.join(message['close'])}?" if message["close"] else ""


def _caret(message: dict[str, Any]) -> str:
    """The offending line with a caret under the place, where there is one."""
    lines, (line, column) = str(message["source"]).split("\n"), message["where"] or (0, 0)
    if not 1 <= line <= len(lines):
        return ""
    shown, column = lines[line - 1], max(column, 1)
    start = max(column - 60, 0)  # a long line is shown around the place
    return f"{shown[start : start + 100]}\n       {' ' * (column - start - 1)}^"


def no_native(message: dict[str, Any]) -> str:
    """Why there is no native call tree, for a message of the native pass that is not its answer."""
    kind, signal = message["type"], message.get("signal")
    if kind == "raised":
        return f"under the stepper it raised {message['exception']}: {_first_line(message)}"
    if signal == "SIGTRAP":
        return "its process was killed by SIGTRAP, by which it is stepped: something blocked or took over that signal"
    if kind == "refused" and message.get("kind") == "repeat":
        return f"a further run in its process {_first_line(message)}"
    if kind == "refused" and message.get("kind") == "setup":  # other passes had none of it: they run it once a process
        return _first_line(message).replace("--setup raised", "--setup, run a second time in one process, raised", 1)
    return f"its process ended by {signal or 'itself'} in the native pass" if kind == "died" else _first_line(message)


def unwatched(message: dict[str, Any]) -> str:
    """Why a run that watches saved tensors told nothing, for its message; of an answer, that it saw no such write."""
    kind = message["type"]
    why = _first_line(message)
    if kind == "pass":
        why = "that error was not raised in it"
    elif kind == "died":
        why = f"its process ended by {message.get('signal') or 'itself'}"
    return f"a run of its own that watches saved tensors told nothing of who wrote to it: {why}"


def _first_line(message: dict[str, Any]) -> str:
    return (str(message.get("message") or "").strip().split("\n")[0] or "it says nothing more")[:TEXT_LIMIT]


def _source(request: TraceRequest) -> str:
    text = request.script or request.expression or ""
    return text if len(text) <= 200 else f"{text[:200]}…"


def without_stack(message: str) -> str:
    """An error's own words, without C++'s stack, which c10::Error writes behind them where it is asked to."""
    return message.partition("\nException raised from ")[0]


def is_told(raised: dict[str, Any]) -> bool:
    """Whether a Trail tells what was raised.

    Not where memory ran out, which the next run may find elsewhere; nor of a name that is misspelt in the expression.
    What ran in the user's own process has no next run.
    """
    if raised["stage"] == "block":
        return True
    slip = bool(raised["close"]) and all(frame["file"] == "<expression>" for frame in raised["frames"])
    return not slip and not _out_of_memory(raised["exception"], str(raised.get("message") or ""))


def _out_of_memory(name: str, text: str) -> bool:
    return name in ("MemoryError", "OutOfMemoryError") or any(phrase in text for phrase in OUT_OF_MEMORY)


def _raised(message: dict[str, Any], request: TraceRequest) -> PtexploreError:
    if message.get("by") == "timeout":
        why = f"the {request.timeout:g} s of all runs were over in the {message.get('recorder')} pass{_where(message)}"
        who = "script" if request.script else "expression"
        ended = f"the {who} did not end within {request.timeout:g} s"
        return PtexploreError(ended, why, "--timeout S gives it longer", FAILED)
    if message.get("by", "error") != "error":
        what = {"signal" if message["by"] == "signal" else "called": message["exception"]}
        told = {**what, "recorder": message.get("recorder"), "status": message.get("message")}
        return _died({**told, "where": _where(message)}, request)
    stage, name = message["stage"], message["exception"]
    part = {"backward": "its backward", "context": "leaving --with"}.get(stage, f"the {stage}")
    text = str(message.get("message") or "").strip()
    # torch's own message without the C++ stack that may follow.
    why = without_stack(text).strip()[:TEXT_LIMIT] or f"{name} says nothing more"
    if _out_of_memory(name, text):
        why, hint = why.split("\n")[0], "trace it with smaller tensors"
        return PtexploreError(f"{part} needs more memory than there is", why, hint, FAILED)
    others = "" if request.script else "; --var and --setup give it other values"
    hint = _near(message) or f"run it in Python alone to see whether it raises there too{others}"
    return PtexploreError(f"{part} raised {name}: {_source(request)}", why, hint, FAILED)


def _where(message: dict[str, Any]) -> str:
    """Where Python was, in words that follow others: a function, and the innermost line of what was typed."""
    frames: list[dict[str, Any]] = message.get("frames") or []
    typed = next((frame for frame in reversed(frames) if frame["file"].startswith(TYPED)), None)
    if typed is None:
        return ""
    where = f"in {frames[-1]['function']}(), called at" if frames[-1] is not typed else "at"
    return f", {where} line {typed['line']} of {typed['file'].strip('<>')}"


def _who_kills() -> str:
    """What kills a process without being asked to: the limit on its processor time where there is one, or memory."""
    import resource

    if resource.getrlimit(resource.RLIMIT_CPU)[1] != resource.RLIM_INFINITY:
        return "; the system kills a process so when its limit of processor time (ulimit -t) or memory runs out"
    return "; the system kills a process so when memory runs out"


def _died(message: dict[str, Any], request: TraceRequest) -> PtexploreError:
    signal, recorder = message.get("signal"), message.get("recorder")
    how = f"it was killed by {signal}" if signal else f"it ended by itself with status {message.get('exit')}"
    if "called" in message:
        how = f"it called {message['called']}{' with ' * bool(message['status'])}{message['status']}"
    why = f"{how} in the {recorder} pass" if recorder is not None else how
    why += message.get("where", "")
    if signal == "SIGKILL":
        why += _who_kills()
    elif signal == "SIGXCPU":
        why += ": the limit on processor time is reached (ulimit -t)"
    elif signal == "SIGXFSZ":
        why += ": the limit on the size of a file is reached (ulimit -f)"
    who = "script" if request.script else "expression"
    debug = "PTEXPLORE_DEBUG=1 shows what it printed"
    alone = message.get("alone")
    if alone == "answered":
        why += "; without recorders it did not end its process: ptexplore is in its way"
        return PtexploreError(f"the {who} cannot be traced: {_source(request)}", why, debug, FAILED)
    if alone is not None:
        same = alone == (signal or f"status {message.get('exit')}")
        why += "; without recorders it ends the same way" if same else f"; without recorders it ends by {alone}"
    hint = debug if alone is not None else f"run it in Python alone to see whether it ends there too; {debug}"
    return PtexploreError(f"the {who} killed its process: {_source(request)}", why, hint, FAILED)
