"""What the user typed in this very command may run: nobody is asked once more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptexplore.capture.allowed import AllowedRun

if TYPE_CHECKING:
    from ptexplore.capture.probing import TraceRequest


def typed(request: TraceRequest) -> AllowedRun:
    """The request of a command line, of a call from Python, or of a line typed in `browse`.

    Nothing that was read from a file goes through here (workspace/consent.py does that): a contract in pyproject.toml
    names the modules that may call this.
    """
    return AllowedRun(request)
