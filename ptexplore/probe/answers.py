"""Turn what one pass came to, good or bad, into the one message that tells of it."""

from __future__ import annotations

import difflib
import json
import traceback
from typing import Any

from . import dispatch, names, passes
from .syntax import Refused

TEXT_LIMIT = 4000  # characters kept of an error's own message


def answer(recorder: str, request: dict[str, Any], known: dict[str, str]) -> bytes:
    """Run a pass and encode its message: "pass", "refused" (it cannot be run) or "raised" (the user's code did)."""
    message: dict[str, Any]
    try:
        message = {"type": "pass", "recorder": recorder, **passes.run(recorder, request, known)}
    except Refused as error:
        place = {"where": error.where, "source": error.source}
        message = {"type": "refused", "kind": error.kind, "message": str(error), "close": error.close, **place}
    except passes.Raised as raised:
        message = _raised(raised.stage, raised.error)
    except (MemoryError, RecursionError) as error:
        message = _raised("expression", error)
    except dispatch.Broken as error:
        message = {"type": "broken", "message": str(error)}
    except Exception:
        message = {"type": "broken", "message": traceback.format_exc()[-TEXT_LIMIT:]}
    return json.dumps(message, separators=(",", ":"), default=str).encode() + b"\n"


def _raised(stage: str, error: BaseException) -> dict[str, Any]:
    lines = traceback.format_exception(type(error), error, error.__traceback__)
    return {
        "type": "raised",
        "stage": stage,
        "exception": type(error).__name__,
        "message": names.text_of(error)[:TEXT_LIMIT],
        "close": _close(error),
        "traceback": "".join(lines)[-2 * TEXT_LIMIT :],
    }


def _close(error: BaseException) -> list[str]:
    """Names near the one that was not found."""
    name = getattr(error, "name", None)
    if not isinstance(error, AttributeError) or not isinstance(name, str):
        return []
    try:
        return difflib.get_close_matches(name, dir(error.obj), 3, 0.6)
    except Exception:  # the object's own __dir__
        return []
