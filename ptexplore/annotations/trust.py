"""Whose labs may run: those that came with ptexplore, and files whose very bytes their reader said yes to."""

from __future__ import annotations

import json
from collections.abc import Iterable

from ptexplore.annotations.records import Tour
from ptexplore.locations import trust_file
from ptexplore.safe_text import clean_json
from ptexplore.writing import changing, keep_whole, kept_bytes

_LARGEST = 8 * 1024 * 1024  # bytes


def trusted() -> dict[str, str]:
    """The hashes of trusted files, each with the name it had then. What is damaged trusts nothing. Raises OSError."""
    kept = kept_bytes(trust_file(), _LARGEST) or b""
    try:
        data = json.loads(clean_json(kept)) if len(kept) <= _LARGEST else None
    except (ValueError, RecursionError):
        return {}
    known = data.get("trusted") if isinstance(data, dict) else None
    return {str(sha): str(name) for sha, name in known.items()} if isinstance(known, dict) else {}


def may_run(tour: Tour, known: dict[str, str]) -> bool:
    """Whether the tour's labs may run: it came with ptexplore, or its bytes are trusted."""
    return tour.shipped or tour.sha in known


def trust(tours: Iterable[Tour]) -> None:
    """Trust the files of these tours as they are now. Raises OSError."""
    with changing(trust_file()):
        _write(trusted() | {tour.sha: tour.where.file for tour in tours})


def forget(tours: Iterable[Tour]) -> None:
    """Trust the files of these tours no longer. Raises OSError."""
    gone = {tour.sha for tour in tours}
    with changing(trust_file()):
        _write({sha: name for sha, name in trusted().items() if sha not in gone})


def _write(known: dict[str, str]) -> None:
    keep_whole(trust_file(), json.dumps({"format": 1, "trusted": known}, indent=0))
