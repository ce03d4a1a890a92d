"""The sign that a view shows at a place that is not exact."""

from __future__ import annotations

from typing import Literal

from ptexplore.model.places import SourceRef

Mark = Literal["", "~", "?"]  # of a place: certain; in another version's text; one of several, or not known


def mark_of(ref: SourceRef | None) -> Mark:
    """Returns a sign for the certainty of a place; empty for a certain place, or for no place."""
    if ref is None or ref.precision in ("registered", "located", "consistent"):
        return ""
    return "~" if ref.precision == "version-skew" else "?"
