"""A request that may run: somebody said yes to it. Only such a one is captured.

`typed` makes one of what the user typed in this very command; `workspace/consent.py` makes all others, after it asked.
A contract in pyproject.toml and tests/unit/test_architecture.py hold that nobody else makes one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptexplore.capture.probing import TraceRequest


class AllowedRun:
    """What may run, and how."""

    __slots__ = ("_request",)

    def __init__(self, request: TraceRequest) -> None:
        self._request = request

    @property
    def request(self) -> TraceRequest:
        """The expression or script, and all that decides how it runs."""
        return self._request

    def stepping(self, call: str) -> AllowedRun:
        """The same code, run once more with one operator call of it stepped: `add.Tensor#2`."""
        return AllowedRun(replace(self._request, native_op=call, native=True))
