"""Make any text safe for a terminal, with nothing imported for it: the error boundary needs this at once."""

from __future__ import annotations

import re

# Control characters but tab and line feed, and what turns the direction of text.
UNSAFE = tuple(
    chr(code)
    for first, last in ((0, 8), (11, 31), (127, 159), (0x200E, 0x200F), (0x202A, 0x202E), (0x2066, 0x2069))
    for code in range(first, last + 1)
)
_CONTROL = re.compile(f"[{''.join(UNSAFE)}]")


def clean(text: str) -> str:
    """One line without control characters and direction overrides: source, notes and sessions are data."""
    return _CONTROL.sub("\ufffd", text).replace("\n", " ").replace("\t", " ")


def clean_lines(text: str) -> str:
    """The same, with line breaks kept."""
    return _CONTROL.sub("\ufffd", text).replace("\t", " ")
