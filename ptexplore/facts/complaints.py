"""What torch objects to in an addition in place, by words of the message that it raises first.

`probe/judges.py` asks torch, and has the same table (`COMPLAINTS`), since it imports nothing of ptexplore.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ptexplore.facts.source import FactSource


class Complaint(NamedTuple):
    """What torch objects to, words of its message, and their file."""

    name: str
    words: str
    file: str


COMPLAINTS = (
    Complaint("overlap", "single memory location. ", "aten/src/ATen/MemoryOverlap.cpp"),
    Complaint("shape", " doesn't match the broadcast shape ", "aten/src/ATen/TensorIterator.cpp"),
    Complaint("shape", "The size of tensor a (", "aten/src/ATen/ExpandUtils.cpp"),
    Complaint("type", " can't be cast to the ", "aten/src/ATen/TensorIterator.cpp"),
)


def facts() -> Iterator[tuple[str, FactSource]]:
    """Yields every fact of this module, with name and source."""
    for row in COMPLAINTS:
        yield f"complaint {row.name}", FactSource(row.file, row.words)
