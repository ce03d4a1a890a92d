"""Names of codes and verbs: they follow from the names of their classes."""

from __future__ import annotations

import re


def code_of(name: str) -> str:
    """The code of a class: `highest-key` of HighestKey."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()
