"""A request that somebody allowed to run. Nothing else is ever run.

`typed` makes one from the user's own command line. `workspace/consent.py` makes all others, after it asked. A contract
in pyproject.toml and tests/unit/test_architecture.py ensure that no other code makes one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptexplore.capture.probing import TraceRequest


class AllowedRun:
    """A request that may run, with its options."""

    __slots__ = ("_request",)

    def __init__(self, request: TraceRequest) -> None:
        self._request = request

    @property
    def request(self) -> TraceRequest:
        """The expression or script, and all options of the run."""
        return self._request

    def stepping(self, call: str) -> AllowedRun:
        """Returns the same code, to be run again with one operator call stepped: `add.Tensor#2`."""
        return AllowedRun(replace(self._request, native_op=call, native=True))
