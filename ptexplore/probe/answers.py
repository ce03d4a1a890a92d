"""Turn what one pass came to, good or bad, into the one message that tells of it."""

from __future__ import annotations

import difflib
import json
import sys
import traceback
from collections.abc import Callable
from typing import Any

from . import dispatch, names, native, passes
from .stepper import Unavailable
from .syntax import Refused

TEXT_LIMIT = 4000  # characters kept of an error's own message


def answer(recorder: str, request: dict[str, Any], known: dict[str, str]) -> bytes:
    """Run a pass and encode its message: "pass", "refused" (it cannot be run) or "raised" (the user's code did)."""

    def run() -> dict[str, Any]:
        found = native.run(request) if recorder == native.RECORDER else passes.run(recorder, request, known)
        return {"type": "pass", "recorder": recorder, **found}

    return encoded(run, recorder)


def encoded(run: Callable[[], dict[str, Any]], recorder: str) -> bytes:
    """Encode the message that `run` gives, or the one that tells of what it raised."""
    message: dict[str, Any]
    try:
        message = run()
    except Refused as error:
        place = {"where": error.where, "source": error.source}
        message = {"type": "refused", "kind": error.kind, "message": str(error), "close": error.close, **place}
    except passes.Raised as raised:
        message = _raised(raised.stage, raised.error)
    except Unavailable as error:
        message = {"type": "unavailable", "message": str(error)}
    except (MemoryError, RecursionError) as error:
        message = _raised("expression", error)
    except dispatch.Broken as error:
        message = {"type": "broken", "message": str(error)}
    except Exception as error:
        message = _broken(recorder, error)
    message.setdefault("recorder", recorder)  # whose failure it is: that of the native pass alone ends nothing
    return json.dumps(message, separators=(",", ":"), default=str).encode() + b"\n"


def _broken(recorder: str, error: Exception) -> dict[str, Any]:
    """Our own code failed: the native pass only leaves the trace without what it would have told."""
    text = traceback.format_exc()
    if recorder != native.RECORDER:
        return {"type": "broken", "message": text[-TEXT_LIMIT:]}
    sys.stderr.write(text)
    return {"type": "unavailable", "message": f"ptexplore's own code failed: {type(error).__name__}: {error}"}


def _raised(stage: str, error: BaseException) -> dict[str, Any]:
    return {
        "type": "raised",
        "stage": stage,
        "exception": type(error).__name__,
        "message": names.text_of(error)[:TEXT_LIMIT],
        "close": _close(error),
        "traceback": _traceback(error)[-2 * TEXT_LIMIT :],
    }


def _traceback(error: BaseException) -> str:
    try:
        return "".join(traceback.format_exception(type(error), error, error.__traceback__))
    except Exception:  # the error's class is the user's own
        return "".join(traceback.format_tb(error.__traceback__))


def _close(error: BaseException) -> list[str]:
    """Names near the one that was not found."""
    if not issubclass(type(error), AttributeError):
        return []
    try:
        return difflib.get_close_matches(error.name, dir(error.obj), 3, 0.6)  # type: ignore[attr-defined]
    except Exception:  # no name, or the object's own __dir__
        return []
