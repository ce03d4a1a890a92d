"""Talk to a probe: start it, give it its request, yield its messages, and leave nothing of it behind."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ptexplore import processes
from ptexplore.errors import FAILED, MISSING, PtexploreError
from ptexplore.model import Runtime

PROBE = Path(__file__).resolve().parent.parent / "probe" / "main.py"
IMPORT_TIMEOUT = 180.0  # seconds that `import torch` may take on a cold disk


def ask(runtime: Runtime, request: dict[str, Any], timeout: float) -> Iterator[dict[str, Any]]:
    """Yield the probe's messages after its "ready"; `timeout` seconds count from there.

    Raises PtexploreError for a probe that cannot start, has no torch or another one, breaks the channel or takes too
    long. The probe's whole process group is gone when the iterator ends, however it ends.
    """
    errors = None if os.environ.get("PTEXPLORE_DEBUG") else subprocess.DEVNULL
    try:
        child = processes.start(runtime.python, PROBE, stdin=subprocess.PIPE, stderr=errors)
    except OSError as error:
        raise PtexploreError(f"{runtime.python} cannot be started", error.strerror or "", "", MISSING) from error
    writer = threading.Thread(target=_give, args=(child, request), daemon=True)
    writer.start()
    ended = False
    try:
        for message in _messages(child, timeout):
            if message.get("type") == "end":
                ended = True
                break
            yield message
    except processes.ChannelTimeout as error:
        raise _too_slow(timeout) from error
    except processes.ChannelError as error:
        raise PtexploreError("the probe's answer cannot be read", str(error), "PTEXPLORE_DEBUG=1 shows more") from error
    finally:
        status = child.stop()
    if not ended:
        why = f"it ended with status {status} before it was done"
        raise PtexploreError("the probe died", why, "PTEXPLORE_DEBUG=1 shows what it printed", FAILED)


def _messages(child: processes.Child, timeout: float) -> Iterator[dict[str, Any]]:
    """First the import's own time, then the expression's."""
    messages = child.messages(IMPORT_TIMEOUT, lambda m: timeout if m.get("type") == "ready" else None)
    for message in messages:
        kind = message.get("type")
        if kind == "no-torch":
            why = str(message.get("message", ""))
            raise PtexploreError("torch cannot be imported there", why, "pip install torch", MISSING)
        if kind == "wrong-torch":
            why = f"another torch is found first: {message.get('found')}"
            raise PtexploreError("the probe imported a torch that was not meant", why, "look at PYTHONPATH", MISSING)
        if kind == "broken":
            raise PtexploreError("the probe failed inside ptexplore's own code", str(message.get("message", "")))
        yield message


def _too_slow(timeout: float) -> PtexploreError:
    hint = "--timeout S gives it longer"
    return PtexploreError(f"the expression did not end within {timeout:g} s", "it was stopped", hint, FAILED)


def _give(child: processes.Child, request: dict[str, Any]) -> None:
    stdin = child.process.stdin
    if stdin is None:
        return
    try:
        stdin.write(json.dumps(request).encode())
        stdin.close()
    except OSError:
        return  # the probe is gone already; its messages, or their end, say why
