"""How much longer Python's own instructions take while a recording runs, by Python release.

Python calls the recorder's profile function at calls only. But while one is set, 3.10 and 3.11 also run all other
instructions in a slower way: 3.11 uses none that it has specialized. `scripts/recorded-python` measures it.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class SlowerPython(NamedTuple):
    """The most that one of six loops took, as a multiple of its time without a profile function."""

    release: str  # `3.11`
    times: float


# Of three runs on a machine with nothing else to do; 3.12 and 3.13: 1.0.
RELEASES = (SlowerPython("3.10", 1.25), SlowerPython("3.11", 3.1))


def slower_python(version: str) -> SlowerPython | None:
    """Returns the row of a Python version ("3.11.7"); None if it runs as fast while it is recorded, or is not known."""
    release = re.match(r"\d+\.\d+", version)
    return next((row for row in RELEASES if release is not None and row.release == release[0]), None)
