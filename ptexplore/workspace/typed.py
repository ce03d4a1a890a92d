"""Allows the user's own command to run without a question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptexplore.capture.allowed import AllowedRun

if TYPE_CHECKING:
    from ptexplore.capture.probing import TraceRequest


def typed(request: TraceRequest) -> AllowedRun:
    """Allows the request of a command line, of a call from Python, or of a line typed in `browse`.

    Requests from files do not come here, but to workspace/consent.py: a contract in pyproject.toml lists the modules
    that may call this function.
    """
    return AllowedRun(request)
