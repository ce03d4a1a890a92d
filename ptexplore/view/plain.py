"""Make any text safe for a terminal, with nothing imported for it: the error boundary needs this at once."""

from __future__ import annotations

import re

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def clean(text: str) -> str:
    """One line without control characters and direction overrides: source, notes and sessions are data."""
    return _CONTROL.sub("\ufffd", text).replace("\n", " ").replace("\t", " ")


def clean_lines(text: str) -> str:
    """The same, with line breaks kept."""
    return "\n".join(clean(line) for line in text.split("\n"))
