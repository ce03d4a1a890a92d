"""Turn a pass that failed into the three-part error that its user needs."""

from __future__ import annotations

from typing import Any

from ptexplore.capture.request import TraceRequest
from ptexplore.errors import FAILED, USAGE, PtexploreError

HINTS = {
    "empty": 'ptexplore trace "torch.add(a, b)"',
    "statements": "put statements into --setup, or a whole program into --script FILE",
    "variable": '--var a="torch.randn(3, 4)"',
    "setup": '--setup "m = nn.LSTM(3, 4)"',
    "context": '--with "torch.inference_mode()"',
    "backward": "--grad is implied by --backward; the result must depend on a floating-point tensor that is bound",
    "name": '--var NAME="torch.randn(3, 4)" binds a name',
    "attribute": "",
    "syntax": "",
}


def failure(message: dict[str, Any], request: TraceRequest) -> PtexploreError:
    """The error for a message of type "refused", "raised" or "died"."""
    kind = message.get("type")
    if kind == "refused":
        return _refused(message, request)
    if kind == "raised":
        return _raised(message, request)
    return _died(message, request)


def _what(request: TraceRequest) -> str:
    return request.script or request.expression or ""


def _refused(message: dict[str, Any], request: TraceRequest) -> PtexploreError:
    kind, text = str(message.get("kind")), str(message.get("message"))
    close = [str(c) for c in message.get("close") or []]
    hint = HINTS.get(kind, "")
    if close:
        hint = f"did you mean {' or '.join(close)}?"
    why = {"statements": "a trace is of one expression", "empty": ""}.get(kind, "")
    where = message.get("where")
    if kind == "syntax":
        text = f"the expression does not parse: {text}"
        why = _caret(request.expression or "", where) if where else ""
        hint = hint or 'ptexplore trace "torch.add(a, b)"'
    if kind == "name":
        why = why or "names of one letter (or a letter and digits) used as values become tensors; others must be bound"
    return PtexploreError(text, why, hint, USAGE)


def _caret(expression: str, where: list[int]) -> str:
    """The offending line with a caret under the place."""
    lines = expression.strip().split("\n")
    line, column = where[0], max(where[1], 1)
    if not 1 <= line <= len(lines):
        return ""
    return f"{lines[line - 1]}\n       {' ' * (column - 1)}^"


def _raised(message: dict[str, Any], request: TraceRequest) -> PtexploreError:
    stage, name = str(message.get("stage")), str(message.get("exception"))
    close = [str(c) for c in message.get("close") or []]
    text = str(message.get("message") or "").strip()
    hint = f"did you mean {' or '.join(close)}?" if close else ""
    what = "its backward" if stage == "backward" else f"the {stage}"
    if name == "MemoryError" or "can't allocate memory" in text or "not enough memory" in text:
        why = text.split("\n")[0] or name
        return PtexploreError(f"{what} needs more memory than there is", why, "trace it with smaller tensors", FAILED)
    return PtexploreError(f"{what} raised {name}: {_what(request)}", _first(text), hint, FAILED)


def _first(text: str) -> str:
    """torch's own message without the C++ stack that may follow."""
    return text.split("\nException raised from", 1)[0][:1000]


def _died(message: dict[str, Any], request: TraceRequest) -> PtexploreError:
    signal, recorder = message.get("signal"), message.get("recorder")
    if signal is None:
        how = f"its process ended with status {message.get('exit')}"
    else:
        how = f"its process was killed by {signal}"
    why = f"{how} in the {recorder} pass"
    if signal == "SIGKILL":
        why += "; the system kills a process so when memory runs out"
    return PtexploreError(f"the expression killed its process: {_what(request)}", why, "", FAILED)
