"""Observations, and answers that contain them. Their types are in messages.py, and cost nothing at run time."""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["answered", "seen"]

if TYPE_CHECKING:
    from .messages import RunAnsweredData, RunToldData, seen
else:

    def seen(recorder, kind, data):
        """Returns an observation of one kind."""
        return {"recorder": recorder, "kind": kind, "data": data}


def answered(recorder: str, data: RunToldData) -> RunAnsweredData:
    """Returns the answer of a run that has ended."""
    return {"type": "pass", "recorder": recorder, **data}
